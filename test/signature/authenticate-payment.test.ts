import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import type { Authenticator } from '../../src/signature/authenticate.ts';
import { compileSigner } from '../../src/signature/schemes.ts';
import { makePair } from './pairs.ts';
import {
  authenticate,
  authenticatorOf,
  codeOf,
  envelopeBy,
  faultOf,
  md5By,
  membersOf,
  payment,
  rsaBy,
  shop,
  textsOf,
} from './sources.ts';

const platform = makePair();
const next = makePair();
const merchant = makePair();
const secrets = {
  SECRET: 'demoSecret',
  NEXT_SECRET: 'nextSecret',
  PLATFORM: platform.publicText,
  NEXT_PLATFORM: next.publicText,
  MERCHANT: merchant.privateText,
  BIG_PLATFORM: makePair(3072).publicText,
};

type Fields = Readonly<Record<string, unknown>>;
const md5Signed = (body: Fields, secret = secrets.SECRET, emptyValues: 'keep' | 'skip' = 'keep'): string =>
  compileSigner({ scheme: 'md5', secret, emptyValues }).sign(membersOf(body), 0);
interface RsaSender {
  readonly senderKey?: string;
  readonly digest?: 'sha256' | 'sha1';
  readonly signs?: 'string' | 'md5-hex';
}
const rsaSigned = (
  body: Fields,
  { senderKey = platform.privateText, digest = 'sha256', signs = 'string' }: RsaSender = {},
): string =>
  compileSigner({ scheme: 'rsa', senderKey, digest, signs, emptyValues: 'keep' }).sign(membersOf(body), 0);
const signOf = (body: string): string => textsOf(membersOf(body))['sign'] ?? '';

const md5Shop = authenticatorOf([shop(md5By('SECRET'))], secrets);
const rsaShop = authenticatorOf([shop(rsaBy('PLATFORM'))], secrets);

describe('a payment that is authentic', () => {
  it('by md5, in lower and upper case', async () => {
    const sign = '1f8af8615e4950dc3ed9ac49ef97b94f';
    for (const each of [sign, sign.toUpperCase()]) {
      const outcome = await authenticate(md5Shop, { ...payment, sign: each });
      expect(outcome).toMatchObject({
        ok: true,
        source: 'shop',
        scheme: 'md5',
        by: 'md5 environment variable SECRET',
        plaintext: undefined,
      });
      expect(outcome.ok && textsOf(outcome.members)).toEqual(payment);
    }
  });

  it('by rsa, in either base64, padded or not', async () => {
    const { fingerprint } = rsaShop.describe()[0]?.keys[0] ?? { fingerprint: '' };
    const signature = Buffer.from(signOf(rsaSigned(payment)), 'base64');
    const url = signature.toString('base64url');
    const standard = signature.toString('base64');
    for (const sign of [url, `${url}==`, standard, standard.replaceAll('=', '')]) {
      expect(await authenticate(rsaShop, { ...payment, sign })).toMatchObject({
        ok: true,
        scheme: 'rsa',
        by: `rsa ${fingerprint}`,
      });
    }
  });

  it('by rsa with sha1 and over the MD5, if the settings allow it', async () => {
    for (const digest of ['sha256', 'sha1'] as const) {
      for (const signs of ['string', 'md5-hex'] as const) {
        const body = rsaSigned(payment, { digest, signs });
        const accepting = authenticatorOf([shop(rsaBy('PLATFORM', { digest, signs }))], secrets);
        expect(codeOf(await authenticate(accepting, body))).toBe('ok');
        const same = digest === 'sha256' && signs === 'string';
        expect(codeOf(await authenticate(rsaShop, body))).toBe(same ? 'ok' : 'SIGN_WRONG');
      }
    }
  });

  it('by either of two keys while one is rotated, and by no third', async () => {
    const both = authenticatorOf(
      [
        shop(
          md5By('SECRET'),
          md5By('NEXT_SECRET'),
          rsaBy('BIG_PLATFORM'),
          rsaBy('PLATFORM'),
          rsaBy('NEXT_PLATFORM'),
        ),
      ],
      secrets,
    );
    expect(await authenticate(both, md5Signed(payment, 'nextSecret'))).toMatchObject({
      by: 'md5 environment variable NEXT_SECRET',
    });
    expect(codeOf(await authenticate(both, md5Signed(payment)))).toBe('ok');
    expect(codeOf(await authenticate(both, rsaSigned(payment)))).toBe('ok');
    expect(codeOf(await authenticate(both, rsaSigned(payment, { senderKey: next.privateText })))).toBe('ok');
    expect(codeOf(await authenticate(both, md5Signed(payment, 'thirdSecret')))).toBe('SIGN_WRONG');
    const third = await authenticate(both, rsaSigned(payment, { senderKey: merchant.privateText }));
    expect(third).toMatchObject({ code: 'SIGN_WRONG' });
    const keys = both.describe()[0]?.keys.filter(({ role }) => role === 'platform key') ?? [];
    expect(keys).toHaveLength(3);
    for (const { fingerprint } of keys)
      expect(third).toMatchObject({ because: expect.stringContaining(fingerprint) });
  });

  it('with numbers, an order called overtime-7, a time, or a null that is not signed', async () => {
    for (const changes of [
      { orderAmount: 100.5 },
      { appOrderId: 'overtime-7' },
      { time: '1522055680' },
      { time: null },
    ]) {
      expect(codeOf(await authenticate(md5Shop, md5Signed({ ...payment, ...changes })))).toBe('ok');
      expect(codeOf(await authenticate(rsaShop, rsaSigned({ ...payment, ...changes })))).toBe('ok');
    }
  });
});

describe('a payment that is not', () => {
  const { appKey: _, ...keyless } = payment;
  const sign = signOf(md5Signed(payment));
  const refused: readonly [string, unknown, string][] = [
    ['no appKey', { ...keyless, sign }, 'SOURCE_UNKNOWN'],
    ['an empty appKey', { ...payment, appKey: '', sign }, 'SOURCE_UNKNOWN'],
    ['a number for an appKey', { ...payment, appKey: 1, sign }, 'SOURCE_UNKNOWN'],
    ['an unknown appKey', { ...payment, appKey: 'other', sign }, 'SOURCE_UNKNOWN'],
    ['an appKey in other case', { ...payment, appKey: 'DemoKey', sign }, 'SOURCE_UNKNOWN'],
    ["an appKey named like an object's own", { ...payment, appKey: '__proto__', sign }, 'SOURCE_UNKNOWN'],
    ['no sign', payment, 'SIGN_MISSING'],
    ['null for a sign', { ...payment, sign: null }, 'SIGN_MISSING'],
    ['an empty sign', { ...payment, sign: '' }, 'SIGN_MISSING'],
    ['a number for a sign', `{"appKey":"demoKey","sign":12345678901234567890123456789012}`, 'SIGN_MALFORMED'],
    ['an object for a sign', { ...payment, sign: { sign } }, 'SIGN_MALFORMED'],
    ['a list for a sign', { ...payment, sign: [sign] }, 'SIGN_MALFORMED'],
    ['a sign of 31 digits', { ...payment, sign: sign.slice(1) }, 'SIGN_MALFORMED'],
    ['a sign of 33 digits', { ...payment, sign: `${sign}0` }, 'SIGN_MALFORMED'],
    ['a sign with a blank', { ...payment, sign: ` ${sign.slice(1)}` }, 'SIGN_MALFORMED'],
    ['a sign in other letters', { ...payment, sign: `${sign.slice(1)}g` }, 'SIGN_MALFORMED'],
    ['a sign in full-width digits', { ...payment, sign: `${sign.slice(1)}１` }, 'SIGN_MALFORMED'],
    [
      'another sign',
      { ...payment, sign: sign.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) },
      'SIGN_WRONG',
    ],
    ['another amount', { ...payment, orderAmount: '1000', sign }, 'SIGN_WRONG'],
    ['an object among the members', { ...payment, more: {}, sign }, 'MEMBER_INVALID'],
  ];
  it.each(refused)('%s', async (_what, body, code) => {
    expect(codeOf(await authenticate(md5Shop, body))).toBe(code);
  });

  it('base64 of another size, mixed, padded wrongly, or with stray bits', async () => {
    const signature = Buffer.from(signOf(rsaSigned(payment)), 'base64');
    const url = signature.toString('base64url');
    const stray = `${url.slice(0, -1)}${url.endsWith('A') ? 'B' : String.fromCharCode(url.charCodeAt(url.length - 1) + 1)}`;
    const malformed = [
      signature.subarray(1).toString('base64'),
      `${url}=`,
      `${url}===`,
      `-/${url.slice(2)}`,
      `${url} `,
      `${url}\n`,
      stray,
      'A'.repeat(2000),
    ];
    for (const each of malformed) {
      expect([each, codeOf(await authenticate(rsaShop, { ...payment, sign: each }))]).toEqual([
        each,
        'SIGN_MALFORMED',
      ]);
    }
    expect(
      codeOf(await authenticate(rsaShop, { ...payment, sign: Buffer.alloc(256, 1).toString('base64') })),
    ).toBe('SIGN_WRONG');
    expect(
      codeOf(await authenticate(rsaShop, { ...payment, sign: Buffer.alloc(384, 1).toString('base64') })),
    ).toBe('SIGN_WRONG');
  });

  it('unicode names are signed, and are then unknown members', async () => {
    const body = md5Signed({ ...payment, 'é😀': 'ü', '～': 'x' });
    expect(await authenticate(md5Shop, body)).toMatchObject({
      code: 'SIGN_AMBIGUOUS',
      because: expect.stringContaining('is not a member of a payment confirmation'),
    });
  });

  it('a signed body read another way', async () => {
    const { orderAmount: _amount, ...amountless } = payment;
    const crafted = [
      { ...amountless, appOrderId: '11321orderAmount100' },
      { ...payment, payCoinSymbol: 'USDTtime1522055680' },
      { ...payment, appOrderId: 'xorderAmount1payCoinSymbolUSDT' },
      { ...payment, time: '' },
    ];
    for (const body of crafted)
      expect(codeOf(await authenticate(md5Shop, md5Signed(body)))).toBe('SIGN_AMBIGUOUS');
    // The sign of an honest body, under one whose order has swallowed the amount.
    const honest = signOf(md5Signed(payment));
    expect(codeOf(await authenticate(md5Shop, { ...crafted[0], sign: honest }))).toBe('SIGN_AMBIGUOUS');
    const timed = signOf(md5Signed({ ...payment, time: '1522055680' }));
    expect(
      codeOf(
        await authenticate(md5Shop, { ...payment, payCoinSymbol: 'USDT1742time1522055680', sign: timed }),
      ),
    ).toBe('SIGN_AMBIGUOUS');
  });
});

describe('a weaker scheme is not accepted', () => {
  it('md5 with any secret, at a source that accepts only rsa', async () => {
    const pem = platform.publicKey.export({ type: 'spki', format: 'pem' });
    for (const secret of ['', 'demoSecret', platform.publicText, pem, pem.trim()]) {
      expect(await authenticate(rsaShop, md5Signed(payment, secret))).toMatchObject({
        code: 'SCHEME_NOT_ALLOWED',
        because:
          'the callback is signed by md5, but source shop accepts rsa; agree on one scheme with the platform, or add md5 to its signatures',
      });
    }
  });

  it('rsa at a source that accepts only md5 or envelopes', async () => {
    const envelopes = authenticatorOf([shop(envelopeBy('PLATFORM', 'MERCHANT'))], secrets);
    expect(codeOf(await authenticate(md5Shop, rsaSigned(payment)))).toBe('SCHEME_NOT_ALLOWED');
    expect(codeOf(await authenticate(envelopes, rsaSigned(payment)))).toBe('SCHEME_NOT_ALLOWED');
    expect(codeOf(await authenticate(envelopes, md5Signed(payment)))).toBe('SCHEME_NOT_ALLOWED');
  });

  it('a key where the md5 secret should be is a fault', () => {
    const fault = faultOf(() => authenticatorOf([shop(md5By('PLATFORM'))], secrets));
    expect(fault.code).toBe('SECRET_UNREADABLE');
    expect(fault.message).toContain('environment variable PLATFORM is a key');
  });
});

describe('the failure of a wrong sign', () => {
  const hints: readonly [string, () => Authenticator, () => unknown, string][] = [
    [
      'empty values',
      () => md5Shop,
      () => md5Signed({ ...payment, time: '' }, 'demoSecret', 'skip'),
      'set emptyValues: skip',
    ],
    [
      'no appKey',
      () => md5Shop,
      () => ({ ...payment, sign: signOf(md5Signed({ ...payment, appKey: null })) }),
      'the sender must sign appKey',
    ],
    [
      'null as a text',
      () => md5Shop,
      () => ({ ...payment, time: null, sign: signOf(md5Signed({ ...payment, time: 'null' })) }),
      'must leave out null',
    ],
    ['the secret', () => md5Shop, () => md5Signed(payment, 'other'), 'if they agree, the secrets differ'],
    [
      'what is signed',
      () => rsaShop,
      () => rsaSigned(payment, { signs: 'md5-hex' }),
      'the key is right; set signs: md5-hex',
    ],
    [
      'the digest',
      () => rsaShop,
      () => rsaSigned(payment, { digest: 'sha1' }),
      'the key is right; set digest: sha1',
    ],
    [
      'both',
      () => rsaShop,
      () => rsaSigned(payment, { digest: 'sha1', signs: 'md5-hex' }),
      'the key is right; set digest: sha1; set signs: md5-hex',
    ],
    [
      'the key',
      () => rsaShop,
      () => rsaSigned(payment, { senderKey: next.privateText }),
      'made with another key',
    ],
    [
      'the body',
      () => rsaShop,
      () => ({ ...payment, userId: '1', sign: signOf(rsaSigned(payment)) }),
      'the key is right, but it signed another text',
    ],
  ];
  for (const [what, shopOf, bodyOf, hint] of hints) {
    it(`hints at ${what}, and accepts nothing for it`, async () => {
      const outcome = await authenticate(shopOf(), bodyOf());
      expect(outcome).toMatchObject({ code: 'SIGN_WRONG', because: expect.stringContaining(hint) });
    });
  }

  it("names the signed text's length and digest, and the keys", async () => {
    const canonical = 'appKeydemoKeyappOrderId11321orderAmount100payCoinSymbolUSDT1742userId12345';
    const digest = createHash('sha256').update(canonical).digest('hex');
    expect(await authenticate(md5Shop, { ...payment, sign: '0'.repeat(32) })).toMatchObject({
      because: expect.stringContaining(
        `[md5 over ${canonical.length} bytes with SHA-256 ${digest}; secret environment variable SECRET]`,
      ),
      data: { source: 'shop', scheme: 'md5', signedBytes: canonical.length, signedSha256: digest },
    });
  });
});

describe('faults of the settings', () => {
  it('are all reported at once, each with its place and cure', () => {
    const fault = faultOf(() =>
      authenticatorOf(
        [shop(rsaBy('MERCHANT'), md5By('ABSENT'), md5By('EMPTY'), envelopeBy('PLATFORM', 'PLATFORM'))],
        { ...secrets, EMPTY: '' },
      ),
    );
    expect(fault.code).toBe('KEY_UNREADABLE');
    expect(fault.message.split('\n')).toEqual([
      expect.stringMatching(
        /^source shop, signatures\[0\] \(rsa\): environment variable MERCHANT is a private key, but a public key is needed/,
      ),
      'source shop, signatures[1] (md5): environment variable ABSENT is not set: set it',
      'source shop, signatures[2] (md5): environment variable EMPTY is empty; put the secret there',
      expect.stringMatching(
        /^source shop, signatures\[3\] \(rsa-envelope\): environment variable PLATFORM is a public key/,
      ),
    ]);
    expect(fault.data['faults']).toHaveLength(4);
  });
});
