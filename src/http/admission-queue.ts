import type { EventEmitter } from 'node:events';

/** For how long connections may have waited to be accepted. */
export interface AcceptQueue {
  follow(server: EventEmitter): void;
  /**
   * The longest for which the first request on this connection may have waited; 0 where that is not worth a
   * thought, and for later ones. Asked once a request.
   */
  waitedMs(connection: object): number;
}

const NOTABLE_MS = 100;

/**
 * The loop accepts one connection a turn: where turns are long and connections many, they wait with their
 * requests where the service can't see them. But a turn without one shows that none waits. So a connection
 * has waited no longer than since the last such turn. Nor has it longer than since the one was accepted that
 * came `backlog` and one before it: the kernel lets no more wait, and they are accepted in the order in which
 * they came. `nowMs` must never run backwards.
 */
export function followAcceptQueue(nowMs: () => number, backlog: number): AcceptQueue {
  const emptyAt = new WeakMap<object, number>();
  // The kernel keeps one more than it is asked to.
  const acceptedAt = new Float64Array(backlog + 2).fill(-Infinity);
  let next = 0;
  let emptyAtMs: number | undefined;
  let accepted = false;

  function look(): void {
    if (accepted) setImmediate(look);
    else emptyAtMs = undefined;
    accepted = false;
  }

  /** Since when the one that is accepted now may have waited. */
  function accept(): number {
    const now = nowMs();
    if (emptyAtMs === undefined) {
      emptyAtMs = now;
      setImmediate(look);
    }
    accepted = true;
    const sinceMs = Math.max(emptyAtMs, acceptedAt[next] ?? emptyAtMs);
    acceptedAt[next] = now;
    next = (next + 1) % acceptedAt.length;
    return sinceMs;
  }

  return {
    follow(server) {
      server.on('connection', (connection: object) => {
        const sinceMs = accept();
        if (nowMs() - sinceMs >= NOTABLE_MS) emptyAt.set(connection, sinceMs);
      });
      // These are closed, and have waited like all others.
      server.on('drop', accept);
    },
    waitedMs(connection) {
      const sinceMs = emptyAt.get(connection);
      if (sinceMs === undefined) return 0;
      emptyAt.delete(connection);
      return nowMs() - sinceMs;
    },
  };
}
