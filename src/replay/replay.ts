import { createHistogram } from 'node:perf_hooks';
import type { Verdict } from '../callback/callback.ts';
import { CountersignError, messageOf, usageError } from '../errors.ts';
import { type RecordItem, isPriceChange } from '../journal/record.ts';
import { recordedText } from '../journal/recorded.ts';
import type { JournalEntry } from '../store/store.ts';
import type { Mapping } from './mapping.ts';
import { type Resent, type SenderOf, expectSendable, resend } from './resend.ts';
import { type Queues, createPace, createQueues } from './schedule.ts';

/** An item of the record with the number of its line. */
interface RecordLine {
  readonly item: RecordItem;
  readonly line: number;
}

export interface ReplayOptions {
  /** Opens the record. It is read twice. */
  readonly record: () => Iterable<RecordLine>;
  readonly senderOf: SenderOf;
  readonly mapping: Mapping;
  /** Sends one callback. If it rejects, the callback counts as failed. */
  readonly post: (resent: Resent) => Promise<{ readonly status: number; readonly body: string }>;
  readonly concurrency: number;
  readonly ratePerSecond?: number | undefined;
  readonly speed?: number | undefined;
  /** How many differing, and how many failed, callbacks to list. */
  readonly show: number;
  /** The time of day, for signatures. */
  readonly clock: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number;
  readonly pause: (ms: number) => Promise<void>;
  /** Called a few times a second with the number of finished callbacks and of all. */
  readonly progress?: (done: number, of: number) => void;
}

export interface ReplayReport extends ComparisonReport {
  /** Too many callbacks in a row failed, so the rest was not sent. */
  readonly stopped: boolean;
  /** Callbacks of the record that were not sent. */
  readonly notSent: number;
  /** The recorded time from the first callback to the last. */
  readonly recordedMs: number;
  readonly tookMs: number;
}

const FAILED_MAX = 20;
const PROGRESS_EVERY_MS = 200;

/**
 * Sends the callbacks of a record again, and compares the answers with the recorded ones. Throws USAGE,
 * before it sends anything, if a callback can't be signed for its source.
 */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  const { record, concurrency, elapsed, pause } = options;
  const { callbacks, recordedMs } = survey(record(), options.senderOf);
  const comparison = createComparison(options.show);
  const queues = createQueues(concurrency);
  const pace = createPace({ clock: elapsed, ratePerSecond: options.ratePerSecond, speed: options.speed });
  const run: Run = { ...options, queues, comparison, failedInARow: 0 };
  const startedMs = elapsed();
  let reportAtMs = startedMs;
  for (const { item, line } of record()) {
    if (!isCallback(item)) {
      comparison.skip(item);
      continue;
    }
    if (run.failedInARow >= FAILED_MAX) break;
    const dueInMs = pace.dueInMs(item.atMs);
    if (dueInMs > 0) await pause(dueInMs);
    await send(run, item, line);
    if (elapsed() >= reportAtMs) {
      options.progress?.(comparison.done(), callbacks);
      reportAtMs = elapsed() + PROGRESS_EVERY_MS;
    }
  }
  await queues.idle();
  const notSent = callbacks - comparison.done();
  return { ...comparison.report(), stopped: notSent > 0, notSent, recordedMs, tookMs: elapsed() - startedMs };
}

const isCallback = (item: RecordItem): item is JournalEntry =>
  !isPriceChange(item) && (item.type === 'decision' || item.type === 'repeat' || item.type === 'notice');

/** Reads the record once: counts its callbacks, and checks that each can be sent. */
function survey(
  lines: Iterable<RecordLine>,
  senderOf: SenderOf,
): { readonly callbacks: number; readonly recordedMs: number } {
  const checked = new Set<string>();
  const faults = new Set<string>();
  let [callbacks, firstMs, lastMs] = [0, Infinity, 0];
  for (const { item } of lines) {
    if (!isCallback(item)) continue;
    callbacks++;
    [firstMs, lastMs] = [Math.min(firstMs, item.atMs), Math.max(lastMs, item.atMs)];
    const sent = recordedText(item);
    if (typeof sent === 'string') continue;
    const what = `${item.source} ${sent.kind} ${sent.scheme}`;
    if (checked.has(what)) continue;
    checked.add(what);
    try {
      expectSendable(item.source, sent, senderOf);
    } catch (thrown) {
      if (!(thrown instanceof CountersignError)) throw thrown;
      faults.add(thrown.message);
    }
  }
  if (faults.size > 0) {
    throw usageError(`nothing was sent: ${[...faults].join('; ')}`, {
      faults: [...faults],
    });
  }
  return { callbacks, recordedMs: Math.max(0, lastMs - firstMs) };
}

interface Run extends ReplayOptions {
  readonly queues: Queues;
  readonly comparison: Comparison;
  /** Callbacks without an answer since the last answer. */
  failedInARow: number;
}

async function send(run: Run, item: JournalEntry, line: number): Promise<void> {
  const { queues, comparison, senderOf, mapping, clock, elapsed, post } = run;
  const { source, id, atMs, subject, verdict, code } = item;
  const place = { line, source, id, atMs, subject };
  const sent = recordedText(item);
  const resent =
    typeof sent === 'string' ? sent : resend(source, sent, { senderOf, mapping, nowMs: clock() });
  if (typeof resent === 'string') return comparison.failed({ ...place, because: resent });
  if (verdict === '') return comparison.failed({ ...place, because: 'the record has no verdict for it' });
  await queues.submit(resent.queue, async () => {
    const sentMs = elapsed();
    try {
      const answer = await post(resent);
      compare(comparison, { ...place, verdict, code }, { resent, answer, tookMs: elapsed() - sentMs });
      run.failedInARow = 0;
    } catch (thrown) {
      run.failedInARow++;
      comparison.failed({ ...place, because: messageOf(thrown) });
    }
  });
}

const SHOWN_CHARACTERS = 80;

/** An answer counts only if it is, byte by byte, the source's SUCCESS or FAILURE. */
function compare(
  comparison: Comparison,
  recorded: ComparedCallback,
  {
    resent,
    answer,
    tookMs,
  }: {
    readonly resent: Resent;
    readonly answer: { readonly status: number; readonly body: string };
    readonly tookMs: number;
  },
): void {
  const { status, body } = answer;
  const { success, failure } = resent.answer;
  if (status === 200 && body === success) return comparison.answered(recorded, 'SUCCESS', tookMs);
  if (status === 200 && body === failure) return comparison.answered(recorded, 'FAILURE', tookMs);
  const { line, source, id, atMs, subject } = recorded;
  const because =
    `answered ${status} ${JSON.stringify(body.slice(0, SHOWN_CHARACTERS))}, which is neither SUCCESS ` +
    'nor FAILURE';
  return comparison.failed({ line, source, id, atMs, subject, because });
}

/** A callback of the record, with its recorded decision. The answer is compared with the recorded verdict. */
interface ComparedCallback {
  /** Counted from 1. */
  readonly line: number;
  readonly source: string;
  readonly id: string;
  readonly atMs: number;
  readonly subject: string;
  readonly verdict: Verdict;
  readonly code: string;
}

interface Differing extends ComparedCallback {
  readonly answered: Verdict;
}

interface Failed extends Pick<ComparedCallback, 'line' | 'source' | 'id' | 'atMs' | 'subject'> {
  /** Why no answer can be compared. */
  readonly because: string;
}

/** How many lines of the record are not sent, by kind. */
interface Skipped {
  /** Entries about a late answer. Their decision has an entry of its own. */
  readonly late: number;
  /** Authentic callbacks without a decision: unreadable, or while the clock was wrong. */
  readonly refused: number;
  readonly selfChecks: number;
  /** Changes of lists, orders, prices, freezes and the clock. */
  readonly changes: number;
}

interface ComparisonReport {
  /** Callbacks of the record that were sent, or could not be. */
  readonly callbacks: number;
  readonly same: number;
  readonly toFailure: number;
  readonly toSuccess: number;
  /** Callbacks without an answer that can be compared. */
  readonly failed: number;
  /** The first differing callbacks, in the order of the record. */
  readonly differing: readonly Differing[];
  readonly failures: readonly Failed[];
  readonly skipped: Skipped;
  /** From the request to the complete answer. Undefined without answers. */
  readonly latencyMs: { readonly p50: number; readonly p99: number } | undefined;
}

interface Comparison {
  skip(item: RecordItem): void;
  answered(recorded: ComparedCallback, answer: Verdict, tookMs: number): void;
  failed(failure: Failed): void;
  done(): number;
  report(): ComparisonReport;
}

function kindOfSkipped(item: RecordItem): keyof Skipped {
  const type = isPriceChange(item) ? 'prices' : item.type;
  if (type === 'late' || type === 'refused') return type;
  return type === 'self-check' ? 'selfChecks' : 'changes';
}

/**
 * Compares answers with recorded verdicts. Keeps at most `show` differing and `show` failed callbacks.
 */
function createComparison(show: number): Comparison {
  const counts = { same: 0, toFailure: 0, toSuccess: 0, failed: 0 };
  const skipped = { late: 0, refused: 0, selfChecks: 0, changes: 0 };
  const differing: Differing[] = [];
  const failures: Failed[] = [];
  const latencyUs = createHistogram();
  const done = (): number => counts.same + counts.toFailure + counts.toSuccess + counts.failed;

  return {
    skip(item) {
      skipped[kindOfSkipped(item)]++;
    },
    answered(recorded, answered, tookMs) {
      latencyUs.record(Math.max(1, Math.round(tookMs * 1000)));
      if (answered === recorded.verdict) {
        counts.same++;
        return;
      }
      counts[answered === 'SUCCESS' ? 'toSuccess' : 'toFailure']++;
      if (differing.length < show) differing.push({ ...recorded, answered });
    },
    failed(failure) {
      counts.failed++;
      if (failures.length < show) failures.push(failure);
    },
    done,
    report: () => ({
      callbacks: done(),
      ...counts,
      differing: differing.toSorted((a, b) => a.line - b.line),
      failures: failures.toSorted((a, b) => a.line - b.line),
      skipped,
      latencyMs:
        latencyUs.count === 0
          ? undefined
          : { p50: latencyUs.percentile(50) / 1000, p99: latencyUs.percentile(99) / 1000 },
    }),
  };
}
