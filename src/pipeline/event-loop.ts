/** How late the event loop is, and so when what it reads can have arrived. */
export interface EventLoop {
  /** The earliest instant at which a request that is read now, on an open connection, can have arrived. */
  readonly readMs: () => number;
  /**
   * Call it for each connection that the server accepts or drops. Returns the earliest instant at which the
   * connection can have been made.
   */
  readonly connectedMs: () => number;
  /** The part of `callbacks` that may be in flight: 1 while the event loop is prompt, down to 1/64. */
  readonly capacity: () => number;
  readonly stop: () => void;
}

const TICK_MS = 20;
/** Every process has shorter pauses, such as garbage collections. */
export const NOTABLE_MS = 100;

/** A callback takes about three turns of the event loop. With a fourth in reserve, it is answered in time. */
const TURNS_OF_A_CALLBACK = 4;
const CAPACITY_MIN = 1 / 64;
const CAPACITY_GROWTH = 1.25;

/** The next capacity: half after a long pause of the event loop, a quarter more after a short one. */
export function nextCapacity(capacity: number, lagMs: number, answerTimeoutMs: number): number {
  const longMs = Math.max(answerTimeoutMs / TURNS_OF_A_CALLBACK, NOTABLE_MS);
  return lagMs > longMs ? Math.max(capacity / 2, CAPACITY_MIN) : Math.min(capacity * CAPACITY_GROWTH, 1);
}

/**
 * Measures how late the event loop reads its sockets. `nowMs` must never run backwards.
 *
 * In each turn, Node asks the kernel once which sockets are readable, reads these, and then runs
 * `setImmediate`. So once an immediate runs, everything has been read that had arrived on an open connection
 * before the immediate was set. But Node accepts only one connection a turn. So new connections may wait for
 * many turns, until a turn has accepted none: that turn found none waiting.
 *
 * `threadsWaitMs`: how long work for callbacks has waited for other threads, whose load the event loop
 * doesn't notice. A long wait lowers the capacity like a long pause.
 */
export function measureEventLoop(
  nowMs: () => number,
  answerTimeoutMs: number,
  threadsWaitMs: () => number = () => 0,
): EventLoop {
  let capacity = 1;
  let tickMs = nowMs();
  let readMs = tickMs;
  /** The connections that were made before this instant have been accepted. */
  let acceptedMs = tickMs;
  let accepts = 0;
  let watched: NodeJS.Immediate | undefined;

  const watchTurn = (): void => {
    const sinceMs = nowMs();
    const acceptsBefore = accepts;
    watched = setImmediate(() => {
      watched = undefined;
      readMs = sinceMs;
      if (accepts === acceptsBefore) acceptedMs = sinceMs;
      else watchTurn();
    });
  };
  const timer = setInterval(() => {
    const beforeMs = tickMs;
    tickMs = nowMs();
    capacity = nextCapacity(capacity, Math.max(tickMs - beforeMs, threadsWaitMs()), answerTimeoutMs);
    if (watched === undefined) watchTurn();
  }, TICK_MS).unref();
  return {
    readMs: () => readMs,
    connectedMs() {
      accepts += 1;
      return acceptedMs;
    },
    capacity: () => capacity,
    stop() {
      clearInterval(timer);
      clearImmediate(watched);
    },
  };
}
