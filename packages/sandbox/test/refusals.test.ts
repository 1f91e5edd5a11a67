import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { APP_KEY, NOW_MS, envelope, flat, keysOf, sharedCredentials, startTestSandbox } from './sandbox.ts';

const PATH = 'symbol/openSymbolList';
const keys = keysOf(sharedCredentials());
const withMember = (body: string, over: object): string =>
  JSON.stringify({ ...(JSON.parse(body) as object), ...over });

describe('a request that is not authentic', () => {
  it.each([
    ['is no JSON', 'x', '10020'],
    ['is empty', '', '10020'],
    ['is a list', '[]', '10020'],
    ['has a member twice', '{"appKey":"demo-shop","appKey":"demo-shop","sign":"x"}', '10020'],
    ['has an object', '{"appKey":"demo-shop","x":{},"sign":"x"}', '10020'],
    ['has no appKey', '{"sign":"x"}', '50001'],
    ['has a number as appKey', '{"appKey":1,"sign":"x"}', '50001'],
    ['has an appKey with blanks', flat({}, keys.secret, 'demo shop'), '50001'],
    ['has an unknown appKey', flat({}, keys.secret, 'other'), '50004'],
    ['has no sign', JSON.stringify({ appKey: APP_KEY }), '50005'],
    ['has a sign that is no MD5', JSON.stringify({ appKey: APP_KEY, sign: 'x' }), '50005'],
    ['has another secret', flat({}, 'other'), '50005'],
    ['has a member that was not signed', withMember(flat({}, keys.secret), { page: '1' }), '50005'],
    ['is an envelope without app_id', envelope({}, keys, { app_id: undefined }), '50001'],
    ['is an envelope of another application', envelope({}, keys, { app_id: 'other' }), '50004'],
    ['is an envelope without time', envelope({}, keys, { time: undefined }), '50010'],
    ['is an envelope with a day as time', envelope({}, keys, { time: '2026-01-15' }), '50010'],
    ['is an envelope without sign', envelope({}, keys, { sign: undefined }), '50005'],
    ['is an envelope with empty data', envelope({}, keys, { data: '' }), '10020'],
    ['is an envelope with data cut off', envelope({}, keys, { data: 'AAAA' }), '50005'],
    ['is an envelope with foreign data', envelope({}, keys, { data: 'A'.repeat(342) }), '50005'],
    ['is an envelope with a foreign sign', envelope({}, keys, { sign: 'A'.repeat(342) }), '50005'],
    [
      'is signed by the platform itself',
      envelope({}, { ...keys, merchantPrivate: keys.platformPrivate }),
      '50005',
    ],
    ['names another application inside', envelope({ appKey: 'other' }, keys), '50004'],
  ])('%s', async (_, body, code) => {
    const sandbox = await startTestSandbox();
    expect(await sandbox.post(PATH, body)).toMatchObject({ code, msg: expect.any(String) });
    expect(sandbox.log).toMatchObject([
      { kind: 'request', about: PATH, outcome: code, why: expect.any(String) },
    ]);
  });

  it('is refused unread if it is too large', async () => {
    const sandbox = await startTestSandbox();
    const answer = await sandbox.post(PATH, ' '.repeat(1_048_577));
    expect(answer).toEqual({ code: '10020', msg: expect.stringContaining('1048576 bytes'), data: null });
    expect(sandbox.log).toEqual([]);
    expect(await sandbox.post(PATH, flat({}, keys.secret).padEnd(1_048_576))).toMatchObject({ code: '0' });
  });

  it('goes nowhere with another method or path', async () => {
    const sandbox = await startTestSandbox();
    expect(await sandbox.post(PATH, '', 'GET')).toMatchObject({ code: '50000' });
    expect(await sandbox.post('symbol/nothing', flat({}, keys.secret))).toMatchObject({ code: '50000' });
    expect(await sandbox.post(`../other/${PATH}`, flat({}, keys.secret))).toMatchObject({ code: '50000' });
  });
});

describe('an authentic request', () => {
  it.each([
    [
      'md5 in upper case',
      () =>
        flat({}, keys.secret).replace(
          /"sign":"(\w+)"/,
          (_, sign: string) => `"sign":"${sign.toUpperCase()}"`,
        ),
    ],
    ['a null that was not signed', () => withMember(flat({}, keys.secret), { page: null })],
    ['a signed member that nobody knows', () => flat({ time: NOW_MS, other: 'x' }, keys.secret)],
    ['an envelope with seconds', () => envelope({}, keys, { time: '1768449600' })],
    ['an envelope with its appKey inside', () => envelope({ appKey: APP_KEY }, keys)],
  ])('is accepted with %s', async (_, body) => {
    const sandbox = await startTestSandbox();
    expect(await sandbox.post(PATH, body())).toMatchObject({ code: '0' });
  });

  it('of 4.1 needs nothing but data and sign', async () => {
    const sandbox = await startTestSandbox();
    const users = (await sandbox.steer({ command: 'users' })) as readonly { readonly code: string }[];
    const params = { appKey: APP_KEY, code: users[0]?.code ?? '' };
    const body = envelope(params, keys, { app_id: undefined, time: undefined });
    expect(await sandbox.post('auth/token', body)).toMatchObject({
      code: '0',
      sign: expect.stringMatching(/./),
    });
    const without = envelope({ code: 'x' }, keys, { app_id: undefined, time: undefined });
    expect(await sandbox.post('auth/token', without)).toMatchObject({ code: '50001' });
  });

  it('is refused if the merchant may not use the operation', async () => {
    const sandbox = await startTestSandbox({ denied: [PATH] });
    expect((await sandbox.call(PATH)).code).toBe('50012');
    expect((await sandbox.call('wallet/symbolMapping', { walletType: 1 })).code).toBe('0');
    await expect(startTestSandbox({ denied: ['nothing'] })).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('is refused beyond the daily limit, until the next day', async () => {
    const sandbox = await startTestSandbox({ dailyLimit: 2 });
    const codes = [];
    for (let at = 0; at < 3; at++) codes.push((await sandbox.call(PATH)).code);
    expect(codes).toEqual(['0', '0', '50013']);
    await sandbox.steer({ command: 'clock-move', byMs: 12 * 3_600_000 });
    expect((await sandbox.call(PATH)).code).toBe('0');
  });
});

describe('the log', () => {
  it('says what was signed, and hides what is secret', async () => {
    const sandbox = await startTestSandbox();
    const params = { apiKey: 'the-api-key', secret: 'the-secret', uid: '12345' };
    for (const scheme of ['md5', 'rsa-envelope'] as const)
      await sandbox.call('user/getExchangeToken', params, scheme);
    const [first, second] = sandbox.log;
    expect(first?.signed).toBe('apiKey(hidden)appKeydemo-shopsecret(hidden)uid12345');
    expect(second?.signed).toBe('{"apiKey":"(hidden)","secret":"(hidden)","uid":"12345"}');
    const text = JSON.stringify(sandbox.log);
    for (const secret of ['the-api-key', 'the-secret', keys.secret, keys.token])
      expect(text).not.toContain(secret);
  });
});

describe('the control port', () => {
  it.each([
    ['a page of a browser', { 'content-type': 'text/plain' }, 'POST'],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'POST'],
    ['another method', {}, 'GET'],
  ])('refuses %s', async (_, headers, method) => {
    const { controlUrl } = await startTestSandbox();
    const init = method === 'POST' ? { method, headers, body: '{"command":"reset"}' } : { method, headers };
    expect((await fetch(controlUrl, init)).status).toBe(403);
  });

  it('refuses a page that reaches it by a name of its own', async () => {
    const { controlUrl } = await startTestSandbox();
    const status = (host: string) =>
      new Promise((resolve, reject) => {
        const headers = { host, 'content-type': 'application/json' };
        request(controlUrl, { method: 'POST', headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end('{"command":"users"}');
      });
    expect(await status('rebound.example.com')).toBe(403);
    expect(await status('127.0.0.1.example.com')).toBe(403);
    expect(await status('localhost:8071')).toBe(200);
  });

  it.each([
    { command: 'nothing' },
    { command: 'deposit', uid: 12_345, symbol: 'BTC', amount: '-1' },
    { command: 'deposit', uid: 12_345, symbol: 'BTC', amount: '0' },
    { command: 'deposit', uid: 1, symbol: 'BTC', amount: '1' },
    { command: 'deposit', uid: 12_345, symbol: 'X', amount: '1' },
    { command: 'login', uid: 1 },
    { command: 'clock-set', atMs: 'now' },
    { command: 'restore', snapshot: '' },
    { command: 'restore', snapshot: '{"state":{}}' },
    {
      command: 'withdraw',
      from: 'a',
      to: 'b',
      symbol: 'ETH',
      amount: 'x',
      memo: '',
      outputs: [],
      speedUps: 0,
    },
  ])('refuses %j, and changes nothing', async (command) => {
    const sandbox = await startTestSandbox();
    const before = await sandbox.steer({ command: 'snapshot' });
    await expect(sandbox.steer(command)).rejects.toThrow(/./);
    expect(await sandbox.steer({ command: 'snapshot' })).toBe(before);
  });
});
