// What Node makes of the sources, types removed and code compiled, kept for the next start.
import { lstatSync, mkdirSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';

/** Rights to write of anybody but the owner. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Keeps it in `folder`, which is made if it can be, unless NODE_COMPILE_CACHE names another. Whoever can write there says what
 * the program does: so it is used only where it belongs to this user or to root, and nobody else may write to it. Without
 * it the program starts as well, only later.
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
