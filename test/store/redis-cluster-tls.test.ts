import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/start/store.ts';
import { settingsSchema } from '../../src/settings/schema.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/values/clock.ts';
import { type Certificate, type CertificateAuthority, createAuthority } from '../certificates.ts';
import { startRedisProcess } from '../redis-process.ts';
import { clusterOfItsOwn, sentinelsOfItsOwn } from './redis-rig.ts';
import { untilAnswered } from './redis-under-test.ts';
import { REVISION, push, request } from './requests.ts';

const unreachable = { name: 'CountersignError', code: 'STORE_UNREACHABLE' };

let authority: CertificateAuthority;
let stranger: CertificateAuthority;
let server: Certificate;
let client: Certificate;
beforeAll(() => {
  [authority, stranger] = [createAuthority(), createAuthority()];
  [server, client] = [authority.issue('/CN=redis'), authority.issue('/CN=countersign')];
});
afterAll(() => {
  authority.close();
  stranger.close();
});

/**
 * What servers and their rigs need: they speak TLS alone, and want a certificate of the authority from
 * everybody.
 */
const ofServers = () => ({
  caFile: authority.certificate.certFile,
  certFile: server.certFile,
  keyFile: server.keyFile,
});

interface Shown {
  readonly ca?: CertificateAuthority;
  readonly certificate?: Certificate;
}

/** A store as the settings name it, closed when the test is over. */
async function opened(
  url: string,
  { ca = authority, certificate }: Shown = {},
  replicas = 0,
): Promise<Store> {
  const tls = {
    ca: ca.certificate.certFile,
    ...(certificate && { certificate: certificate.certFile, key: { file: certificate.keyFile } }),
  };
  const written = { url, tls: url.startsWith('rediss') ? tls : undefined };
  const settings = settingsSchema.shape.store.parse({
    ...written,
    durability: { replicas: String(replicas) },
    connectTimeoutMs: '1000',
  });
  const store = await openStore(settings, () => certificate?.key ?? '', systemClock);
  onTestFinished(() => store.close());
  return store;
}

async function single(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-tls-'));
  const redis = await startRedisProcess({ folder, tls: ofServers(), config: () => ['save ""'] });
  onTestFinished(async () => {
    await redis.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  return `rediss://127.0.0.1:${redis.port}/0`;
}

const forms: readonly (readonly [name: string, replicas: number, start: () => Promise<string>])[] = [
  ['one server', 0, single],
  [
    'Sentinels',
    1,
    async () => (await sentinelsOfItsOwn({ replicas: 1, sentinels: 2, tls: ofServers() })).url,
  ],
  ['a Cluster', 1, async () => (await clusterOfItsOwn({ replicas: 1, tls: ofServers() })).url],
];

describe.each(forms)('TLS with an authority of its own, to %s', (_name, replicas, start) => {
  it('works with a client certificate, and with nothing less', async () => {
    const url = await start();
    expect(url).toMatch(/^rediss/);
    const store = await opened(url, { certificate: client }, replicas);
    await untilAnswered(() => store.register(['shop', 'vault']));
    await untilAnswered(() => store.push(push('first', '')));
    expect(await store.settle(request({ revision: REVISION }))).toMatchObject({ verdict: 'SUCCESS' });

    const less: readonly (readonly [string, Shown])[] = [
      [url, {}],
      [url, { certificate: stranger.issue('/CN=countersign') }],
      [url, { ca: stranger, certificate: client }],
      [url.replace('rediss', 'redis'), {}],
    ];
    for (const [address, shown] of less) {
      const refused = await opened(address, shown);
      await expect(refused.health()).rejects.toMatchObject(unreachable);
    }
  });
});
