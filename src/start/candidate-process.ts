import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import {
  type Backtest,
  type BacktestRequest,
  type CandidateChecks,
  checkedShape,
} from '../console/candidate-checks.ts';
import { CountersignError, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Clock } from '../values/clock.ts';
import { compileCacheEnv } from '../values/worker.ts';
import { createFairQueue } from '../values/fair-queue.ts';
import { type Task, reportShape } from './candidate-task.ts';

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

const ENTRY = fileURLToPath(new URL('candidate-process-entry.ts', import.meta.url));
const DAY_MS = 86_400_000;
/** Checks of one person: a check takes a second, and at most `checkMs`. */
const WAITING_MAX = 2;
/** Of what a process writes to standard error. */
const ERROR_CHARACTERS = 8192;
const OUT_OF_MEMORY = 'JavaScript heap out of memory';

/** Checks and backtests candidates, each in a process of its own. */
export function createCandidateProcesses(parts: CandidateProcessParts): CandidateProcesses {
  const limits = { ...LIMITS, ...parts.limits };
  const { settingsFile, clock } = parts;
  const running = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  let last: Backtest | undefined;
  let cancelling: AbortController | undefined;
  const checks = createFairQueue('checks of candidates', WAITING_MAX);

  function perform(task: Task, options: TaskOptions): Promise<unknown> {
    const memoryMb = task.task === 'backtest' ? limits.backtestMemoryMb : limits.checkMemoryMb;
    const done = runTask(task, { ...options, env: parts.env, memoryMb });
    running.add(done);
    const forget = (): void => void running.delete(done);
    done.then(forget, forget);
    return done;
  }

  function checkOne<T>(by: string, task: Task, shape: z.ZodType<T>): Promise<T> {
    const options = { what: 'the check', timeoutMs: limits.checkMs, signal: stopping.signal };
    return checks.run(by, async () => shape.parse(await perform(task, options)));
  }

  async function runBacktest({ document, ...request }: BacktestRequest, signal: AbortSignal): Promise<void> {
    const fromMs = clock() - request.days * DAY_MS;
    const { backtestMs: timeoutMs, entriesMax } = limits;
    const onProgress = (callbacks: number, part: number): void => {
      if (last !== undefined) last = { ...last, callbacks, part };
    };
    const task: Task = { task: 'backtest', document, fromMs, entriesMax, ...ofFile(settingsFile) };
    try {
      const result = await perform(task, { what: 'the backtest', timeoutMs, signal, onProgress });
      end({ state: 'done', text: z.string().parse(result) });
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
        throw new CountersignError('USAGE', because);
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

interface TaskOptions {
  /** For errors. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (callbacks: number, part: number) => void;
}

interface ProcessOptions extends TaskOptions {
  readonly env: CandidateProcessParts['env'];
  readonly memoryMb: number;
}

/** Resolves with the result of a task. Rejects with USAGE for what a person can mend. */
async function runTask(task: Task, options: ProcessOptions): Promise<unknown> {
  const { what, timeoutMs, signal, env, memoryMb, onProgress } = options;
  const sinceMs = performance.now();
  const child = fork(ENTRY, [], {
    execArgv: [`--max-old-space-size=${memoryMb}`],
    env: { ...env, ...compileCacheEnv() },
    signal,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let result: { readonly value: unknown } | undefined;
  let fault: Error | undefined;
  child.on('message', (message) => {
    const { data: report } = reportShape.safeParse(message);
    if (report === undefined) fault = new Error(`${what} gave an answer that can't be read`);
    else if (report.type === 'progress') onProgress?.(report.callbacks, report.part);
    else if (report.type === 'done') result = { value: report.result };
    else fault = report.isFault ? new CountersignError('USAGE', report.because) : new Error(report.because);
  });
  const { endedBy, written } = await ended(child, task);
  if (fault !== undefined) throw fault;
  if (result !== undefined) return result.value;
  if (signal.aborted) throw new CountersignError('USAGE', `${what} was stopped`);
  if (written.includes(OUT_OF_MEMORY)) {
    throw new CountersignError('USAGE', `${what} needs more than ${memoryMb} MiB. Use the command`);
  }
  if (performance.now() - sinceMs >= timeoutMs) {
    throw new CountersignError('USAGE', `${what} was stopped after ${timeoutMs} ms. Use the command`);
  }
  throw new Error(`${what} ended with ${endedBy}: ${written.trim()}`);
}

/** Sends the task, and resolves when the process has ended and all its output was read. */
async function ended(
  child: ChildProcess,
  task: Task,
): Promise<{ readonly endedBy: string; readonly written: string }> {
  let written = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    written = (written + chunk.toString()).slice(-ERROR_CHARACTERS);
  });
  child.on('error', (error) => (written ||= messageOf(error)));
  child.send(task, () => undefined);
  const [code, signal] = await new Promise<readonly [number | null, string | null]>((resolve) => {
    child.once('close', (...how) => resolve(how));
    // A process that could not be started does not end.
    child.once('error', () => child.pid === undefined && resolve([null, null]));
  });
  return { endedBy: signal ?? `exit code ${code}`, written };
}
