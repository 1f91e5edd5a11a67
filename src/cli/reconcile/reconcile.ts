import { setFlagsFromString } from 'node:v8';
import { CountersignError } from '../../errors.ts';
import { openBillFile } from '../../reconcile/bill-file.ts';
import type { Bill } from '../../reconcile/bill.ts';
import { DEFAULT_ZONE, type Day, readDay } from '../../reconcile/day.ts';
import { type Entries, fileEntries, storeEntries } from '../../reconcile/entries.ts';
import { runDay } from '../../reconcile/run.ts';
import { type Call, type CommandRow, byOption } from '../command.ts';
import { readTime } from '../period.ts';
import { openConnection } from '../platform/connection.ts';
import { isoTime } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import { platformBill } from './platform-bill.ts';
import { isSettled, runJson, runText } from './text.ts';

/** Reading makes much garbage and keeps little. V8 would otherwise let the heap grow by another 60 MB. */
const SMALL_HEAP = ['--semi-space-growth-factor=1', '--heap-growing-percent=15'];
const COUNT_MAX = 999_999_999;
const MINUTE_MS = 60_000;
/** A run knows of the day before what was billed ahead, and of no day before that. */
const SETTLE_MAX_MS = 24 * 60 * MINUTE_MS;

export const reconcile: CommandRow = {
  path: 'reconcile',
  summary: "Compare the approvals of a day with the platform's bill and the co-signers' notifications.",
  example:
    'reconcile --day 2026-03-02 --directory /var/lib/countersign/reconciliation\n' +
    'reconcile --day 2026-03-02 --bill shop=shop.csv,stall=stall.csv --directory reconciliation --json\n' +
    'reconcile --day 2026-03-02 --source vault --directory vault-reconciliation',
  define: (command) =>
    byOption(sourceOption(command))
      .option('--day <date>', 'the day to reconcile, such as 2026-03-02')
      .option('--directory <directory>', 'where runs are kept; it must exist')
      .option(
        '--bill <file>',
        'the bill of the day from files: FILE, or SOURCE=FILE,SOURCE=FILE (default: the platform)',
      )
      .option('--bill-count <number>', 'the number of records that the platform stated, if the file does not')
      .option('--decisions <file>', 'the journal from a file of `decisions export` or `journal export`')
      .option('--zone <zone>', `the time zone of the platform's days (default: ${DEFAULT_ZONE})`)
      .option(
        '--settle <duration>',
        'how long bill and signature may take after the approval, 1m to 24h (default: 1h)',
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

The exit code is 0 if everything is matched or explained, and 1 if an exception is open or the run of the next
day must be repeated.`,
      ),
  async run(session, call) {
    SMALL_HEAP.forEach((flag) => setFlagsFromString(flag));
    const directory = required(call, 'directory', 'the directory where runs are kept');
    const date = required(call, 'day', 'the day to reconcile, such as 2026-03-02');
    const day = readDay(date, call.option('zone') ?? DEFAULT_ZONE);
    const settleMs = settleOf(call);
    const sources = chosenSources(session, call);
    const bills = billsOf(session, call, { sources, day });
    const entries = await entriesOf(session, call, sources, day.fromMs);
    const progress = (doing: string, count: number): void => session.progress(`${count} records of ${doing}`);
    const { by, clock } = session;
    const result = await runDay({ day, settleMs, entries, bills, progress, directory, by, clock });
    session.progress('');
    session.print(runText(result, directory), runJson(result));
    return isSettled(result) ? 0 : 1;
  },
};

export function required(call: Call, name: string, what: string): string {
  const value = call.option(name);
  if (value !== undefined && value !== '') return value;
  throw new CountersignError('USAGE', `--${name} is missing. Give ${what}`);
}

function settleOf(call: Call): number {
  const written = call.option('settle') ?? '1h';
  const settleMs = /^\d{1,6}[smhd]$/.test(written) ? -readTime('settle', written, 0) : -1;
  if (settleMs >= MINUTE_MS && settleMs <= SETTLE_MAX_MS) return settleMs;
  throw new CountersignError('USAGE', `--settle ${written} is not valid. Write a duration from 1m to 24h`);
}

async function entriesOf(
  session: Session,
  call: Call,
  sources: readonly string[],
  fromMs: number,
): Promise<Entries> {
  const file = call.option('decisions');
  if (file !== undefined) {
    const known = session.settings().sources.map(({ name }) => name);
    return fileEntries(file, sources, known);
  }
  const store = await session.store();
  for (const source of sources) {
    const [first] = await store.entries({ source, limit: 1 });
    if (first === undefined || first.atMs < fromMs) continue;
    session.report(
      `The journal of ${source} begins at ${isoTime(first.atMs)}, after the beginning of the day. If older ` +
        'entries were archived, give --decisions with the output of `countersign journal export`.',
    );
  }
  return storeEntries(store, sources);
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
      return [source, platformBill(openConnection(session, call, source).connection, { source, day })];
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
