import { CountersignError } from '../../errors.ts';
import { type BacktestReport, backtest } from '../../simulation/backtest.ts';
import { readRecordFile } from '../../simulation/record-file.ts';
import type { RecordItem } from '../../simulation/record.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { storeRecord } from './backtest-record.ts';
import { backtestJson, backtestText } from './backtest-text.ts';
import type { Call, CommandRow } from '../command.ts';
import { progressBar } from '../progress-bar.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import { periodOf, periodOptions } from '../period.ts';

const SHOW_MAX = 100_000;

export const policyBacktest: CommandRow = {
  path: 'policy backtest',
  summary: 'Decide recorded callbacks again under policy files: which verdicts would change, and why.',
  example:
    'policy backtest --since 7d\npolicy backtest config/policies --source shop --show 20\npolicy backtest --from-file decisions.jsonl --json',
  define: (command) =>
    periodOptions(
      sourceOption(
        command.argument(
          '[directory]',
          'the candidate’s files (default: policies.directory of the settings)',
        ),
      ),
    )
      .option('--from-file <file>', 'what `decisions export` wrote, instead of the store')
      .option('--show <number>', 'tell so many of the callbacks that change, one by one (default: none)'),
  async run(session, call) {
    const show = call.count('show', { least: 0, most: SHOW_MAX }) ?? 0;
    const period = periodOf(call, session.clock());
    const [directory = session.settings().policies.directory] = call.arguments;
    const release = await readPolicyDirectory(directory);
    const warnings: string[] = [];
    const { record, part } = await recordOf(session, call, period.untilMs, warnings);
    const report = await backtest({
      release,
      record,
      ...period,
      show,
      progress: (callbacks) => session.progress(progressBar(part(callbacks), callbacks)),
    });
    session.progress('');
    const whole: BacktestReport = { ...report, warnings: [...warnings, ...report.warnings] };
    session.print(backtestText(whole, show), backtestJson(whole));
    return report.toFailure + report.toSuccess + report.notKnown > 0 ? 1 : 0;
  },
};

interface Recording {
  readonly record: AsyncIterable<RecordItem> | Iterable<RecordItem>;
  /** How much of it has been read after so many callbacks, from 0 to 1. */
  readonly part: (callbacks: number) => number;
}

async function recordOf(
  session: Session,
  call: Call,
  untilMs: number | undefined,
  warnings: string[],
): Promise<Recording> {
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
      `nothing is recorded of ${sources.join(', ')} yet; give a file with --from-file, or come back when there is`,
    );
  }
  const record = storeRecord(store, sources, untilMs, warnings);
  return { record, part: (callbacks) => Math.min(1, callbacks / size) };
}

function* ofSource(items: Iterable<RecordItem>, source: string): Generator<RecordItem> {
  for (const item of items) if (item.type === 'prices' || item.source === source) yield item;
}
