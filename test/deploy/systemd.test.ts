import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import packageLock from '../../package-lock.json' with { type: 'json' };
import { loadSettings } from '../../src/settings/load.ts';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, signedPayment, writeServiceFolder } from '../service.ts';
import { startServing } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ROOT, fencedLines, textOf } from './documents.ts';

const UNIT = textOf('deploy/systemd/countersign.service');
const SETTINGS = 'deploy/systemd/countersign.yaml';
const [, INSTALLATION = ''] = textOf('docs/deploy.md').split('\n## Without containers\n');
const installation = fencedLines(INSTALLATION);

const valuesOf = (key: string): readonly string[] =>
  Array.from(UNIT.matchAll(new RegExp(`^${key}=(.*)$`, 'gm')), ([, value = '']) => value);
const [execStart = ''] = valuesOf('ExecStart');

/** The paths that a text names below a folder. */
const pathsBelow = (folder: string, text: string): readonly string[] =>
  Array.from(text.matchAll(new RegExp(`${folder}/[\\w./-]+`, 'g')), ([path]) => path);

describe('countersign.service', () => {
  it('names files that are in the project, or that its installation makes', () => {
    const ours = pathsBelow('/opt/countersign', UNIT).map((path) => path.slice('/opt/countersign/'.length));
    expect(ours).toEqual(['docs/deploy.md', 'node_modules/node/bin/node', 'bin/countersign.js']);
    for (const path of ours) expect({ path, is: existsSync(join(ROOT, path)) }).toEqual({ path, is: true });
    expect(pathsBelow('/etc/countersign', execStart)).toEqual(['/etc/countersign/countersign.yaml']);
    const [user = ''] = valuesOf('User');
    expect(valuesOf('Group')).toEqual([user]);
    expect(installation.some((line) => line.includes(' useradd ') && line.endsWith(` ${user}`))).toBe(true);
  });

  it('starts the Node of package-lock.json as npm start does, which the installation installs', () => {
    const [flag = ''] = /--max-semi-space-size=\d+/.exec(packageJson.scripts.start) ?? [];
    expect(execStart.split(' ')[1]).toBe(flag);
    const { version } = packageLock.packages['node_modules/node'];
    const lines = installation.filter((line) => line.includes(' node@'));
    expect(lines).toEqual([expect.stringMatching(new RegExp(` node@${version}$`))]);
  });

  it('gives the service time to stop, and its data the folder that it may write to', () => {
    const settings = loadSettings({ file: join(ROOT, SETTINGS), env: {} });
    const { shutdownDelayMs, shutdownGraceMs } = settings.public;
    const stopMs = Number(valuesOf('TimeoutStopSec')[0]) * 1000;
    expect(stopMs).toBeGreaterThan(shutdownDelayMs + 2 * shutdownGraceMs);
    const folders = valuesOf('StateDirectory').flatMap((value) => value.split(' '));
    expect(folders).toContain(/^embedded:\/var\/lib\/(.+)\/countersign\.db$/.exec(settings.store.url)?.[1]);
    const [, reconciliation = ''] = /`\/var\/lib\/(\S+\/reconciliation)`/.exec(INSTALLATION) ?? [];
    expect(folders).toContain(reconciliation);
    expect(valuesOf('ProtectSystem')).toEqual(['strict']);
  });
});

/** Why `systemd-analyze` can't be asked here; empty if it can. */
const NOT_HERE = reasonNotToAsk();

function reasonNotToAsk(): string {
  const { stdout, error } = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' });
  if (error !== undefined) return ' (not tried: systemd-analyze is not on the PATH)';
  const version = Number(/^systemd (\d+)/.exec(stdout)?.[1]);
  return version >= 250 ? '' : ' (not tried: systemd-analyze is older than 250)';
}

/** Of 100, which is without any protection. What is left is the network, and what V8 needs. */
const MOST_EXPOSED = '15';

describe.skipIf(NOT_HERE !== '')(`systemd-analyze${NOT_HERE}`, () => {
  const analyze = (unit: string, ...args: readonly string[]): ReturnType<typeof verdict> => {
    const file = join(temporaryFolder(), 'countersign.service');
    writeFileSync(file, unit);
    return verdict(spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' }));
  };
  const verdict = ({ status, stdout, stderr }: ReturnType<typeof spawnSync>) => ({ status, stdout, stderr });
  // It asks whether the programs are there.
  const installed = UNIT.replaceAll('/opt/countersign', ROOT);
  const verify = (unit: string) => analyze(unit, 'verify', '--man=no', '--recursive-errors=no');
  const security = (unit: string) =>
    analyze(unit, 'security', '--offline=true', `--threshold=${MOST_EXPOSED}`);

  it('finds no fault in the unit', () => {
    expect(verify(installed)).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it.each([
    ['RestartSec=2', 'RestartSecs=2', /Unknown key/],
    ['SystemCallFilter=setpriority', 'SystemCallFilter=setpriorty', /setpriorty/],
    [/^ExecStart=\S+/m, 'ExecStart=/opt/countersign/none', /not executable/],
  ])('and finds one: %s', (before, after, fault) => {
    const changed = installed.replace(before, after);
    expect(changed).not.toBe(installed);
    expect(verify(changed).stderr).toMatch(fault);
  });

  it('calls the service little exposed', () => {
    expect(security(UNIT)).toMatchObject({ status: 0, stdout: expect.stringContaining('OK') });
    expect(security(UNIT.replace(/^SystemCallFilter=.*$/gm, ''))).toMatchObject({ status: 1 });
  });
});

describe('the installation of docs/deploy.md', () => {
  it('makes a service that starts by ExecStart and approves under the pushed policies', async () => {
    const machine = temporaryFolder();
    const keys = writeServiceFolder({ folder: join(machine, 'test') });
    const home = join(machine, 'home');
    for (const path of ['home', 'opt', 'etc/systemd/system', 'usr/local/bin', 'var/lib/countersign'])
      mkdirSync(join(machine, path), { recursive: true });
    symlinkSync(ROOT, join(machine, 'opt/countersign'));
    for (const [name, from] of [
      ['platform.pub', 'platform.pem'],
      ['shop.pem', 'merchant.pem'],
      ['cosigner.token', 'vault.token'],
    ] as const)
      writeFileSync(join(home, name), readFileSync(join(keys, from)));
    const here = (text: string): string =>
      text.replaceAll(/\/(?:opt|etc|usr\/local|var\/lib)\//g, (path) => machine + path);
    /** The lines of the document that begin so, run without a user of their own. */
    const run = (start: RegExp): number => {
      const lines = installation.filter((line) => start.test(line));
      for (const line of lines) {
        const command = here(line.replace(/^sudo (?:-u countersign countersign )?/, ''))
          .replaceAll(/ -[og] countersign\b/g, '')
          .replace(/^(?=policy )/, `"${process.execPath}" "${machine}/usr/local/bin/countersign" `);
        const env = { PATH: process.env['PATH'], HOME: home };
        const { status, stderr } = spawnSync('sh', ['-c', command], { cwd: ROOT, env, encoding: 'utf8' });
        expect({ command, status, stderr }).toMatchObject({ command, status: 0 });
      }
      return lines.length;
    };
    expect(run(/^sudo (?:ln|cp|install(?! -d -o)) /)).toBe(6);
    expect(readFileSync(join(machine, 'etc/systemd/system/countersign.service'), 'utf8')).toBe(UNIT);

    const file = join(machine, 'etc/countersign/countersign.yaml');
    const text = readFileSync(file, 'utf8');
    expect(text).toBe(textOf(SETTINGS));
    writeFileSync(file, here(text));
    const env = {
      ...Object.fromEntries(valuesOf('Environment').map((each) => each.split('='))),
      COUNTERSIGN_PUBLIC_PORT: '0',
      COUNTERSIGN_OPS_PORT: '0',
      COUNTERSIGN_SOURCES_0_APP_KEY: 'test-shop',
    };
    const service = await startServing(execStart.split(' ').map(here), { cwd: '/', env });
    onTestFinished(() => service.kill());

    const pay = async (orderAmount: string): Promise<string> => {
      const headers = { 'content-type': 'application/json' };
      const body = signedPayment({ appOrderId: 'first', orderAmount, userId: '7' }, 'rsa-envelope');
      const answer = await fetch(`${service.url}${PAYMENT_PATH}`, { method: 'POST', headers, body });
      return answer.text();
    };
    expect(await pay('5')).toBe('FAILURE');
    expect(run(/^sudo -u countersign countersign policy push /)).toBe(1);
    await eventually('the policies are in force', async () =>
      (await pay('5')) === 'SUCCESS' ? true : undefined,
    );
    expect(await pay('6')).toBe('FAILURE');
    expect(existsSync(join(machine, 'var/lib/countersign/countersign.db'))).toBe(true);
    service.terminate();
    expect(await service.ended).toBe(0);
  });
});
