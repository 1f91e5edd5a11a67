import { z } from 'zod';
import { JOURNAL_TYPES, type JournalEntry } from '../store/store.ts';
import { sha256Hex } from '../values/canonical.ts';

/**
 * A file of an archive is JSON Lines: a header, one line for each entry, a footer. Each line ends with
 * `previous`, the hash of the line before, and `hash`, the SHA-256 of its own text without the member `hash`.
 * The `previous` of a header is the hash of the footer of the file before. So all entries of a source are one
 * chain.
 */
const FORMAT = 1;
/** The `previous` of the first line of a source's first file. */
export const FIRST_PREVIOUS = '0'.repeat(64);

export interface ChainedLine {
  readonly line: string;
  readonly hash: string;
}

export function chainLine(members: object, previous: string): ChainedLine {
  const text = JSON.stringify({ ...members, previous });
  const hash = sha256Hex(text);
  return { line: `${text.slice(0, -1)},"hash":"${hash}"}`, hash };
}

export const header = (source: string, file: number): object => ({
  archive: 'countersign-journal',
  format: FORMAT,
  source,
  file,
});

/** Which entries a file has. */
export interface Extent {
  readonly entries: number;
  readonly firstId: string;
  readonly lastId: string;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

export const footer = ({ entries, firstId, lastId, firstAtMs, lastAtMs }: Extent): object => ({
  end: 'countersign-journal',
  entries,
  firstId,
  lastId,
  firstAtMs,
  lastAtMs,
});

/** Adds an entry at the end of an extent. */
export function extendExtent(
  extent: Extent | undefined,
  { id, atMs }: Pick<JournalEntry, 'id' | 'atMs'>,
): Extent {
  return {
    entries: (extent?.entries ?? 0) + 1,
    firstId: extent?.firstId ?? id,
    lastId: id,
    firstAtMs: extent?.firstAtMs ?? atMs,
    lastAtMs: atMs,
  };
}

/** The members of an entry, in the order of the file. */
export function entryMembers(entry: ArchivedEntry): ArchivedEntry {
  const { id, source, atMs, type, subject, verdict, code, revision, of, claims, detail } = entry;
  return { id, source, atMs, type, subject, verdict, code, revision, of, claims, detail };
}

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const id = z.string().regex(/^\d{1,16}(?:-\d{1,16})?$/);
const atMs = z.int().nonnegative();
const links = { previous: hash, hash };

const entryShape = z.strictObject({
  id,
  source: z.string(),
  atMs,
  type: z.enum(JOURNAL_TYPES),
  subject: z.string(),
  verdict: z.enum(['SUCCESS', 'FAILURE', '']),
  code: z.string(),
  revision: z.string(),
  of: z.string(),
  claims: z.array(z.record(z.string(), z.unknown())),
  detail: z.string(),
});

export type ArchivedEntry = Readonly<z.output<typeof entryShape>>;

/** The three kinds of lines. */
export const lineShapes = {
  header: z.strictObject({
    archive: z.literal('countersign-journal'),
    format: z.literal(FORMAT),
    source: z.string(),
    file: z.int().positive(),
    ...links,
  }),
  entry: entryShape.extend(links),
  footer: z.strictObject({
    end: z.literal('countersign-journal'),
    entries: z.int().positive(),
    firstId: id,
    lastId: id,
    firstAtMs: atMs,
    lastAtMs: atMs,
    ...links,
  }),
} as const;

/**
 * Whether the entry with the id `a` was written before the entry with the id `b`. An id is a number, or two
 * numbers with a dash between.
 */
export function isBefore(a: string, b: string): boolean {
  const [[first = 0n, second = 0n], [otherFirst = 0n, otherSecond = 0n]] = [numbersOf(a), numbersOf(b)];
  return first === otherFirst ? second < otherSecond : first < otherFirst;
}

const numbersOf = (text: string): readonly bigint[] => text.split('-').map(BigInt);
