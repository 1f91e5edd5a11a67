import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A small file system of the test's own, that can be filled up. */
export interface SmallDisk {
  readonly fill: () => void;
  readonly free: () => void;
  readonly unmount: () => void;
}

/**
 * Several times what a run of ten minutes writes: what really filled it would not go away with the filler.
 */
const SIZE = '512m';
const PIECE = Buffer.alloc(65_536);

/** Mounts one over an empty folder; undefined where that is not allowed, as it mostly is only to root. */
export function mountSmallDisk(folder: string): SmallDisk | undefined {
  const options = ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder];
  if (spawnSync('mount', options).status !== 0) return undefined;
  const filler = join(folder, 'filler');
  const unmount = (): void => void spawnSync('umount', ['-l', folder]);
  process.once('exit', unmount);
  return {
    fill() {
      const file = openSync(filler, 'w');
      try {
        // In ever smaller pieces, to the last byte.
        for (let size = PIECE.length; size >= 1;) {
          try {
            writeSync(file, PIECE, 0, size);
          } catch {
            size = Math.floor(size / 2);
          }
        }
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler, { force: true }),
    unmount() {
      process.off('exit', unmount);
      unmount();
    },
  };
}
