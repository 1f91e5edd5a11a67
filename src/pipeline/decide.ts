import type { Callback } from '../callback/callback.ts';
import { failure } from '../errors.ts';
import { evaluate } from '../policy/evaluate.ts';
import { type PluginAnswer, type PluginQuestion, type PriceTable, factsAt } from '../policy/facts.ts';
import { pluginQuestionsOf } from '../policy/plugins.ts';
import { explainBriefly } from '../policy/explain.ts';
import { type Proposal, proposalToJson } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import type { Authenticated } from '../signature/authenticate.ts';
import { spanText } from '../store/clock-state.ts';
import type { SettleRequest, SettleResult, Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import type { Outcome, Track } from './outcome.ts';
import { firstRefusal } from './first-refusal.ts';
import { notificationRequestOf, settleRequestOf, termsOf } from './settle-request.ts';

/** The policies as they are followed from the store. */
export interface Following {
  current(): Release | undefined;
  prices(): PriceTable;
  /** Reads what is in force now; resolves when `current` is that, or when it can't be. */
  refresh(): Promise<void>;
}

/** Asks a service or a module; resolves within the time given, never rejects. */
export type AskPlugin = (
  question: PluginQuestion,
  callback: Callback,
  timeoutMs: number,
) => Promise<PluginAnswer>;

export interface DecideParts {
  readonly store: Store;
  readonly following: Following;
  readonly ask: AskPlugin;
  /**
   * Whether orders of a source are bound to the scheme that they first came by (`bindScheme`); true if it is
   * not given.
   */
  readonly bindsScheme?: (source: string) => boolean;
  readonly clock: Clock;
  readonly answerTimeoutMs: number;
}

/** A parsed callback with what the journal keeps of its arrival. */
export interface Question {
  readonly callback: Callback;
  readonly body: string;
  readonly sender: Authenticated;
  readonly address: string;
}

/** How often a proposal is made without what is in force having been seen to move on in between. */
const ATTEMPTS = 3;
/**
 * How often in all, where each time policies or prices have moved on: prices may change every few
 * milliseconds.
 */
const ATTEMPTS_MAX = 20;
/**
 * How much of the time for an answer asking may take: whatever somebody else does, some is left to settle in.
 */
const ASKING_SHARE = 0.9;

/**
 * Evaluate and settle: the last two steps. What the store says is the decision; nothing here can make a yes
 * of a no.
 */
export async function decide(parts: DecideParts, run: Track, question: Question): Promise<Outcome> {
  const { callback } = question;
  const terms = termsOf(callback);
  if (callback.question.type === 'sign_success') return notice(parts, run, question, terms);

  const { scheme } = question.sender;
  const bound = scheme !== undefined && parts.bindsScheme?.(callback.source) !== false ? scheme : '';
  let nowMs: number | undefined;
  const answers = new Map<string, PluginAnswer>();
  let attempts = 0;
  for (let fruitless = 0; fruitless < ATTEMPTS && attempts < ATTEMPTS_MAX; attempts++) {
    if (run.elapsedMs() >= parts.answerTimeoutMs) break;
    const release = parts.following.current();
    const open = openQuestions(release, callback, answers);
    if (open.length > 0) await askPlugins(parts, run, { callback, open, answers });
    // Not before all is answered: the instant that is judged is that of the decision.
    const prices = parts.following.prices();
    const facts = factsAt(nowMs ?? parts.clock(), { scheme, prices, answers });
    const proposal = run.timed('evaluate', () => evaluate(release, callback, facts));
    const detail = detailOf(question, run, {
      ...(answers.size > 0 ? { answers: Object.fromEntries(answers) } : {}),
      proposal: proposalToJson(proposal),
    });
    const request = settleRequestOf(callback, { terms, scheme: bound, detail }, proposal);
    const result = await run.timedAsync('settle', () => parts.store.settle(request));
    if (result.outcome === 'jumped')
      return jumped(parts, run, { question, request, aheadMs: result.aheadMs });
    if (result.outcome === 'stale') await parts.following.refresh();
    else if (result.outcome !== 'expired') return settled(parts, run, { request, proposal, result });
    if (parts.following.current() === release && parts.following.prices().version === prices.version)
      fruitless += 1;
    nowMs = result.nowMs;
  }
  return run.failed(
    failure(
      'STALE_POLICIES',
      `the policies in force could not be followed in ${attempts} attempts; see /readyz`,
    ),
  );
}

type OpenQuestion = readonly [key: string, question: PluginQuestion];

/** What the rules that apply need to know and is not answered yet. */
function openQuestions(
  release: Release | undefined,
  callback: Callback,
  answers: ReadonlyMap<string, PluginAnswer>,
): readonly OpenQuestion[] {
  return [...pluginQuestionsOf(release, callback)].filter(([key]) => !answers.has(key));
}

/** Asks all at once. */
async function askPlugins(
  { ask, answerTimeoutMs }: DecideParts,
  run: Track,
  {
    callback,
    open,
    answers,
  }: {
    readonly callback: Callback;
    readonly open: readonly OpenQuestion[];
    readonly answers: Map<string, PluginAnswer>;
  },
): Promise<void> {
  await run.timedAsync('ask', async () => {
    const leftMs = answerTimeoutMs * ASKING_SHARE - run.elapsedMs();
    const asked = open.map(async ([key, question]) =>
      answers.set(key, await ask(question, callback, leftMs)),
    );
    await Promise.all(asked);
  });
}

async function settled(
  { store }: DecideParts,
  run: Track,
  {
    request,
    proposal,
    result,
  }: {
    readonly request: SettleRequest;
    readonly proposal: Proposal;
    readonly result: Exclude<SettleResult, { outcome: 'stale' | 'expired' | 'jumped' }>;
  },
): Promise<Outcome> {
  let { deciding, because } = explainBriefly(proposal, result);
  if (result.outcome === 'repeated' && result.code === 'RULE_REFUSED' && deciding === undefined) {
    const entry = await store.entry(request.source, result.of).catch(() => undefined);
    const first = entry && firstRefusal(entry);
    ({ deciding, because } = explainBriefly(proposal, { ...result, first }));
  }
  return run.end({
    verdict: result.verdict,
    outcome: result.outcome,
    code: result.code,
    because: result.outcome === 'repeated' ? `${because} (decided before, as ${result.of})` : because,
    rule: deciding === undefined ? undefined : `${deciding.policy}/${deciding.rule}`,
    revision: proposal.revision,
    decision: result.id,
    alarm: result.code === 'TERMS_CHANGED' || result.code === 'SCHEME_CHANGED',
  });
}

/**
 * Nothing is decided by a clock that is not believed; what came is kept for whoever asks why it was refused.
 */
async function jumped(
  { store }: DecideParts,
  run: Track,
  {
    question,
    request: { source, subject },
    aheadMs,
  }: { readonly question: Question; readonly request: SettleRequest; readonly aheadMs: number },
): Promise<Outcome> {
  const because = `the store's clock is ${spanText(aheadMs)} ahead of its time, and nothing is approved until it is put right or accepted; see /readyz, or \`countersign clock show\``;
  const refusal = failure('CLOCK_JUMPED', because, { aheadMs });
  const id = await store.record({
    source,
    type: 'refused',
    subject,
    verdict: 'FAILURE',
    code: refusal.code,
    of: '',
    detail: detailOf(question, run, { aheadMs, because }),
  });
  return run.refused(refusal, id);
}

export const NOTIFICATION_REASONS = {
  NOTED: 'signed as approved',
  SIGNED_WITHOUT_APPROVAL: 'signed, but no sign_start with these terms stands approved',
  TXID_UNEXPECTED: 'signed once more under another txid, without an approved speed-up',
  FROZEN: 'signed as approved, but all is frozen',
} as const;

/** `sign_success`: it tells, and asks nothing of the policies. */
async function notice(parts: DecideParts, run: Track, question: Question, terms: string): Promise<Outcome> {
  const request = notificationRequestOf(question.callback, terms, '');
  const { txid } = request;
  const detail = detailOf(question, run, { txid });
  const result = await run.timedAsync('settle', () => parts.store.notice({ ...request, detail }));
  return run.end({
    verdict: result.verdict,
    outcome: 'notice',
    code: result.code,
    because: NOTIFICATION_REASONS[result.code],
    decision: result.id,
    alarm: result.code === 'SIGNED_WITHOUT_APPROVAL' || result.code === 'TXID_UNEXPECTED',
    data: { txid },
  });
}

function detailOf(
  { callback, body, sender, address }: Question,
  run: Track,
  more: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify({
    requestId: run.requestId,
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
