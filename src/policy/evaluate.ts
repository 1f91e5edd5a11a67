import type { Callback, Movements } from '../callback/callback.ts';
import { BOUNDS, type Claim } from '../claims/claims.ts';
import { messageOf } from '../errors.ts';
import { readByChain } from './chain-reading.ts';
import { type Facts, type PluginQuestion, factsAt, pluginQuestionKey } from './facts.ts';
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
import { type RuleOutcome, refuse } from './outcome.ts';
import { type Tested, isWithoutConditions, mayMeet, testWhen } from './language/conditions.ts';

/** The validity of an evaluation that does not depend on the time. */
const ALWAYS = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER } as const;

/**
 * Evaluates the policies in force for a callback, given the facts: the fourth of the five steps. It is pure:
 * conditions that only the store can check are returned as claims. It refuses if nothing is in force, if an
 * enforcing rule that applies refuses or throws, or if no policy covers the callback: its `when` is met, and
 * so is that of at least one of its enforcing rules.
 */
export function evaluate(release: Release | undefined, received: Callback, facts: Facts): Proposal {
  if (release === undefined) return refuseUnevaluated('', 'NOTHING_IN_FORCE');
  const read = readByChain(received, release.assets);
  const proposal = new ProposalBuilder(release.revision, facts.prices.version);
  for (const policy of release.policiesFor(read)) {
    const callback = withMovements(read, policy.movements);
    const applies = proposal.test(policy, callback, facts);
    if (applies.state === 'unmet') continue;
    const failed = appliesByFailure(applies);
    const position: Position = { policy, changes: changes(applies), failed, isChoice: false };
    if (applies.state === 'unclear') proposal.add(whenOf(policy), refuseUnclear(applies), position);
    if (applies.state === 'unknown') proposal.addUnknown(whenOf(policy), applies, position);
    const known: Known = { callback, facts };
    for (const entry of policy.entries) {
      const standing = judge(proposal, entry, known, position);
      const isCertain = applies.state === 'met' && standing.state === 'holds' && standing.covers;
      if (isCertain && entry.mode === 'enforce') proposal.cover();
    }
  }
  return proposal.build();
}

/** The conditions of a policy, as a result names them. */
const whenOf = ({ entries }: CompiledPolicy): Named => ({
  name: 'when',
  mode: entries.some(({ mode }) => mode === 'enforce') ? 'enforce' : 'observe',
});

/** Where an entry is. */
interface Position {
  readonly policy: CompiledPolicy;
  /** Whether a condition around it depends on time or prices, so that it may not apply later. */
  readonly changes: boolean;
  /** Whether it applies only because a price is missing, so that its refusal is by a failure: see RuleOutcome. */
  readonly failed: boolean;
  /** Whether it is in `any`, so that its verdict alone decides nothing. */
  readonly isChoice: boolean;
  /** Whether it is an entry of `any` itself: it must apply to hold. */
  readonly isAlternative?: boolean;
}

interface Known {
  readonly callback: Callback;
  readonly facts: Facts;
}

/**
 * What an entry comes to. `absent`: its `when` is not met. `covers`: it applies for certain, and not because
 * something is unknown. `requires`: what the store must find.
 */
type Standing =
  | { readonly state: 'absent' }
  /** `retryable`: everything that fails may hold later without a push. */
  | { readonly state: 'fails'; readonly retryable: boolean }
  | { readonly state: 'holds'; readonly covers: boolean; readonly requires: readonly Requirement[] };

const FAILS: Standing = { state: 'fails', retryable: false };
const FAILS_FOR_NOW: Standing = { state: 'fails', retryable: true };
const ABSENT: Standing = { state: 'absent' };
const NOTHING: readonly Requirement[] = [];
const PASSES: Standing = { state: 'holds', covers: true, requires: NOTHING };
const HOLDS: Standing = { state: 'holds', covers: false, requires: NOTHING };

function judge(proposal: ProposalBuilder, entry: CompiledEntry, known: Known, outer: Position): Standing {
  // Most rules have no conditions, and this is the hot path: no objects for them.
  if (isWithoutConditions(entry.when) && !('group' in entry)) {
    return judgeRule(proposal, entry, known, outer);
  }
  const applies = proposal.test(entry, known.callback, known.facts);
  return judgeTested(proposal, { entry, applies }, known, outer);
}

interface TestedEntry {
  readonly entry: CompiledEntry;
  readonly applies: Tested;
}

function judgeTested(
  proposal: ProposalBuilder,
  { entry, applies }: TestedEntry,
  known: Known,
  outer: Position,
): Standing {
  const position = {
    policy: outer.policy,
    changes: outer.changes || changes(applies),
    failed: outer.failed || appliesByFailure(applies),
    isChoice: outer.isChoice,
  };
  const failing = (outcome: RuleOutcome): Standing => {
    proposal.add(entry, outcome, position);
    return fails(outcome.retryable === true || position.changes);
  };
  if (applies.state === 'unclear') return failing(refuseUnclear(applies));
  if (applies.state === 'unmet') {
    return outer.isAlternative === true ? failing(refuse('its conditions under when are not met')) : ABSENT;
  }
  if (applies.state === 'unknown') {
    if (outer.isAlternative === true) {
      return failing(refuse(unknownText(applies)));
    }
    proposal.addUnknown(entry, applies, position);
  }
  const standing =
    'group' in entry
      ? entry.group === 'any'
        ? judgeAny(proposal, entry, known, position)
        : judgeAll(proposal, entry, known, { ...position, isAlternative: outer.isAlternative === true })
      : judgeRule(proposal, entry, known, position);
  if (standing.state !== 'holds' || applies.state === 'met') return standing;
  return { ...standing, covers: false };
}

function judgeRule(
  proposal: ProposalBuilder,
  rule: CompiledRule,
  { callback, facts }: Known,
  position: Position,
): Standing {
  const outcome = evaluateRule(rule, callback, facts);
  const result = proposal.add(rule, outcome, position);
  if (outcome.verdict === 'refuse') return fails(outcome.retryable === true || position.changes);
  // Outside of `any`, the store checks all claims, whatever is required.
  if (outcome.verdict === 'pass' || !position.isChoice) return rule.covers ? PASSES : HOLDS;
  return { state: 'holds', covers: rule.covers, requires: [result] };
}

/** Each entry that applies must hold. As an alternative, it holds only if one of them applies for certain. */
function judgeAll(
  proposal: ProposalBuilder,
  group: CompiledGroup,
  known: Known,
  { isAlternative, ...position }: Position,
): Standing {
  const before = proposal.coverageChanges;
  const standings = group.entries.map((entry) => judge(proposal, entry, known, position));
  const failing = standings.filter((standing) => standing.state === 'fails');
  if (failing.length > 0) return fails(failing.every(({ retryable }) => retryable));
  const holding = standings.filter((standing) => standing.state === 'holds');
  const covers = holding.some((standing) => standing.covers);
  if (isAlternative === true && !covers) {
    // A rule that does not apply now may apply later.
    const mayChange = position.changes || proposal.coverageChanges > before;
    proposal.add(group, refuse('none of its rules applies for certain'), { ...position, changes: mayChange });
    return fails(mayChange);
  }
  if (holding.length === 0) return ABSENT;
  return { state: 'holds', covers, requires: holding.flatMap(({ requires }) => requires) };
}

/** The first alternative that holds is taken. What only the store knows is decided there, in the same order. */
function judgeAny(
  proposal: ProposalBuilder,
  group: CompiledGroup,
  known: Known,
  position: Position,
): Standing {
  const result = proposal.announce(group, position);
  const inner = { ...position, isChoice: true, isAlternative: true };
  const alternatives: Alternative[] = [];
  let [covers, retryable] = [true, false];
  for (const entry of group.entries) {
    const from = proposal.length;
    const standing = judge(proposal, entry, known, inner);
    const requires = standing.state === 'holds' ? standing.requires : undefined;
    alternatives.push({ from, to: proposal.length, ...(requires === undefined ? {} : { requires }) });
    covers &&= standing.state !== 'holds' || standing.covers;
    // Any alternative may hold later, so one that passes by itself is enough.
    retryable ||= standing.state === 'fails' && standing.retryable;
    retryable ||=
      requires?.some((requirement) => typeof requirement === 'object' && requirement.retryable) === true;
    // Later alternatives would never be taken.
    if (requires?.length === 0) break;
  }
  // An alternative that fails for now may be the one that covers the callback.
  if (retryable && !covers) proposal.addCoverageChange();
  const standing = proposal.choose(group, { result, alternatives, retryable }, position);
  return standing.state === 'holds' && !covers ? { ...standing, covers } : standing;
}

const fails = (retryable: boolean): Standing => (retryable ? FAILS_FOR_NOW : FAILS);

const changes = ({ retryable }: Tested): boolean => retryable === true;

const appliesByFailure = ({ state, failed }: Tested): boolean => state === 'unknown' && failed === true;

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
  named: Named,
  { verdict, because, values }: RuleOutcome,
  { policy, isChoice }: Pick<Position, 'policy' | 'isChoice'>,
): RuleResult {
  const mode = isChoice ? 'alternative' : named.mode;
  return { policy: policy.name, rule: named.name, mode, verdict, because, values };
}

/** The rule result that a claim belongs to, and how its refusal counts. */
type ClaimEffect = Pick<Claim, 'result' | 'decides' | 'retryable'> & { readonly failed: boolean };

class ProposalBuilder {
  readonly #revision: string;
  readonly #results: RuleResult[] = [];
  readonly #claims: Claim[] = [];
  readonly #choices: Choice[] = [];
  /** The outcomes of rules in `any`, by result, until it is clear whether the store must check them. */
  readonly #outcomes = new Map<number, RuleOutcome>();
  /** The number of values that the claims look up. */
  #values = 0;
  #validFromMs: number = ALWAYS.fromMs;
  #validUntilMs: number = ALWAYS.untilMs;
  #covered = false;
  #coverageChanges = 0;
  /** Whether a result so far depended on time, prices or answers. */
  #varies = false;
  #usedPriceVersion = 0;
  readonly #priceVersion: number;
  #refuses = false;
  #lastingBy: number | undefined;
  /** Whether all that refuses has failed. */
  #failed = true;

  constructor(revision: string, priceVersion: number) {
    this.#revision = revision;
    this.#priceVersion = priceVersion;
  }

  get length(): number {
    return this.#results.length;
  }

  /** How many conditions and alternatives so far may cover the callback at another time, or at other prices. */
  get coverageChanges(): number {
    return this.#coverageChanges;
  }

  addCoverageChange(): void {
    this.#coverageChanges++;
  }

  /** Whether the callback meets `when`. The proposal is valid as long as the answer is. */
  test({ when }: Pick<CompiledEntry, 'when'>, callback: Callback, facts: Facts): Tested {
    const tested = testWhen(when, callback, facts);
    if (changes(tested)) {
      this.#noteUse(tested);
      this.addCoverageChange();
    }
    return tested;
  }

  #noteUse({ valid, usesPrices }: Pick<RuleOutcome, 'valid' | 'usesPrices'>): void {
    this.#varies ||= valid !== undefined || usesPrices === true;
    if (valid !== undefined) {
      this.#validFromMs = Math.max(this.#validFromMs, valid.fromMs);
      this.#validUntilMs = Math.min(this.#validUntilMs, valid.untilMs);
    }
    if (usesPrices === true) this.#usedPriceVersion = this.#priceVersion;
  }

  /** Adds the result of a rule, and returns its index. */
  add(named: Named, outcome: RuleOutcome, position: Position): number {
    const result = this.#results.length;
    const { verdict } = outcome;
    const failed = outcome.failed === true || position.failed;
    this.#results.push(resultOf(named, outcome, position));
    this.#noteUse(outcome);
    this.#varies ||= outcome.retryable === true && verdict !== 'claim';
    const retryable = outcome.retryable === true || position.changes;
    if (position.isChoice) this.#outcomes.set(result, { ...outcome, retryable, failed });
    else if (verdict === 'refuse') this.#decide(result, retryable, failed);
    else if (verdict === 'claim') {
      const decides = named.mode === 'enforce';
      this.#claim(outcome, { result, decides, retryable, failed });
    }
    return result;
  }

  #decide(result: number, retryable: boolean, failed: boolean): void {
    const { mode, verdict } = this.#results[result] ?? {};
    if (mode !== 'enforce' || verdict !== 'refuse') return;
    this.#refuses = true;
    if (!retryable) this.#lastingBy ??= result;
    this.#failed &&= failed;
  }

  #claim(
    { claims = [] }: Pick<RuleOutcome, 'claims'>,
    { result, decides, retryable, failed }: ClaimEffect,
  ): void {
    for (const each of claims) {
      // Named one by one, because spreading a second object takes longer.
      const claim = { ...each, result, decides, retryable };
      this.#claims.push(failed ? { ...claim, failed } : claim);
      if ('values' in claim) this.#values += claim.values.length;
      if ('list' in claim) this.#values += claim.also?.flat().length ?? 0;
    }
  }

  /** Reports that it is not known whether a policy or rule applies. It applies then, and covers nothing. */
  addUnknown({ name }: Named, tested: Tested, { policy }: Position): void {
    const outcome = refuse(unknownText(tested));
    this.#results.push(resultOf({ name, mode: 'observe' }, outcome, { policy, isChoice: false }));
  }

  /** Adds the result of `any` before those of its alternatives; {@link choose} completes it. */
  announce({ name, mode }: Named, { policy, isChoice }: Position): number {
    return this.#results.push(resultOf({ name, mode }, refuse(''), { policy, isChoice })) - 1;
  }

  choose(
    { name, mode }: Named,
    { result, alternatives, ...given }: Pick<Choice, 'result' | 'alternatives' | 'retryable'>,
    { policy, changes: changing, failed: isByFailure, isChoice }: Position,
  ): Standing {
    const first = alternatives.find(({ requires }) => requires !== undefined);
    const verdict = first === undefined ? 'refuse' : first.requires?.length === 0 ? 'pass' : 'claim';
    const retryable = changing || given.retryable;
    const hasFailed = ({ from, to }: Alternative): boolean =>
      this.#results.slice(from, to).some(({ verdict: each }, at) => {
        return each === 'refuse' && this.#outcomes.get(from + at)?.failed === true;
      });
    const failed = isByFailure || alternatives.some(hasFailed);
    const because = this.#becauseOf(alternatives, first);
    this.#results[result] = resultOf({ name, mode }, { verdict, because, values: {} }, { policy, isChoice });
    if (isChoice) this.#outcomes.set(result, { verdict, because, values: {}, retryable, failed });
    else this.#decide(result, retryable, failed);
    if (verdict === 'refuse') return fails(retryable);
    if (verdict === 'pass') return PASSES;
    const choice: Choice = {
      result,
      decides: mode === 'enforce',
      retryable,
      ...(failed ? { failed } : {}),
      alternatives,
    };
    if (!isChoice) {
      this.#choices.push(choice);
      this.#claimFor(choice);
    }
    return { state: 'holds', covers: true, requires: [choice] };
  }

  /** Claims what the alternatives require. The alternatives decide whether it is needed. */
  #claimFor({ alternatives }: Choice): void {
    for (const requirement of alternatives.flatMap(({ requires = [] }) => requires)) {
      if (typeof requirement === 'object') this.#claimFor(requirement);
      else {
        const outcome = this.#outcomes.get(requirement);
        if (outcome !== undefined) {
          const { retryable = false, failed = false } = outcome;
          this.#claim(outcome, { result: requirement, decides: false, retryable, failed });
        }
      }
    }
  }

  #becauseOf(alternatives: readonly Alternative[], first: Alternative | undefined): string {
    if (first === undefined) {
      const reasons = alternatives.map(
        (alternative, at) => `alternative ${at + 1}: ${this.#failureIn(alternative)}`,
      );
      return `no alternative holds: ${reasons.join('; ')}`;
    }
    const number = alternatives.indexOf(first) + 1;
    if (first.requires?.length === 0) {
      const { rule = '', because = '' } = ownResults(this.#results, first)[0] ?? {};
      return `alternative ${number} holds: ${rule}: ${because}`;
    }
    return `one of ${alternatives.length} alternatives must hold`;
  }

  #failureIn(alternative: Alternative): string {
    const failed = ownResults(this.#results, alternative).find(({ verdict }) => verdict === 'refuse');
    return failed === undefined ? 'it does not hold' : `${failed.rule}: ${failed.because}`;
  }

  cover(): void {
    this.#covered = true;
  }

  build(): Proposal {
    const tooMany = this.#claims.length > BOUNDS.claims || this.#values > BOUNDS.values;
    const excess = tooMany ? 'TOO_MANY_CLAIMS' : undefined;
    // A refusal by a rule is the more useful reason.
    const refusal = this.#refuses ? undefined : this.#covered ? excess : 'NO_POLICY';
    const mayPass =
      refusal === 'NO_POLICY' ? this.#coverageChanges > 0 : refusal !== undefined && this.#varies;
    return {
      revision: this.#revision,
      approves: this.#covered && !this.#refuses && !tooMany,
      refusal,
      results: this.#results,
      // A proposal with too many claims is refused, so the store checks none of them.
      claims: tooMany ? [] : this.#claims,
      choices: tooMany || this.#choices.length === 0 ? undefined : this.#choices,
      retryable: this.#refuses ? this.#lastingBy === undefined : mayPass,
      lastingBy: this.#lastingBy,
      failed: this.#refuses && this.#failed ? true : undefined,
      prices: this.#usedPriceVersion,
      validFromMs: this.#validFromMs,
      validUntilMs: this.#validUntilMs,
    };
  }
}

function refuseUnevaluated(revision: string, refusal: Proposal['refusal']): Proposal {
  return {
    revision,
    approves: false,
    refusal,
    results: [],
    claims: [],
    retryable: false,
    prices: 0,
    validFromMs: ALWAYS.fromMs,
    validUntilMs: ALWAYS.untilMs,
  };
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
    for (const declared of questionsIn(policy, callback)) {
      const question = movements === undefined ? declared : { ...declared, movements };
      questions.set(pluginQuestionKey(question), question);
    }
  }
  return questions;
}

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

/** The questions of an entry that may apply at some time and some prices. */
function questionsIn(entry: CompiledEntry | CompiledPolicy, callback: Callback): readonly PluginQuestion[] {
  // Time and prices don't matter: `mayMeet` looks at neither.
  if (!mayMeet(entry.when, callback, factsAt(0))) return [];
  if ('entries' in entry) return entry.entries.flatMap((each) => questionsIn(each, callback));
  return entry.pluginQuestions ?? [];
}
