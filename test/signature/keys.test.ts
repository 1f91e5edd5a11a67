import { X509Certificate, constants, generateKeyPairSync, hash, privateEncrypt } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
import { makePair } from './pairs.ts';
import { faultOf } from './sources.ts';

// Self-signed, made for this test; its private key was thrown away.
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIDFzCCAf+gAwIBAgIUPPxy99nl/ixtujGR0O7fdsakaswwDQYJKoZIhvcNAQEL
BQAwGzEZMBcGA1UEAwwQY291bnRlcnNpZ24udGVzdDAeFw0yNjExMjExMzU2MzNa
Fw0zNjExMTgxMzU2MzNaMBsxGTAXBgNVBAMMEGNvdW50ZXJzaWduLnRlc3QwggEi
MA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDd8aftRaMiXefaRXjKecsh6YFS
uZSX7qKwtX/+RuiYVQWmx3YymvIVGQEBMzURri8MdURmfpMNhDPlLi/JAT/9myZD
+fi2/Z+KDLA6aKe/NMZb2+8GZYP/df+GIewM10RY1MXGfSE8ZmSZqJMMbfmFS1nT
t6mdzUwp+zxKYeqBIGy3fR76xIZgeERXfhI+Kd/QE7QdtvNUkeVK+2uOZHbxnKif
J3pham6OUGM3CGti0vfhLxuc2gAfPlNU6131thKjn+HnRgJoSvp3l+nAbPaS9nh5
uLCGgVgiwiYBuXDT1sswSrfiHg9v5L8kA9HmxJVGDVNLY7oiZWSjwa2ovZUVAgMB
AAGjUzBRMB0GA1UdDgQWBBRZuJi/g0IMBJi6Lm0qgeEEFfhTtTAfBgNVHSMEGDAW
gBRZuJi/g0IMBJi6Lm0qgeEEFfhTtTAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3
DQEBCwUAA4IBAQDLA/JqP+M9uPicQlufIdm98GE775qP0bJIu0XZ2lgGfUFgg+2I
TLQFdi7UuVV3zjLhv/OxedcwWU7rKwf85jbnotVZN3CF9Lq1PqKtWjofAbUznIGL
V9RXBXSTQdUjHQEUDvbC1OLn+bwi6W8odAqA8b+lFzubLyldNAkVY0xipkMFJgzB
CtB5pbUs8On/ZFKpMNHRGV22WhxRWvWQjNmPurJDs3/P6BGcmCiHeNSYSkIUGRFU
ziodOdyznIjYtThp5gyH7Cjx0bCAVSCTqsSq1K6GGeMZZHRKT7qqCkOmWXdv9JDU
/hRVcy0WZ4xSYLumRgySJQU4+EQZC4VQ/hIL
-----END CERTIFICATE-----
`;

const pair = makePair();
const der = {
  spki: pair.publicKey.export({ type: 'spki', format: 'der' }),
  'PKCS#1 public': pair.publicKey.export({ type: 'pkcs1', format: 'der' }),
  'PKCS#8': pair.privateKey.export({ type: 'pkcs8', format: 'der' }),
  'PKCS#1 private': pair.privateKey.export({ type: 'pkcs1', format: 'der' }),
};
const pem = {
  spki: pair.publicKey.export({ type: 'spki', format: 'pem' }),
  'PKCS#1 public': pair.publicKey.export({ type: 'pkcs1', format: 'pem' }),
  'PKCS#8': pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  'PKCS#1 private': pair.privateKey.export({ type: 'pkcs1', format: 'pem' }),
};

/** The ways in which one and the same key is found in files and variables. */
function spellings(form: keyof typeof der): Readonly<Record<string, string>> {
  const base64 = der[form].toString('base64');
  return {
    PEM: pem[form],
    'PEM with CRLF': pem[form].replaceAll('\n', '\r\n'),
    'PEM on one line': pem[form].replaceAll('\n', ' '),
    'PEM with written line breaks': pem[form].trim().replaceAll('\n', '\\n'),
    'PEM under text and after a byte order mark': `\uFEFFkey of the shop\n${pem[form]}`,
    'PEM in quotes': `"${pem[form]}"`,
    base64: base64,
    'base64 without padding': base64.replaceAll('=', ''),
    base64url: der[form].toString('base64url'),
    'base64 in lines of 64': base64.replaceAll(/(.{64})/g, '$1\n'),
    'base64 in lines of 76 with CRLF': base64.replaceAll(/(.{76})/g, '$1\r\n'),
    'base64 in quotes and blanks': `  '${base64}' \n`,
  };
}

describe('keys in any form', () => {
  const { fingerprint } = readPublicKey(pem.spki);

  for (const form of ['spki', 'PKCS#1 public'] as const) {
    for (const [spelling, text] of Object.entries(spellings(form))) {
      it(`reads a public key: ${form}, ${spelling}`, () => {
        expect(readPublicKey(text)).toMatchObject({
          fingerprint,
          bytes: 256,
          base64: der.spki.toString('base64'),
        });
      });
    }
  }

  for (const form of ['PKCS#8', 'PKCS#1 private'] as const) {
    for (const [spelling, text] of Object.entries(spellings(form))) {
      it(`reads a private key: ${form}, ${spelling}`, () => {
        expect(readPrivateKey(text)).toMatchObject({ fingerprint, bytes: 256 });
      });
    }
  }

  it('reads the public key of a certificate', () => {
    expect(readPublicKey(CERTIFICATE)).toMatchObject({
      fingerprint: readPublicKey(
        new X509Certificate(CERTIFICATE).publicKey.export({ type: 'spki', format: 'pem' }),
      ).fingerprint,
    });
  });

  it('has a fingerprint of the form that OpenSSH shows', () => {
    expect(fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  });
});

describe('refused keys, with the cure and without quoting the key', () => {
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const encrypted = pair.privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  });
  const legacy = pair.privateKey.export({
    type: 'pkcs1',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  });
  const refused: readonly [string, () => unknown, string, string][] = [
    [
      'a private key for a public one',
      () => readPublicKey(pem['PKCS#8']),
      pem['PKCS#8'],
      'is a private key, but a public key is needed',
    ],
    [
      'a public key for a private one',
      () => readPrivateKey(pem.spki),
      pem.spki,
      'is a public key or a certificate, but a private key is needed',
    ],
    [
      'a certificate for a private key',
      () => readPrivateKey(CERTIFICATE),
      CERTIFICATE,
      'is a public key or a certificate',
    ],
    [
      '1024 bits',
      () => readPublicKey(small.publicKey.export({ type: 'spki', format: 'pem' })),
      '',
      'has 1024 bits',
    ],
    [
      '1024 bits, private',
      () => readPrivateKey(small.privateKey.export({ type: 'pkcs8', format: 'pem' })),
      '',
      'has 1024 bits',
    ],
    [
      'an EC key',
      () => readPublicKey(curve.publicKey.export({ type: 'spki', format: 'pem' })),
      '',
      'is a key of type ec, not RSA',
    ],
    ['an encrypted PKCS#8 key', () => readPrivateKey(encrypted), encrypted, 'is encrypted with a passphrase'],
    ['an encrypted PKCS#1 key', () => readPrivateKey(legacy), legacy, 'is encrypted with a passphrase'],
    ['two PEM blocks', () => readPublicKey(pem.spki + CERTIFICATE), pem.spki, 'contains 2 PEM blocks'],
    [
      'a key that was cut off',
      () => readPrivateKey(pair.privateText.slice(0, -40)),
      pair.privateText,
      'is not an RSA key',
    ],
    [
      'a PEM without its last line',
      () => readPrivateKey(pem['PKCS#8'].replace(/-----END.*/, '')),
      pem['PKCS#8'],
      'is an incomplete PEM block',
    ],
    [
      'base64 of something else',
      () => readPublicKey('aGVsbG8gd29ybGQ='),
      'aGVsbG8gd29ybGQ',
      'is not an RSA key',
    ],
    ['a password', () => readPublicKey('correct horse!'), 'correct horse', 'is neither PEM nor base64'],
    ['nothing', () => readPublicKey(''), '-----', 'is neither PEM nor base64'],
  ];

  it.each(refused)('%s', (_what, read, text, sentence) => {
    const fault = faultOf(read);
    expect(fault.code).toBe('KEY_UNREADABLE');
    expect(fault.message).toContain(sentence);
    const told = `${fault.message} ${JSON.stringify(fault.data)}`;
    expect(told).not.toContain(text.replaceAll(/-----[^-]*-----|\s/g, '').slice(0, 12) || '-----BEGIN');
  });
});

describe('RSA operations', () => {
  const publicKey = readPublicKey(pair.publicText);
  const privateKey = readPrivateKey(pair.privateText);

  it('verifies what was signed and nothing else', () => {
    const signature = privateKey.sign('text');
    expect(publicKey.verify('text', signature)).toBe(true);
    expect(publicKey.verify('texT', signature)).toBe(false);
    expect(publicKey.verify('text', signature.toReversed())).toBe(false);
    expect(publicKey.verify('text', new Uint8Array(256))).toBe(false);
    expect(publicKey.verify('text', new Uint8Array(0))).toBe(false);
    expect(readPublicKey(makePair().publicText).verify('text', signature)).toBe(false);
  });

  it('verifies only one encoding of a digest (RFC 8017, section 9.2)', () => {
    const digest = hash('sha256', 'text', 'buffer');
    const info = Buffer.concat([Buffer.from('3031300d060960864801650304020105000420', 'hex'), digest]);
    const sealed = (block: Buffer): Buffer =>
      privateEncrypt({ key: pair.privateKey, padding: constants.RSA_NO_PADDING }, block);
    const block = (
      content: Buffer,
      { start = '0001', padding = 'ff', end = '00', garbage = '' } = {},
    ): Buffer => {
      const [head, tail] = [Buffer.from(start, 'hex'), Buffer.from(end, 'hex')];
      const after = Buffer.from(garbage, 'hex');
      const filled = Buffer.alloc(
        256 - head.length - tail.length - content.length - after.length,
        padding,
        'hex',
      );
      return Buffer.concat([head, filled, tail, content, after]);
    };
    const other = (prefix: string): Buffer => Buffer.concat([Buffer.from(prefix, 'hex'), digest]);
    expect(publicKey.verify('text', sealed(block(info)))).toBe(true);
    const forged: Readonly<Record<string, Buffer>> = {
      'another block type': block(info, { start: '0002' }),
      'a block type 0': block(info, { start: '0000' }),
      'a first byte': block(info, { start: '0101' }),
      'padding of other bytes': block(info, { padding: 'fe' }),
      'no end of the padding': block(info, { end: '' }),
      'garbage after the digest': block(info, { garbage: '00' }),
      'short padding and much garbage': Buffer.concat([
        Buffer.from(`0001${'ff'.repeat(8)}00`, 'hex'),
        info,
        Buffer.alloc(256 - 11 - info.length),
      ]),
      'a digest without its name': block(digest),
      'a digest of another name': block(other('3031300d060960864801650304020205000420')),
      'a name without its NULL': block(other('302f300b06096086480165030402010420')),
      'a length in two bytes': block(other('308131300d060960864801650304020105000420')),
      'a digest cut short': block(info.subarray(0, -1)),
    };
    const accepted = Object.keys(forged).filter((what) =>
      publicKey.verify('text', sealed(forged[what] ?? block(info))),
    );
    expect(accepted).toEqual([]);
  });

  it('verifies one spelling of a signature: no added modulus, no added or removed zero', () => {
    const modulus = BigInt(
      `0x${Buffer.from(pair.publicKey.export({ format: 'jwk' }).n ?? '', 'base64url').toString('hex')}`,
    );
    const signature = privateKey.sign('text');
    const number = BigInt(`0x${Buffer.from(signature).toString('hex')}`);
    const spelt = (value: bigint): Buffer => {
      const hex = value.toString(16);
      return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
    };
    for (const each of [
      spelt(number + modulus),
      Buffer.from([0, ...signature]),
      Buffer.from([...signature, 0]),
    ]) {
      expect(publicKey.verify('text', each)).toBe(false);
    }
    const zeroFirst = textSignedWithZeroFirst();
    expect(publicKey.verify(zeroFirst.text, zeroFirst.signature)).toBe(true);
    expect(publicKey.verify(zeroFirst.text, zeroFirst.signature.subarray(1))).toBe(false);
  });

  /** One in some 200 signatures begins with a zero byte. */
  function textSignedWithZeroFirst(): { readonly text: string; readonly signature: Uint8Array } {
    for (let count = 0; ; count++) {
      const signature = privateKey.sign(`text ${count}`);
      if (signature[0] === 0) return { text: `text ${count}`, signature };
    }
  }

  it('finds the digest in its own signatures only', () => {
    const signature = readPrivateKey(pair.privateText, 'sha1').sign('text');
    expect(publicKey.digestIn(signature)).toEqual({
      digest: 'sha1',
      hash: '372ea08cab33e71c02c651dbc83a474d32c676ea',
    });
    expect(publicKey.digestIn(privateKey.sign('text'))?.digest).toBe('sha256');
    expect(publicKey.digestIn(signature.toReversed())).toBeUndefined();
    expect(readPublicKey(makePair().publicText).digestIn(signature)).toBeUndefined();
  });

  it('deciphers its own blocks, and not those of another key', () => {
    const block = publicKey.encrypt(Buffer.from('text'));
    expect(Buffer.from(privateKey.decrypt(block) ?? []).toString()).toBe('text');
    const other = readPublicKey(makePair().publicText).encrypt(Buffer.from('text'));
    for (const strange of [
      new Uint8Array(256),
      Buffer.alloc(256, 0xff),
      other,
      Buffer.concat([block, other]),
    ]) {
      expect(Buffer.from(privateKey.decrypt(strange) ?? []).toString()).not.toMatch(/^(?:text){1,2}$/);
    }
  });
});
