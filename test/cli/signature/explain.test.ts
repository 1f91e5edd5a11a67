import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SHOP_SECRET, md5Sign, signedPayment } from '../../service.ts';
import { type Ran, place } from '../terminal.ts';

const explain = (body: string, ...args: readonly string[]): Promise<Ran> =>
  place().runWith({ input: () => Promise.resolve(Buffer.from(body)) })('signature', 'explain', ...args);

const members = {
  appKey: 'test-shop',
  appOrderId: 'o-1',
  orderAmount: '100',
  payCoinSymbol: 'USDT1742',
  userId: '12345',
};
const hashedText = z.object({ text: z.string(), bytes: z.number(), sha256: z.string() });
const explained = z.object({
  tried: z.tuple([
    z.object({ signed: z.string(), signedBytes: z.number(), received: z.string(), hashed: hashedText }),
  ]),
});
const SIGNED = 'appKeytest-shopappOrderIdo-1orderAmount100payCoinSymbolUSDT1742userId12345';

describe('signature explain', () => {
  it.each(['md5', 'rsa', 'rsa-envelope'] as const)('of a right %s signature: 0', async (scheme) => {
    const { code, out, err } = await explain(`${signedPayment({}, scheme)}\n`);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(`scheme  ${scheme}\n`);
    expect(out).toMatch(/^verifies +yes$/m);
    expect(out).toContain('The signature is valid.');
  });

  it('of a wrong one shows the exact text, its measure, the key, both signs, and what to mend: 1', async () => {
    const sign = 'ab'.repeat(16);
    const { code, out } = await explain(JSON.stringify({ ...members, sign }));
    expect(code).toBe(1);
    expect(out).toMatch(new RegExp(`^signed +${SIGNED}$`, 'm'));
    expect(out).toMatch(new RegExp(`^length +${SIGNED.length} bytes$`, 'm'));
    expect(out).toMatch(new RegExp(`^SHA-256 +${createHash('sha256').update(SIGNED).digest('hex')}$`, 'm'));
    expect(out).toMatch(new RegExp(`^expected +${md5Sign(members)}$`, 'm'));
    expect(out).toMatch(new RegExp(`^received +${sign}$`, 'm'));
    expect(out).toMatch(/^secret +file .*shop\.secret$/m);
    expect(out).toMatch(/^verifies +no$/m);
    expect(out).toContain('The signature is refused: SIGN_WRONG');
    expect(out).toContain('Fix first: compare the length and the digest');
    expect(out).not.toContain(SHOP_SECRET);
  });

  it('of an envelope shows the plaintext, and that its MD5 is what is signed', async () => {
    const { folder, runWith } = place();
    const key = createPublicKey(readFileSync(join(folder, 'platform.pem')));
    const run = runWith({ input: () => Promise.resolve(Buffer.from(signedPayment({}, 'rsa-envelope'))) });
    const { tried } = explained.parse((await run`signature explain --json`).json());
    const [{ signed, signedBytes, received, hashed }] = tried;
    expect(JSON.parse(hashed.text)).toMatchObject({ appOrderId: 'o-1' });
    expect(signed).toBe(createHash('md5').update(hashed.text).digest('hex'));
    expect(verify('sha256', Buffer.from(signed), key, Buffer.from(received, 'base64url'))).toBe(true);
    const sha256 = createHash('sha256').update(hashed.text).digest('hex');
    expect({ signedBytes, ...hashed }).toMatchObject({ signedBytes: 32, bytes: hashed.text.length, sha256 });

    const { out } = await run`signature explain`;
    const rows = out.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows).toContainEqual(['plaintext', hashed.text]);
    expect(rows).toContainEqual(['length', `${hashed.bytes} bytes`]);
    expect(rows).toContainEqual(['SHA-256', sha256]);
    expect(rows).toContainEqual(['signed', signed, '(the MD5 of the plaintext, in lower-case hexadecimal)']);
  });

  it('with --json gives the same as data', async () => {
    const { code, json } = await explain(JSON.stringify({ ...members, sign: 'ab'.repeat(16) }), '--json');
    expect(code).toBe(1);
    expect(json()).toMatchObject({
      verifies: false,
      source: 'shop',
      scheme: 'md5',
      tried: [{ signed: SIGNED, signedBytes: SIGNED.length, expected: md5Sign(members), verifies: false }],
      refusal: { code: 'SIGN_WRONG' },
    });
    const right = await explain(signedPayment({}), '--json', '--source', 'shop');
    expect(right.code).toBe(0);
    expect(right.json()).toMatchObject({ verifies: true, source: 'shop' });
  });

  it('of a right sign over values that could be read otherwise says what the service says: 1', async () => {
    const ambiguous = { ...members, userId: '12a' };
    const { code, out } = await explain(JSON.stringify({ ...ambiguous, sign: md5Sign(ambiguous) }));
    expect(code).toBe(1);
    expect(out).toMatch(/^verifies +yes$/m);
    expect(out).toContain('The signature is refused: SIGN_AMBIGUOUS: ');
    expect(out).toContain('Fix first: ');
  });

  it.each([
    ['no JSON', 'hello', 'NOT_AN_OBJECT'],
    ['an appKey of nobody', JSON.stringify({ ...members, appKey: 'other', sign: 'x' }), 'SOURCE_UNKNOWN'],
    ['no sign', JSON.stringify(members), 'SIGN_MISSING'],
    ['a sign of no scheme', JSON.stringify({ ...members, sign: 'short' }), 'SIGN_MALFORMED'],
    [
      'a byte order mark',
      `\ufeff${signedPayment({})}`,
      'NOT_AN_OBJECT: the body begins with a byte order mark',
    ],
    [
      'a header of the PROXY protocol',
      `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${signedPayment({})}`,
      'NOT_AN_OBJECT: the body begins with a header of the PROXY protocol, version 1',
    ],
  ])('%s: 1, and says which code the service would log', async (_, body, failure) => {
    const { code, out } = await explain(body);
    expect(code).toBe(1);
    expect(out).toMatch(new RegExp(`^${failure}`));
    const [failureCode] = failure.split(':');
    expect((await explain(body, '--json')).json()).toMatchObject({ verifies: false, code: failureCode });
  });

  it.each([
    ['standard input is empty', ' \n', [], 'signature explain < callback.json'],
    ['an unknown source', '{}', ['--source', 'shpo'], 'Did you mean shop?'],
    ['a co-signer', '{}', ['--source', 'vault'], 'vault is a co-signer, whose callbacks are not signed'],
  ])('%s: 2', async (_, body, args, said) => {
    const { code, out, err } = await explain(body, ...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
  });
});
