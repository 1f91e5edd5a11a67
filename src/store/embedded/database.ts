import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { CountersignError } from '../../errors.ts';
import { type LockWait, SERVICE_WAITS, createBegin } from './begin.ts';
import { storeFault } from './fault.ts';
import { type Identity, identityOf } from './identity.ts';
import { integer, text } from './rows.ts';
import { APPLICATION_ID, migrations } from './schema.ts';

/** Of a connection, at most. */
const CACHE_KIB = 32_768;

export interface Database {
  /** The absolute path. */
  readonly file: string;
  readonly connection: DatabaseSync;
  readonly identity: Identity;
  readonly lockWait: LockWait;
}

export interface OpenOptions {
  /** Default true. */
  readonly create?: boolean;
  /** Default: as a service waits. */
  readonly lockWait?: LockWait;
}

/**
 * Opens a file and brings it to the current schema. Where there is none, it is made with its folders if
 * `create` says so. Commits are on disk when they return (WAL, `synchronous` FULL). Throws SETTINGS_INVALID
 * for no file, STORE_MISSING, STORE_UNREACHABLE, STORE_CORRUPT if the file is no database of ours,
 * STORE_UNSAFE if a newer version wrote it or its file system can not share it safely.
 */
export function openDatabase(
  path: string,
  { create = true, lockWait = SERVICE_WAITS }: OpenOptions = {},
): Database {
  if (path === '' || path.startsWith(':memory:')) {
    throw new CountersignError(
      'SETTINGS_INVALID',
      `the embedded store keeps its decisions in a file, which "${path}" does not name: name one, such as embedded:data/countersign.db`,
      { path },
    );
  }
  const file = resolve(path);
  let connection: DatabaseSync | undefined;
  try {
    if (create) expectRoom(file);
    else expectStore(file);
    const before = identityOf(file);
    connection = new DatabaseSync(uriOf(file, create), { timeout: lockWait.waitMs });
    expectOurs(file, connection);
    const mode = connection.prepare('PRAGMA journal_mode = WAL').get();
    if (mode?.['journal_mode'] !== 'wal') {
      throw new CountersignError(
        'STORE_UNSAFE',
        `the file system of ${file} has no write-ahead log for SQLite: keep the store on a local disk`,
        { file },
      );
    }
    // What undoing one write of several needs would otherwise go to a file, and fail with another disk.
    connection.exec(
      `PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB}`,
    );
    migrate(file, connection, lockWait);
    const identity = identityOf(file);
    if (before[0] !== undefined && before[0] !== identity[0]) throw missing(file, 'was replaced just now');
    return { file, connection, identity, lockWait };
  } catch (thrown) {
    connection?.close();
    throw storeFault(file, thrown);
  }
}

/** SQLite itself keeps to the mode: a file that goes in between is not made anew. */
function uriOf(file: string, create: boolean): URL {
  const uri = pathToFileURL(file);
  uri.searchParams.set('mode', create ? 'rwc' : 'rw');
  return uri;
}

/** Only whoever makes stores may take an empty place for one. */
function expectStore(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw missing(file, 'is not there');
  if (stats.isFile() && stats.size === 0) throw missing(file, 'is empty');
}

/** A log without its file holds decisions, and SQLite would delete it. */
function expectRoom(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0 || !existsSync(`${file}-wal`)) return;
  throw new CountersignError(
    'STORE_UNSAFE',
    `the store ${file} is not there, but its log ${file}-wal is: bring the file back beside it, or move the log away to begin a new store`,
    { file },
  );
}

function missing(file: string, problem: string): CountersignError {
  return new CountersignError(
    'STORE_MISSING',
    `the store ${file} ${problem}: give the settings of the service with --config, or start the service, which makes it`,
    { file },
  );
}

const pragma = (connection: DatabaseSync, name: string): number =>
  integer(connection.prepare(`PRAGMA ${name}`).get() ?? {}, name);

/** The schema's version; 0 for a new file. */
function expectOurs(file: string, connection: DatabaseSync): number {
  const version = pragma(connection, 'user_version');
  const tables = integer(
    connection.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() ?? {},
    'tables',
  );
  if (tables > 0 && pragma(connection, 'application_id') !== APPLICATION_ID) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `the file ${file} is the database of another program: name another file for the store`,
      { file },
    );
  }
  if (version > migrations.length) {
    throw new CountersignError(
      'STORE_UNSAFE',
      `the store ${file} was written by a newer version (schema ${version}, this version knows ${migrations.length}): run that version`,
      { file, version, known: migrations.length },
    );
  }
  return version;
}

function migrate(file: string, connection: DatabaseSync, lockWait: LockWait): void {
  if (expectOurs(file, connection) === migrations.length) return;
  createBegin(file, connection, lockWait)();
  // Another process may have been here first.
  for (const step of migrations.slice(expectOurs(file, connection))) connection.exec(step);
  connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  connection.exec(`PRAGMA user_version = ${migrations.length}`);
  connection.exec('COMMIT');
}

export function sqliteVersion({ connection }: Database): string {
  return text(connection.prepare('SELECT sqlite_version() AS version').get() ?? {}, 'version');
}
