import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PROGRAM = join(ROOT, 'tools/image/build.ts');

/*
 * What `npm run image` does where something is missing or broken. The programs that it calls are scripts of
 * the test; test/deploy/built-image.test.ts builds the image with the real ones, where these are installed.
 */

interface Built {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The calls of buildah and mmdebstrap, a line each. */
  readonly calls: readonly string[];
}

interface Programs {
  readonly installed?: readonly string[];
  /** There is a base, which may be broken. */
  readonly base?: 'runs' | 'broken';
  /** Node does not start in the base that is made. */
  readonly makesBroken?: boolean;
}

function build({ installed = ['buildah', 'mmdebstrap'], base, makesBroken = false }: Programs): Built {
  const folder = temporaryFolder();
  const [bin, log] = [join(folder, 'bin'), join(folder, 'log')];
  mkdirSync(join(folder, 'npm/bin'), { recursive: true });
  mkdirSync(bin);
  const started = [base === 'runs' ? 'old' : '', makesBroken ? '' : 'new'].join('|');
  const scripts: Readonly<Record<string, string>> = {
    npm: 'echo null',
    mmdebstrap: '',
    buildah: `case "$1 $2" in
  "from scratch") echo new; exit 0;;
  "from "*) ${base === undefined ? 'exit 125' : 'echo old; exit 0'};;
esac
case "$1 $4 $6" in
  "run old node" | "run new node")
    case "|${started}|" in *"|$4|"*) exit 0;; esac
    echo "node: error while loading shared libraries: libatomic.so.1" >&2
    exit 127;;
esac`,
  };
  for (const name of ['npm', ...installed]) {
    const script = `#!/bin/sh\n[ "$1" = --version ] || echo "${name} $*" >> ${log}\n${scripts[name] ?? ''}\n`;
    writeFileSync(join(bin, name), script, { mode: 0o755 });
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, 'x:test'], {
    encoding: 'utf8',
    env: { PATH: bin, npm_execpath: join(folder, 'npm/bin/npm-cli.js') },
  });
  const calls = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  return { status, stdout, stderr, calls };
}

const made = ({ calls }: Built): boolean => calls.some((call) => call.startsWith('mmdebstrap '));
const kept = ({ calls }: Built): boolean => calls.some((call) => call.startsWith('buildah commit '));
const builds = ({ calls }: Built): boolean => calls.some((call) => call.startsWith('buildah build '));

const NOT_HERE =
  process.getuid?.() === 0 && existsSync('/etc/debian_version')
    ? ''
    : ' (not tried: it takes root on Debian)';

describe.skipIf(NOT_HERE !== '')(`npm run image${NOT_HERE}`, () => {
  it.each([
    [['mmdebstrap'], 'buildah is not installed: run `apt-get install --yes buildah` as root\n'],
    [['buildah'], 'mmdebstrap is not installed: run `apt-get install --yes mmdebstrap` as root\n'],
    [
      [],
      'buildah and mmdebstrap are not installed: run `apt-get install --yes buildah mmdebstrap` as root\n',
    ],
  ])('says in a line what is missing, if only %j is installed', (installed, said) => {
    expect(build({ installed })).toMatchObject({ status: 1, stderr: said, calls: [] });
  });

  it('makes a base with the libraries that Node needs, tries it, and builds on it', () => {
    const built = build({});
    expect(built).toMatchObject({ status: 0, stdout: expect.stringContaining('x:test is built') });
    expect(built.calls.join('\n')).toMatch(/^mmdebstrap .*libatomic1/m);
    const at = (start: string): number => built.calls.findIndex((call) => call.startsWith(start));
    expect(at('buildah run --isolation chroot new -- node')).toBeGreaterThan(at('mmdebstrap'));
    expect(at('buildah commit')).toBeGreaterThan(at('buildah run --isolation chroot new -- node'));
    expect(at('buildah build')).toBeGreaterThan(at('buildah commit'));
  });

  it('keeps no base in which Node does not start', () => {
    const built = build({ makesBroken: true });
    expect(built.status).toBe(1);
    expect(built.stderr).toMatch(
      /libatomic\.so\.1\nNode does not start in the base image.*add its Debian package/,
    );
    expect(built.stderr).not.toMatch(/^\s+at /m);
    expect([made(built), kept(built), builds(built)]).toEqual([true, false, false]);
  });

  it('uses the base that is there', () => {
    const built = build({ base: 'runs' });
    expect([built.status, made(built), builds(built)]).toEqual([0, false, true]);
  });

  it('makes a base that is broken again', () => {
    const built = build({ base: 'broken' });
    expect([built.status, made(built), kept(built), builds(built)]).toEqual([0, true, true, true]);
  });

  it('has every library that Node loads', () => {
    const node = join(ROOT, 'node_modules/node/bin/node');
    const { stdout } = spawnSync('ldd', [node], { encoding: 'utf8' });
    const libraries = [...stdout.matchAll(/^\s+(lib\S+)\.so/gm)].map(([, name = '']) => name);
    // libc6 and libgcc-s1 are in every Debian.
    const ofDebian = /^lib(?:c|m|dl|pthread|rt|gcc_s)$/;
    const added = libraries.filter((name) => !ofDebian.test(name));
    const text = readFileSync(PROGRAM, 'utf8');
    expect(added.length).toBeGreaterThan(0);
    for (const library of added) expect(text).toMatch(new RegExp(`'${library.replaceAll('+', '\\+')}\\d+'`));
  });
});
