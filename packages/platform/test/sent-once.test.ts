import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Platform } from '../client.ts';
import { operations } from '../operations/registry.ts';
import { closedPort } from '../../../test/ports.ts';
import { NOW_MS, client, errorOf } from './client.ts';
import { fixtures } from './fixtures.ts';
import { type Behaviour, SECRET, keys, startPlatform } from './plain-platform.ts';
import { billed } from './records.ts';

const PAYMENT = { userId: '1', appOrderId: 'a-1', orderAmount: '1', payCoinSymbol: 'BTC' };
const SYMBOLS = '{"symbolList":[]}';
const fail = (status: number) => (response: ServerResponse) => {
  response.writeHead(status).end();
  return true;
};
const drop = (response: ServerResponse) => {
  response.destroy();
  return true;
};

describe('an operation that changes something is never sent twice', () => {
  const changing: readonly [string, (platform: Platform) => Promise<unknown>][] = [
    ['tokens.exchange', (p) => p.tokens.exchange({ code: 'c' })],
    ['tokens.refresh', (p) => p.tokens.refresh({ openId: 'o', token: 't', refreshToken: 'r' })],
    ['payments.create', (p) => p.payments.create(PAYMENT)],
    ['loginTokens.create', (p) => p.loginTokens.create({ apiKey: 'k', secret: 's', uid: 1 })],
    ['coupons.recover', (p) => p.coupons.recover({ id: 1 })],
  ];

  it.each(changing)('%s', async (operation, call) => {
    // Some clients repeat a request by themselves after some of these.
    for (const raw of [...[401, 407, 408, 421, 425, 429, 500, 503].map(fail), drop]) {
      const platform = await startPlatform({ raw });
      const pauses: number[] = [];
      const error = await errorOf(call(client(platform.url, { retries: 10, pauses })));
      expect(error.data).toMatchObject({ operation, outcome: 'unknown' });
      expect(platform.requests()).toBe(1);
      expect(pauses).toEqual([]);
    }
  });

  it('also if the connection was never made', async () => {
    const pauses: number[] = [];
    const port = await closedPort();
    const made = client(`http://127.0.0.1:${port}`, { retries: 10, pauses });
    expect((await errorOf(made.payments.create(PAYMENT))).data.outcome).toBe('not-sent');
    expect(pauses).toEqual([]);
  });

  it('and says that the outcome is unknown if the caller ends the call', async () => {
    const controller = new AbortController();
    const platform = await startPlatform({
      raw: () => {
        controller.abort();
        return true;
      },
    });
    const call = client(platform.url).payments.create(PAYMENT, { signal: controller.signal });
    expect(await errorOf(call)).toMatchObject({ code: 'PLATFORM_CANCELLED', data: { outcome: 'unknown' } });
    const before = client(platform.url).payments.create(PAYMENT, { signal: controller.signal });
    expect(await errorOf(before)).toMatchObject({
      code: 'PLATFORM_CANCELLED',
      data: { outcome: 'not-sent' },
    });
    expect(platform.requests()).toBe(1);
  });
});

describe('a reading operation', () => {
  it.each<[string, (response: ServerResponse) => boolean]>([
    ['a status of 500', fail(500)],
    ['a status of 503', fail(503)],
    ['a connection that breaks', drop],
  ])('is sent again after %s, with pauses that grow', async (_, broken) => {
    const pauses: number[] = [];
    const platform = await startPlatform({
      raw: (response, attempt) => attempt <= 6 && broken(response),
      data: () => SYMBOLS,
    });
    const data = await client(platform.url, { retries: 6, pauses }).symbols.list({});
    expect(data).toEqual({ symbolList: [] });
    expect(platform.requests()).toBe(7);
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 4000]);
  });

  it('ends with the last error after its retries', async () => {
    const platform = await startPlatform({ raw: fail(502) });
    const error = await errorOf(client(platform.url).symbols.list({}));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID', data: { status: 502 } });
    expect(platform.requests()).toBe(3);
  });

  it.each<[string, string]>([
    ['an answer that says no', '{"code":"10001","msg":"busy","data":null}'],
    ['an answer that can’t be used', '{"code":"0","data":{}}'],
  ])('is not sent again after %s', async (_, whole) => {
    const platform = await startPlatform({ whole: () => whole });
    await errorOf(client(platform.url).symbols.list({}));
    expect(platform.requests()).toBe(1);
  });

  it('is not sent again once the caller ends the call', async () => {
    const controller = new AbortController();
    const platform = await startPlatform({
      raw: (response) => {
        response.on('finish', () => controller.abort());
        return fail(500)(response);
      },
    });
    await errorOf(client(platform.url).symbols.list({}, { signal: controller.signal }));
    expect(platform.requests()).toBe(1);
  });
});

describe('payments.find', () => {
  it.each(['2026-03-01', '2026-03-02', '2026-03-03'])('finds a payment in the bill of %s', async (day) => {
    const platform = await startPlatform({
      data: ({ parameters }) => {
        const list = parameters['day'] === day ? [billed('other'), billed('a-1')] : [billed('other')];
        return JSON.stringify({ count: list.length, list });
      },
    });
    const found = await client(platform.url).payments.find({ appOrderId: 'a-1', userId: '1' });
    expect(found).toMatchObject({ appOrderId: 'a-1', orderAmount: '100.5' });
    expect(
      platform.received.every(
        ({ parameters }) => parameters['orderType'] === '1' && parameters['userId'] === 1,
      ),
    ).toBe(true);
  });

  it('gives undefined for a payment that is in none of the three days', async () => {
    const platform = await startPlatform({ data: () => '{"count":0,"list":[]}' });
    const made = client(platform.url);
    expect(await made.payments.find({ appOrderId: 'a-1', sentAtMs: NOW_MS - 864e5 })).toBeUndefined();
    expect(platform.received.map(({ parameters }) => parameters['day'])).toEqual([
      '2026-03-01',
      '2026-02-28',
      '2026-03-02',
    ]);
  });

  it('does not say that there is none if the bill can’t be read', async () => {
    const platform = await startPlatform({ data: () => '{"count":5,"list":[]}' });
    const error = await errorOf(client(platform.url).payments.find({ appOrderId: 'a-1' }));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID' });
  });
});

describe('no secret is in an error', () => {
  const known = { md5: () => SECRET, 'rsa-envelope': () => keys().merchant.privateText };
  const cases = fixtures.flatMap((fixture) =>
    (['md5', 'rsa-envelope'] as const).map((scheme) => ({ name: fixture.command, fixture, scheme })),
  );

  it.each(cases)('of $name with $scheme, even if the platform repeats it', async ({ fixture, scheme }) => {
    const operation = operations.find(({ command }) => command === fixture.command);
    const own = (operation?.secrets ?? []).map((name) => String(fixture.sent[name]));
    const secrets = [known[scheme](), ...own];
    const behaviours: readonly Behaviour[] = [
      { whole: () => JSON.stringify({ code: '10020', msg: `wrong: ${secrets.join(' ')}` }) },
      { whole: () => JSON.stringify({ code: secrets.join(' '), msg: 'wrong' }) },
      { whole: () => JSON.stringify({ code: true, msg: secrets, data: secrets }) },
      {
        raw: (response) =>
          response.writeHead(302, { location: `/x?${secrets.join('&')}` }).end() !== undefined,
      },
      { raw: fail(500) },
      { raw: drop },
    ];
    for (const behaviour of behaviours) {
      const platform = await startPlatform(behaviour);
      const error = await errorOf(fixture.call(client(platform.url, { scheme })));
      const shown = inspect(error, { depth: 20 }) + JSON.stringify(error);
      for (const secret of secrets) expect(shown).not.toContain(secret);
    }
  });
});
