import { usageError } from '../../errors.ts';
import { PRICES, exportEnd, exportedItem } from '../../journal/exported.ts';
import { type RecordQuery, readStoreRecord } from '../../journal/record.ts';
import type { Store } from '../../store/store.ts';
import { printableJson } from '../../values/printable.ts';
import type { Call, CommandRow } from '../command.ts';
import { durationOf, periodOf, periodOptions } from '../period.ts';
import { counted } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import { entryId } from './decisions.ts';
import { type ExportFile, openExportFile } from './export-file.ts';

const DRAIN_EVERY = 100;
const PROGRESS_EVERY = 1000;

export const decisionsExport: CommandRow = {
  path: 'decisions export',
  summary: 'Write the journal and the changes of prices as JSON Lines, one entry a line, ordered by time.',
  example:
    'decisions export --since 7d --warm-up 24h > decisions.jsonl\n' +
    'decisions export --to /var/lib/countersign/decisions.jsonl\n' +
    'decisions export --source shop --after 1017 >> decisions.jsonl',
  define: (command) =>
    periodOptions(sourceOption(command))
      .option('--to <file>', 'append to this file and continue where it ends; safe to interrupt and repeat')
      .option('--after <id>', 'only entries after this one of the source, to continue on standard output')
      .option(
        '--warm-up <duration>',
        'with --since: also all entries of this time before, for limits over a window (30s, 15m, 24h, 7d)',
      )
      .option('--no-state', 'with --since: leave out earlier changes of lists, orders and prices')
      .option('--limit <number>', 'at most this many lines')
      .option('--end-line', 'end with a line that says up to when the export is complete, for `reconcile`')
      .addHelpText(
        'after',
        `
The command exports what was written before it began. With --since, earlier changes of lists, orders and
prices come first, so that \`policy backtest\` knows the state at that time.

A limit over 24 hours also counts decisions of the 24 hours before --since. Give --warm-up 24h to export
them, and give the backtest the same --since.

Don't join several exports into one file: \`policy backtest\` and \`replay\` refuse it. Use --to to continue
a file.`,
      ),
  async run(session, call) {
    const path = call.option('to');
    const file = path === undefined ? undefined : openExportFile(path);
    try {
      const store = await session.store();
      const { query, endMs } = await queryOf(session, call, store, file);
      if (file?.removeIncompleteLine() === true)
        session.report('The last line was incomplete. It is written again.');
      const count = await write(session, call, { store, query, file, endMs });
      if (file !== undefined)
        session.print(`${counted(count, 'line')} appended to ${path}`, { lines: count, to: path });
      return 0;
    } finally {
      file?.close();
    }
  },
};

interface Export {
  readonly store: Store;
  readonly query: RecordQuery;
  /** Undefined for standard output. */
  readonly file: ExportFile | undefined;
  /** Up to when the export has the entries of each source. */
  readonly endMs: ReadonlyMap<string, number>;
}

async function write(session: Session, call: Call, exporting: Export): Promise<number> {
  const { store, query, file, endMs } = exporting;
  const limit = call.count('limit', { least: 1, most: 999_999_999 }) ?? Infinity;
  const sizes = await Promise.all(query.sources.map(({ source }) => store.journalSize(source)));
  const size = sizes.reduce((sum, each) => sum + each, 0);
  let [count, read] = [0, 0];
  const entryRead = (): void => {
    if (++read % PROGRESS_EVERY === 0) session.progress(`${count} lines, from ${read} of ${size} entries`);
  };
  const writeLine = (json: object): void => {
    if (file === undefined) session.print(printableJson(json), json);
    else file.write(JSON.stringify(json));
  };
  let isWhole = true;
  for await (const item of readStoreRecord(store, { ...query, entryRead })) {
    isWhole = count < limit;
    if (!isWhole) break;
    writeLine(exportedItem(item));
    if (++count % DRAIN_EVERY === 0) await session.drained();
  }
  if (isWhole && call.flag('endLine')) writeLine(exportEnd(endMs));
  file?.finish();
  session.progress('');
  await session.drained();
  return count;
}

async function queryOf(
  session: Session,
  call: Call,
  store: Store,
  file: ExportFile | undefined,
): Promise<Pick<Export, 'query' | 'endMs'>> {
  const period = periodOf(call, session.clock());
  const fromMs = startOf(call, period.fromMs);
  // More entries may follow in this millisecond. The next run continues after the last entry of each source.
  const { nowMs } = await store.health();
  const untilMs = Math.min(period.untilMs ?? Infinity, nowMs + 1);
  const sources = chosenSources(session, call);
  const base = { fromMs, untilMs, state: call.flag('state') };
  const endMs = new Map(sources.map((source) => [source, Math.min(untilMs, nowMs)]));
  const after = call.option('after');
  if (file !== undefined) {
    if (after !== undefined) {
      throw usageError('--to continues where the file ends. Leave --after out');
    }
    const { lost, ...continued } = await continueFile(session, store, sources, file, fromMs);
    lost.forEach((source) => endMs.delete(source));
    return { query: { ...base, ...continued }, endMs };
  }
  if (after === undefined)
    return { query: { ...base, sources: sources.map((source) => ({ source })) }, endMs };
  const [source, ...others] = sources;
  if (source === undefined || others.length > 0) {
    throw usageError(`--after names an entry of one source. Add --source with one of ${sources.join(', ')}`);
  }
  const { id } = entryId(session, call, after);
  // Changes of prices in the millisecond of the entry may be exported twice, but none is missing. Readers
  // skip the second copy.
  const pricesFromMs = (await store.entry(source, id))?.atMs ?? 0;
  const query = { ...base, sources: [{ source, after: id }], prices: { after: 0, fromMs: pricesFromMs } };
  return { query, endMs };
}

/** The instant of `--since`, or the time of `--warm-up` before it. */
function startOf(call: Call, fromMs: number | undefined): number | undefined {
  const warmUp = call.option('warmUp');
  if (warmUp === undefined) return fromMs;
  if (fromMs === undefined) {
    throw usageError('--warm-up is a time before --since. Give --since as well');
  }
  const warmUpMs = durationOf(warmUp);
  if (warmUpMs !== undefined) return fromMs - warmUpMs;
  throw usageError(`--warm-up ${warmUp} is not a duration. Write one such as 15m, 24h or 7d`);
}

/**
 * Continues where the file ends. If `--since` is now later than the end of the file, the entries between the
 * two are exported as well. `lost`: the sources of which entries may be missing in the file.
 */
async function continueFile(
  session: Session,
  store: Store,
  sources: readonly string[],
  { ends, hasDecisions, lastMs }: ExportFile,
  fromMs: number | undefined,
): Promise<Pick<RecordQuery, 'sources' | 'prices' | 'fromMs'> & { readonly lost: readonly string[] }> {
  const lost: string[] = [];
  for (const source of sources) {
    const end = ends.get(source);
    if (end === undefined) continue;
    const entry = await store.entry(source, end.id);
    if (entry === undefined) {
      lost.push(source);
      session.report(
        `The journal no longer has ${source}/${end.id}, the last entry of the file: it expired, or ` +
          '`journal archive` moved it. Entries soon after it may be missing in the file. If they ' +
          'are in the archive, `countersign journal export` prints them.',
      );
    } else if (entry.atMs !== end.atMs) {
      throw usageError(
        `the file ends with ${source}/${end.id} at another time than in the journal, so it is of ` +
          'another store. Name another file',
      );
    }
  }
  return {
    lost,
    sources: sources.map((source) => ({ source, after: ends.get(source)?.id ?? '' })),
    prices: { after: Number(ends.get(PRICES)?.id.slice(1) ?? 0), fromMs: 0 },
    fromMs: fromMs === undefined || !hasDecisions ? fromMs : Math.min(fromMs, lastMs),
  };
}
