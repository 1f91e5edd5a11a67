import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import { fromDetail } from '../policy/detail.ts';
import { type ClaimFound, explain } from '../policy/explain.ts';
import { parseAmount } from '../values/amount.ts';
import type { Reason } from './backtest.ts';
import type { RecordedEntry } from './record.ts';

/**
 * Why a recorded callback was decided as it was, as far as this version of the program can read it. Never
 * throws.
 */
export function recordedReason(entry: RecordedEntry): Reason {
  const { code } = entry;
  const verdict = entry.verdict === 'SUCCESS' ? 'SUCCESS' : 'FAILURE';
  const plain: Reason = { verdict, rule: code, because: code, values: {} };
  try {
    const proposal = fromDetail(entry.proposal());
    const { deciding, because, rules } = explain(proposal, { code, claims: claimsOf(entry.claims) });
    if (deciding === undefined) return { ...plain, because };
    const at = rules.findIndex(({ policy, rule }) => policy === deciding.policy && rule === deciding.rule);
    const values = proposal.results[at]?.values ?? {};
    return { verdict, rule: `${deciding.policy}/${deciding.rule}`, because: deciding.because, values };
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    return plain;
  }
}

const claim = z.union([
  z.object({
    holds: z.boolean(),
    reserved: z.boolean(),
    used: z.union([z.bigint(), z.string().transform((text) => parseAmount(text) ?? 0n)]),
  }),
  z.object({ holds: z.boolean(), missing: z.boolean(), present: z.array(z.string()) }),
  z.object({
    holds: z.boolean(),
    missing: z.boolean(),
    added: z.array(z.tuple([z.string(), z.number()])),
  }),
  z.object({ holds: z.boolean(), markedAtMs: z.number() }),
  z.object({
    holds: z.boolean(),
    order: z.enum(['agrees', 'missing', 'cancelled', 'expired', 'used', 'differs']),
    differs: z.array(z.string()),
  }),
  z.object({ holds: z.boolean(), approvedAtMs: z.number(), speedUps: z.number() }),
]);

/** How the claims fared, from the store's journal or from an export; none if they can't be read. */
function claimsOf(written: unknown): readonly ClaimFound[] {
  return z.array(claim).safeParse(written).data ?? [];
}
