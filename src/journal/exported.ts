import { z } from 'zod';
import { resultToJson } from '../claims/claims.ts';
import { messageOf } from '../errors.ts';
import { isPriceChange } from '../store/record.ts';
import { JOURNAL_TYPES, type JournalEntry, type PriceHistoryEntry } from '../store/store.ts';
import { formatAmount, parseAmount } from '../values/amount.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { isoTime, jsonOrText } from '../values/text.ts';
import { type RecordItem, type RecordedPrices, type SplitProposal, splitProposal } from './recorded.ts';

/*
 * The exported form of the journal, which `decisions export` and `journal export` write: JSON Lines, with an
 * entry or a change of the prices on each line. An end line says up to when the export is complete.
 */

// ---- writing ----

/** An entry with its members in the order of exports and archives. Amounts are decimal text. */
export function entryJson(entry: JournalEntry) {
  const { id, source, atMs, type, subject, verdict, code, revision, of, claims, detail } = entry;
  const results = claims.map(resultToJson);
  return { id, source, atMs, type, subject, verdict, code, revision, of, claims: results, detail };
}

/** The line of an entry. It begins with id, source and time, so that these can be read without the rest. */
export const exportedEntry = <E extends { readonly detail: string }>(entry: E) => ({
  ...entry,
  detail: jsonOrText(entry.detail),
});

/** In place of a source: changes of prices belong to none. */
export const PRICES = '';

export function exportedItem(item: JournalEntry | PriceHistoryEntry): object {
  if (!isPriceChange(item)) return exportedEntry(entryJson(item));
  const { version, atMs, set, remove, by } = item;
  const prices = set.map(({ asset, price, asOfMs }) => ({
    asset,
    price: formatAmount(price),
    asOf: isoTime(asOfMs),
  }));
  const detail = { version, set: prices, remove, by };
  return { id: `v${version}`, source: PRICES, atMs, type: 'prices', detail };
}

// ---- the end line ----

const END_BEGINNING = '{"end":';

const endShape = z.strictObject({
  end: z.literal('countersign-export'),
  /** For each source: every entry before this instant is above the line, unless the export left it out. */
  untilMs: z.record(z.string(), z.int()),
});

/** The line of an export that says up to when it is complete, so that a cut is noticed. */
export type ExportEnd = Readonly<z.output<typeof endShape>>;

export const exportEnd = (untilMs: ReadonlyMap<string, number>): ExportEnd => ({
  end: 'countersign-export',
  untilMs: Object.fromEntries(untilMs),
});

/** Whether a line is an end line, which has no entry. It need not be the last one: exports are continued. */
export const isExportEnd = (line: string): boolean => line.startsWith(END_BEGINNING);

// ---- the beginning of a line ----

const BEGINNING = '{"id":"';
const LINE_BEGINNING = /^\{"id":"([^"\\]*)","source":"([^"\\]*)","atMs":(\d{1,16}),/;

/** Where a line stands among the others. Changes of prices have {@link PRICES} for a source. */
export interface LineOrder {
  readonly source: string;
  readonly atMs: number;
}

/** The first members of an exported line, and the rest of it; undefined for any other text. */
export function lineBeginning(
  text: string,
): (LineOrder & { readonly id: string; readonly rest: string }) | undefined {
  const [beginning, id, source, time] = LINE_BEGINNING.exec(text) ?? [];
  if (beginning === undefined || id === undefined || source === undefined) return undefined;
  return { id, source, atMs: Number(time), rest: text.slice(beginning.length) };
}

/** Whether a text that was cut off can be the beginning of an exported line. */
export function mayBeginLine(text: string): boolean {
  return [BEGINNING, END_BEGINNING].some(
    (beginning) => beginning.startsWith(text) || text.startsWith(beginning),
  );
}

/**
 * Makes a check that is false for the first line at which a source goes back in time. One export never does,
 * so the file has several. Changes of prices may: an export with `--after` repeats some.
 */
export function createOrderCheck(): (line: LineOrder) => boolean {
  const lastMsOf = new Map<string, number>();
  return ({ source, atMs }) => {
    if (source === PRICES) return true;
    if (atMs < (lastMsOf.get(source) ?? 0)) return false;
    lastMsOf.set(source, atMs);
    return true;
  };
}

// ---- reading ----

const entryShape = z.object({
  id: z.string(),
  source: z.string(),
  atMs: z.int(),
  type: z.enum(JOURNAL_TYPES),
  subject: z.string(),
  verdict: z.enum(['SUCCESS', 'FAILURE', '']),
  code: z.string(),
  of: z.string(),
  claims: z.unknown(),
  detail: z.unknown(),
});

const price = z
  .object({
    asset: z.string(),
    price: z
      .string()
      .refine((text) => (parseAmount(text) ?? 0n) > 0n, 'not a price')
      .transform((text) => parseAmount(text) ?? 0n),
    asOf: z.iso.datetime(),
  })
  .transform(({ asOf, ...rest }) => ({ ...rest, asOfMs: Date.parse(asOf) }));

const pricesShape = z
  .object({
    type: z.literal('prices'),
    atMs: z.int(),
    detail: z.object({ version: z.int(), set: z.array(price), remove: z.array(z.string()) }),
  })
  .transform(({ type, atMs, detail }): RecordedPrices => ({ type, atMs, ...detail }));

const typeShape = z.object({ type: z.unknown() });

/** The item or the end of a line, or a sentence that says what is wrong with it. */
export function readExported(text: string): RecordItem | ExportEnd | string {
  let split: SplitProposal;
  try {
    split = splitProposal(text);
  } catch (thrown) {
    return messageOf(thrown);
  }
  const { rest: written, proposal, prices } = split;
  if (isExportEnd(text)) return readAs(endShape, written);
  if (typeShape.safeParse(written).data?.type === 'prices') return readAs(pricesShape, written);
  const entry = readAs(entryShape, written);
  return typeof entry === 'string' ? entry : { ...entry, proposal, prices };
}

function readAs<T>(shape: z.ZodType<T>, written: unknown): T | string {
  const read = shape.safeParse(written);
  return read.success ? read.data : formatSchemaError(read.error, written);
}
