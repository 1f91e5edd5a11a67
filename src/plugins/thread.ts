import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { messageOf } from '../errors.ts';
import type { PluginAnswer } from '../policy/facts.ts';
import { printableSentence } from '../values/printable.ts';
import type { ModuleConfig } from './config.ts';
import { PluginError, type ReportPlugin } from './limiter.ts';
import type { ModuleInput } from './module-interface.ts';
import type { ThreadMessage } from './module-worker.ts';

/** A slot for one thread of a module. It replaces a thread that ends. */
export interface ThreadSlot {
  readonly state: () => 'ready' | 'starting' | 'empty';
  /** Resolves when the thread is ready. Rejects with PluginError. */
  readonly start: () => Promise<void>;
  /** One question at a time. Rejects with PluginError, at the latest after the module's time-out. */
  readonly ask: (input: ModuleInput) => Promise<PluginAnswer>;
  readonly close: () => Promise<void>;
}

const START_MS = 5000;
/** How many terminated threads may still run, because they block outside of JavaScript. */
const STUCK_MAX = 4;
const MEBIBYTE = 1024 * 1024;
const OUTPUT_CHARACTERS = 300;
const WORKER = new URL('./module-worker.ts', import.meta.url);

/**
 * A thread that ends during a question is replaced immediately. A thread that ends at another time is
 * replaced at the next question. So a module that keeps ending is started no more often than it is asked.
 */
export function createThreadSlot(
  { name, timeoutMs, memoryMb }: Pick<ModuleConfig, 'name' | 'timeoutMs' | 'memoryMb'>,
  bytes: Uint8Array,
  report: ReportPlugin,
): ThreadSlot {
  let thread: Thread | undefined;
  let ready = false;
  let closed = false;
  let stuckThreads = 0;

  function startNew(): Thread {
    if (closed) throw new PluginError('Countersign is shutting down');
    if (stuckThreads >= STUCK_MAX)
      throw new PluginError(`${stuckThreads} of its threads block, and do not end`);
    const next = startThread({ bytes, memoryMb, onEnd: (because, asked) => replace(next, because, asked) });
    thread = next;
    const timer = setTimeout(() => replace(next, `it was not loaded within ${START_MS} ms`, false), START_MS);
    const loaded = (): void => {
      clearTimeout(timer);
      if (thread === next) ready = true;
    };
    next.ready.then(loaded, () => clearTimeout(timer));
    return next;
  }
  function replace(ended: Thread, because: string, asked: boolean): void {
    if (thread !== ended) return;
    const restart = ready && asked;
    thread = undefined;
    ready = false;
    void discard(ended, because);
    if (closed) return;
    report(restart ? 'module-restarted' : 'module-ended', `module ${name}: ${because}`);
    if (restart && stuckThreads < STUCK_MAX) startNew();
  }
  async function discard(ended: Thread, because: string): Promise<void> {
    stuckThreads += 1;
    await ended.end(because);
    stuckThreads -= 1;
  }

  return {
    state: () => (thread === undefined ? 'empty' : ready ? 'ready' : 'starting'),
    start: () => startNew().ready,
    async ask(input) {
      const current = thread ?? startNew();
      const { promise: timeout, reject } = Promise.withResolvers<never>();
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        const because = `no answer within ${timeoutMs} ms`;
        reject(new PluginError(ready ? because : `${because}, because its thread is still starting`));
        if (ready) replace(current, because, true);
      }, timeoutMs);
      try {
        return await Promise.race([
          current.ready.then(() => (isLate ? timeout : current.ask(input))),
          timeout,
        ]);
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      closed = true;
      await thread?.end('Countersign is shutting down');
    },
  };
}

/** One thread with the module loaded in it. */
interface Thread {
  /** Resolves when the module is loaded. Rejects with PluginError. */
  readonly ready: Promise<void>;
  /** One question at a time. Rejects with PluginError if the module fails or the thread ends. */
  readonly ask: (input: ModuleInput) => Promise<PluginAnswer>;
  /** Terminates the thread, also in an endless loop. A blocking native call delays the end. */
  readonly end: (because: string) => Promise<void>;
}

interface ThreadOptions {
  /** The bytes that were hashed; the thread runs exactly these. */
  readonly bytes: Uint8Array;
  readonly memoryMb: number;
  /**
   * Called once, when the thread ends or must end, but not after `end`. `asked` says whether it did so during
   * a question.
   */
  readonly onEnd: (because: string, asked: boolean) => void;
}

/** The thread runs untrusted code, so all its messages are checked. */
const messageShape: z.ZodType<ThreadMessage> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('ready') }),
  z.strictObject({ type: z.literal('unusable'), because: z.string() }),
  z.strictObject({
    type: z.literal('answer'),
    id: z.int(),
    externalBytes: z.number(),
    verdict: z.enum(['yes', 'no', 'failed']),
    because: z.string(),
  }),
]);

/** Starts a thread without environment variables and arguments, and with its own limit on memory. */
function startThread({ bytes, memoryMb, onEnd }: ThreadOptions): Thread {
  const worker = startWorker(bytes, memoryMb);
  const outputOf = keepOutput(worker);
  const ready = Promise.withResolvers<void>();
  // Without a handler, a rejection that nobody waits for would end the process.
  ready.promise.catch(() => undefined);
  let pending: { readonly id: number; readonly answer: PromiseWithResolvers<PluginAnswer> } | undefined;
  let lastId = 0;
  let hasEnded = false;

  function end(because: string): Promise<unknown> {
    hasEnded = true;
    const reason = new PluginError(because);
    ready.reject(reason);
    pending?.answer.reject(reason);
    pending = undefined;
    return worker.terminate();
  }
  function fail(because: string, asked = pending !== undefined): void {
    if (hasEnded) return;
    void end(because);
    onEnd(because, asked);
  }
  function receive(message: ThreadMessage): void {
    if (message.type === 'ready') ready.resolve();
    else if (message.type === 'unusable') fail(`it can't be loaded: ${printableSentence(message.because)}`);
    // Any other id is that of a late or forged answer.
    else if (message.id === pending?.id) {
      const { answer } = pending;
      pending = undefined;
      const because = printableSentence(message.because);
      if (message.verdict === 'failed') answer.reject(new PluginError(because));
      else answer.resolve({ verdict: message.verdict, because });
      if (message.externalBytes > memoryMb * MEBIBYTE) {
        fail(`it keeps more than ${memoryMb} MiB in buffers`, true);
      }
    }
  }

  worker.on('message', (received: unknown) => {
    const { data } = messageShape.safeParse(received);
    if (data === undefined) fail('it sent a message that is not an answer');
    else if (!hasEnded) receive(data);
  });
  worker.on('messageerror', () => fail('it sent a message that is not an answer'));
  worker.on('error', (thrown: unknown) => {
    const outOfMemory =
      thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY';
    fail(outOfMemory ? `it needs more than ${memoryMb} MiB` : `it failed: ${messageOf(thrown)}`);
  });
  worker.on('exit', (code) => fail(`its thread ended with ${code}${outputOf()}`));

  return {
    ready: ready.promise,
    ask(input) {
      if (hasEnded || pending !== undefined) return Promise.reject(new PluginError('its thread is not free'));
      lastId += 1;
      pending = { id: lastId, answer: Promise.withResolvers<PluginAnswer>() };
      // The rule is about windows: a worker thread has no origin.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      worker.postMessage({ id: lastId, input });
      return pending.answer.promise;
    },
    end: async (because) => void (await end(because)),
  };
}

function startWorker(bytes: Uint8Array, memoryMb: number): Worker {
  return new Worker(WORKER, {
    workerData: { bytes },
    env: {},
    argv: [],
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMb,
      maxYoungGenerationSizeMb: Math.max(4, Math.floor(memoryMb / 4)),
      stackSizeMb: 4,
    },
  });
}

/** Drops the output of a thread, except for the last characters, which explain why it ended. */
function keepOutput(worker: Worker): () => string {
  let output = '';
  for (const stream of [worker.stdout, worker.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = `${output}${chunk.subarray(-4 * OUTPUT_CHARACTERS).toString()}`.slice(-OUTPUT_CHARACTERS);
    });
  }
  return () => (output === '' ? '' : `; it wrote: ${printableSentence(output)}`);
}
