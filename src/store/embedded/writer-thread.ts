import { Worker } from 'node:worker_threads';
import { messageOf } from '../../errors.ts';
import type { Batch } from './engine.ts';
import type { Committed } from './transaction.ts';
import { type WriterData, type WriterMessage, outcomeOf } from './writer.ts';

/**
 * A thread with a connection of its own, in which commits and their flushes keep nobody waiting but those who
 * asked.
 */
export interface WriterThread {
  /** Resolves when it can be given batches; rejects if it can not be started. */
  readonly ready: Promise<void>;
  /**
   * Commits in the order of the calls. Rejects if the thread ends first: the batch may then be on disk or
   * not.
   */
  commit(batch: Batch): Promise<Committed>;
  /** Resolves when it is gone, and its connection closed. What is under way is rejected. */
  end(): Promise<void>;
}

const ENTRY = new URL('./writer.ts', import.meta.url);

/**
 * `onEnd` is called once, when the thread has ended by itself. It keeps the process alive only while
 * something is under way.
 */
export function startWriterThread(data: WriterData, onEnd: () => void, entry = ENTRY): WriterThread {
  const worker = new Worker(entry, { workerData: data, env: {}, argv: [], execArgv: [] });
  worker.unref();
  const ready = Promise.withResolvers<void>();
  // Whoever waits for it hears of it; nobody may be waiting.
  ready.promise.catch(() => undefined);
  const inFlight: PromiseWithResolvers<Committed>[] = [];
  let over: Error | undefined;

  const ended = (because: string): void => {
    if (over !== undefined) return;
    over = new Error(because);
    ready.reject(over);
    for (const { reject } of inFlight.splice(0)) reject(over);
    worker.unref();
    onEnd();
  };
  const hear = (message: WriterMessage): void => {
    if (message.type === 'ready') {
      ready.resolve();
      return;
    }
    const batch = inFlight.shift();
    if (inFlight.length === 0) worker.unref();
    batch?.resolve({ committed: message.committed, outcomes: message.outcomes.map(outcomeOf) });
  };

  worker.on('message', (message: WriterMessage) => {
    if (over === undefined) hear(message);
  });
  worker.on('messageerror', (thrown) => ended(`its writer sent what can't be read: ${messageOf(thrown)}`));
  worker.on('error', (thrown) => ended(`its writer failed: ${messageOf(thrown)}`));
  worker.on('exit', (code) => ended(`its writer ended with ${code}`));

  return {
    ready: ready.promise,
    commit(batch) {
      if (over !== undefined) return Promise.reject(over);
      // A thread has no origin, as a window would have.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      worker.postMessage(batch);
      if (inFlight.length === 0) worker.ref();
      const committed = Promise.withResolvers<Committed>();
      inFlight.push(committed);
      return committed.promise;
    },
    async end() {
      over ??= new Error('its writer was ended');
      for (const { reject } of inFlight.splice(0)) reject(over);
      ready.reject(over);
      await worker.terminate();
    },
  };
}
