import { z } from 'zod';
import {
  type Backtest,
  type BacktestRequest,
  type CandidateChecks,
  type CheckRequest,
  type DiffRequest,
  checkedShape,
} from '../console/candidate-checks.ts';
import { CountersignError, messageOf, usageError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Clock } from '../values/clock.ts';
import { createFairQueue } from '../values/fair-queue.ts';
import { WorkerError, compileCacheEnv, startProcess } from '../values/worker.ts';

/** What a process is asked. */
export type Task =
  | (Omit<CheckRequest, 'by'> & { readonly task: 'check' } & SettingsFile)
  | (Omit<DiffRequest, 'by'> & { readonly task: 'diff' })
  | (Pick<BacktestRequest, 'document'> & {
      readonly task: 'backtest';
      readonly fromMs: number;
      readonly entriesMax: number;
    } & SettingsFile);

type SettingsFile = Pick<CandidateProcessParts, 'settingsFile'>;

const progressShape = z.object({ callbacks: z.number(), part: z.number() });
/** What a process says during a backtest. */
export type Progress = z.output<typeof progressShape>;

export interface CandidateProcesses extends CandidateChecks {
  /** Kills what runs. */
  stop(): Promise<void>;
}

export interface CandidateProcessParts {
  readonly settingsFile?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<CandidateLimits>;
}

export interface CandidateLimits {
  readonly checkMs: number;
  readonly backtestMs: number;
  /** Of the heap of a check, and of a backtest: see docs/sizing.md. */
  readonly checkMemoryMb: number;
  readonly backtestMemoryMb: number;
  /** Entries of the journals that a backtest reads. */
  readonly entriesMax: number;
}

const LIMITS: CandidateLimits = {
  checkMs: 30_000,
  backtestMs: 1_800_000,
  checkMemoryMb: 192,
  backtestMemoryMb: 512,
  entriesMax: 5_000_000,
};

const ENTRY = new URL('candidate-process-entry.ts', import.meta.url);
const DAY_MS = 86_400_000;
/** Checks of one person: a check takes a second, and at most `checkMs`. */
const WAITING_MAX = 2;

/** Checks and backtests candidates, each in a process of its own. */
export function createCandidateProcesses(parts: CandidateProcessParts): CandidateProcesses {
  const limits = { ...LIMITS, ...parts.limits };
  const { settingsFile, clock } = parts;
  const running = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  let last: Backtest | undefined;
  let cancelling: AbortController | undefined;
  const checks = createFairQueue('checks of candidates', WAITING_MAX);

  function perform<T>(task: Task, options: TaskOptions<T>): Promise<T> {
    const done = runTask(task, parts.env, options);
    running.add(done);
    const forget = (): void => void running.delete(done);
    done.then(forget, forget);
    return done;
  }

  function checkOne<T>(by: string, task: Task, shape: z.ZodType<T>): Promise<T> {
    const { checkMs: timeoutMs, checkMemoryMb: memoryMb } = limits;
    const options = { name: 'the check', timeoutMs, memoryMb, signal: stopping.signal, shape };
    return checks.run(by, () => perform(task, options));
  }

  async function runBacktest({ document, ...request }: BacktestRequest, signal: AbortSignal): Promise<void> {
    const fromMs = clock() - request.days * DAY_MS;
    const { backtestMs: timeoutMs, backtestMemoryMb: memoryMb, entriesMax } = limits;
    const onNote = (note: unknown): void => {
      if (last !== undefined) last = { ...last, ...progressShape.parse(note) };
    };
    const options = { name: 'the backtest', timeoutMs, memoryMb, signal, shape: z.string(), onNote };
    const task: Task = { task: 'backtest', document, fromMs, entriesMax, ...ofFile(settingsFile) };
    try {
      end({ state: 'done', text: await perform(task, options) });
    } catch (thrown) {
      end({ state: 'failed', because: causeOf(thrown, request, parts.log) });
    }
  }

  /** A backtest that was cancelled stays so. */
  function end(outcome: Backtest['outcome']): void {
    if (last?.outcome.state === 'running') last = { ...last, outcome };
    cancelling = undefined;
  }

  return {
    check: ({ by, ...request }) =>
      checkOne(by, { task: 'check', ...request, ...ofFile(settingsFile) }, checkedShape),
    diff: ({ by, before, after }) => checkOne(by, { task: 'diff', before, after }, z.string()),
    startBacktest(request) {
      if (cancelling !== undefined) {
        const because = `${last?.by ?? 'somebody'} runs a backtest. Wait for its end, or cancel it`;
        throw usageError(because);
      }
      cancelling = new AbortController();
      const { revision, files, days, by } = request;
      const began = { startedAtMs: clock(), callbacks: 0, part: 0, outcome: { state: 'running' } } as const;
      last = { revision, files, days, by, ...began };
      void runBacktest(request, AbortSignal.any([cancelling.signal, stopping.signal]));
    },
    backtest: () => last,
    cancelBacktest(by) {
      if (cancelling === undefined || last?.outcome.state !== 'running') return false;
      last = { ...last, outcome: { state: 'cancelled', by } };
      cancelling.abort();
      return true;
    },
    async stop() {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };
}

/** A fault of the program is for the log: what a process wrote may have paths and settings. */
function causeOf(thrown: unknown, { revision, by }: Omit<BacktestRequest, 'document'>, log: Log): string {
  if (thrown instanceof CountersignError) return thrown.message;
  log.error('console-backtest-failed', { revision, authenticatedBy: by, because: messageOf(thrown) });
  return 'The backtest failed. The log of the service says why';
}

const ofFile = (settingsFile: string | undefined) => (settingsFile === undefined ? {} : { settingsFile });

interface TaskOptions<T> {
  /** For errors. */
  readonly name: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly signal: AbortSignal;
  readonly shape: z.ZodType<T>;
  readonly onNote?: (note: unknown) => void;
}

/** Resolves with the result of a task. Rejects with a CountersignError for what a person can mend. */
async function runTask<T>(
  task: Task,
  env: CandidateProcessParts['env'],
  { timeoutMs, signal, shape, ...options }: TaskOptions<T>,
): Promise<T> {
  const child = startProcess<Task, T>({
    ...options,
    entry: ENTRY,
    env: { ...env, ...compileCacheEnv() },
    waitingMax: 1,
    answerMs: timeoutMs,
    read: (result) => shape.parse(result),
  });
  const stop = (): void => void child.stop();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await child.ask(task);
  } catch (thrown) {
    if (!(thrown instanceof WorkerError)) throw thrown;
    if (signal.aborted) throw usageError(thrown.message);
    const isBound = thrown.reason === 'late' || thrown.reason === 'memory';
    throw isBound ? usageError(`${thrown.message}. Use the command`) : thrown;
  } finally {
    signal.removeEventListener('abort', stop);
    await child.stop();
  }
}
