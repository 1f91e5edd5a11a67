import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { CountersignError, messageOf } from '../../errors.ts';
import { type LockWait, SERVICE_WAIT, createBegin } from './lock.ts';
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
 * Opens a file. With `create`, a missing file is created with its
 * folders. A commit is on disk when it returns (WAL, `synchronous` FULL). Throws SETTINGS_INVALID for a path
 * that is no file, STORE_MISSING, STORE_UNREACHABLE, STORE_CORRUPT for a file that is no database of this
 * program, and STORE_UNSAFE if another version wrote it or its file system can't share it safely.
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
    if (create) expectNoLostLog(file);
    else expectExisting(file);
    const before = identityOf(file);
    connection = new DatabaseSync(uriOf(file, create), { timeout: lockWait.waitMs });
    schemaVersionOf(file, connection);
    setPragmas(file, connection, cacheKib);
    createTables(file, connection, lockWait);
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
function uriOf(file: string, create: boolean): URL {
  const uri = pathToFileURL(file);
  uri.searchParams.set('mode', create ? 'rwc' : 'rw');
  return uri;
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
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0 || !existsSync(`${file}-wal`)) return;
  throw new CountersignError(
    'STORE_UNSAFE',
    `the store ${file} does not exist, but its write-ahead log ${file}-wal does; ` +
      'restore the file beside the log, or move the log away to begin with an empty store',
    { file },
  );
}

function storeMissing(file: string, problem: string): CountersignError {
  return new CountersignError(
    'STORE_MISSING',
    `the store ${file} ${problem}; pass the service's settings with --config, ` +
      'or start the service, which creates it',
    { file },
  );
}

function setPragmas(file: string, connection: DatabaseSync, cacheKib: number): void {
  const mode = connection.prepare('PRAGMA journal_mode = WAL').get();
  if (mode?.['journal_mode'] !== 'wal') {
    throw new CountersignError(
      'STORE_UNSAFE',
      `the file system of ${file} does not support SQLite's write-ahead log; keep the store on a local disk`,
      { file },
    );
  }
  // SQLite's rollback journal of savepoints stays in memory: a temporary file fails if another disk is full.
  connection.exec(`PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${cacheKib}`);
}

function createTables(file: string, connection: DatabaseSync, lockWait: LockWait): void {
  if (schemaVersionOf(file, connection) === SCHEMA_VERSION) return;
  createBegin(file, connection, lockWait)();
  // Another process may have created the tables meanwhile.
  if (schemaVersionOf(file, connection) === 0) {
    connection.exec(SCHEMA);
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    connection.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  }
  connection.exec('COMMIT');
}

/** 0 for a new file. Throws STORE_CORRUPT for another program's database, STORE_UNSAFE for another schema. */
function schemaVersionOf(file: string, connection: DatabaseSync): number {
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
  if (version !== 0 && version !== SCHEMA_VERSION) {
    throw new CountersignError(
      'STORE_UNSAFE',
      `another version wrote the store ${file} (its schema is ${version}, ` +
        `and this version knows ${SCHEMA_VERSION}); run that version`,
      { file, version, known: SCHEMA_VERSION },
    );
  }
  return version;
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
