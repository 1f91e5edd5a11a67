import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../redis-server.ts';
import { PAYMENT_PATH, VAULT_TOKEN, signedPayment, transfer, web3, writeServiceFolder } from '../service.ts';
import { type ServiceProcess, startServiceProcess } from '../service-process.ts';

const PRELOADED = fileURLToPath(new URL('loaded-modules.ts', import.meta.url));

interface Started {
  readonly service: ServiceProcess;
  /** The files loaded so far, from `src/`, `packages/` or `node_modules/` on. */
  readonly loaded: () => readonly string[];
}

/** `countersign serve`, once its ports are open. */
async function start(redis?: string): Promise<Started> {
  const folder = writeServiceFolder(redis === undefined ? {} : { redis });
  const file = join(folder, 'loaded');
  const through = ['env', `LOADED_MODULES=${file}`, `NODE_OPTIONS=--import=${PRELOADED}`];
  const service = await startServiceProcess(folder, through);
  onTestFinished(async () => {
    await service.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const loaded = (): readonly string[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((url) => /\/((?:src|packages|node_modules)\/.*)$/.exec(url)?.[1] ?? []);
  return { service, loaded };
}

/** One callback of each kind, and a payment of each scheme; resolves with the answers. */
async function callEach({ url }: ServiceProcess): Promise<readonly string[]> {
  const post = async (path: string, body: string): Promise<string> => {
    const headers = { 'content-type': 'application/json', authorization: VAULT_TOKEN };
    return (await fetch(`${url}${path}`, { method: 'POST', headers, body })).text();
  };
  return [
    await post(PAYMENT_PATH, signedPayment({ appOrderId: 'o-1' }, 'md5')),
    await post(PAYMENT_PATH, signedPayment({ appOrderId: 'o-2' }, 'rsa')),
    await post(PAYMENT_PATH, signedPayment({ appOrderId: 'o-3' }, 'rsa-envelope')),
    await post('/cosigner/withdraw', JSON.stringify(transfer())),
    await post('/cosigner/web3', JSON.stringify(web3())),
    await post(PAYMENT_PATH, signedPayment({ appOrderId: 'o-4', orderAmount: '1001' })),
    await post(PAYMENT_PATH, '{'),
  ];
}

const EMBEDDED = /^src\/store\/embedded\//;
const REDIS = /^src\/store\/redis\/open\.ts$|^node_modules\/ioredis\//;
/** What only other commands need, and what a package has for other uses than ours. */
const OTHERS =
  /^packages\/(?!sandbox\/commands\/commands\.ts$)|^src\/(?:archive|simulation|replay)\/|^src\/console\/pages|^src\/cli\/(?:doctor|policy|list|send|decisions|journal|orders|prices)|^node_modules\/viem\/_esm\/chains\//;

describe.each([
  ['the embedded store', false, EMBEDDED, REDIS],
  ['Redis', true, REDIS, EMBEDDED],
])('serve on %s', (_, onRedis, own, other) => {
  async function started(): Promise<Started> {
    if (!onRedis) return start();
    const redis = await startRedisServer();
    onTestFinished(() => redis.stop());
    return start(redis.url);
  }

  it('loads what it needs, and nothing of other commands or of the other store', async () => {
    const { loaded } = await started();
    const modules = loaded();
    expect(modules).toContain('src/cli/serve.ts');
    expect(modules.filter((module) => own.test(module))).not.toEqual([]);
    expect(modules.filter((module) => other.test(module) || OTHERS.test(module))).toEqual([]);
  });

  it('has loaded all that a decision needs before it serves: no callback loads anything', async () => {
    const { service, loaded } = await started();
    const before = loaded();
    const answers = await callEach(service);
    expect(answers).toEqual([...Array<string>(5).fill('SUCCESS'), 'FAILURE', 'FAILURE']);
    expect(loaded().slice(before.length)).toEqual([]);
  });
});
