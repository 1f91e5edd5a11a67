import { parentPort, workerData } from 'node:worker_threads';
import { createFileGuard, openDatabase } from './database.ts';
import { type Batch, createEngine } from './engine.ts';
import { type WriterData, type WriterMessage, batchMessage } from './writer-thread.ts';

/*
 * This runs in the writer thread. It commits one batch after the other through its own connection. Any error
 * that is thrown here ends the thread, and so rejects the batches that the thread was given.
 */

/** After this many writes, and after their results are sent, the write-ahead log (WAL) is checkpointed. */
const CHECKPOINT_WRITES = 500;
/** A commit checkpoints a WAL of this many pages itself. Only large or unbroken writes reach it. */
const CHECKPOINT_PAGES_MAX = 16_000;

function run(): void {
  const port = parentPort;
  if (port === null) return;
  const { file, identity, retention, maxStepMs, lockWait }: WriterData = workerData;
  const database = openDatabase(file, { create: false, lockWait });
  createFileGuard(file, identity).check();
  const { connection } = database;
  connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES_MAX}`);
  const checkpoint = connection.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const commit = createEngine(database, retention, maxStepMs);
  let written = 0;
  const send = (message: WriterMessage): void => port.postMessage(message);
  port.on('message', (batch: Batch) => {
    send(batchMessage(commit(batch)));
    written += batch.writes.length;
    if (written < CHECKPOINT_WRITES) return;
    written = 0;
    try {
      checkpoint.get();
    } catch {
      // The writes are safe in the WAL, and the next checkpoint copies them: a full disk must not end the
      // thread.
    }
  });
  send('ready');
}

run();
