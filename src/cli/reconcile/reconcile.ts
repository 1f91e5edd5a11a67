import type { Command } from 'commander';
import { closeException, readNumber } from '../../act/exceptions.ts';
import { createPlatform } from '../../../packages/platform/index.ts';
import { usageError } from '../../errors.ts';
import { openBillFile } from '../../reconcile/bill-file.ts';
import type { Bill } from '../../reconcile/bill.ts';
import { type Day, readDay } from '../../reconcile/day.ts';
import { type Entries, fileEntries, storeEntries } from '../../reconcile/entries.ts';
import { readRecords } from '../../reconcile/records.ts';
import { type RunParts, runDay, runNextDay } from '../../reconcile/run.ts';
import { type State, stateOf } from '../../reconcile/state.ts';
import { actCommand } from '../act.ts';
import {
  type Call,
  type CommandRow,
  type ExitCode,
  byOption,
  messageOption,
  optionName,
  requiredMessage,
} from '../command.ts';
import { durationOf } from '../period.ts';
import { connect, reportWeakPlatform } from '../platform/connection.ts';
import { columns, counted, isoTime } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceFor, sourceNames, sourceOption } from '../sources.ts';
import { platformBill } from './platform-bill.ts';
import {
  coinTable,
  exceptionRow,
  isSettled,
  runJson,
  runSummary,
  runText,
  unexplainedCoins,
} from './text.ts';

const COUNT_MAX = 999_999_999;
const MINUTE_MS = 60_000;
/** The journal of a day is read for this time before and after it. */
const SETTLE_MAX_MS = 24 * 60 * MINUTE_MS;

export const reconcile: CommandRow = {
  path: 'reconcile',
  summary: "Compare the approvals of a day with the platform's bill and the co-signers' notifications.",
  example:
    'reconcile --day 2026-03-02 --directory /var/lib/countersign/reconciliation\n' +
    'reconcile --through 2026-03-04 --directory /var/lib/countersign/reconciliation\n' +
    'reconcile --day 2026-03-02 --bill shop=shop.csv,stall=stall.csv --directory reconciliation --json\n' +
    'reconcile --day 2026-03-02 --source vault --directory vault-reconciliation',
  define: (command) =>
    directoryOption(byOption(sourceOption(command)))
      .option('--day <date>', 'the day to reconcile, such as 2026-03-02')
      .option('--through <date>', 'instead of --day: every day up to this one that has no run, in order')
      .option(
        '--first-day <date>',
        'with --through: the day to begin with if there are no runs (default: reconcile.firstDay, or --through)',
      )
      .option(
        '--bill <file>',
        'the bill of the day from files: FILE, or SOURCE=FILE,SOURCE=FILE (default: the platform)',
      )
      .option('--bill-count <number>', 'the number of records that the platform stated, if the file does not')
      .option(
        '--decisions <file>',
        'the journal from a file of `decisions export` or `journal export`, with --end-line',
      )
      .option(
        '--zone <zone>',
        "the time zone of the platform's days (default: reconcile.zone of the settings)",
      )
      .option(
        '--settle <duration>',
        'how long bill and signature may take after the approval, 1m to 24h ' +
          '(default: reconcile.settleMinutes)',
      )
      .addHelpText(
        'after',
        `
The bill is read from the platform of the settings (platform.url), unless --bill names a file. A file is JSON
Lines or CSV with the members of section 2.15, of both order types. Its last line is {"count":N} or end,N, so
that a lost line is noticed.

Run this when the day and its settle time (--settle) are over; before that it is refused. Approvals of the
last hour of the day (--settle) that are not billed yet are carried to the next day. What is neither billed
nor carried is an exception. Close an exception with \`countersign reconcile close\`.

With --through, days that must be repeated are repeated, and a call waits for another one in the directory.
With --json it prints a line for each day, without the items.

The exit code is 0 if everything is matched or explained, and 1 if an exception is open or the run of the next
day must be repeated.`,
      ),
  async run(session, call) {
    const directory = directoryOf(session, call);
    if (call.option('bill') === undefined) reportWeakPlatform(session);
    if (call.option('through') !== undefined) return reconcileThrough(session, call, directory);
    const date = required('day', call.option('day'), 'the day to reconcile, such as 2026-03-02');
    const { warnings, ...parts } = await partsOf(session, call, date);
    warnings.forEach((warning) => session.report(warning));
    const result = await runDay({ ...parts, directory });
    session.progress('');
    session.print(runText(result, directory), runJson(result));
    return isSettled(result) ? 0 : 1;
  },
};

async function reconcileThrough(session: Session, call: Call, directory: string): Promise<ExitCode> {
  for (const option of ['day', 'bill', 'billCount']) {
    if (call.option(option) === undefined) continue;
    throw usageError(`${optionName(option)} is about one day. Give it without --through`);
  }
  const { zone, firstDay } = session.settings().reconcile;
  const through = readDay(call.option('through') ?? '', call.option('zone') ?? zone).date;
  const first = readDay(call.option('firstDay') ?? firstDay ?? through, call.option('zone') ?? zone).date;
  let exitCode: ExitCode = 0;
  for (;;) {
    let warnings: readonly string[] = [];
    const result = await runNextDay({ directory, first, through }, async (date) => {
      const parts = await partsOf(session, call, date);
      ({ warnings } = parts);
      return parts;
    });
    session.progress('');
    if (result === undefined) return exitCode;
    warnings.forEach((warning) => session.report(warning));
    session.print(runText(result, directory), { ...runSummary(result), warnings });
    if (!isSettled(result)) exitCode = 1;
  }
}

/** What a run of the day reads, and warnings about it. */
async function partsOf(
  session: Session,
  call: Call,
  date: string,
): Promise<Omit<RunParts, 'directory'> & { readonly warnings: readonly string[] }> {
  const day = readDay(date, call.option('zone') ?? session.settings().reconcile.zone);
  const settleMs = settleOf(session, call);
  const sources = chosenSources(session, call);
  const bills = billsOf(session, call, { sources, day });
  const { entries, warnings } = await entriesOf(session, call, sources, day.fromMs);
  const progress = (doing: string, count: number): void => session.progress(`${count} records of ${doing}`);
  const { by, clock } = session;
  return { day, settleMs, entries, bills, progress, by, clock, warnings };
}

function settleOf(session: Session, call: Call): number {
  const written = call.option('settle');
  if (written === undefined) return session.settings().reconcile.settleMinutes * MINUTE_MS;
  const settleMs = durationOf(written) ?? 0;
  if (settleMs >= MINUTE_MS && settleMs <= SETTLE_MAX_MS) return settleMs;
  throw usageError(`--settle ${written} is not valid. Write a duration from 1m to 24h`);
}

async function entriesOf(
  session: Session,
  call: Call,
  sources: readonly string[],
  fromMs: number,
): Promise<{ readonly entries: Entries; readonly warnings: readonly string[] }> {
  const file = call.option('decisions');
  if (file !== undefined) {
    return { entries: fileEntries(file, sources, sourceNames(session)), warnings: [] };
  }
  const store = await session.store('background');
  const warnings: string[] = [];
  for (const source of sources) {
    const [first] = await store.entries({ source, limit: 1, explained: false });
    if (first === undefined || first.atMs < fromMs) continue;
    warnings.push(
      `The journal of ${source} begins at ${isoTime(first.atMs)}, after the beginning of the day. If older ` +
        'entries were archived, give --decisions with the output of `countersign journal export --end-line`.',
    );
  }
  return { entries: storeEntries(store, sources), warnings };
}

/**
 * The bill of each source that receives payments: from its file, or else from the platform of the settings.
 * Throws USAGE if there is neither, or a file for another source.
 */
function billsOf(
  session: Session,
  call: Call,
  { sources, day }: { readonly sources: readonly string[]; readonly day: Day },
): ReadonlyMap<string, Bill> {
  const settings = session.settings();
  const payments = settings.sources
    .filter(({ name, callback }) => callback === 'payment' && sources.includes(name))
    .map(({ name }) => name);
  const files = billFiles(call.option('bill'), payments);
  const missing = payments.filter((source) => !files.has(source));
  if (missing.length > 0 && settings.platform.url === undefined) {
    throw usageError(
      `the bill of ${missing.join(', ')} is missing. ` +
        'Write platform.url in the settings to read it from the platform, or give --bill ' +
        `${payments.length === 1 ? 'FILE' : payments.map((source) => `${source}=FILE`).join(',')}, or ` +
        '--source with a co-signer, which has no bill',
    );
  }
  const count = call.count('billCount', { least: 0, most: COUNT_MAX });
  if (count !== undefined && files.size !== 1) {
    throw usageError('--bill-count is about one file. Give one, or end each with its count');
  }
  return new Map(
    payments.map((source) => {
      const file = files.get(source);
      if (file !== undefined) return [source, openBillFile(file, { count })];
      const { config, parts } = connect(session, sourceFor(session, 'payment', source));
      return [source, platformBill(createPlatform(config, parts), { source, day })];
    }),
  );
}

function billFiles(written: string | undefined, payments: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const [only] = payments;
  if (written === undefined) return files;
  if (payments.length === 1 && only !== undefined && !written.startsWith(`${only}=`))
    return files.set(only, written);
  for (const part of written.split(',')) {
    const [source = '', ...rest] = part.split('=');
    const file = rest.join('=');
    if (!payments.includes(source) || file === '' || files.has(source)) {
      throw usageError(
        `--bill ${part} does not name a payment source and its file once. Write SOURCE=FILE for each of ` +
          (payments.join(', ') || 'the payment sources; this call has none'),
      );
    }
    files.set(source, file);
  }
  return files;
}

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

export const reconcileClose = actCommand(closeException, {
  example:
    'reconcile close 3 17 --directory /var/lib/countersign/reconciliation --message "refunded, ticket 4711"',
  define: (command) =>
    directoryOption(messageOption(command))
      .argument('<run>', 'the number of the run')
      .argument('<item>', 'the number of its item'),
  input: (session, call) => ({
    directory: directoryOf(session, call),
    message: requiredMessage(call),
    run: readNumber('a run', call.arguments[0]),
    item: readNumber('an item', call.arguments[1]),
  }),
});

export const directoryOption = (command: Command): Command =>
  command.option(
    '--directory <directory>',
    'where runs are kept; it must exist (default: reconcile.directory of the settings)',
  );

/** The directory of `--directory`, or of the settings. Throws USAGE if there is neither. */
export function directoryOf(session: Session, call: Call): string {
  const written = call.option('directory') ?? session.settings().reconcile.directory;
  return required('directory', written, 'the directory where runs are kept');
}

export function required(name: string, value: string | undefined, what: string): string {
  if (value !== undefined && value !== '') return value;
  throw usageError(`--${name} is missing. Give ${what}`);
}
