import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { QUERIES, READ_VERBS, type Reading } from '../console/reading.ts';
import { CountersignError, type ErrorCode, messageOf } from '../errors.ts';
import type { StoreSettings } from '../settings/schema.ts';
import { compileCacheEnv } from '../values/compile-cache.ts';

/** The first message to the process. */
export interface ReadingData {
  readonly store: StoreSettings;
  readonly groups: ReadonlyMap<string, string>;
}

export interface ReadingCall {
  readonly id: number;
  readonly method: (typeof METHODS)[number];
  readonly given: readonly unknown[];
}

/** Errors would lose their class between processes. */
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

export interface ReadingProcess {
  readonly reading: Reading;
  readonly close: () => Promise<void>;
}

const errorOf = ({ code, message, data }: Extract<ReadingAnswer, { readonly ok: false }>): Error =>
  code === undefined ? new Error(message) : new CountersignError(code, message, data);

const METHODS = [...READ_VERBS, ...QUERIES] as const;
const ENTRY = new URL('./console-reading-entry.ts', import.meta.url);
/**
 * V8 collects garbage in the thread that makes it: other threads would not have its priority, and delay callbacks
 * for milliseconds. A small young generation is collected quickly.
 */
const NODE_FLAGS = ['--single-threaded', '--max-old-space-size=256', '--max-semi-space-size=2'];

/**
 * Reads for the console in a process with a handle of its own on the store, so that pages don't delay callbacks. The
 * first page starts the process. If it ends, what it was asked rejects, and the next page starts another one.
 */
export function createReadingProcess(
  data: ReadingData,
  env: Readonly<Record<string, string | undefined>>,
  entry = ENTRY,
): ReadingProcess {
  let running: ChildProcess | undefined;
  let calls = 0;
  const pending = new Map<number, PromiseWithResolvers<unknown>>();

  function start(): ChildProcess {
    const child = fork(fileURLToPath(entry), [], {
      execArgv: NODE_FLAGS,
      env: { ...env, ...compileCacheEnv() },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the entry sends nothing else
    child.on('message', (message) => settle(message as ReadingAnswer));
    child.on('error', (thrown) => end(child, messageOf(thrown)));
    child.on('exit', (code, signal) => end(child, `it ended with ${signal ?? `exit code ${code}`}`));
    send(child, data);
    child.unref();
    child.channel?.unref();
    return child;
  }

  function settle(answer: ReadingAnswer): void {
    const call = pending.get(answer.id);
    pending.delete(answer.id);
    // It took time to decode the answer, and the page that waits for it will take some: callbacks have a turn between.
    setImmediate(() => {
      if (answer.ok) call?.resolve(answer.value);
      else call?.reject(errorOf(answer));
    });
  }

  function end(ended: ChildProcess, because: string): void {
    if (running !== ended) return;
    running = undefined;
    const stopped = new CountersignError(
      'STORE_UNREACHABLE',
      `the process that reads for the console stopped (${because}). Try again`,
    );
    for (const call of pending.values()) call.reject(stopped);
    pending.clear();
  }

  function ask(method: ReadingCall['method'], given: readonly unknown[]): Promise<unknown> {
    running ??= start();
    const id = ++calls;
    const call = Promise.withResolvers<unknown>();
    pending.set(id, call);
    send(running, { id, method, given });
    return call.promise;
  }

  const methods: readonly (readonly [string, unknown])[] = METHODS.map((method) => [
    method,
    (...given: readonly unknown[]) => ask(method, given),
  ]);
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the entry answers with what they return
    reading: Object.fromEntries(methods) as unknown as Reading,
    async close() {
      const closing = running;
      if (closing === undefined) return;
      end(closing, 'the service stops');
      const ended = once(closing, 'exit');
      closing.ref();
      closing.kill('SIGKILL');
      // A process that could not be started does not exit.
      await ended.catch(() => undefined);
    },
  };
}

/** A call that can't be sent is rejected when the process ends. */
function send(to: ChildProcess, message: ReadingData | ReadingCall): void {
  to.send(message, () => undefined);
}
