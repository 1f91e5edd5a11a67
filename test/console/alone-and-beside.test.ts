import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startConsole } from '../../src/start/console.ts';
import { createLog } from '../../src/observe/log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { systemClock } from '../../src/values/clock.ts';
import { runProcess } from '../cli/process.ts';
import { eventually } from '../eventually.ts';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { PROGRAM } from '../service-process.ts';
import { type TestService, startTestService } from '../service.ts';
import { ADA, READER, startTestConsole } from './console.ts';

const proxyAt = (address: string) => ({
  proxy: {
    header: 'x-person',
    addresses: [address],
    people: [{ name: 'ada', roles: ['operate'] }],
  },
});

describeOnBothStores('a console alone', (host) => {
  it('shows the services of its store, and acts on it', async () => {
    const console = await startTestConsole({ alone: true }, (options) => host.start(options));
    expect(await console.pay({ appOrderId: 'before' })).toBe('SUCCESS');
    const { nowMs, services } = await console.store.services();
    expect(services).toHaveLength(1);
    expect(Math.abs(nowMs - (services[0]?.atMs ?? 0))).toBeLessThan(60_000);
    const now = await console.get('/console/', READER);
    expect(now.text).toContain(services[0]?.name);
    expect(now.text).toContain('✓ ready');
    expect(now.text).not.toMatch(/Readiness<|FAILURE in each|SUCCESS<\/span>/);
    expect((await console.get('/console/decisions', READER)).text).toContain('payment:before');
    const form = { reason: 'drill', confirmation: 'freeze' };
    expect((await console.send('/console/freeze', form, READER)).status).toBe(403);
    expect((await console.send('/console/freeze', form, ADA)).status).toBe(303);
    expect(await console.pay({ appOrderId: 'after' })).toBe('FAILURE');
    expect((await console.store.control()).frozen).toMatchObject([{ by: 'console:ada', reason: 'drill' }]);
  });

  it('answers to no other host name, and says that it runs', async () => {
    const console = await startTestConsole({ alone: true }, (options) => host.start(options));
    expect((await fetch(`${console.ops}/healthz`)).status).toBe(200);
    expect((await fetch(`${console.ops}/metrics`)).status).toBe(404);
    const { port } = new URL(console.ops);
    for (const [path, status] of [
      ['healthz', 200],
      ['console/', 401],
    ] as const) {
      const own = await fetch(`http://127.0.0.1:${port}/${path}`);
      expect([path, own.status]).toEqual([path, status]);
    }
  });
});

/** `countersign console serve` on the store of a service. */
async function served({ folder }: TestService): Promise<{
  readonly url: string;
  readonly said: () => string;
  readonly stop: () => Promise<number>;
}> {
  const argv = [PROGRAM, 'console', 'serve', '--config', join(folder, 'settings.yaml')];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(([code]) => Number(code));
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const [, found] = /The console is at (\S+)\/console\//.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    void ended.then(() => reject(new Error(said)));
  });
  return {
    url,
    said: () => said,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

describeOnBothStores('countersign console serve', (host) => {
  it('serves the console that no service has, until it is stopped', async () => {
    const console = { ...proxyAt('127.0.0.1'), withService: 'false', port: '0' };
    const service = await host.start({ settings: { console } });
    const ready = await (await fetch(`${service.ops}/readyz`)).text();
    expect(ready).not.toContain('"console"');
    expect((await fetch(`${service.ops}/console/`)).status).toBe(404);
    await service.pay({ appOrderId: 'one' });
    const { url, stop } = await served(service);
    expect((await fetch(`${url}/console/decisions`)).status).toBe(401);
    const page = await fetch(`${url}/console/decisions`, { headers: { 'x-person': 'ada' } });
    expect(await page.text()).toContain('payment:one');
    // Nothing before it says for whom a request is.
    const claimed = await fetch(`${url}/console/`, { headers: { 'x-forwarded-for': '127.0.0.1' } });
    expect(claimed.status).toBe(401);
    expect(await stop()).toBe(0);
  });
});

it('countersign console serve says where passkeys work, which may be another address', async () => {
  const passkeys = { host: 'localhost', origin: 'http://localhost:9090' };
  const service = await startTestService({
    settings: { console: { passkeys, withService: 'false', port: '0' } },
  });
  onTestFinished(() => service.stop());
  const { said, stop } = await served(service);
  const hint = 'People sign in with passkeys at http://localhost:9090/console/.';
  await eventually('the address of sign-ins', () => said().includes(hint) || undefined);
  expect(await stop()).toBe(0);
});

it('countersign console serve says what is missing if nobody could sign in', async () => {
  const { code, err } = await runProcess(['console', 'serve']);
  expect([code, err]).toEqual([2, expect.stringContaining('set console.passkeys or console.proxy')]);
});

it('beside a service, the console answers only what the service forwards', async () => {
  const service = await startTestService({
    settings: { console: { ...proxyAt('192.0.2.7'), withService: 'false' } },
  });
  onTestFinished(() => service.stop());
  const settingsFile = join(service.folder, 'settings.yaml');
  const program = await startConsole({
    settings: loadSettings({ file: settingsFile, env: {} }),
    settingsFile,
    env: {},
    clock: systemClock,
    log: createLog({ level: 'error' }),
    secret: 'secret of the service',
  });
  onTestFinished(() => program.close());
  const ask = async (headers: Readonly<Record<string, string>>, path = '/console/'): Promise<number> =>
    (await fetch(`${program.url}${path}`, { headers: { 'x-person': 'ada', ...headers } })).status;
  const forwarded = { 'x-countersign-secret': 'secret of the service' };
  const others = [{}, { 'x-countersign-secret': 'secret of the servicE' }, { 'x-countersign-secret': '' }];
  for (const other of others) {
    for (const path of ['/console/', '/console/assets/icon.svg', '/api/simulate']) {
      expect(await ask({ ...other, 'x-forwarded-for': '192.0.2.7' }, path)).toBe(403);
    }
  }
  // The client is where the service says that it is.
  expect(await ask({ ...forwarded, 'x-forwarded-for': '192.0.2.7' })).toBe(200);
  expect(await ask({ ...forwarded, 'x-forwarded-for': '192.0.2.8' })).toBe(401);
});
