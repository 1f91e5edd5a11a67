import { evaluate } from '../policy/evaluate.ts';
import { type PluginAnswer, type PriceTable, factsAt } from '../policy/facts.ts';
import { pluginQuestionsOf } from '../policy/plugins.ts';
import type { Release } from '../policy/release.ts';
import { type SimulationStore, openSimulationStore } from '../store/embedded/simulation.ts';
import {
  type RecordItem,
  type RecordedCallback,
  type Reason,
  type RecordedEntry,
  recordedCallback,
  recordedReason,
} from './record.ts';
import { type ReplayedState, createReplayedState } from './replayed-state.ts';
import { type EvaluationContext, type Simulated, explainSimulated, simulate } from './simulate.ts';

export interface BacktestOptions {
  /** The candidate. */
  readonly release: Release;
  /** In order of time. */
  readonly record: AsyncIterable<RecordItem> | Iterable<RecordItem>;
  /**
   * Only callbacks from here on are reported; what was before is decided all the same, for what it leaves
   * behind.
   */
  readonly fromMs?: number | undefined;
  /** Callbacks from here on are left alone. */
  readonly untilMs?: number | undefined;
  /** How many changed callbacks, and how many of those that are not known, are told one by one. */
  readonly show: number;
  /** After every few hundred callbacks, with their number. */
  readonly progress?: (callbacks: number) => void;
}

/** How recorded callbacks would have come out under a candidate. */
export interface BacktestReport {
  readonly candidate: string;
  /** Callbacks that were compared or could not be: all below but `frozen`. */
  readonly callbacks: number;
  readonly unchanged: number;
  readonly toFailure: number;
  readonly toSuccess: number;
  readonly notKnown: number;
  /** Refused because all was frozen, whatever the policies: left out. */
  readonly frozen: number;
  /** Changed callbacks by what refuses now, or refused then; most first. */
  readonly rules: readonly { readonly change: Change; readonly rule: string; readonly callbacks: number }[];
  /** The first of them, in order of time. */
  readonly changed: readonly ChangedCallback[];
  readonly unknown: readonly UnknownCallback[];
  /** What can't be known of the state, a sentence each. */
  readonly warnings: readonly string[];
  /** The instants of the first and the last that were compared; undefined if none were. */
  readonly period: { readonly firstMs: number; readonly lastMs: number } | undefined;
}

type Change = 'SUCCESS->FAILURE' | 'FAILURE->SUCCESS';

interface CallbackReference {
  readonly source: string;
  readonly id: string;
  readonly atMs: number;
  readonly subject: string;
}

export interface ChangedCallback extends CallbackReference {
  readonly recorded: Reason;
  readonly candidate: Reason;
}

export interface UnknownCallback extends CallbackReference {
  readonly because: string;
}

const PROGRESS_EVERY = 500;

/** Decides recorded callbacks again, each at its own time, in a store of their own. */
export async function backtest(options: BacktestOptions): Promise<BacktestReport> {
  const { release, record, progress, untilMs = Infinity } = options;
  const store = openSimulationStore('disk');
  try {
    store.push(release.revision, 0);
    const state = createReplayedState(store);
    const tally = createBacktestCounts(options);
    const course: Course = { release, store, state, tally };
    let callbacks = 0;
    for await (const item of record) {
      if (item.atMs >= untilMs) continue;
      if (item.type === 'prices') state.prices(item);
      else if (item.type === 'list') state.list(item);
      else if (item.type === 'order') state.order(item);
      else if (item.type === 'decision' || item.type === 'repeat' || item.type === 'notice') {
        again(course, item);
        if (++callbacks % PROGRESS_EVERY === 0) progress?.(callbacks);
      }
    }
    return tally.report(state.warnings());
  } finally {
    store.close();
  }
}

interface Course {
  readonly release: Release;
  readonly store: SimulationStore;
  readonly state: ReplayedState;
  readonly tally: BacktestCounts;
}

/**
 * One recorded callback. What can't be decided again as it was leaves behind, as far as that goes, what it
 * left then.
 */
function again({ release, store, state, tally }: Course, entry: RecordedEntry): void {
  // It touched nothing then, and must reserve nothing now.
  if (entry.code === 'FROZEN' && entry.type === 'decision') return tally.frozen(entry);
  // So did what came by another scheme, whatever the policies say.
  if (entry.code === 'SCHEME_CHANGED') return tally.unchanged(entry);
  const read = recordedCallback(entry);
  if (typeof read === 'string') return tally.notKnown(entry, read);
  if (entry.code === 'TERMS_CHANGED' && !store.knows(entry.source, entry.subject)) {
    return tally.notKnown(entry, 'the callback whose terms it changed is not in the record');
  }
  if (entry.type === 'repeat' && !store.knows(entry.source, entry.subject)) state.repeatOfOlder();
  state.pricesSeen(entry.prices, entry.atMs);
  const { context, unasked } = evaluationContextOf(release, entry, read, store.prices());
  const simulated = simulate({ store, release }, read.callback, context);
  if (entry.type === 'notice') return;
  if (unasked !== undefined) return tally.notKnown(entry, unasked);
  if (simulated.verdict === entry.verdict) return tally.unchanged(entry);
  for (const list of missingLists(simulated)) state.listMissing(entry.source, list);
  tally.changed(entry, () => ({ recorded: recordedReason(entry), candidate: candidateReason(simulated) }));
}

/** Lists that the candidate claimed something of, and that are not there. */
function missingLists(simulated: Simulated): readonly string[] {
  if (simulated.proposal === undefined || !('claims' in simulated.result)) return [];
  const { claims: found } = simulated.result;
  return simulated.proposal.claims.flatMap((claim, index) => {
    const result = found[index];
    const isMissing = result !== undefined && 'missing' in result && result.missing;
    return isMissing && 'list' in claim ? [claim.list] : [];
  });
}

function candidateReason(simulated: Simulated): Reason {
  const { verdict, code } = simulated;
  const { deciding, because, rules } = explainSimulated(simulated);
  if (deciding === undefined) return { verdict, rule: code, because, values: {} };
  const at = rules.findIndex(({ policy, rule }) => policy === deciding.policy && rule === deciding.rule);
  const values = simulated.proposal?.results[at]?.values ?? {};
  return { verdict, rule: `${deciding.policy}/${deciding.rule}`, because: deciding.because, values };
}

/** Counts how callbacks came out; those from before the period count for nothing. */
interface BacktestCounts {
  frozen(entry: RecordedEntry): void;
  unchanged(entry: RecordedEntry): void;
  notKnown(entry: RecordedEntry, because: string): void;
  changed(
    entry: RecordedEntry,
    reasons: () => { readonly recorded: Reason; readonly candidate: Reason },
  ): void;
  report(warnings: readonly string[]): BacktestReport;
}

function createBacktestCounts({
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

const VERDICTS = ['yes', 'no', 'failed'] as const;

/**
 * What a recorded callback is decided with. If the candidate asks what was not asked then, the answer is
 * taken that leads to what was decided then, so that at least the state goes on as it did; `unasked` says so,
 * unless no answer would matter.
 */
function evaluationContextOf(
  release: Release,
  { atMs, verdict }: RecordedEntry,
  { callback, scheme, answers }: RecordedCallback,
  prices: PriceTable,
): { readonly context: EvaluationContext; readonly unasked: string | undefined } {
  const known: EvaluationContext = { atMs, scheme, prices, answers };
  const missing = [...pluginQuestionsOf(release, callback)].filter(([key]) => !answers.has(key));
  if (missing.length === 0) return { context: known, unasked: undefined };
  const supposed = VERDICTS.map(
    (each): { readonly context: EvaluationContext; readonly approves: boolean } => {
      const answer: PluginAnswer = { verdict: each, because: `${each}, supposed by the backtest` };
      const all = new Map([...answers, ...missing.map(([key]) => [key, answer] as const)]);
      const { approves } = evaluate(release, callback, factsAt(atMs, { scheme, prices, answers: all }));
      return { context: { ...known, answers: all }, approves };
    },
  );
  const alike = supposed.every(({ approves }) => approves === supposed[0]?.approves);
  const chosen = supposed.find(({ approves }) => approves === (verdict === 'SUCCESS')) ?? supposed.at(-1);
  const names = [...new Set(missing.map(([, { of, name }]) => `${of} ${name}`))].join(', ');
  return {
    context: chosen?.context ?? known,
    unasked: alike ? undefined : `it depends on what ${names} would answer, and was not asked then`,
  };
}
