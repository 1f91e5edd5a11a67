import { z } from 'zod';
import { CountersignError, usageError } from '../errors.ts';
import type { JournalEntry, JournalQuery } from '../store/store.ts';
import { canonicalJson } from '../values/canonical.ts';
import { jsonOrText } from '../values/text.ts';

/** The entries of a source, or those about one of its subjects. */
export type Stream = Pick<JournalQuery, 'source' | 'subject'>;

/** Stands for the cursor of the first page. */
export const START = 'start';

/**
 * Where a page of a search ends: after the last entry that was passed in each stream. It counts no entries, so
 * new entries and archived ones move nothing. It keeps the period of the search, because a period such as the
 * last two hours would move.
 */
const positionShape = z.strictObject({
  newestFirst: z.boolean(),
  fromMs: z.number().optional(),
  untilMs: z.number().optional(),
  /** The time of the last entry of all that was passed. */
  lastMs: z.number().optional(),
  /** The last id by the name of the stream; the empty text if no entry was passed. */
  after: z.record(z.string(), z.string()),
});

export type Position = z.output<typeof positionShape>;

/** The beginning of a search. */
export function startOf(
  streams: readonly Stream[],
  { newestFirst, ...period }: Pick<JournalQuery, 'fromMs' | 'untilMs'> & { readonly newestFirst: boolean },
): Position {
  return { newestFirst, ...period, after: Object.fromEntries(streams.map((each) => [nameOf(each), ''])) };
}

/** The position of a cursor in the search that begins at `start`. Throws USAGE for any other text. */
export function positionOf(cursor: string, start: Position): Position {
  if (cursor === START) return start;
  const parsed = positionShape.safeParse(jsonOrText(Buffer.from(cursor, 'base64url').toString()));
  if (!parsed.success || cursorOf(parsed.data) !== cursor) throw notACursor(cursor);
  const { data: position } = parsed;
  const isSameSearch =
    position.newestFirst === start.newestFirst &&
    Object.keys(position.after).sort().join('\n') === Object.keys(start.after).sort().join('\n');
  if (isSameSearch) return position;
  throw usageError('--after is a cursor of another search. Give the same options as for the page before');
}

export function cursorOf(position: Position): string {
  return Buffer.from(canonicalJson(position)).toString('base64url');
}

export function notACursor(written: string): CountersignError {
  return usageError(
    `--after ${written.slice(0, 80)} is not a cursor of this store. Give \`next\` of the page before, or ` +
      `\`${START}\` for the first page`,
  );
}

/** The queries for what follows a position. */
export function queriesFrom(
  { newestFirst, fromMs, untilMs, lastMs, after }: Position,
  streams: readonly Stream[],
): readonly Omit<JournalQuery, 'limit' | 'newestFirst'>[] {
  return streams.map((stream) => {
    const last = after[nameOf(stream)] ?? '';
    // In a stream without a passed entry, newer entries than those of earlier pages belong to no page.
    const newestMs = newestFirst && last === '' && lastMs !== undefined ? lastMs + 1 : undefined;
    const until = Math.min(untilMs ?? Infinity, newestMs ?? Infinity);
    return {
      ...stream,
      after: last,
      ...(fromMs !== undefined && { fromMs }),
      ...(until !== Infinity && { untilMs: until }),
    };
  });
}

/** Moves the position past an entry. */
export function passEntry(position: Position, { source, subject, id, atMs }: JournalEntry): void {
  const ofSource = nameOf({ source });
  const name = Object.hasOwn(position.after, ofSource) ? ofSource : nameOf({ source, subject });
  position.after[name] = id;
  position.lastMs = atMs;
}

/** No name of a source has a blank. */
const nameOf = ({ source, subject }: Stream): string =>
  subject === undefined ? source : `${source} ${subject}`;
