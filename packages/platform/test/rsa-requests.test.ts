import { createHash, verify } from 'node:crypto';
import { expect, it } from 'vitest';
import { CountersignError } from '../../../src/errors.ts';
import { createPlatform } from '../client.ts';
import type { PlatformCredentials } from '../protection.ts';
import { client, credentials, errorOf } from './client.ts';
import { startReceiver } from '../../sandbox/test/sandbox.ts';
import { APP_KEY, envelope, keys, startPlatform } from './plain-platform.ts';

/* Requests with the flat scheme `rsa`, whose rules the platform and the merchant agree on. */

const rsa = (over: object = {}): PlatformCredentials => ({
  scheme: 'rsa',
  appKey: APP_KEY,
  merchantKey: keys().merchant.privateText,
  ...over,
});
const TEXT = `appKey${APP_KEY}coinSymbolsBTCuserId1`;
const md5Hex = (text: string): string => createHash('md5').update(text).digest('hex');

it.each([
  [{}, 'RSA-SHA256', TEXT],
  [{ digest: 'sha1' }, 'RSA-SHA1', TEXT],
  [{ signs: 'md5-hex' }, 'RSA-SHA256', md5Hex(TEXT)],
  [{ digest: 'sha1', signs: 'md5-hex' }, 'RSA-SHA1', md5Hex(TEXT)],
])('with %o is signed as agreed, and its answer is read', async (over, algorithm, text) => {
  const platform = await startReceiver((_, response) => {
    response.setHeader('content-type', 'application/json').end(envelope('rsa', '{"accounts":[]}'));
  });
  const made = createPlatform({ url: platform.url, credentials: rsa(over) });
  expect(await made.assets.search({ userId: 1, coinSymbols: 'BTC' })).toMatchObject({ accounts: [] });
  const { sign = '', ...members } = JSON.parse(platform.received[0]?.body ?? '') as Record<string, string>;
  expect(members).toEqual({ appKey: APP_KEY, userId: '1', coinSymbols: 'BTC' });
  const signature = Buffer.from(sign, 'base64');
  expect(verify(algorithm, Buffer.from(text), keys().merchant.publicKey, signature)).toBe(true);
});

it('with a key that is none is refused, without showing it', () => {
  const made = (): unknown =>
    createPlatform({ url: 'http://127.0.0.1:9', credentials: rsa({ merchantKey: 'my-private-text' }) });
  expect(made).toThrow(CountersignError);
  expect(made).toThrow(/^merchantKey of the platform's credentials is not an RSA key/);
  expect(made).not.toThrow(/my-private-text/);
});

it("without the platform's key exchanges no code", async () => {
  const made = createPlatform({ url: 'http://127.0.0.1:9', credentials: rsa() });
  const error = await errorOf(made.tokens.exchange({ code: 'c' }));
  expect(error).toMatchObject({ code: 'PLATFORM_PARAMETER', data: { outcome: 'not-sent' } });
  expect(error.message).toContain('platformKey is missing from the credentials');
});

it('of another merchant is refused by the platform', async () => {
  const platform = await startPlatform({ data: () => '{"symbolList":[]}' });
  const own = credentials('rsa');
  const other = createPlatform({
    url: platform.url,
    credentials: { ...own, merchantKey: keys().platform.privateText } as PlatformCredentials,
  });
  expect(await errorOf(other.symbols.list({}))).toMatchObject({ data: { refusal: { code: '50005' } } });
  expect(await client(platform.url, { scheme: 'rsa' }).symbols.list({})).toEqual({ symbolList: [] });
});
