import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Platform } from '../client.ts';
import type { PlatformError } from '../error.ts';
import { closedPort } from '../../../test/ports.ts';
import { makePair } from '../../../test/signature/pairs.ts';
import { client, credentials, errorOf } from './client.ts';
import { SECRET, encryptFor, envelope, keys, signWith, startPlatform } from './plain-platform.ts';

const PAYMENT = { userId: '1', appOrderId: 'a-1', orderAmount: '1', payCoinSymbol: 'BTC' };
const SYMBOLS = '{"symbolList":[]}';

const pay = (platform: Platform) => platform.payments.create(PAYMENT);
const read = (platform: Platform) => platform.symbols.list({});

const json = (response: ServerResponse, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);

type Answer = (response: ServerResponse) => unknown;

const answering = (answer: Answer) =>
  startPlatform({
    raw(response) {
      answer(response);
      return true;
    },
  });

/** How a reading operation and a payment end with the same answer. */
async function bothErrors(answer: Answer): Promise<readonly PlatformError[]> {
  const platform = await answering(answer);
  const errors: PlatformError[] = [];
  for (const call of [read, pay]) errors.push(await errorOf(call(client(platform.url, { retries: 0 }))));
  expect(platform.requests()).toBe(2);
  return errors;
}

describe('an answer that can’t be used is a typed error, and never half read', () => {
  /** Why an answer can't be used; the same for both. */
  async function faultOf(answer: Answer, data: object = {}): Promise<string | undefined> {
    const [reading, payment] = await bothErrors(answer);
    expect(reading).toMatchObject({
      code: 'PLATFORM_ANSWER_INVALID',
      data: { operation: 'symbols.list', section: '4.18', outcome: 'not-read', ...data },
    });
    expect(payment).toMatchObject({
      code: 'PLATFORM_ANSWER_INVALID',
      data: { operation: 'payments.create', section: '4.2', outcome: 'unknown', ...data },
    });
    expect(reading?.message).toContain(`symbols.list (4.18): the answer can't be used: `);
    const fix = 'look the payment up in the bill (payments.find) before you pay again';
    expect(payment?.message).toContain(fix);
    return reading?.message;
  }

  const NO = '{"code":"0"}';
  it.each<[number, string | undefined, string, string]>([
    [
      200,
      'text/html; charset=utf-8',
      '<h1>It works</h1>',
      'it is a web page (HTML) and not JSON; check platform.url',
    ],
    [200, 'text/plain', NO, 'its content type is "text/plain" and not application/json'],
    [200, undefined, NO, 'its content type is ""'],
    [200, 'application/json; charset=gbk', NO, 'its content type is "application/json; charset=gbk"'],
    [404, undefined, '{}', 'its HTTP status is 404, not 200'],
    [500, 'application/json', envelope('md5', SYMBOLS), 'its HTTP status is 500'],
    [204, undefined, '', 'its HTTP status is 204'],
  ])('HTTP %s of %s with %s', async (status, type, body, because) => {
    const headers = type === undefined ? {} : { 'content-type': type };
    expect(await faultOf((r) => r.writeHead(status, headers).end(body), { status })).toContain(because);
  });

  it.each<[string | Buffer, string]>([
    ['', 'the body is not a JSON object'],
    ['{"code":"0","data":{', 'expected a string at character'],
    [`${envelope('md5', SYMBOLS)}{}`, 'expected the end'],
    ['[{"code":"0"}]', 'the body is not a JSON object'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 'the body is not UTF-8'],
    ['{"code":"0","code":"1","data":null}', 'the member "code" appears twice'],
    [envelope('md5', '{"symbolList":[{"a":{"b":1,"b":2}}]}'), 'the member "b" appears twice'],
    [`{"code":"0","data":${'['.repeat(100_000)}`, 'nested more than 16 deep'],
    [`{"code":"0","data":${'9'.repeat(1000)}}`, 'a number has more than 128 characters'],
    ['{"msg":"suc","data":{"symbolList":[]}}', 'the member code, which says yes or no, is missing'],
    ['{"code":null,"data":{"symbolList":[]}}', 'the member code'],
    ['{"code":true,"data":{"symbolList":[]}}', 'the member code'],
    ['{"code":"","data":{"symbolList":[]}}', 'the member code'],
  ])('JSON that is not the answer: %#', async (body, because) => {
    expect(await faultOf((r) => json(r, body))).toContain(because);
  });

  it.each<[string, Answer]>([
    [
      'fewer bytes than announced',
      (r) => {
        r.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
        r.write(envelope('md5', SYMBOLS), () => r.destroy());
      },
    ],
    [
      'chunks without an end',
      (r) => {
        r.writeHead(200, { 'content-type': 'application/json' });
        r.write(envelope('md5', SYMBOLS), () => r.destroy());
      },
    ],
    ['no answer at all', (r) => r.destroy()],
    ['what is not HTTP', (r) => r.socket?.end('hello\r\n\r\n')],
  ])('a connection that breaks: %s', async (_, answer) => {
    const [reading, payment] = await bothErrors(answer);
    expect(reading).toMatchObject({ code: 'PLATFORM_UNREACHABLE', data: { outcome: 'not-read' } });
    expect(payment).toMatchObject({ code: 'PLATFORM_UNREACHABLE', data: { outcome: 'unknown' } });
  });

  it('a platform that can’t be reached: nothing was sent', async () => {
    const port = await closedPort();
    const error = await errorOf(pay(client(`http://127.0.0.1:${port}`)));
    expect(error).toMatchObject({ code: 'PLATFORM_UNREACHABLE', data: { outcome: 'not-sent' } });
    expect(error.message).toContain(`http://127.0.0.1:${port} can't be reached`);
  });

  it('an answer that is compressed is not read', async () => {
    const bomb = gzipSync(' '.repeat(50_000_000));
    const fault = await faultOf((r) => json(r, bomb, { 'content-encoding': 'gzip' }));
    expect(fault).toContain('it is compressed (gzip), which was not asked for');
  });

  it('a redirect is not followed', async () => {
    const other = await startPlatform({ data: () => SYMBOLS });
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `${other.url}/elsewhere?token=t`;
      const fault = await faultOf((r) => r.writeHead(status, { location }).end(), { status });
      expect(fault).toContain(`it is a redirect to ${other.url}/elsewhere, which is not followed`);
    }
    expect(other.requests()).toBe(0);
  });

  it.each<[string, Answer]>([
    ['many bytes', (r) => json(r, envelope('md5', `{"symbolList":[],"filler":"${'x'.repeat(100_000)}"}`))],
    [
      'chunks for ever',
      (r) => {
        r.writeHead(200, { 'content-type': 'application/json' });
        const more = (error?: Error | null): void => {
          if (error === undefined || error === null) r.write(' '.repeat(65_536), more);
        };
        more();
      },
    ],
  ])('an answer above the bound is not read further: %s', async (_, answer) => {
    const platform = await answering(answer);
    const error = await errorOf(read(client(platform.url, { answerBytes: 65_536 })));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID' });
    expect(error.message).toContain('it has more than 65536 bytes');
  });

  it.each<[string, Answer]>([
    [
      'drips',
      (r) => {
        r.writeHead(200, { 'content-type': 'application/json' });
        const drip = setInterval(() => r.write(' '), 20);
        r.on('close', () => clearInterval(drip));
      },
    ],
    ['never comes', () => undefined],
  ])('an answer that %s ends with the time limit', async (_, answer) => {
    const platform = await answering(answer);
    const slow = client(platform.url, { timeoutMs: 300, retries: 0 });
    expect(await errorOf(read(slow))).toMatchObject({
      code: 'PLATFORM_TIMEOUT',
      data: { outcome: 'not-read' },
    });
    const payment = await errorOf(pay(slow));
    expect(payment).toMatchObject({ code: 'PLATFORM_TIMEOUT', data: { outcome: 'unknown' } });
    expect(payment.message).toContain('the answer was not complete within 300 ms');
  });
});

describe('a refusal', () => {
  it.each([
    ['"70006"', '70006', 'balance too low', 'refused'],
    ['70006', '70006', 'balance too low', 'refused'],
    ['"10001"', '10001', 'system error', 'unknown'],
    ['"50009"', '50009', 'request time-out', 'unknown'],
    ['"70002"', '70002', 'the order exists', 'unknown'],
    ['"424242"', '424242', 'a code that the platform does not document', 'unknown'],
    ['"00"', '00', 'a code that the platform does not document', 'unknown'],
    ['"__proto__"', '__proto__', 'a code that the platform does not document', 'unknown'],
  ])('with the code %s', async (written, code, meaning, outcome) => {
    const [reading, payment] = await bothErrors((r) =>
      json(r, `{"code":${written},"msg":"no, sorry","data":null}`),
    );
    const refusal = { code, meaning, message: 'no, sorry' };
    expect(reading).toMatchObject({ code: 'PLATFORM_REFUSED', data: { outcome: 'refused', refusal } });
    expect(payment).toMatchObject({ code: 'PLATFORM_REFUSED', data: { outcome, refusal } });
    expect(payment?.message).toContain(
      `the platform answers ${code}, ${meaning}, in its words "no, sorry"; `,
    );
  });

  it('has the words of message if msg has none, on one line and bounded', async () => {
    const long = `first\\n\\u001b[31msecond ${'x'.repeat(5000)}`;
    const [reading] = await bothErrors((r) =>
      json(r, `{"code":"1","msg":"","message":"${long}","data":null}`),
    );
    expect(reading?.data.refusal?.message).toMatch(/^first \[31msecond x+…$/);
    expect(reading?.data.refusal?.message.length).toBeLessThanOrEqual(500);
  });

  it('never shows the secret, also if the platform repeats it', async () => {
    const [reading] = await bothErrors((r) =>
      json(r, `{"code":"1","msg":"wrong secret ${SECRET}","data":null}`),
    );
    expect(reading?.data.refusal?.message).toBe('wrong secret [secret]');
    expect(reading?.message).not.toContain(SECRET);
  });
});

describe('an answer of rsa-envelope', () => {
  const sealed = (data: string, over: object = {}): string =>
    JSON.stringify({ ...(JSON.parse(envelope('rsa-envelope', data)) as object), ...over });

  const oneSign = (data: string) => signWith(keys().platform.privateKey, data);
  const NONE = undefined;
  it.each<[string, () => string, string | undefined, string]>([
    ['data in clear', () => envelope('md5', SYMBOLS), 'ENVELOPE_MALFORMED', 'data is not encrypted'],
    ['no sign', () => sealed(SYMBOLS, { sign: undefined }), 'SIGN_MISSING', 'the member sign'],
    ['an empty sign', () => sealed(SYMBOLS, { sign: '' }), 'SIGN_MISSING', 'the member sign'],
    ['a sign that is null', () => sealed(SYMBOLS, { sign: null }), 'SIGN_MISSING', 'the member sign'],
    [
      'the sign of another key',
      () => sealed(SYMBOLS, { sign: signWith(makePair().privateKey, SYMBOLS) }),
      'SIGN_WRONG',
      'the signature was made with another key',
    ],
    [
      'the sign of other data',
      () => sealed(SYMBOLS, { sign: oneSign('{"symbolList":[{}]}') }),
      'ENVELOPE_UNDECIPHERABLE',
      'is not what the platform key signed',
    ],
    [
      'data for another key',
      () => sealed(SYMBOLS, { data: encryptFor(makePair().publicKey, SYMBOLS) }),
      'ENVELOPE_UNDECIPHERABLE',
      'data',
    ],
    [
      'half of data',
      () => sealed(SYMBOLS, { data: 'AAAA' }),
      'ENVELOPE_MALFORMED',
      'not base64 of whole blocks',
    ],
    ['no data', () => sealed(SYMBOLS, { data: '', sign: '' }), NONE, 'data must be an object'],
    ['no JSON in data', () => sealed('hello'), NONE, 'in the decrypted data, expected a value'],
    ['two values in data', () => sealed('{},"x":{}'), NONE, 'in the decrypted data, the text is not one'],
    ['data in data', () => sealed('{},"data":{}'), NONE, 'the member "data" appears twice'],
  ])('with %s is refused', async (_, whole, reason, because) => {
    const platform = await startPlatform({ whole });
    const error = await errorOf(read(client(platform.url, { scheme: 'rsa-envelope' })));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID', data: { outcome: 'not-read' } });
    expect(error.data.reason).toBe(reason);
    expect(error.message).toContain(because);
    expect(platform.requests()).toBe(1);
  });

  it('may be in the other alphabet of base64, and padded', async () => {
    const other = (text: string): string => Buffer.from(text, 'base64url').toString('base64');
    const platform = await startPlatform({
      whole: () => {
        const { data, sign } = JSON.parse(sealed(SYMBOLS)) as { data: string; sign: string };
        return sealed(SYMBOLS, { data: other(data), sign: other(sign) });
      },
    });
    expect(await read(client(platform.url, { scheme: 'rsa-envelope' }))).toEqual({ symbolList: [] });
  });
});

describe('4.21', () => {
  const BARE =
    '{"count":"1","list":[{"itemDate":1,"uid":"1","coin":"BTC","tradeAmount":"1","feeAmount":"0"}]}';

  it.each(['md5', 'rsa-envelope'] as const)('is read without an envelope, with %s', async (scheme) => {
    const platform = await startPlatform({ whole: () => BARE });
    const data = await client(platform.url, { scheme }).agents.list({ uids: '1' });
    expect(data).toMatchObject({ count: 1, list: [{ uid: '1' }] });
  });

  it.each([
    ['a refusal', '{"code":"50004","msg":"no"}', 'PLATFORM_REFUSED'],
    ['no list', '{"count":"1"}', 'PLATFORM_ANSWER_INVALID'],
    ['nothing', '{}', 'PLATFORM_ANSWER_INVALID'],
    ['only a message', '{"msg":"suc"}', 'PLATFORM_ANSWER_INVALID'],
  ])('%s is an error', async (_, whole, code) => {
    const platform = await startPlatform({ whole: () => whole });
    expect(await errorOf(client(platform.url).agents.list({ uids: '1' }))).toMatchObject({ code });
  });
});

it('the keys of an md5 client can’t exchange a code without the platform’s public key', async () => {
  const platform = await startPlatform({});
  const { platformKey: _, ...withoutKey } = credentials('md5');
  const made = client(platform.url, { credentials: { ...withoutKey, scheme: 'md5', secret: SECRET } });
  const error = await errorOf(made.tokens.exchange({ code: 'code-that-works-once' }));
  expect(error).toMatchObject({ code: 'PLATFORM_PARAMETER', data: { outcome: 'not-sent' } });
  expect(error.message).toContain('platformKey is missing from the credentials');
  expect(platform.requests()).toBe(0);
});
