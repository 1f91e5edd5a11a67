import type { DatabaseSync } from 'node:sqlite';
import { BUSY_TIMEOUT_MS } from './database.ts';
import { isBusy } from './fault.ts';

/** How long a transaction waits for that of another process or thread, which keeps this thread waiting as well. */
const WAIT_MS = 500;
const PAUSE_MS = 1;

/**
 * Begins a transaction that writes. SQLite's own wait looks ever more rarely, up to a tenth of a second apart, and so can miss
 * every gap between the transactions of a busy writer: a freeze must not. Throws what SQLite throws once the wait is over.
 */
export function createBegin(connection: DatabaseSync): () => void {
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const atOnce = connection.prepare('PRAGMA busy_timeout = 0');
  const patient = connection.prepare(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  const beginWithin = (untilMs: number): void => {
    for (;;) {
      try {
        begin.run();
        return;
      } catch (thrown) {
        if (!isBusy(thrown) || performance.now() >= untilMs) throw thrown;
        Atomics.wait(cell, 0, 0, PAUSE_MS);
      }
    }
  };

  return () => {
    atOnce.get();
    try {
      beginWithin(performance.now() + WAIT_MS);
    } finally {
      patient.get();
    }
  };
}
