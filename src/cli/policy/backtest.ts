import { CountersignError } from '../../errors.ts';
import { groupsOf } from '../../start/store.ts';
import type { Release } from '../../policy/release.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import {
  type BacktestReport,
  type ChangedCallback,
  type UnknownCallback,
  backtest,
  countsByGroup,
} from '../../simulation/backtest.ts';
import { backtestText } from '../../simulation/backtest-text.ts';
import { readRecordFile } from '../../simulation/record-file.ts';
import { type RecordItem, isPriceChange } from '../../journal/record.ts';
import { storeRecord } from '../../simulation/store-record.ts';
import type { Call, CommandRow } from '../command.ts';
import { periodOf, periodOptions } from '../period.ts';
import { isoTime, progressBar } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';

const SHOW_MAX = 100_000;

export const policyBacktest: CommandRow = {
  path: 'policy backtest',
  summary: 'Decide recorded callbacks again under policy files. Show which verdicts would change, and why.',
  example:
    'policy backtest --since 7d\n' +
    'policy backtest config/policies --source shop --show 20\n' +
    'policy backtest --from-file decisions.jsonl --json',
  define: (command) =>
    periodOptions(
      sourceOption(
        command.argument(
          '[directory]',
          'the policy files to try (default: policies.directory of the settings)',
        ),
      ),
    )
      .option('--from-file <file>', 'read a file of `decisions export` instead of the store')
      .option('--show <number>', 'list this many of the callbacks that change (default: none)'),
  async run(session, call) {
    const show = call.count('show', { least: 0, most: SHOW_MAX }) ?? 0;
    const period = periodOf(call, session.clock());
    const [directory = session.settings().policies.directory] = call.arguments;
    const release = await readPolicyDirectory(directory);
    const warnings = [...sourceWarnings(session, call, release)];
    const { record, part } = await recordOf(session, call, period.untilMs, warnings);
    const report = await backtest({
      release,
      record,
      ...period,
      groups: groupsNow(session, call, release),
      show,
      progress: (callbacks) => session.progress(progressBar(part(callbacks), callbacks)),
    });
    session.progress('');
    const whole: BacktestReport = { ...report, warnings: [...warnings, ...report.warnings] };
    session.print(backtestText(whole, show), backtestJson(whole));
    return report.toFailure + report.toSuccess + report.notKnown > 0 ? 1 : 0;
  },
};

/** The groups in the settings, if the policies count by them. An exported file may be of another installation. */
function groupsNow(session: Session, call: Call, release: Release): ReadonlyMap<string, string> {
  if (!countsByGroup(release) || call.option('fromFile') !== undefined) return new Map();
  return groupsOf(session.settings());
}

/** A warning if `--source` leaves out sources that the policies count together with the given one. */
function sourceWarnings(session: Session, call: Call, release: Release): readonly string[] {
  const source = call.option('source');
  if (source === undefined || !countsByGroup(release)) return [];
  const groups = [...groupsNow(session, call, release)];
  const group = groups.find(([name]) => name === source)?.[1];
  const others = groups.filter(([name, each]) => name !== source && each === group).map(([name]) => name);
  const isKnownToBeAlone = call.option('fromFile') === undefined && others.length === 0;
  if (isKnownToBeAlone) return [];
  const left = others.length === 0 ? 'other sources of its group' : others.join(', ');
  return [
    `only callbacks of ${source} were decided again, and the candidate counts across its group: what ` +
      `${left} used of its limits is not counted`,
  ];
}

interface RecordInput {
  readonly record: AsyncIterable<RecordItem> | Iterable<RecordItem>;
  /** The part of the record, from 0 to 1, that has been read after a number of callbacks. */
  readonly part: (callbacks: number) => number;
}

async function recordOf(
  session: Session,
  call: Call,
  untilMs: number | undefined,
  warnings: string[],
): Promise<RecordInput> {
  const path = call.option('fromFile');
  if (path !== undefined) {
    let read = 0;
    const lines = readRecordFile(path, (part) => {
      read = part;
    });
    const source = call.option('source');
    return { record: source === undefined ? lines : ofSource(lines, source), part: () => read };
  }
  const sources = chosenSources(session, call);
  const store = await session.store();
  const sizes = await Promise.all(sources.map((source) => store.journalSize(source)));
  const size = sizes.reduce((sum, each) => sum + each, 0);
  if (size === 0) {
    throw new CountersignError(
      'NOT_FOUND',
      `the journal has no entries of ${sources.join(', ')} yet. Give a file with --from-file, or ` +
        'wait for callbacks',
    );
  }
  const record = storeRecord(store, sources, untilMs, warnings);
  return { record, part: (callbacks) => Math.min(1, callbacks / size) };
}

function* ofSource(items: Iterable<RecordItem>, source: string): Generator<RecordItem> {
  for (const item of items) if (isPriceChange(item) || item.source === source) yield item;
}

/** The report as JSON. */
function backtestJson({ changed, unknown, period, ...report }: BacktestReport) {
  const withTime = <T extends UnknownCallback | ChangedCallback>({ atMs, ...callback }: T) => ({
    ...callback,
    id: `${callback.source}/${callback.id}`,
    at: isoTime(atMs),
  });
  return {
    ...report,
    period: period && { first: isoTime(period.firstMs), last: isoTime(period.lastMs) },
    changed: changed.map(withTime),
    unknown: unknown.map(withTime),
  };
}
