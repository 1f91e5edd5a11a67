import type { PluginAnswer } from '../policy/facts.ts';
import type { ModuleConfig } from './config.ts';
import type { ReportPlugin } from './guard.ts';
import { invalid, readModuleFile } from './module-file.ts';
import type { ModuleInput } from './module-interface.ts';
import { type ThreadSlot, createThreadSlot } from './thread-slot.ts';
import { Unanswered } from './unanswered.ts';

/** The threads of one module. */
export interface Threads {
  /** At most `concurrency` at once. Rejects with Unanswered. */
  readonly ask: (input: ModuleInput) => Promise<PluginAnswer>;
  /** Resolves when all have ended, or after a second. */
  readonly close: () => Promise<void>;
}

const CLOSE_MS = 1000;

/**
 * Starts a module's threads. Rejects with SETTINGS_INVALID if its file is not that of the settings, or does
 * not load.
 */
export async function startThreads(
  config: Pick<ModuleConfig, 'name' | 'file' | 'sha256' | 'timeoutMs' | 'memoryMb' | 'concurrency'>,
  report: ReportPlugin,
): Promise<Threads> {
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
    await closed(slots);
    if (!(thrown instanceof Unanswered)) throw thrown;
    throw invalid(
      config.name,
      thrown.message,
      'mend the module, and write its new SHA-256 into the settings',
    );
  }
  started = true;
  const free = new Set(slots);
  return {
    async ask(input) {
      const place = best(free);
      if (place === undefined) throw new Unanswered('all of its threads are busy');
      free.delete(place);
      try {
        return await place.ask(input);
      } finally {
        free.add(place);
      }
    },
    close: () => closed(slots),
  };
}

function best(free: ReadonlySet<ThreadSlot>): ThreadSlot | undefined {
  const slots = [...free];
  return (
    slots.find((slot) => slot.state() === 'ready') ??
    slots.find((place) => place.state() === 'starting') ??
    slots[0]
  );
}

async function closed(slots: readonly ThreadSlot[]): Promise<void> {
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  await Promise.race([Promise.all(slots.map((slot) => slot.close())), enough]);
  clearTimeout(timer);
}
