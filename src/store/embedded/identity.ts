import { statSync } from 'node:fs';
import { CountersignError, messageOf } from '../../errors.ts';

/** What SQLite keeps in the file, and in the two beside it for as long as anybody has it open. */
const SUFFIXES = ['', '-wal', '-shm'] as const;

/** Which files were opened: device and inode of each, undefined for one that was not there yet. */
export type Identity = readonly (string | undefined)[];

/** Tells whether the files that are open are still those at their path. */
export interface FileGuard {
  /**
   * Throws STORE_MOVED once another file, or none, was seen at the path, and from then on: what others wrote
   * meanwhile is in files that this process does not see. Throws STORE_UNREACHABLE while the path can't be
   * looked at.
   */
  expectSame(): void;
  /** The same, by what was seen so far, without looking. */
  expectSeenSame(): void;
}

/** What is at the path now. Throws what the system throws, but for files that are not there. */
export function identityOf(file: string): Identity {
  return SUFFIXES.map((suffix) => {
    const stats = statSync(`${file}${suffix}`, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
  });
}

/**
 * The files of a service that runs can be moved, deleted or restored under it: it would go on in files that
 * nobody else has.
 */
export function createFileGuard(file: string, opened: Identity): FileGuard {
  let moved: CountersignError | undefined;
  const expectSeenSame = (): void => {
    if (moved !== undefined) throw moved;
  };
  return {
    expectSeenSame,
    expectSame() {
      expectSeenSame();
      const now = lookAt(file);
      const at = SUFFIXES.findIndex(
        (_, index) => opened[index] !== undefined && opened[index] !== now[index],
      );
      if (at < 0) return;
      moved = movedError(`${file}${SUFFIXES[at] ?? ''}`, now[at] === undefined);
      throw moved;
    },
  };
}

function lookAt(file: string): Identity {
  try {
    return identityOf(file);
  } catch (thrown) {
    throw new CountersignError(
      'STORE_UNREACHABLE',
      `the store ${file} can't be looked at (${messageOf(thrown)}): make its folder readable for the user that runs this program`,
      { file },
      thrown,
    );
  }
}

function movedError(file: string, isGone: boolean): CountersignError {
  const what = isGone ? 'is gone' : 'is another file than the one that was opened';
  return new CountersignError(
    'STORE_MOVED',
    `${file} ${what}: it was moved, deleted or replaced while it was in use. Put the right files in place, then restart the service`,
    { file },
  );
}
