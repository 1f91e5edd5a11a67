import type { AgedClaim, ListClaim } from '../../policy/proposal.ts';
import type { ClaimResult } from '../store.ts';
import type { ListTables } from './lists.ts';

export function checkList(lists: ListTables, source: string, { list, values, must }: ListClaim): ClaimResult {
  const present = lists.present(source, list, values);
  if (present === undefined) return { holds: false, missing: true, present: [] };
  const wanted = must === 'hold-all' ? values.length : 0;
  return { holds: present.length === wanted, missing: false, present };
}

export function checkAged(
  lists: ListTables,
  source: string,
  { list, values, ageMs }: AgedClaim,
  nowMs: number,
): ClaimResult {
  const added = lists.added(source, list, values);
  if (added === undefined) return { holds: false, missing: true, added: [] };
  const holds =
    values.length > 0 &&
    added.length === values.length &&
    added.every(([, addedAtMs]) => addedAtMs + ageMs <= nowMs);
  return { holds, missing: false, added };
}
