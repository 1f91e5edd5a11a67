import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { ReconcileMetrics } from '../observe/metrics.ts';
import { CLASSES } from '../reconcile/classes.ts';
import { dateAt, dateBefore, readDay } from '../reconcile/day.ts';
import { CLASS_NAMES } from '../reconcile/summary.ts';
import type { Settings } from '../settings/schema.ts';
import type { Clock } from '../values/clock.ts';

/*
 * Reconciles each day once it and its settle time are over. The work is done by `countersign reconcile` in a
 * process of its own: whatever it reads, and however it ends, the callbacks don't wait for it. Replicas may
 * share a directory: the command waits for the others, and reconciles what is missing then.
 */

/** A day that could not be reconciled. It is tried again. */
export interface ReconciliationFailure {
  readonly day: string;
  readonly because: string;
  /** How often in a row. */
  readonly count: number;
  readonly atMs: number;
}

export interface Reconciliation {
  /** The last try of this process; undefined if it did not fail. */
  failure(): ReconciliationFailure | undefined;
  /** Stops a run that is under way. It leaves nothing, and is repeated after the next start. */
  stop(): Promise<void>;
}

export interface ReconciliationParts {
  readonly settings: Settings['reconcile'] & { readonly directory: string };
  readonly settingsFile: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ReconcileMetrics;
}

const MINUTE_MS = 60_000;
/** How often the directory is looked at: another replica reconciles, and people close exceptions. */
const CHECK_MS = 2000;
const RETRY_MAX_MS = 3_600_000;

export function startReconciliation(parts: ReconciliationParts): Reconciliation {
  const { settings, clock, log, metrics } = parts;
  const { directory, zone, settleMinutes, delayMinutes, retryMs } = settings;
  const afterMs = (settleMinutes + delayMinutes) * MINUTE_MS;
  const firstDay = settings.firstDay ?? dateBefore(dateAt(clock(), zone));
  const stopping = new AbortController();
  const program = createProgram(parts, stopping.signal);
  const dueMs = (day: string): number => readDay(day, zone).untilMs + afterMs;
  let seen: string | undefined;
  let next = firstDay;
  let failure: ReconciliationFailure | undefined;

  /** Reads the state again if the directory has another record. */
  async function follow(): Promise<void> {
    // If the directory can't be read, the command says why.
    const newest = newestRecord(await readdir(directory).catch(() => []));
    if (newest === seen) return;
    const state = await readState(program, directory);
    seen = newest;
    next = state.next ?? firstDay;
    metrics.setReconciliation({ ...state, dueMs: dueMs(next) });
  }

  async function check(): Promise<void> {
    await follow();
    const through = dateBefore(dateAt(clock() - afterMs, zone));
    if (next > through) return;
    const days = ['--through', through, '--first-day', firstDay, '--zone', zone];
    const kept = ['--directory', directory, '--settle', `${settleMinutes}m`, '--by', 'countersign serve'];
    let sinceMs = performance.now();
    await program(['reconcile', ...days, ...kept], (line) => {
      const run = runShape.parse(line);
      const totalMs = performance.now() - sinceMs;
      sinceMs += totalMs;
      metrics.countReconciliation(run.ok ? 'settled' : 'exceptions', totalMs);
      logRun(log, run, totalMs);
    });
  }

  async function checkUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await check();
        failure = undefined;
      } catch (thrown) {
        if (stopping.signal.aborted) return;
        const because = messageOf(thrown);
        failure = { day: next, because, count: (failure?.count ?? 0) + 1, atMs: clock() };
        metrics.countReconciliation('failed');
        log.error('reconcile-failed', { day: next, because, count: failure.count });
      }
      const pauseMs =
        failure === undefined ? CHECK_MS : Math.min(retryMs * 2 ** (failure.count - 1), RETRY_MAX_MS);
      await pause(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  // Known before the directory was read, so that a directory that can't be read is noticed.
  metrics.setReconciliation({ dueMs: dueMs(firstDay), last: null, open: [] });
  const stopped = checkUntilStopped();
  return {
    failure: () => failure,
    async stop() {
      stopping.abort();
      await stopped;
    },
  };
}

/** The names of records begin with their numbers. */
function newestRecord(names: readonly string[]): string {
  return names
    .filter((name) => name.endsWith('.json'))
    .reduce((newest, name) => (name > newest ? name : newest), '');
}

const count = z.int().nonnegative();
const classes = z.partialRecord(z.enum(CLASS_NAMES), count);

/** A line of `reconcile --through --json`. */
const runShape = z.object({
  run: count,
  day: z.string(),
  ok: z.boolean(),
  open: count,
  classes,
  warnings: z.array(z.string()),
});

/** What `reconcile show --json` prints. */
const stateShape = z.object({
  last: z.object({ until: z.iso.datetime(), at: z.iso.datetime(), unexplained: count }).nullable(),
  next: z.string().nullable(),
  classes,
});

async function readState(program: RunProgram, directory: string) {
  const lines: unknown[] = [];
  const args = ['reconcile', 'show', '--limit', '0', '--directory', directory];
  await program(args, (line) => void lines.push(line));
  const { last, next, classes: open } = stateShape.parse(lines[0]);
  return {
    next,
    last: last && { ...last, untilMs: Date.parse(last.until), atMs: Date.parse(last.at) },
    open: CLASS_NAMES.flatMap((name) => {
      const { level } = CLASSES[name];
      return level === 'explained' ? [] : [{ class: name, level, count: open[name] ?? 0 }];
    }),
  };
}

function logRun(log: Log, line: z.output<typeof runShape>, totalMs: number): void {
  const { run, day, ok, open, warnings } = line;
  const found = CLASS_NAMES.filter((name) => line.classes[name] !== undefined);
  const counts = found.map((name) => `${name} ${line.classes[name]}`).join(', ') || 'nothing to compare';
  const fields = { day, outcome: ok ? 'settled' : 'exceptions', count: open, totalMs };
  const because = [`run ${run}: ${counts}`, ...warnings].join('; ');
  if (found.some((name) => CLASSES[name].level === 'alarm')) log.error('reconciled', { ...fields, because });
  else if (ok && warnings.length === 0) log.info('reconciled', { ...fields, because });
  else log.warn('reconciled', { ...fields, because });
}

// ---- the process ----

/** Runs a command of this program with `--json`. Rejects with its error unless it ends with 0 or 1. */
type RunProgram = (args: readonly string[], onLine: (json: unknown) => void) => Promise<void>;

const PROGRAM = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));
/** With one CPU, callbacks come first. */
const PRIORITY = 10;
/** Of what it writes to standard error before it ends. */
const ERROR_CHARACTERS = 8192;
const OUT_OF_MEMORY = 'JavaScript heap out of memory';

function createProgram(
  { settings: { memoryMb, timeoutMs }, settingsFile, env }: ReconciliationParts,
  signal: AbortSignal,
): RunProgram {
  const config = settingsFile === undefined ? [] : ['--config', settingsFile];
  return async (args, onLine) => {
    const sinceMs = performance.now();
    const child = spawn(
      process.execPath,
      [`--max-old-space-size=${memoryMb}`, PROGRAM, ...args, '--json', ...config],
      // A run may be killed at any point.
      { env, signal, timeout: timeoutMs, killSignal: 'SIGKILL', stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let [fault, written] = ['', ''];
    child.on('error', (error) => (fault ||= messageOf(error)));
    child.stderr.on(
      'data',
      (chunk: Buffer) => (written = (written + chunk.toString()).slice(-ERROR_CHARACTERS)),
    );
    createInterface({ input: child.stdout }).on('line', (line) => {
      fault ||= faultOfLine(line, onLine);
    });
    lowerPriority(child.pid);
    const [code, endedBy] = await new Promise<readonly [number | null, string | null]>((resolve) => {
      child.once('close', (...ended) => resolve(ended));
    });
    if (fault === '' && (code === 0 || code === 1)) return;
    if (fault !== '') throw new Error(fault);
    if (written.includes(OUT_OF_MEMORY)) {
      throw new Error(`it needs more than ${memoryMb} MiB of heap. Increase reconcile.memoryMb`);
    }
    if (endedBy !== null && performance.now() - sinceMs >= timeoutMs) {
      throw new Error(`it was stopped after ${timeoutMs} ms. Increase reconcile.timeoutMs`);
    }
    throw new Error(`it ended with ${endedBy ?? `exit code ${code}`}: ${written.trim()}`);
  };
}

const errorShape = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Passes a line on. Returns the error that it has, or the empty text. */
function faultOfLine(line: string, onLine: (json: unknown) => void): string {
  try {
    const json: unknown = JSON.parse(line);
    const failed = errorShape.safeParse(json);
    if (failed.success) return `${failed.data.error.code}: ${failed.data.error.message}`;
    onLine(json);
    return '';
  } catch (thrown) {
    return messageOf(thrown);
  }
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, PRIORITY);
  } catch {
    // It has ended, or this system has no priorities.
  }
}
