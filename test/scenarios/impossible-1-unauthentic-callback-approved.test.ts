import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compileSigner } from '../../src/signature/schemes.ts';
import type { SignerConfig } from '../../src/signature/scheme.ts';
import type { Member } from '../../src/values/members.ts';
import {
  PAYMENT_PATH,
  type TestService,
  VAULT_TOKEN,
  md5Sign,
  signedPayment,
  transfer,
  web3,
} from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const payment = {
  appKey: 'test-shop',
  appOrderId: 'o-1',
  orderAmount: '100',
  payCoinSymbol: 'USDT1742',
  userId: '12345',
};
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const strangersKey = stranger.privateKey.export({ type: 'pkcs8', format: 'pem' });

function signedBy(config: SignerConfig, members: Readonly<Record<string, string>> = payment): string {
  const texts = Object.entries(members).map(([name, text]): [string, Member] => [
    name,
    { kind: 'string', text },
  ]);
  return compileSigner(config).sign(new Map(texts), 1_790_000_000_000);
}

const md5 = (secret: string): SignerConfig => ({ scheme: 'md5', secret, emptyValues: 'keep' });
const rsa = (senderKey: string): SignerConfig => ({
  scheme: 'rsa',
  senderKey,
  digest: 'sha256',
  signs: 'string',
  emptyValues: 'keep',
});

/** A body with some members put in the place of its own, whatever its sign says. */
function altered(body: string, members: object): string {
  const own: object = JSON.parse(body);
  return JSON.stringify({ ...own, ...members });
}

/** Sends them all, and names those that were not answered FAILURE or left something behind. */
async function notRefused(
  service: TestService,
  bodies: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const size = await service.store.journalSize('shop');
  const wrong: string[] = [];
  for (const [name, body] of Object.entries(bodies)) {
    const answer = await service.post(PAYMENT_PATH, body);
    const left = (await service.store.journalSize('shop')) - size;
    if (answer.status !== 200 || answer.body !== 'FAILURE' || left !== 0) wrong.push(name);
  }
  return wrong;
}

/** Settings with one payment source that accepts only these signatures. */
const accepting = (...signatures: readonly object[]): Readonly<Record<string, unknown>> => ({
  sources: [{ name: 'shop', callback: 'payment', appKey: 'test-shop', signatures }],
});

describeOnBothStores('no SUCCESS for a callback that is not authentic', (host) => {
  it('if its sign is missing, wrong, or made with another key', async () => {
    const service = await host.start();
    const good = signedPayment({});
    const { sign }: { readonly sign: string } = JSON.parse(good);
    const rsaBody = signedPayment({}, 'rsa');
    const { sign: rsaSign }: { readonly sign: string } = JSON.parse(rsaBody);
    const merchant = createPublicKey(readFileSync(join(service.folder, 'merchant.pem')));
    const receiverKey = merchant.export({ type: 'spki', format: 'pem' });
    expect(
      await notRefused(service, {
        'no sign': JSON.stringify(payment),
        'the empty sign': altered(good, { sign: '' }),
        'sign null': altered(good, { sign: null }),
        'sign true': altered(good, { sign: true }),
        'one digit differs': altered(good, {
          sign: sign.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
        }),
        'all zeros': altered(good, { sign: '0'.repeat(32) }),
        'one digit less': altered(good, { sign: sign.slice(1) }),
        'a blank after it': altered(good, { sign: `${sign} ` }),
        'another secret': signedBy(md5('another secret')),
        'the empty secret': altered(good, {
          sign: createHash('md5').update(Object.entries(payment).flat().join('')).digest('hex'),
        }),
        'the rsa sign of another key': signedBy(rsa(strangersKey)),
        'the rsa sign of all zeros': altered(rsaBody, {
          sign: Buffer.alloc(256).toString('base64url'),
        }),
        'the rsa sign cut': altered(rsaBody, { sign: rsaSign.slice(0, -4) }),
        'an envelope signed by another key': signedBy({
          scheme: 'rsa-envelope',
          senderKey: strangersKey,
          receiverKey,
        }),
      }),
    ).toEqual([]);
    expect(await service.pay({})).toBe('SUCCESS');
  });

  it('if the sign is that of another body', async () => {
    const service = await host.start();
    for (const scheme of ['md5', 'rsa', 'rsa-envelope'] as const) {
      const body = signedPayment({ appOrderId: 'replayed' }, scheme);
      const others = ['appOrderId', 'orderAmount', 'payCoinSymbol', 'userId', 'appKey'];
      const bodies = others.map((name): [string, string] => [
        `${scheme}: ${name}`,
        altered(body, { [name]: '7' }),
      ]);
      const extra: [string, string] = [`${scheme}: one more member`, altered(body, { memo: 'x' })];
      // Nothing of a flat member beside an envelope is signed: only what is inside may count.
      expect(await notRefused(service, Object.fromEntries([...bodies, extra]))).toEqual([]);
    }
    const one: Readonly<Record<string, string>> = JSON.parse(
      signedPayment({ appOrderId: 'e-1' }, 'rsa-envelope'),
    );
    const two = signedPayment({ appOrderId: 'e-2' }, 'rsa-envelope');
    expect(
      await notRefused(service, {
        'the data of another envelope': altered(two, { data: one['data'] }),
        'the sign of another envelope': altered(two, { sign: one['sign'] }),
      }),
    ).toEqual([]);
  });

  it('if the signed text is cut into other members', async () => {
    const service = await host.start();
    const sign = md5Sign(payment);
    const { userId, ...rest } = payment;
    expect(
      await notRefused(service, {
        'a member swallowed by the one before': JSON.stringify({
          ...rest,
          payCoinSymbol: `USDT1742userId${userId}`,
          sign,
        }),
        'a digit moved into a name': JSON.stringify({ ...rest, userId1: '2345', sign }),
        'the amount swallowed by the id': JSON.stringify({
          appKey: payment.appKey,
          'appOrderIdo-1orderAmount100payCoinSymbolUSDT1742userId': '12345',
          sign,
        }),
      }),
    ).toEqual([]);
    const twoReadings = { ...payment, payCoinSymbol: 'USDT1742time1790000000' };
    expect(
      await notRefused(service, {
        'a symbol that holds a time member': JSON.stringify({ ...twoReadings, sign: md5Sign(twoReadings) }),
        'the same as members of their own': JSON.stringify({
          ...payment,
          payCoinSymbol: 'USDT1742time1790000000',
          userId: '1',
          sign: md5Sign(twoReadings),
        }),
      }),
    ).toEqual([]);
  });

  it('if another source signed it', async () => {
    const shop = { callback: 'payment', signatures: [{ scheme: 'md5', secret: { file: '' } }] };
    const service = await host.start({
      settings: {
        sources: [
          {
            ...shop,
            name: 'shop',
            appKey: 'test-shop',
            signatures: [{ scheme: 'md5', secret: { env: 'SHOP' } }],
          },
          {
            ...shop,
            name: 'other',
            appKey: 'other-shop',
            signatures: [{ scheme: 'md5', secret: { env: 'OTHER' } }],
          },
        ],
      },
      env: { SHOP: 'the secret of the shop', OTHER: 'the secret of the other' },
    });
    expect(
      await notRefused(service, {
        'the other shop signs for this one': signedBy(md5('the secret of the other')),
        'this shop signs for the other': signedBy(md5('the secret of the shop'), {
          ...payment,
          appKey: 'other-shop',
        }),
        'nobody’s appKey': signedBy(md5('the secret of the shop'), { ...payment, appKey: 'test-shop ' }),
      }),
    ).toEqual([]);
    expect(await service.store.journalSize('other')).toBe(0);
    expect((await service.post(PAYMENT_PATH, signedBy(md5('the secret of the shop')))).body).toBe('SUCCESS');
  });

  it('if it is signed by a weaker scheme than the source accepts', async () => {
    const service = await host.start();
    const inFolder = (name: string): { file: string } => ({ file: join(service.folder, name) });
    const envelopeOnly = {
      scheme: 'rsa-envelope',
      platformKey: inFolder('platform.pem'),
      merchantKey: inFolder('merchant.pem'),
    };
    const strict = await host.start({ settings: accepting(envelopeOnly) });
    const envelope = signedPayment({}, 'rsa-envelope');
    const platformKey = readFileSync(join(service.folder, 'platform.pem'), 'utf8');
    expect(
      await notRefused(strict, {
        'md5 with the secret of old': signedPayment({}),
        'md5 keyed with the public key': signedBy(md5(platformKey)),
        'the same without its last line break': signedBy(md5(platformKey.trim())),
        'flat members with the right rsa sign': signedPayment({}, 'rsa'),
        'an envelope with the sign of md5': altered(envelope, { sign: md5Sign(payment) }),
        'an envelope beside flat members': altered(envelope, { ...payment, sign: md5Sign(payment) }),
        'a flat callback that calls itself an envelope': altered(signedPayment({}), { app_id: 'test-shop' }),
      }),
    ).toEqual([]);
    expect((await strict.post(PAYMENT_PATH, envelope)).body).toBe('SUCCESS');

    const md5Only = await host.start({
      settings: accepting({ scheme: 'md5', secret: inFolder('shop.secret') }),
    });
    expect(
      await notRefused(md5Only, {
        rsa: signedPayment({}, 'rsa'),
        'an envelope': signedPayment({}, 'rsa-envelope'),
      }),
    ).toEqual([]);
  });
});

describeOnBothStores('no SUCCESS for a co-signer that is not authenticated', (host) => {
  const withdraw = JSON.stringify(transfer());
  const contract = JSON.stringify(web3());

  it('if its header is missing or not the secret to the last character', async () => {
    const service = await host.start();
    const tokens: readonly (string | undefined)[] = [
      undefined,
      '',
      'x',
      VAULT_TOKEN.slice(0, -1),
      `${VAULT_TOKEN}x`,
      `x${VAULT_TOKEN}`,
      VAULT_TOKEN.toUpperCase(),
      `Bearer ${VAULT_TOKEN}`,
      `${VAULT_TOKEN}, ${VAULT_TOKEN}`,
      `${VAULT_TOKEN},`,
    ];
    for (const token of tokens) {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: token };
      expect([token, (await service.post('/cosigner/withdraw', withdraw, headers)).body]).toEqual([
        token,
        'FAILURE',
      ]);
      expect([token, (await service.post('/cosigner/web3', contract, headers)).body]).toEqual([
        token,
        'FAILURE',
      ]);
    }
    const elsewhere = { 'x-authorization': VAULT_TOKEN, cookie: `authorization=${VAULT_TOKEN}` };
    expect((await service.post('/cosigner/withdraw', withdraw, elsewhere)).body).toBe('FAILURE');
    expect((await service.post(`/cosigner/withdraw?authorization=${VAULT_TOKEN}`, withdraw)).body).toBe(
      'FAILURE',
    );
    const inBody = JSON.stringify(transfer({ authorization: VAULT_TOKEN }));
    expect((await service.post('/cosigner/withdraw', inBody)).body).toBe('FAILURE');
    expect(await service.store.journalSize('vault')).toBe(0);
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
  });

  it('if it says that it comes from elsewhere', async () => {
    const vault = { name: 'vault', callback: 'cosigner', authenticate: [{ addresses: ['10.1.2.0/24'] }] };
    const service = await host.start({ settings: { sources: [vault] } });
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'true-client-ip', 'x-client-ip']) {
      const value = name === 'forwarded' ? 'for=10.1.2.3' : '10.1.2.3';
      expect([name, (await service.post('/cosigner/withdraw', withdraw, { [name]: value })).body]).toEqual([
        name,
        'FAILURE',
      ]);
    }
    expect(await service.store.journalSize('vault')).toBe(0);
  });

  it('if one of several proofs is missing, or is that of another co-signer', async () => {
    const service = await host.start();
    const secretIn = (name: string, secret: string): { file: string } => {
      writeFileSync(join(service.folder, name), secret, { mode: 0o600 });
      return { file: join(service.folder, name) };
    };
    const both = await host.start({
      settings: {
        sources: [
          {
            name: 'vault',
            callback: 'cosigner',
            authenticate: [
              { addresses: ['127.0.0.0/8'] },
              { header: { name: 'authorization', secret: secretIn('first', 'the-first-token') } },
              { path: { secret: secretIn('path', 'the-secret-path') } },
            ],
          },
          {
            name: 'second',
            callback: 'cosigner',
            paths: { withdraw: '/second/withdraw' },
            authenticate: [
              { header: { name: 'authorization', secret: secretIn('second', 'the-second-token') } },
            ],
          },
        ],
      },
    });
    const ask = async (path: string, authorization: string): Promise<string> =>
      (await both.post(path, withdraw, { authorization })).body;
    expect(await ask('/cosigner/withdraw/the-secret-path', 'the-second-token')).toBe('FAILURE');
    expect(await ask('/cosigner/withdraw/another-path', 'the-first-token')).toBe('FAILURE');
    expect(await ask('/cosigner/withdraw/the-secret-path%20', 'the-first-token')).toBe('FAILURE');
    expect(await ask('/second/withdraw', 'the-first-token')).toBe('FAILURE');
    expect(
      (await both.post('/cosigner/withdraw', withdraw, { authorization: 'the-first-token' })).status,
    ).toBe(404);
    expect(await both.store.journalSize('vault')).toBe(0);
    expect(await both.store.journalSize('second')).toBe(0);
    expect(await ask('/cosigner/withdraw/the-secret-path', 'the-first-token')).toBe('SUCCESS');
  });
});
