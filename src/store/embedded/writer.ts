import { parentPort, workerData } from 'node:worker_threads';
import { CountersignError, type ErrorCode, messageOf } from '../../errors.ts';
import type { LockWait } from './begin.ts';
import { openDatabase } from './database.ts';
import { type Identity, createFileGuard } from './identity.ts';
import { type Batch, createEngine } from './engine.ts';
import type { Retention } from './housekeeping.ts';
import type { Committed } from './transaction.ts';

/*
 * What runs in the writer's thread (see writer-thread.ts): one batch after the other, each in one
 * transaction, in a connection of its own. Whatever is thrown here ends the thread, and so rejects all that
 * it was given.
 */

export interface WriterData {
  readonly file: string;
  /** What whoever started the thread has open: it must write to no other file. */
  readonly identity: Identity;
  readonly retention: Retention;
  readonly maxStepMs?: number | undefined;
  readonly lockWait: LockWait;
}

/** A result as it was, or what a CountersignError is made of: errors lose their class between threads. */
export type SentOutcome =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      readonly data: Readonly<Record<string, unknown>>;
      readonly cause: string | undefined;
    };

export type WriterMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'committed'; readonly committed: boolean; readonly outcomes: readonly SentOutcome[] };

/** After this many writes the log is copied into the database, once their answers are on their way. */
const CHECKPOINT_WRITES = 500;
/**
 * Pages in the log after which a commit copies them itself: only what is large, or comes without a pause,
 * gets there.
 */
const CHECKPOINT_PAGES_MAX = 16_000;

function committedMessage({ committed, outcomes }: Committed): WriterMessage {
  return {
    type: 'committed',
    committed,
    outcomes: outcomes.map((outcome): SentOutcome => {
      if (outcome.ok) return outcome;
      const { code, message, data, cause } = outcome.fault;
      return { ok: false, code, message, data, cause: cause === undefined ? undefined : messageOf(cause) };
    }),
  };
}

export function outcomeOf(sent: SentOutcome): Committed['outcomes'][number] {
  if (sent.ok) return sent;
  const cause = sent.cause === undefined ? undefined : new Error(sent.cause);
  return { ok: false, fault: new CountersignError(sent.code, sent.message, sent.data, cause) };
}

function run(): void {
  const port = parentPort;
  if (port === null) return;
  const { file, identity, retention, maxStepMs, lockWait }: WriterData = workerData;
  const database = openDatabase(file, { create: false, lockWait });
  createFileGuard(file, identity).expectSame();
  const { connection } = database;
  connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES_MAX}`);
  const checkpoint = connection.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const commit = createEngine(database, retention, maxStepMs);
  let written = 0;
  port.on('message', (batch: Batch) => {
    port.postMessage(committedMessage(commit(batch)));
    written += batch.asked.length;
    if (written < CHECKPOINT_WRITES) return;
    written = 0;
    try {
      checkpoint.get();
    } catch {
      // What is in the log is safe there, and the next checkpoint copies it: a full disk must not end the
      // thread.
    }
  });
  port.postMessage({ type: 'ready' } satisfies WriterMessage);
}

run();
