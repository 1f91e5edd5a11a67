import { CountersignError } from '../../errors.ts';
import type { Store } from '../../store/store.ts';
import { printableJson } from '../../values/printable.ts';
import type { Call, CommandRow } from '../command.ts';
import { entryId } from './show.ts';
import { counted } from '../print.ts';
import { type RecordQuery, recordLines } from './record-lines.ts';
import { type RecordOutput, openRecordOutput } from './record-output.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import { periodOf, periodOptions, readTime } from '../period.ts';

const DRAIN_EVERY = 100;
const PROGRESS_EVERY = 1000;
/** The name under which an output knows the changes of prices, which are of no source. */
const PRICES = '';

export const decisionsExport: CommandRow = {
  path: 'decisions export',
  summary: 'The journal as JSON Lines, an entry a line, of all sources by time, with the changes of prices.',
  example:
    'decisions export --since 7d --warm-up 24h > decisions.jsonl\ndecisions export --to /var/lib/countersign/decisions.jsonl\ndecisions export --source shop --after 1017 >> decisions.jsonl',
  define: (command) =>
    periodOptions(sourceOption(command))
      .option('--to <file>', 'append to this file, from where it ends; can be killed and run again')
      .option('--after <id>', 'only what follows this entry of the source, to resume on standard output')
      .option(
        '--warm-up <duration>',
        'with --since: also all entries from so long before, for limits over a window (30s, 15m, 24h, 7d)',
      )
      .option('--no-state', 'with --since: leave out the changes of lists, orders and prices from before')
      .option('--limit <number>', 'at most so many lines')
      .addHelpText(
        'after',
        `
What was written before the command began is exported. With --since, changes of lists, orders and prices from before come
first, so that \`policy backtest\` knows what stood then. A limit over 24 hours also counts decisions of the 24 hours before:
give --warm-up 24h, and to the backtest the same --since.`,
      ),
  async run(session, call) {
    const path = call.option('to');
    const output = path === undefined ? undefined : openRecordOutput(path);
    try {
      const store = await session.store();
      const query = await queryOf(session, call, store, output);
      if (output?.mend() === true) session.report('The last line was unfinished; it is written again.');
      const count = await write(session, call, { store, query, output });
      if (output !== undefined)
        session.print(`${counted(count, 'line')} appended to ${path}`, { lines: count, to: path });
      return 0;
    } finally {
      output?.close();
    }
  },
};

async function write(
  session: Session,
  call: Call,
  {
    store,
    query,
    output,
  }: { readonly store: Store; readonly query: RecordQuery; readonly output: RecordOutput | undefined },
): Promise<number> {
  const limit = call.count('limit', { least: 1, most: 999_999_999 }) ?? Infinity;
  const sizes = await Promise.all(query.sources.map(({ source }) => store.journalSize(source)));
  const size = sizes.reduce((sum, each) => sum + each, 0);
  let [count, looked] = [0, 0];
  const progress = (): void => session.progress(`${count} lines, from ${looked} of ${size} entries`);
  const lines = recordLines(store, {
    ...query,
    looked: () => (++looked % PROGRESS_EVERY === 0 ? progress() : undefined),
  });
  for await (const { json } of lines) {
    if (count === limit) break;
    if (output === undefined) session.print(printableJson(json), json);
    else output.write(JSON.stringify(json));
    if (++count % DRAIN_EVERY === 0) await session.drained();
  }
  output?.finish();
  session.progress('');
  await session.drained();
  return count;
}

async function queryOf(
  session: Session,
  call: Call,
  store: Store,
  output: RecordOutput | undefined,
): Promise<RecordQuery> {
  const period = periodOf(call, session.clock());
  const fromMs = warmedUp(call, period.fromMs, session.clock());
  // Of this very millisecond more may come; each source goes on after its own last entry.
  const untilMs = Math.min(period.untilMs ?? Infinity, (await store.health()).nowMs + 1);
  const sources = chosenSources(session, call);
  const base = { fromMs, untilMs, state: call.flag('state') };
  if (output !== undefined) {
    if (call.option('after') !== undefined) {
      throw new CountersignError('USAGE', '--to goes on by itself where the file ends; leave --after out');
    }
    return { ...base, ...(await resumed(session, store, sources, output, fromMs)) };
  }
  const after = call.option('after');
  if (after === undefined) {
    return {
      ...base,
      sources: sources.map((source) => ({ source, after: '' })),
      prices: { after: 0, fromMs: 0 },
    };
  }
  const [source, ...others] = sources;
  if (source === undefined || others.length > 0) {
    throw new CountersignError(
      'USAGE',
      `--after is about one source; add --source with one of ${sources.join(', ')}`,
    );
  }
  const { id } = entryId(session, call, after);
  // Changes of prices in the millisecond of the entry come once more rather than never; a reader takes each
  // once.
  const pricesFromMs = (await store.entry(source, id))?.atMs ?? 0;
  return { ...base, sources: [{ source, after: id }], prices: { after: 0, fromMs: pricesFromMs } };
}

/** `--since`, or by `--warm-up` so long before. */
function warmedUp(call: Call, fromMs: number | undefined, nowMs: number): number | undefined {
  const warmUp = call.option('warmUp');
  if (warmUp === undefined) return fromMs;
  if (fromMs === undefined) {
    throw new CountersignError('USAGE', '--warm-up is how long before --since; give --since as well');
  }
  if (!/^\d{1,6}[smhd]$/.test(warmUp)) {
    throw new CountersignError('USAGE', `--warm-up ${warmUp}: write a duration such as 15m, 24h or 7d`);
  }
  return fromMs - (nowMs - readTime('warm-up', warmUp, nowMs));
}

/**
 * Goes on where the file ends, also where `--since` is a later instant by now: nothing in between is left
 * out.
 */
async function resumed(
  session: Session,
  store: Store,
  sources: readonly string[],
  { ends, begun, lastMs }: RecordOutput,
  fromMs: number | undefined,
): Promise<Pick<RecordQuery, 'sources' | 'prices' | 'fromMs'>> {
  for (const source of sources) {
    const end = ends.get(source);
    if (end === undefined) continue;
    const entry = await store.entry(source, end.id);
    if (entry === undefined) {
      session.report(
        `The journal no longer has ${source}/${end.id}, at which the file ends: it expired or was moved by \`journal archive\`; what came soon after it may be missing here, and be in the archive (\`countersign journal export\`).`,
      );
    } else if (entry.atMs !== end.atMs) {
      throw new CountersignError(
        'USAGE',
        `the file ends with ${source}/${end.id} of another time than the journal's: it is of another store; name another file`,
      );
    }
  }
  return {
    sources: sources.map((source) => ({ source, after: ends.get(source)?.id ?? '' })),
    prices: { after: Number(ends.get(PRICES)?.id.slice(1) ?? 0), fromMs: 0 },
    fromMs: fromMs === undefined || !begun ? fromMs : Math.min(fromMs, lastMs),
  };
}
