import { spawnSync } from 'node:child_process';

/*
 * Runs before the tests (`pretest`): they start Redis servers of their own. Installs `redis-server` where
 * there is none and it can be done without a question, by apt-get or brew. Otherwise it prints the command
 * that does, and ends with 1.
 */

const NEEDED = 7;

type Command = readonly [program: string, ...args: string[]];

const succeeds = ([program, ...args]: Command): boolean => spawnSync(program, args).status === 0;

/** As `7.2.4`; undefined where there is no `redis-server` on the PATH. */
function versionThere(): string | undefined {
  const { stdout, error } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return error === undefined ? (/\bv=([\d.]+)/.exec(stdout)?.[1] ?? 'of an unknown version') : undefined;
}

/** How it is installed here: the commands as they are run, and as a person would write them. */
function installation(): { readonly commands: readonly Command[]; readonly text: string } | undefined {
  if (succeeds(['apt-get', '--version'])) {
    const rights: readonly string[] = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
    const by = (...args: string[]): Command => {
      const [program = '', ...more] = [
        ...rights,
        'env',
        'DEBIAN_FRONTEND=noninteractive',
        'apt-get',
        ...args,
      ];
      return [program, ...more];
    };
    const sudo = rights.length === 0 ? '' : 'sudo ';
    return {
      commands: [by('update', '-qq'), by('install', '-qq', '--yes', 'redis-server')],
      text: `${sudo}apt-get update && ${sudo}apt-get install --yes redis-server`,
    };
  }
  if (!succeeds(['brew', '--version'])) return undefined;
  return { commands: [['brew', 'install', '--quiet', 'redis']], text: 'brew install redis' };
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function requireNewEnough(version: string): void {
  if (Number.parseInt(version, 10) >= NEEDED) return;
  fail(
    `redis-server ${version} is on the PATH, and the tests need version ${NEEDED} or newer: put one before it on the PATH`,
  );
}

const found = versionThere();
if (found === undefined) {
  const how = installation();
  if (how === undefined) {
    fail(
      `the tests start Redis servers, and there is no redis-server on the PATH: install Redis ${NEEDED} or newer`,
    );
  }
  console.error(`the tests start Redis servers, and there is no redis-server: ${how.text}`);
  const [last] = how.commands
    .map(([program, ...args]) => spawnSync(program, args, { stdio: 'inherit' }))
    .slice(-1);
  const installed = versionThere();
  if (installed === undefined) {
    fail(
      last?.status === 0
        ? 'redis-server is installed, and not on the PATH: put its folder there'
        : `redis-server could not be installed without you: run\n\n  ${how.text}\n`,
    );
  }
  requireNewEnough(installed);
} else requireNewEnough(found);
