import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runIn } from '../cli/process.ts';
import { startRedisCluster } from '../redis-cluster.ts';
import { startRedisServer } from '../redis-server.ts';
import { startSentinels } from '../redis-sentinel.ts';
import { openStore } from '../../src/start/store.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { systemClock } from '../../src/values/clock.ts';
import { startBlackHoleProxy } from '../black-hole-proxy.ts';
import { eventually } from '../eventually.ts';
import { nextPort } from '../ports.ts';
import { PAYMENT_PATH, signedPayment, startTestService, writeServiceFolder } from '../service.ts';

async function takenPort(): Promise<number> {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  return (taken.address() as AddressInfo).port;
}

interface Rig {
  readonly url: string | undefined;
  stop(): Promise<void>;
}

const stores: readonly (readonly [name: string, start: () => Promise<Rig>])[] = [
  ['the embedded store', () => Promise.resolve({ url: undefined, stop: () => Promise.resolve() })],
  ['one Redis', () => startRedisServer()],
  ['Sentinels', () => startSentinels({ replicas: 0, sentinels: 1 })],
  ['a Cluster', () => startRedisCluster({ primaries: 3, nodeTimeoutMs: 15_000 })],
];

/** A busy machine may take its time to connect. */
const PATIENT = { commandTimeoutMs: '10000', connectTimeoutMs: '20000' };

describe.each(stores)('a port that is taken, on %s', (_, start) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await start();
  });
  afterAll(() => rig.stop());

  it.each(['public', 'ops'])(
    'ends the start with 2 and the cure, and nothing is in force: %s',
    async (setting) => {
      const port = await takenPort();
      const settings = {
        [setting]: { port: String(port) },
        ...(rig.url !== undefined && { store: { url: rig.url, prefix: `taken-${setting}`, ...PATIENT } }),
      };
      const folder = writeServiceFolder({ settings });
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const { code, err } = await runIn(folder, ['serve']);
      const { store: written } = loadSettings({ file: join(folder, 'settings.yaml'), env: {} });
      const store = await openStore(written, () => '', systemClock);
      onTestFinished(() => store.close());
      expect(await store.control()).toMatchObject({ sequence: 0, revision: '', frozen: [] });
      expect(await store.history(10)).toEqual([]);
      expect(code).toBe(2);
      expect(err).toContain(
        `SETTINGS_INVALID: ${setting}.port: 127.0.0.1:${port} is in use by another program; stop it, or set another ${setting}.port`,
      );
    },
  );
});

it('what comes while a service prepares waits for it, and is decided', async () => {
  const redis = await startRedisServer();
  const proxy = await startBlackHoleProxy(redis.port);
  onTestFinished(async () => {
    await proxy.close();
    await redis.stop();
  });
  // So that it takes a while from the open port to what is in force.
  proxy.delay(100);
  const port = await nextPort();
  const starting = startTestService({ redis: proxy.url, settings: { public: { port: String(port) } } });
  const answered = await eventually('the port is open', async () => {
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: signedPayment({}),
    };
    const response = await fetch(`http://127.0.0.1:${port}${PAYMENT_PATH}`, request).catch(() => undefined);
    return response?.text();
  });
  const service = await starting;
  onTestFinished(() => service.stop());
  expect(answered).toBe('SUCCESS');
});
