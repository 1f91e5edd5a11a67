import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passkeyChallenge, verifyPasskeySignature } from '../../src/signature/passkey-statement.ts';
import { type Over, createAuthenticator } from '../console/authenticator.ts';

const site = { host: 'ops.example', origin: 'https://ops.example' };
const statement = Buffer.from('countersign-test/1\ndeployment acme-test\nvalue 1\n');

interface Answer {
  readonly response: {
    readonly clientDataJSON: string;
    readonly authenticatorData: string;
    readonly signature: string;
  };
}

const device = createAuthenticator(site);
const { passkey } = device;
const signed = (over?: Over, of: Uint8Array = statement): Answer =>
  device.signIn({ challenge: passkeyChallenge(of) }, over) as Answer;

const refusedFor = (because: string) => ({
  code: 'SIGNATURE_REFUSED',
  message: `The signature by passkey is refused: ${because}. Open the page again, and sign there`,
});

const bytesOf = ({ response }: Answer): Buffer => Buffer.from(response.signature, 'base64url');

/** Two numbers that have a zero in front, without it: both are negative then. */
const withoutZeros = (der: Buffer): Buffer =>
  Buffer.concat([Buffer.of(0x30, 68, 2, 32), der.subarray(5, 37), Buffer.of(2, 32), der.subarray(40)]);

describe('the signature of a statement by a passkey', () => {
  it('is one of the SHA-256 of its bytes', async () => {
    expect(passkeyChallenge(statement)).toBe(createHash('sha256').update(statement).digest('base64url'));
    const newCounter = 7;
    const response = signed({ counter: newCounter });
    expect(await verifyPasskeySignature({ response, statement, site, passkey })).toEqual({ newCounter });
  });

  it('holds again, and with any counter, which the caller compares', async () => {
    for (const counter of [0, 7, 7, 3, 2 ** 32 - 1]) {
      const response = signed({ counter });
      for (let time = 0; time < 2; time++) {
        const holds = verifyPasskeySignature({ response, statement, site, passkey });
        expect(await holds).toEqual({ newCounter: counter });
      }
    }
  });

  it.each<[string, Over, string]>([
    [
      'another challenge',
      { challenge: passkeyChallenge(Buffer.from('x')) },
      'the passkey signed something else',
    ],
    [
      'the challenge in base64',
      { challenge: createHash('sha256').update(statement).digest('base64') },
      'the passkey signed something else',
    ],
    ['no challenge', { challenge: '' }, 'the passkey signed something else'],
    [
      'another origin',
      { origin: 'https://evil.example' },
      'Unexpected authentication response origin "https://evil.example", expected "https://ops.example"',
    ],
    [
      'the origin without TLS',
      { origin: 'http://ops.example' },
      'Unexpected authentication response origin "http://ops.example", expected "https://ops.example"',
    ],
    [
      'another port',
      { origin: 'https://ops.example:8443' },
      'Unexpected authentication response origin "https://ops.example:8443", expected "https://ops.example"',
    ],
    [
      'a longer origin',
      { origin: 'https://ops.example.evil.example' },
      'Unexpected authentication response origin "https://ops.example.evil.example", expected "https://ops.example"',
    ],
    ['a page in one of another site', { crossOrigin: true }, 'the page was shown inside one of another site'],
    ['another host', { host: 'evil.example' }, 'Unexpected RP ID hash'],
    [
      'a person whom the device does not know',
      { userVerified: false },
      'User verification required, but user could not be verified',
    ],
    ['nobody there', { userPresent: false }, 'User not present during authentication'],
    [
      'the answer to an enrolment',
      { type: 'webauthn.create' },
      'Unexpected authentication response type: webauthn.create',
    ],
    ['another passkey', { id: 'AAAA' }, 'another passkey was used'],
    ['the signature of nobody', { signature: Buffer.alloc(70) }, ''],
    ['an empty signature', { signature: Buffer.alloc(0) }, ''],
  ])('is refused with %s', async (_, over, because) => {
    const holds = verifyPasskeySignature({ response: signed(over), statement, site, passkey });
    await expect(holds).rejects.toMatchObject(
      because === '' ? { code: 'SIGNATURE_REFUSED' } : refusedFor(because),
    );
  });

  it('is refused for another statement, and for another site', async () => {
    const response = signed();
    for (const other of [Buffer.concat([statement, Buffer.of(10)]), statement.subarray(1), Buffer.alloc(0)]) {
      await expect(
        verifyPasskeySignature({ response, statement: other, site, passkey }),
      ).rejects.toMatchObject(refusedFor('the passkey signed something else'));
    }
    for (const other of [{ host: 'example' }, { origin: 'https://www.ops.example' }]) {
      await expect(
        verifyPasskeySignature({ response, statement, site: { ...site, ...other }, passkey }),
      ).rejects.toMatchObject({ code: 'SIGNATURE_REFUSED' });
    }
  });

  it('is refused by the key of another passkey, whatever id it says', async () => {
    const other = createAuthenticator(site).passkey;
    for (const expected of [other, { ...other, id: passkey.id }, { ...passkey, id: other.id }]) {
      await expect(
        verifyPasskeySignature({ response: signed(), statement, site, passkey: expected }),
      ).rejects.toMatchObject({ code: 'SIGNATURE_REFUSED' });
    }
  });

  it('is refused by a key whose algorithm is not accepted, or that is none', async () => {
    const key = Buffer.from(passkey.publicKey, 'base64url');
    const at = key.indexOf(Buffer.of(3, 0x26));
    // ECDSA with SHA-384 is -35.
    const sha384 = Buffer.concat([key.subarray(0, at + 1), Buffer.of(0x38, 0x22), key.subarray(at + 2)]);
    await expect(
      verifyPasskeySignature({
        response: signed(),
        statement,
        site,
        passkey: { ...passkey, publicKey: sha384.toString('base64url') },
      }),
    ).rejects.toMatchObject(refusedFor('the passkey is of the algorithm -35, which is not accepted'));
    for (const publicKey of ['', 'AAAA', passkey.publicKey.slice(0, 40)]) {
      await expect(
        verifyPasskeySignature({ response: signed(), statement, site, passkey: { ...passkey, publicKey } }),
      ).rejects.toMatchObject({ code: 'SIGNATURE_REFUSED' });
    }
  });

  it.each(['clientDataJSON', 'authenticatorData', 'signature'] as const)(
    'is refused if any byte of %s is another one',
    async (member) => {
      const answer = signed();
      const bytes = Buffer.from(answer.response[member], 'base64url');
      for (let at = 0; at < bytes.length; at++) {
        for (const bits of [0x01, 0x20, 0x80, 0xff]) {
          const other = Buffer.from(bytes);
          other[at] = (other[at] ?? 0) ^ bits;
          const response = {
            ...answer,
            response: { ...answer.response, [member]: other.toString('base64url') },
          };
          await expect(
            verifyPasskeySignature({ response, statement, site, passkey }),
            `byte ${at}`,
          ).rejects.toMatchObject({ code: 'SIGNATURE_REFUSED' });
        }
      }
    },
  );

  it('is refused with its two numbers in another form than DER, which the same key would verify', async () => {
    let answer = signed();
    // Both numbers have a zero in front in one of four signatures.
    while (bytesOf(answer).length < 72) answer = signed();
    const der = bytesOf(answer);
    const numbers = der.subarray(2);
    for (const other of [
      Buffer.concat([Buffer.of(0x30, 0x81, numbers.length), numbers]),
      Buffer.concat([Buffer.of(0x30, 0x80), numbers, Buffer.of(0, 0)]),
      Buffer.concat([Buffer.of(0x30, numbers.length + 1), numbers, Buffer.of(0)]),
      Buffer.concat([der, Buffer.of(0)]),
      withoutZeros(der),
    ]) {
      const response = {
        ...answer,
        response: { ...answer.response, signature: other.toString('base64url') },
      };
      await expect(verifyPasskeySignature({ response, statement, site, passkey })).rejects.toMatchObject({
        code: 'SIGNATURE_REFUSED',
      });
    }
  });

  it('is refused if it is anything else', async () => {
    const answer = signed();
    const without = { ...answer.response, signature: undefined };
    for (const response of [
      undefined,
      null,
      '',
      [],
      {},
      { ...answer, type: 'password' },
      { ...answer, response: null },
      { ...answer, response: without },
      { ...answer, response: { ...answer.response, clientDataJSON: 'A'.repeat(8193) } },
      { ...answer, id: [passkey.id] },
    ]) {
      await expect(verifyPasskeySignature({ response, statement, site, passkey })).rejects.toMatchObject(
        refusedFor('what the browser sent can’t be read'),
      );
    }
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue(),
        fc.constantFrom('clientDataJSON', 'authenticatorData', 'signature'),
        async (value, member) => {
          const text = Buffer.from(JSON.stringify(value)).toString('base64url');
          const response = { ...answer, response: { ...answer.response, [member]: text } };
          await expect(verifyPasskeySignature({ response, statement, site, passkey })).rejects.toMatchObject({
            code: 'SIGNATURE_REFUSED',
          });
        },
      ),
    );
  });
});
