import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import { proposalFromJson } from '../policy/proposal.ts';
import { type ClaimResult, claimResults } from '../claims/claims.ts';
import { amountText } from '../claims/kind.ts';
import { explain } from '../policy/explain.ts';
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
    const proposal = proposalFromJson(entry.proposal());
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

/** Amounts are bigints in the store's journal, and decimal text in an export. */
const results = claimResults(z.union([z.bigint(), amountText]));

/** The results of the claims; none if they can't be read. */
function claimsOf(written: unknown): readonly ClaimResult[] {
  return results.safeParse(written).data ?? [];
}
