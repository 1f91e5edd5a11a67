import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/** For a thread or process: the folder that this program keeps compiled code in, so that it starts sooner. */
export function compileCacheEnv(): { readonly NODE_COMPILE_CACHE?: string } {
  // Node adds a folder for its version.
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
