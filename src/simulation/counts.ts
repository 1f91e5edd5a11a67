import type {
  BacktestOptions,
  BacktestReport,
  Change,
  ChangedCallback,
  Reason,
  UnknownCallback,
} from './backtest.ts';
import type { RecordedEntry } from './record.ts';

/** Counts how callbacks came out; those from before the period count for nothing. */
export interface BacktestCounts {
  frozen(entry: RecordedEntry): void;
  unchanged(entry: RecordedEntry): void;
  notKnown(entry: RecordedEntry, because: string): void;
  changed(
    entry: RecordedEntry,
    reasons: () => { readonly recorded: Reason; readonly candidate: Reason },
  ): void;
  report(warnings: readonly string[]): BacktestReport;
}

export function createBacktestCounts({
  release,
  fromMs = -Infinity,
  show,
}: Pick<BacktestOptions, 'release' | 'fromMs' | 'show'>): BacktestCounts {
  const counts = { unchanged: 0, toFailure: 0, toSuccess: 0, notKnown: 0, frozen: 0 };
  const rules = new Map<string, { readonly change: Change; readonly rule: string; callbacks: number }>();
  const changed: ChangedCallback[] = [];
  const unknown: UnknownCallback[] = [];
  let period: BacktestReport['period'];

  const isReported = (entry: RecordedEntry): boolean => {
    if (entry.atMs < fromMs || entry.type === 'notice') return false;
    period = { firstMs: period?.firstMs ?? entry.atMs, lastMs: entry.atMs };
    return true;
  };
  const referenceTo = ({ source, id, atMs, subject }: RecordedEntry) => ({ source, id, atMs, subject });

  return {
    frozen(entry) {
      if (isReported(entry)) counts.frozen++;
    },
    unchanged(entry) {
      if (isReported(entry)) counts.unchanged++;
    },
    notKnown(entry, because) {
      if (!isReported(entry)) return;
      counts.notKnown++;
      if (unknown.length < show) unknown.push({ ...referenceTo(entry), because });
    },
    changed(entry, reasons) {
      if (!isReported(entry)) return;
      const { recorded, candidate } = reasons();
      const change = candidate.verdict === 'SUCCESS' ? 'FAILURE->SUCCESS' : 'SUCCESS->FAILURE';
      const { rule } = candidate.verdict === 'SUCCESS' ? recorded : candidate;
      counts[change === 'SUCCESS->FAILURE' ? 'toFailure' : 'toSuccess']++;
      const count = rules.get(`${change} ${rule}`) ?? { change, rule, callbacks: 0 };
      count.callbacks++;
      rules.set(`${change} ${rule}`, count);
      if (changed.length < show) changed.push({ ...referenceTo(entry), recorded, candidate });
    },
    report: (warnings) => ({
      candidate: release.revision,
      callbacks: counts.unchanged + counts.toFailure + counts.toSuccess + counts.notKnown,
      ...counts,
      rules: [...rules.values()].toSorted(
        (a, b) => b.callbacks - a.callbacks || (`${a.change} ${a.rule}` < `${b.change} ${b.rule}` ? -1 : 1),
      ),
      changed,
      unknown,
      warnings,
      period,
    }),
  };
}
