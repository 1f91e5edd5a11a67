import { CountersignError, type ErrorCode, messageOf } from '../../errors.ts';

/**
 * Turns an error that SQLite threw for the database `file` into a CountersignError with its fix. Returns a
 * CountersignError unchanged.
 */
export function storeError(file: string, thrown: unknown): CountersignError {
  if (thrown instanceof CountersignError) return thrown;
  const errcode = errcodeOf(thrown);
  const { code, problem, fix } = causes[errcode & 0xff] ?? unexpected;
  return new CountersignError(
    code,
    `the store ${file} ${problem} (${messageOf(thrown)}); ${fix}`,
    { file, errcode },
    thrown,
  );
}

export function storeClosedError(file: string): CountersignError {
  return new CountersignError('STORE_UNREACHABLE', `the store ${file} is closed; open it again`, { file });
}

/** Whether other connections kept the lock busy. */
export const isBusy = (thrown: unknown): boolean => [BUSY, PROTOCOL].includes(errcodeOf(thrown) & 0xff);

/** Whether the error is from SQLite, and not from a verb that rejected its argument. */
export const isFromSqlite = ({ data }: Pick<CountersignError, 'data'>): boolean => 'errcode' in data;

/** Whether the disk is full or fails. */
export function isDiskError({ data: { errcode } }: Pick<CountersignError, 'data'>): boolean {
  return typeof errcode === 'number' && [IO_FAILED, FULL].includes(errcode & 0xff);
}

interface Cause {
  readonly code: ErrorCode;
  readonly problem: string;
  readonly fix: string;
}

const BUSY = 5;
/** Others wrote so often that SQLite never read the same head of the write-ahead log twice. */
const PROTOCOL = 15;
const IO_FAILED = 10;
const FULL = 13;

const locked: Cause = {
  code: 'STORE_UNREACHABLE',
  problem: 'is locked by another process',
  fix: 'try again; if it stays locked, find the other process with `fuser FILE`',
};

/** By SQLite's primary result code (https://sqlite.org/rescode.html). */
const causes: Readonly<Record<number, Cause>> = {
  [BUSY]: locked,
  [PROTOCOL]: locked,
  8: {
    code: 'STORE_UNREACHABLE',
    problem: 'is read-only',
    fix: 'make the file and its folder writable for the user that runs this program',
  },
  11: {
    code: 'STORE_CORRUPT',
    problem: 'is damaged',
    fix: 'stop the service and restore the file from a backup',
  },
  [FULL]: {
    code: 'STORE_UNREACHABLE',
    problem: "can't grow, because the disk is full",
    fix: 'free space, or shorten the retention of the journal',
  },
  14: {
    code: 'STORE_UNREACHABLE',
    problem: "can't be opened",
    fix: 'name a file, in a folder that is writable for the user that runs this program',
  },
  26: {
    code: 'STORE_CORRUPT',
    problem: 'is not a database',
    fix: 'name another file, or restore this one from a backup',
  },
};

const unexpected: Cause = {
  code: 'STORE_UNREACHABLE',
  problem: 'failed',
  fix: 'check the disk',
};

const errcodeOf = (thrown: unknown): number =>
  thrown instanceof Error && 'errcode' in thrown && typeof thrown.errcode === 'number' ? thrown.errcode : 0;
