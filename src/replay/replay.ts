import { createHistogram } from 'node:perf_hooks';
import type { Verdict } from '../callback/callback.ts';
import { CountersignError, messageOf } from '../errors.ts';
import type { RecordItem, RecordedEntry } from '../simulation/record.ts';
import type { Mapping } from './mapping.ts';
import { type Resent, type SenderOf, expectSendable, resend, sentOf } from './resend.ts';
import { type Queues, createPace, createQueues } from './schedule.ts';

/** An item of the record with the line that it stands in. */
interface RecordLine {
  readonly item: RecordItem;
  readonly line: number;
}

export interface ReplayOptions {
  /** Gives the record anew each time; it is read twice. */
  readonly record: () => Iterable<RecordLine>;
  readonly senderOf: SenderOf;
  readonly mapping: Mapping;
  /** Sends one callback. What it rejects with is a failure of that callback. */
  readonly post: (resent: Resent) => Promise<{ readonly status: number; readonly body: string }>;
  readonly concurrency: number;
  readonly ratePerSecond?: number | undefined;
  readonly speed?: number | undefined;
  /** How many that differ, and that failed, are told one by one. */
  readonly show: number;
  /** The time of day, for what is signed. */
  readonly clock: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number;
  readonly pause: (ms: number) => Promise<void>;
  /** A few times a second: how many are done, and of how many. */
  readonly progress?: (done: number, of: number) => void;
}

export interface ReplayReport extends Comparison {
  /** Too many failed one after the other, so the rest was not sent. */
  readonly stopped: boolean;
  /** Callbacks of the record that were not sent. */
  readonly notSent: number;
  /** From the first recorded callback to the last. */
  readonly recordedMs: number;
  readonly tookMs: number;
}

const FAILED_MAX = 20;
const PROGRESS_EVERY_MS = 200;

/**
 * Sends the callbacks of a record again and compares the answers with those recorded. Throws USAGE, before
 * anything is sent, if a callback of it can't be signed for its source.
 */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  const { record, concurrency, elapsed, pause } = options;
  const { callbacks, recordedMs } = survey(record(), options.senderOf);
  const comparing = createComparing(options.show);
  const queues = createQueues(concurrency);
  const pace = createPace({ clock: elapsed, ratePerSecond: options.ratePerSecond, speed: options.speed });
  const course: Course = { ...options, queues, comparing, failedInARow: 0 };
  const startedMs = elapsed();
  let reportAtMs = startedMs;
  for (const { item, line } of record()) {
    if (!isCallback(item)) {
      comparing.skip(item);
      continue;
    }
    if (course.failedInARow >= FAILED_MAX) break;
    const dueInMs = pace.dueInMs(item.atMs);
    if (dueInMs > 0) await pause(dueInMs);
    await send(course, item, line);
    if (elapsed() >= reportAtMs) {
      options.progress?.(comparing.done(), callbacks);
      reportAtMs = elapsed() + PROGRESS_EVERY_MS;
    }
  }
  await queues.idle();
  const notSent = callbacks - comparing.done();
  return { ...comparing.report(), stopped: notSent > 0, notSent, recordedMs, tookMs: elapsed() - startedMs };
}

const isCallback = (item: RecordItem): item is RecordedEntry =>
  item.type === 'decision' || item.type === 'repeat' || item.type === 'notice';

/** Reads the record once: how many callbacks it has, and whether each could be sent. */
function survey(
  lines: Iterable<RecordLine>,
  senderOf: SenderOf,
): { readonly callbacks: number; readonly recordedMs: number } {
  const looked = new Set<string>();
  const faults = new Set<string>();
  let [callbacks, firstMs, lastMs] = [0, Infinity, 0];
  for (const { item } of lines) {
    if (!isCallback(item)) continue;
    callbacks++;
    [firstMs, lastMs] = [Math.min(firstMs, item.atMs), Math.max(lastMs, item.atMs)];
    const sent = sentOf(item);
    if (typeof sent === 'string') continue;
    const what = `${item.source} ${sent.kind} ${sent.scheme}`;
    if (looked.has(what)) continue;
    looked.add(what);
    try {
      expectSendable(item.source, sent, senderOf);
    } catch (thrown) {
      if (!(thrown instanceof CountersignError)) throw thrown;
      faults.add(thrown.message);
    }
  }
  if (faults.size > 0) {
    throw new CountersignError('USAGE', `nothing was sent: ${[...faults].join('; ')}`, {
      faults: [...faults],
    });
  }
  return { callbacks, recordedMs: Math.max(0, lastMs - firstMs) };
}

interface Course extends ReplayOptions {
  readonly queues: Queues;
  readonly comparing: Comparing;
  /** How many got no answer since the last that did. */
  failedInARow: number;
}

async function send(course: Course, item: RecordedEntry, line: number): Promise<void> {
  const { queues, comparing, senderOf, mapping, clock, elapsed, post } = course;
  const { source, id, atMs, subject, verdict, code } = item;
  const place = { line, source, id, atMs, subject };
  const sent = sentOf(item);
  const resent =
    typeof sent === 'string' ? sent : resend(source, sent, { senderOf, mapping, nowMs: clock() });
  if (typeof resent === 'string') return comparing.failed({ ...place, because: resent });
  if (verdict === '') return comparing.failed({ ...place, because: 'no verdict is recorded of it' });
  await queues.submit(resent.queue, async () => {
    const sentMs = elapsed();
    try {
      const answer = await post(resent);
      compare(comparing, { ...place, verdict, code }, { resent, answer, tookMs: elapsed() - sentMs });
      course.failedInARow = 0;
    } catch (thrown) {
      course.failedInARow++;
      comparing.failed({ ...place, because: messageOf(thrown) });
    }
  });
}

const TOLD_CHARACTERS = 80;

/** Only what is, to the byte, the source's answer for yes is a yes. */
function compare(
  comparing: Comparing,
  recorded: Recorded,
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
  if (status === 200 && body === success) return comparing.answered(recorded, 'SUCCESS', tookMs);
  if (status === 200 && body === failure) return comparing.answered(recorded, 'FAILURE', tookMs);
  const { line, source, id, atMs, subject } = recorded;
  const because = `answered ${status} ${JSON.stringify(body.slice(0, TOLD_CHARACTERS))}, which is neither a yes nor a no`;
  return comparing.failed({ line, source, id, atMs, subject, because });
}

/** Where a callback stands in the record. */
interface Recorded {
  /** Of the file, counted from 1. */
  readonly line: number;
  readonly source: string;
  readonly id: string;
  readonly atMs: number;
  readonly subject: string;
  readonly verdict: Verdict;
  readonly code: string;
}

interface Differing extends Recorded {
  readonly answered: Verdict;
}

interface Failed extends Pick<Recorded, 'line' | 'source' | 'id' | 'atMs' | 'subject'> {
  /** Why there is no answer to compare. */
  readonly because: string;
}

/** Lines of the record that are no callbacks to send again, by what they are. */
interface Skipped {
  /** Marks that an answer came too late; the decision that they are about is compared by itself. */
  readonly late: number;
  /** Authentic callbacks that could not be read, and never were a question. */
  readonly refused: number;
  readonly selfChecks: number;
  /** Changes of lists, orders and prices. */
  readonly changes: number;
}

interface Comparison {
  /** Callbacks of the record that were to be sent. */
  readonly callbacks: number;
  readonly same: number;
  readonly toFailure: number;
  readonly toSuccess: number;
  /** Without an answer that could be compared. */
  readonly failed: number;
  /** The first of them, in order of their answers. */
  readonly differing: readonly Differing[];
  readonly failures: readonly Failed[];
  readonly skipped: Skipped;
  /** From the request to the whole answer; undefined if none came. */
  readonly latencyMs: { readonly p50: number; readonly p99: number } | undefined;
}

interface Comparing {
  skip(item: RecordItem): void;
  answered(recorded: Recorded, answer: Verdict, tookMs: number): void;
  failed(failure: Failed): void;
  done(): number;
  report(): Comparison;
}

function kindOfSkipped({ type }: RecordItem): keyof Skipped {
  if (type === 'late' || type === 'refused') return type;
  return type === 'self-check' ? 'selfChecks' : 'changes';
}

/**
 * Compares what was answered with what was recorded; keeps at most `show` of those that differ, and of those
 * that failed.
 */
function createComparing(show: number): Comparing {
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
