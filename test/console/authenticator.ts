import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** A device that makes passkeys and signs with them, as a browser passes its answers on. */
export interface Authenticator {
  /** What a site keeps of its passkey, in base64url. */
  readonly passkey: { readonly id: string; readonly publicKey: string };
  enrol(options: EnrolmentOptions, over?: Over): object;
  signIn(options: { readonly challenge: string }, over?: Over): object;
}

interface EnrolmentOptions {
  readonly challenge: string;
  readonly user: { readonly id: string };
}

/** What an attacker, or another site, would answer differently. */
export interface Over {
  readonly origin?: string;
  readonly host?: string;
  readonly type?: string;
  readonly challenge?: string;
  readonly userVerified?: boolean;
  readonly userPresent?: boolean;
  readonly counter?: number;
  readonly userHandle?: string;
  readonly id?: string;
  readonly signature?: Uint8Array;
  readonly crossOrigin?: boolean;
}

const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest();

export function createAuthenticator(site: { readonly host: string; readonly origin: string }): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(32);
  const key = cbor(
    new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  );
  let handle = '';
  let counter = 0;

  const clientData = (type: string, challenge: string, over: Over): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: over.type ?? type,
        challenge: over.challenge ?? challenge,
        origin: over.origin ?? site.origin,
        crossOrigin: over.crossOrigin ?? false,
      }),
    );
  /** Bit 0: a person was there. Bit 2: the device knew the person. Bit 6: with a new key. */
  const authenticatorData = (over: Over, attested: Uint8Array = Buffer.alloc(0)): Buffer => {
    const flags =
      (over.userPresent === false ? 0 : 1) |
      (over.userVerified === false ? 0 : 4) |
      (attested.length > 0 ? 64 : 0);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(over.counter ?? ++counter);
    return Buffer.concat([sha256(over.host ?? site.host), Buffer.from([flags]), count, attested]);
  };
  const answer = (response: object, over: Over): object => ({
    id: over.id ?? base64url(id),
    rawId: over.id ?? base64url(id),
    type: 'public-key',
    clientExtensionResults: {},
    response,
  });

  return {
    passkey: { id: base64url(id), publicKey: base64url(key) },
    enrol(options, over = {}) {
      handle = options.user.id;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const authData = authenticatorData(over, Buffer.concat([Buffer.alloc(16), length, id, key]));
      const attestationObject = cbor(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]),
      );
      const data = clientData('webauthn.create', options.challenge, over);
      return answer(
        {
          clientDataJSON: base64url(data),
          attestationObject: base64url(attestationObject),
          transports: ['internal'],
        },
        over,
      );
    },
    signIn(options, over = {}) {
      const data = clientData('webauthn.get', options.challenge, over);
      const authData = authenticatorData(over);
      const signature = over.signature ?? sign('sha256', Buffer.concat([authData, sha256(data)]), privateKey);
      return answer(
        {
          clientDataJSON: base64url(data),
          authenticatorData: base64url(authData),
          signature: base64url(signature),
          userHandle: over.userHandle ?? handle,
        },
        over,
      );
    },
  };
}

/** CBOR of what passkeys need: whole numbers, bytes, texts and maps. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Map) {
    return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)]);
  }
  throw new Error(`no CBOR for ${typeof value}`);
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  return length < 256
    ? Buffer.from([(major << 5) | 24, length])
    : Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
}
