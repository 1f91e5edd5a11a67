import { readdir } from 'node:fs/promises';
import { messageOf, usageError } from '../errors.ts';

/** Throws USAGE unless the directory is empty or does not exist. `otherwise`: what else the caller can do. */
export async function checkEmpty(directory: string, otherwise = ''): Promise<void> {
  let names: readonly string[];
  try {
    names = await readdir(directory);
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return;
    throw usageError(`${directory} can't be read: ${messageOf(thrown)}. Name a directory`);
  }
  if (names.length === 0) return;
  throw usageError(`${directory} is not empty. Name a new directory${otherwise}`);
}
