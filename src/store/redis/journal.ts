import { z } from 'zod';
import { assertJournalQuery } from '../arguments.ts';
import {
  JOURNAL_TYPES,
  type Journal,
  type JournalEntry,
  type JournalQuery,
  type JournalRecord,
} from '../store.ts';
import { readClaims } from './claims.ts';
import { type RedisParts, journalArguments } from './parts.ts';
import { count, parseReply, pairs, readHash, text } from './reply.ts';
import { loadScript, run } from './script.ts';

const recordScript = loadScript('record-3');

export function createJournal(parts: RedisParts): Journal {
  const { connection, keys } = parts;

  async function entry(source: string, id: string): Promise<JournalEntry | undefined> {
    if (!isEntryId(id)) return undefined;
    return readEntries(source, await connection.call('xrange', [keys.of(source).journal, id, id]))[0];
  }

  return {
    record: (record) => writeRecord(parts, record),
    entry,
    async entries(query) {
      assertJournalQuery(query, isEntryId);
      if (query.subject === undefined) {
        if (await endsBeforeFirst(parts, query)) return [];
        return readEntries(query.source, await connection.call(...rangeOf(parts, query)), query.explained);
      }
      const ids = await idsAbout(parts, query, query.subject);
      const found = await Promise.all(ids.map((id) => entry(query.source, id)));
      return found.filter((known) => known !== undefined);
    },
    async journalSize(source) {
      const size = await connection.call('xlen', [keys.of(source).journal]);
      return parseReply(count, `the size of the journal of ${source}`, size);
    },
    dropEntries: ({ source, upTo }) => dropEntries(parts, source, upTo),
  };
}

/** The most entries that one step drops. */
const DROPPED_PER_STEP = 1000;

async function dropEntries({ connection, keys }: RedisParts, source: string, upTo: string): Promise<number> {
  if (!isEntryId(upTo)) return 0;
  const { journal } = keys.of(source);
  const [found, newest] = await Promise.all([
    connection.call('xrange', [journal, upTo, upTo]),
    connection.call('xrevrange', [journal, '+', '-', 'COUNT', '1']),
  ]);
  const [last] = readEntries(source, newest);
  if (readEntries(source, found).length === 0 || last === undefined) return 0;
  // The first id to keep: the one after `upTo`, or the newest.
  const kept = last.id === upTo ? upTo : idAfter(upTo);
  const trim = async (...trimOptions: readonly (string | number)[]): Promise<number> =>
    parseReply(
      count,
      `dropped entries of ${source}`,
      await connection.call('xtrim', [journal, ...trimOptions]),
    );
  // Whole blocks of the stream first, because `=` alone would delete everything in one unbounded step.
  const blocks = await trim('MINID', '~', kept, 'LIMIT', DROPPED_PER_STEP);
  return blocks > 0 ? blocks : trim('MINID', '=', kept);
}

function idAfter(id: string): string {
  const [atMs = '', number = ''] = id.split('-');
  return `${atMs}-${BigInt(number) + 1n}`;
}

async function writeRecord(parts: RedisParts, record: JournalRecord): Promise<string> {
  const keys = parts.keys.of(record.source);
  const { subject, type, verdict, code, of, detail } = record;
  const reply = await run(
    parts.connection,
    recordScript,
    [keys.control, keys.subject(subject), keys.journal],
    [...journalArguments(parts), parts.retention.subjectsMs, subject, type, verdict, code, of, detail],
  );
  return parseReply(text, 'the id of an entry', reply);
}

/** The bounds of a query as ids, both exclusive. */
function boundsOf(query: JournalQuery): { readonly after?: string; readonly before?: string } {
  const from =
    query.fromMs === undefined || query.fromMs <= 0 ? undefined : `${Math.ceil(query.fromMs) - 1}-${LAST}`;
  const until = query.untilMs === undefined ? undefined : `${Math.max(0, Math.ceil(query.untilMs))}-0`;
  const cursor = query.after === '' ? undefined : query.after;
  const after = query.newestFirst === true ? from : laterOf(from, cursor);
  const before = query.newestFirst === true ? earlierOf(until, cursor) : until;
  return { ...(after !== undefined && { after }), ...(before !== undefined && { before }) };
}

/** Higher than the number of any entry within its millisecond. */
const LAST = Number.MAX_SAFE_INTEGER;

const laterOf = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && compareIds(a, b) < 0) ? b : a;
const earlierOf = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && compareIds(a, b) > 0) ? b : a;

/**
 * Whether a query for the newest entries ends before the first one. Redis would look at the whole stream to find
 * nothing, and stand still meanwhile: 0.3 s for a million entries.
 */
async function endsBeforeFirst(parts: RedisParts, query: JournalQuery): Promise<boolean> {
  const { before } = boundsOf(query);
  if (query.newestFirst !== true || before === undefined) return false;
  const { journal } = parts.keys.of(query.source);
  const [first] = readEntries(
    query.source,
    await parts.connection.call('xrange', [journal, '-', '+', 'COUNT', '1']),
  );
  return first === undefined || compareIds(before, first.id) <= 0;
}

function rangeOf(parts: RedisParts, query: JournalQuery): [command: string, args: string[]] {
  const { after, before } = boundsOf(query);
  const oldest = after === undefined ? '-' : `(${after}`;
  const newest = before === undefined ? '+' : `(${before}`;
  const { journal } = parts.keys.of(query.source);
  const limit = ['COUNT', String(query.limit)];
  return query.newestFirst === true
    ? ['xrevrange', [journal, newest, oldest, ...limit]]
    : ['xrange', [journal, oldest, newest, ...limit]];
}

/**
 * The ids of entries about a subject, which keeps its latest thousand. Ids from before the journal's first
 * entry are left out, because their entries no longer exist.
 */
async function idsAbout(parts: RedisParts, query: JournalQuery, subject: string): Promise<readonly string[]> {
  const keys = parts.keys.of(query.source);
  const [fields, oldest] = await Promise.all([
    readHash(parts.connection, `the subject ${subject}`, keys.subject(subject)),
    parts.connection.call('xrange', [keys.journal, '-', '+', 'COUNT', '1']),
  ]);
  const [first] = readEntries(query.source, oldest);
  const { after, before } = boundsOf(query);
  const ids = [...fields]
    .filter(([field]) => field.startsWith('e:'))
    .map(([, id]) => id)
    .filter((id) => first !== undefined && compareIds(id, first.id) >= 0)
    .filter((id) => after === undefined || compareIds(id, after) > 0)
    .filter((id) => before === undefined || compareIds(id, before) < 0)
    .sort(query.newestFirst === true ? (a, b) => compareIds(b, a) : compareIds);
  return ids.slice(0, query.limit);
}

// ---- entries and their ids ----

/** An id of a stream: milliseconds, and a number within that millisecond. */
const ID = /^(0|[1-9]\d{0,15})-(0|[1-9]\d{0,15})$/;

function isEntryId(id: string): boolean {
  return ID.test(id);
}

/** When the entry was written; NaN if the text is not an id. */
export function atMsOf(id: string): number {
  return Number(ID.exec(id)?.[1] ?? Number.NaN);
}

/** Negative if `a` was written before `b`. */
export function compareIds(a: string, b: string): number {
  return atMsOf(a) - atMsOf(b) || Number(ID.exec(a)?.[2]) - Number(ID.exec(b)?.[2]);
}

const entries = z.array(z.tuple([text, pairs]));
const types = z.enum(JOURNAL_TYPES);
const verdicts = z.enum(['SUCCESS', 'FAILURE', '']);

/**
 * Reads the reply to XRANGE as entries of the source's journal, without the results of claims if they are not to be
 * explained.
 */
function readEntries(source: string, reply: unknown, explained = true): JournalEntry[] {
  return parseReply(entries, `the journal of ${source}`, reply).map(([id, fields]) => {
    const field = (name: string): string => fields.get(name) ?? '';
    const verdict = parseReply(verdicts, `the verdict of entry ${id}`, fields.get('verdict'));
    // What most entries have is stored as the empty text: see journal.lua.
    const written = fields.get('type');
    const type = parseReply(types, `the type of entry ${id}`, written === '' ? 'decision' : written);
    const isApproval = verdict === 'SUCCESS' && (type === 'decision' || type === 'repeat');
    return {
      id,
      source,
      atMs: atMsOf(id),
      type,
      subject: field('subject'),
      verdict,
      code: field('code') || (isApproval ? 'APPROVED' : ''),
      revision: field('revision'),
      of: field('of'),
      claims: explained ? readClaims(field('claims')) : [],
      detail: field('detail'),
    };
  });
}
