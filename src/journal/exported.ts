import { z } from 'zod';
import { claimResults, resultToJson } from '../claims/claims.ts';
import { amountText } from '../claims/kind.ts';
import { messageOf } from '../errors.ts';
import { JOURNAL_TYPES, type JournalEntry, type PriceHistoryEntry } from '../store/store.ts';
import { formatAmount, parseAmount } from '../values/amount.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { isoTime, jsonOrText } from '../values/text.ts';
import { type RecordItem, isPriceChange } from './record.ts';

/*
 * The journal as JSON: a line for each entry. Exports (`decisions export`, `journal export`) also have changes
 * of the prices, and an end line that says up to when the export is complete. In archives, the detail is the
 * explained text, and each line has the hash of the line before: see src/archive/line.ts.
 */

// ---- writing ----

/** An entry with its members in the order of exports and archives. It begins with id, source and time. */
export function entryJson(entry: JournalEntry) {
  const { id, source, atMs, type, subject, verdict, code, revision, of, claims, detail } = entry;
  const results = claims.map(resultToJson);
  return { id, source, atMs, type, subject, verdict, code, revision, of, claims: results, detail };
}

/** The line of an entry in an export, with the detail as JSON. */
export const exportedEntry = (entry: JournalEntry) => ({
  ...entryJson(entry),
  detail: jsonOrText(entry.detail),
});

/** In place of a source: changes of prices belong to none. */
export const PRICES = '';

export function exportedItem(item: RecordItem): object {
  if (!isPriceChange(item)) return exportedEntry(item);
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

/** A number, or two numbers with a dash between. */
export const entryId = z.string().regex(/^\d{1,16}(?:-\d{1,16})?$/);

/** An entry in an export or an archive. */
export const entryShape = z.object({
  id: entryId,
  source: z.string(),
  atMs: z.int().nonnegative(),
  type: z.enum(JOURNAL_TYPES),
  subject: z.string(),
  verdict: z.enum(['SUCCESS', 'FAILURE', '']),
  code: z.string(),
  revision: z.string(),
  of: z.string(),
  claims: claimResults(amountText),
  detail: z
    .unknown()
    .refine((detail) => detail !== undefined)
    .transform((detail) => (typeof detail === 'string' ? detail : JSON.stringify(detail))),
}) satisfies z.ZodType<JournalEntry>;

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
    detail: z.object({
      version: z.int(),
      set: z.array(price),
      remove: z.array(z.string()),
      by: z.string(),
    }),
  })
  .transform(({ atMs, detail }): PriceHistoryEntry => ({ atMs, ...detail }));

const typeShape = z.object({ type: z.unknown() });

/** The item or the end of a line, or a sentence that says what is wrong with it. */
export function readExported(text: string): RecordItem | ExportEnd | string {
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch (thrown) {
    return messageOf(thrown);
  }
  if (isExportEnd(text)) return readAs(endShape, written);
  const isPrices = typeShape.safeParse(written).data?.type === 'prices';
  return readAs<RecordItem>(isPrices ? pricesShape : entryShape, written);
}

function readAs<T>(shape: z.ZodType<T>, written: unknown): T | string {
  const read = shape.safeParse(written);
  return read.success ? read.data : formatSchemaError(read.error, written);
}
