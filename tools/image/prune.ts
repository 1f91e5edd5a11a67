import { existsSync, readFileSync, readdirSync, rmSync, rmdirSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/*
 * Removes from a production installation what the service never reads. The Dockerfile runs it:
 *
 *   node prune.ts node_modules
 *
 * - TypeScript, which npm installs as an optional peer of viem.
 * - Types, sources of types and source maps, which Node doesn't read.
 * - viem and its own dependencies, except for the few modules that ENTRIES load.
 * - The parts of zod and OpenTelemetry for `require`, and the sources of zod. The service uses `import`. Only
 *   prom-client requires one of them: @opentelemetry/api.
 *
 * Licences and package.json stay in each package that stays.
 */

/** Optional peers of viem, which development needs. Nothing in the service imports them. */
export const UNUSED: readonly string[] = ['typescript', '@typescript'];
/** The imports of the service from the packages in OF_VIEM. */
export const ENTRIES: readonly string[] = ['viem/utils', '@scure/base'];
/** viem and its dependencies, which nothing else depends on. */
export const OF_VIEM: readonly string[] = [
  'viem',
  'ox',
  'abitype',
  'isows',
  'ws',
  'eventemitter3',
  '@adraffy',
  '@noble',
  '@scure',
];

const isUnread = (path: string): boolean => /\.(?:map|[cm]?tsx?|flow|tsbuildinfo)$/.test(path);
const isModule = (path: string): boolean => /\.[cm]?js$/.test(path);
const isForRequire = (path: string): boolean =>
  path.endsWith('.cjs') && !path.includes('/@opentelemetry/api/');
const isUnusedZod = (path: string): boolean => /\.cjs$|\/zod\/src\//.test(path);

if (import.meta.main) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('the folder is missing: run node prune.ts node_modules');
  const modules = resolve(folder);
  const loaded = await loadedBy(ENTRIES, modules);
  const before = bytesIn(modules);
  for (const name of UNUSED) rmSync(join(modules, name), { recursive: true, force: true });
  remove(modules, isUnread);
  remove(join(modules, 'zod'), isUnusedZod);
  remove(join(modules, '@opentelemetry'), isForRequire);
  for (const name of OF_VIEM) remove(join(modules, name), (path) => isModule(path) && !loaded.has(path));
  for (const name of OF_VIEM.flatMap((each) => packagesAt(modules, each))) {
    const inside = `${join(modules, name)}/`;
    if (![...loaded].some((path) => path.startsWith(inside)))
      rmSync(inside, { recursive: true, force: true });
  }
  removeEmptyFolders(modules);
  const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6);
  console.log(`node_modules: ${megabytes(bytesIn(modules))} MB of ${megabytes(before)} MB stay`);
}

/** The files that the entries load, with those of their dynamic imports. */
async function loadedBy(entries: readonly string[], modules: string): Promise<ReadonlySet<string>> {
  const files = new Set<string>();
  let importer = '';
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(
        specifier,
        context.parentURL === import.meta.url ? { ...context, parentURL: importer } : context,
      );
      if (found.url.startsWith('file:')) files.add(fileURLToPath(found.url));
      return found;
    },
  });
  importer = pathToFileURL(join(modules, '../importer.js')).href;
  for (const entry of entries) await import(entry);
  for (const file of files) {
    importer = pathToFileURL(file).href;
    const later = readFileSync(file, 'utf8').matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g);
    for (const [, specifier = ''] of later) await import(specifier);
  }
  hooks.deregister();
  return files;
}

/** The package itself, or the packages of a scope. */
function packagesAt(modules: string, name: string): readonly string[] {
  if (!existsSync(join(modules, name))) return [];
  return name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => join(name, each)) : [name];
}

function filesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function remove(folder: string, isUnneeded: (path: string) => boolean): void {
  for (const path of filesIn(folder)) if (isUnneeded(path)) rmSync(path);
}

function removeEmptyFolders(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name));
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}

function bytesIn(folder: string): number {
  return filesIn(folder).reduce((sum, path) => sum + statSync(path).size, 0);
}
