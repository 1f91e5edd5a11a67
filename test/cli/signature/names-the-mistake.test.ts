import {
  type KeyObject,
  constants,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  hash,
  publicEncrypt,
  sign,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SHOP_SECRET, md5Sign, signedPayment } from '../../service.ts';
import { type Place, type Ran, place, prints } from '../terminal.ts';

const platform = generateKeyPairSync('rsa', { modulusLength: 3072 });
const members = {
  appKey: 'test-shop',
  appOrderId: 'o-1',
  orderAmount: '100',
  payCoinSymbol: 'USDT1742',
  userId: '12345',
};
const TEXT = 'appKeytest-shopappOrderIdo-1orderAmount100payCoinSymbolUSDT1742userId12345';
const JOINED = 'appKey=test-shop&appOrderId=o-1&orderAmount=100&payCoinSymbol=USDT1742&userId=12345';

const md5 = (text: string): string => hash('md5', text, 'hex');
const bySecret = (text: string): string => md5(text + SHOP_SECRET);
const byKey = (text: string | Uint8Array): string =>
  sign('sha256', Buffer.from(text), platform.privateKey).toString('base64');

/** A place whose platform has the key above. */
function shop(): Place {
  const made = place();
  made.write('platform.pem', platform.publicKey.export({ type: 'spki', format: 'pem' }));
  return made;
}

async function explain(body: object | string, { runWith } = shop()): Promise<Ran> {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const run = runWith({ input: () => Promise.resolve(bytes) });
  const ran = await run`signature explain`;
  const { out } = await run`signature explain --json`;
  for (const text of [ran.out, ran.err, out]) expect(text).not.toContain(SHOP_SECRET);
  return ran;
}

/** The line that says what to change, of a signature that is refused. */
async function fixOf(body: object | string, code = 'SIGN_WRONG'): Promise<string | undefined> {
  const ran = await explain(body);
  expect(ran.code).toBe(1);
  expect(ran.out).toContain(`The signature is refused: ${code}`);
  expect(ran.out).not.toMatch(/^verifies +yes$/m);
  return /^Fix first: (.*)$/m.exec(ran.out)?.[1];
}

describe('signature explain names what the sender did, and accepts nothing for it', () => {
  it.each<[string, string, string]>([
    ['LF after the secret', md5(`${TEXT}${SHOP_SECRET}\n`), 'a line end (LF) after the secret'],
    ['CR after the secret', md5(`${TEXT}${SHOP_SECRET}\r`), 'a line end (CR) after the secret'],
    ['CR and LF after it', md5(`${TEXT}${SHOP_SECRET}\r\n`), 'a line end (CR and LF) after the secret'],
    ['the secret first', md5(SHOP_SECRET + TEXT), 'put it after the text'],
    ['the secret on both sides', md5(SHOP_SECRET + TEXT + SHOP_SECRET), 'must only put it after'],
    ['an HMAC', createHmac('md5', SHOP_SECRET).update(TEXT).digest('hex'), 'as an HMAC'],
    ['no secret', md5(TEXT), 'without a secret'],
    ['= and &', bySecret(JOINED), 'with = and & between the members'],
    ['= and & and a name for the secret', md5(`${JOINED}&key=${SHOP_SECRET}`), '&key= before the secret'],
    ['quotes', bySecret(TEXT.replaceAll('100', '"100"')), 'compare the length'],
    [
      'quotes around all values',
      bySecret(
        Object.entries(members)
          .map(([name, value]) => `${name}"${value}"`)
          .join(''),
      ),
      'without quotes',
    ],
    ['the JSON', bySecret(JSON.stringify(members)), 'must sign the joined names and values'],
    ['an amount with zeros', bySecret(TEXT.replace('100', '100.00')), 'as 100.00, but the body has 100;'],
    ['an amount of a double', bySecret(TEXT.replace('100', '100.0')), 'as 100.0, but the body has 100;'],
    ['an amount with an exponent', bySecret(TEXT.replace('100', '1E+2')), 'as 1E+2, but the body has 100;'],
  ])('md5: %s', async (_, wrong, said) => {
    expect(await fixOf({ ...members, sign: wrong })).toContain(said);
    expect(await fixOf({ ...members, sign: wrong.toUpperCase() })).toContain(said);
  });

  it('md5: an amount that the body has as a number', async () => {
    const body = JSON.stringify({ ...members, sign: bySecret(TEXT.replace('100', '0.00000010')) });
    for (const [written, signed] of [
      ['1e-7', '0.00000010'],
      ['0.0000001', '0.00000010'],
    ] as const) {
      const said = await fixOf(body.replace('"orderAmount":"100"', `"orderAmount":${written}`));
      expect(said).toContain(`"orderAmount" as ${signed}, but the body has ${written};`);
    }
  });

  it('md5: members in the order of the body, one that is not signed, and two mistakes at once', async () => {
    const { userId, ...rest } = members;
    const inOrder = bySecret(`userId12345${TEXT.replace('userId12345', '')}`);
    expect(await fixOf({ userId, ...rest, sign: inOrder })).toContain('must sort the members by name');
    expect(await fixOf({ ...members, note: 'x', sign: md5Sign(members) })).toContain('without "note"');
    expect(await fixOf({ ...members, sign: bySecret(TEXT.replace('userId12345', '')) })).toContain(
      'without "userId"',
    );
    const both = await fixOf({ ...members, sign: md5(SHOP_SECRET + JOINED) });
    expect(both).toMatch(/= and & between the members.*; .*put it after the text$/);
  });

  it.each([
    ['= and &', byKey(JOINED), 'with = and & between the members'],
    ['a line end after the text', byKey(`${TEXT}\n`), 'with a line end after the text'],
    ['an amount with zeros', byKey(TEXT.replace('100', '100.00')), 'as 100.00, but the body has 100;'],
    [
      'the MD5 in upper case',
      byKey(md5(TEXT).toUpperCase()),
      'set signs: md5-hex; the signature covers the MD5 in upper-case',
    ],
    ['the bytes of the MD5', byKey(hash('md5', TEXT, 'buffer')), 'covers the 16 bytes of the MD5'],
  ])('rsa: %s', async (_, wrong, said) => {
    const fix = await fixOf({ ...members, sign: wrong });
    expect(fix).toContain('the key is right; ');
    expect(fix).toContain(said);
  });

  it.each<[string, (plaintext: string) => string | Uint8Array, string]>([
    ['in upper case', (plaintext) => md5(plaintext).toUpperCase(), 'covers the MD5 in upper-case digits'],
    ['as bytes', (plaintext) => hash('md5', plaintext, 'buffer'), 'covers the 16 bytes of the MD5'],
    ['not at all', (plaintext) => plaintext, 'covers the plaintext itself'],
  ])('rsa-envelope: the MD5 %s', async (_, signed, said) => {
    const made = shop();
    const key = createPublicKey(readFileSync(join(made.folder, 'merchant.pem')));
    expect(await explain(envelope(key, signed), made)).toMatchObject(
      prints(1, `Fix first: the signature ${said}`),
    );
  });

  function envelope(key: KeyObject, signed: (plaintext: string) => string | Uint8Array): object {
    const { appKey, ...content } = members;
    const plaintext = JSON.stringify(content);
    const data = publicEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, Buffer.from(plaintext));
    return { app_id: appKey, data: data.toString('base64'), sign: byKey(signed(plaintext)) };
  }

  /**
   * A signature with a `+` at its end, which becomes a blank there. What comes before it is base64 too, without
   * padding. One of 256 signatures by a key of 3072 bits is like this.
   */
  function withPlus(): { readonly body: object; readonly sign: string } {
    for (let at = 0; ; at++) {
      const appOrderId = `o-${at}`;
      const made = byKey(TEXT.replace('o-1', appOrderId));
      if (/[AEIMQUYcgkosw048]\+$/.test(made)) return { body: { ...members, appOrderId }, sign: made };
    }
  }

  it('damage to a signature: what it is, and whether the signature is right besides', async () => {
    const inLines = (text: string): string => text.replaceAll(/.{64}/g, '$&\n');
    const { body, sign: right } = withPlus();
    for (const [damaged, said] of [
      [right.replaceAll('+', ' '), 'it has blanks in place of +;'],
      [inLines(right), 'it contains line ends;'],
      [inLines(right.replaceAll('+', ' ')), 'it contains line ends;'],
      [`${md5Sign({ ...members, ...body })}\r\n`, 'it begins or ends with white space;'],
    ] as const) {
      const { code, out } = await explain({ ...body, sign: damaged });
      expect(code).toBe(1);
      expect(out).toMatch(/^SIGN_MALFORMED: /);
      expect(out).toContain(said);
      expect(out).toContain('. Without that, the signature matches\n');
    }
    const wrong = await explain({ ...body, sign: `${md5(`${SHOP_SECRET}${TEXT}`)}\n` });
    expect(wrong.out).toContain('. Besides that, compare the length');
  });

  it.each(['md5', 'rsa', 'rsa-envelope'] as const)('a right %s signature: nothing', async (scheme) => {
    for (const orderAmount of ['100', '100.00', '0.00000010']) {
      const { code, out, err } = await explain(signedPayment({ orderAmount }, scheme), place());
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).not.toMatch(/Fix|matches|covers/);
    }
    const upper = await explain({ ...members, sign: md5Sign(members).toUpperCase() });
    expect(upper).toMatchObject({ code: 0, out: expect.not.stringMatching(/Fix|matches/) as string });
  });

  it('a body that is far larger than a callback: nothing is tried', async () => {
    const note = 'x'.repeat(2000);
    expect(await fixOf({ ...members, note, sign: md5Sign(members) })).toContain('compare the length');
  });
});
