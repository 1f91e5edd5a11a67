import { readRecords } from '../../reconcile/records.ts';
import { type State, stateOf } from '../../reconcile/state.ts';
import type { CommandRow } from '../command.ts';
import { columns, counted, isoTime } from '../print.ts';
import { directoryOf, directoryOption } from './directory.ts';
import { coinTable, exceptionRow, unexplainedCoins } from './text.ts';

const LIMIT = 50;
const LIMIT_MOST = 1_000_000;

export const reconcileShow: CommandRow = {
  path: 'reconcile show',
  summary: 'Show the last run of a reconciliation and the open exceptions of all days. Reads no store.',
  example: 'reconcile show --directory /var/lib/countersign/reconciliation',
  define: (command) =>
    directoryOption(command).option('--limit <number>', `at most this many exceptions (default: ${LIMIT})`),
  async run(session, call) {
    const limit = call.count('limit', { least: 0, most: LIMIT_MOST }) ?? LIMIT;
    const state = stateOf(readRecords(directoryOf(session, call)));
    session.print(stateText(state, limit), stateJson(state, limit));
    return state.open.length === 0 ? 0 : 1;
  },
};

function stateText({ days, last, next, open }: State, limit: number): string {
  if (last === undefined) return 'No day was reconciled.';
  const rows = open.slice(0, limit).map((item) => [item.day, ...exceptionRow(item)]);
  const more = open.length - rows.length;
  return [
    `${counted(days, 'day')} up to ${last.day}, in ${last.zone}. The last is run ${last.number}, ` +
      `made at ${last.at} by ${last.by}. The next is ${next}.`,
    ...(last.coins.length === 0 ? [] : ['', coinTable(last), '']),
    ...(open.length === 0 ? ['No exception is open.'] : [`${counted(open.length, 'open exception')}:`]),
    ...(rows.length === 0 ? [] : [columns(rows)]),
    ...(more > 0 ? [`and ${more} more; give --limit`] : []),
  ].join('\n');
}

/** What `--json` prints. */
const stateJson = ({ days, last, next, open, classes }: State, limit: number) => ({
  days,
  last:
    last === undefined
      ? null
      : {
          run: last.number,
          day: last.day,
          until: isoTime(last.untilMs),
          at: last.at,
          unexplained: unexplainedCoins(last),
        },
  next: next ?? null,
  open: open.length,
  classes,
  exceptions: open.slice(0, limit),
});
