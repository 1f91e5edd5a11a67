import { isMissing } from '../claims/claims.ts';
import { evaluate, pluginQuestionsOf } from '../policy/evaluate.ts';
import { type PluginAnswer, type PriceTable, factsAt } from '../policy/facts.ts';
import type { Release } from '../policy/release.ts';
import type { Verdict } from '../callback/callback.ts';
import { explainJournalEntry } from '../journal/explanation.ts';
import { type RecordItem, isPriceChange } from '../journal/record.ts';
import { type RecordedCallback, pricesOf, recordedCallback } from '../journal/recorded.ts';
import { type Explanation, decidingValues } from '../policy/explain.ts';
import { type SimulationStore, openSimulationStore } from '../store/embedded/simulation.ts';
import type { JournalEntry } from '../store/store.ts';
import { type ReplayedState, createReplayedState } from './replayed-state.ts';
import { inSettledOrder } from './settled-order.ts';
import { type EvaluationContext, type Simulated, explainSimulated, simulate } from './simulate.ts';

export interface BacktestOptions {
  /** The policies to try. */
  readonly release: Release;
  /** In order of time. */
  readonly record: AsyncIterable<RecordItem> | Iterable<RecordItem>;
  /**
   * The report begins at this instant. Earlier callbacks are decided as well, because they fill the state.
   */
  readonly fromMs?: number | undefined;
  /** Callbacks from this instant on are left out. */
  readonly untilMs?: number | undefined;
  /** The groups of sources now, for callbacks that were recorded without a group. */
  readonly groups?: ReadonlyMap<string, string>;
  /** How many changed callbacks, and how many unknown ones, to list. */
  readonly show: number;
  /** Called every few hundred callbacks with their number. */
  readonly progress?: (callbacks: number) => void;
}

/** The verdicts of recorded callbacks under the candidate. */
export interface BacktestReport {
  readonly candidate: string;
  /** All callbacks of the period except `frozen`. */
  readonly callbacks: number;
  readonly unchanged: number;
  readonly toFailure: number;
  readonly toSuccess: number;
  readonly notKnown: number;
  /** Refused during a freeze, whatever the policies. They are not compared. */
  readonly frozen: number;
  /**
   * Changed callbacks by the rule that refuses under the candidate, or refused before. Most callbacks first.
   */
  readonly rules: readonly { readonly change: Change; readonly rule: string; readonly callbacks: number }[];
  /** The first changed callbacks, in order of time. */
  readonly changed: readonly ChangedCallback[];
  readonly unknown: readonly UnknownCallback[];
  /** Sentences about state that the record does not have. */
  readonly warnings: readonly string[];
  /** The instants of the first and the last compared callback. Undefined if there are none. */
  readonly period: { readonly firstMs: number; readonly lastMs: number } | undefined;
}

type Change = 'SUCCESS->FAILURE' | 'FAILURE->SUCCESS';

interface CallbackReference {
  readonly source: string;
  readonly id: string;
  readonly atMs: number;
  readonly subject: string;
}

/** Why a callback has a verdict. */
export interface Reason {
  readonly verdict: Verdict;
  /** The rule that refused, as POLICY/NAME#N, or the code if no rule did. */
  readonly rule: string;
  readonly because: string;
  /** The values that the rule used. */
  readonly values: Readonly<Record<string, string>>;
}

export interface ChangedCallback extends CallbackReference {
  readonly recorded: Reason;
  readonly candidate: Reason;
}

export interface UnknownCallback extends CallbackReference {
  readonly because: string;
}

/** Whether a release counts by the groups of sources. */
export const countsByGroup = ({ policies }: Pick<Release, 'policies'>): boolean =>
  policies.some(({ rules }) => rules.some(({ acrossGroup }) => acrossGroup === true));

const PROGRESS_EVERY = 500;

/** Decides recorded callbacks again in a private store, each at its recorded time. */
export async function backtest(options: BacktestOptions): Promise<BacktestReport> {
  const { release, record, progress, untilMs = Infinity, groups = new Map() } = options;
  const store = openSimulationStore('disk');
  try {
    store.push(release.revision, 0);
    const state = createReplayedState(store);
    const counts = createBacktestCounts(options);
    const run: Run = { release, store, state, counts, groups };
    let callbacks = 0;
    for await (const item of inSettledOrder(record)) {
      if (item.atMs >= untilMs) continue;
      if (isPriceChange(item)) state.addPrices(item);
      else if (item.type === 'list') state.applyList(item);
      else if (item.type === 'order') state.applyOrder(item);
      else if (item.type === 'release') state.applyRelease(item);
      else if (item.type === 'lockout') state.applyLift(item);
      else if (item.type === 'decision' || item.type === 'repeat' || item.type === 'notice') {
        decideAgain(run, item);
        if (++callbacks % PROGRESS_EVERY === 0) progress?.(callbacks);
      }
    }
    return counts.report(state.warnings());
  } finally {
    store.close();
  }
}

interface Run {
  readonly release: Release;
  readonly store: SimulationStore;
  readonly state: ReplayedState;
  readonly counts: BacktestCounts;
  readonly groups: ReadonlyMap<string, string>;
}

/**
 * Decides one callback. If its verdict can't be known, it still changes the state as it did when recorded.
 */
function decideAgain({ release, store, state, counts, groups }: Run, entry: JournalEntry): void {
  // These refusals changed no state when recorded, so they must not change it now.
  if (entry.code === 'FROZEN' && entry.type === 'decision') return counts.frozen(entry);
  if (entry.code === 'SCHEME_CHANGED' || entry.code === 'RELEASED') return counts.unchanged(entry);
  const read = recordedCallback(entry);
  if (typeof read === 'string') return counts.notKnown(entry, read);
  if (entry.code === 'TERMS_CHANGED' && !store.hasSubject(entry.source, entry.subject)) {
    return counts.notKnown(entry, 'the callback whose terms it changed is not in the record');
  }
  if (entry.type === 'repeat' && !store.hasSubject(entry.source, entry.subject)) state.countOlderRepeat();
  state.applyPrices(pricesOf(entry), entry.atMs);
  const group = read.group ?? groups.get(entry.source);
  const { context, unknown } = evaluationContextOf(release, entry, { ...read, group }, store.prices());
  const simulated = simulate({ store, release }, read.callback, context);
  // No rule judges a notification, so its entry has no group.
  if (entry.type === 'notice') return;
  if (group !== read.group) state.countUngrouped();
  if (unknown !== undefined) return counts.notKnown(entry, unknown);
  if (simulated.verdict === entry.verdict) return counts.unchanged(entry);
  for (const list of missingLists(simulated)) state.noteMissingList(entry.source, list);
  counts.changed(entry, () => ({ recorded: recordedReason(entry), candidate: candidateReason(simulated) }));
}

/** Lists that rules of the candidate use and the record does not have. */
function missingLists(simulated: Simulated): readonly string[] {
  if (simulated.proposal === undefined || !('claims' in simulated.result)) return [];
  const { claims: found } = simulated.result;
  return simulated.proposal.claims.flatMap((claim, index) => {
    return isMissing(found[index]) && 'list' in claim ? [claim.list] : [];
  });
}

function recordedReason(entry: JournalEntry): Reason {
  return reasonOf(
    entry.verdict === 'SUCCESS' ? 'SUCCESS' : 'FAILURE',
    entry.code,
    explainJournalEntry(entry),
  );
}

const candidateReason = (simulated: Simulated): Reason =>
  reasonOf(simulated.verdict, simulated.code, explainSimulated(simulated));

function reasonOf(
  verdict: Verdict,
  code: string,
  explanation: Pick<Explanation, 'deciding' | 'because' | 'rules'>,
): Reason {
  const { deciding, because } = explanation;
  const values = decidingValues(explanation);
  return deciding === undefined
    ? { verdict, rule: code, because, values }
    : { verdict, rule: `${deciding.policy}/${deciding.rule}`, because: deciding.because, values };
}

/** Counts callbacks by outcome. Callbacks before the period are not counted. */
interface BacktestCounts {
  frozen(entry: JournalEntry): void;
  unchanged(entry: JournalEntry): void;
  notKnown(entry: JournalEntry, because: string): void;
  changed(
    entry: JournalEntry,
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

  const isReported = (entry: JournalEntry): boolean => {
    if (entry.atMs < fromMs || entry.type === 'notice') return false;
    period = { firstMs: period?.firstMs ?? entry.atMs, lastMs: entry.atMs };
    return true;
  };
  const referenceTo = ({ source, id, atMs, subject }: JournalEntry) => ({ source, id, atMs, subject });

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

const PLUGIN_VERDICTS = ['yes', 'no', 'failed'] as const;

/**
 * The evaluation context of a recorded callback. The candidate may ask a plugin that was not asked when the
 * callback was recorded. Then an answer is assumed that leads to the recorded verdict, so that the state
 * develops as it did. `unknown` says so, unless every answer leads to the same verdict.
 */
function evaluationContextOf(
  release: Release,
  { atMs, verdict }: JournalEntry,
  { callback, scheme, group, answers, approval, onlyApproved }: RecordedCallback,
  prices: PriceTable,
): { readonly context: EvaluationContext; readonly unknown: string | undefined } {
  const people = { approval, onlyApproved };
  const recordedContext: EvaluationContext = { atMs, scheme, group, prices, answers, ...people };
  const missing = [...pluginQuestionsOf(release, callback)].filter(([key]) => !answers.has(key));
  if (missing.length === 0) return { context: recordedContext, unknown: undefined };
  const assumedContexts = PLUGIN_VERDICTS.map(
    (each): { readonly context: EvaluationContext; readonly approves: boolean } => {
      const answer: PluginAnswer = { verdict: each, because: `${each}, assumed by the backtest` };
      const all = new Map([...answers, ...missing.map(([key]) => [key, answer] as const)]);
      const context = { ...recordedContext, answers: all };
      const { approves } = evaluate(release, callback, factsAt(atMs, context));
      return { context, approves };
    },
  );
  const allAgree = assumedContexts.every(({ approves }) => approves === assumedContexts[0]?.approves);
  const matchingContext =
    assumedContexts.find(({ approves }) => approves === (verdict === 'SUCCESS')) ?? assumedContexts.at(-1);
  const names = [...new Set(missing.map(([, { type, name }]) => `${type} ${name}`))].join(', ');
  return {
    context: matchingContext?.context ?? recordedContext,
    unknown: allAgree ? undefined : `it depends on the answer of ${names}, and the record has no such answer`,
  };
}
