import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { answersIn, rawConnection } from '../raw-connection.ts';
import { PAYMENT_PATH, type TestService, signedPayment, startTestService } from '../service.ts';

type Line = Readonly<Record<string, unknown>>;

describe('damage on the way of a callback is named', () => {
  let service: TestService;
  beforeAll(async () => {
    const limits = { failuresPerSecond: '100000' };
    service = await startTestService({ settings: { public: { port: '0', limits } } });
  });
  afterAll(() => service.stop());

  async function lineAbout(body: string | Uint8Array): Promise<Line | undefined> {
    const before = service.log.length;
    expect((await service.post(PAYMENT_PATH, body)).body).toBe('FAILURE');
    return service.log.slice(before).find(({ event }) => event === 'callback');
  }

  it.each<[string, (body: string) => string | Uint8Array, string, RegExp]>([
    [
      'a byte order mark before {',
      (body) => `\ufeff${body}`,
      'NOT_AN_OBJECT',
      /^the body begins with a byte order mark \(EF BB BF\), not with \{; the sender must leave it out$/,
    ],
    [
      'UTF-16',
      (body) => Buffer.from(`\ufeff${body}`, 'utf16le'),
      'NOT_UTF8',
      /^the body begins with a byte order mark of UTF-16, not with \{; the sender must send UTF-8/,
    ],
    [
      'a header of the PROXY protocol before the body',
      (body) => `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${body}`,
      'NOT_AN_OBJECT',
      /^the body begins with a header of the PROXY protocol, version 1/,
    ],
  ])('%s', async (_what, change, code, because) => {
    expect(await lineAbout(change(signedPayment({})))).toMatchObject({
      code,
      because: expect.stringMatching(because) as string,
    });
  });

  /** A payment whose `sign` (or `data`) has a `+`, and what a gateway makes of it. */
  function damaged(
    scheme: 'md5' | 'rsa' | 'rsa-envelope',
    name: 'sign' | 'data',
    change: (text: string) => string,
  ) {
    for (let order = 0; ; order++) {
      const members = JSON.parse(signedPayment({ appOrderId: `d-${order}` }, scheme)) as Record<
        string,
        string
      >;
      // Base64 as the platform writes it, not base64url.
      const text = (members[name] ?? '').replaceAll('-', '+').replaceAll('_', '/');
      if (scheme !== 'md5' && !text.includes('+')) continue;
      return JSON.stringify({ ...members, [name]: change(text) });
    }
  }
  const inLines = (text: string): string => text.replaceAll(/.{76}/g, '$&\r\n');
  const blanks = 'it has blanks in place of +; the sender, or a gateway, must not decode it as a form';
  const percent = 'it is percent-encoded (%2B in place of +); the sender must not encode it for a URL';
  const ends = 'it contains line ends; the sender must write it in one line';
  const outside = 'it begins or ends with white space; the sender must leave that out';

  it.each<
    [string, 'md5' | 'rsa' | 'rsa-envelope', 'sign' | 'data', (text: string) => string, string, string]
  >([
    ['blanks', 'rsa', 'sign', (text) => text.replaceAll('+', ' '), 'SIGN_MALFORMED', blanks],
    ['%2B', 'rsa', 'sign', (text) => encodeURIComponent(text), 'SIGN_MALFORMED', percent],
    ['line ends', 'rsa', 'sign', inLines, 'SIGN_MALFORMED', ends],
    ['a line end after it', 'md5', 'sign', (text) => `${text}\n`, 'SIGN_MALFORMED', outside],
    [
      'blanks and line ends',
      'rsa',
      'sign',
      (text) => inLines(text.replaceAll('+', ' ')),
      'SIGN_MALFORMED',
      `${ends}; ${blanks}`,
    ],
    ['blanks', 'rsa-envelope', 'sign', (text) => text.replaceAll('+', ' '), 'SIGN_MALFORMED', blanks],
    ['blanks', 'rsa-envelope', 'data', (text) => text.replaceAll('+', ' '), 'ENVELOPE_MALFORMED', blanks],
    ['line ends', 'rsa-envelope', 'data', inLines, 'ENVELOPE_MALFORMED', ends],
  ])('%s in the %s %s', async (_what, scheme, name, change, code, damage) => {
    expect(await lineAbout(damaged(scheme, name, change))).toMatchObject({
      code,
      because: expect.stringContaining(`: ${damage}`) as string,
    });
  });

  it('a sign that is damaged otherwise is not explained by a guess', async () => {
    const body = damaged('rsa', 'sign', (text) => text.slice(0, 20).replaceAll('+', ' '));
    const line = await lineAbout(body);
    expect(line).toMatchObject({ code: 'SIGN_MALFORMED' });
    expect(line?.['because']).not.toContain('blanks');
  });

  const v2 = Buffer.concat([
    Buffer.from('\r\n\r\n\0\r\nQUIT\n'),
    Buffer.from([0x21, 0x11, 0, 12, 192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2]),
  ]);
  it.each([
    ['1', Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n')],
    ['2', v2],
  ])('a header of the PROXY protocol, version %s, before the request', async (_version, header) => {
    const counted = async (): Promise<number> => {
      const metrics = await (await fetch(`${service.ops}/metrics`)).text();
      return Number(/countersign_unserved_total\{reason="proxy-protocol"\} (\d+)/.exec(metrics)?.[1] ?? 0);
    };
    const before = await counted();
    const connection = await rawConnection(service.url);
    const body = signedPayment({});
    const head = `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    connection.write(Buffer.concat([header, Buffer.from(head + body)]));
    expect(answersIn(await connection.received(10_000))).toEqual([{ status: 400, body: 'FAILURE' }]);
    expect(await counted()).toBe(before + 1);
    const line = await eventually('the line', () =>
      service.log.find(({ code }) => code === 'PROXY_PROTOCOL'),
    );
    expect(line).toMatchObject({
      event: 'not-served',
      because: expect.stringContaining('turn the PROXY protocol off in the load balancer') as string,
    });
  });
});
