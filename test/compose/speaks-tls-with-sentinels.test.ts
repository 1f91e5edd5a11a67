import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/compose/store.ts';
import { systemClock } from '../../src/values/clock.ts';
import { createAuthority } from '../certificates.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** Resolves once it has said `ready`; ended when the test is over. */
async function launch(file: string, settings: readonly string[], ready: string): Promise<ChildProcess> {
  writeFileSync(file, `${settings.join('\n')}\n`);
  const more = ready.startsWith('+monitor') ? ['--sentinel'] : [];
  const server = spawn('redis-server', [file, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    if (server.exitCode !== null) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  });
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: server.stdout }).on('line', (line) => line.includes(ready) && resolve());
    server.once('exit', () => reject(new Error(`redis-server ended before it was ready: ${file}`)));
  });
  return server;
}

it('asks the Sentinels of a rediss-sentinel store, and their primary, over TLS alone', async () => {
  const authority = createAuthority();
  const folder = mkdtempSync(join(tmpdir(), 'countersign-sentinel-'));
  onTestFinished(() => {
    authority.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { certFile, keyFile } = authority.issue('/CN=redis');
  const tlsOnly = (port: number): readonly string[] => [
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${certFile}`,
    `tls-key-file ${keyFile}`,
    `tls-ca-cert-file ${authority.certificate.certFile}`,
    'tls-auth-clients no',
    'tls-replication yes',
    'bind 127.0.0.1',
    `dir ${folder}`,
  ];
  const [primary, sentinel] = [await freePort(), await freePort()];
  const ready = 'Ready to accept connections';
  await launch(join(folder, 'redis.conf'), [...tlsOnly(primary), 'save ""', 'requirepass s3cret'], ready);
  const watched = [`sentinel monitor main 127.0.0.1 ${primary} 1`, 'sentinel auth-pass main s3cret'];
  await launch(join(folder, 'sentinel.conf'), [...tlsOnly(sentinel), ...watched], '+monitor master main');

  const settings = {
    url: `rediss-sentinel://127.0.0.1:${sentinel}/main`,
    password: { env: 'REDIS_PASSWORD' },
    tls: { ca: authority.certificate.certFile },
    prefix: 'countersign',
    connectTimeoutMs: 2000,
    commandTimeoutMs: 1000,
    durability: { replicas: 0, timeoutMs: 100 },
    clock: { maxStepMs: 60_000, maxGapMs: 3_600_000 },
    retention: { subjectsDays: 400, journalDays: 400 },
  };
  const { store, examine } = await openStore(settings, () => 's3cret', systemClock);
  onTestFinished(() => store.close());
  await examine();
  await store.register(['shop']);
  expect(await store.control()).toMatchObject({ sequence: 0, revision: '' });
});
