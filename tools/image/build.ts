import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { COMMIT } from '../../src/values/commit.ts';

/*
 * Builds the image of the Dockerfile without an image registry: `npm run image`, as root, on Debian.
 *
 * It makes the base image that the Dockerfile names: mmdebstrap from the mirrors of apt, with the Node that
 * package-lock.json pins and the npm that runs this. Then buildah, without a daemon, builds the Dockerfile.
 * Use the result for trials only, since nobody updates this base. Build images for production on the
 * Dockerfile's own base.
 */

const ROOT = join(import.meta.dirname, '../..');
const [, VERSION = ''] = /"version": "(.*)"/.exec(readFileSync(join(ROOT, 'package.json'), 'utf8')) ?? [];
/** The name in compose.yaml, unless another one is given. */
const IMAGE = process.argv[2] ?? `countersign:${VERSION}`;
const [, BASE = ''] = /^FROM (\S+)/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')) ?? [];
const NODE = join(ROOT, 'node_modules/node/bin/node');

/** What the base has besides Debian's own: the libraries that Node loads, and the certificate authorities. */
const PACKAGES = ['libstdc++6', 'libatomic1', 'ca-certificates'];

/** The program can't go on; the message says why and what to do. */
class BuildFailure extends Error {}

try {
  build();
  console.log(`${IMAGE} is built`);
} catch (thrown) {
  if (!(thrown instanceof BuildFailure)) throw thrown;
  console.error(thrown.message);
  process.exitCode = 1;
}

function build(): void {
  requireDebian();
  requirePrograms('buildah', 'mmdebstrap');
  if (!existsSync(NODE)) fail(`there is no ${NODE}, which goes into the base image: run \`npm ci\``);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-base-'));
  try {
    if (!hasBase()) makeBase(folder);
    run(
      'buildah',
      'build',
      '--isolation',
      'chroot',
      '--pull-never',
      '--format',
      'docker',
      '--build-arg',
      `REVISION=${COMMIT === 'unknown' ? '' : COMMIT}`,
      '--tag',
      IMAGE,
      ROOT,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether there is a base in which Node and npm run. One in which they don't is made again. */
function hasBase(): boolean {
  const { status, stdout } = spawnSync('buildah', ['from', '--pull-never', BASE], { encoding: 'utf8' });
  if (status !== 0) return false;
  const container = stdout.trim();
  try {
    return startsIn(container);
  } finally {
    outputOf('buildah', 'rm', container);
  }
}

/** Whether both programs of the base start in the container. */
function startsIn(container: string): boolean {
  return ['node', 'npm'].every((program) => {
    const args = insideOf(container, program, '--version');
    return spawnSync('buildah', args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
  });
}

function insideOf(container: string, ...command: readonly string[]): readonly string[] {
  return ['run', '--isolation', 'chroot', container, '--', ...command];
}

/** Makes the base image: Debian, the user `node`, Node and npm. */
function makeBase(scratch: string): void {
  const [, suite = ''] = /^VERSION_CODENAME=(\w+)/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
  const system = join(scratch, 'base.tar');
  run(
    'mmdebstrap',
    '--quiet',
    '--variant=minbase',
    `--include=${PACKAGES.join()}`,
    suite,
    system,
    ...aptSources(),
  );
  const local = join(scratch, 'usr-local');
  mkdirSync(join(local, 'bin'), { recursive: true });
  cpSync(NODE, join(local, 'bin/node'));
  cpSync(npmFolder(), join(local, 'lib/node_modules/npm'), { recursive: true, dereference: true });
  configureNpm(local);
  const container = outputOf('buildah', 'from', 'scratch');
  try {
    run('buildah', 'add', '--quiet', container, system, '/');
    run('buildah', 'add', '--quiet', container, local, '/usr/local');
    const inside = (...command: string[]): void => run('buildah', ...insideOf(container, ...command));
    inside('groupadd', '--gid', '1000', 'node');
    inside('useradd', '--uid', '1000', '--gid', 'node', '--shell', '/bin/bash', '--create-home', 'node');
    inside('ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm');
    run('buildah', 'config', '--env', 'PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', container);
    if (!startsIn(container)) {
      fail(
        'Node does not start in the base image that was made, for the reason above, and the base was not kept. ' +
          'If a library is missing, add its Debian package to PACKAGES in tools/image/build.ts',
      );
    }
    run('buildah', 'commit', '--quiet', container, BASE);
  } finally {
    outputOf('buildah', 'rm', container);
  }
}

/** The mirrors that apt uses here. */
function aptSources(): readonly string[] {
  const more = '/etc/apt/sources.list.d';
  const listed = existsSync(more) ? readdirSync(more).map((name) => join(more, name)) : [];
  return ['/etc/apt/sources.list', ...listed].filter(
    (path) =>
      /\.(?:list|sources)$/.test(path) &&
      existsSync(path) &&
      /^[^#\n]*\bdeb\b/m.test(readFileSync(path, 'utf8')),
  );
}

function npmFolder(): string {
  const npm = process.env['npm_execpath'];
  if (npm === undefined) return fail('npm is unknown: run this with `npm run image`');
  return dirname(dirname(npm));
}

/** Gives the image's npm the registry and the certificate authorities of this machine's npm. */
function configureNpm(local: string): void {
  mkdirSync(join(local, 'etc'));
  const setting = (name: string): string => outputOf('npm', 'config', 'get', name);
  const lines = [`registry=${setting('registry')}`];
  const own = setting('cafile');
  const authorities = own === 'null' ? process.env['NODE_EXTRA_CA_CERTS'] : own;
  if (authorities !== undefined) {
    cpSync(authorities, join(local, 'etc/authorities.pem'), { dereference: true });
    lines.push('cafile=/usr/local/etc/authorities.pem');
  }
  writeFileSync(join(local, 'etc/npmrc'), `${lines.join('\n')}\n`);
}

function requireDebian(): void {
  if (!existsSync('/etc/debian_version')) {
    fail(
      'the base image is made from Debian packages: run this on Debian, or build the Dockerfile with Docker',
    );
  }
  if (process.getuid?.() !== 0) fail('making a base image takes root: run `sudo npm run image`');
}

function requirePrograms(...names: readonly string[]): void {
  const missing = names.filter((name) => spawnSync(name, ['--version']).error !== undefined);
  if (missing.length === 0) return;
  const are = missing.length === 1 ? 'is' : 'are';
  fail(
    `${missing.join(' and ')} ${are} not installed: run \`apt-get install --yes ${missing.join(' ')}\` as root`,
  );
}

function run(program: string, ...args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (error !== undefined || status !== 0) fail(`${program} ${args[0]} failed: see its output above`);
}

/** Returns the output of a program, without the line break. */
function outputOf(program: string, ...args: readonly string[]): string {
  const { status, stdout } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) fail(`${program} ${args[0]} failed: see its output above`);
  return stdout.trim();
}

function fail(message: string): never {
  throw new BuildFailure(message);
}
