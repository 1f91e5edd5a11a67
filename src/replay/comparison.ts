import { createHistogram } from 'node:perf_hooks';
import type { Verdict } from '../callback/callback.ts';
import type { RecordItem } from '../simulation/record.ts';

/** Where a callback stands in the record. */
export interface Recorded {
  /** Of the file, counted from 1. */
  readonly line: number;
  readonly source: string;
  readonly id: string;
  readonly atMs: number;
  readonly subject: string;
  readonly verdict: Verdict;
  readonly code: string;
}

export interface Differing extends Recorded {
  readonly answered: Verdict;
}

export interface Failed extends Pick<Recorded, 'line' | 'source' | 'id' | 'atMs' | 'subject'> {
  /** Why there is no answer to compare. */
  readonly because: string;
}

/** Lines of the record that are no callbacks to send again, by what they are. */
export interface Skipped {
  /** Marks that an answer came too late; the decision that they are about is compared by itself. */
  readonly late: number;
  /** Authentic callbacks that could not be read, and never were a question. */
  readonly refused: number;
  readonly selfChecks: number;
  /** Changes of lists, orders and prices. */
  readonly changes: number;
}

export interface Comparison {
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

export interface Comparing {
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
export function createComparing(show: number): Comparing {
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
