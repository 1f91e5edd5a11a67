import { type Amount, formatAmount } from '../values/amount.ts';
import {
  type AgedClaim,
  BOUNDS,
  type Claim,
  type ListClaim,
  type MarkClaim,
  type OrderClaim,
  type OrderFound,
  type Proposal,
  type RuleResult,
  type SpeedUpClaim,
  type WindowClaim,
} from './proposal.ts';

/** How the store found a claim (a ClaimResult of the store). */
export type ClaimFound =
  | { readonly holds: boolean; readonly reserved: boolean; readonly used: Amount }
  | { readonly holds: boolean; readonly missing: boolean; readonly present: readonly string[] }
  | {
      readonly holds: boolean;
      readonly missing: boolean;
      readonly added: readonly (readonly [value: string, addedAtMs: number])[];
    }
  | { readonly holds: boolean; readonly markedAtMs: number }
  | { readonly holds: boolean; readonly order: OrderFound; readonly differs: readonly string[] }
  | { readonly holds: boolean; readonly approvedAtMs: number; readonly speedUps: number };

/** A decision's or a settlement's code, as the store gave it. */
export interface Decided {
  readonly code: string;
  /** One for each claim of the proposal, in order; none if the store did not come to check them. */
  readonly claims: readonly ClaimFound[];
  /** Of a refusal that is repeated: the rule that made it first, where that is known. */
  readonly first?: Refusing | undefined;
}

export interface RuleExplanation {
  readonly policy: string;
  /** `window-limit#2`. */
  readonly rule: string;
  readonly mode: RuleResult['mode'];
  /** FAILURE also where the store was not asked. */
  readonly verdict: 'SUCCESS' | 'FAILURE';
  readonly because: string;
}

export type Refusing = Pick<RuleExplanation, 'policy' | 'rule' | 'because'>;

export interface Explanation {
  /** The first enforcing rule that refused; undefined if none did. */
  readonly deciding: Refusing | undefined;
  /**
   * The first enforcing rule that would have refused, had what refused not: the second of the rules, or the
   * first where it was no rule. Undefined if none would, as far as the store was asked.
   */
  readonly next: Refusing | undefined;
  /** One sentence: what was decided, by which rule, with the values. */
  readonly because: string;
  /** Every rule of every policy that applied, in order. */
  readonly rules: readonly RuleExplanation[];
}

/** Why a decision is as it is: pure, so that a journal entry of last March can still be explained. */
export function explain(proposal: Pick<Proposal, 'results' | 'claims'>, decided: Decided): Explanation {
  const rules = proposal.results.map((result, index) =>
    explainRule(result, claimsOf(proposal, index, decided)),
  );
  const [first, second] = rules.filter((rule, index) => refuses(rule) && wasAsked(proposal, index, decided));
  const byRule = decided.code === 'RULE_REFUSED';
  const refusesNow = byRule && first ? refusing(first) : undefined;
  const following = byRule ? second : first;
  return {
    deciding: refusesNow ?? (byRule ? decided.first : undefined),
    next: following && refusing(following),
    because: refusesNow ? sentenceOf(refusesNow) : reasonOf(decided, rules),
    rules,
  };
}

/**
 * The deciding rule and the sentence alone, as {@link explain} has them: an approval needs no look at each
 * rule.
 */
export function explainBriefly(
  proposal: Pick<Proposal, 'results' | 'claims'>,
  decided: Decided,
): Pick<Explanation, 'deciding' | 'because'> {
  if (decided.code !== 'APPROVED') return explain(proposal, decided);
  return { deciding: undefined, because: reasonOf(decided, proposal.results) };
}

/** Whether a rule's verdict is known: false where it is the store's, and that refused before it looked. */
export function wasAsked(
  { results }: Pick<Proposal, 'results'>,
  index: number,
  { claims }: Pick<Decided, 'claims'>,
): boolean {
  return results[index]?.verdict !== 'claim' || claims.length > 0;
}

const refusing = ({ policy, rule, because }: RuleExplanation): Refusing => ({ policy, rule, because });

const refuses = (rule: RuleExplanation): boolean => rule.mode === 'enforce' && rule.verdict === 'FAILURE';

function sentenceOf({ policy, rule, because }: Refusing): string {
  return `${policy}/${rule} refuses: ${because}`;
}

const REASONS: Readonly<Record<string, string>> = {
  RULE_REFUSED:
    'a refusal that was decided before stands: for good under `refusals: final`, else until the policies or a list it depends on have changed',
  NO_POLICY:
    'no policy with a rule that enforces applies to this callback; see callback and when of the policies',
  TOO_MANY_CLAIMS: `the rules ask the store for more than ${BOUNDS.claims} claims or ${BOUNDS.values} values of lists at once; send fewer outputs or calls in one callback, or limit and look up by fewer rules`,
  NOTHING_IN_FORCE: 'no policies are in force; push some with `countersign policy push`',
  FROZEN: 'approvals are frozen; `countersign unfreeze` starts them again',
  SCHEME_CHANGED:
    'the same order came before signed by another scheme; if the platform has changed its scheme, have it send the order under a new id, or write bindScheme: false at the source',
  TERMS_CHANGED: 'the same id came before with other terms: another user, coin, amount, address or call',
};

function reasonOf(
  { code, first }: Pick<Decided, 'code' | 'first'>,
  rules: readonly Pick<RuleResult, 'mode'>[],
): string {
  if (code === 'RULE_REFUSED' && first !== undefined) {
    return `${first.policy}/${first.rule} refused it first: ${first.because}; ${REASONS[code]}`;
  }
  if (code !== 'APPROVED') return REASONS[code] ?? `refused: ${code}`;
  const enforcing = rules.filter(({ mode }) => mode === 'enforce').length;
  return `approved: ${enforcing === 1 ? 'the rule that enforces passes' : `all ${enforcing} rules that enforce pass`}`;
}

interface Pairing {
  readonly claim: Claim;
  readonly found: ClaimFound | undefined;
}

function claimsOf(
  { claims }: Pick<Proposal, 'claims'>,
  result: number,
  decided: Decided,
): readonly Pairing[] {
  return claims
    .map((claim, index) => ({ claim, found: decided.claims[index] }))
    .filter(({ claim }) => claim.result === result);
}

function explainRule(result: RuleResult, claims: readonly Pairing[]): RuleExplanation {
  const { policy, rule, mode } = result;
  const [verdict, because] = result.verdict === 'claim' ? explainClaims(result, claims) : plain(result);
  return { policy, rule, mode, verdict, because };
}

type VerdictAndReason = readonly [RuleExplanation['verdict'], string];

function plain({ verdict, because }: RuleResult): VerdictAndReason {
  return [verdict === 'pass' ? 'SUCCESS' : 'FAILURE', because];
}

/** All claims must hold; the first that does not is told of, else the one that comes nearest to its limit. */
function explainClaims(result: RuleResult, claims: readonly Pairing[]): VerdictAndReason {
  const wrong = claims.findIndex(({ found }) => found?.holds !== true);
  const deciding = claims[wrong === -1 ? nearestToLimit(claims) : wrong];
  if (deciding?.found === undefined) return ['FAILURE', `the store was not asked: ${result.because}`];
  const verdict = wrong === -1 ? 'SUCCESS' : 'FAILURE';
  return [verdict, explainClaim(result, deciding.claim, deciding.found, whose(result, claims, deciding))];
}

function nearestToLimit(claims: readonly Pairing[]): number {
  let at = 0;
  let least: Amount | undefined;
  for (const [index, { claim, found }] of claims.entries()) {
    if (claim.type !== 'window' || found === undefined || !('used' in found)) continue;
    const left = claim.max - found.used - claim.amount;
    if (least === undefined || left < least) [at, least] = [index, left];
  }
  return at;
}

/**
 * The address that a claim is about, where a rule claims for each address of a withdrawal, in their order.
 */
function whose({ values }: RuleResult, claims: readonly Pairing[], pairing: Pairing): string {
  const addresses = values['to']?.split(' ') ?? [];
  return claims.length > 1 && addresses.length === claims.length
    ? ` for to ${addresses[claims.indexOf(pairing)]}`
    : '';
}

function explainClaim(result: RuleResult, claim: Claim, found: ClaimFound, whom: string): string {
  if (claim.type === 'window' && 'used' in found) return explainWindow(result, claim, found, whom);
  if (claim.type === 'list' && 'present' in found) return explainList(result, claim, found);
  if (claim.type === 'aged' && 'added' in found) return explainAged(result, claim, found);
  if (claim.type === 'mark' && 'markedAtMs' in found) return explainMark(result, claim, found, whom);
  if (claim.type === 'order' && 'order' in found) return explainOrder(claim, found);
  if (claim.type === 'speed-up' && 'speedUps' in found) return explainSpeedUp(result, claim, found);
  return `the store’s answer does not fit the claim: ${result.because}`;
}

function explainWindow(
  { because, values }: RuleResult,
  claim: WindowClaim,
  { holds, reserved, used }: { readonly holds: boolean; readonly reserved: boolean; readonly used: Amount },
  whom: string,
): string {
  const sums = `${formatAmount(used)} used and ${formatAmount(claim.amount)} asked${whom}`;
  const limit = `the limit of ${formatAmount(claim.max)} in ${values['window'] ?? 'the window'}`;
  if (!holds) return `${sums} are above ${limit} (${because})`;
  return reserved ? `already reserved${whom} under ${limit}` : `${sums} are within ${limit}`;
}

function explainList(
  { values }: RuleResult,
  claim: ListClaim,
  {
    holds,
    missing,
    present,
  }: { readonly holds: boolean; readonly missing: boolean; readonly present: readonly string[] },
): string {
  if (missing)
    return `there is no list ${claim.list}; \`countersign list show\` names those there are, \`countersign list add\` makes one`;
  const member = values['member'] ?? 'a value';
  const on = new Set(present);
  const wrong = claim.values.filter((value) => on.has(value) === (claim.must === 'hold-none'));
  const listed = holds === (claim.must === 'hold-all') ? 'is on' : 'is not on';
  return `${member} ${some(holds ? claim.values : wrong)} ${listed} the list ${claim.list}`;
}

function explainAged(
  { values }: RuleResult,
  { list, values: wanted, ageMs }: AgedClaim,
  { holds, missing, added }: Extract<ClaimFound, { readonly added: unknown }>,
): string {
  if (missing)
    return `there is no list ${list}; \`countersign list show\` names those there are, \`countersign list add\` makes one`;
  const member = values['member'] ?? 'a value';
  if (holds)
    return `${member} ${some(wanted)} is on the list ${list} for at least ${values['for'] ?? 'so long'}`;
  const times = new Map(added);
  const absent = wanted.filter((value) => !times.has(value));
  if (absent.length > 0) return `${member} ${some(absent)} is not on the list ${list}`;
  const [youngest = '', sinceMs = 0] = added.toSorted(([, a], [, b]) => b - a)[0] ?? [];
  return `${member} ${youngest} is on the list ${list} only since ${instant(sinceMs)}, and counts from ${instant(sinceMs + ageMs)} on`;
}

function explainMark(
  { because }: RuleResult,
  { exempt, ageMs }: MarkClaim,
  { holds, markedAtMs }: Extract<ClaimFound, { readonly markedAtMs: number }>,
  whom: string,
): string {
  const first = markedAtMs === 0 ? 'never approved before' : `first approved at ${instant(markedAtMs)}`;
  if (holds) return exempt ? `within the limit for a first use${whom}` : `known${whom}: ${first}`;
  const until = markedAtMs === 0 ? '' : `, and new until ${instant(markedAtMs + ageMs)}`;
  return `${because}${whom}: ${first}${until}`;
}

const ORDERS: Readonly<Record<OrderFound, string>> = {
  agrees: 'the announced order agrees',
  missing: 'no such order was announced; announce it with `countersign orders expect`',
  cancelled: 'the announced order was cancelled',
  expired: 'the announced order has expired',
  used: 'the announced order was used before, by an approval that is no longer kept',
  differs: 'the callback differs from the announced order',
};

function explainOrder(
  { members }: OrderClaim,
  { order, differs }: Extract<ClaimFound, { readonly order: OrderFound }>,
): string {
  if (order !== 'differs') return ORDERS[order];
  const differing = differs.map((name) => `${name} ${members[name] ?? '(none)'}`);
  return `${ORDERS.differs} in ${some(differing)}`;
}

function explainSpeedUp(
  { values }: RuleResult,
  { max, withinMs }: SpeedUpClaim,
  { holds, approvedAtMs, speedUps }: Extract<ClaimFound, { readonly speedUps: number }>,
): string {
  const within = values['within'] ?? `${withinMs / 1000}s`;
  if (approvedAtMs === 0) return 'what it speeds up was never approved, or no longer stands approved';
  const approved = `what it speeds up was approved at ${instant(approvedAtMs)}`;
  if (holds) return `${approved}, within ${within}; speed-up ${speedUps + 1} of at most ${max}`;
  return speedUps < max
    ? `${approved}, more than ${within} ago`
    : `${approved}; ${speedUps} speed-ups of it are approved, of at most ${max}`;
}

const instant = (ms: number): string => new Date(ms).toISOString();

function some(values: readonly string[]): string {
  return values.length > 3
    ? `${values.slice(0, 3).join(', ')} and ${values.length - 3} more`
    : values.join(', ');
}
