import { z } from 'zod';
import { entryId } from '../journal/exported.ts';
import type { JournalEntry } from '../store/store.ts';
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

const LINKED = /^(.*),"previous":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}$/s;

/** Undefined for a text that does not end with the two hashes. `text` is the JSON of the other members. */
export function unchainLine(
  line: string,
):
  | { readonly text: string; readonly previous: string; readonly hash: string; readonly isIntact: boolean }
  | undefined {
  const [, members, previous, hash] = LINKED.exec(line) ?? [];
  if (members === undefined || previous === undefined || hash === undefined) return undefined;
  const isIntact = sha256Hex(`${members},"previous":"${previous}"}`) === hash;
  return { text: `${members}}`, previous, hash, isIntact };
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

const atMs = z.int().nonnegative();

export const headerShape = z.strictObject({
  archive: z.literal('countersign-journal'),
  format: z.literal(FORMAT),
  source: z.string(),
  file: z.int().positive(),
});

export const footerShape = z.strictObject({
  end: z.literal('countersign-journal'),
  entries: z.int().positive(),
  firstId: entryId,
  lastId: entryId,
  firstAtMs: atMs,
  lastAtMs: atMs,
});

/**
 * Whether the entry with the id `a` was written before the entry with the id `b`. An id is a number, or two
 * numbers with a dash between.
 */
export function isBefore(a: string, b: string): boolean {
  const [[first = 0n, second = 0n], [otherFirst = 0n, otherSecond = 0n]] = [numbersOf(a), numbersOf(b)];
  return first === otherFirst ? second < otherSecond : first < otherFirst;
}

const numbersOf = (text: string): readonly bigint[] => text.split('-').map(BigInt);
