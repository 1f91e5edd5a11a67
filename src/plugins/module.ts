import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import type { PluginAnswer } from '../policy/facts.ts';
import { sha256Hex } from '../values/canonical.ts';
import { printableSentence } from '../values/printable.ts';
import { type Answerer, startThread } from '../values/worker.ts';
import type { ModuleConfig } from './config.ts';
import { PluginError, type ReportPlugin } from './limiter.ts';
import type { ModuleInput } from './module-interface.ts';
import type { ThreadAnswer } from './module-worker.ts';

/** A module that runs in threads of its own. */
export interface Module {
  /** At most `concurrency` questions in parallel. Rejects with PluginError. */
  readonly ask: (input: ModuleInput) => Promise<PluginAnswer>;
  /** Resolves when all threads have ended, or after a second. */
  readonly close: () => Promise<void>;
}

const FILE_BYTES = 1024 * 1024;
const CLOSE_MS = 1000;

/**
 * Starts the threads of a module. Rejects with SETTINGS_INVALID if the file's SHA-256 is not that of the
 * settings, or if the module does not load.
 */
export async function startModule(
  config: Pick<ModuleConfig, 'name' | 'file' | 'sha256' | 'timeoutMs' | 'memoryMb' | 'concurrency'>,
  report: ReportPlugin,
): Promise<Module> {
  const bytes = readModuleFile(config);
  let started = false;
  const reportOnceStarted: ReportPlugin = (event, because) => {
    if (started) report(event, because);
  };
  const slots = Array.from({ length: config.concurrency }, () =>
    createThreadSlot(config, bytes, reportOnceStarted),
  );
  try {
    await Promise.all(slots.map((slot) => slot.start()));
  } catch (thrown) {
    await closeSlots(slots);
    if (!(thrown instanceof PluginError)) throw thrown;
    const fix = 'correct the module, and write its new SHA-256 into the settings';
    throw moduleError(config.name, thrown.message, fix);
  }
  started = true;
  const free = new Set(slots);
  return {
    async ask(input) {
      const slot = bestOf(free);
      if (slot === undefined) throw new PluginError('all of its threads are busy');
      free.delete(slot);
      try {
        return await slot.ask(input);
      } finally {
        free.add(slot);
      }
    },
    close: () => closeSlots(slots),
  };
}

function bestOf(free: ReadonlySet<ThreadSlot>): ThreadSlot | undefined {
  const slots = [...free];
  return (
    slots.find((slot) => slot.state() === 'ready') ??
    slots.find((slot) => slot.state() === 'starting') ??
    slots[0]
  );
}

async function closeSlots(slots: readonly ThreadSlot[]): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  await Promise.race([Promise.all(slots.map((slot) => slot.close())), late]);
  clearTimeout(timer);
}

/** A slot for one thread of a module. It replaces a thread that ends. */
interface ThreadSlot {
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
const WORKER = new URL('./module-worker.ts', import.meta.url);

/**
 * A thread that ends during a question is replaced immediately. A thread that ends at another time is
 * replaced at the next question. So a module that keeps ending is started no more often than it is asked.
 */
function createThreadSlot(
  { name, timeoutMs, memoryMb }: Pick<ModuleConfig, 'name' | 'timeoutMs' | 'memoryMb'>,
  bytes: Uint8Array,
  report: ReportPlugin,
): ThreadSlot {
  let thread: ModuleThread | undefined;
  let closed = false;
  let stuckThreads = 0;

  function startNew(): ModuleThread {
    if (closed) throw new PluginError('Countersign is shutting down');
    if (stuckThreads >= STUCK_MAX)
      throw new PluginError(`${stuckThreads} of its threads block, and do not end`);
    const next = startModuleThread({ timeoutMs, memoryMb }, bytes, (because, asked) =>
      replace(next, because, asked),
    );
    thread = next;
    return next;
  }
  function replace(ended: ModuleThread, because: string, asked: boolean): void {
    if (thread !== ended) return;
    thread = undefined;
    void discard(ended);
    if (closed) return;
    report(asked ? 'module-restarted' : 'module-ended', `module ${name}: ${because}`);
    if (asked && stuckThreads < STUCK_MAX) startNew();
  }
  async function discard(ended: ModuleThread): Promise<void> {
    stuckThreads += 1;
    await ended.stop();
    stuckThreads -= 1;
  }

  return {
    state: () => (thread === undefined ? 'empty' : thread.isReady() ? 'ready' : 'starting'),
    start: () => startNew().ready.catch(rejectAsPlugin),
    async ask(input) {
      const current = thread ?? startNew();
      const { verdict, because, externalBytes } = await current.ask(input).catch(rejectAsPlugin);
      if (externalBytes > memoryMb * MEBIBYTE) {
        replace(current, `it keeps more than ${memoryMb} MiB in buffers`, true);
      }
      if (verdict === 'failed') throw new PluginError(printableSentence(because));
      return { verdict, because: printableSentence(because) };
    },
    async close() {
      closed = true;
      await thread?.stop();
    },
  };
}

function rejectAsPlugin(thrown: unknown): never {
  throw new PluginError(messageOf(thrown));
}

type ModuleThread = Answerer<ModuleInput, ThreadAnswer>;

/** The thread runs untrusted code. */
const answerShape: z.ZodType<ThreadAnswer> = z.strictObject({
  externalBytes: z.number(),
  verdict: z.enum(['yes', 'no', 'failed']),
  because: z.string(),
});

/** Starts a thread without environment variables and arguments, and with its own limit on memory. */
function startModuleThread(
  { timeoutMs, memoryMb }: Pick<ModuleConfig, 'timeoutMs' | 'memoryMb'>,
  bytes: Uint8Array,
  onEnd: (because: string, asked: boolean) => void,
): ModuleThread {
  return startThread({
    name: 'it',
    entry: WORKER,
    env: {},
    data: bytes,
    keepsOutput: true,
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMb,
      maxYoungGenerationSizeMb: Math.max(4, Math.floor(memoryMb / 4)),
      stackSizeMb: 4,
    },
    waitingMax: 1,
    startMs: START_MS,
    answerMs: timeoutMs,
    read: (answer) => answerShape.parse(answer),
    onEnd: ({ message }, asked) => onEnd(message, asked),
  });
}

/** The bytes of a module's file. Throws SETTINGS_INVALID unless they have the SHA-256 of the settings. */
function readModuleFile({ name, file, sha256 }: Pick<ModuleConfig, 'name' | 'file' | 'sha256'>): Uint8Array {
  const bytes = readSmallFile(name, file);
  const found = sha256Hex(bytes);
  if (found === sha256) return bytes;
  throw moduleError(
    name,
    `${file} has the SHA-256 ${found}, and the settings say ${sha256}`,
    'if the file is right, write the SHA-256 found into the settings; if not, replace the file',
  );
}

function readSmallFile(name: string, file: string): Uint8Array {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'r');
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, FILE_BYTES) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    if (length <= FILE_BYTES && length < bytes.length) return bytes.subarray(0, length);
  } catch (thrown) {
    const fix = 'name a file that this user can read; a relative path starts in the folder of the settings';
    throw moduleError(name, `can't read its file: ${messageOf(thrown)}`, fix);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  throw moduleError(name, `${file} is larger than 1 MiB`, 'bundle less into it');
}

function moduleError(name: string, problem: string, fix: string): CountersignError {
  return new CountersignError('SETTINGS_INVALID', `module ${name}: ${problem}; ${fix}`, { name });
}
