import { Worker } from 'node:worker_threads';
import { CountersignError, type ErrorCode, messageOf } from '../../errors.ts';
import { compileCacheEnv } from '../../values/compile-cache.ts';
import type { Retention } from '../retention.ts';
import type { Identity } from './database.ts';
import type { Batch } from './engine.ts';
import type { LockWait } from './lock.ts';
import type { BatchResult, Outcome } from './transaction.ts';

/** A thread with its own connection: its commits and flushes don't block the event loop. */
export interface WriterThread {
  /** Resolves when the thread can commit; rejects if it ends before. */
  readonly ready: Promise<void>;
  isReady(): boolean;
  /**
   * Commits in the order of the calls. Rejects if the thread ends first. It is then unknown whether the batch
   * is on disk.
   */
  commit(batch: Batch): Promise<BatchResult>;
  /** Resolves once the thread has ended and its connection is closed. Rejects the batches in flight. */
  end(): Promise<void>;
}

export interface WriterData {
  readonly file: string;
  /** The files that the starter of the thread has open: the thread must write to no others. */
  readonly identity: Identity;
  readonly retention: Retention;
  readonly maxStepMs?: number | undefined;
  readonly lockWait: LockWait;
}

const ENTRY = new URL('./writer-thread-entry.ts', import.meta.url);

/**
 * The thread keeps the process alive only while a batch is in flight. `onEnd` is called once, when the thread
 * has ended by itself.
 */
export function startWriterThread(data: WriterData, onEnd: () => void, entry = ENTRY): WriterThread {
  const worker = new Worker(entry, { workerData: data, env: compileCacheEnv(), argv: [], execArgv: [] });
  worker.unref();
  const inFlight: PromiseWithResolvers<BatchResult>[] = [];
  const ready = Promise.withResolvers<void>();
  // A rejection that nobody waits for must not end the process.
  ready.promise.catch(() => undefined);
  let isReady = false;
  let ended: Error | undefined;

  const handleEnd = (because: string): void => {
    if (ended !== undefined) return;
    ended = new Error(because);
    ready.reject(ended);
    for (const { reject } of inFlight.splice(0)) reject(ended);
    worker.unref();
    onEnd();
  };

  worker.on('message', (message: WriterMessage) => {
    if (ended !== undefined) return;
    if (message === 'ready') {
      isReady = true;
      ready.resolve();
      return;
    }
    const batch = inFlight.shift();
    if (inFlight.length === 0) worker.unref();
    batch?.resolve(resultOf(message));
  });
  worker.on('messageerror', (thrown) =>
    handleEnd(`its writer sent an unreadable message: ${messageOf(thrown)}`),
  );
  worker.on('error', (thrown) => handleEnd(`its writer failed: ${messageOf(thrown)}`));
  worker.on('exit', (code) => handleEnd(`its writer ended with ${code}`));

  return {
    ready: ready.promise,
    isReady: () => isReady && ended === undefined,
    commit(batch) {
      if (ended !== undefined) return Promise.reject(ended);
      // A thread has no origin, as a window would have.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      worker.postMessage(batch);
      if (inFlight.length === 0) worker.ref();
      const committed = Promise.withResolvers<BatchResult>();
      inFlight.push(committed);
      return committed.promise;
    },
    async end() {
      ended ??= new Error('its writer was ended');
      ready.reject(ended);
      for (const { reject } of inFlight.splice(0)) reject(ended);
      await worker.terminate();
    },
  };
}

/** What the thread sends: `ready` once, then a result for each batch, in order. */
export type WriterMessage = 'ready' | BatchMessage;

/** A BatchResult as a message between threads, in which errors would lose their class. */
interface BatchMessage {
  readonly committed: boolean;
  readonly outcomes: readonly OutcomeMessage[];
}

type OutcomeMessage =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      readonly data: Readonly<Record<string, unknown>>;
      readonly cause: string | undefined;
    };

export function batchMessage({ committed, outcomes }: BatchResult): BatchMessage {
  return {
    committed,
    outcomes: outcomes.map((outcome): OutcomeMessage => {
      if (outcome.ok) return outcome;
      const { code, message, data, cause } = outcome.error;
      return { ok: false, code, message, data, cause: cause === undefined ? undefined : messageOf(cause) };
    }),
  };
}

function resultOf({ committed, outcomes }: BatchMessage): BatchResult {
  return {
    committed,
    outcomes: outcomes.map((sent): Outcome => {
      if (sent.ok) return sent;
      const cause = sent.cause === undefined ? undefined : new Error(sent.cause);
      return { ok: false, error: new CountersignError(sent.code, sent.message, sent.data, cause) };
    }),
  };
}
