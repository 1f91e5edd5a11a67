import { z } from 'zod';
import { proposalFromJson } from '../policy/proposal.ts';
import { type Refusing, explain } from '../policy/explain.ts';
import type { JournalEntry } from '../store/store.ts';

const detailShape = z.object({ proposal: z.unknown() });

/**
 * The rule that made the refusal of a journal entry, for a repeat of it that no rule would make now.
 * Undefined if this version of the program can't read that. Never throws.
 */
export function firstRefusal({
  code,
  claims,
  detail,
}: Pick<JournalEntry, 'code' | 'claims' | 'detail'>): Refusing | undefined {
  try {
    const { proposal } = detailShape.parse(JSON.parse(detail));
    return explain(proposalFromJson(proposal), { code, claims }).deciding;
  } catch {
    return undefined;
  }
}
