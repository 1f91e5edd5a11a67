import { z } from 'zod';
import { BOUNDS, type Claim, type ClaimResult, explainClaim, isChecked } from '../claims/claims.ts';
import type { Amount } from '../values/amount.ts';
import {
  type Choice,
  type Proposal,
  type RuleResult,
  ownResults,
  claimsIn,
  isTaken,
  proposalFromJson,
  standingInStore,
} from './proposal.ts';
import type { Standing } from './standing.ts';

/** The store's decision on a proposal. */
export interface StoreDecision {
  readonly code: string;
  /** One for each claim of the proposal, in order; empty if the store refused before it checked them. */
  readonly claims: readonly ClaimResult[];
  /** The entry of the decision that is repeated; empty or absent if none is. */
  readonly of?: string | undefined;
  /**
   * For a refusal that is repeated: the rule by which it stands, as it refused first; see standingRefusal.
   */
  readonly first?: RefusingRule | undefined;
}

interface RuleExplanation {
  readonly policy: string;
  /** `window-limit#2`. */
  readonly rule: string;
  readonly mode: RuleResult['mode'];
  /** Also FAILURE if the store did not check the rule's claims. */
  readonly verdict: 'SUCCESS' | 'FAILURE';
  readonly because: string;
}

/** A rule's explanation with the values that it used. */
export interface RuleReport extends RuleExplanation {
  readonly values: Readonly<Record<string, string>>;
  /** False if the rule depends on the store, and the store refused before it checked the rule. */
  readonly asked: boolean;
}

export type RefusingRule = Pick<RuleExplanation, 'policy' | 'rule' | 'because'>;

export interface Explanation {
  /** The first enforcing rule that refused; undefined if none did. */
  readonly deciding: RefusingRule | undefined;
  /**
   * The enforcing rule that would have refused next: the second rule that refused, or the first if something
   * other than a rule refused. Undefined if no further rule that was checked refuses.
   */
  readonly next: RefusingRule | undefined;
  /** One sentence: what was decided, by which rule, with the values. */
  readonly because: string;
  /** Every rule of every policy that applied, in order. */
  readonly rules: readonly RuleReport[];
}

type Explained = Pick<Proposal, 'results' | 'claims'> & Partial<Proposal>;

/**
 * Explains a decision. It is pure, so that old journal entries can be explained too. A repeated refusal is
 * explained by a rule that stands in the way of a new decision, not by one whose refusal passes by itself.
 */
export function explain(proposal: Explained, decision: StoreDecision): Explanation {
  const refusing = [...refusingIn(proposal, decision)];
  const decided = decidingIn(refusing, proposal, decision);
  const next = refusing.find((each) => each !== decided);
  return {
    ...briefly(decided, proposal, decision),
    next: next && refusingRuleOf(next.rule),
    rules: proposal.results.map(({ values }, index) => ({
      ...explainResult(index, proposal, decision),
      values,
      asked: wasChecked(proposal, index, decision),
    })),
  };
}

/** The values that the deciding rule used. Empty if no rule decided. */
export function decidingValues({
  deciding,
  rules,
}: Pick<Explanation, 'deciding' | 'rules'>): RuleReport['values'] {
  const rule = rules.find(({ policy, rule: name }) => policy === deciding?.policy && name === deciding.rule);
  return rule?.values ?? {};
}

/** The deciding rule and the sentence of {@link explain}, without the explanation of each rule. */
export function explainBriefly(
  proposal: Explained,
  decision: StoreDecision,
): Pick<Explanation, 'deciding' | 'because'> {
  return briefly(decidingIn(refusingIn(proposal, decision), proposal, decision), proposal, decision);
}

function briefly(
  decided: Refusing | undefined,
  { results }: Explained,
  decision: StoreDecision,
): Pick<Explanation, 'deciding' | 'because'> {
  if (decided === undefined) {
    const first = decision.code === 'RULE_REFUSED' ? decision.first : undefined;
    return { deciding: first, because: reasonOf(decision, results) };
  }
  const { policy, rule, because } = decided.rule;
  return { deciding: refusingRuleOf(decided.rule), because: `${policy}/${rule} refuses: ${because}` };
}

/** An enforcing rule that refuses, and its place in the results. */
interface Refusing {
  readonly index: number;
  readonly rule: RuleExplanation;
}

/**
 * The rules that the store checked and that refuse, in order. Only these are explained, when they are asked
 * for.
 */
function* refusingIn(proposal: Explained, decision: StoreDecision): Generator<Refusing> {
  for (const [index, { mode, verdict }] of proposal.results.entries()) {
    if (mode !== 'enforce' || verdict === 'pass' || !wasChecked(proposal, index, decision)) continue;
    if (verdict === 'claim' && allHold(claimsOf(proposal, index, decision))) continue;
    const rule = explainResult(index, proposal, decision);
    if (rule.verdict === 'FAILURE') yield { index, rule };
  }
}

/**
 * The first rule that refuses now. One for which people's approval is missing comes after all others, because
 * they are not asked as long as others refuse.
 */
function decidingIn(
  refusing: Iterable<Refusing>,
  proposal: Explained,
  decision: StoreDecision,
): Refusing | undefined {
  if (!isByRules(decision)) return undefined;
  const isRepeat = (decision.of ?? '') !== '';
  let awaiting: Refusing | undefined;
  for (const each of refusing) {
    if (isRepeat ? lasts(each.index, proposal, decision) : !awaits(each.index, proposal, decision))
      return each;
    awaiting ??= each;
  }
  return isRepeat ? undefined : awaiting;
}

/** Whether the refusal of a rule stands until a push or a change of a list: see Proposal. */
function lasts(index: number, proposal: Explained, decision: StoreDecision): boolean {
  if (proposal.results[index]?.verdict === 'refuse') return index === proposal.lastingBy;
  return standingOf(index, proposal, decision).retryable !== true;
}

/** Whether a rule refuses only for lack of people's approval. */
const awaits = (index: number, proposal: Explained, decision: StoreDecision): boolean =>
  standingOf(index, proposal, decision).awaits === true;

/** How long a refusal of a rule by the store stands. */
const standingOf = (index: number, proposal: Explained, { claims }: StoreDecision): Standing =>
  standingInStore(choiceAt(proposal.choices, index) ?? indexesOf(proposal, index), proposal.claims, claims);

const entryDetail = z.object({ proposal: z.unknown() });

/**
 * The rule by which the refusal of a journal entry stands: one that a push or a list must change. Undefined
 * if this version of the program can't read the entry. Never throws.
 */
export function standingRefusal({
  code,
  claims,
  detail,
}: StoreDecision & { readonly detail: string }): RefusingRule | undefined {
  if (!isByRules({ code })) return undefined;
  try {
    const proposal = proposalFromJson(entryDetail.parse(JSON.parse(detail)).proposal);
    const refusing = [...refusingIn(proposal, { code, claims })];
    const standing = refusing.find(({ index }) => lasts(index, proposal, { code, claims })) ?? refusing[0];
    return standing && refusingRuleOf(standing.rule);
  } catch {
    return undefined;
  }
}

/** False if the rule's verdict depends on claims that the store did not check, because it refused before. */
function wasChecked(
  { results }: Pick<Proposal, 'results'>,
  index: number,
  { claims }: Pick<StoreDecision, 'claims'>,
): boolean {
  return results[index]?.verdict !== 'claim' || claims.length > 0;
}

const refusingRuleOf = ({ policy, rule, because }: RuleExplanation): RefusingRule => ({
  policy,
  rule,
  because,
});

/** Whether rules refuse. */
const isByRules = ({ code }: Pick<StoreDecision, 'code'>): boolean =>
  code === 'RULE_REFUSED' || code === 'AWAITING_APPROVAL';

/** What each code of a decision that nothing else explains says. */
export const DECISION_REASONS: Readonly<Record<string, string>> = {
  RULE_REFUSED: 'an earlier refusal still applies, until the policies or a list that it depends on change',
  AWAITING_APPROVAL: 'only the approval of people is missing; see `countersign approvals list`',
  NO_POLICY:
    'no policy with a rule that enforces applies for certain to this callback; ' +
    'see callback and when of the policies',
  TOO_MANY_CLAIMS:
    `the rules ask the store for more than ${BOUNDS.claims} claims or ${BOUNDS.values} values of lists ` +
    'at once; send fewer outputs or calls in one callback, or use fewer rules that count or look up lists',
  NOTHING_IN_FORCE: 'no policies are in force; push some with `countersign policy push`',
  FROZEN: 'approvals are frozen; `countersign unfreeze` resumes approvals',
  SCHEME_CHANGED:
    'the same order came before signed by another scheme; if the platform has changed its scheme, ' +
    'have it send the order under a new id, or write bindScheme: false at the source',
  RELEASED:
    'its approval was released, because the operation was reported as failed; ' +
    '`countersign decisions explain` says who released it; to try again, send it under a new id',
  TERMS_CHANGED: 'the same id came before with other terms: another user, coin, amount, address or call',
};

function reasonOf(
  { code, first }: Pick<StoreDecision, 'code' | 'first'>,
  rules: readonly Pick<RuleResult, 'mode'>[],
): string {
  if (code === 'RULE_REFUSED' && first !== undefined) {
    const { policy, rule, because } = first;
    return `${policy}/${rule} refused it first: ${because}; ${DECISION_REASONS[code]}`;
  }
  if (code !== 'APPROVED') return DECISION_REASONS[code] ?? `refused: ${code}`;
  let enforcing = 0;
  for (const { mode } of rules) if (mode === 'enforce') enforcing++;
  return enforcing === 1
    ? 'approved: the rule that enforces passes'
    : `approved: all ${enforcing} rules that enforce pass`;
}

interface CheckedClaim {
  readonly claim: Claim;
  /** Undefined if the store did not check it. */
  readonly found: ClaimResult | undefined;
}

/** The indexes of the claims of a result. */
function indexesOf({ claims }: Pick<Proposal, 'claims'>, result: number): readonly number[] {
  const own: number[] = [];
  for (let at = 0; at < claims.length; at++) if (claims[at]?.result === result) own.push(at);
  return own;
}

const claimsOf = (proposal: Pick<Proposal, 'claims'>, result: number, decision: StoreDecision) =>
  indexesOf(proposal, result).flatMap((at): readonly CheckedClaim[] => {
    const claim = proposal.claims[at];
    return claim === undefined ? [] : [{ claim, found: decision.claims[at] }];
  });

/** False for no claims. */
const allHold = (claims: readonly CheckedClaim[]): boolean =>
  claims.length > 0 && claims.every(({ found }) => found?.holds === true);

function explainRule(result: RuleResult, claims: readonly CheckedClaim[]): RuleExplanation {
  const { policy, rule, mode, verdict, because } = result;
  if (verdict === 'claim') return { policy, rule, mode, ...explainClaims(result, claims) };
  return { policy, rule, mode, verdict: verdict === 'pass' ? 'SUCCESS' : 'FAILURE', because };
}

/** The choice with this result, also one in another. */
function choiceAt(choices: readonly Choice[] | undefined, result: number): Choice | undefined {
  for (const choice of choices ?? []) {
    if (choice.result === result) return choice;
    const inner = choice.alternatives.flatMap(({ requires = [] }) =>
      requires.filter((requirement) => typeof requirement === 'object'),
    );
    const found = choiceAt(inner, result);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Explains which alternative was taken, and why each earlier one did not hold; or why none holds. */
function explainChoice(
  choice: Choice,
  { policy, rule, mode, because }: RuleResult,
  proposal: Explained,
  decision: StoreDecision,
): RuleExplanation {
  const explained = { policy, rule, mode };
  // The first alternative begins with a claim, so a choice that the store reached has one that was checked.
  const isReached = claimsIn(choice).some((at) => isChecked(decision.claims[at]));
  if (!isReached) {
    return { ...explained, verdict: 'FAILURE', because: `the store did not check it: ${because}` };
  }
  const failed: string[] = [];
  const rules = proposal.results.map((result, index) => ({ ...result, index }));
  for (const [at, alternative] of choice.alternatives.entries()) {
    const own = ownResults(rules.slice(alternative.from, alternative.to));
    // Of an alternative that the evaluation refused, the store checked nothing.
    const refused =
      alternative.requires === undefined ? own.filter((each) => each.verdict === 'refuse') : own;
    const explanations = refused.map(({ index }) => ({
      ...explainResult(index, proposal, decision),
      awaits: awaits(index, proposal, decision),
    }));
    if (isTaken(alternative, decision.claims)) {
      const [first] = explanations;
      const holds = `alternative ${at + 1} holds: ${first?.rule}: ${first?.because}`;
      const not = failed.map((text) => `; not ${text}`);
      return { ...explained, verdict: 'SUCCESS', because: `${holds}${not.join('')}` };
    }
    const failing = explanations.filter((each) => each.verdict === 'FAILURE');
    const refusing = failing.find((each) => !each.awaits) ?? failing[0];
    failed.push(`alternative ${at + 1}: ${refusing?.rule}: ${refusing?.because}`);
  }
  return { ...explained, verdict: 'FAILURE', because: `no alternative holds: ${failed.join('; ')}` };
}

function explainResult(index: number, proposal: Explained, decision: StoreDecision): RuleExplanation {
  const result = proposal.results[index];
  if (result === undefined) throw new RangeError(`the proposal has no result ${index}`);
  const choice = choiceAt(proposal.choices, index);
  return choice === undefined
    ? explainRule(result, claimsOf(proposal, index, decision))
    : explainChoice(choice, result, proposal, decision);
}

/** Explains the first claim that fails. If all hold, it explains the one that is nearest to its limit. */
function explainClaims(
  { because, values }: RuleResult,
  claims: readonly CheckedClaim[],
): Pick<RuleExplanation, 'verdict' | 'because'> {
  const failed = claims.findIndex(({ found }) => found?.holds !== true);
  const at = failed === -1 ? nearestToLimit(claims) : failed;
  const { claim, found } = claims[at] ?? {};
  if (claim === undefined || !isChecked(found)) {
    return { verdict: 'FAILURE', because: `the store did not check it: ${because}` };
  }
  // A rule that makes a claim for each address of a withdrawal lists the addresses in the same order.
  const addresses = values['to']?.split(' ') ?? [];
  const address = claims.length > 1 && addresses.length === claims.length ? addresses[at] : undefined;
  return {
    verdict: failed === -1 ? 'SUCCESS' : 'FAILURE',
    because: explainClaim(claim, found, { because, values, address }),
  };
}

function nearestToLimit(claims: readonly CheckedClaim[]): number {
  let at = 0;
  let least: Amount | undefined;
  for (const [index, checked] of claims.entries()) {
    const remaining = remainingOf(checked);
    if (remaining === undefined || (least !== undefined && remaining >= least)) continue;
    [at, least] = [index, remaining];
  }
  return at;
}

/** What a limit has left; undefined for a claim without a limit. The claims of one rule have one unit. */
function remainingOf({ claim, found }: CheckedClaim): Amount | undefined {
  if (found === undefined) return undefined;
  if (claim.type === 'window' && found.type === 'window') return claim.max - found.used - claim.amount;
  if (claim.type === 'distinct' && found.type === 'distinct') {
    return BigInt(claim.max - found.counted - found.further);
  }
  return undefined;
}

/** The result of a rule in a word or two. */
export function wordOf({ verdict, asked, mode }: Pick<RuleReport, 'verdict' | 'asked' | 'mode'>): string {
  if (!asked) return 'not checked';
  const word = verdict === 'SUCCESS' ? 'pass' : 'refuse';
  return mode === 'observe' ? `would ${word}` : word;
}
