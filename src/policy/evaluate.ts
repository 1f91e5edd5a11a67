import type { Callback, Kind, Movements } from '../callback/callback.ts';
import { BOUNDS, type Claim, type ClaimRequest } from '../claims/claims.ts';
import { messageOf } from '../errors.ts';
import { readByChain } from './chain-reading.ts';
import { type Facts, type PluginQuestion, factsAt, pluginQuestionKey } from './facts.ts';
import { FREEZE, freezeRule } from './freeze-rule.ts';
import {
  type Alternative,
  type Choice,
  type Proposal,
  type Requirement,
  type RuleResult,
  ownResults,
} from './proposal.ts';
import { UnreadableMember } from './language/members.ts';
import { withMovements } from './movements.ts';
import type { CompiledEntry, CompiledGroup, CompiledPolicy, CompiledRule, Release } from './release.ts';
import { type RuleOutcome, pass, refuse } from './outcome.ts';
import { type Standing, combine } from './standing.ts';
import { type Tested, isWithoutConditions, mayMeet, testWhen } from './language/conditions.ts';

/**
 * Evaluates the policies in force for a callback, given the facts: the fourth of the five steps. It is pure:
 * conditions that only the store can check are returned as claims. It refuses if nothing is in force, if an
 * enforcing rule that applies refuses or throws, or if no policy covers the callback: its `when` is met, and
 * so is that of at least one of its enforcing rules. While only what people approve may pass, what the
 * policies judge needs that too.
 */
export function evaluate(release: Release | undefined, received: Callback, facts: Facts): Proposal {
  if (release === undefined) return { ...proposalOf('', facts, [], ABSENT), refusal: 'NOTHING_IN_FORCE' };
  const read = readByChain(received, release.assets);
  const results: RuleResult[] = [];
  const judged: Judged[] = [];
  for (const policy of release.policiesFor(read)) {
    judged.push(judgePolicy(policy, withMovements(read, policy.movements), facts, results));
  }
  let all = together(judged);
  // Nobody is to be asked about what no policy covers.
  if (facts.onlyApproved && (all.covers || all.refusals.length > 0)) {
    all = together([all, judgeFreeze(release, read, facts, results)]);
  }
  return proposalOf(release.revision, facts, results, all);
}

function judgeFreeze({ people }: Release, callback: Callback, facts: Facts, results: RuleResult[]): Judged {
  // The freeze may be lifted.
  const around = { changes: true, failed: false, isChoice: false, isAlternative: false };
  return judgeRule(freezeRule(people), { policy: FREEZE, callback, facts, results, ...around });
}

/** What an entry comes to, or several of which each must hold. */
interface Judged {
  /** `absent`: its `when` is not met. */
  readonly state: 'absent' | 'fails' | 'holds';
  /** Whether something in it holds that applies for certain, and not because something is unknown. */
  readonly covers: boolean;
  /** Whether it may cover the callback at another time, or at other prices. */
  readonly mayCover: boolean;
  /** The enforcing results that refuse. */
  readonly refusals: readonly Refusal[];
  /** What the store must find. */
  readonly requires: readonly OpenRequirement[];
  /**
   * How long it fails, or how its choices may fail. `failed`: something in it has failed, even if it holds.
   */
  readonly standing: Standing;
  /** What the evaluation depended on. */
  readonly dependence: Standing;
}

interface Refusal extends Standing {
  readonly result: number;
}

/** A requirement before the claims are numbered: the claims of a rule, or a choice. */
type OpenRequirement = ClaimsOfRule | OpenChoice;

interface ClaimsOfRule extends Pick<Claim, 'result' | 'decides'> {
  readonly claims: readonly ClaimRequest[];
  readonly standing: Pick<Claim, 'retryable' | 'failed'>;
}

interface OpenChoice extends Omit<Choice, 'alternatives'> {
  readonly alternatives: readonly (Omit<Alternative, 'requires'> & {
    readonly requires: readonly OpenRequirement[] | undefined;
  })[];
}

const LASTS: Standing = {};
const NONE: readonly never[] = [];
const ABSENT: Judged = {
  state: 'absent',
  covers: false,
  mayCover: false,
  refusals: NONE,
  requires: NONE,
  standing: LASTS,
  dependence: LASTS,
};
const HOLDS: Judged = { ...ABSENT, state: 'holds' };
const COVERS: Judged = { ...HOLDS, covers: true };

/** What several come to together, each of which must hold. */
function together(parts: readonly Judged[]): Judged {
  if (parts.length === 1 && parts[0] !== undefined) return parts[0];
  let { state, covers, mayCover, refusals, requires, standing, dependence } = ABSENT;
  for (const part of parts) {
    if (part.state === 'fails' || state === 'absent') state = part.state;
    covers ||= part.covers;
    // Most rules pass and add nothing, and this is the hot path: no objects for them.
    if (part === COVERS) continue;
    mayCover ||= part.mayCover;
    refusals = joined(refusals, part.refusals);
    requires = joined(requires, part.requires);
    standing = either(standing, part.standing);
    dependence = either(dependence, part.dependence);
  }
  if (state === 'fails') standing = { ...standing, ...standingOfFailing(parts) };
  return { state, covers, mayCover, refusals, requires, standing, dependence };
}

const joined = <T>(one: readonly T[], other: readonly T[]): readonly T[] =>
  one.length === 0 ? other : other.length === 0 ? one : [...one, ...other];

const either = (one: Standing, other: Standing): Standing =>
  one === LASTS ? other : other === LASTS ? one : combine('one', [one, other]);

/** Each that fails must change, so that they hold together. */
function standingOfFailing(parts: readonly Judged[]): Pick<Standing, 'retryable'> {
  const failing = parts.filter(({ state }) => state === 'fails').map(({ standing }) => standing);
  return { retryable: combine('all', failing).retryable };
}

/** Where an entry is, and what it is judged by. */
interface Place {
  readonly policy: string;
  readonly callback: Callback;
  readonly facts: Facts;
  /** The results so far. Those of the entry are appended. */
  readonly results: RuleResult[];
  /** Whether a condition around it depends on time or prices, so that it may not apply later. */
  readonly changes: boolean;
  /**
   * Whether it applies only because a price is missing, so that its refusal is by a failure: see Standing.
   */
  readonly failed: boolean;
  /** Whether it is in `any`, so that its verdict alone decides nothing. */
  readonly isChoice: boolean;
  /** Whether it is an entry of `any` itself: it must apply to hold. */
  readonly isAlternative: boolean;
}

function judgePolicy(
  policy: CompiledPolicy,
  callback: Callback,
  facts: Facts,
  results: RuleResult[],
): Judged {
  const { name, when, entries } = policy;
  const applies = testWhen(when, callback, facts);
  if (applies.state === 'unmet') return depending(ABSENT, applies);
  const place: Place = {
    policy: name,
    callback,
    facts,
    results,
    changes: changes(applies),
    failed: appliesByFailure(applies),
    isChoice: false,
    isAlternative: false,
  };
  if (applies.state === 'unknown') reportUnknown('when', applies, place);
  const judged = applies.state === 'unclear' ? [failWhen(entries, applies, place)] : [];
  for (const entry of entries) {
    const each = judge(entry, place);
    judged.push(applies.state === 'met' && entry.mode === 'enforce' ? each : withoutCover(each));
  }
  return depending(together(judged), applies);
}

function failWhen(entries: readonly CompiledEntry[], applies: Tested, place: Place): Judged {
  const isEnforced = entries.some(({ mode }) => mode === 'enforce');
  return fail({ name: 'when', mode: isEnforced ? 'enforce' : 'observe' }, refuseUnclear(applies), place);
}

const withoutCover = (judged: Judged): Judged => (judged.covers ? { ...judged, covers: false } : judged);

function judge(entry: CompiledEntry, outer: Place): Judged {
  if (isWithoutConditions(entry.when)) return judgeApplying(entry, outer);
  const applies = testWhen(entry.when, outer.callback, outer.facts);
  return depending(judgeTested(entry, applies, within(outer, applies)), applies);
}

function judgeTested(entry: CompiledEntry, applies: Tested, place: Place): Judged {
  const { isAlternative } = place;
  if (applies.state === 'met') return judgeApplying(entry, place);
  if (applies.state === 'unclear') return fail(entry, refuseUnclear(applies), place);
  if (applies.state === 'unmet') {
    return isAlternative ? fail(entry, refuse('its conditions under when are not met'), place) : ABSENT;
  }
  if (isAlternative) return fail(entry, refuse(unknownText(applies)), place);
  reportUnknown(entry.name, applies, place);
  return withoutCover(judgeApplying(entry, place));
}

function judgeApplying(entry: CompiledEntry, place: Place): Judged {
  if (!('group' in entry)) return judgeRule(entry, place);
  return entry.group === 'any' ? judgeAny(entry, place) : judgeAll(entry, place);
}

function judgeRule(rule: CompiledRule, place: Place): Judged {
  const outcome = evaluateRule(rule, place.callback, place.facts);
  if (outcome.verdict === 'refuse') return fail(rule, outcome, place);
  const result = place.results.push(resultOf(rule, outcome, place)) - 1;
  const { covers } = rule;
  const { valid, usesPrices, claims } = outcome;
  if (claims === undefined) {
    const depends = outcome.retryable === true || usesPrices === true || valid !== undefined;
    const holds = covers ? COVERS : HOLDS;
    return depends ? { ...holds, dependence: outcome } : holds;
  }
  const decides = rule.mode === 'enforce' && !place.isChoice;
  return {
    state: 'holds',
    covers,
    mayCover: false,
    refusals: NONE,
    requires: [{ result, decides, claims, standing: standingAt(place, outcome) }],
    standing: LASTS,
    dependence: valid === undefined && usesPrices !== true ? LASTS : { valid, usesPrices },
  };
}

/** Each entry that applies must hold. As an alternative, it holds only if one of them applies for certain. */
function judgeAll(group: CompiledGroup, place: Place): Judged {
  const inner = place.isAlternative ? { ...place, isAlternative: false } : place;
  const judged = together(group.entries.map((entry) => judge(entry, inner)));
  if (judged.state === 'fails') return withoutCover(judged);
  if (!place.isAlternative || judged.covers) return judged;
  // A rule that does not apply now may apply later.
  const refusal = { ...refuse('none of its rules applies for certain'), retryable: judged.mayCover };
  return together([judged, fail(group, refusal, place)]);
}

/**
 * The first alternative that holds is taken. What only the store knows is decided there, in the same order.
 */
function judgeAny(group: CompiledGroup, place: Place): Judged {
  const { results } = place;
  const result = results.push(resultOf(group, refuse(''), place)) - 1;
  const inner = { ...place, isChoice: true, isAlternative: true };
  const alternatives: OpenChoice['alternatives'][number][] = [];
  const judged: Judged[] = [];
  for (const entry of group.entries) {
    const from = results.length;
    const each = judge(entry, inner);
    const requires = each.state === 'holds' ? each.requires : undefined;
    judged.push(each);
    alternatives.push({ from, to: results.length, requires });
    // Later alternatives would never be taken.
    if (requires?.length === 0) break;
  }
  const { dependence, ...any } = together(judged);
  const standing = judged.reduce((all, each) => either(all, each.standing), LASTS);
  const covers = judged.every((each) => each.state !== 'holds' || each.covers);
  // An alternative that fails for now may be the one that covers the callback.
  const mayCover = any.mayCover || (!covers && standing.retryable === true);
  const outcome = outcomeOfAny(alternatives, results);
  results[result] = resultOf(group, outcome, place);
  const own = standingAt(place, standing);
  if (outcome.verdict === 'refuse') {
    const refusals = refusalsOf(results, result, own);
    return { ...ABSENT, state: 'fails', mayCover, refusals, standing: own, dependence };
  }
  const holds = { ...HOLDS, covers, mayCover, dependence };
  const { failed } = standing;
  if (outcome.verdict === 'pass') return { ...holds, standing: { failed } };
  const choice = { result, decides: group.mode === 'enforce', ...own, alternatives };
  // Whether it refuses, and for what, is only known in the store.
  return { ...holds, requires: [choice], standing: { ...own, failed } };
}

function outcomeOfAny(alternatives: OpenChoice['alternatives'], results: readonly RuleResult[]): RuleOutcome {
  const own = alternatives.map(({ from, to }) => ownResults(results.slice(from, to)));
  const at = alternatives.findIndex(({ requires }) => requires !== undefined);
  const first = alternatives[at];
  if (first === undefined) {
    const reasons = own.map((each, index) => `alternative ${index + 1}: ${failureIn(each)}`);
    return refuse(`no alternative holds: ${reasons.join('; ')}`);
  }
  if (first.requires?.length === 0) {
    const { rule = '', because = '' } = own[at]?.[0] ?? {};
    return pass(`alternative ${at + 1} holds: ${rule}: ${because}`);
  }
  return { verdict: 'claim', because: `one of ${alternatives.length} alternatives must hold`, values: {} };
}

function failureIn(results: readonly RuleResult[]): string {
  const failed = results.find(({ verdict }) => verdict === 'refuse');
  return failed === undefined ? 'it does not hold' : `${failed.rule}: ${failed.because}`;
}

/** A refusal of an entry. */
function fail(named: Named, outcome: RuleOutcome, place: Place): Judged {
  const { results } = place;
  const result = results.push(resultOf(named, outcome, place)) - 1;
  const standing = standingAt(place, outcome);
  return {
    ...ABSENT,
    state: 'fails',
    refusals: refusalsOf(results, result, standing),
    standing,
    dependence: outcome,
  };
}

const refusalsOf = (
  results: readonly RuleResult[],
  result: number,
  standing: Standing,
): readonly Refusal[] => (results[result]?.mode === 'enforce' ? [{ result, ...standing }] : NONE);

/** It is not known whether a policy or rule applies. It applies then, and covers nothing. */
function reportUnknown(name: string, applies: Tested, { policy, results }: Place): void {
  const outcome = refuse(unknownText(applies));
  results.push(resultOf({ name, mode: 'observe' }, outcome, { policy, isChoice: false }));
}

const changes = ({ retryable }: Tested): boolean => retryable === true;

const appliesByFailure = ({ state, failed }: Tested): boolean => state === 'unknown' && failed === true;

/** The place within the conditions of an entry. */
const within = (place: Place, applies: Tested): Place =>
  changes(applies) ? { ...place, changes: true, failed: place.failed || appliesByFailure(applies) } : place;

/** What it comes to under these conditions. */
function depending(judged: Judged, applies: Tested): Judged {
  if (!changes(applies)) return judged;
  return { ...judged, mayCover: true, dependence: combine('one', [judged.dependence, applies]) };
}

/** How a refusal stands under the conditions around it. */
const standingAt = (place: Place, { retryable, failed }: Standing) => ({
  retryable: place.changes || retryable === true,
  failed: place.failed || failed === true ? true : undefined,
});

const refuseUnclear = ({ because = '', values }: Tested): RuleOutcome => refuse(because, values);

const unknownText = ({ because }: Tested): string => `whether it applies is not known: ${because}`;

/** Evaluates one rule. A rule that throws refuses. */
function evaluateRule(rule: CompiledRule, callback: Callback, facts: Facts): RuleOutcome {
  try {
    const outcome = rule.evaluate(callback, facts);
    return outcome.verdict === 'claim' && (outcome.claims ?? []).length === 0
      ? refuse('the rule claims nothing, so nothing would be checked')
      : outcome;
  } catch (thrown) {
    if (thrown instanceof UnreadableMember) return refuse(thrown.message, thrown.values);
    return { ...refuse(`the rule failed: ${messageOf(thrown)}`), retryable: true, failed: true };
  }
}

type Named = Pick<CompiledEntry, 'name' | 'mode'>;

function resultOf(
  { name, mode }: Named,
  { verdict, because, values }: RuleOutcome,
  { policy, isChoice }: Pick<Place, 'policy' | 'isChoice'>,
): RuleResult {
  return { policy, rule: name, mode: isChoice ? 'alternative' : mode, verdict, because, values };
}

function proposalOf(
  revision: string,
  { prices, onlyApproved }: Pick<Facts, 'prices' | 'onlyApproved'>,
  results: readonly RuleResult[],
  judged: Judged,
): Proposal {
  const { refusals, covers, mayCover, requires } = judged;
  const { valid, usesPrices, retryable } = judged.dependence;
  const claims: Claim[] = [];
  const choices: Choice[] = [];
  for (const each of requires) {
    if ('alternatives' in each) choices.push(numbered(each, claims));
    else addClaims(each, claims);
  }
  const isRefused = refusals.length > 0;
  const tooMany = claims.length > BOUNDS.claims || valuesIn(claims) > BOUNDS.values;
  // A refusal by a rule is the more useful reason.
  const refusal = isRefused ? undefined : !covers ? 'NO_POLICY' : tooMany ? 'TOO_MANY_CLAIMS' : undefined;
  const standing = isRefused ? combine('all', refusals) : LASTS;
  const varies = valid !== undefined || usesPrices === true || retryable === true;
  return {
    revision,
    approves: covers && !isRefused && !tooMany,
    refusal,
    results,
    // A proposal with too many claims is refused, so the store checks none of them.
    claims: tooMany ? [] : claims,
    choices: tooMany || choices.length === 0 ? undefined : choices,
    retryable: isRefused ? standing.retryable === true : covers ? tooMany && varies : mayCover,
    lastingBy: refusals.find((each) => each.retryable !== true)?.result,
    failed: standing.failed === true ? true : undefined,
    prices: usesPrices === true ? prices.version : 0,
    onlyApproved: onlyApproved ? true : undefined,
    validFromMs: Math.max(0, valid?.fromMs ?? 0),
    validUntilMs: valid?.untilMs ?? Number.MAX_SAFE_INTEGER,
  };
}

function addClaims({ claims, result, decides, standing }: ClaimsOfRule, all: Claim[]): void {
  const { retryable, failed } = standing;
  for (const each of claims) {
    // Named one by one, because spreading a second object takes longer.
    const claim = { ...each, result, decides, retryable };
    all.push(failed === true ? { ...claim, failed } : claim);
  }
}

/** The choice with the indexes of its claims, which are added to `claims`. */
function numbered({ alternatives, ...choice }: OpenChoice, claims: Claim[]): Choice {
  const requirementsOf = (required: OpenRequirement): readonly Requirement[] => {
    if ('alternatives' in required) return [numbered(required, claims)];
    const from = claims.length;
    addClaims(required, claims);
    return required.claims.map((_, index) => from + index);
  };
  return {
    ...choice,
    alternatives: alternatives.map(({ from, to, requires }) => ({
      from,
      to,
      requires: requires?.flatMap(requirementsOf),
    })),
  };
}

/** How many values the claims look up. */
function valuesIn(claims: readonly Claim[]): number {
  let values = 0;
  for (const claim of claims) {
    if ('values' in claim) values += claim.values.length;
    if ('list' in claim) values += claim.also?.flat().length ?? 0;
  }
  return values;
}

/** The plugin questions of all policies that apply, by key. They need answers before the evaluation. */
export function pluginQuestionsOf(
  release: Release | undefined,
  received: Callback,
): ReadonlyMap<string, PluginQuestion> {
  const questions = new Map<string, PluginQuestion>();
  if (release?.asksPlugins !== true) return questions;
  const read = readByChain(received, release.assets);
  for (const policy of release.policiesFor(read)) {
    if (!policy.rules.some((rule) => rule.pluginQuestions !== undefined)) continue;
    const callback = withMovements(read, policy.movements);
    const { list: movements, problem } = callback.movements ?? {};
    if (problem !== undefined) continue;
    for (const declared of rulesIn(policy, callback).flatMap((rule) => rule.pluginQuestions ?? [])) {
      const question = movements === undefined ? declared : { ...declared, movements };
      questions.set(pluginQuestionKey(question), question);
    }
  }
  return questions;
}

/** A rule that people's approval fulfils. */
export interface ApprovalRule extends NonNullable<CompiledRule['approval']> {
  readonly policy: string;
  readonly rule: string;
}

/**
 * The enforcing rules for which people must approve a callback, of those that may apply to it at some time
 * and some prices, and that of a freeze. For rules that only observe, nobody is asked.
 */
export function approvalRulesOf(
  release: Release | undefined,
  received: Callback,
  { onlyApproved }: Pick<Facts, 'onlyApproved'>,
): readonly ApprovalRule[] {
  if (release === undefined || (!release.asksPeople && !onlyApproved)) return NONE;
  const read = readByChain(received, release.assets);
  const ofPolicies = release
    .policiesFor(read)
    .flatMap((policy) => approvalRulesIn(policy, rulesIn(policy, withMovements(read, policy.movements))));
  if (!onlyApproved) return ofPolicies;
  return [...ofPolicies, ...approvalRulesIn({ name: FREEZE }, [freezeRule(release.people)])];
}

/** The same for an announced order, whose callback is not known yet: more rules may seem to apply. */
export function approvalRulesOfOrder(
  release: Release | undefined,
  { source, kind, symbol }: { readonly source: string; readonly kind: Kind; readonly symbol: string },
): readonly ApprovalRule[] {
  const about = { source, kind, values: new Map([['symbol', [symbol]]]) };
  return (release?.policiesFor(about) ?? NONE).flatMap((policy) => approvalRulesIn(policy, policy.rules));
}

const approvalRulesIn = (
  { name: policy }: Pick<CompiledPolicy, 'name'>,
  rules: readonly CompiledRule[],
): readonly ApprovalRule[] =>
  rules.flatMap(({ name: rule, mode, approval }) =>
    approval === undefined || mode === 'observe' ? [] : [{ ...approval, policy, rule }],
  );

/** What a transaction moves, as a policy with `movements` reads it. */
export interface PolicyMovements {
  readonly policy: string;
  readonly movements: Movements;
}

/** The movements for each policy that counts them and may apply at some time and some prices. */
export function movementsOf(release: Release | undefined, received: Callback): readonly PolicyMovements[] {
  if (release === undefined) return [];
  const read = readByChain(received, release.assets);
  return release.policiesFor(read).flatMap((policy) => {
    const callback = withMovements(read, policy.movements);
    const { movements } = callback;
    const applies = movements !== undefined && mayMeet(policy.when, callback, factsAt(0));
    return applies ? [{ policy: policy.name, movements }] : [];
  });
}

/** The rules of an entry that may apply at some time and some prices. */
function rulesIn(entry: CompiledEntry | CompiledPolicy, callback: Callback): readonly CompiledRule[] {
  // Time and prices don't matter: `mayMeet` looks at neither.
  if (!mayMeet(entry.when, callback, factsAt(0))) return [];
  return 'entries' in entry ? entry.entries.flatMap((each) => rulesIn(each, callback)) : [entry];
}
