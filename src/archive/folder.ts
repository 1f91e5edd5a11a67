import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CountersignError, messageOf, usageError } from '../errors.ts';

/**
 * An archive is a directory with a folder for each source, which has numbered files such as
 * `shop/00000001-HASH.jsonl.gz`. The hash is 16 digits of the SHA-256 of the file's bytes. It also shows
 * changes that gzip does not notice.
 */
export interface ArchiveFile {
  readonly path: string;
  readonly number: number;
  /** The first 16 digits of the SHA-256 of its bytes, from its name. */
  readonly bytesHash: string;
}

export const HASH_DIGITS = 16;
/** No source can have this name. */
const LOCK = '.lock';
/** A killed archiver leaves this file. None of its entries were dropped. */
const TEMPORARY = 'unfinished.tmp';
const NAME = /^(\d{8})-([0-9a-f]{16})\.jsonl\.gz$/;

export const fileName = (number: number, bytesHash: string): string =>
  `${String(number).padStart(8, '0')}-${bytesHash}.jsonl.gz`;

const folderOf = (directory: string, source: string): string => join(directory, source);
export const temporaryOf = (folder: string): string => join(folder, TEMPORARY);

/** The files of a source by number, and the paths of other files. */
export function filesIn(folder: string): {
  readonly files: readonly ArchiveFile[];
  readonly others: readonly string[];
} {
  const files: ArchiveFile[] = [];
  const others: string[] = [];
  for (const name of readdirSync(folder).sort()) {
    const [, number, bytesHash = ''] = NAME.exec(name) ?? [];
    if (number !== undefined) files.push({ path: join(folder, name), number: Number(number), bytesHash });
    else if (name !== TEMPORARY) others.push(join(folder, name));
  }
  return { files, others };
}

/** The last file of a source, if it has files. Throws STORE_CORRUPT if two files have its number. */
export function lastFile(folder: string): ArchiveFile | undefined {
  const { files } = filesIn(folder);
  const last = files.at(-1);
  const duplicate = files.at(-2);
  if (last === undefined || duplicate?.number !== last.number) return last;
  throw archiveFault({
    file: last.path,
    line: 0,
    because: `${duplicate.path} has the same number. Remove one of them`,
  });
}

/**
 * Makes the folder of a source if it is missing, and removes the file of a killed archiver. The directory
 * itself must exist: a missing one may be a disk that is not mounted. Throws USAGE.
 */
export async function prepareFolder(directory: string, source: string): Promise<string> {
  const folder = folderOf(directory, source);
  try {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) await syncFolder(directory);
    rmSync(temporaryOf(folder), { force: true });
  } catch (thrown) {
    throw unusable(directory, messageOf(thrown));
  }
  return folder;
}

/** Throws USAGE unless it is a directory. */
export function expectDirectory(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw unusable(directory, 'there is no such directory');
}

const unusable = (directory: string, because: string): CountersignError =>
  usageError(
    `the directory ${directory} can't be used: ${because}. Make the directory, or mount ` +
      'its disk, and let this user write to it',
    { directory },
  );

/** A new name is on the disk only once its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const SQLITE_BUSY = 5;

/**
 * Holds the directory for one process, such as an archiver, until it is released or the process ends. SQLite
 * locks an empty file through the operating system, so a crash leaves no lock. Throws USAGE if another process
 * still holds it after `waitMs`, which block the thread.
 */
export function lockDirectory(directory: string, holder = 'archiver', waitMs = 0): { release(): void } {
  const file = join(directory, LOCK);
  let connection: DatabaseSync | undefined;
  try {
    connection = new DatabaseSync(file, { timeout: waitMs });
    connection.exec('BEGIN EXCLUSIVE');
    const held = connection;
    return { release: () => held.close() };
  } catch (thrown) {
    connection?.close();
    const held = isBusy(thrown);
    throw usageError(
      held
        ? `another ${holder} is running in ${directory}. Run this one when that has ended`
        : `${file} can't be locked: ${messageOf(thrown)}. Let this user write to the directory, and ` +
            'use a file system with locks',
      { directory, held },
    );
  }
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'errcode' in thrown && thrown.errcode === SQLITE_BUSY;
}

/** A fault of an archive and its place. Line 0 means the whole file. */
export interface ArchiveFault {
  readonly file: string;
  readonly line: number;
  readonly because: string;
}

export function archiveFault(fault: ArchiveFault): CountersignError {
  return new CountersignError(
    'STORE_CORRUPT',
    `the archive is damaged: ${formatPlace(fault)}: ${fault.because}. Restore the file from a ` +
      'copy. `countersign journal verify` lists all faults',
    { ...fault },
  );
}

export const formatPlace = ({ file, line }: Pick<ArchiveFault, 'file' | 'line'>): string =>
  line === 0 ? file : `${file}, line ${line}`;

/** The fault of an error of {@link archiveFault}. Undefined for any other error. */
export function faultOf(thrown: unknown): ArchiveFault | undefined {
  if (!(thrown instanceof CountersignError) || thrown.code !== 'STORE_CORRUPT') return undefined;
  const { file, line, because } = thrown.data;
  return typeof file === 'string' && typeof line === 'number' && typeof because === 'string'
    ? { file, line, because }
    : undefined;
}
