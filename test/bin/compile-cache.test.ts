import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

const KEEPER = new URL('../../bin/compile-cache.js', import.meta.url);

interface Program {
  readonly cache: string;
  readonly write: (answer: string) => void;
  /** What it answers, and the folder that is in use, if any. */
  readonly run: (env?: Readonly<Record<string, string>>) => {
    readonly answer: string;
    readonly inUse?: string;
  };
}

/** A program in two files, of which the second is TypeScript. */
function program(): Program {
  const folder = temporaryFolder();
  const cache = join(folder, 'cache');
  const main = join(folder, 'main.mjs');
  const write = (answer: string): void =>
    writeFileSync(join(folder, 'answer.ts'), `export const answer: string = '${answer}';\n`);
  writeFileSync(
    main,
    `import { getCompileCacheDir } from 'node:module';
import { keepCompiled } from ${JSON.stringify(KEEPER.href)};
keepCompiled(${JSON.stringify(cache)});
const { answer } = await import('./answer.ts');
console.log(JSON.stringify({ answer, inUse: getCompileCacheDir() }));
`,
  );
  write('FAILURE');
  return {
    cache,
    write,
    run(env = {}) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [main], { encoding: 'utf8', env });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      return JSON.parse(stdout) as ReturnType<Program['run']>;
    },
  };
}

/** Whatever the umask. */
function makeFolder(path: string, mode: number): string {
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

const entriesOf = (cache: string): readonly string[] =>
  readdirSync(cache, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('compiled code is kept', () => {
  it('in a folder that only its owner may read or write, and taken from there', () => {
    const { cache, run } = program();
    const { answer, inUse } = run();
    expect(answer).toBe('FAILURE');
    expect(inUse?.startsWith(cache)).toBe(true);
    expect(lstatSync(cache).mode & 0o777).toBe(0o700);
    expect(entriesOf(cache)).not.toEqual([]);
    expect(run()).toEqual({ answer, inUse });
  });

  it('and is not used for a source that has changed since', () => {
    const { write, run } = program();
    expect(run().answer).toBe('FAILURE');
    write('SUCCESS');
    expect(run().answer).toBe('SUCCESS');
    write('FAILURE');
    expect(run().answer).toBe('FAILURE');
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['emptied', () => Buffer.alloc(0)],
    ['cut off', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['of other bytes', (bytes) => Buffer.from(bytes.map((byte) => byte ^ 0xff))],
    ['altered in its last byte', (bytes) => Buffer.from([...bytes.subarray(0, -1), (bytes.at(-1) ?? 0) ^ 1])],
  ])('nor where it is %s', (_, damage) => {
    const { cache, run } = program();
    run();
    for (const entry of entriesOf(cache)) writeFileSync(entry, damage(readFileSync(entry)));
    expect(run().answer).toBe('FAILURE');
  });

  it('where NODE_COMPILE_CACHE says, and nowhere if it is turned off', () => {
    const { cache, run } = program();
    const named = `${cache}-named`;
    expect(run({ NODE_COMPILE_CACHE: named }).inUse?.startsWith(named)).toBe(true);
    expect(existsSync(cache)).toBe(false);
    expect(run({ NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual({ answer: 'FAILURE' });
  });
});

describe('the program starts without it', () => {
  it.each<[string, (cache: string) => void]>([
    ['the group may write to the folder', (cache) => makeFolder(cache, 0o720)],
    ['everybody may', (cache) => makeFolder(cache, 0o1777)],
    [
      'the folder is a link, also to one that would do',
      (cache) => symlinkSync(makeFolder(`${cache}-other`, 0o700), cache),
    ],
    ['the link leads nowhere', (cache) => symlinkSync(`${cache}-nowhere`, cache)],
    ['it is a file', (cache) => writeFileSync(cache, '', { mode: 0o600 })],
  ])('where %s', (_, make) => {
    const { cache, run } = program();
    make(cache);
    expect(run()).toEqual({ answer: 'FAILURE' });
  });

  it.runIf(process.getuid?.() === 0)('where it belongs to somebody else', () => {
    const { cache, run } = program();
    chownSync(makeFolder(cache, 0o700), 12_345, 12_345);
    expect(run()).toEqual({ answer: 'FAILURE' });
  });
});
