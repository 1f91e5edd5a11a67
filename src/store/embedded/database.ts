import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { CountersignError, messageOf } from '../../errors.ts';
import { type LockWait, SERVICE_WAIT, createPause } from './lock.ts';
import { integer } from './rows.ts';
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.ts';
import { storeError } from './sqlite-errors.ts';

/** The cache of one connection, at most. */
const CACHE_KIB = 32_768;
/** For a process that reads the journal once: it reads no page twice. */
export const SMALL_CACHE_KIB = 2048;

export interface Database {
  /** The absolute path. */
  readonly file: string;
  readonly connection: DatabaseSync;
  readonly identity: Identity;
  readonly lockWait: LockWait;
}

export interface OpenOptions {
  /** Whether a missing file is created; default true. */
  readonly create?: boolean;
  /** Default: SERVICE_WAIT. */
  readonly lockWait?: LockWait;
  /** The cache of the connection, at most; default 32 MiB. */
  readonly cacheKib?: number;
}

/**
 * Opens a file. With `create`, a missing file is created with its folders. A commit is on disk when it
 * returns (WAL, `synchronous` FULL). Throws SETTINGS_INVALID for a path that is no file, STORE_MISSING,
 * STORE_UNREACHABLE, STORE_CORRUPT for a file that is no database of this program, and STORE_UNSAFE if its
 * log or its tables are missing, another version wrote it, or its file system can't share it safely. Close it
 * with {@link closeDatabase}.
 */
export function openDatabase(
  path: string,
  { create = true, lockWait = SERVICE_WAIT, cacheKib = CACHE_KIB }: OpenOptions = {},
): Database {
  if (path === '' || path.startsWith(':memory:')) {
    throw new CountersignError(
      'SETTINGS_INVALID',
      `the embedded store needs a file, not "${path}"; name one, such as embedded:data/countersign.db`,
      { path },
    );
  }
  const file = resolve(path);
  let connection: DatabaseSync | undefined;
  try {
    if (!create) expectExisting(file);
    else if (!existsSync(file)) createStoreFile(file);
    expectLog(file);
    const before = identityOf(file);
    connection = new DatabaseSync(uriOf(file), { timeout: lockWait.waitMs });
    expectTables(file, connection);
    setPragmas(file, connection, cacheKib);
    const identity = identityOf(file);
    if (before[0] !== undefined && before[0] !== identity[0]) {
      throw storeMissing(file, 'was replaced while it was opened');
    }
    return { file, connection, identity, lockWait };
  } catch (thrown) {
    connection?.close();
    throw storeError(file, thrown);
  }
}

/** With the mode in the URI, SQLite doesn't create a file that was deleted after the check. */
function uriOf(file: string): URL {
  const uri = pathToFileURL(file);
  uri.searchParams.set('mode', 'rw');
  return uri;
}

/**
 * Closes a connection. If no other connection uses the file, it is complete afterwards without a log, and its
 * header says so: see expectLog. The file keeps the mode of the log if it was replaced meanwhile.
 */
export function closeDatabase({ file, connection, identity }: Database): void {
  if (!connection.isOpen) return;
  const isSame = (): boolean => identityOf(file)[0] === identity[0];
  if (isSame()) leaveLog(connection);
  connection.close();
  // Two that close at the same moment keep each other from leaving the log, but the second one deletes it.
  if (!existsSync(file) || !isSame() || existsSync(logOf(file)) || !needsLog(file)) return;
  const last = new DatabaseSync(uriOf(file));
  leaveLog(last);
  last.close();
}

/** Moves the log into the file and ends its mode. Does nothing while other connections use the file. */
function leaveLog(connection: DatabaseSync): void {
  try {
    connection.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE');
  } catch {
    // Another connection is open, or the disk fails. Then the log stays beside the file.
  }
}

/**
 * Creates the store with its tables under another name, so that no file without tables is ever at the path.
 * If another process was faster, its store stays.
 */
function createStoreFile(file: string): void {
  expectNoLostLog(file);
  const created = `${file}.new-${process.pid}-${randomUUID()}`;
  try {
    const connection = new DatabaseSync(created);
    connection.exec(
      `PRAGMA synchronous = FULL; BEGIN; ${SCHEMA}; PRAGMA application_id = ${APPLICATION_ID};
       PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`,
    );
    connection.close();
    placeFile(created, file);
  } finally {
    rmSync(created, { force: true });
  }
}

/** Gives a file its name on disk. Returns false if another file has the name; that file stays. */
export function placeFile(from: string, to: string): boolean {
  try {
    linkSync(from, to);
  } catch {
    // Some file systems have no hard links. There, an empty file first takes the name, so that the file of
    // another process is never replaced.
    if (!takeName(to)) return false;
    renameSync(from, to);
  }
  const folder = openSync(dirname(to), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
  return true;
}

/** Returns false if a file has the name. */
function takeName(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx'));
    return true;
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST') return false;
    throw thrown;
  }
}

function expectExisting(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw storeMissing(file, 'does not exist');
  if (stats.isFile() && stats.size === 0) throw storeMissing(file, 'is empty');
}

/**
 * A write-ahead log (WAL) without its database may contain decisions, and SQLite would delete it when it
 * creates the database.
 */
function expectNoLostLog(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  if (!existsSync(logOf(file))) return;
  throw new CountersignError(
    'STORE_UNSAFE',
    `the store ${file} does not exist, but its write-ahead log ${file}-wal does; ` +
      'restore the file beside the log, or move the log away to begin with an empty store',
    { file },
  );
}

/** A missing log is looked for again: another process may just have removed it and be about to say so. */
const LOG_WAIT_MS = 500;
const LOG_CHECK_MS = 5;

/**
 * The file says in its header whether its newest decisions are in the write-ahead log (WAL), which is so
 * while a connection is open and after a crash. Without the log, SQLite would open the file as it was at the
 * last checkpoint, or without any table, and say nothing.
 */
function expectLog(file: string): void {
  const pause = createPause();
  const untilMs = performance.now() + LOG_WAIT_MS;
  while (needsLog(file) && !existsSync(logOf(file))) {
    if (performance.now() >= untilMs) throw logMissing(file);
    pause(LOG_CHECK_MS);
  }
}

function logMissing(file: string): CountersignError {
  return new CountersignError(
    'STORE_UNSAFE',
    `the store ${file} was in use when it was last written, and its write-ahead log ${logOf(file)}, which has ` +
      'the newest decisions, is missing; put the log beside the file, or move the file away and restore it or a ' +
      'backup with `countersign store restore`',
    { file },
  );
}

const logOf = (file: string): string => `${file}-wal`;

/** Byte 18 of an SQLite file: 1 for a rollback journal, 2 for a write-ahead log. */
const MODE_AT = 18;
const MODE_LOG = 2;

function needsLog(file: string): boolean {
  const descriptor = openSync(file, 'r');
  try {
    const mode = new Uint8Array(1);
    return readSync(descriptor, mode, 0, 1, MODE_AT) === 1 && mode[0] === MODE_LOG;
  } finally {
    closeSync(descriptor);
  }
}

function storeMissing(file: string, problem: string): CountersignError {
  return new CountersignError(
    'STORE_MISSING',
    `the store ${file} ${problem}; pass the service's settings with --config, ` +
      'or start the service, which creates it',
    { file },
  );
}

const MODE_ATTEMPTS = 5;

function setPragmas(file: string, connection: DatabaseSync, cacheKib: number): void {
  // Another process may leave the log before the first read of this connection keeps it.
  let mode: unknown;
  for (let attempt = 0; attempt < MODE_ATTEMPTS && mode !== 'wal'; attempt++) {
    connection.exec('PRAGMA journal_mode = WAL; SELECT count(*) FROM sqlite_schema');
    mode = connection.prepare('PRAGMA journal_mode').get()?.['journal_mode'];
  }
  if (mode !== 'wal') {
    throw new CountersignError(
      'STORE_UNSAFE',
      `the file system of ${file} does not support SQLite's write-ahead log; keep the store on a local disk`,
      { file },
    );
  }
  // SQLite's rollback journal of savepoints stays in memory: a temporary file fails if another disk is full.
  connection.exec(`PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${cacheKib}`);
}

/** Throws STORE_CORRUPT for another program's database, STORE_UNSAFE for no tables or for another schema. */
export function expectTables(file: string, connection: DatabaseSync): void {
  if (statSync(file).size === 0) {
    throw new CountersignError(
      'STORE_UNSAFE',
      `the store ${file} is empty; restore a backup, or move the file away to begin with an empty store`,
      { file },
    );
  }
  const version = pragma(connection, 'user_version');
  const tables = integer(
    connection.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() ?? {},
    'tables',
  );
  if (tables > 0 && pragma(connection, 'application_id') !== APPLICATION_ID) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `the file ${file} is the database of another program; name another file for the store`,
      { file },
    );
  }
  if (tables === 0) {
    throw new CountersignError(
      'STORE_UNSAFE',
      `the store ${file} has no tables; it is not complete, so restore it from a backup, or move the file away ` +
        'to begin with an empty store',
      { file },
    );
  }
  if (version !== SCHEMA_VERSION) {
    throw new CountersignError(
      'STORE_UNSAFE',
      `another version wrote the store ${file} (its schema is ${version}, ` +
        `and this version knows ${SCHEMA_VERSION}); run that version`,
      { file, version, known: SCHEMA_VERSION },
    );
  }
}

const pragma = (connection: DatabaseSync, name: string): number =>
  integer(connection.prepare(`PRAGMA ${name}`).get() ?? {}, name);

/** The database, and the two files beside it that exist while a connection is open. */
const SUFFIXES = ['', '-wal', '-shm'] as const;

/** Device and inode of each file, undefined for a file that did not exist. */
export type Identity = readonly (string | undefined)[];

/**
 * Detects that the files of a running service were moved, deleted or replaced. Without it, the service would
 * go on writing to files that no other process reads.
 */
export interface FileGuard {
  /**
   * Compares the files at the path with the opened ones. Throws STORE_MOVED if one was replaced or is
   * missing, and then at every later call too, because other processes may have written to files that this
   * process does not use. Throws STORE_UNREACHABLE if it can't read the path.
   */
  check(): void;
  /** Throws STORE_MOVED if an earlier check did. It does not access the file system. */
  throwIfMoved(): void;
}

export function createFileGuard(file: string, opened: Identity): FileGuard {
  let moved: CountersignError | undefined;
  const throwIfMoved = (): void => {
    if (moved !== undefined) throw moved;
  };
  return {
    throwIfMoved,
    check() {
      throwIfMoved();
      const now = currentIdentity(file);
      const at = SUFFIXES.findIndex(
        (_, index) => opened[index] !== undefined && opened[index] !== now[index],
      );
      if (at < 0) return;
      moved = movedError(`${file}${SUFFIXES[at] ?? ''}`, now[at] === undefined);
      throw moved;
    },
  };
}

function currentIdentity(file: string): Identity {
  try {
    return identityOf(file);
  } catch (thrown) {
    throw new CountersignError(
      'STORE_UNREACHABLE',
      `can't read the store ${file} (${messageOf(thrown)}); ` +
        "make its folder readable for this program's user",
      { file },
      thrown,
    );
  }
}

/** Throws the system's error, except for missing files. */
function identityOf(file: string): Identity {
  return SUFFIXES.map((suffix) => {
    const stats = statSync(`${file}${suffix}`, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
  });
}

function movedError(file: string, isGone: boolean): CountersignError {
  const what = isGone ? 'is gone' : 'is another file than the one that was opened';
  return new CountersignError(
    'STORE_MOVED',
    `${file} ${what}: it was moved, deleted or replaced while it was in use. ` +
      'Restore the right files, then restart the service',
    { file },
  );
}
