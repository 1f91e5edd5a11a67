import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readBody, textBody } from '../json.ts';
import { randomOf } from '../random.ts';
import { canonicalText, decrypt, encrypt, isMd5Sign, isRsaSign, md5Hex } from '../signing.ts';
import vectors from '../../../test/vectors/signatures.json' with { type: 'json' };
import { keysOf, sharedCredentials } from './sandbox.ts';

describe('the published vectors, in the sandbox', () => {
  for (const { members, secret, sign, valid, canonical } of vectors.md5) {
    it(`md5 ${sign} is ${valid ? 'right' : 'wrong'}`, () => {
      const body = textBody({ ...members, sign });
      expect(isMd5Sign(body, secret, sign)).toBe(valid);
      expect(isMd5Sign(body, secret, sign.toUpperCase())).toBe(valid);
      expect(isMd5Sign(body, `${secret}x`, sign)).toBe(false);
      expect(canonicalText(body)).toBe(canonical ?? canonicalText(textBody(members)));
    });
  }

  for (const { plaintext, md5hex, sign, publicKey } of vectors['rsa-envelope']) {
    it('rsa-envelope: the sign is over the MD5 of the plaintext in hexadecimal, and nothing else', () => {
      const key = createPublicKey({
        key: Buffer.from(publicKey, 'base64url'),
        format: 'der',
        type: 'spki',
      });
      expect(md5Hex(plaintext)).toBe(md5hex);
      expect(isRsaSign(Buffer.from(plaintext), key, sign)).toBe(true);
      expect(isRsaSign(Buffer.from(`${plaintext} `), key, sign)).toBe(false);
      expect(isRsaSign(Buffer.from(md5hex), key, sign)).toBe(false);
      expect(isRsaSign(Buffer.from(plaintext), key, sign.slice(1))).toBe(false);
      expect(isRsaSign(Buffer.from(plaintext), key, 'not base64!')).toBe(false);
    });
  }
});

describe('the signed text', () => {
  it.each([
    ['numbers keep their digits', '{"b":1.50,"a":true}', 'atrueb1.50'],
    ['null and sign are left out', '{"b":null,"sign":"x","a":"1"}', 'a1'],
    ['an empty string adds its name', '{"b":"","a":"1"}', 'a1b'],
    ['names are sorted by code points', '{"\\uff5e":"2","\\ud83d\\ude00":"3","B":"0","a":"1"}', 'B0a1～2😀3'],
    ['escapes are read', '{"a":"\\u00e9\\n\\/"}', 'aé\n/'],
  ])('%s', (_, text, signed) => {
    const body = readBody(text);
    expect(typeof body === 'string' ? body : canonicalText(body)).toBe(signed);
  });

  it.each([
    '',
    '[]',
    '{',
    '{"a":1,}',
    '{"a":{}}',
    '{"a":[1]}',
    '{"a":01}',
    '{"a":"1" "b":"2"}',
    '{"a":1}x',
    '{"a":1,"a":2}',
    '{"a":"\u0001"}',
    '{a:1}',
    '{"a":+1}',
  ])('%j has none', (text) => {
    expect(readBody(text)).toEqual(expect.any(String));
  });
});

describe('encryption', () => {
  const keys = keysOf(sharedCredentials());

  it.each([1, 244, 245, 246, 1000])('of %d bytes comes back, whatever the seed', (length) => {
    const plaintext = 'x'.repeat(length);
    for (const seed of ['a', 'b']) {
      const data = encrypt(plaintext, keys.merchantPublic, randomOf(seed));
      expect(decrypt(data, keys.merchantPrivate)?.toString()).toBe(plaintext);
      expect(encrypt(plaintext, keys.merchantPublic, randomOf(seed))).toBe(data);
    }
    expect(encrypt(plaintext, keys.merchantPublic, randomOf('a'))).not.toBe(
      encrypt(plaintext, keys.merchantPublic, randomOf('b')),
    );
  });

  it('is read in both alphabets, padded or not, and not if a block is cut off', () => {
    const data = encrypt('hello', keys.merchantPublic, randomOf('a'));
    const other = Buffer.from(data, 'base64url').toString('base64');
    expect(decrypt(other, keys.merchantPrivate)?.toString()).toBe('hello');
    expect(decrypt(data.slice(4), keys.merchantPrivate)).toBeUndefined();
    expect(decrypt('', keys.merchantPrivate)).toBeUndefined();
    expect(decrypt(data, keys.platformPrivate)?.toString()).not.toBe('hello');
  });
});
