import { CountersignError } from '../errors.ts';
import type { JournalQuery } from './store.ts';

const LIMIT_MAX = 1000;

/** Throws USAGE for a limit outside 1 to 1000, or an `after` that is no id of the store's entries. */
export function assertJournalQuery(
  { limit, after = '' }: JournalQuery,
  isEntryId: (text: string) => boolean,
): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new CountersignError('USAGE', `the limit is ${limit} entries; give 1 to ${LIMIT_MAX}`, { limit });
  }
  if (after !== '' && !isEntryId(after)) {
    throw new CountersignError(
      'USAGE',
      `${JSON.stringify(after)} is not an id of the journal; give one of its ids`,
      { after },
    );
  }
}
