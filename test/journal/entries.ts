import { exportedEntry } from '../../src/journal/exported.ts';
import type { JournalEntry } from '../../src/store/store.ts';

/** An entry of the journal: an approval, but for what is given. */
export const entryOf = (over: Partial<JournalEntry> = {}): JournalEntry => ({
  id: '1',
  source: 'shop',
  atMs: 1,
  type: 'decision',
  subject: 'payment:1',
  verdict: 'SUCCESS',
  code: 'APPROVED',
  revision: '',
  of: '',
  claims: [],
  detail: '{}',
  ...over,
});

/** Its line in an export, also of members that no entry has. */
export const exportedLine = (over: object = {}): string =>
  JSON.stringify({ ...exportedEntry(entryOf()), ...over });
