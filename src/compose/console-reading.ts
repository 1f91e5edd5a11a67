import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { QUERIES, READ_VERBS, type Reading } from '../console/reading.ts';
import { CountersignError, type ErrorCode } from '../errors.ts';
import type { StoreSettings } from '../settings/schema.ts';

/** What the thread is started with. */
export interface ReadingData {
  readonly store: StoreSettings;
  readonly groups: ReadonlyMap<string, string>;
}

export interface ReadingCall {
  readonly id: number;
  readonly method: (typeof METHODS)[number];
  readonly given: readonly unknown[];
}

/** Errors would lose their class between threads. */
export type ReadingAnswer =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | {
      readonly id: number;
      readonly ok: false;
      /** Undefined for an error of the program. */
      readonly code: ErrorCode | undefined;
      readonly message: string;
      readonly data: Readonly<Record<string, unknown>>;
    };

export interface ReadingThread {
  readonly reading: Reading;
  readonly close: () => Promise<void>;
}

const errorOf = ({ code, message, data }: Extract<ReadingAnswer, { readonly ok: false }>): Error =>
  code === undefined ? new Error(message) : new CountersignError(code, message, data);

const METHODS = [...READ_VERBS, ...QUERIES] as const;
const ENTRY = new URL('./console-reading-entry.ts', import.meta.url);
const HEAP_MB = 256;
/** Large, so that it is seldom collected: the threads that help with it have no lower priority. */
const YOUNG_MB = 96;

/**
 * Reads for the console in a thread with a handle of its own on the store, so that pages don't delay callbacks. The
 * first page starts the thread. If it ends, what it was asked rejects, and the next page starts another one.
 */
export function createReadingThread(
  data: ReadingData,
  env: Readonly<Record<string, string | undefined>>,
  entry = ENTRY,
): ReadingThread {
  let worker: Worker | undefined;
  let calls = 0;
  const pending = new Map<number, PromiseWithResolvers<unknown>>();

  function start(): Worker {
    const cache = getCompileCacheDir();
    const started = new Worker(entry, {
      workerData: data,
      // Node appends a folder for its version to the one that it is given.
      env: { ...env, ...(cache !== undefined && { NODE_COMPILE_CACHE: dirname(cache) }) },
      argv: [],
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_MB },
    });
    started.on('message', (answer: ReadingAnswer) => settle(answer));
    started.on('error', (thrown) => end(started, thrown instanceof Error ? thrown.message : String(thrown)));
    started.on('exit', () => end(started, 'it ended'));
    started.unref();
    return started;
  }

  function settle(answer: ReadingAnswer): void {
    const call = pending.get(answer.id);
    pending.delete(answer.id);
    if (pending.size === 0) worker?.unref();
    if (answer.ok) call?.resolve(answer.value);
    else call?.reject(errorOf(answer));
  }

  function end(ended: Worker, because: string): void {
    if (worker !== ended) return;
    worker = undefined;
    const stopped = new CountersignError(
      'STORE_UNREACHABLE',
      `the thread that reads for the console stopped (${because}). Try again`,
    );
    for (const call of pending.values()) call.reject(stopped);
    pending.clear();
  }

  function ask(method: ReadingCall['method'], given: readonly unknown[]): Promise<unknown> {
    worker ??= start();
    const id = ++calls;
    const call = Promise.withResolvers<unknown>();
    pending.set(id, call);
    worker.ref();
    // A thread has no origin, as a window would have.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage({ id, method, given } satisfies ReadingCall);
    return call.promise;
  }

  const methods: readonly (readonly [string, unknown])[] = METHODS.map((method) => [
    method,
    (...given: readonly unknown[]) => ask(method, given),
  ]);
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the entry answers with what they return
    reading: Object.fromEntries(methods) as unknown as ReadingThread['reading'],
    async close() {
      const closing = worker;
      if (closing === undefined) return;
      end(closing, 'the service stops');
      await closing.terminate();
    },
  };
}
