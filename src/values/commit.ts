import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A commit of Git, named by SHA-1 or SHA-256. */
const NAME = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The commit that this program is made from, in full, or `unknown`. */
export const COMMIT = commitOf(fileURLToPath(new URL('../..', import.meta.url)));

/**
 * The commit of a folder: what its file `commit` says, which the build of the image writes, else what is
 * checked out there. Changes that are not committed don't show. Starts no program, and never throws.
 */
export function commitOf(folder: string): string {
  const written = textOf(join(folder, 'commit'));
  if (written !== '') return named(written);
  const link = /^gitdir: (.+)$/.exec(textOf(join(folder, '.git')))?.[1];
  const gitFolder = resolve(folder, link ?? '.git');
  const head = textOf(join(gitFolder, 'HEAD'));
  const ref = /^ref: (refs\/.+)$/.exec(head)?.[1];
  if (ref === undefined) return named(head);
  // The branches of a worktree are in the folder that it shares with the clone.
  const shared = resolve(gitFolder, textOf(join(gitFolder, 'commondir')));
  return named(textOf(join(gitFolder, ref)) || textOf(join(shared, ref)) || packed(shared, ref));
}

/** The commit of a branch that has no file of its own. */
function packed(gitFolder: string, ref: string): string {
  const lines = textOf(join(gitFolder, 'packed-refs')).split('\n');
  return lines.find((line) => line.endsWith(` ${ref}`))?.slice(0, -ref.length - 1) ?? '';
}

function named(text: string): string {
  return NAME.test(text) ? text : 'unknown';
}

/** The text of a file without white space around it; empty if it can't be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}
