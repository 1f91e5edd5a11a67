import { type Callback, subjectOf, txidOf } from '../callback/callback.ts';
import { type Failure, failure } from '../errors.ts';
import { readByChain } from '../policy/chain-reading.ts';
import { type ApprovalRule, approvalRulesOf, evaluate, pluginQuestionsOf } from '../policy/evaluate.ts';
import {
  type Facts,
  type PeoplesApproval,
  type PluginAnswer,
  type PluginQuestion,
  type PriceTable,
  factsAt,
} from '../policy/facts.ts';
import { explainBriefly, standingRefusal } from '../policy/explain.ts';
import type { Proposal } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import type { Authenticated } from '../signature/scheme.ts';
import { formatSpan } from '../store/clock-state.ts';
import { type ArrivalFacts, keptDecision, notingUse } from '../store/kept-decision.ts';
import { NOTIFICATION_REASONS, type SettlePreview, type SettleResult, type Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import type { Outcome, Trace } from './outcome.ts';

/** The policies and prices in force, as this process last read them from the store. */
export interface PoliciesInForce {
  current(): Release | undefined;
  prices(): PriceTable;
  /** Whether only what people approve may pass, by a freeze. */
  onlyApproved(): boolean;
  /** Reads again what is in force. Resolves when the others have it, or when it can't be read. */
  refresh(): Promise<void>;
}

/** Asks a service or a module. Resolves within the time given, and never rejects. */
export type AskPlugin = (
  question: PluginQuestion,
  callback: Callback,
  timeoutMs: number,
) => Promise<PluginAnswer>;

/** What people say about callbacks, and how they are asked. */
export interface AskPeople {
  /** What they have said, with their signatures verified. Undefined if nobody was asked. */
  said(
    callback: Callback,
    scheme: string | undefined,
    release: Release,
  ): Promise<PeoplesApproval | undefined>;
  /**
   * Asks them about a callback that only they can approve, unless they were asked before. Resolves with whether
   * it asked, and never rejects.
   */
  ask(asked: {
    readonly callback: Callback;
    readonly body: string;
    readonly needs: readonly ApprovalRule[];
    /** Why the policies refuse. */
    readonly because: string;
  }): Promise<boolean>;
}

export interface DecideParts {
  readonly store: Store;
  readonly policies: PoliciesInForce;
  readonly ask: AskPlugin;
  /** Absent where nobody can be asked: rules that need people refuse. */
  readonly people?: AskPeople;
  /**
   * Whether a source's orders are bound to the scheme of their first callback (`bindScheme`). Without it, all
   * are.
   */
  readonly bindsScheme?: (source: string) => boolean;
  /** The group of a source, across which rules may count. Without it, no source has one. */
  readonly groupOf?: (source: string) => string | undefined;
  readonly clock: Clock;
  readonly answerTimeoutMs: number;
}

/** A parsed callback, with the data about its arrival that the journal keeps. */
export interface AuthenticatedCallback {
  readonly callback: Callback;
  readonly body: string;
  readonly sender: Authenticated;
  readonly address: string;
}

/** The most proposals that the store may find stale or expired while what is in force stays the same. */
const FRUITLESS_ATTEMPTS_MAX = 3;
/**
 * The most proposals for one callback. Prices may change every few milliseconds, and each change needs a new
 * proposal.
 */
const ATTEMPTS_MAX = 20;
/** The share of `answerTimeoutMs` that plugins may take. The rest is for settling. */
export const PLUGIN_SHARE = 0.9;

/** What one decision came to. */
export interface Decided {
  readonly outcome: Outcome;
  /** For what the callback is held open; undefined if it is answered at once. */
  readonly awaits?: AwaitedRequest;
}

/** The request that people have to approve, at the version that was decided about. */
interface AwaitedRequest {
  readonly version: number;
  /** From the arrival on. */
  readonly waitMs: number;
}

/** Evaluates and settles: the last two steps. The store decides; an approval here is only a proposal. */
export async function decide(
  parts: DecideParts,
  trace: Trace,
  received: AuthenticatedCallback,
): Promise<Decided> {
  const { callback, sender } = received;
  if (callback.question.type === 'sign_success')
    return { outcome: await decideNotification(parts, trace, received) };
  const settled = await settleProposals(parts, trace, { callback, scheme: sender.scheme }, (proposed) => {
    const { proposal, scheme, facts } = proposed;
    const detail = keptDecision(arrivalOf(received, trace), facts, proposal);
    return parts.store.settle({ callback, proposal, scheme, detail });
  });
  if (!settled.ok) return { outcome: trace.failed(settled) };
  const { proposal, result, needs, version } = settled;
  if (result.outcome === 'jumped')
    return { outcome: await recordClockJumped(parts, trace, received, result.aheadMs) };
  const outcome = await outcomeOf(parts, trace, { callback, proposal, result });
  if (result.code !== 'AWAITING_APPROVAL' || parts.people === undefined) return { outcome };
  const { because } = outcome.report;
  const body = sender.plaintext ?? received.body;
  const isNew = await parts.people.ask({ callback, body, needs, because });
  const waitMs = Math.max(0, ...needs.map((need) => need.waitMs));
  return { outcome, ...(waitMs > 0 && { awaits: { version: isNew ? version + 1 : version, waitMs } }) };
}

/** A proposal for the store, with what it was evaluated from. */
export interface Proposed {
  readonly proposal: Proposal;
  readonly facts: Facts;
  /** The scheme to which the subject is bound; the empty text if it is not bound. */
  readonly scheme: string;
}

/** What a store answers to a proposal that it does not take. */
type Rejected = Extract<SettlePreview, { readonly outcome: 'stale' | 'expired' }>;

interface Settled<S> {
  readonly ok: true;
  readonly proposal: Proposal;
  readonly result: S;
  /** The rules that people's approval fulfils, of those that may apply. */
  readonly needs: readonly ApprovalRule[];
  /** Of the request about it; 0 if nobody was asked. */
  readonly version: number;
}

/**
 * Evaluates the callback with the policies and prices in force, and gives the proposal to `settle`, again
 * until it is neither stale nor expired. Plugins are asked once for each question.
 */
export async function settleProposals<S extends { readonly outcome: 'decided' | 'repeated' | 'jumped' }>(
  parts: Omit<DecideParts, 'store'>,
  trace: Pick<Trace, 'elapsedMs' | 'measure' | 'measureAsync'>,
  { callback, scheme }: { readonly callback: Callback; readonly scheme: string | undefined },
  settle: (proposed: Proposed) => Promise<S | Rejected>,
): Promise<Settled<S> | Failure> {
  const boundScheme = scheme !== undefined && parts.bindsScheme?.(callback.source) !== false ? scheme : '';
  const group = parts.groupOf?.(callback.source);
  let nowMs: number | undefined;
  const answers = new Map<string, PluginAnswer>();
  let attempts = 0;
  for (
    let fruitlessAttempts = 0;
    fruitlessAttempts < FRUITLESS_ATTEMPTS_MAX && attempts < ATTEMPTS_MAX;
    attempts++
  ) {
    // FAILURE was answered, so nobody reads the outcome.
    if (trace.elapsedMs() >= parts.answerTimeoutMs) break;
    const release = parts.policies.current();
    const openQuestions = openQuestionsOf(release, callback, answers);
    if (openQuestions.length > 0) {
      const read = release === undefined ? callback : readByChain(callback, release.assets);
      await askPlugins(parts, trace, { callback: read, openQuestions, answers });
    }
    const onlyApproved = parts.policies.onlyApproved();
    const needs = approvalRulesOf(release, callback, { onlyApproved });
    const approval =
      release === undefined || needs.length === 0
        ? undefined
        : await trace.measureAsync('ask', async () => parts.people?.said(callback, scheme, release));
    // The time of the evaluation is that of the decision: the clock after the plugins have answered, and in
    // later attempts the time that the store has stated.
    const prices = parts.policies.prices();
    const facts = factsAt(nowMs ?? parts.clock(), {
      scheme,
      group,
      prices: notingUse(prices),
      answers,
      approval,
      onlyApproved,
    });
    const proposal = trace.measure('evaluate', () => evaluate(release, callback, facts));
    const result = await trace.measureAsync('settle', () => settle({ proposal, facts, scheme: boundScheme }));
    if (!isRejected(result)) return { ok: true, proposal, result, needs, version: approval?.version ?? 0 };
    if (result.outcome === 'stale') await parts.policies.refresh();
    const { policies } = parts;
    const isSame = policies.current() === release && policies.prices().version === prices.version;
    if (isSame && policies.onlyApproved() === onlyApproved) fruitlessAttempts += 1;
    nowMs = result.nowMs;
  }
  return failure(
    'STALE_POLICIES',
    `in ${attempts} attempts, the policies or prices used were not those in force, or the evaluation was ` +
      "not valid at the store's time; ask again, and see /readyz",
  );
}

const isRejected = (result: { readonly outcome: string }): result is Rejected =>
  result.outcome === 'stale' || result.outcome === 'expired';

type OpenQuestion = readonly [key: string, question: PluginQuestion];

/** The questions of the rules that apply, without those that have an answer. */
function openQuestionsOf(
  release: Release | undefined,
  callback: Callback,
  answers: ReadonlyMap<string, PluginAnswer>,
): readonly OpenQuestion[] {
  return [...pluginQuestionsOf(release, callback)].filter(([key]) => !answers.has(key));
}

/** Asks all plugins at the same time. */
async function askPlugins(
  { ask, answerTimeoutMs }: Pick<DecideParts, 'ask' | 'answerTimeoutMs'>,
  trace: Pick<Trace, 'elapsedMs' | 'measureAsync'>,
  {
    callback,
    openQuestions,
    answers,
  }: {
    readonly callback: Callback;
    readonly openQuestions: readonly OpenQuestion[];
    readonly answers: Map<string, PluginAnswer>;
  },
): Promise<void> {
  await trace.measureAsync('ask', async () => {
    const leftMs = answerTimeoutMs * PLUGIN_SHARE - trace.elapsedMs();
    const answered = openQuestions.map(async ([key, question]) =>
      answers.set(key, await ask(question, callback, leftMs)),
    );
    await Promise.all(answered);
  });
}

async function outcomeOf(
  { store }: DecideParts,
  trace: Trace,
  {
    callback,
    proposal,
    result,
  }: {
    readonly callback: Callback;
    readonly proposal: Proposal;
    readonly result: Exclude<SettleResult, { outcome: 'stale' | 'expired' | 'jumped' }>;
  },
): Promise<Outcome> {
  let { deciding, because } = explainBriefly(proposal, result);
  if (result.outcome === 'repeated' && result.code === 'RULE_REFUSED' && deciding === undefined) {
    const entry = await store.entry(callback.source, result.of).catch(() => undefined);
    const first = entry && standingRefusal(entry);
    ({ deciding, because } = explainBriefly(proposal, { ...result, first }));
  }
  const repeats =
    result.outcome === 'repeated' ? ` (decided before, as ${callback.source}/${result.of})` : '';
  return trace.end({
    verdict: result.verdict,
    outcome: result.outcome,
    code: result.code,
    because: `${because}${repeats}`,
    rule: deciding === undefined ? undefined : `${deciding.policy}/${deciding.rule}`,
    revision: proposal.revision,
    decision: result.id,
    alarm: result.code === 'TERMS_CHANGED' || result.code === 'SCHEME_CHANGED',
  });
}

/**
 * Answers FAILURE, because the store does not decide while it can't trust its clock. The journal keeps the
 * callback with the reason.
 */
async function recordClockJumped(
  { store }: DecideParts,
  trace: Trace,
  received: AuthenticatedCallback,
  aheadMs: number,
): Promise<Outcome> {
  const because =
    `the store's clock is ${formatSpan(aheadMs)} ahead of its time, so nothing is approved until ` +
    'it is corrected or accepted; see /readyz, or run `countersign clock show`';
  const refusal = failure('CLOCK_JUMPED', because, { aheadMs });
  const id = await store.record({
    source: received.callback.source,
    type: 'refused',
    subject: subjectOf(received.callback),
    verdict: 'FAILURE',
    code: refusal.code,
    of: '',
    detail: detailOf(received, trace, { aheadMs, because }),
  });
  return trace.refused(refusal, id);
}

/** `sign_success`: a notification, which no policy decides. */
async function decideNotification(
  parts: DecideParts,
  trace: Trace,
  received: AuthenticatedCallback,
): Promise<Outcome> {
  const { callback } = received;
  const txid = txidOf(callback);
  const detail = detailOf(received, trace, { txid });
  const result = await trace.measureAsync('settle', () =>
    parts.store.recordNotification({ callback, txid, detail }),
  );
  return trace.end({
    verdict: result.verdict,
    outcome: 'notice',
    code: result.code,
    because: NOTIFICATION_REASONS[result.code],
    decision: result.id,
    alarm: result.code !== 'NOTED' && result.code !== 'FROZEN',
    data: { txid },
  });
}

function arrivalOf({ body, sender, address }: AuthenticatedCallback, trace: Trace): ArrivalFacts {
  const { by, scheme, plaintext } = sender;
  const { requestId } = trace;
  return { requestId, traceId: trace.traceId(), address, by, scheme, body, plaintext };
}

/** The detail of a callback that no policy decided. */
function detailOf(
  { callback, body, sender, address }: AuthenticatedCallback,
  trace: Trace,
  more: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify({
    requestId: trace.requestId,
    traceId: trace.traceId(),
    address,
    by: sender.by,
    scheme: sender.scheme,
    kind: callback.kind,
    question: callback.question,
    terms: callback.terms,
    unknown: callback.unknown,
    body,
    plaintext: sender.plaintext,
    ...more,
  });
}
