// Keeps Node's compile cache for the next start: sources without types, and compiled code.
import { lstatSync, mkdirSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';

/** Write permission of the group and of others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Keeps the cache in `folder`, unless NODE_COMPILE_CACHE names another folder. Who can write to the cache
 * controls the program, so the folder must belong to this user or to root, and nobody else may write to it.
 * Otherwise the program starts without a cache.
 */
export function keepCompiled(folder) {
  if (getCompileCacheDir() === undefined && isOurs(folder)) enableCompileCache(folder);
}

function isOurs(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(folder);
    const { uid, mode } = found;
    return found.isDirectory() && [process.getuid?.(), 0].includes(uid) && (mode & WRITABLE_BY_OTHERS) === 0;
  } catch {
    return false;
  }
}
