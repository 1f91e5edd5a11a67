import type { Command } from 'commander';
import { z } from 'zod';
import { usageError } from '../../../src/errors.ts';
import { printableSentence } from '../../../src/values/printable.ts';
import { counted } from '../../../src/values/text.ts';
import { type Connection, createConnection } from '../connection.ts';
import { PlatformError } from '../error.ts';
import type { Operation, PagedOperation } from '../operation.ts';
import { operations } from '../operations/registry.ts';
import { isUnreadable, iterate } from '../paging.ts';
import { request } from '../request.ts';
import { exampleOptions, parameterOptions, parametersOf } from './parameters.ts';
import type { Call, Program, Row, Session } from './program.ts';
import { csvHeader, csvLines, namesOf, objectText, recordsText } from './table.ts';

/** The command of an operation. Throws USAGE if no operation has the word. */
export function operationCommand<S extends Session, C extends Call>(
  word: string,
  program: Program<S, C>,
): Row<S, C> {
  const operation = operations.find((each) => each.command === word);
  if (operation === undefined) throw usageError(`the platform has no operation ${word}`);
  const example = `platform ${word}${exampleOptions(operation)}`;
  return {
    path: `platform ${word}`,
    summary: operation.summary,
    example: isPaged(operation) ? `${example}\n${example} --all --csv` : example,
    define: (command) => define(program.connectionOptions(parameterOptions(command, operation)), operation),
    run(session, call) {
      checkOptions(call);
      const { config, parts } = program.connect(session, call);
      return run(session, call, operation, createConnection(config, parts));
    },
  };
}

function isPaged(operation: Operation): operation is PagedOperation {
  return operation.paging !== undefined;
}

function define(command: Command, operation: Operation): void {
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

/** Throws USAGE. */
function checkOptions(call: Call): void {
  if (call.flag('csv') && call.flag('json')) {
    throw usageError('give --csv or --json, not both');
  }
  if (call.option('cursor') !== undefined && !call.flag('all')) {
    throw usageError('--cursor continues the reading of all pages. Give --all as well');
  }
}

async function run(
  session: Session,
  call: Call,
  operation: Operation,
  connection: Connection,
): Promise<0 | 1> {
  const csv = call.flag('csv');
  const parameters = parametersOf(session, call, operation);
  if (isPaged(operation) && call.flag('all')) {
    const all = { operation, parameters, connection, cursor: call.option('cursor') };
    return csv ? printAllCsv(session, all) : printAll(session, all);
  }
  const data = await request(connection, operation, parameters);
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
    exitCode: (): 0 | 1 => (found === 0 ? 0 : 1),
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
  readonly connection: Connection;
  readonly cursor: string | undefined;
}

async function printAll(session: Session, all: AllPages): Promise<0 | 1> {
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
async function printAllCsv(session: Session, all: AllPages): Promise<0 | 1> {
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
