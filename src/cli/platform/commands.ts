import type { Command } from 'commander';
import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { PlatformError } from '../../../packages/platform/error.ts';
import type { Operation, PagedOperation } from '../../../packages/platform/operation.ts';
import { operations } from '../../../packages/platform/operations/registry.ts';
import { isUnreadable, iterate } from '../../../packages/platform/paging.ts';
import { request } from '../../../packages/platform/request.ts';
import { printableSentence } from '../../values/printable.ts';
import type { Call, CommandRow, ExitCode } from '../command.ts';
import { counted } from '../print.ts';
import type { Session } from '../session.ts';
import { connectionOptions, openConnection } from './connection.ts';
import { exampleOptions, parameterOptions, parametersOf } from './parameters.ts';
import { announceAndPay, payOptions } from './pay.ts';
import { csvHeader, csvLines, namesOf, objectText, recordsText } from './table.ts';

const rows: ReadonlyMap<string, CommandRow> = new Map(
  operations.map((operation) => [operation.command, rowOf(operation)]),
);

/** The command of an operation. */
export function platformCommand(word: string): CommandRow {
  const row = rows.get(word);
  if (row === undefined) throw new CountersignError('USAGE', `the platform has no operation ${word}`);
  return row;
}

function rowOf(operation: Operation): CommandRow {
  const call = `platform ${operation.command}${exampleOptions(operation)}`;
  return {
    path: `platform ${operation.command}`,
    summary: operation.summary,
    example: isPaged(operation) ? `${call}\n${call} --all --csv` : call,
    define: (command) => define(command, operation),
    run: (session, given) => run(session, given, operation),
  };
}

function isPaged(operation: Operation): operation is PagedOperation {
  return operation.paging !== undefined;
}

function define(command: Command, operation: Operation): void {
  connectionOptions(parameterOptions(command, operation));
  if (operation.name === 'payments.create') payOptions(command);
  if (isPaged(operation) || operation.records !== undefined) {
    command.option('--csv', 'print the records as CSV');
  }
  if (isPaged(operation)) {
    command
      .option('--all', 'read all pages')
      .option('--cursor <cursor>', 'with --all, continue where an earlier call ended');
  }
  const { section, notes = [], clientNotes = [] } = operation;
  const lines = [`\nSection ${section} of the specification.`, ...notes, ...clientNotes];
  command.addHelpText('after', lines.join('\n'));
}

async function run(session: Session, call: Call, operation: Operation): Promise<ExitCode> {
  const csv = call.flag('csv');
  if (csv && call.flag('json')) throw new CountersignError('USAGE', 'give --csv or --json, not both');
  if (call.option('cursor') !== undefined && !call.flag('all')) {
    throw new CountersignError('USAGE', '--cursor continues the reading of all pages. Give --all as well');
  }
  const platform = openConnection(session, call);
  const parameters = parametersOf(session, call, operation);
  if (operation.name === 'payments.create') return announceAndPay(session, call, platform, parameters);
  if (isPaged(operation) && call.flag('all')) {
    const all = { operation, parameters, connection: platform.connection, cursor: call.option('cursor') };
    return csv ? printAllCsv(session, all) : printAll(session, all);
  }
  const data = await request(platform.connection, operation, parameters);
  const records = recordsOf(operation, data);
  const unreadable = createReport(session);
  for (const record of records ?? []) unreadable.see(record);
  if (csv && records !== undefined) {
    const names = columnsOf(operation, records);
    const lines = [
      csvHeader(names),
      ...csvLines(records, names),
      ...endOf(operation, operation.paging?.count?.(data)),
    ];
    for (const line of lines) session.print(line, line);
  } else {
    session.print(dataText(operation, data, records), data);
  }
  return unreadable.exitCode();
}

/** Says on standard error which records can't be read, so that nobody takes the output for whole. */
function createReport(session: Session) {
  let [seen, found] = [0, 0];
  return {
    see(record: unknown): void {
      seen++;
      if (!isUnreadable(record)) return;
      found++;
      session.report(`Record ${seen} can't be read: ${record.unreadable}: ${printableSentence(record.text)}`);
    },
    exitCode: (): ExitCode => (found === 0 ? 0 : 1),
  };
}

/** Those of the operation, so that an answer without records has a header as well. */
function columnsOf({ record }: Operation, records: readonly unknown[]): readonly string[] {
  return record instanceof z.ZodObject ? Object.keys(record.shape) : namesOf(records);
}

/** A bill ends with the number of records that the platform states, for `reconcile --bill`. */
function endOf({ section }: Operation, count: number | undefined): readonly string[] {
  return section === '4.17' && count !== undefined ? [`end,${count}`] : [];
}

function recordsOf(operation: Operation, data: unknown): readonly unknown[] | undefined {
  return operation.paging?.records(data) ?? operation.records?.(data);
}

function dataText(
  { name, paging }: Operation,
  data: unknown,
  records: readonly unknown[] | undefined,
): string {
  if (records === undefined) return data === null ? `${name}: done.` : objectText(data);
  const total = paging?.count?.(data) ?? paging?.least?.(data);
  const more =
    total === undefined || total <= records.length ? '' : `\n${records.length} of ${total} records.`;
  return `${recordsText(records)}${more}`;
}

interface AllPages {
  readonly operation: PagedOperation;
  readonly parameters: Readonly<Record<string, string>>;
  readonly connection: ReturnType<typeof openConnection>['connection'];
  readonly cursor: string | undefined;
}

async function printAll(session: Session, all: AllPages): Promise<ExitCode> {
  const records: unknown[] = [];
  const unreadable = createReport(session);
  await eachRecord(session, all, (record) => {
    records.push(record);
    unreadable.see(record);
  });
  session.print(`${recordsText(records)}\n${counted(records.length, 'record')}.`, records);
  return unreadable.exitCode();
}

/** Prints each record as it comes, so that memory doesn't grow with their number. */
async function printAllCsv(session: Session, all: AllPages): Promise<ExitCode> {
  const names = columnsOf(all.operation, []);
  session.print(csvHeader(names), names);
  const unreadable = createReport(session);
  const total = await eachRecord(session, all, async (record) => {
    unreadable.see(record);
    for (const line of csvLines([record], names)) session.print(line, line);
    await session.drained();
  });
  for (const line of endOf(all.operation, total)) session.print(line, line);
  return unreadable.exitCode();
}

/** Resolves with the number of records that the platform states. */
async function eachRecord(
  session: Session,
  { operation, parameters, connection, cursor }: AllPages,
  take: (record: unknown) => void | Promise<void>,
): Promise<number | undefined> {
  let stated: number | undefined;
  const records = iterate(connection, operation, parameters, {
    cursor,
    onPage: ({ pages, records: read, total }) => {
      stated = total;
      session.progress(
        `${counted(pages, 'page')}, ${read}${total === undefined ? '' : ` of ${total}`} records`,
      );
    },
  });
  try {
    for await (const record of records) await take(record);
    return stated;
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code !== 'PLATFORM_PARAMETER') {
      session.report(`The output ends at the cursor ${records.cursor}. Continue with --cursor`);
    }
    throw thrown;
  } finally {
    session.progress('');
  }
}
