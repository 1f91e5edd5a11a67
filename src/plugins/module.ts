import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CountersignError, messageOf } from '../errors.ts';
import type { PluginAnswer } from '../policy/facts.ts';
import { sha256Hex } from '../values/canonical.ts';
import type { ModuleConfig } from './config.ts';
import { PluginError, type ReportPlugin } from './limiter.ts';
import type { ModuleInput } from './module-interface.ts';
import { type ThreadSlot, createThreadSlot } from './thread.ts';

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
