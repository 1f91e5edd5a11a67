import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { parseSshKey } from '../../src/values/ssh-key.ts';
import { createSecurityKey, createSshKey, ones, sshKeygen, wire } from '../signature/ssh.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Why it is refused; undefined if it is not. */
function refusal(line: string): string | undefined {
  try {
    parseSshKey(line);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof CountersignError && thrown.code === 'KEY_UNREADABLE') return thrown.message;
    throw thrown;
  }
}

const ED25519 = `ssh-ed25519 ${wire('ssh-ed25519', ed25519Point()).toString('base64')}`;

function ed25519Point(): Buffer {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  return Buffer.from(x, 'base64url');
}

function ecPoint(namedCurve: string): Buffer {
  const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' });
  return Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
}

const lineOf = (type: string, ...fields: readonly (string | Uint8Array)[]): string =>
  `${type} ${wire(type, ...fields).toString('base64')}`;

describe('the public key of a file that ends in .pub', () => {
  it.each([
    ['ssh-ed25519', () => createSshKey('-t', 'ed25519')],
    ['ecdsa-sha2-nistp256', () => createSshKey('-t', 'ecdsa', '-b', '256')],
    ['ecdsa-sha2-nistp384', () => createSshKey('-t', 'ecdsa', '-b', '384')],
    ['ssh-rsa', () => createSshKey('-t', 'rsa', '-b', '2048')],
    ['sk-ssh-ed25519@openssh.com', () => createSecurityKey('ed25519')],
    ['sk-ecdsa-sha2-nistp256@openssh.com', () => createSecurityKey('nistp256')],
  ] as const)('of type %s has the fingerprint that ssh-keygen prints', (type, create) => {
    const { line } = create();
    const file = join(temporaryFolder(), 'key.pub');
    writeFileSync(file, `${line}\n`);
    const [, blob = '', comment = ''] = line.split(' ');
    const key = parseSshKey(line);
    expect(key).toEqual({ type, blob, comment, fingerprint: key.fingerprint });
    expect(sshKeygen(['-l', '-f', file]).stdout).toContain(` ${key.fingerprint} ${comment} (`);
  });

  it('has a comment of any printable text, or none', () => {
    for (const comment of ['', 'ada', 'ada@laptop (2026)', 'Ada Lovelace, büro', 'a  b']) {
      expect(parseSshKey(`${ED25519} ${comment}`).comment).toBe(comment);
    }
    expect(parseSshKey(ED25519).comment).toBe('');
  });

  it('of RSA has 2048 to 8192 bits, in any number of them', () => {
    for (const bits of [2048, 2049, 3071, 8192]) {
      expect(refusal(lineOf('ssh-rsa', Buffer.of(1, 0, 1), ones(bits))), `${bits}`).toBeUndefined();
    }
    for (const bits of [1, 1024, 2047, 8193]) {
      expect(refusal(lineOf('ssh-rsa', Buffer.of(1, 0, 1), ones(bits)))).toBe(
        `The SSH key has ${bits} bits. Use an RSA key of 2048 to 8192 bits. Make one with: ssh-keygen -t ed25519`,
      );
    }
  });
});

const TYPE_NOT_ACCEPTED = /has the type \S+\. Use a key of one of the types ssh-ed25519, ecdsa-/;
const BEFORE = /has options or names before its type, which would not be followed\. Write it without them/;
const NO_TYPE = /does not start with a type of key, such as ssh-ed25519\. Copy the line/;
const NOT_PRINTABLE = /is not one line of at most 4096 printable characters\. Copy the line/;
const BASE64 = /is not in base64 after its type\. Copy the line/;
const POINT = /is not an uncompressed point of the curve nistp\d+\. Make one/;
const LENGTH_OR_CURVE = /has a wrong length, or is no point of its curve\. Make one/;
const NUMBER = /has a number that is zero, negative or not in its shortest form/;
const EXPONENT = /has an exponent that is not an odd number from 3 to 2\^24/;
const AFTER = /has further bytes after its end/;
const CUT_OFF = /is cut off\. Copy it again, whole/;
const APPLICATION = /belongs to an application other than ssh:/;

const [, BASE = ''] = ED25519.split(' ');
const E = Buffer.of(1, 0, 1);
const P256 = ecPoint('P-256');

describe('a public key is refused', () => {
  it.each<[string, string, RegExp]>([
    ['no text', '', NO_TYPE],
    ['a type alone', 'ssh-ed25519', CUT_OFF],
    ['a type and a blank', 'ssh-ed25519 ', CUT_OFF],
    ['base64 alone', BASE, NO_TYPE],
    ['a type in capitals', ED25519.replace('ssh-ed', 'SSH-ED'), NO_TYPE],
    ['a name that objects have', `constructor ${BASE}`, NO_TYPE],
    [
      'another type before it',
      ED25519.replace('ssh-ed25519', 'ssh-rsa'),
      /starts with ssh-rsa, and is a key of type ssh-ed25519/,
    ],
    [
      'the type of a security key',
      ED25519.replace('ssh-ed25519', 'sk-ssh-ed25519@openssh.com'),
      /starts with sk-ssh-ed25519@openssh\.com, and is/,
    ],
    ['DSA', `ssh-dss ${wire('ssh-dss', 'p').toString('base64')}`, TYPE_NOT_ACCEPTED],
    ['DSA behind another type', `ssh-rsa ${wire('ssh-dss', 'p').toString('base64')}`, TYPE_NOT_ACCEPTED],
    ['the curve P-521', lineOf('ecdsa-sha2-nistp521', 'nistp521', ecPoint('P-521')), TYPE_NOT_ACCEPTED],
    ['a certificate', `ssh-ed25519-cert-v01@openssh.com ${BASE}`, /is a certificate\. Use the public key/],
    ['the certificate of a security key', `sk-ssh-ed25519-cert-v01@openssh.com ${BASE}`, /is a certificate/],
    [
      'a certificate behind a type',
      `ssh-ed25519 ${wire('ssh-ed25519-cert-v01@openssh.com', '').toString('base64')}`,
      /is a certificate/,
    ],
    ['a name, as of allowed_signers', `ada@example.com ${ED25519}`, BEFORE],
    ['all names, as of allowed_signers', `* ${ED25519}`, BEFORE],
    ['an option', `valid-before="20300101" ${ED25519}`, BEFORE],
    ['a name and options', `ada@example.com namespaces="git file",valid-after="20200101" ${ED25519}`, BEFORE],
    ['an authority', `cert-authority ${ED25519}`, BEFORE],
    ['a name and a certificate', `ada ssh-ed25519-cert-v01@openssh.com ${BASE}`, BEFORE],
    [
      'an option behind it',
      `${ED25519} valid-before="20300101"`,
      /comment that reads like an option.*Remove it/,
    ],
    ['an option in its comment', `${ED25519} ada namespaces=git`, /comment that reads like an option/],
    ['an authority behind it', `${ED25519} cert-authority`, /comment that reads like an option/],
    ['options behind commas', `${ED25519} ada,NAMESPACES="git"`, /comment that reads like an option/],
    ['a line break at its end', `${ED25519}\n`, NOT_PRINTABLE],
    ['a line break of Windows', `${ED25519}\r`, NOT_PRINTABLE],
    ['two keys', `${ED25519}\n${ED25519}`, NOT_PRINTABLE],
    ['a byte order mark', `\uFEFF${ED25519}`, NOT_PRINTABLE],
    ['a tab', ED25519.replace(' ', '\t'), NOT_PRINTABLE],
    ['an escape in its comment', `${ED25519} \u001b[2J`, NOT_PRINTABLE],
    ['a comment that changes its direction', `${ED25519} \u202Eada`, NOT_PRINTABLE],
    ['a comment that does not end', `${ED25519} ${'a'.repeat(4096)}`, NOT_PRINTABLE],
    ['a blank before it', ` ${ED25519}`, BEFORE],
    ['two blanks', ED25519.replace(' ', '  '), CUT_OFF],
    ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0', /is a private key\. Keep it secret/],
    ['padding that is not needed', `${ED25519}=`, BASE64],
    ['text behind padding', `${ED25519}=AAAA ada`, BASE64],
    ['no padding', lineOf('sk-ssh-ed25519@openssh.com', ed25519Point(), 'ssh:').replace(/=+$/, ''), BASE64],
    ['the other alphabet', `ssh-ed25519 ${BASE.slice(0, -1)}_`, BASE64],
    ['a letter that is not base64', `ssh-ed25519 ${BASE.slice(0, -1)}~`, BASE64],
    ['bytes behind it', lineOf('ssh-ed25519', ed25519Point(), ''), AFTER],
    [
      'a byte behind it',
      `ssh-ed25519 ${Buffer.concat([wire('ssh-ed25519', ed25519Point()), Buffer.of(0)]).toString('base64')}`,
      AFTER,
    ],
    ['no point', lineOf('ssh-ed25519'), CUT_OFF],
    ['a short point', lineOf('ssh-ed25519', Buffer.alloc(31, 1)), LENGTH_OR_CURVE],
    ['a long point', lineOf('ssh-ed25519', Buffer.alloc(33, 1)), LENGTH_OR_CURVE],
    [
      'a length beyond its end',
      `ssh-ed25519 ${Buffer.concat([wire('ssh-ed25519'), Buffer.alloc(4, 255)]).toString('base64')}`,
      CUT_OFF,
    ],
    ['a point of another curve', lineOf('ecdsa-sha2-nistp256', 'nistp256', ecPoint('P-384')), POINT],
    ['the name of another curve', lineOf('ecdsa-sha2-nistp256', 'nistp384', P256), POINT],
    ['a type of another curve', lineOf('ecdsa-sha2-nistp384', 'nistp256', P256), POINT],
    ['no name of its curve', lineOf('ecdsa-sha2-nistp256', '', P256), POINT],
    [
      'a compressed point',
      lineOf('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.of(2), P256.subarray(1, 33)])),
      POINT,
    ],
    [
      'a hybrid point',
      lineOf('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.of(6), P256.subarray(1)])),
      POINT,
    ],
    ['the point at infinity', lineOf('ecdsa-sha2-nistp256', 'nistp256', Buffer.of(0)), POINT],
    [
      'the point 0, 0',
      lineOf('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.of(4), Buffer.alloc(64)])),
      LENGTH_OR_CURVE,
    ],
    [
      'a point beside the curve',
      lineOf('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)])),
      LENGTH_OR_CURVE,
    ],
    [
      'coordinates beyond the field',
      lineOf('ecdsa-sha2-nistp384', 'nistp384', Buffer.concat([Buffer.of(4), Buffer.alloc(96, 255)])),
      LENGTH_OR_CURVE,
    ],
    ['the exponent 0', lineOf('ssh-rsa', '', ones(2048)), NUMBER],
    ['the exponent 0, as a byte', lineOf('ssh-rsa', Buffer.of(0), ones(2048)), NUMBER],
    ['the exponent 1', lineOf('ssh-rsa', Buffer.of(1), ones(2048)), EXPONENT],
    ['an even exponent', lineOf('ssh-rsa', Buffer.of(1, 0, 0), ones(2048)), EXPONENT],
    ['an exponent of 32 bits', lineOf('ssh-rsa', Buffer.of(1, 0, 0, 1), ones(2048)), EXPONENT],
    ['a zero before the exponent', lineOf('ssh-rsa', Buffer.concat([Buffer.of(0), E]), ones(2048)), NUMBER],
    ['a negative modulus', lineOf('ssh-rsa', E, ones(2048).subarray(1)), NUMBER],
    ['zeros before the modulus', lineOf('ssh-rsa', E, Buffer.concat([Buffer.of(0), ones(2048)])), NUMBER],
    ['no modulus', lineOf('ssh-rsa', E), CUT_OFF],
    [
      'an application of the web',
      lineOf('sk-ssh-ed25519@openssh.com', ed25519Point(), 'ops.example'),
      APPLICATION,
    ],
    ['no application', lineOf('sk-ssh-ed25519@openssh.com', ed25519Point(), ''), APPLICATION],
    [
      'an application with a blank',
      lineOf('sk-ssh-ed25519@openssh.com', ed25519Point(), 'ssh: x'),
      APPLICATION,
    ],
    [
      'the field of an application missing',
      lineOf('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', P256),
      CUT_OFF,
    ],
    ['an application where there is none', lineOf('ssh-ed25519', ed25519Point(), 'ssh:'), AFTER],
  ])('with %s', (_, line, because) => {
    expect(refusal(line)).toMatch(because);
    expect(refusal(line)).toMatch(/^The SSH key .+\. .+/);
  });

  it('without a word of a private key or another secret in the message', () => {
    for (const secret of [
      '-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2\n-----END OPENSSH PRIVATE KEY-----',
      'hunter2',
      'hunter2 hunter2 hunter2',
      `hunter2 ${ED25519}`,
      `ssh-ed25519 hunter2 hunter2`,
    ]) {
      expect(refusal(secret)).not.toContain('hunter2');
    }
  });

  it('if one letter of its base64 is wrong, or it is read as it was written', () => {
    const lines = [
      ED25519,
      lineOf('ecdsa-sha2-nistp256', 'nistp256', P256),
      lineOf('ssh-rsa', E, ones(2048)),
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...lines),
        fc.nat(),
        fc.constantFrom('A', 'B', '/', '+', '=', '_', '-', ' ', '\n'),
        (line, at, letter) => {
          const [type = '', base64 = ''] = line.split(' ');
          const place = at % base64.length;
          const other = base64.slice(0, place) + letter + base64.slice(place + 1);
          const because = refusal(`${type} ${other}`);
          expect(because ?? parseSshKey(`${type} ${other}`).blob).toBe(because ?? other);
        },
      ),
    );
  });
});
