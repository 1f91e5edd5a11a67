import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { parsePayment } from '../../src/callback/payment.ts';
import type { Failure } from '../../src/errors.ts';
import type { Authenticated } from '../../src/signature/scheme.ts';
import { openEnvelope, sealEnvelope } from '../../src/signature/rsa-envelope.ts';
import { readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
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
  shop,
  textsOf,
} from './sources.ts';

const platform = makePair();
const merchant = makePair();
const stranger = makePair();
const secrets = {
  PLATFORM: platform.publicText,
  MERCHANT: merchant.privateText,
  NEXT_PLATFORM: stranger.publicText,
  NEXT_MERCHANT: stranger.privateText,
  SECRET: 'demoSecret',
};
const authenticator = authenticatorOf([shop(envelopeBy('PLATFORM', 'MERCHANT'))], secrets);
const sender = {
  senderKey: readPrivateKey(platform.privateText),
  receiverKey: readPublicKey(merchant.publicText),
};
const { appKey: _, ...content } = payment;

/** An envelope around any plaintext, with changes to its members. */
function envelope(
  plaintext: string,
  changes: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return { app_id: 'demoKey', time: 1522055680, ...sealEnvelope(plaintext, sender), ...changes };
}

const receive = (body: unknown): Promise<Authenticated | Failure> => authenticate(authenticator, body);

describe('an envelope that is authentic', () => {
  it('is what the signer makes, and parses as a payment', async () => {
    const body = compileSigner({
      scheme: 'rsa-envelope',
      senderKey: platform.privateText,
      receiverKey: merchant.publicText,
    }).sign(membersOf(payment), 1522055680123);
    expect([...membersOf(body).keys()]).toEqual(['app_id', 'time', 'data', 'sign']);
    const outcome = await receive(body);
    expect(outcome).toMatchObject({
      ok: true,
      source: 'shop',
      scheme: 'rsa-envelope',
      plaintext: JSON.stringify({ ...content }),
    });
    if (!outcome.ok) throw new Error(outcome.because);
    expect(textsOf(outcome.members)).toEqual(payment);
    expect(parsePayment(outcome.members, outcome.source)).toMatchObject({
      ok: true,
      callback: { id: '11321' },
    });
  });

  it('has its plaintext exactly as it was sent', async () => {
    const plaintext = ` {"orderAmount":1.50,\n "userId":"12345"} `;
    expect(await receive(envelope(plaintext))).toMatchObject({ plaintext });
  });

  it('in blocks of any size, in either base64, padded or not, with or without a time', async () => {
    const bytes = Buffer.from(JSON.stringify(content));
    for (const size of [7, 100, 245]) {
      const blocks = Array.from({ length: Math.ceil(bytes.length / size) }, (_block, at) =>
        sender.receiverKey.encrypt(bytes.subarray(at * size, (at + 1) * size)),
      );
      const data = Buffer.concat(blocks);
      const { sign } = sealEnvelope(bytes.toString(), sender);
      for (const encoding of ['base64', 'base64url'] as const) {
        const text = data.toString(encoding);
        const code = blocks.length > 16 ? 'ENVELOPE_TOO_LARGE' : 'ok';
        expect(codeOf(await receive({ app_id: 'demoKey', data: text, sign }))).toBe(code);
        expect(
          codeOf(await receive({ app_id: 'demoKey', data: text.replaceAll('=', ''), sign, time: 'soon' })),
        ).toBe(code);
      }
    }
  });

  it('may repeat its appKey inside', async () => {
    expect(codeOf(await receive(envelope(JSON.stringify(payment))))).toBe('ok');
  });

  it('by either pair while one is rotated', async () => {
    const both = authenticatorOf(
      [
        shop(
          envelopeBy('NEXT_PLATFORM', 'NEXT_MERCHANT'),
          envelopeBy('NEXT_PLATFORM', 'MERCHANT'),
          envelopeBy('PLATFORM', 'MERCHANT'),
        ),
      ],
      secrets,
    );
    expect(codeOf(await authenticate(both, envelope(JSON.stringify(content))))).toBe('ok');
  });
});

describe('an envelope that is not', () => {
  const good = envelope(JSON.stringify(content));
  const bytes = Buffer.from(String(good['data']), 'base64url');
  const flipped = Buffer.from(bytes).fill((bytes[100] ?? 0) ^ 1, 100, 101);
  const to = (receiverKey: typeof sender.receiverKey, changes = {}): object => ({
    ...good,
    ...sealEnvelope(JSON.stringify(content), { ...sender, receiverKey }),
    ...changes,
  });
  const by = (senderKey: typeof sender.senderKey): object => ({
    ...good,
    ...sealEnvelope(JSON.stringify(content), { ...sender, senderKey }),
  });
  const refused: readonly [string, () => unknown, string][] = [
    ['encrypted for another key', () => to(readPublicKey(stranger.publicText)), 'ENVELOPE_UNDECIPHERABLE'],
    [
      'a block that was changed',
      () => ({ ...good, data: flipped.toString('base64url') }),
      'ENVELOPE_UNDECIPHERABLE',
    ],
    [
      'zeros for data',
      () => ({ ...good, data: Buffer.alloc(256).toString('base64') }),
      'ENVELOPE_UNDECIPHERABLE',
    ],
    [
      'a second block of noise',
      () => ({ ...good, data: Buffer.concat([bytes, Buffer.alloc(256, 7)]).toString('base64') }),
      'ENVELOPE_UNDECIPHERABLE',
    ],
    [
      'its block twice',
      () => ({ ...good, data: Buffer.concat([bytes, bytes]).toString('base64') }),
      'ENVELOPE_UNDECIPHERABLE',
    ],
    [
      'a second block that holds nothing',
      () => ({
        ...good,
        data: Buffer.concat([bytes, sender.receiverKey.encrypt(Buffer.alloc(0))]).toString('base64'),
      }),
      'ENVELOPE_UNDECIPHERABLE',
    ],
    [
      'the data of another',
      () => ({ ...good, data: envelope('{"userId":"1"}')['data'] }),
      'ENVELOPE_UNDECIPHERABLE',
    ],
    ['signed by another key', () => by(readPrivateKey(stranger.privateText)), 'SIGN_WRONG'],
    ['signed with sha1', () => by(readPrivateKey(platform.privateText, 'sha1')), 'SIGN_WRONG'],
    [
      'signed over the plaintext itself',
      () => ({
        ...good,
        sign: Buffer.from(sender.senderKey.sign(JSON.stringify(content))).toString('base64'),
      }),
      'SIGN_WRONG',
    ],
    ['a sign of noise', () => ({ ...good, sign: Buffer.alloc(256, 3).toString('base64') }), 'SIGN_WRONG'],
    [
      'a sign of another size',
      () => ({ ...good, sign: Buffer.alloc(512, 3).toString('base64') }),
      'SIGN_WRONG',
    ],
    ['an md5 sign', () => ({ ...good, sign: '0'.repeat(32) }), 'SIGN_MALFORMED'],
    ['no sign', () => ({ ...good, sign: undefined }), 'SIGN_MISSING'],
    [
      'data that was cut off',
      () => ({ ...good, data: bytes.subarray(1).toString('base64url') }),
      'ENVELOPE_MALFORMED',
    ],
    ['empty data', () => ({ ...good, data: '' }), 'ENVELOPE_MALFORMED'],
    ['no data', () => ({ ...good, data: undefined }), 'ENVELOPE_MALFORMED'],
    ['data that is a number', () => ({ ...good, data: 1 }), 'ENVELOPE_MALFORMED'],
    ['data in no base64', () => ({ ...good, data: `${String(good['data'])}!` }), 'ENVELOPE_MALFORMED'],
    ['17 blocks', () => envelope('x'.repeat(245 * 16 + 1)), 'ENVELOPE_TOO_LARGE'],
    ['flat members beside it', () => ({ ...good, userId: '12345' }), 'ENVELOPE_MALFORMED'],
    ['an appKey beside it', () => ({ ...good, appKey: 'demoKey' }), 'ENVELOPE_MALFORMED'],
    [
      'a flat payment with data',
      () => ({ ...payment, data: good['data'], sign: good['sign'] }),
      'SOURCE_UNKNOWN',
    ],
    ['no app_id', () => ({ ...good, app_id: undefined }), 'SOURCE_UNKNOWN'],
    ['an unknown app_id', () => ({ ...good, app_id: 'other' }), 'SOURCE_UNKNOWN'],
    [
      'another appKey inside',
      () => envelope(JSON.stringify({ ...payment, appKey: 'other' })),
      'ENVELOPE_MALFORMED',
    ],
    ['an appKey that is a number inside', () => envelope('{"appKey":1}'), 'ENVELOPE_MALFORMED'],
    ['a sign inside', () => envelope(JSON.stringify({ ...content, sign: 'x' })), 'ENVELOPE_MALFORMED'],
    ['a name twice inside', () => envelope('{"userId":"1","userId":"2"}'), 'DUPLICATE_MEMBER'],
    ['no JSON inside', () => envelope('userId=1'), 'NOT_AN_OBJECT'],
    ['no UTF-8 inside', () => notUtf8(), 'NOT_UTF8'],
  ];
  it.each(refused)('%s', async (_what, bodyOf, code) => {
    expect(codeOf(await receive(JSON.parse(JSON.stringify(bodyOf()))))).toBe(code);
  });

  // OpenSSL deciphers a block that is not for the key to random bytes of a random length, none included.
  it('random blocks, alone and with the signed block', async () => {
    const found = new Map<string, number>();
    for (let at = 0; at < 600; at++) {
      const noise = createHash('shake256', { outputLength: 255 }).update(`noise ${at}`).digest();
      const block = Buffer.concat([Buffer.from([0]), noise]);
      for (const data of [block, Buffer.concat([bytes, block])]) {
        const code = codeOf(await receive({ ...good, data: data.toString('base64') }));
        found.set(code, (found.get(code) ?? 0) + 1);
      }
    }
    expect(Object.fromEntries(found)).toEqual({ ENVELOPE_UNDECIPHERABLE: 1200 });
  });

  it('16 blocks are deciphered', async () => {
    expect(codeOf(await receive(envelope(`{"userId":"1"}${' '.repeat(245 * 16 - 14)}`)))).toBe('ok');
  });

  it('at a source that accepts other schemes', async () => {
    expect(codeOf(await authenticate(authenticatorOf([shop(md5By('SECRET'))], secrets), good))).toBe(
      'SCHEME_NOT_ALLOWED',
    );
  });

  it('at another source, whose key it was not made for', async () => {
    const two = authenticatorOf(
      [
        shop(envelopeBy('PLATFORM', 'MERCHANT')),
        { ...shop(envelopeBy('NEXT_PLATFORM', 'NEXT_MERCHANT')), name: 'stall', appKey: 'stallKey' },
      ],
      secrets,
    );
    expect(codeOf(await authenticate(two, good))).toBe('ok');
    expect(await authenticate(two, { ...good, app_id: 'stallKey' })).toMatchObject({
      code: 'SIGN_WRONG',
      data: { source: 'stall' },
    });
  });
});

it('two sources with the same two keys are a fault, as nothing signs app_id', () => {
  const stall = { name: 'stall', appKey: 'stallKey' };
  const mine = envelopeBy('PLATFORM', 'MERCHANT');
  const fault = faultOf(() => authenticatorOf([shop(mine), { ...shop(mine), ...stall }], secrets));
  expect(fault.code).toBe('SETTINGS_INVALID');
  expect(fault.message).toMatch(/^source stall: has both rsa-envelope keys of source shop/);
  const apart = [shop(mine, mine), { ...shop(envelopeBy('PLATFORM', 'NEXT_MERCHANT')), ...stall }];
  expect(authenticatorOf(apart, secrets).describe()).toHaveLength(2);
});

it("nothing is deciphered for a sign that the sender's key did not make", () => {
  let deciphered = 0;
  const receiverKey = readPrivateKey(merchant.privateText);
  const counting = {
    senderKey: readPublicKey(platform.publicText),
    receiverKey: {
      ...receiverKey,
      decrypt: (blocks: Uint8Array) => (deciphered++, receiverKey.decrypt(blocks)),
    },
  };
  const sealed = sealEnvelope('{}', sender);
  for (const sign of [Buffer.alloc(256, 3), Buffer.from(readPrivateKey(stranger.privateText).sign('x'))]) {
    expect(openEnvelope({ ...sealed, sign: sign.toString('base64') }, counting).ok).toBe(false);
  }
  expect(deciphered).toBe(0);
  expect(openEnvelope(sealed, counting).ok).toBe(true);
  expect(deciphered).toBe(1);
});

function notUtf8(): object {
  const bytes = Buffer.from([0x7b, 0xff, 0x7d]);
  const md5 = createHash('md5').update(bytes).digest('hex');
  return {
    app_id: 'demoKey',
    data: Buffer.from(sender.receiverKey.encrypt(bytes)).toString('base64url'),
    sign: Buffer.from(sender.senderKey.sign(md5)).toString('base64url'),
  };
}
