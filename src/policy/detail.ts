import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import { formatAmount, parseAmount } from '../values/amount.ts';
import type { Claim, Proposal, RuleResult } from './proposal.ts';
import { formatSchemaError } from '../values/schema-error.ts';

/**
 * A proposal in a form that JSON can write, for the journal: amounts as decimal text, results as lists in the
 * order of {@link resultDetail}, and of claims only what differs from most. Every decision writes one, so its
 * length counts.
 */
export function toDetail(proposal: Proposal): object {
  return {
    ...proposal,
    results: proposal.results.map(({ policy, rule, mode, verdict, because, values }) =>
      mode === 'enforce'
        ? [policy, rule, verdict, because, values]
        : [policy, rule, verdict, because, values, mode],
    ),
    claims: proposal.claims.map(claimToDetail),
  };
}

function claimToDetail(claim: Claim): object {
  // What JSON leaves out is what a claim is if nothing else is said.
  const flags = {
    decides: claim.decides ? undefined : false,
    final: claim.final ? true : undefined,
    afresh: claim.afresh ? true : undefined,
  };
  if (claim.type !== 'window') return { ...claim, ...flags };
  return { ...claim, ...flags, amount: formatAmount(claim.amount), max: formatAmount(claim.max) };
}

/** The proposal that {@link toDetail} wrote. Throws STORE_CORRUPT for anything else. */
export function fromDetail(detail: unknown): Proposal {
  const parsed = proposalDetail.safeParse(detail);
  if (parsed.success) return { ...parsed.data, refusal: parsed.data.refusal };
  throw new CountersignError(
    'STORE_CORRUPT',
    `the journal entry holds no proposal that can be read: ${formatSchemaError(parsed.error, detail)}; it was written by another version of the program`,
  );
}

const amount = z
  .string()
  .refine((text) => parseAmount(text) !== undefined, 'not an amount')
  .transform((text) => parseAmount(text) ?? 0n);

// Entries from before there was `afresh` or `prices` have neither; then every refusal stood, and no rule knew
// prices.
const afresh = z.boolean().default(false);
const claimBase = {
  result: z.number(),
  decides: z.boolean().default(true),
  final: z.boolean().default(false),
  afresh,
};

const claimDetail = z.discriminatedUnion('type', [
  z.strictObject({
    ...claimBase,
    type: z.literal('list'),
    list: z.string(),
    values: z.array(z.string()),
    must: z.enum(['hold-all', 'hold-none']),
  }),
  z.strictObject({
    ...claimBase,
    type: z.literal('aged'),
    list: z.string(),
    values: z.array(z.string()),
    ageMs: z.number(),
  }),
  z.strictObject({
    ...claimBase,
    type: z.literal('mark'),
    key: z.string(),
    ageMs: z.number(),
    exempt: z.boolean(),
  }),
  z.strictObject({ ...claimBase, type: z.literal('order'), members: z.record(z.string(), z.string()) }),
  z.strictObject({ ...claimBase, type: z.literal('speed-up'), max: z.number(), withinMs: z.number() }),
  z.strictObject({
    ...claimBase,
    type: z.literal('window'),
    key: z.string(),
    amount,
    max: amount,
    window: z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('rolling'), lengthMs: z.number(), bucketMs: z.number() }),
      z.strictObject({ type: z.literal('calendar'), startMs: z.number(), endMs: z.number() }),
    ]),
  }),
]);

const mode = z.enum(['enforce', 'observe']);
const verdict = z.enum(['pass', 'refuse', 'claim']);
const values = z.record(z.string(), z.string());

const resultDetail = z
  .tuple([z.string(), z.string(), verdict, z.string(), values, mode.default('enforce')])
  .transform(([policy, rule, said, because, looked, how]): RuleResult => ({
    policy,
    rule,
    mode: how,
    verdict: said,
    because,
    values: looked,
  }));

/** Results as they were written before: with names. */
const olderResult = z.strictObject({
  policy: z.string(),
  rule: z.string(),
  mode,
  verdict,
  because: z.string(),
  values,
});

const proposalDetail = z.strictObject({
  revision: z.string(),
  approves: z.boolean(),
  refusal: z.enum(['NO_POLICY', 'NOTHING_IN_FORCE', 'TOO_MANY_CLAIMS']).optional(),
  results: z.array(z.union([resultDetail, olderResult])),
  claims: z.array(claimDetail),
  final: z.boolean(),
  afresh,
  prices: z.number().default(0),
  validFromMs: z.number(),
  validUntilMs: z.number(),
});
