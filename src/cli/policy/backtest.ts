import { CountersignError } from '../../errors.ts';
import { groupsOf } from '../../compose/store.ts';
import type { Release } from '../../policy/release.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { shortRevision } from '../../release/push.ts';
import {
  type BacktestReport,
  type ChangedCallback,
  type UnknownCallback,
  backtest,
} from '../../simulation/backtest.ts';
import { readRecordFile } from '../../simulation/record-file.ts';
import { type Reason, type RecordItem, type RecordedEntry, splitProposal } from '../../simulation/record.ts';
import type { JournalEntry, Store } from '../../store/store.ts';
import type { Call, CommandRow } from '../command.ts';
import { isPriceChange, readStoreRecord } from '../journal/record.ts';
import { periodOf, periodOptions } from '../period.ts';
import { columns, counted, isoTime, printable, progressBar } from '../print.ts';
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
    const warnings: string[] = [];
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
function groupsNow(session: Session, call: Call, { policies }: Release): ReadonlyMap<string, string> {
  const isUsed = policies.some(({ rules }) => rules.some(({ acrossGroup }) => acrossGroup === true));
  if (!isUsed || call.option('fromFile') !== undefined) return new Map();
  return groupsOf(session.settings());
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
  for (const item of items) if (item.type === 'prices' || item.source === source) yield item;
}

/** The lists as they were when the journal begins, if that is known, and then the record in order of time. */
async function* storeRecord(
  store: Store,
  sources: readonly string[],
  untilMs: number | undefined,
  warnings: string[],
): AsyncGenerator<RecordItem> {
  for (const source of sources) yield* listsBefore(store, source, warnings);
  for await (const item of readStoreRecord(store, {
    sources: sources.map((source) => ({ source })),
    untilMs,
  })) {
    yield isPriceChange(item) ? { ...item, type: 'prices' } : recordedEntry(item);
  }
}

const NO_PROPOSAL = { proposal: () => undefined, prices: 0 };

function recordedEntry({ detail: text, ...entry }: JournalEntry): RecordedEntry {
  try {
    const { rest: detail, proposal, prices } = splitProposal(text);
    return { ...entry, detail, proposal, prices };
  } catch {
    return { ...entry, ...NO_PROPOSAL, detail: text };
  }
}

/**
 * The content of a source's lists when its journal begins. Changes before that are no longer in the journal.
 */
async function* listsBefore(store: Store, source: string, warnings: string[]): AsyncGenerator<RecordedEntry> {
  const [first] = await store.entries({ source, limit: 1 });
  if (first === undefined) return;
  for (const { list, changedAtMs } of await store.lists(source)) {
    const unchanged = changedAtMs < first.atMs;
    let isOlder = unchanged;
    if (unchanged) yield listEntry(source, list, [], changedAtMs);
    for await (const { value, addedAtMs } of store.listEntries(source, list)) {
      if (addedAtMs >= first.atMs) continue;
      isOlder = true;
      yield listEntry(source, list, [value], addedAtMs);
    }
    if (isOlder && !unchanged) {
      warnings.push(
        `the list ${source}/${list} is older than the record, which begins at ` +
          `${isoTime(first.atMs)}: values that were removed since are treated as if they had never ` +
          'been on it',
      );
    }
  }
}

function listEntry(source: string, list: string, add: readonly string[], atMs: number): RecordedEntry {
  const empty = { id: '', subject: '', verdict: '', code: '', claims: [], ...NO_PROPOSAL } as const;
  return { ...empty, source, atMs, type: 'list', detail: { list, add, remove: [] } };
}

/** The report as text: counts, the rules that changed verdicts, and at most `show` callbacks. */
function backtestText(report: BacktestReport, show: number): string {
  const { callbacks, toFailure, toSuccess, notKnown, changed, unknown, warnings } = report;
  const many = toFailure + toSuccess;
  const hint = many + notKnown > 0 && show === 0 ? ['', 'Add --show 20 to see the first of them.'] : [];
  return [
    headline(report),
    ...(callbacks === 0 ? [] : ['', countsText(report)]),
    ...(many === 0 ? [] : ['', 'By rule:', rulesText(report)]),
    ...(changed.length === 0 ? [] : ['', ...changed.map(changedText)]),
    ...(unknown.length === 0
      ? []
      : ['', `Not known, ${unknown.length} of ${notKnown}:`, ...unknown.map(unknownText)]),
    ...hint,
    ...(warnings.length === 0 ? [] : ['', ...warnings.map((warning) => `Note: ${printable(warning)}.`)]),
  ].join('\n');
}

function headline({ candidate, callbacks, frozen, period }: BacktestReport): string {
  const when = period === undefined ? '' : `, from ${isoTime(period.firstMs)} to ${isoTime(period.lastMs)}`;
  const left = frozen === 0 ? '' : ` (${frozen} more were refused during a freeze and are left out)`;
  return callbacks === 0
    ? `No recorded callbacks to decide again${left}.`
    : `${counted(callbacks, 'recorded callback')} decided again under ${shortRevision(candidate)}${when}${left}.`;
}

function countsText({ unchanged, toFailure, toSuccess, notKnown }: BacktestReport): string {
  return columns([
    ['unchanged', String(unchanged)],
    ['SUCCESS -> FAILURE', String(toFailure)],
    ['FAILURE -> SUCCESS', String(toSuccess)],
    ...(notKnown === 0 ? [] : [['not known', String(notKnown)]]),
  ]);
}

function rulesText({ rules }: BacktestReport): string {
  return columns(
    rules.map(({ change, rule, callbacks }) => [
      `  ${String(callbacks)}`,
      change === 'SUCCESS->FAILURE' ? 'now refused by' : 'no longer refused by',
      rule,
    ]),
  );
}

function changedText({ source, id, atMs, subject, recorded, candidate }: ChangedCallback): string {
  return [
    `${isoTime(atMs)}  ${source}/${id}  ${printable(subject)}  ${recorded.verdict} -> ${candidate.verdict}`,
    `  recorded   ${reasonText(recorded)}`,
    `  candidate  ${reasonText(candidate)}`,
  ].join('\n');
}

function reasonText({ rule, because, values }: Reason): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  return printable(`${rule}: ${because}${pairs.length === 0 ? '' : ` [${pairs.join(', ')}]`}`);
}

function unknownText({ source, id, atMs, subject, because }: UnknownCallback): string {
  return `${isoTime(atMs)}  ${source}/${id}  ${printable(subject)}  ${printable(because)}`;
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
