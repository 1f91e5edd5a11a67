import { CLASSES } from '../../reconcile/classes.ts';
import type { RecordedItem, Run } from '../../reconcile/records.ts';
import type { RunResult } from '../../reconcile/run.ts';
import type { OpenException } from '../../reconcile/state.ts';
import { columns, counted, isoTime, printable } from '../print.ts';

/** Exceptions on the screen. The file of items has all of them. */
const SHOWN_MAX = 50;

/** Whether no exception is open and no later run must be repeated. */
export const isSettled = ({ open, outdated }: RunResult): boolean =>
  open.length === 0 && outdated === undefined;

/** The report for people. */
export function runText({ run, isNew, open, outdated }: RunResult, directory: string): string {
  const exceptions = run.exceptions.length;
  const closed = exceptions - open.length;
  const verdict =
    open.length === 0
      ? 'Everything is matched or explained'
      : `${counted(open.length, 'exception')} to explain`;
  const lines = [
    headline(run, isNew),
    '',
    coinTable(run),
    '',
    columns(classRows(run)),
    '',
    ...exceptionLines(run, open),
    `${verdict}${closed === 0 ? '' : `, ${closed} closed`}. ` +
      `Items: ${directory}/${run.csv.file}, SHA-256 ${run.csv.sha256}`,
    ...(outdated === undefined
      ? []
      : [`Run ${outdated} of the next day does not rest on this run. Repeat that day.`]),
  ];
  return lines.join('\n');
}

function headline({ number, day, zone, fromMs, untilMs, replaces, inputs }: Run, isNew: boolean): string {
  const bills = inputs.bills.map(
    ({ source, records, sha256 }) => `  bill of ${source}: ${counted(records, 'record')}, SHA-256 ${sha256}`,
  );
  const { entries, sha256 } = inputs.journal;
  const state = isNew
    ? replaces === 0
      ? ''
      : `, replaces run ${replaces}`
    : ', unchanged: the same inputs gave this result before';
  return [
    `Run ${number} of ${day} in ${zone} (${isoTime(fromMs)} to ${isoTime(untilMs)})${state}`,
    ...bills,
    `  journal: ${counted(entries, 'entry', 'entries')} used, SHA-256 ${sha256}`,
  ].join('\n');
}

/** The sums of each coin. */
export const coinTable = ({ coins }: Pick<Run, 'coins'>): string =>
  columns([SUMMARY_HEADER, ...coins.map(summaryRow)]);

const SUMMARY_HEADER = ['', 'coin', 'approved', '', 'settled', '', 'difference', 'settling', 'unexplained'];

function summaryRow({
  flow,
  coin,
  approved,
  settled,
  difference,
  settling,
  unexplained,
}: Run['coins'][number]) {
  return [
    flow,
    printable(coin),
    String(approved.count),
    approved.amount,
    String(settled.count),
    settled.amount,
    difference,
    settling.amount,
    unexplained,
  ];
}

function classRows({ classes }: Run): readonly (readonly string[])[] {
  return Object.entries(CLASSES).flatMap(([name, { level, meaning }]) => {
    const count = new Map<string, number>(Object.entries(classes)).get(name);
    return count === undefined ? [] : [[String(count), name, level === 'explained' ? '' : level, meaning]];
  });
}

function exceptionLines(run: Run, open: readonly RecordedItem[]): readonly string[] {
  if (open.length === 0) return [];
  const rows = open.slice(0, SHOWN_MAX).map((item) => exceptionRow({ ...item, run: run.number }));
  const more = open.length - rows.length;
  return [columns(rows), ...(more > 0 ? [`and ${more} more, in the file of items`] : []), ''];
}

export function exceptionRow(item: Omit<OpenException, 'day'>): readonly string[] {
  const { run, ours, theirs } = item;
  const sides = [
    ours === undefined ? '' : `approved ${ours.amount} ${ours.coin}${approversText(ours)}`,
    theirs === undefined ? '' : `settled ${theirs.amount} ${theirs.coin}`,
  ].filter((side) => side !== '');
  return [`${run}/${item.item}`, item.class, `${item.source}/${item.id}`, sides.join(', '), item.note].map(
    printable,
  );
}

const approversText = ({ approvers = [] }: NonNullable<RecordedItem['ours']>): string =>
  approvers.length === 0 ? '' : ` by ${approvers.join(', ')}`;

/** The result for machines. It has no time and no author, so the same inputs give the same text. */
export function runJson(result: RunResult) {
  const { run, open, outdated } = result;
  const { record: _record, at: _at, by: _by, previous: _previous, number, ...rest } = run;
  return { run: number, ok: isSettled(result), open: open.length, ...rest, outdated: outdated ?? 0 };
}

/** The same without the parts that grow with the orders: the coins and the items. */
export function runSummary(result: RunResult) {
  const { coins, exceptions: _exceptions, settling: _settling, ahead: _ahead, ...summary } = runJson(result);
  return { ...summary, unexplained: unexplainedCoins({ coins }) };
}

/** How many coins have a difference that nothing explains. */
export const unexplainedCoins = ({ coins }: Pick<Run, 'coins'>): number =>
  coins.filter(({ unexplained }) => unexplained !== '0').length;
