import type { PluginAnswer } from '../policy/facts.ts';
import type { ModuleConfig } from './config.ts';
import type { ReportPlugin } from './guard.ts';
import type { ModuleInput } from './module-interface.ts';
import { type Thread, startThread } from './thread.ts';
import { Unanswered } from './unanswered.ts';

/** A place for a thread, which is replaced when it ends. */
export interface ThreadSlot {
  readonly state: () => 'ready' | 'starting' | 'empty';
  /** Resolves when the thread can be asked. Rejects with Unanswered. */
  readonly start: () => Promise<void>;
  /** One question at a time. Rejects with Unanswered, at the latest after the module's time. */
  readonly ask: (input: ModuleInput) => Promise<PluginAnswer>;
  readonly close: () => Promise<void>;
}

/** For a module to be loaded. */
const START_MS = 5000;
/** Threads that were ended and are not gone: they block outside of JavaScript, where nothing ends them. */
const STUCK_MAX = 4;

/**
 * A thread that ends while it is asked is replaced at once, one that ends otherwise when the next question
 * comes: so a module that ends again and again is started no more often than it is asked.
 */
export function createThreadSlot(
  { name, timeoutMs, memoryMb }: Pick<ModuleConfig, 'name' | 'timeoutMs' | 'memoryMb'>,
  bytes: Uint8Array,
  report: ReportPlugin,
): ThreadSlot {
  let thread: Thread | undefined;
  let ready = false;
  let asked = false;
  let closed = false;
  let stuck = 0;

  function begin(): Thread {
    if (closed) throw new Unanswered('the service is shutting down');
    if (stuck >= STUCK_MAX) throw new Unanswered(`${stuck} of its threads block, and do not end`);
    const begun = startThread({ bytes, memoryMb, onEnd: (because) => replace(begun, because) });
    thread = begun;
    const late = setTimeout(() => replace(begun, `it was not loaded within ${START_MS} ms`), START_MS);
    const loaded = (): void => {
      clearTimeout(late);
      if (thread === begun) ready = true;
    };
    begun.ready.then(loaded, () => clearTimeout(late));
    return begun;
  }
  function replace(ended: Thread, because: string): void {
    if (thread !== ended) return;
    const again = ready && asked;
    thread = undefined;
    ready = false;
    void discard(ended, because);
    if (closed) return;
    report(again ? 'module-restarted' : 'module-ended', `module ${name}: ${because}`);
    if (again && stuck < STUCK_MAX) begin();
  }
  async function discard(ended: Thread, because: string): Promise<void> {
    stuck += 1;
    await ended.end(because);
    stuck -= 1;
  }

  return {
    state: () => (thread === undefined ? 'empty' : ready ? 'ready' : 'starting'),
    start: () => begin().ready,
    async ask(input) {
      const current = thread ?? begin();
      const { promise: late, reject } = Promise.withResolvers<never>();
      let over = false;
      const timer = setTimeout(() => {
        over = true;
        const because = `no answer within ${timeoutMs} ms`;
        reject(new Unanswered(ready ? because : `${because}, for its thread is still starting`));
        if (ready) replace(current, because);
      }, timeoutMs);
      asked = true;
      try {
        return await Promise.race([current.ready.then(() => (over ? late : current.ask(input))), late]);
      } finally {
        asked = false;
        clearTimeout(timer);
      }
    },
    async close() {
      closed = true;
      await thread?.end('the service is shutting down');
    },
  };
}
