import { createPlatform } from '../../../packages/platform/index.ts';
import { CountersignError } from '../../errors.ts';
import { openBillFile } from '../../reconcile/bill-file.ts';
import type { Bill } from '../../reconcile/bill.ts';
import { type Day, readDay } from '../../reconcile/day.ts';
import { type Entries, fileEntries, storeEntries } from '../../reconcile/entries.ts';
import { type RunParts, runDay, runNextDay } from '../../reconcile/run.ts';
import { type Call, type CommandRow, type ExitCode, byOption, optionName } from '../command.ts';
import { readTime } from '../period.ts';
import { connect, reportWeakPlatform } from '../platform/connection.ts';
import { isoTime } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceFor, sourceOption } from '../sources.ts';
import { directoryOf, directoryOption, required } from './directory.ts';
import { platformBill } from './platform-bill.ts';
import { isSettled, runJson, runSummary, runText } from './text.ts';

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
    throw new CountersignError('USAGE', `${optionName(option)} is about one day. Give it without --through`);
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
  const settleMs = /^\d{1,6}[smhd]$/.test(written) ? -readTime('settle', written, 0) : -1;
  if (settleMs >= MINUTE_MS && settleMs <= SETTLE_MAX_MS) return settleMs;
  throw new CountersignError('USAGE', `--settle ${written} is not valid. Write a duration from 1m to 24h`);
}

async function entriesOf(
  session: Session,
  call: Call,
  sources: readonly string[],
  fromMs: number,
): Promise<{ readonly entries: Entries; readonly warnings: readonly string[] }> {
  const file = call.option('decisions');
  if (file !== undefined) {
    const known = session.settings().sources.map(({ name }) => name);
    return { entries: fileEntries(file, sources, known), warnings: [] };
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
    throw new CountersignError(
      'USAGE',
      `the bill of ${missing.join(', ')} is missing. ` +
        'Write platform.url in the settings to read it from the platform, or give --bill ' +
        `${payments.length === 1 ? 'FILE' : payments.map((source) => `${source}=FILE`).join(',')}, or ` +
        '--source with a co-signer, which has no bill',
    );
  }
  const count = call.count('billCount', { least: 0, most: COUNT_MAX });
  if (count !== undefined && files.size !== 1) {
    throw new CountersignError(
      'USAGE',
      '--bill-count is about one file. Give one, or end each with its count',
    );
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
      throw new CountersignError(
        'USAGE',
        `--bill ${part} does not name a payment source and its file once. Write SOURCE=FILE for each of ` +
          (payments.join(', ') || 'the payment sources; this call has none'),
      );
    }
    files.set(source, file);
  }
  return files;
}
