import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import type { Failure } from '../../src/errors.ts';
import type { SchemeConfig } from '../../src/signature/config.ts';
import { type SignatureExplanation, explainSignature } from '../../src/signature/explain.ts';
import { compileSigner } from '../../src/signature/schemes.ts';
import { makePair } from './pairs.ts';
import { envelopeBy, md5By, membersOf, partsOf, payment, rsaBy, shop } from './sources.ts';

const platform = makePair();
const merchant = makePair();
const stranger = makePair();
const secrets = {
  SECRET: 'demoSecret',
  PLATFORM: platform.publicText,
  MERCHANT: merchant.privateText,
  STRANGER: stranger.privateText,
};
const canonical = 'appKeydemoKeyappOrderId11321orderAmount100payCoinSymbolUSDT1742userId12345';

function explain(
  body: unknown,
  ...signatures: readonly SchemeConfig[]
): Promise<SignatureExplanation | Failure> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return explainSignature(Buffer.from(text), [shop(...signatures)], partsOf(secrets));
}

describe('signature explain', () => {
  it('shows the exact canonical string, and both signs', async () => {
    expect(await explain({ ...payment, sign: '0'.repeat(32) }, md5By('SECRET'))).toMatchObject({
      source: 'shop',
      scheme: 'md5',
      tried: [
        {
          signed: canonical,
          signedBytes: 74,
          signedSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          expected: '1f8af8615e4950dc3ed9ac49ef97b94f',
          received: '0'.repeat(32),
          verifies: false,
          next: expect.stringContaining('compare the length and the digest'),
        },
      ],
      refusal: { code: 'SIGN_WRONG' },
      next: expect.stringContaining('compare the length and the digest'),
    });
  });

  it('has nothing to fix if the sign is right', async () => {
    expect(
      await explain({ ...payment, sign: '1f8af8615e4950dc3ed9ac49ef97b94f' }, md5By('SECRET')),
    ).toMatchObject({
      tried: [{ verifies: true, next: undefined }],
      refusal: undefined,
      next: undefined,
    });
  });

  it('says so if the sign is right but the text is ambiguous', async () => {
    const body = compileSigner({ scheme: 'md5', secret: 'demoSecret', emptyValues: 'keep' }).sign(
      membersOf({ ...payment, note: 'x' }),
      0,
    );
    expect(await explain(body, md5By('SECRET'))).toMatchObject({
      tried: [{ verifies: true }],
      refusal: { code: 'SIGN_AMBIGUOUS' },
      next: expect.stringContaining('"note" is not a member'),
    });
  });

  it.each([
    ['the string', 'string', canonical, undefined],
    [
      'its MD5',
      'md5-hex',
      hash('md5', canonical, 'hex'),
      { text: canonical, bytes: 74, sha256: hash('sha256', canonical, 'hex') },
    ],
  ] as const)('says of a sign over %s what it is over', async (_, signs, signed, hashed) => {
    const body = compileSigner({
      scheme: 'rsa',
      senderKey: platform.privateText,
      digest: 'sha256',
      signs,
      emptyValues: 'keep',
    }).sign(membersOf(payment), 0);
    expect(await explain(body, rsaBy('PLATFORM', { signs }))).toMatchObject({
      tried: [{ verifies: true, signed, signedBytes: signed.length, hashed }],
    });
  });

  it('never has an expected sign for rsa, and names what to set', async () => {
    const body = compileSigner({
      scheme: 'rsa',
      senderKey: platform.privateText,
      digest: 'sha256',
      signs: 'md5-hex',
      emptyValues: 'keep',
    }).sign(membersOf(payment), 0);
    expect(await explain(body, rsaBy('PLATFORM'))).toMatchObject({
      tried: [
        {
          signed: canonical,
          expected: undefined,
          verifies: false,
          keys: [{ role: 'platform key', fingerprint: expect.stringMatching(/^SHA256:/) }],
        },
      ],
      next: 'the key is right; set signs: md5-hex',
    });
  });

  it("shows an envelope's plaintext, with a right or a wrong sign", async () => {
    const signer = compileSigner({
      scheme: 'rsa-envelope',
      senderKey: platform.privateText,
      receiverKey: merchant.publicText,
    });
    const forged = compileSigner({
      scheme: 'rsa-envelope',
      senderKey: stranger.privateText,
      receiverKey: merchant.publicText,
    });
    const { appKey: _, ...content } = payment;
    const scheme = envelopeBy('PLATFORM', 'MERCHANT');
    const text = JSON.stringify(content);
    const signed = hash('md5', text, 'hex');
    expect(await explain(signer.sign(membersOf(payment), 0), scheme)).toMatchObject({
      tried: [{ signed, hashed: { text }, verifies: true }],
      next: undefined,
    });
    expect(await explain(forged.sign(membersOf(payment), 0), scheme)).toMatchObject({
      tried: [{ signed, hashed: { text }, verifies: false }],
      refusal: { code: 'SIGN_WRONG' },
      next: expect.stringContaining('made with another key'),
    });
    expect(
      await explain(signer.sign(membersOf(payment), 0), envelopeBy('PLATFORM', 'STRANGER')),
    ).toMatchObject({
      tried: [{ ok: false, code: 'ENVELOPE_UNDECIPHERABLE' }],
      // One in 245 decrypts to random bytes that are a text, for which the advice differs.
      next: expect.stringMatching(/can't be decrypted|is not what the platform key signed/),
    });
  });

  it('fails with the reason if no key is found', async () => {
    expect(await explain('{', md5By('SECRET'))).toMatchObject({ ok: false, code: 'NOT_JSON' });
    expect(await explain(payment, md5By('SECRET'))).toMatchObject({ code: 'SIGN_MISSING' });
    expect(await explain({ ...payment, appKey: 'x' }, md5By('SECRET'))).toMatchObject({
      code: 'SOURCE_UNKNOWN',
    });
    expect(await explain({ ...payment, sign: '0'.repeat(32) }, rsaBy('PLATFORM'))).toMatchObject({
      code: 'SCHEME_NOT_ALLOWED',
    });
  });
});
