import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { canonicalString } from '../../src/signature/canonical.ts';
import { readPublicKey } from '../../src/signature/keys.ts';
import { compileVerifier } from '../../src/signature/schemes.ts';
import vectors from '../vectors/signatures.json' with { type: 'json' };
import { membersOf } from './sources.ts';

describe('the published vectors', () => {
  for (const { members, secret, sign, valid, why } of vectors.md5) {
    it(`md5 ${sign} is ${valid ? 'right' : 'wrong'}${why === undefined ? '' : `: ${why}`}`, async () => {
      const verifier = compileVerifier(
        { scheme: 'md5', secret: { env: 'SECRET' }, emptyValues: 'keep' },
        () => secret,
      );
      const verified = await verifier.verify(membersOf({ ...members, sign }), sign, members.appKey);
      expect(verified.ok ? 'ok' : verified.code).toBe(valid ? 'ok' : 'SIGN_WRONG');
    });
  }

  it.each(vectors.md5.filter(({ canonical }) => canonical !== undefined))(
    '$canonical',
    ({ members, canonical }) => {
      expect(canonicalString(membersOf(members), 'keep')).toMatchObject({ text: canonical });
    },
  );

  for (const { plaintext, md5hex, sign, publicKey } of vectors['rsa-envelope']) {
    const signature = Buffer.from(sign, 'base64url');

    it('rsa-envelope: the sign is over the MD5 of the plaintext in hexadecimal', () => {
      expect(createHash('md5').update(plaintext).digest('hex')).toBe(md5hex);
      expect(readPublicKey(publicKey).verify(md5hex, signature)).toBe(true);
      expect(readPublicKey(publicKey).digestIn(signature)?.digest).toBe('sha256');
    });

    it('rsa-envelope: the sign is over nothing else', () => {
      const key = readPublicKey(publicKey);
      expect(key.verify(plaintext, signature)).toBe(false);
      expect(key.verify(md5hex.toUpperCase(), signature)).toBe(false);
      expect(key.verify(md5hex, signature.subarray(1))).toBe(false);
      expect(readPublicKey(publicKey, 'sha1').verify(md5hex, signature)).toBe(false);
    });
  }
});
