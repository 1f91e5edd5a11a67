import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { FoundFault } from './faults.ts';
import { storeAddress } from './store-address.ts';
import type { Settings } from './schema.ts';

/** Settings, wherever they stand, whose text is the path of a file or a folder. */
const PATH_NAMES: ReadonlySet<string> = new Set(['file', 'directory', 'certificate', 'clientCa', 'ca']);
const EMBEDDED = 'embedded:';

/**
 * Where the relative paths of a settings file begin: in its folder, so that a command means the same files
 * from wherever it is called. What is no file, such as /dev/null, has no folder that could be meant: there it
 * is the working directory.
 */
export function baseFolder(file: string): string {
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
  return isFile ? dirname(resolve(file)) : process.cwd();
}

/** Makes every path of the settings absolute, in place. */
export function resolvePaths(settings: Settings, folder: string): void {
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [name, value] of Object.entries(node)) {
      if (PATH_NAMES.has(name) && typeof value === 'string') Reflect.set(node, name, resolve(folder, value));
      else visit(value);
    }
  };
  visit(settings);
  const path = embeddedPath(settings.store.url);
  if (path !== undefined) settings.store.url = `${EMBEDDED}${resolve(folder, path)}`;
}

/**
 * Earlier versions began at the working directory. A store that still lies there must not be taken for none:
 * a new one in its stead would know of no decision and no limit.
 */
export function movedStore({ store }: Settings, folder: string): readonly FoundFault[] {
  const path = embeddedPath(store.url);
  if (path === undefined) return [];
  const [now, before] = [resolve(folder, path), resolve(path)];
  if (now === before || existsSync(now) || !existsSync(before)) return [];
  return [
    {
      path: ['store', 'url'],
      problem: `is ${now}, which is not there, while there is a store at ${before}, where earlier versions looked`,
      cure: `move that one with its -wal and -shm files, or write embedded:${before} if it is the one that is meant`,
    },
  ];
}

/** Undefined for Redis, and for what names no file and is refused when it is opened. */
function embeddedPath(url: string): string | undefined {
  const address = storeAddress(url);
  return address?.kind === 'embedded' && !address.path.startsWith(':memory:') ? address.path : undefined;
}
