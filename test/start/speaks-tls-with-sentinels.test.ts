import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/start/store.ts';
import { systemClock } from '../../src/values/clock.ts';
import { createAuthority } from '../certificates.ts';
import { startRedisProcess } from '../redis-process.ts';

it('asks the Sentinels of a rediss-sentinel store, and their primary, over TLS alone', async () => {
  const authority = createAuthority();
  const folder = mkdtempSync(join(tmpdir(), 'countersign-sentinel-'));
  onTestFinished(() => {
    authority.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { certFile, keyFile } = authority.issue('/CN=redis');
  const tls = { caFile: authority.certificate.certFile, certFile, keyFile };
  const noClientCertificate = 'tls-auth-clients no';
  const primary = await startRedisProcess({
    folder,
    tls,
    config: () => [noClientCertificate, 'save ""', 'requirepass s3cret'],
  });
  onTestFinished(() => primary.kill());
  const watched = [`sentinel monitor main 127.0.0.1 ${primary.port} 1`, 'sentinel auth-pass main s3cret'];
  const sentinel = await startRedisProcess({
    folder,
    tls,
    sentinel: true,
    config: () => [noClientCertificate, ...watched],
  });
  onTestFinished(() => sentinel.kill());

  const settings = {
    url: `rediss-sentinel://127.0.0.1:${sentinel.port}/main`,
    password: { env: 'REDIS_PASSWORD' },
    tls: { ca: authority.certificate.certFile },
    prefix: 'countersign',
    connectTimeoutMs: 20_000,
    commandTimeoutMs: 20_000,
    durability: { replicas: 0, timeoutMs: 100 },
    clock: { maxStepMs: 60_000, maxGapMs: 3_600_000 },
    retention: { subjectsDays: 400, journalDays: 400 },
  };
  const store = await openStore(settings, () => 's3cret', systemClock);
  onTestFinished(() => store.close());
  await store.checkSafety();
  await store.register(['shop']);
  expect(await store.control()).toMatchObject({ sequence: 0, revision: '' });
});
