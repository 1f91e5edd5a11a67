import type { EventEmitter } from 'node:events';

/** For how long connections may have waited to be accepted. */
export interface AcceptQueue {
  follow(server: EventEmitter): void;
  /**
   * The longest for which the first request on this connection may have waited; 0 where that is not worth a thought, and for
   * later ones. Asked once a request.
   */
  waitedMs(connection: object): number;
}

const NOTABLE_MS = 100;

/**
 * The loop accepts one connection a turn: where turns are long and connections many, they wait with their requests where the
 * service can't see them. But a turn without one shows that none waits. So a connection has waited no longer than since
 * the last such turn. `nowMs` must never run backwards.
 */
export function followAcceptQueue(nowMs: () => number): AcceptQueue {
  const emptyAt = new WeakMap<object, number>();
  let emptyAtMs: number | undefined;
  let accepted = false;

  function look(): void {
    if (accepted) setImmediate(look);
    else emptyAtMs = undefined;
    accepted = false;
  }

  return {
    follow(server) {
      server.on('connection', (connection: object) => {
        if (emptyAtMs === undefined) {
          emptyAtMs = nowMs();
          setImmediate(look);
        }
        accepted = true;
        if (nowMs() - emptyAtMs >= NOTABLE_MS) emptyAt.set(connection, emptyAtMs);
      });
    },
    waitedMs(connection) {
      const sinceMs = emptyAt.get(connection);
      if (sinceMs === undefined) return 0;
      emptyAt.delete(connection);
      return nowMs() - sinceMs;
    },
  };
}
