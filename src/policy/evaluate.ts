import type { Callback } from '../callback/callback.ts';
import { messageOf } from '../errors.ts';
import { BOUNDS, type Claim } from '../claims/claims.ts';
import type { Proposal, RuleResult } from './proposal.ts';
import { type Facts, type PluginQuestion, pluginQuestionKey } from './facts.ts';
import type { CompiledPolicy, CompiledRule, Release } from './release.ts';
import { type RuleOutcome, refuse } from './rules/rule.ts';
import { appliesTo } from './when.ts';

/** The validity of an evaluation that does not depend on the time. */
const ALWAYS = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER } as const;

/**
 * Evaluates the policies in force for a callback, given the facts: the fourth of the five steps. It is pure:
 * conditions that only the store can check are returned as claims. It refuses if nothing is in force, if no
 * policy with an enforcing rule applies, or if an enforcing rule of a policy that applies refuses or throws.
 */
export function evaluate(release: Release | undefined, callback: Callback, facts: Facts): Proposal {
  if (release === undefined) return refuseUnevaluated('', 'NOTHING_IN_FORCE');
  const proposal = new ProposalBuilder(release.revision, facts.prices.version);
  for (const policy of release.policiesFor(callback)) {
    const { applies, mixedMember } = appliesTo(policy.when, callback);
    if (!applies) continue;
    if (mixedMember !== undefined) proposal.addMixed(policy, mixedMember);
    for (const rule of policy.rules) proposal.add(policy, rule, evaluateRule(rule, callback, facts));
  }
  return proposal.build();
}

/** Evaluates one rule. A rule that throws refuses. */
function evaluateRule(rule: CompiledRule, callback: Callback, facts: Facts): RuleOutcome {
  try {
    const outcome = rule.evaluate(callback, facts);
    return outcome.verdict === 'claim' && (outcome.claims ?? []).length === 0
      ? refuse('the rule claims nothing, so nothing would be checked')
      : outcome;
  } catch (thrown) {
    return { ...refuse(`the rule failed: ${messageOf(thrown)}`), afresh: true };
  }
}

class ProposalBuilder {
  readonly #revision: string;
  readonly #results: RuleResult[] = [];
  readonly #claims: Claim[] = [];
  /** The number of values that the claims look up in lists. */
  #values = 0;
  #validFromMs: number = ALWAYS.fromMs;
  #validUntilMs: number = ALWAYS.untilMs;
  #enforcing = false;
  #afresh = true;
  #usedPriceVersion = 0;
  readonly #priceVersion: number;
  #refuses = false;
  #final = false;

  constructor(revision: string, priceVersion: number) {
    this.#revision = revision;
    this.#priceVersion = priceVersion;
  }

  add(policy: CompiledPolicy, rule: Pick<CompiledRule, 'name' | 'mode'>, outcome: RuleOutcome): void {
    const decides = rule.mode === 'enforce';
    const result = this.#results.length;
    const { verdict, because, values, valid, afresh = false } = outcome;
    this.#results.push({ policy: policy.name, rule: rule.name, mode: rule.mode, verdict, because, values });
    if (verdict === 'claim') {
      for (const claim of outcome.claims ?? []) {
        this.#claims.push({ ...claim, result, decides, final: policy.final, afresh });
        if ('values' in claim) this.#values += claim.values.length;
      }
    }
    if (valid !== undefined) {
      this.#validFromMs = Math.max(this.#validFromMs, valid.fromMs);
      this.#validUntilMs = Math.min(this.#validUntilMs, valid.untilMs);
    }
    this.#enforcing ||= decides;
    if (outcome.usesPrices === true) this.#usedPriceVersion = this.#priceVersion;
    if (decides && verdict === 'refuse') {
      this.#refuses = true;
      this.#final ||= policy.final;
      this.#afresh &&= afresh;
    }
  }

  /**
   * Adds a refusal for a policy whose `when` names only some of a member's values: whether the policy should
   * apply is not clear.
   */
  addMixed(policy: CompiledPolicy, member: string): void {
    const mode = policy.rules.some((rule) => rule.mode === 'enforce') ? 'enforce' : 'observe';
    this.add(
      policy,
      { name: 'when', mode },
      refuse(`some values of ${member}, not all, are named under when`, { member }),
    );
  }

  build(): Proposal {
    const tooMany = this.#claims.length > BOUNDS.claims || this.#values > BOUNDS.values;
    // A refusal by a rule is the more useful reason.
    const excess = tooMany && !this.#refuses ? 'TOO_MANY_CLAIMS' : undefined;
    return {
      revision: this.#revision,
      approves: this.#enforcing && !this.#refuses && !tooMany,
      refusal: this.#enforcing ? excess : 'NO_POLICY',
      results: this.#results,
      // A proposal with too many claims is refused, so the store checks none of them.
      claims: tooMany ? [] : this.#claims,
      final: this.#final,
      afresh: this.#refuses && this.#afresh,
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
    final: false,
    afresh: false,
    prices: 0,
    validFromMs: ALWAYS.fromMs,
    validUntilMs: ALWAYS.untilMs,
  };
}

/** The plugin questions of all policies that apply, by key. They need answers before the evaluation. */
export function pluginQuestionsOf(
  release: Release | undefined,
  callback: Callback,
): ReadonlyMap<string, PluginQuestion> {
  const questions = new Map<string, PluginQuestion>();
  for (const policy of release?.policiesFor(callback) ?? []) {
    if (!policy.rules.some(({ pluginQuestions: ruleQuestions }) => ruleQuestions !== undefined)) continue;
    if (!appliesTo(policy.when, callback).applies) continue;
    for (const question of policy.rules.flatMap((rule) => rule.pluginQuestions ?? [])) {
      questions.set(pluginQuestionKey(question), question);
    }
  }
  return questions;
}
