import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlatformConfig } from '../../../packages/platform/connection.ts';
import { operations } from '../../../packages/platform/operations/registry.ts';
import { systemClock } from '../../../src/values/clock.ts';
import { type Runtime, runtimes } from '../../runtimes.ts';
import { NAME, buildPackage, dependenciesOf, importsOf } from '../../../tools/package/build.ts';
import {
  APP_KEY,
  SCHEMES,
  type TestSandbox,
  type TestScheme,
  startReceiver,
  startTestSandbox,
  usersOf,
} from '../../../packages/sandbox/test/sandbox.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PROGRAMS = ['consumer.ts', 'consumer-mistakes.ts'];
const DAY_MS = 86_400_000;

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly dependencies?: object }>>;
}

const jsonOf = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const root = jsonOf(join(ROOT, 'package.json')) as Manifest;
const lock = jsonOf(join(ROOT, 'package-lock.json')) as LockFile;

/** A consumer's folder outside of the repository, in which npm installed the archive. */
let folder: string;
let archive: string;
let manifest: Manifest;
/** The files of the installed package: path and text. */
let files: ReadonlyMap<string, string>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-package-'));
  archive = buildPackage(folder, 'https://git.example/ada/countersign');
  rmSync(join(folder, NAME), { recursive: true });
  writeConsumer();
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund'];
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm install failed: ${stderr}`);
  const installed = join(folder, 'node_modules', NAME);
  manifest = jsonOf(join(installed, 'package.json')) as Manifest;
  const entries = readdirSync(installed, { recursive: true, withFileTypes: true });
  files = new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(installed.length + 1), readFileSync(path, 'utf8')]),
  );
  compile(['consumer.ts'], { module: 'nodenext', noEmit: false, outDir: 'out' });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * The lock file has our own entries of the dependencies, so npm takes them from its cache. Otherwise it would
 * ask the registry for the versions that they have.
 */
function writeConsumer(): void {
  const dependencies = { [NAME]: `file:${archive}` };
  const own = { name: 'consumer', private: true, type: 'module', dependencies };
  const packages = Object.fromEntries(
    closureOf(['zod', 'node-rsa']).map((name) => [name, lock.packages[name]]),
  );
  const locked = { lockfileVersion: 3, requires: true, packages: { '': own, ...packages } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(own));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(locked));
  for (const name of PROGRAMS) cpSync(join(import.meta.dirname, name), join(folder, name));
}

function closureOf(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const path = `node_modules/${name}`;
    return [path, ...closureOf(Object.keys(lock.packages[path]?.dependencies ?? {}))];
  });
}

const ofKind = (ending: string): readonly (readonly [string, string])[] =>
  [...files].filter(([path]) => path.endsWith(ending));

describe('the archive', () => {
  it('holds JavaScript, declarations and three documents: no sources, no tests, no keys', () => {
    const others = [...files.keys()].filter((path) => !/\.(?:js|d\.ts)$/.test(path));
    expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json']);
    expect(ofKind('.js').length).toBeGreaterThan(operations.length);
    const folders = new Set([...files.keys()].map((path) => path.split('/').at(-2) ?? ''));
    expect([...folders].sort()).toEqual(['', 'operations', 'platform', 'signature', 'src', 'values']);
    const all = [...files.values()].join('\n');
    expect(all).not.toMatch(/-----BEGIN [A-Z ]+-----\s+[A-Za-z0-9+/]{20}/);
    expect(all).not.toContain(ROOT);
    expect(all).not.toMatch(/from '[^']+\.ts'/);
  });

  it('names the repository that it is made from, as npm wants it for provenance', () => {
    const url = 'git+https://git.example/ada/countersign.git';
    expect(manifest).toMatchObject({ repository: { type: 'git', url, directory: 'packages/platform' } });
  });

  it('has the version and the license of the project, its Node versions, and no side effects', () => {
    const { version, license } = root;
    const engines = { node: '^22.20.0 || >=24.5.0' };
    expect(manifest).toMatchObject({ version, license, engines, type: 'module', sideEffects: false });
    expect(files.get('LICENSE')).toBe(readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
  });

  it('is the workspace with the same version, whose dependencies have the ranges of the project', () => {
    const own = jsonOf(join(ROOT, 'packages/platform/package.json')) as Manifest;
    expect(own).toMatchObject({ name: NAME, version: root.version, license: root.license });
    expect(root.dependencies).toMatchObject(own.dependencies);
  });

  it('depends on each package that it imports, in the version of the lock file, and on no other', () => {
    const imported = ofKind('.js')
      .flatMap(([, source]) => importsOf(source))
      .filter((name) => !name.startsWith('.') && !isBuiltin(name));
    const versions = [...new Set(imported)].map((name) => [
      name,
      lock.packages[`node_modules/${name}`]?.version,
    ]);
    expect(versions.length).toBeGreaterThan(0);
    expect(manifest.dependencies).toEqual(Object.fromEntries(versions));
  });

  it('installs nothing of the server', () => {
    const installed = jsonOf(join(folder, 'node_modules/.package-lock.json')) as LockFile;
    const expected = [`node_modules/${NAME}`, ...closureOf(Object.keys(manifest.dependencies))];
    expect(Object.keys(installed.packages).sort()).toEqual(expected.sort());
    expect(expected.length).toBeLessThan(6);
  });

  it('has declarations that load no types of other packages, nor of Node', () => {
    expect(ofKind('.d.ts').length).toBeGreaterThan(5);
    const foreign = ofKind('.d.ts').flatMap(([, source]) =>
      [...importsOf(source), ...(/<reference [^>]*>/.exec(source) ?? [])].filter(
        (name) => !name.startsWith('.'),
      ),
    );
    expect(foreign).toEqual([]);
  });

  it('has a comment on each operation, and on each type of its parameters, data and records', () => {
    const lines = (files.get('packages/platform/client.d.ts') ?? '').split('\n');
    const declared = lines.flatMap((line, at) =>
      /^export |: (?:Verb|ListAll)</.test(line) ? [{ line, before: lines[at - 1] ?? '' }] : [],
    );
    expect(declared.length).toBeGreaterThan(4 * operations.length);
    expect(declared.filter(({ before }) => !before.endsWith('*/'))).toEqual([]);
    for (const { section } of operations) expect(lines.join('\n')).toContain(`(${section}).`);
    // An editor offers the documented values.
    expect(lines).toContain('  readonly status: Known<0 | 1 | 2 | 3 | 4 | 5 | 6>;');
  });

  it('gives access to its entry alone', () => {
    const { resolve } = createRequire(join(folder, 'consumer.js'));
    expect(resolve(NAME)).toMatch(/platform\/index\.js$/);
    expect(() => resolve(`${NAME}/packages/platform/request.js`)).toThrow(/not defined by "exports"/);
  });

  it('has a page that names each method', () => {
    for (const { name } of operations) expect(files.get('README.md')).toContain(`\`${name}\``);
  });
});

describe('the build stops', () => {
  const dependencies = { zod: '^4.0.0' };
  const packages = { 'node_modules/zod': { version: '4.6.7' }, 'node_modules/vitest': { version: '5.1.1' } };
  const dependenciesIn = (path: string, source: string) =>
    dependenciesOf(new Map([[path, source]]), { dependencies }, { packages });

  it('not at an import of a dependency or of Node', () => {
    const source = "import { z } from 'zod/mini';\nimport 'node:http';\nexport * from './other.js';";
    expect(dependenciesIn('a.js', source)).toEqual({ zod: '4.6.7' });
  });

  it.each([
    ['a.js', "import { it } from 'vitest';", 'a.js imports vitest, which is not in dependencies'],
    ['a.js', "await import('@scope/name/part');", 'a.js imports @scope/name, which is not'],
    ['a.js', "export * from 'left-out';", 'a.js imports left-out, which is not'],
    ['a.d.ts', "import { z } from 'zod';", 'a.d.ts needs the types of zod'],
    [
      'a.d.ts',
      "export declare const key: import('node:crypto').KeyObject;",
      'needs the types of node:crypto',
    ],
  ])('at %s with %s', (path, source, message) => {
    expect(() => dependenciesIn(path, source)).toThrow(message);
  });
});

/** What the compiler reports on programs of the consumer, and the files that it loaded. */
function compile(programs: readonly string[], options: Readonly<Record<string, unknown>>): string {
  const compilerOptions = {
    target: 'es2022',
    strict: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    typeRoots: [join(ROOT, 'node_modules/@types')],
    types: ['node'],
    noEmit: true,
    listFiles: true,
    ...options,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: programs }));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler], { cwd: folder, encoding: 'utf8' });
  for (const program of programs) expect(stdout).toContain(join(folder, program));
  return stdout;
}

/** The examples of the package's page, each as a program. */
function examples(): readonly string[] {
  const blocks = (files.get('README.md') ?? '').matchAll(/```ts\n([^]*?)```/g);
  return Array.from(blocks, ([, source = ''], at) => {
    writeFileSync(join(folder, `example-${at}.ts`), source);
    return `example-${at}.ts`;
  });
}

const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
];

describe.each(RESOLUTIONS)('the compiler, with moduleResolution $moduleResolution', (resolution) => {
  it('accepts the programs and the examples of the page, and finds each mistake', () => {
    const programs = [...PROGRAMS, ...examples()];
    expect(programs.length).toBeGreaterThan(4);
    const reported = compile(programs, resolution);
    expect(reported).not.toMatch(/error TS/);
    expect(reported).toContain(`${NAME}/packages/platform/client.d.ts`);
    expect(reported).not.toMatch(/node_modules\/(?:zod|node-rsa)\//);
  });
});

describe('the declarations, which are made from the operations,', () => {
  /** What the compiler reports on a program that takes the client of the sources for the declared one. */
  function compileProof(edit: (declarations: string) => string): string {
    const declared = join(folder, 'node_modules', NAME, 'packages/platform/proof.d.ts');
    writeFileSync(declared, edit(files.get('packages/platform/client.d.ts') ?? ''));
    writeFileSync(
      join(folder, 'proof.ts'),
      `import type { createPlatform as declared } from '${declared.replace(/\.d\.ts$/, '.js')}';
import { createPlatform } from '${join(ROOT, 'packages/platform/client.ts')}';
export const proof: typeof declared = createPlatform;`,
    );
    const { compilerOptions } = jsonOf(join(ROOT, 'tsconfig.json')) as { readonly compilerOptions: object };
    return compile(['proof.ts'], { ...compilerOptions, paths: {} });
  }

  it('agree with the types of the schemas', () => {
    expect(compileProof((whole) => whole)).not.toMatch(/error TS/);
  });

  it.each([
    ['a parameter', 'readonly orderAmount: WrittenAmount;', 'readonly orderAmount: number;'],
    ['a member of the data', 'readonly expireIn: number;', 'readonly expireIn: string;'],
    ['a member of a record', 'readonly payTime: string | null;', 'readonly payTime: string;'],
  ])('and are refused where %s differs', (_, right, wrong) => {
    const edited = (whole: string): string => {
      expect(whole).toContain(right);
      return whole.replace(right, wrong);
    };
    expect(compileProof(edited)).toMatch(/proof\.ts\(3,.*error TS2322/);
  });
});

it('the compiler needs no types of Node where there are those of a browser', () => {
  const options = { module: 'nodenext', types: [], lib: ['es2022', 'dom'] };
  expect(compile(['consumer-mistakes.ts'], options)).not.toMatch(/error TS/);
});

/** Whether it decrypts the answers of rsa-envelope: ^22.20.0 || >=24.5.0. */
const decrypts = ({ release }: Runtime): boolean => (release >= 22.02 && release < 23) || release >= 24.005;

describe.each(runtimes(20.019))('on Node $version', (runtime) => {
  const { program } = runtime;
  it.each(decrypts(runtime) ? SCHEMES : (['md5'] as const))(
    'a consumer pays, reads all pages, and gets typed errors, with %s',
    async (scheme) => {
      const saw = await run(program, scheme);
      expect(saw).toEqual({
        amount: '0.00000001',
        ids: expect.any(Array),
        count: saw.ids.length,
        again: { code: 'PLATFORM_REFUSED', outcome: 'unknown', refusal: '70002' },
        rounded: { code: 'PLATFORM_PARAMETER', outcome: 'not-sent' },
        unreachable: { code: 'PLATFORM_UNREACHABLE', outcome: 'not-sent' },
        misconfigured: { code: 'USAGE' },
      });
      expect(saw.ids.length).toBeGreaterThan(4);
      expect(new Set(saw.ids).size).toBe(saw.ids.length);
    },
  );
});

it.each(runtimes(20.019).filter((each) => !decrypts(each)))(
  'on Node $version, no client is made that could not decrypt answers',
  async ({ program }) => {
    await expect(run(program, 'rsa-envelope')).rejects.toThrow("can't decrypt answers");
  },
);

/** What the consumer's program saw of a new sandbox. Rejects with what it wrote to its standard error. */
async function run(program: string, scheme: TestScheme): Promise<{ readonly ids: readonly string[] }> {
  const sandbox = await startSandbox();
  const [user] = await usersOf(sandbox);
  const input = {
    config: configOf(sandbox, scheme),
    userId: String(user.uid),
    day: new Date(systemClock() - 3 * DAY_MS).toISOString().slice(0, 10),
  };
  const child = spawn(program, ['out/consumer.js'], {
    cwd: folder,
    env: { INPUT: JSON.stringify(input) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (err !== '') throw new Error(err);
  return JSON.parse(out) as { readonly ids: readonly string[] };
}

async function startSandbox(): Promise<TestSandbox> {
  const receiver = await startReceiver((_received, response) => response.end('SUCCESS'));
  return startTestSandbox({ receiver: receiver.url, clock: systemClock, standsAtMs: undefined });
}

function configOf({ url, folder: keys }: TestSandbox, scheme: TestScheme): PlatformConfig {
  const key = (name: string): string => readFileSync(join(keys, name), 'utf8').trim();
  const platformKey = key('platform.public.pem');
  const credentials =
    scheme === 'md5'
      ? { scheme, appKey: APP_KEY, secret: key('shop.secret') }
      : { scheme, appKey: APP_KEY, merchantKey: key('merchant.private.pem'), platformKey };
  return { url: new URL(url).origin, credentials };
}

describe('a bundler', () => {
  async function bundle(source: string): Promise<string> {
    const input = join(folder, 'app.js');
    writeFileSync(input, source);
    const bundled = await rolldown({ input, platform: 'node', logLevel: 'silent' });
    const { output } = await bundled.generate();
    return output[0].code;
  }

  it('leaves out all operations and dependencies if only the error is used', async () => {
    const code = await bundle(`import { PlatformError } from '${NAME}';\nconsole.log(PlatformError.name);\n`);
    expect(code).toContain('PlatformError = class');
    expect(operations.filter(({ name }) => code.includes(name))).toEqual([]);
    expect(importsOf(code)).toEqual([]);
    expect(code.length).toBeLessThan(5000);
  });

  it('makes a program of the client that needs nothing but Node, and none of its threads', async () => {
    const code = await bundle(`import { createPlatform } from '${NAME}';\nconsole.log(createPlatform);\n`);
    expect(operations.filter(({ name }) => !code.includes(name))).toEqual([]);
    expect(importsOf(code).filter((name) => !isBuiltin(name))).toEqual([]);
    expect(importsOf(code)).not.toContain('node:worker_threads');
  });
});
