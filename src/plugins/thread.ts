import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { messageOf } from '../errors.ts';
import type { PluginAnswer } from '../policy/facts.ts';
import type { ModuleInput } from './module-interface.ts';
import type { ThreadMessage } from './module-worker.ts';
import { sentence } from './sentence.ts';
import { Unanswered } from './unanswered.ts';

export interface ThreadOptions {
  /** What was hashed is what runs. */
  readonly bytes: Uint8Array;
  readonly memoryMb: number;
  /** Once, when the thread has come to its end or must; not after `end`. */
  readonly onEnd: (because: string) => void;
}

/** One thread with the module loaded in it. */
export interface Thread {
  /** Resolves when it can be asked; rejects with Unanswered. */
  readonly ready: Promise<void>;
  /** One question at a time. Rejects with Unanswered if the module fails or the thread ends. */
  readonly ask: (input: ModuleInput) => Promise<PluginAnswer>;
  /**
   * Stops it, also in an endless loop. Resolves when it is gone, which a call that blocks outside of it may
   * delay.
   */
  readonly end: (because: string) => Promise<void>;
}

const ENTRY = new URL('./module-worker.ts', import.meta.url);
const MEBIBYTE = 1024 * 1024;
const TAIL_CHARACTERS = 300;

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

/** Starts a thread that has no environment, no arguments, and memory of its own. */
export function startThread({ bytes, memoryMb, onEnd }: ThreadOptions): Thread {
  const worker = new Worker(ENTRY, {
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
  const said = tailOf(worker);
  const ready = Promise.withResolvers<void>();
  // Whoever waits for it hears of it; nobody may be waiting.
  ready.promise.catch(() => undefined);
  let open: { readonly id: number; readonly settled: PromiseWithResolvers<PluginAnswer> } | undefined;
  let lastId = 0;
  let over = false;

  function end(because: string): Promise<unknown> {
    over = true;
    const reason = new Unanswered(because);
    ready.reject(reason);
    open?.settled.reject(reason);
    open = undefined;
    return worker.terminate();
  }
  function ended(because: string): void {
    if (over) return;
    void end(because);
    onEnd(because);
  }
  function hear(message: ThreadMessage): void {
    if (message.type === 'ready') ready.resolve();
    else if (message.type === 'unusable') ended(`it can't be loaded: ${sentence(message.because)}`);
    // An answer to another question than the open one came too late, or was never asked for.
    else if (message.id === open?.id) {
      const { settled } = open;
      open = undefined;
      const because = sentence(message.because);
      if (message.verdict === 'failed') settled.reject(new Unanswered(because));
      else settled.resolve({ verdict: message.verdict, because });
      if (message.externalBytes > memoryMb * MEBIBYTE) ended(`it keeps more than ${memoryMb} MiB in buffers`);
    }
  }

  worker.on('message', (received: unknown) => {
    const { data } = messageShape.safeParse(received);
    if (data === undefined) ended('it sent what is no answer');
    else if (!over) hear(data);
  });
  worker.on('messageerror', () => ended('it sent what is no answer'));
  worker.on('error', (thrown: unknown) => {
    const outOfMemory =
      thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY';
    ended(outOfMemory ? `it needs more than ${memoryMb} MiB` : `it failed: ${messageOf(thrown)}`);
  });
  worker.on('exit', (code) => ended(`its thread ended with ${code}${said()}`));

  return {
    ready: ready.promise,
    ask(input) {
      if (over || open !== undefined) return Promise.reject(new Unanswered('its thread is not free'));
      lastId += 1;
      open = { id: lastId, settled: Promise.withResolvers<PluginAnswer>() };
      // A thread has no origin, as a window would have.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      worker.postMessage({ id: lastId, input });
      return open.settled.promise;
    },
    end: async (because) => void (await end(because)),
  };
}

/** The end of what it writes to its standard output and error; all else of it is dropped. */
function tailOf(worker: Worker): () => string {
  let tail = '';
  for (const stream of [worker.stdout, worker.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      tail = `${tail}${chunk.subarray(-4 * TAIL_CHARACTERS).toString()}`.slice(-TAIL_CHARACTERS);
    });
  }
  return () => (tail === '' ? '' : `; it wrote: ${sentence(tail)}`);
}
