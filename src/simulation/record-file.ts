import { closeSync, fstatSync, openSync } from 'node:fs';
import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import { JOURNAL_TYPES } from '../store/store.ts';
import { parseAmount } from '../values/amount.ts';
import { type Run, findRuns, linesOf } from './file-runs.ts';
import { type ProposalApart, readApart } from './proposal-apart.ts';
import type { RecordItem, RecordedPrices } from './record.ts';
import { formatSchemaError } from '../values/schema-error.ts';

/**
 * The record in a file of JSON Lines, as `decisions export` writes it: source after source, or several
 * exports one after the other. It is read in order of time, what is there twice once, with bounded memory,
 * for as long as it is iterated. Throws USAGE, with the line, for a file that can't be read.
 */
export function* readRecordFile(
  path: string,
  progress: (part: number) => void = () => undefined,
): Generator<RecordItem> {
  for (const { item } of readRecordLines(path, progress)) yield item;
}

/** The same, each item with the number of its line. */
export function* readRecordLines(
  path: string,
  progress: (part: number) => void = () => undefined,
): Generator<{ readonly item: RecordItem; readonly line: number }> {
  const file = open(path);
  try {
    const { size } = fstatSync(file);
    let done = 0;
    const heads = findRuns(file, path).map((run, order) => headOf(readRun(file, path, run), order));
    let seen = new Set<string>();
    let nowMs = -1;
    for (;;) {
      const head = heads.reduce<Head | undefined>(earlier, undefined);
      const next = head?.next;
      if (head === undefined || next === undefined) return;
      if (next.item.atMs !== nowMs) [seen, nowMs] = [new Set(), next.item.atMs];
      const { item } = next;
      const name = item.type === 'prices' ? `prices ${item.version}` : `${item.source} ${item.id}`;
      if (!seen.has(name)) yield { item, line: next.line };
      seen.add(name);
      done += next.bytes;
      progress(done / size);
      advance(head);
    }
  } finally {
    closeSync(file);
  }
}

interface Read {
  readonly item: RecordItem;
  readonly line: number;
  readonly bytes: number;
}

interface Head {
  next: Read | undefined;
  readonly rest: Iterator<Read>;
  readonly order: number;
}

function headOf(rest: Iterator<Read>, order: number): Head {
  const head: Head = { next: undefined, rest, order };
  advance(head);
  return head;
}

function advance(head: Head): void {
  const next = head.rest.next();
  head.next = next.done === true ? undefined : next.value;
}

/** The earlier of two; prices before entries, then as they stand in the file. */
function earlier(a: Head | undefined, b: Head): Head | undefined {
  if (b.next === undefined) return a;
  if (a?.next === undefined) return b;
  const [one, other] = [a.next.item, b.next.item];
  if (one.atMs !== other.atMs) return one.atMs < other.atMs ? a : b;
  return other.type === 'prices' && one.type !== 'prices' ? b : a;
}

function* readRun(file: number, path: string, run: Run): Generator<Read> {
  for (const { text, line, bytes } of linesOf(file, run)) {
    const item = itemOf(text);
    if (typeof item === 'string') throw wrongLine(path, line, item);
    yield { item, line, bytes };
  }
}

const entryShape = z.object({
  id: z.string(),
  source: z.string(),
  atMs: z.int(),
  type: z.enum(JOURNAL_TYPES),
  subject: z.string(),
  verdict: z.enum(['SUCCESS', 'FAILURE', '']),
  code: z.string(),
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

/** One line; or what is wrong with it. */
function itemOf(text: string): RecordItem | string {
  let apart: ProposalApart;
  try {
    apart = readApart(text);
  } catch (thrown) {
    return messageOf(thrown);
  }
  const { rest: written, proposal, prices } = apart;
  const isPrices =
    typeof written === 'object' && written !== null && 'type' in written && written.type === 'prices';
  const read = isPrices ? pricesShape.safeParse(written) : entryShape.safeParse(written);
  if (read.success) return read.data.type === 'prices' ? read.data : { ...read.data, proposal, prices };
  return formatSchemaError(read.error, written);
}

function wrongLine(path: string, line: number, why: string): CountersignError {
  return new CountersignError(
    'USAGE',
    `line ${line} of ${path} is no entry of the journal (${why}); make the file with \`countersign decisions export\``,
    { file: path, line },
  );
}

function open(path: string): number {
  try {
    const file = openSync(path, 'r');
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
    throw new Error('it is no plain file');
  } catch (thrown) {
    throw new CountersignError(
      'USAGE',
      `${path} can't be read: ${messageOf(thrown)}; name a file that \`countersign decisions export\` made`,
    );
  }
}
