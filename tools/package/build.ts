import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix, resolve } from 'node:path';
import { methodsTable } from '../../packages/platform/operations-page.ts';
import { clientDeclarations } from './declarations.ts';

/*
 * Makes the npm package of the platform's client: `npm run package`, or `npm run package -- FOLDER REPOSITORY`. npm
 * publishes a package with provenance only if it names the repository that it is made from.
 *
 * The compiler writes the JavaScript and the declarations of packages/platform/index.ts and of what it imports.
 * The declarations of client.ts are made from the operations. A file that the package doesn't import is removed, such as the declarations of its inner modules. The
 * packages that the rest imports become the dependencies, in the versions of package-lock.json.
 */

export const NAME = 'countersign-platform';
const ENTRY = 'packages/platform/index';
const CLIENT = 'packages/platform/client.d.ts';
/**
 * Older ones can't decrypt the answers of the scheme rsa-envelope. For md5, 20.19 is enough, which all
 * dependencies accept; tsconfig.json keeps the language at its level.
 */
const ENGINE = '^22.20.0 || >=24.5.0';
const ROOT = join(import.meta.dirname, '../..');
const README = join(ROOT, 'packages/platform/README.md');

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** A file of the package: its path, with `/`, and its text. */
export type Files = ReadonlyMap<string, string>;

/** Writes the package into a folder. Returns the path of the archive that npm installs. */
export function buildPackage(folder: string, repository?: string): string {
  const content = join(folder, NAME);
  rmSync(content, { recursive: true, force: true });
  compile(content);
  const compiled = new Map([...readFiles(content), [CLIENT, clientDeclarations()]]);
  const files = reachedFrom([`${ENTRY}.js`, `${ENTRY}.d.ts`], withJsEndings(compiled));
  rmSync(content, { recursive: true });
  for (const [path, text] of files) {
    mkdirSync(join(content, posix.dirname(path)), { recursive: true });
    writeFileSync(join(content, path), text);
  }
  const root = readJson('package.json') as Manifest;
  const manifest = {
    name: NAME,
    version: root.version,
    description: "The typed client of the platform's merchant API: payments, orders, balances, the bill",
    license: root.license,
    ...(repository !== undefined && {
      repository: { type: 'git', url: `git+${repository}.git`, directory: 'packages/platform' },
    }),
    type: 'module',
    sideEffects: false,
    exports: {
      '.': { types: `./${ENTRY}.d.ts`, default: `./${ENTRY}.js` },
      './package.json': './package.json',
    },
    engines: { node: ENGINE },
    dependencies: dependenciesOf(files, root, readJson('package-lock.json') as Lock),
  };
  writeFileSync(join(content, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  writeFileSync(join(content, 'README.md'), `${readFileSync(README, 'utf8')}\n${methodsTable()}\n`);
  cpSync(join(ROOT, 'LICENSE'), join(content, 'LICENSE'));
  run('npm', ['pack', '--silent', '--pack-destination', resolve(folder)], content);
  return join(resolve(folder), `${NAME}-${root.version}.tgz`);
}

function compile(folder: string): void {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const project = join(import.meta.dirname, 'tsconfig.json');
  run(process.execPath, [compiler, '--project', project, '--outDir', resolve(folder)], ROOT);
}

function readFiles(folder: string): Files {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length + 1).replaceAll('\\', '/'), readFileSync(path, 'utf8')]),
  );
}

const IMPORTED = /(?:\bfrom |^import |\bimport\()(['"])([^'"\n]+)\1/gm;

/** The compiler rewrites the imports of JavaScript alone. */
function withJsEndings(files: Files): Files {
  return new Map(
    Array.from(files, ([path, text]) => [
      path,
      text.replaceAll(IMPORTED, (found, _quote, name: string) =>
        name.startsWith('.') ? found.replace(/\.ts(?=['"]$)/, '.js') : found,
      ),
    ]),
  );
}

/** What a file imports, such as `../errors.js` or `zod`. */
export function importsOf(text: string): readonly string[] {
  return Array.from(text.matchAll(IMPORTED), ([, , name = '']) => name);
}

/** The files that these import, directly or not, and these. Declarations import declarations. */
function reachedFrom(entries: readonly string[], files: Files): Files {
  const reached = new Map<string, string>();
  const visit = (path: string): void => {
    const text = files.get(path);
    if (text === undefined) throw new Error(`${path} is imported, but the compiler didn't write it`);
    if (reached.has(path)) return;
    reached.set(path, text);
    for (const name of importsOf(text).filter((each) => each.startsWith('.'))) {
      const target = posix.join(posix.dirname(path), name);
      visit(path.endsWith('.d.ts') ? target.replace(/\.js$/, '.d.ts') : target);
    }
  };
  for (const entry of entries) visit(entry);
  return reached;
}

/**
 * The packages that the files import, with the versions of the lock file. Throws if one is not a dependency
 * of the project, or if a declaration needs a package, whose types each consumer would have to compile.
 */
export function dependenciesOf(
  files: Files,
  { dependencies }: Pick<Manifest, 'dependencies'>,
  { packages }: Lock,
): Readonly<Record<string, string>> {
  const found = new Map<string, string>();
  for (const [path, text] of files) {
    for (const imported of importsOf(text).filter((each) => !each.startsWith('.'))) {
      if (path.endsWith('.d.ts')) {
        throw new Error(
          `${path} needs the types of ${imported}; give what the client exports explicit types`,
        );
      }
      if (isBuiltin(imported)) continue;
      const name = imported.split('/', imported.startsWith('@') ? 2 : 1).join('/');
      const version = packages[`node_modules/${name}`]?.version;
      if (dependencies[name] === undefined || version === undefined) {
        throw new Error(
          `${path} imports ${name}, which is not in dependencies of package.json; add it there`,
        );
      }
      found.set(name, version);
    }
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stdout } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stdout ?? ''}`);
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(ROOT, 'dist');
  const archive = buildPackage(folder, process.argv[3]);
  const manifest = readFileSync(join(folder, NAME, 'package.json'), 'utf8');
  const { version, engines, dependencies } = JSON.parse(manifest) as Manifest & {
    readonly engines: { readonly node: string };
  };
  const needed = Object.entries(dependencies).map((each) => each.join(' '));
  console.log(`${NAME} ${version}: ${Math.ceil(statSync(archive).size / 1024)} KiB, in ${archive}
It needs Node ${engines.node}, and installs ${needed.join(', ')}.

  npm install ${archive}`);
}
