import { readFileSync, readdirSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * Which folders of src, and which packages, a folder may import. Imports point one way; docs/architecture.md
 * draws it. A package imports exactly what the service owns of the wire format.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  values: ['errors'],
  callback: ['values', 'errors'],
  claims: ['values', 'errors'],
  policy: ['claims', 'callback', 'values', 'errors'],
  signature: ['values', 'errors'],
  'packages/platform': ['signature', 'values', 'errors'],
  settings: ['values', 'errors'],
  observe: ['values', 'errors'],
  'packages/opentelemetry': ['observe'],
  store: ['observe', 'claims', 'policy', 'callback', 'values', 'errors'],
  journal: ['store', 'claims', 'policy', 'callback', 'values', 'errors'],
  archive: ['journal', 'store', 'values', 'errors'],
  audit: ['archive', 'release', 'journal', 'store', 'values', 'errors'],
  'packages/sandbox': ['values', 'errors'],
  openapi: ['packages/platform', 'packages/sandbox', 'http', 'policy', 'callback', 'values', 'errors'],
  approvals: ['signature', 'store', 'policy', 'callback', 'values', 'errors'],
  release: ['approvals', 'signature', 'store', 'policy', 'callback', 'values', 'errors'],
  pipeline: ['store', 'policy', 'callback', 'signature', 'observe', 'values', 'errors'],
  notifications: ['plugins', 'store', 'settings', 'observe', 'values', 'errors'],
  plugins: ['pipeline', 'observe', 'policy', 'callback', 'values', 'errors'],
  simulation: [
    'journal',
    'orders',
    'release',
    'store',
    'pipeline',
    'claims',
    'policy',
    'callback',
    'values',
    'errors',
  ],
  replay: ['journal', 'store', 'signature', 'callback', 'values', 'errors'],
  orders: ['store', 'policy', 'callback', 'values', 'errors'],
  act: [
    'reconcile',
    'orders',
    'approvals',
    'signature',
    'release',
    'store',
    'policy',
    'callback',
    'values',
    'errors',
  ],
  reconcile: ['archive', 'journal', 'store', 'callback', 'values', 'errors'],
  console: [
    'act',
    'approvals',
    'journal',
    'reconcile',
    'archive',
    'simulation',
    'orders',
    'release',
    'store',
    'claims',
    'policy',
    'callback',
    'signature',
    'values',
    'errors',
  ],
  http: [
    'act',
    'console',
    'simulation',
    'orders',
    'pipeline',
    'store',
    'policy',
    'callback',
    'values',
    'errors',
  ],
  start: [
    'packages/opentelemetry',
    'approvals',
    'console',
    'journal',
    'simulation',
    'orders',
    'reconcile',
    'notifications',
    'plugins',
    'http',
    'pipeline',
    'release',
    'store',
    'policy',
    'callback',
    'signature',
    'settings',
    'observe',
    'values',
    'errors',
  ],
  cli: [
    'act',
    'approvals',
    'audit',
    'console',
    'journal',
    'openapi',
    'packages/platform',
    'packages/sandbox',
    'orders',
    'reconcile',
    'archive',
    'plugins',
    'simulation',
    'replay',
    'start',
    'http',
    'pipeline',
    'release',
    'store',
    'claims',
    'policy',
    'callback',
    'signature',
    'settings',
    'observe',
    'values',
    'errors',
  ],
  main: ['cli'],
  generate: ['packages/platform', 'policy', 'release', 'settings', 'store', 'errors'],
};

/** The only folders that may know a framework, and what `policy`, `claims` and `callback` may know at all. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  express: ['http'],
  'body-parser': ['http'],
  ioredis: ['store'],
  'ipaddr.js': ['values'],
  'node:sqlite': ['store', 'archive'],
  'node-rsa': ['signature'],
  winston: ['observe'],
  'prom-client': ['observe'],
  commander: ['cli', 'packages/platform', 'packages/sandbox'],
  yaml: ['values', 'cli'],
  '@scure/base': ['values'],
  '@marcbachmann/cel-js': ['policy'],
  cockatiel: ['plugins'],
  '@simplewebauthn/server': ['console', 'signature'],
  '@simplewebauthn/server/helpers': ['signature'],
  '@opentelemetry/api': ['packages/opentelemetry'],
  '@opentelemetry/sdk-trace': ['packages/opentelemetry'],
};
const PURE: Readonly<Record<string, readonly string[]>> = {
  claims: ['zod'],
  policy: ['zod', 'viem/utils', '@marcbachmann/cel-js'],
  callback: [],
};
/**
 * The only files of other folders that the sandbox may know: it reads and signs with code of its own, so that
 * a mistake of the receiver can't hide behind the same mistake of the sandbox.
 */
const KNOWN_TO_SANDBOX: ReadonlySet<string> = new Set([
  'src/errors.ts',
  'src/values/clock.ts',
  'src/values/text.ts',
]);
/** The files of a package that others may import: those that its package.json exports. */
const entries: ReadonlyMap<string, readonly string[]> = new Map(
  readdirSync(join(import.meta.dirname, '../packages')).map((name) => {
    const text = readFileSync(join(import.meta.dirname, '../packages', name, 'package.json'), 'utf8');
    const { exports } = JSON.parse(text) as { readonly exports: Readonly<Record<string, string>> };
    return [`packages/${name}`, Object.values(exports).map((file) => posix.join('packages', name, file))];
  }),
);
const IMPURE_CALLS = /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bprocess\.|\bsetTimeout\(|\bfetch\(/;

const IMPORTS = /^(?:import|export) [^;']*? from '([^']+)';$|^import '([^']+)';$|\bimport\('([^']+)'\)/gm;

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** What is wrong with a file's imports and calls, a sentence each. */
function faultsOf({ path, text }: SourceFile): readonly string[] {
  const room = roomOf(path);
  const imported = [...text.matchAll(IMPORTS)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
  const faults = imported.flatMap((name) => {
    if (!name.startsWith('.')) return packageFaults(room, name);
    const file = posix.normalize(posix.join(posix.dirname(path), name));
    const target = roomOf(file);
    if (room === 'packages/sandbox' && target !== room && !KNOWN_TO_SANDBOX.has(file)) {
      return [`the sandbox shares no code that reads or signs, and may not import ${file}`];
    }
    if (target === room) return [];
    if (ALLOWED[room]?.includes(target) !== true) return [`${room} may not import ${target}`];
    return entries.get(target)?.includes(file) === false ? [`${target} does not export ${file}`] : [];
  });
  const calls =
    Object.hasOwn(PURE, room) && IMPURE_CALLS.test(text) ? [`${room} is pure, and has a clock or I/O`] : [];
  return [...faults, ...calls].map((fault) => `${path}: ${fault}`);
}

function packageFaults(room: string, name: string): readonly string[] {
  const rooms = PACKAGES[name];
  if (rooms !== undefined && !rooms.includes(room))
    return [`only ${rooms.join(' and ')} may know ${name}, not ${room}`];
  const pure = PURE[room];
  return pure === undefined || pure.includes(name) ? [] : [`${room} is pure, and may not import ${name}`];
}

/** A circle of files that import each other, if there is one: the first file comes last again. */
function circleIn(files: readonly SourceFile[]): readonly string[] | undefined {
  const imports = new Map(
    files.map(({ path, text }) => [
      path,
      [...text.matchAll(IMPORTS)]
        .map((match) => match[1] ?? match[2] ?? '')
        .filter((name) => name.startsWith('.'))
        .map((name) => posix.normalize(posix.join(posix.dirname(path), name))),
    ]),
  );
  const done = new Set<string>();
  function from(path: string, way: readonly string[]): readonly string[] | undefined {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const next of imports.get(path) ?? []) {
      const circle = from(next, [...way, path]);
      if (circle !== undefined) return circle;
    }
    done.add(path);
    return undefined;
  }
  return [...imports.keys()].map((path) => from(path, [])).find((circle) => circle !== undefined);
}

/** The folder or file of src, such as `policy`, or the package, such as `packages/platform`. */
function roomOf(path: string): string {
  const [top = '', name = ''] = path.split('/');
  return top === 'src' ? name.replace(/\.ts$/, '') : `${top}/${name}`;
}

/** What these files import of the service and the packages, also through other files. */
function sharedBy(files: readonly SourceFile[]): readonly string[] {
  const reached = new Set<string>();
  const follow = ({ path, text }: SourceFile): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const match of text.matchAll(IMPORTS)) {
      const name = match[1] ?? match[2] ?? match[3] ?? '';
      if (!name.startsWith('.')) continue;
      const file = posix.normalize(posix.join(posix.dirname(path), name));
      follow({ path: file, text: readFileSync(join(import.meta.dirname, '..', file), 'utf8') });
    }
  };
  files.forEach(follow);
  return [...reached].filter((path) => /^(?:src|packages)\//.test(path));
}

/** Those of the service and of the packages, without tests. */
const sourceFiles = (): readonly SourceFile[] =>
  filesIn('src', 'packages').filter(({ path }) => !/^packages\/[^/]+\/test\//.test(path));

function filesIn(...folders: readonly string[]): readonly SourceFile[] {
  const root = join(import.meta.dirname, '..');
  return folders
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: relative(root, file).replaceAll('\\', '/'), text: readFileSync(file, 'utf8') }));
}

describe('dependencies point one way', () => {
  it('in every file of src and of the packages', () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap(faultsOf)).toEqual([]);
  });

  it('without circles between files, also of types', () => {
    expect(circleIn(sourceFiles())).toBeUndefined();
    const a = { path: 'src/policy/a.ts', text: "import type { B } from './rules/b.ts';" };
    const b = { path: 'src/policy/rules/b.ts', text: "import { c } from '../c.ts';" };
    const c = { path: 'src/policy/c.ts', text: "export { a } from './a.ts';" };
    expect(circleIn([a, b])).toBeUndefined();
    expect(circleIn([b, c, a])).toEqual([b.path, c.path, a.path, b.path]);
  });

  it('and what is decided or read a second time shares no code with the service', () => {
    const files = filesIn('test/reference', 'tools/fuzz/reference');
    expect(files.length).toBeGreaterThan(10);
    expect(sharedBy(files)).toEqual([]);
    const bad = {
      path: 'tools/fuzz/x.ts',
      text: "import { isUtf8 } from './reference/utf8.ts';\nimport { messageOf } from '../../src/errors.ts';",
    };
    expect(sharedBy([bad])).toEqual(['src/errors.ts']);
  });

  it.each<[SourceFile, string]>([
    [
      { path: 'src/policy/evaluate.ts', text: "import { settle } from '../store/store.ts';" },
      'policy may not import store',
    ],
    [
      { path: 'src/store/redis/open.ts', text: "import type { X } from '../../http/app.ts';" },
      'store may not import http',
    ],
    [
      { path: 'src/policy/rules/x.ts', text: "import { readFileSync } from 'node:fs';" },
      'policy is pure, and may not import node:fs',
    ],
    [
      { path: 'src/pipeline/decide.ts', text: "import express from 'express';" },
      'only http may know express, not pipeline',
    ],
    [
      { path: 'src/callback/x.ts', text: 'const now = Date.now();' },
      'callback is pure, and has a clock or I/O',
    ],
    [
      {
        path: 'packages/sandbox/signing.ts',
        text: "import { decodeMembers } from '../../src/values/members.ts';",
      },
      'the sandbox shares no code that reads or signs, and may not import src/values/members.ts',
    ],
    [
      {
        path: 'packages/sandbox/operations/x.ts',
        text: "import { md5 } from '../../../src/signature/md5.ts';",
      },
      'the sandbox shares no code that reads or signs, and may not import src/signature/md5.ts',
    ],
    [
      { path: 'src/policy/x.ts', text: "import { y } from '../../packages/platform/index.ts';" },
      'policy may not import packages/platform',
    ],
    [
      { path: 'src/cli/x.ts', text: "import { request } from '../../packages/platform/request.ts';" },
      'packages/platform does not export packages/platform/request.ts',
    ],
    [
      { path: 'packages/platform/x.ts', text: "import { y } from '../../src/store/store.ts';" },
      'packages/platform may not import store',
    ],
    [
      { path: 'packages/platform/commands/x.ts', text: "import { y } from '../../../src/cli/command.ts';" },
      'packages/platform may not import cli',
    ],
    [
      { path: 'src/cli/x.ts', text: "import { y } from '../../packages/sandbox/signing.ts';" },
      'packages/sandbox does not export packages/sandbox/signing.ts',
    ],
    [{ path: 'src/attic/x.ts', text: "import { y } from '../values/y.ts';" }, 'attic may not import values'],
  ])('and a file that breaks it is found: %o', (file, fault) => {
    expect(faultsOf(file)).toEqual([`${file.path}: ${fault}`]);
  });
});
