import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../certificates.ts';
import { eventually } from '../eventually.ts';
import { startSentinels } from '../redis-sentinel.ts';
import { type TestService, startTestService } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

/** The lines of one metric, without its comments. */
async function rowsOf(service: TestService, metric: string): Promise<readonly string[]> {
  const text = await (await fetch(`${service.ops}/metrics`)).text();
  return text.split('\n').filter((line) => line.startsWith(`countersign_${metric}{`));
}

const valueIn = (rows: readonly string[], label: string): number | undefined => {
  const row = rows.find((each) => each.includes(`{${label}}`));
  return row === undefined ? undefined : Number(row.split(' ').at(-1));
};

const expiryOf = (pem: string): number => Math.floor(Date.parse(new X509Certificate(pem).validTo) / 1000);

describe('the metrics say when a certificate expires', () => {
  it('of the public port and of its clients, also after a file was replaced', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-expiry-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const made = createAuthority();
    onTestFinished(() => made.close());
    const { cert, key } = made.issue('/CN=countersign');
    const [certificate, keyFile] = [join(folder, 'tls.pem'), join(folder, 'tls.key')];
    writeFileSync(certificate, cert);
    writeFileSync(keyFile, key, { mode: 0o600 });
    const clientCa = made.certificate.certFile;
    const service = await startTestService({
      settings: { public: { port: '0', tls: { certificate, key: { file: keyFile }, clientCa } } },
    });
    onTestFinished(() => service.stop());
    const expiry = async (setting: string): Promise<number | undefined> =>
      valueIn(await rowsOf(service, 'certificate_expiry_timestamp_seconds'), `setting="${setting}"`);
    expect(await expiry('public.tls.certificate')).toBe(expiryOf(cert));
    expect(await expiry('public.tls.clientCa')).toBe(expiryOf(made.certificate.cert));
    const next = made.issue('/CN=countersign');
    writeFileSync(keyFile, next.key, { mode: 0o600 });
    writeFileSync(certificate, `${next.cert}\n${EXPIRED}`);
    // Of several in one file, the first to expire counts.
    await eventually('the new file is read', async () =>
      (await expiry('public.tls.certificate')) === expiryOf(EXPIRED) ? true : undefined,
    );
  });

  it('of the client of Redis, and of its authority', async () => {
    const made = createAuthority();
    onTestFinished(() => made.close());
    const { certFile: certificate, keyFile, cert } = made.issue('/CN=countersign');
    const ca = made.certificate.certFile;
    const service = await startTestService({
      settings: {
        // Nothing listens there: what is in the files is known all the same.
        store: { url: 'rediss://127.0.0.1:1/0', tls: { ca, certificate, key: { file: keyFile } } },
      },
    });
    onTestFinished(() => service.stop());
    const rows = await rowsOf(service, 'certificate_expiry_timestamp_seconds');
    expect(valueIn(rows, 'setting="store.tls.certificate"')).toBe(expiryOf(cert));
    expect(valueIn(rows, 'setting="store.tls.ca"')).toBe(expiryOf(made.certificate.cert));
    expect(rows).toHaveLength(2);
  });

  it('and nothing where there is no certificate', async () => {
    const service = await startTestService();
    onTestFinished(() => service.stop());
    expect(await rowsOf(service, 'certificate_expiry_timestamp_seconds')).toEqual([]);
  });
});

describeOnBothStores('the metrics say how old the journal is', (host) => {
  it('by its oldest entry, a source each, and nothing of an empty one', async () => {
    const beforeMs = Date.now();
    const service = await host.start();
    expect(await service.pay({ appOrderId: 'first' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'second' })).toBe('SUCCESS');
    const [oldest] = await service.store.entries({ source: 'shop', limit: 1 });
    const rows = await rowsOf(service, 'journal_oldest_timestamp_seconds');
    expect(rows).toHaveLength(1);
    expect(valueIn(rows, 'source="shop"')).toBe((oldest?.atMs ?? 0) / 1000);
    expect(oldest?.atMs).toBeGreaterThanOrEqual(beforeMs - 1000);
  });

  it('and nothing of replicas where none are waited for and none are there', async () => {
    const service = await host.start();
    const rows = await rowsOf(service, 'store_replicas');
    expect(rows).toEqual(
      host.kind === 'embedded'
        ? []
        : ['countersign_store_replicas{state="connected"} 0', 'countersign_store_replicas{state="wanted"} 0'],
    );
  });
});

describe('the metrics say how many replicas follow', () => {
  it('and how many an approval waits for', async () => {
    const rig = await startSentinels({ replicas: 2, sentinels: 0 });
    onTestFinished(() => rig.stop());
    const [primary, replica] = rig.nodes;
    const service = await startTestService({
      settings: {
        store: { url: `redis://127.0.0.1:${primary?.port ?? 0}/0`, durability: { replicas: 2 } },
      },
    });
    onTestFinished(() => service.stop());
    const replicas = async (): Promise<readonly (number | undefined)[]> => {
      const rows = await rowsOf(service, 'store_replicas');
      return [valueIn(rows, 'state="connected"'), valueIn(rows, 'state="wanted"')];
    };
    expect(await replicas()).toEqual([2, 2]);
    await replica?.kill();
    await eventually('the primary notices', async () => {
      const [connected, wanted] = await replicas();
      return connected === 1 && wanted === 2 ? true : undefined;
    });
    await primary?.kill();
    await eventually('nobody knows how many follow', async () =>
      (await rowsOf(service, 'store_replicas')).length === 0 ? true : undefined,
    );
  });
});

/** Of nobody, and of the past. */
const EXPIRED = `-----BEGIN CERTIFICATE-----
MIIBCjCBsgIBATAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAdleHBpcmVkMB4XDTIw
MDEwMTAwMDAwMFoXDTIxMDEwMTAwMDAwMFowEjEQMA4GA1UEAwwHZXhwaXJlZDBZ
MBMGByqGSM49AgEGCCqGSM49AwEHA0IABDINTh97oZ8PyYZGOPz+REBcSWHTHRrM
OGOkUgQAXs5ntMvOz3FeftPCRbK+p0jm+VCZFT4TtmMrPCbI6eQ42/0wCgYIKoZI
zj0EAwIDRwAwRAIgWi5zmR+gwUFPVGAte6pc6hfvHkp1BdnqbZ+D/xRS9EoCIHtJ
ihtcSf5aHzt/kcJCpThkrVj2YPjFJ6HQ8VL42fHu
-----END CERTIFICATE-----
`;
