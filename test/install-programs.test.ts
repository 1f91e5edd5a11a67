import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { textOf } from './deploy/documents.ts';

const INSTALLER = join(import.meta.dirname, 'install-programs.ts');

/**
 * A machine of which only this is known: programs by name, each the text of a shell script. It has all that
 * the tests need but Redis, Go and a JDK, unless `programs` has an empty text for one.
 */
function machine(programs: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const program of ['/usr/bin/env', '/bin/sh']) symlinkSync(program, join(folder, basename(program)));
  const scripts = {
    sudo: 'shift; exec "$@"',
    chromium: chromium('156.0.8078.73'),
    promtool: `echo 'promtool, version 2.42.0+ds (branch: debian/sid)'`,
    zsh: `echo 'zsh 5.9 (x86_64-debian-linux-gnu)'`,
    fish: `echo 'fish, version 3.6.0'`,
    ssh: `echo 'OpenSSH_9.2p1 Debian-2+deb12u6, OpenSSL 3.0.19 27 Jan 2026' >&2`,
    'systemd-analyze': `echo 'systemd 252 (252.39-1~deb12u1)'`,
    php: `echo 'PHP 8.2.36 (cli) (built: Jul  3 2026 15:22:35) (NTS)'`,
    ...programs,
  };
  for (const [name, script] of Object.entries(scripts))
    if (script !== '') writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

function install(path: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [INSTALLER, ...args], {
    env: { PATH: path },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const redis = (version: string): string => `echo 'Redis server v=${version} sha=00000000:0 bits=64'`;
const chromium = (version: string): string => `echo 'Chromium ${version} built on Debian'`;
/** One that installs, and one that may not. */
const aptThat = (does: string): string => `
if [ "$1" = install ]; then
  ${does}
fi`;

it('nothing is done or said where redis-server is new enough', () => {
  for (const version of ['7.0.15', '8.2.1', '10.0.0'])
    expect(install(machine({ 'redis-server': redis(version) }))).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
});

it('an old redis-server is refused by its version', () => {
  const { status, stderr } = install(machine({ 'redis-server': redis('6.2.14') }));
  expect(status).toBe(1);
  expect(stderr).toBe(
    'redis-server 6.2.14 is on the PATH, and the tests need version 7 or newer: put one before it on the PATH\n',
  );
});

it('apt-get installs what is missing', () => {
  const path = machine({});
  const made = join(path, 'redis-server');
  const script = `echo '#!/bin/sh' > ${made}; echo "${redis('7.2.4')}" >> ${made}; /bin/chmod 755 ${made}`;
  writeFileSync(join(path, 'apt-get'), `#!/bin/sh\n${aptThat(script)}\n`, { mode: 0o755 });
  const { status, stderr } = install(path);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(stderr).toMatch(
    /there is no redis-server: (sudo )?apt-get update && .*install --yes redis-server\n$/,
  );
});

it('brew installs what is missing', () => {
  const path = machine({});
  const made = join(path, 'redis-server');
  const script = `[ "$1" = --version ] && exit 0
echo '#!/bin/sh' > ${made}; echo "${redis('8.0.0')}" >> ${made}; /bin/chmod 755 ${made}`;
  writeFileSync(join(path, 'brew'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  expect(install(path)).toMatchObject({ status: 0, stderr: expect.stringContaining('brew install redis') });
});

it('a browser is installed too, unless one of another name is there', () => {
  const path = machine({ 'redis-server': redis('7.2.4'), chromium: '' });
  const made = join(path, 'chromium');
  const script = `echo '#!/bin/sh' > ${made}; echo "${chromium('156.0.1.2')}" >> ${made}; /bin/chmod 755 ${made}`;
  writeFileSync(join(path, 'apt-get'), `#!/bin/sh\n${aptThat(script)}\n`, { mode: 0o755 });
  const { status, stderr } = install(path);
  expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining('chromium') });
  const chrome = { chromium: '', 'google-chrome': `echo 'Google Chrome 140.0.7339.80'` };
  expect(install(machine({ 'redis-server': redis('7.2.4'), ...chrome }))).toMatchObject({
    status: 0,
    stderr: '',
  });
});

it('promtool is installed too, with the prometheus package', () => {
  const path = machine({ 'redis-server': redis('7.2.4'), promtool: '' });
  const made = join(path, 'promtool');
  const script = `echo '#!/bin/sh' > ${made}; echo "echo promtool, version 3.5.0" >> ${made}; /bin/chmod 755 ${made}`;
  writeFileSync(join(path, 'apt-get'), `#!/bin/sh\n${aptThat(script)}\n`, { mode: 0o755 });
  const { status, stderr } = install(path);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(stderr).toMatch(/there is no promtool: .*install --yes --no-install-recommends prometheus\n$/);
});

it('Go and a JDK are wanted for the long tests alone', () => {
  const path = machine({
    'redis-server': redis('7.2.4'),
    go: `[ "$1" = version ] && echo 'go version go1.19.8 linux/amd64'`,
    javac: `echo 'javac 1.8.0_402'`,
  });
  expect(install(path)).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(install(path, 'long')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^javac 1\.8\.0 is on the PATH, and the tests need version 11 or newer/),
  });
});

it('a missing runtime of an example is said to be, and ends nothing', () => {
  expect(install(machine({ 'redis-server': redis('7.2.4'), php: '' }), 'long')).toEqual({
    status: 0,
    stdout: '',
    stderr: [
      ['run the example in PHP', 'php', 'PHP 8'],
      ['run the example in Go', 'go', 'Go 1'],
      ['run the example in Java', 'javac', 'a JDK of version 11'],
    ]
      .map(
        ([use, name, title]) =>
          `the tests ${use}, and there is no ${name} on the PATH: install ${title} or newer\n` +
          'Its tests are skipped.\n',
      )
      .join(''),
  });
});

it('an old browser is refused by its version', () => {
  const { status, stderr } = install(
    machine({ 'redis-server': redis('7.2.4'), chromium: chromium('90.0.4430') }),
  );
  expect(status).toBe(1);
  expect(stderr).toContain('chromium 90.0.4430 is on the PATH, and the tests need version 128 or newer');
});

it('the command is printed where it could not be run', () => {
  const { status, stderr } = install(machine({ 'apt-get': aptThat('exit 100') }));
  expect(status).toBe(1);
  expect(stderr).toMatch(/could not be installed without you: run\n\n {2}(sudo )?apt-get update && .*\n\n$/);
});

it('what was installed elsewhere than on the PATH is said to be', () => {
  const { status, stderr } = install(machine({ 'apt-get': 'exit 0' }));
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('not on the PATH') });
});

it('where nothing is known to install with, what to install is said', () => {
  expect(install(machine({}))).toEqual({
    status: 1,
    stdout: '',
    stderr:
      'the tests start Redis servers, and there is no redis-server on the PATH: install Redis 7 or newer\n',
  });
});

it('.ci/run is the commands that the README gives, and no others', () => {
  const commands = textOf('.ci/run')
    .split('\n')
    .filter((line) => /^[a-z]/.test(line) && !/^(set|cd) /.test(line));
  expect(commands).toEqual(['npm ci', 'npm run check', 'npm test', 'npm run test:long']);
  for (const command of commands) expect(textOf('README.md')).toContain(command);
});
