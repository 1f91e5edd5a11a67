import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CountersignError, messageOf } from '../errors.ts';
import { LOCK } from './folder.ts';

const SQLITE_BUSY = 5;

/**
 * Holds the directory for one archiver, until it is released or the process ends, however that ends: SQLite
 * locks its (empty) file by the operating system, which nobody has to clear up after a crash. Throws USAGE
 * while another process holds it.
 */
export function lockDirectory(directory: string): { release(): void } {
  const file = join(directory, LOCK);
  let connection: DatabaseSync | undefined;
  try {
    connection = new DatabaseSync(file, { timeout: 0 });
    connection.exec('BEGIN EXCLUSIVE');
    const held = connection;
    return { release: () => held.close() };
  } catch (thrown) {
    connection?.close();
    throw new CountersignError(
      'USAGE',
      isBusy(thrown)
        ? `another archiver is at work in ${directory}; run this one once that has ended`
        : `${file} can't be locked: ${messageOf(thrown)}. Let this user write to the directory; its file system must know locks`,
      { directory },
    );
  }
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'errcode' in thrown && thrown.errcode === SQLITE_BUSY;
}
