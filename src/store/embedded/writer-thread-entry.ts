import { workerData } from 'node:worker_threads';
import { type Answer, answerQuestions } from '../../values/worker.ts';
import type { WriterData } from './committer.ts';
import { createFileGuard, openDatabase } from './database.ts';
import { type Batch, createEngine } from './engine.ts';
import type { BatchResult } from './transaction.ts';

/* This runs in the writer thread. It commits one batch after the other through its own connection. */

/** After this many writes, and after their results are sent, the write-ahead log (WAL) is checkpointed. */
const CHECKPOINT_WRITES = 500;
/** A commit checkpoints a WAL of this many pages itself. Only large or unbroken writes reach it. */
const CHECKPOINT_PAGES_MAX = 16_000;

function openWriter(): Answer<Batch, BatchResult> {
  const { file, identity, retention, maxStepMs, lockWait }: WriterData = workerData;
  const database = openDatabase(file, { create: false, lockWait });
  createFileGuard(file, identity).check();
  const { connection } = database;
  connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES_MAX}`);
  const checkpoint = connection.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const commit = createEngine(database, retention, maxStepMs);
  let written = 0;
  const shortenLog = (): void => {
    try {
      checkpoint.get();
    } catch {
      // The writes are safe in the WAL, and the next checkpoint copies them: a full disk must not end the
      // thread.
    }
  };
  return (batch) => {
    const result = commit(batch);
    written += batch.writes.length;
    if (written >= CHECKPOINT_WRITES) {
      written = 0;
      setImmediate(shortenLog);
    }
    return result;
  };
}

await answerQuestions(openWriter);
