import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../src/errors.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { compileSigner } from '../../src/signature/schemes.ts';
import { eventually } from '../eventually.ts';
import { startRedisServer } from '../redis-server.ts';
import {
  PAYMENT_PATH,
  SHOP_SECRET,
  type TestService,
  VAULT_TOKEN,
  md5Sign,
  signedPayment,
  transfer,
  web3,
} from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';
import { serviceHere } from './running.ts';

const PATH_SECRET = 'path-secret-7f3a9c51e0';
const REDIS_PASSWORD = 'redis-password-2b8e64d7a1';
/** So much of a secret, in one piece, counts as the secret. */
const PIECE = 12;

const digest = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest('hex');

/** All pieces of a secret, and its digests, by which it could be looked up. */
function tracesOf(secret: string): readonly string[] {
  const pieces = Array.from({ length: secret.length - PIECE + 1 }, (_, at) => secret.slice(at, at + PIECE));
  return [...pieces, digest('md5', secret), digest('sha1', secret), digest('sha256', secret)];
}

/** The lines of a key's own material; the first ones say only what sort of key it is. */
function linesOf(pem: string): readonly string[] {
  return pem
    .split('\n')
    .filter((line) => line.length > 40 && !line.startsWith('-----'))
    .slice(1);
}

const found = (told: string, traces: readonly string[]): readonly string[] =>
  traces.filter((trace) => told.includes(trace));

async function read(url: string): Promise<string> {
  const response = await fetch(url);
  return JSON.stringify([...response.headers]) + (await response.text());
}

/**
 * All that the service tells anybody: log, ops port, and what the journal says beside the bodies themselves.
 */
async function toldBy(service: TestService): Promise<string> {
  const ops = ['/metrics', '/readyz', '/healthz', '/nothing', `/readyz?token=${VAULT_TOKEN}`];
  const entries = [...(await journalOf(service.store)), ...(await journalOf(service.store, 'vault'))];
  const details = entries.map((entry) => {
    const { body: _body, plaintext: _plaintext, ...rest }: Record<string, unknown> = JSON.parse(entry.detail);
    return inspect({ ...entry, detail: rest }, { depth: 9, maxStringLength: Infinity });
  });
  const answers = await Promise.all(ops.map((path) => read(service.ops + path)));
  return [JSON.stringify(service.log), ...answers, ...details].join('\n');
}

/** Callbacks of all kinds, good and bad, some of which hold secrets where they do not belong. */
async function mixedLoad(service: TestService): Promise<string> {
  const sources = ['md5', 'rsa', 'rsa-envelope'] as const;
  const payments = sources.flatMap((scheme) => [
    signedPayment({ appOrderId: `${scheme}-1` }, scheme),
    signedPayment({ appOrderId: `${scheme}-2`, orderAmount: '5000' }, scheme),
    signedPayment({ appOrderId: `${scheme}-3`, userId: 'x' }, scheme),
    signedPayment({ appOrderId: `${scheme}-1` }, scheme).replace(/"sign":"./, '"sign":"0'),
    signedPayment({ appOrderId: `${scheme}-1` }, scheme).replace(/"sign":"[^"]*"/, '"sign":""'),
  ]);
  const answers = await Promise.all(payments.map((body) => service.post(PAYMENT_PATH, body)));
  for (const authorization of [
    VAULT_TOKEN,
    `${VAULT_TOKEN}x`,
    VAULT_TOKEN.slice(1),
    `Bearer ${VAULT_TOKEN}`,
  ]) {
    for (const path of ['/cosigner/withdraw', '/cosigner/web3', `/cosigner/web3/${PATH_SECRET}`]) {
      const members = { request_id: path, memo: 'x', amount: '0.5' };
      const body = JSON.stringify(path.includes('web3') ? web3(members) : transfer(members));
      answers.push(await service.post(path, body, { authorization }));
      answers.push(await service.post(path, body.slice(1), { authorization }));
      answers.push(
        await service.post(`${path}?token=${VAULT_TOKEN}`, body, { authorization, 'x-token': VAULT_TOKEN }),
      );
    }
  }
  return JSON.stringify(answers);
}

describeOnBothStores('a secret is told nobody', (host) => {
  it('by a mixed load, good and bad', async () => {
    const service = await host.start();
    const answers = await mixedLoad(service);
    const told = answers + (await toldBy(service));
    expect(service.log.length).toBeGreaterThan(40);
    const keys = linesOf(readFileSync(join(service.folder, 'merchant.pem'), 'utf8'));
    expect(keys.length).toBeGreaterThan(20);
    expect(found(told, [...tracesOf(SHOP_SECRET), ...tracesOf(VAULT_TOKEN), ...keys])).toEqual([]);
  });

  it('by a wrong sign: the right one is a credential', async () => {
    const service = await host.start();
    const members = {
      appKey: 'test-shop',
      appOrderId: 'o-1',
      orderAmount: '9',
      payCoinSymbol: 'USDT1742',
      userId: '1',
    };
    const body = JSON.stringify({ ...members, sign: '0'.repeat(32) });
    expect((await service.post(PAYMENT_PATH, body)).body).toBe('FAILURE');
    const told = await toldBy(service);
    expect(told).toContain('SIGN_WRONG');
    const right = md5Sign(members);
    expect(found(told, [right, right.toUpperCase(), right.slice(0, PIECE)])).toEqual([]);
  });

  it('by a secret in the path, or what comes close to it', async () => {
    const first = await host.start();
    writeFileSync(join(first.folder, 'path.secret'), PATH_SECRET, { mode: 0o600 });
    const secret = { file: join(first.folder, 'path.secret') };
    const vault = { name: 'vault', callback: 'cosigner', authenticate: [{ path: { secret } }] };
    const service = await host.start({ settings: { sources: [vault] } }, first);
    const ask = async (end: string): Promise<string> =>
      (await service.post(`/cosigner/withdraw/${end}`, JSON.stringify(transfer()))).body;
    expect(await ask(PATH_SECRET)).toBe('SUCCESS');
    for (const wrong of [`${PATH_SECRET}x`, PATH_SECRET.slice(0, -1), PATH_SECRET.toUpperCase()])
      expect(await ask(wrong)).toBe('FAILURE');
    const told = (await toldBy(service)).toLowerCase();
    expect(told).toContain('path_wrong');
    expect(found(told, tracesOf(PATH_SECRET))).toEqual([]);
  });

  it('by keys that can’t be read, at the start and later', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const whole = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const lines = linesOf(whole);
    const broken = [whole.replace(lines[3] ?? '', ''), lines.join('\n'), `${SHOP_SECRET}\n${lines[0]}`];
    const service = await host.start();
    const file = (name: string): { readonly file: string } => ({ file: join(service.folder, name) });
    const told: string[] = [];
    for (const text of broken) {
      writeFileSync(join(service.folder, 'broken.pem'), text, { mode: 0o600 });
      const platformKey = file('platform.pem');
      const signatures = [{ scheme: 'rsa-envelope', platformKey, merchantKey: file('broken.pem') }];
      const shop = { name: 'shop', callback: 'payment', appKey: 'test-shop', signatures };
      told.push(await host.start({ settings: { sources: [shop] } }).then(() => '', everythingOf));
      const asSender = {
        scheme: 'rsa',
        senderKey: text,
        digest: 'sha256',
        signs: 'string',
        emptyValues: 'keep',
      } as const;
      expect(() => compileSigner(asSender)).toThrow(/key/);
    }
    expect(told.filter((each) => each === '')).toEqual([]);
    expect(found(told.join('\n'), [...lines, ...tracesOf(SHOP_SECRET)])).toEqual([]);

    writeFileSync(join(service.folder, 'merchant.pem'), broken[0] ?? '', { mode: 0o600 });
    await eventually('the key is read again', () =>
      service.log.find(({ event }) => event === 'keys-unreadable'),
    );
    expect(found(await toldBy(service), lines)).toEqual([]);
  });

  it('by settings that hold a secret where a reference belongs', async () => {
    const service = await host.start();
    const file = join(service.folder, 'wrong.yaml');
    const text = readFileSync(join(service.folder, 'settings.yaml'), 'utf8');
    const name = join(service.folder, 'shop.secret');
    expect(text).toContain(`file: ${name}`);
    for (const instead of [
      `env: "${SHOP_SECRET}"`,
      `value: ${SHOP_SECRET}`,
      `file: ${name}\n          more: ${SHOP_SECRET}`,
    ]) {
      writeFileSync(file, text.replace(`file: ${name}`, instead), { mode: 0o600 });
      expect(
        found(
          thrownBy(() => loadSettings({ file, env: {} })),
          tracesOf(SHOP_SECRET),
        ),
      ).toEqual([]);
    }
    const storeLine = /store:.*(?:\n {2}.*)*/;
    writeFileSync(file, text.replace(storeLine, `store: redis://:${REDIS_PASSWORD}@127.0.0.1:1/0`), {
      mode: 0o600,
    });
    expect(
      found(
        thrownBy(() => loadSettings({ file, env: {} })),
        tracesOf(REDIS_PASSWORD),
      ),
    ).toEqual([]);
  });
});

describe('the password of Redis is told nobody', () => {
  it.each([
    ['the right one', REDIS_PASSWORD, 'SUCCESS'],
    ['another', REDIS_PASSWORD.toUpperCase(), 'FAILURE'],
  ])('if it is %s', async (_name, password, answer) => {
    const redis = await startRedisServer({ args: ['--requirepass', REDIS_PASSWORD] });
    onTestFinished(() => redis.stop());
    const store = { url: redis.url, password: { env: 'REDIS_PASSWORD' }, connectTimeoutMs: 300 };
    const service = await serviceHere({ settings: { store }, env: { REDIS_PASSWORD: password } });
    expect(await service.pay({})).toBe(answer);
    const ops = await Promise.all(['/metrics', '/readyz'].map((path) => read(service.ops + path)));
    const told = (JSON.stringify(service.log) + ops.join('\n')).toLowerCase();
    expect(told.includes('wrongpass')).toBe(answer === 'FAILURE');
    expect(found(told, tracesOf(REDIS_PASSWORD))).toEqual([]);
  });
});

/** What was thrown, with its data, causes and stack. */
function everythingOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return messageOf(thrown);
  const data = 'data' in thrown ? JSON.stringify(thrown.data) : '';
  const cause = thrown.cause === undefined ? '' : everythingOf(thrown.cause);
  return [thrown.message, thrown.stack, data, cause].join('\n');
}

function thrownBy(work: () => unknown): string {
  try {
    work();
  } catch (thrown) {
    return everythingOf(thrown);
  }
  throw new Error('it did not throw');
}
