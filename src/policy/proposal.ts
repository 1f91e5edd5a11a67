import { z } from 'zod';
import { canBeApproved } from '../claims/approval.ts';
import {
  type Claim,
  type ClaimResult,
  claimSchema,
  claimToJson,
  isChecked,
  isMissing,
} from '../claims/claims.ts';
import { CountersignError } from '../errors.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { type Standing, combine } from './standing.ts';

const ruleResult = z.strictObject({
  policy: z.string(),
  /** The name of the rule's kind, and its place in the policy counted from 1: `amount-limit#1`. */
  rule: z.string(),
  /**
   * `alternative`: a rule in `any`, which decides nothing by itself. `observe` is also the mode of a result
   * that says that a condition is not known.
   */
  mode: z.enum(['enforce', 'observe', 'alternative']),
  /** `claim`: the store gives the verdict, by the claims that carry this result's index. */
  verdict: z.enum(['pass', 'refuse', 'claim']),
  /** A sentence with the values; for a claim, what the claim requires. */
  because: z.string(),
  values: z.record(z.string(), z.string()).readonly(),
});

/** The outcome of one rule, before the store checks its claims. */
export type RuleResult = Readonly<z.output<typeof ruleResult>>;

const { policy, rule, mode, verdict, because, values } = ruleResult.shape;

/** The journal form of a result: a list, which is shorter than an object. */
const listedResult = z
  .tuple([policy, rule, verdict, because, values, mode.default('enforce')])
  .transform(([policyName, ruleName, ruleVerdict, reason, usedValues, ruleMode]): RuleResult => ({
    policy: policyName,
    rule: ruleName,
    mode: ruleMode,
    verdict: ruleVerdict,
    because: reason,
    values: usedValues,
  }));

/** What must hold for an alternative: a claim, by its index, or one of further alternatives. */
export type Requirement = number | Choice;

/** An entry of `any`. */
export interface Alternative {
  /** Its results are those at [from, to). */
  readonly from: number;
  readonly to: number;
  /** What the store must find; undefined if the evaluation refused it. */
  readonly requires?: readonly Requirement[] | undefined;
}

/**
 * The alternatives of an `any`, in order. The store takes the first one whose claims hold. `retryable` and
 * `failed`: see Standing, of the alternatives that the evaluation refused.
 */
export interface Choice extends Pick<Standing, 'failed'> {
  /** The index of its own result. */
  readonly result: number;
  /** Whether a refusal is needed if none holds; false for `mode: observe`. */
  readonly decides: boolean;
  readonly retryable: boolean;
  /** Up to the first that holds whatever the store finds. */
  readonly alternatives: readonly Alternative[];
}

/**
 * Of the results of an alternative, those that decide it. The results within an inner `any` don't, because
 * that has a result of its own. That a condition is not known decides nothing either.
 */
export function ownResults<R extends Pick<RuleResult, 'rule' | 'mode'>>(results: readonly R[]): readonly R[] {
  const own = results.filter((each) => each.mode !== 'observe');
  const inner = own.filter((each) => each.rule.startsWith('any#')).map((each) => `${placeOf(each)}.`);
  return own.filter((each) => !inner.some((place) => placeOf(each).startsWith(place)));
}

/** The indexes of the claims of a choice, and of the choices in it. */
export const claimsIn = ({ alternatives }: Pick<Choice, 'alternatives'>): readonly number[] =>
  alternatives
    .flatMap(({ requires = [] }) => requires)
    .flatMap((each) => (typeof each === 'number' ? [each] : claimsIn(each)));

/** Whether an alternative holds. The store checks none after the one that it takes. */
export const isTaken = ({ requires }: Alternative, found: readonly ClaimResult[]): boolean =>
  requires?.every((each) => isMet(each, found)) ?? false;

const isMet = (required: Requirement, found: readonly ClaimResult[]): boolean =>
  typeof required === 'number'
    ? found[required]?.holds === true
    : required.alternatives.some((alternative) => isTaken(alternative, found));

/**
 * Whether a refusal by a claim, or by a choice of which no alternative holds, is only for lack of people's
 * approval.
 */
export function awaitsApproval(refused: Requirement, found: readonly ClaimResult[]): boolean {
  if (typeof refused === 'number') {
    const result = found[refused];
    return result?.type === 'approval' && canBeApproved(result.approval);
  }
  return refused.alternatives.some(
    ({ requires }) => requires?.every((each) => isMet(each, found) || awaitsApproval(each, found)) ?? false,
  );
}

/** How long a refusal stands by a claim that the store checked, and that fails. */
const standingOfClaim = (claim: Claim, result: ClaimResult): Standing => ({
  retryable: claim.retryable,
  // A lock-out, and a list that is missing, say nothing about the callback.
  failed: claim.failed === true || claim.type === 'refusals' || isMissing(result),
});

/**
 * How long a refusal by the store stands: by claims, by their indexes, each of which must hold, or by a
 * choice. `found` is what the store found for each claim of the proposal.
 */
export function standingInStore(
  refused: readonly number[] | Choice,
  claims: readonly Claim[],
  found: readonly ClaimResult[],
): Standing {
  const isChoice = 'alternatives' in refused;
  const failing = (isChoice ? claimsIn(refused) : refused).flatMap((at) => {
    const [claim, result] = [claims[at], found[at]];
    if (claim === undefined || !isChecked(result) || result.holds) return [];
    return [{ ...standingOfClaim(claim, result), awaits: awaitsApproval(at, found) }];
  });
  if (!isChoice) return combine('all', failing);
  const awaits = awaitsApproval(refused, found);
  // Any alternative may hold later, so a change of one is enough. People's approval is if nothing else fails.
  const causes = failing.filter((each) => awaits || !each.awaits);
  return { ...combine('one', [refused, ...causes]), awaits };
}

const placeOf = (result: Pick<RuleResult, 'rule'>): string => result.rule.slice(result.rule.indexOf('#') + 1);

const requirement: z.ZodType<Requirement> = z.lazy(() => z.union([z.number(), choice]));
const choice: z.ZodType<Choice> = z.strictObject({
  result: z.number(),
  decides: z.boolean(),
  retryable: z.boolean(),
  failed: z.boolean().optional(),
  alternatives: z
    .array(
      z.strictObject({
        from: z.number(),
        to: z.number(),
        requires: z.array(requirement).readonly().optional(),
      }),
    )
    .readonly(),
});

/** The journal form of a proposal. */
const proposalSchema = z.strictObject({
  /** The revision that was evaluated; the empty text if no revision was in force. */
  revision: z.string(),
  approves: z.boolean(),
  /**
   * A reason to refuse that does not come from a rule: nothing is in force, no policy covers the callback, or
   * there are more claims than BOUNDS allow.
   */
  refusal: z.enum(['NO_POLICY', 'NOTHING_IN_FORCE', 'TOO_MANY_CLAIMS']).optional(),
  results: z.array(listedResult).readonly(),
  claims: z.array(claimSchema).readonly(),
  /** What `any` leaves to the store. The claims of its rules have `decides: false`. */
  choices: z.array(choice).readonly().optional(),
  /** True if rules refuse, and all of them by a failure: see Standing. */
  failed: z.boolean().optional(),
  /**
   * True if it refuses, and every enforcing result that refuses depends on something that changes without a
   * push.
   */
  retryable: z.boolean(),
  /** The first enforcing result that refuses until a push, whatever time, prices, orders and answers do. */
  lastingBy: z.number().optional(),
  /**
   * The version of the price table that it was evaluated with; 0 if no rule read a price. Settle checks that
   * it is current.
   */
  prices: z.number(),
  /** True if it was evaluated for a freeze that excepts what people approve. Settle checks that one is. */
  onlyApproved: z.boolean().optional(),
  /** The instants [validFromMs, validUntilMs) at which the evaluation would have the same outcome. */
  validFromMs: z.number(),
  validUntilMs: z.number(),
});

/**
 * The outcome of evaluate. An approval requires that no enforcing result refuses and that, in the store,
 * every deciding claim holds.
 */
export type Proposal = Readonly<z.output<typeof proposalSchema>>;

/** The journal form of a proposal. Every decision stores one, so it is short. */
export function proposalToJson(proposal: Proposal): object {
  return {
    ...proposal,
    results: proposal.results.map((result) => {
      const listed = [result.policy, result.rule, result.verdict, result.because, result.values];
      return result.mode === 'enforce' ? listed : [...listed, result.mode];
    }),
    claims: proposal.claims.map(claimToJson),
  };
}

/** The proposal that {@link proposalToJson} wrote. Throws STORE_CORRUPT if `json` is anything else. */
export function proposalFromJson(json: unknown): Proposal {
  const parsed = proposalSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new CountersignError(
    'STORE_CORRUPT',
    `the journal entry holds no proposal that can be read: ${formatSchemaError(parsed.error, json)}; ` +
      'another version of the program wrote it, so read it with that version',
  );
}
