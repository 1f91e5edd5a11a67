import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { DatabaseSync, backup } from 'node:sqlite';
import { CountersignError, usageError } from '../../errors.ts';
import { SMALL_CACHE_KIB, closeDatabase, expectTables, openDatabase, placeFile } from './database.ts';
import { createJournal } from './journal.ts';
import { COMMAND_WAIT } from './lock.ts';
import { integer, text } from './rows.ts';
import { storeError } from './sqlite-errors.ts';
import { createTables } from './tables.ts';

/** What a backup has, or a store that was restored from it. */
export interface Copied {
  /** The absolute path of the copy. */
  readonly file: string;
  readonly bytes: number;
  /** Of all journals. */
  readonly entries: number;
  /** Undefined without entries. */
  readonly newestMs: number | undefined;
}

/** In one step, so that the copy is the store of one instant, whatever services write meanwhile. */
const ALL_PAGES = 0x7fff_ffff;

/**
 * Copies a store that services may be using to a new file, which is complete without a log. Rejects with
 * USAGE if `to` exists or its folder does not, and like openDatabase.
 */
export async function backUp(path: string, to: string): Promise<Copied> {
  const target = resolve(to);
  if (existsSync(target)) throw usage(`the file ${target} exists; name a new file for the backup`);
  if (!existsSync(dirname(target))) throw usage(`there is no folder ${dirname(target)}; create it first`);
  const source = openDatabase(path, { create: false, lockWait: COMMAND_WAIT, cacheKib: SMALL_CACHE_KIB });
  return making(target, async (part) => {
    try {
      await backup(source.connection, part, { rate: ALL_PAGES });
    } finally {
      closeDatabase(source);
    }
    chmodSync(part, statSync(source.file).mode);
    const connection = new DatabaseSync(part);
    try {
      return finished(target, part, connection);
    } finally {
      connection.close();
    }
  });
}

export interface Restoration {
  readonly by: string;
  readonly nowMs: number;
}

/**
 * Makes the store at `path` from a backup, or from a store that lost its log. Approvals are frozen as for any
 * lost data, because the copy does not have what was decided after it. Rejects with USAGE if there is a store
 * at the path, with STORE_UNSAFE or STORE_CORRUPT if the file is no complete store of this version.
 */
export async function restore(from: string, path: string, { by, nowMs }: Restoration): Promise<Copied> {
  const [source, target] = [resolve(from), resolve(path)];
  const found = [target, `${target}-wal`].find((file) => existsSync(file));
  if (found !== undefined) {
    throw usage(
      `${found} exists, and a restore replaces nothing; stop the services, and move ${target} away with its ` +
        '-wal and -shm files',
    );
  }
  if (!existsSync(source)) throw usage(`there is no file ${source}; name a backup`);
  mkdirSync(dirname(target), { recursive: true });
  return making(target, (part) => {
    copyFileSync(source, part);
    if (existsSync(`${source}-wal`)) copyFileSync(`${source}-wal`, `${part}-wal`);
    const connection = new DatabaseSync(part);
    try {
      expectTables(source, connection);
      freezeForLoss(connection, basename(source), { by, nowMs });
      return finished(target, part, connection);
    } finally {
      connection.close();
    }
  });
}

function freezeForLoss(connection: DatabaseSync, name: string, { by, nowMs }: Restoration): void {
  const { newestMs } = contentOf(connection);
  const newest =
    newestMs === undefined ? 'no entry' : `its newest entry of ${new Date(newestMs).toISOString()}`;
  const reason = `data was lost: restored from ${name.slice(0, 200)}, with ${newest}`;
  connection.exec('BEGIN IMMEDIATE');
  createTables(connection, createJournal(connection)).releases.freeze({ reason, by, kind: 'loss' }, nowMs);
  connection.exec('COMMIT');
}

/** Makes a file beside the target, and gives it the target's name only once it is complete. */
async function making(target: string, make: (part: string) => Copied | Promise<Copied>): Promise<Copied> {
  const part = `${target}.part-${randomUUID()}`;
  try {
    const made = await make(part);
    const descriptor = openSync(part, 'r');
    fsyncSync(descriptor);
    closeSync(descriptor);
    if (placeFile(part, target)) return made;
    throw usage(`the file ${target} exists meanwhile; it stays as it is`);
  } catch (thrown) {
    throw storeError(target, thrown);
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${part}${suffix}`, { force: true });
  }
}

/** Checks the copy, and moves its log into it. */
function finished(target: string, part: string, connection: DatabaseSync): Copied {
  const check = text(connection.prepare('PRAGMA quick_check(1)').get() ?? {}, 'quick_check');
  if (check !== 'ok') {
    throw new CountersignError('STORE_CORRUPT', `the copy is damaged (${check}); use an older backup`);
  }
  connection.exec('PRAGMA journal_mode = DELETE');
  return { file: target, bytes: statSync(part).size, ...contentOf(connection) };
}

function contentOf(connection: DatabaseSync): Pick<Copied, 'entries' | 'newestMs'> {
  const row = connection.prepare('SELECT count(*) AS entries, max(at_ms) AS newest FROM journal').get() ?? {};
  return {
    entries: integer(row, 'entries'),
    newestMs: row['newest'] === null ? undefined : integer(row, 'newest'),
  };
}

const usage = (message: string): CountersignError => usageError(message);
