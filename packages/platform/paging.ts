import { z } from 'zod';
import { hash } from 'node:crypto';
import type { IterationOptions, Records, UnreadableRecord } from './calls.ts';
import type { Connection } from './connection.ts';
import { PlatformError } from './error.ts';
import {
  type Operation,
  type PagedOperation,
  type Paging,
  type ParametersOf,
  type RecordOf,
  checkParameters,
  invalidAnswer,
  notSent,
} from './operation.ts';
import { request } from './request.ts';

/**
 * All records of an operation, one request a page. A record whose id comes again on a later page, because
 * records moved meanwhile, is given once. Equal records without an id are all given, unless their positions
 * prove that they are the same; so are records that can't be read, whose ids are not known. A range of time
 * that is too long for one request is read in parts.
 *
 * Throws PLATFORM_ANSWER_INVALID if a page repeats the earlier ones, if the pages moved and a record may have
 * been missed, or if there are fewer records than `count`.
 */
export function iterate<O extends PagedOperation>(
  connection: Connection,
  operation: O,
  parameters: ParametersOf<O>,
  options?: IterationOptions,
): Records<RecordOf<O> | UnreadableRecord>;
export function iterate(
  connection: Connection,
  operation: PagedOperation,
  parameters: Readonly<Record<string, unknown>>,
  options: IterationOptions = {},
): Records<unknown> {
  const paging: Paging<unknown, unknown> = operation.paging;
  const ranges = rangesOf(operation, paging, parameters, connection);
  const position = startOf(operation, options.cursor, ranges.length);

  async function* read(): AsyncGenerator {
    const seen = new Map<string, number>();
    const progress = { pages: 0, records: 0, total: undefined };
    const isWhole = ranges.length === 1;
    for (; position.range < ranges.length; Object.assign(position, FIRST, { range: position.range + 1 })) {
      const bounded = { ...parameters, ...ranges[position.range] };
      yield* readRange({
        connection,
        operation,
        paging,
        parameters: bounded,
        options,
        position,
        seen,
        progress,
        isWhole,
        previous: [],
      });
    }
  }

  return {
    get cursor() {
      return cursorOf(position);
    },
    async *[Symbol.asyncIterator]() {
      try {
        yield* read();
      } catch (thrown) {
        if (!(thrown instanceof PlatformError)) throw thrown;
        Object.assign(thrown, { data: { ...thrown.data, cursor: cursorOf(position) } });
        throw thrown;
      }
    },
  };
}

/**
 * Where an iteration is: earlier pages of the range had `received` records, `given` records of the page were
 * given or dropped, and `last` is the key of the last one. Of all these, `repeated` came again. The first page
 * of the range stated that there are `stated` records, or at least as many; -1 if it didn't.
 */
type Position = typeof FIRST;
const FIRST = { range: 0, page: 1, received: 0, given: 0, repeated: 0, stated: -1, last: '' };

interface Reading {
  readonly connection: Connection;
  readonly operation: PagedOperation;
  readonly paging: Paging<unknown, unknown>;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly options: IterationOptions;
  readonly position: Position;
  /** The keys of all records of earlier pages, with the last range that had them. */
  readonly seen: Map<string, number>;
  readonly progress: { pages: number; records: number; total: number | undefined };
  /** Whether there is one range, so that its count is that of all records. */
  readonly isWhole: boolean;
  /** The keys of the page before, in order. */
  previous: readonly string[];
}

async function* readRange(reading: Reading): AsyncGenerator {
  const { operation, paging, position, seen, progress, options, isWhole } = reading;
  for (;;) {
    const { data, records, keys, hasId } = await readPage(reading, position.page);
    const count = paging.count?.(data);
    const least = count ?? paging.least?.(data);
    const page = { page: position.page, keys, count, least, received: position.received + records.length };
    checkPage(operation, page, paging.key !== undefined);
    if (count !== undefined && progress.total !== undefined && count < progress.total && position.page > 1) {
      throw invalidAnswer(
        operation,
        `page ${position.page} states ${count} records after ${progress.total}, so one may have been missed; ` +
          'read all pages again',
      );
    }
    const repeatsAll = hasId.every(Boolean)
      ? keys.every((key) => seen.has(key))
      : isSame(keys, reading.previous);
    if (position.page > 1 && records.length > 0 && repeatsAll) {
      // Some platforms repeat their last page after it.
      if (count === undefined && least !== undefined && position.received >= least)
        return checkAll(operation, position, position.received);
      throw invalidAnswer(operation, `page ${position.page} only repeats records of earlier pages`);
    }

    const grown = count === undefined || progress.total === undefined ? 0 : count - progress.total;
    const cameBefore = keys.some((key, at) => hasId[at] === false && seen.has(key));
    const moved = cameBefore ? await movedRecords(reading, keys, grown) : 0;
    const isDropped = (key: string, at: number): boolean =>
      at < moved || (hasId[at] === true && seen.has(key));
    const isRepeated = (key: string, at: number): boolean =>
      at < moved || (hasId[at] === true && seen.get(key) === position.range);
    if (position.stated === -1) position.stated = least ?? -1;
    const begin = resumeAt(operation, position, keys);
    for (let at = begin; at < records.length; at++) {
      const key = keys[at] ?? '';
      position.given = at + 1;
      position.last = key;
      if (isRepeated(key, at)) position.repeated++;
      if (isDropped(key, at)) continue;
      progress.records++;
      yield records[at];
    }
    for (const key of keys) seen.set(key, position.range);
    reading.previous = keys;
    progress.pages++;
    progress.total = count;
    options.onPage?.({ ...progress, total: isWhole ? count : undefined });
    const { received } = page;
    if (isLast(reading, page)) return checkAll(operation, position, received);
    const { range, stated, repeated } = position;
    Object.assign(position, FIRST, { range, page: position.page + 1, stated, repeated, received });
  }
}

function checkAll(operation: Operation, { stated, repeated }: Position, received: number): void {
  const distinct = received - repeated;
  if (distinct >= stated) return;
  throw invalidAnswer(
    operation,
    `the pages have ${distinct} records, without those that came again, and the first page states ` +
      `${stated}: records moved, and one may have been missed; read all pages again`,
  );
}

async function readPage({ connection, operation, paging, parameters, options }: Reading, page: number) {
  const data = await request(connection, operation, { ...parameters, [paging.page]: String(page) }, options);
  const records = paging.records(data);
  const ids = records.map((record) => (isUnreadable(record) ? undefined : paging.key?.(record)));
  return {
    data,
    records,
    keys: records.map((record, at) => shortKey(ids[at] ?? JSON.stringify(record))),
    hasId: ids.map((id) => id !== undefined),
  };
}

export const isUnreadable = (record: unknown): record is UnreadableRecord =>
  typeof record === 'object' && record !== null && 'unreadable' in record;

const isSame = (keys: readonly string[], others: readonly string[]): boolean =>
  keys.length === others.length && keys.every((key, at) => key === others[at]);

/**
 * How many records at the beginning of a page are those at the end of the page before, which moved. Records
 * that are only equal have no id that says it, so the page before is read again: if it is unchanged, nothing
 * moved. If it has changed, as many records moved as `count` has grown by, or else what moved is unknown.
 */
async function movedRecords(reading: Reading, keys: readonly string[], grown: number): Promise<number> {
  const { operation, position, previous } = reading;
  if (previous.length === 0) return 0;
  const again = await readPage(reading, position.page - 1);
  if (isSame(again.keys, previous)) return 0;
  if (grown > 0 && grown <= keys.length && isSame(keys.slice(0, grown), previous.slice(-grown))) return grown;
  throw invalidAnswer(
    operation,
    `page ${position.page} has records of earlier pages, and page ${position.page - 1} has changed since it ` +
      'was read: records moved, so that one may have been missed; read all pages again',
  );
}

/** A page that was read. `received` counts its records and those of earlier pages. */
interface Page {
  readonly page: number;
  readonly keys: readonly string[];
  readonly count: number | undefined;
  /** How many records there are at least, by the count or by what the operation has in its place. */
  readonly least: number | undefined;
  readonly received: number;
}

/** A short page is the last one only if the maximum of a page is documented, and there is no count. */
function isLast({ paging, parameters }: Reading, { keys, count, least, received }: Page): boolean {
  if (keys.length === 0) return true;
  if (least !== undefined) return count !== undefined && received >= count;
  return paging.size !== undefined && keys.length < Number(parameters[paging.size]);
}

function checkPage(
  operation: Operation,
  { page, keys, count, least, received }: Page,
  hasIds: boolean,
): void {
  if (count !== undefined && keys.length > count) {
    throw invalidAnswer(operation, `page ${page} has ${keys.length} records, but count is ${count}`);
  }
  if (!hasIds && count !== undefined && received > count) {
    throw invalidAnswer(operation, `page ${page} ends at record ${received}, but count is ${count}`);
  }
  if (least !== undefined && keys.length === 0 && received < least) {
    const stated = count === undefined ? `there are at least ${least}` : `count is ${count}`;
    throw invalidAnswer(
      operation,
      `page ${page} is empty after ${received} records, but ${stated}; records may have moved`,
    );
  }
}

/** The first record of the page that was not given. */
function resumeAt(operation: Operation, { page, given, last }: Position, keys: readonly string[]): number {
  if (given === 0) return 0;
  if (keys[given - 1] === last) return given;
  const at = keys.lastIndexOf(last);
  if (at !== -1) return at + 1;
  throw invalidAnswer(
    operation,
    `page ${page} no longer contains the record of the cursor, because records moved; start without cursor`,
  );
}

/** 72 bits, so that a million records have no two equal keys by chance. */
function shortKey(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, 12);
}

const cursorForm = z.tuple([
  z.int().min(0),
  z.int().min(1),
  z.int().min(0),
  z.int().min(0),
  z.int().min(0),
  z.int().min(-1),
  z.string().regex(/^(?:[\w-]{12})?$/),
]);

function cursorOf(position: Position): string {
  return Buffer.from(JSON.stringify(Object.values(position))).toString('base64url');
}

function startOf(operation: Operation, cursor: string | undefined, ranges: number): Position {
  if (cursor === undefined) return { ...FIRST };
  const { data } = cursorForm.safeParse(jsonOf(Buffer.from(cursor, 'base64url').toString()));
  if (data !== undefined) {
    const [range, page, received, given, repeated, stated, last] = data;
    if (range <= ranges && (given === 0) === (last === ''))
      return { range, page, received, given, repeated, stated, last };
  }
  throw notSent('PLATFORM_PARAMETER', operation, 'the cursor is not one of this operation', {
    fix: 'use the cursor of an iteration with the same parameters, or start without one',
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The parameters of each part. A range of time is split where it is too long. The parts share their bounds,
 * because the specification doesn't say whether bounds are inclusive; what comes twice is given once.
 */
function rangesOf(
  operation: Operation,
  { page, size, range }: Paging<unknown, unknown>,
  parameters: Readonly<Record<string, unknown>>,
  { clock }: Connection,
): readonly Readonly<Record<string, string>>[] {
  if (parameters[page] !== undefined) {
    const fix = `leave ${page} out, or read one page`;
    throw notSent('PLATFORM_PARAMETER', operation, `${page} is given, but all pages are read`, { fix });
  }
  // One part is checked here; each of the others has the same parameters and other bounds.
  const boundless = range === undefined ? operation : { ...operation, check: () => undefined };
  const checked = checkParameters(boundless, parameters, clock());
  const sized = size === undefined ? {} : { [size]: checked.get(size) ?? '' };
  if (range === undefined) return [sized];
  const [startMs, endMs] = [Number(checked.get(range.start)), Number(checked.get(range.end))];
  if (endMs - startMs <= range.mostMs) return [sized];
  const parts: Readonly<Record<string, string>>[] = [];
  for (let fromMs = startMs; fromMs < endMs; fromMs += range.mostMs) {
    const toMs = Math.min(fromMs + range.mostMs, endMs);
    parts.push({ ...sized, [range.start]: String(fromMs), [range.end]: String(toMs) });
  }
  return parts;
}
