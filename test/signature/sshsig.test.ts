import { type KeyObject, generateKeyPairSync, sign } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { verifySshSignature } from '../../src/signature/sshsig.ts';
import { parseSshKey } from '../../src/values/ssh-key.ts';
import {
  PARTS,
  type SignatureParts,
  type SigningKey,
  armor,
  blobIn,
  blobOf,
  createSecurityKey,
  createSshKey,
  inAgent,
  mpint,
  ones,
  partsOf,
  passesSshKeygen,
  sha,
  signedText,
  someText,
  stringsIn,
  wire,
} from './ssh.ts';

const NAMESPACE = 'countersign@acme-test';

const KINDS = {
  ed25519: () => createSshKey('-t', 'ed25519'),
  'ecdsa 256': () => createSshKey('-t', 'ecdsa', '-b', '256'),
  'ecdsa 384': () => createSshKey('-t', 'ecdsa', '-b', '384'),
  'rsa 2048': () => createSshKey('-t', 'rsa', '-b', '2048'),
  'rsa 3072': () => createSshKey('-t', 'rsa', '-b', '3072'),
  'sk ed25519': () => createSecurityKey('ed25519'),
  'sk ecdsa': () => createSecurityKey('nistp256'),
} as const satisfies Readonly<Record<string, () => SigningKey>>;
type Kind = keyof typeof KINDS;
const kinds = Object.keys(KINDS) as Kind[];

const made = new Map<Kind, SigningKey>();
function keyOf(kind: Kind): SigningKey {
  const key = made.get(kind) ?? KINDS[kind]();
  made.set(kind, key);
  return key;
}

const verified = (armored: string, message: Uint8Array, namespace = NAMESPACE) =>
  verifySshSignature({ armored, message, namespace });

/** Why it is refused; undefined if it is not. */
function refusal(armored: string, message: Uint8Array, namespace = NAMESPACE): string | undefined {
  try {
    verified(armored, message, namespace);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof CountersignError && thrown.code === 'SIGNATURE_REFUSED') return thrown.message;
    throw thrown;
  }
}

function remade(armored: string, change: (parts: SignatureParts) => Partial<SignatureParts>): string {
  const parts = partsOf(armored);
  return armor(blobOf({ ...parts, ...change(parts) }));
}

/** Changes the strings inside of the field of the signature: its algorithm, and its bytes. */
const inSignature =
  (change: (algorithm: Buffer, bytes: Buffer) => readonly (string | Uint8Array)[]) =>
  ({ signature }: SignatureParts): Partial<SignatureParts> => {
    const [algorithm = Buffer.alloc(0), bytes = Buffer.alloc(0)] = stringsIn(Buffer.from(signature));
    return { signature: wire(...change(algorithm, bytes)) };
  };

describe('a signature by ssh-keygen', () => {
  it.each(kinds.flatMap((kind) => ['sha512', 'sha256'].map((digest) => [kind, digest] as const)))(
    'with a key %s and %s names its key',
    (kind, digest) => {
      const key = keyOf(kind);
      const message = someText();
      const armored = key.sign(message, NAMESPACE, digest);
      expect(passesSshKeygen(armored, message, NAMESPACE)).toBe(true);
      expect(verified(armored, message)).toEqual({ ...parseSshKey(key.line), comment: '' });
    },
  );

  it.each([[[]], [['-U']]])('by an agent, with the options %j, names its key', (options) => {
    for (const kind of [
      ['-t', 'ed25519'],
      ['-t', 'ecdsa'],
      ['-t', 'rsa', '-b', '2049'],
    ]) {
      const key = inAgent(createSshKey(...kind), ...options);
      const message = someText();
      expect(verified(key.sign(message, NAMESPACE), message).blob).toBe(parseSshKey(key.line).blob);
    }
  });

  it('of any bytes passes, and that of no others', () => {
    const key = keyOf('ed25519');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), fc.uint8Array({ maxLength: 20 }), (message, more) => {
        const armored = key.sign(message, NAMESPACE);
        expect(refusal(armored, message)).toBeUndefined();
        const longer = Buffer.concat([message, more, Buffer.of(0)]);
        expect(refusal(armored, longer)).toMatch(
          /^The SSH signature does not match this text and the key SHA256:/,
        );
      }),
      { numRuns: 10 },
    );
  });

  it('passes with lines of other lengths, also if padding has one of its own, and without its last break', () => {
    const message = someText();
    for (const namespace of ['n', 'nn', 'nnn']) {
      const base64 = blobIn(keyOf('ed25519').sign(message, namespace)).toString('base64');
      for (const width of [1, 2, 3, 64, 76]) {
        const lines = base64.replaceAll(new RegExp(`.{1,${width}}`, 'g'), '$&\n');
        const other = `-----BEGIN SSH SIGNATURE-----\n${lines}-----END SSH SIGNATURE-----`;
        expect(passesSshKeygen(other, message, namespace)).toBe(true);
        expect(refusal(other, message, namespace)).toBeUndefined();
      }
    }
  });
});

/** A key that signs here, with what ssh-keygen would not write. */
function handKey(
  type: string,
  { publicKey, privateKey }: { readonly publicKey: Uint8Array; readonly privateKey: KeyObject },
) {
  return (
    message: Uint8Array,
    {
      over = {},
      algorithm = type,
      digest = null,
    }: { over?: Partial<SignatureParts>; algorithm?: string; digest?: string | null } = {},
  ): string => {
    const parts = { ...PARTS, key: publicKey, namespace: Buffer.from(NAMESPACE), ...over };
    const signature = wire(algorithm, sign(digest, signedText(parts, message), privateKey));
    return armor(blobOf({ ...parts, signature }));
  };
}

function handEd25519() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const x = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  return { privateKey, x, sign: handKey('ssh-ed25519', { publicKey: wire('ssh-ed25519', x), privateKey }) };
}

function handRsa(modulusLength: number) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength });
  const { e = '', n = '' } = publicKey.export({ format: 'jwk' });
  const numbers = [e, n].map((number) => mpint(Buffer.from(number, 'base64url')));
  return handKey('ssh-rsa', { publicKey: wire('ssh-rsa', ...numbers), privateKey });
}

const DAMAGED = /Copy it again/;
const OTHER_TEXT = /does not match this text and the key SHA256:/;
const ARMOR = /is not as ssh-keygen writes it\. Copy all of the file that ends in \.sig/;
const NOT_OF_KEY = /uses an algorithm that is not accepted for keys of type \S+\./;
const AFTER = Buffer.from('\0');

type Change = (parts: SignatureParts) => Partial<SignatureParts>;
const changed: readonly (readonly [string, Kind, Change, RegExp])[] = [
  ['another magic', 'ed25519', () => ({ magic: 'SSHSIF' }), /is not of version 1/],
  ['version 0', 'ed25519', () => ({ version: 0 }), /is not of version 1/],
  ['version 2', 'ed25519', () => ({ version: 2 }), /is not of version 1/],
  ['bytes after it', 'ed25519', () => ({ after: AFTER }), DAMAGED],
  ['bytes after its key', 'ed25519', ({ key }) => ({ key: Buffer.concat([key, AFTER]) }), DAMAGED],
  [
    'bytes after the bytes of the signature',
    'ed25519',
    ({ signature }) => ({ signature: Buffer.concat([signature, AFTER]) }),
    DAMAGED,
  ],
  [
    'bytes after the counter of the security key',
    'sk ed25519',
    ({ signature }) => ({ signature: Buffer.concat([signature, AFTER]) }),
    DAMAGED,
  ],
  [
    'no counter of the security key',
    'sk ecdsa',
    ({ signature }) => ({ signature: signature.subarray(0, -4) }),
    /is cut off/,
  ],
  [
    'a longer signature',
    'ed25519',
    inSignature((name, bytes) => [name, Buffer.concat([bytes, AFTER])]),
    DAMAGED,
  ],
  ['a shorter signature', 'ed25519', inSignature((name, bytes) => [name, bytes.subarray(1)]), DAMAGED],
  ['no signature', 'ed25519', () => ({ signature: Buffer.alloc(0) }), /is cut off/],
  ['an empty signature', 'ed25519', inSignature((name) => [name, '']), DAMAGED],
  ['no key', 'ed25519', () => ({ key: Buffer.alloc(0) }), /^The key in the SSH signature is cut off/],
  ['another text in its empty field', 'ed25519', () => ({ reserved: Buffer.of(0) }), /must be empty/],
  [
    'another namespace in it',
    'ed25519',
    () => ({ namespace: Buffer.from('git') }),
    /is for the namespace "git"/,
  ],
  [
    'a zero byte after the namespace',
    'ed25519',
    ({ namespace }) => ({ namespace: Buffer.concat([namespace, AFTER]) }),
    /is for the namespace/,
  ],
  ['the other hash', 'ed25519', () => ({ digest: 'sha256' }), OTHER_TEXT],
  ['the hash SHA-1', 'ed25519', () => ({ digest: 'sha1' }), /something other than sha256 or sha512/],
  ['a hash in capitals', 'ed25519', () => ({ digest: 'SHA512' }), /something other than sha256 or sha512/],
  ['no hash', 'ed25519', () => ({ digest: '' }), /something other than sha256 or sha512/],
  ['the hash of a list', 'ed25519', () => ({ digest: 'sha256,sha512' }), /something other than sha256/],
  ['the algorithm of RSA with SHA-1', 'rsa 2048', inSignature((_, bytes) => ['ssh-rsa', bytes]), NOT_OF_KEY],
  ['the other algorithm of RSA', 'rsa 2048', inSignature((_, bytes) => ['rsa-sha2-256', bytes]), OTHER_TEXT],
  [
    'an algorithm of RSA for a certificate',
    'rsa 2048',
    inSignature((name, bytes) => [`${String(name)}-cert-v01@openssh.com`, bytes]),
    NOT_OF_KEY,
  ],
  [
    'the algorithm of another type',
    'ed25519',
    inSignature((_, bytes) => ['rsa-sha2-512', bytes]),
    NOT_OF_KEY,
  ],
  [
    'the algorithm of a security key',
    'ed25519',
    inSignature((_, bytes) => ['sk-ssh-ed25519@openssh.com', bytes]),
    NOT_OF_KEY,
  ],
  [
    'the algorithm of no security key',
    'sk ed25519',
    inSignature((_, bytes) => ['ssh-ed25519', bytes]),
    NOT_OF_KEY,
  ],
  [
    'the algorithm of browsers',
    'sk ecdsa',
    inSignature((_, bytes) => ['webauthn-sk-ecdsa-sha2-nistp256@openssh.com', bytes]),
    NOT_OF_KEY,
  ],
  [
    'the algorithm of another curve',
    'ecdsa 256',
    inSignature((_, bytes) => ['ecdsa-sha2-nistp384', bytes]),
    NOT_OF_KEY,
  ],
  [
    'an algorithm that objects have',
    'ed25519',
    inSignature((_, bytes) => ['constructor', bytes]),
    NOT_OF_KEY,
  ],
  [
    'a signature with a zero in front',
    'rsa 2048',
    inSignature((name, bytes) => [name, Buffer.concat([AFTER, bytes])]),
    DAMAGED,
  ],
  [
    'a signature without its first byte',
    'rsa 2048',
    inSignature((name, bytes) => [name, bytes.subarray(1)]),
    DAMAGED,
  ],
  [
    'a signature of zeros',
    'rsa 2048',
    inSignature((name, bytes) => [name, Buffer.alloc(bytes.length)]),
    OTHER_TEXT,
  ],
  [
    'a signature above the modulus',
    'rsa 2048',
    inSignature((name, bytes) => [name, Buffer.alloc(bytes.length, 255)]),
    OTHER_TEXT,
  ],
  ['no touch', 'sk ed25519', withTouch(0), /was made without a touch of the security key/],
  ['no touch by a known person', 'sk ecdsa', withTouch(4), /was made without a touch of the security key/],
  ['another flag', 'sk ecdsa', withTouch(5), OTHER_TEXT],
  ['r = 0', 'ecdsa 256', withPair((_, s) => [Buffer.alloc(0), s]), DAMAGED],
  ['s = 0', 'ecdsa 384', withPair((r) => [r, Buffer.alloc(0)]), DAMAGED],
  ['s = 0, as a byte', 'ecdsa 256', withPair((r) => [r, AFTER]), DAMAGED],
  ['a negative r', 'ecdsa 256', withPair((r, s) => [Buffer.concat([Buffer.of(255), r]), s]), DAMAGED],
  [
    'an s with a zero in front',
    'sk ecdsa',
    withPair((r, s) => [r, Buffer.concat([Buffer.of(0, 0), s])]),
    DAMAGED,
  ],
  [
    'an r that is too large',
    'ecdsa 384',
    withPair((_, s) => [Buffer.alloc(49, 1), s]),
    /too large for its curve/,
  ],
  ['r = 1 and s = 1', 'ecdsa 256', withPair(() => [Buffer.of(1), Buffer.of(1)]), OTHER_TEXT],
  ['r = s', 'ecdsa 256', withPair((r) => [r, r]), OTHER_TEXT],
  ['a third number', 'ecdsa 256', withPair((r, s) => [r, s, s]), DAMAGED],
  ['one number', 'ecdsa 256', withPair((r) => [r]), /is cut off/],
];

function withTouch(flags: number): Change {
  return ({ signature }) => {
    const bytes = Buffer.from(signature);
    bytes[bytes.length - 5] = flags;
    return { signature: bytes };
  };
}

function withPair(change: (r: Buffer, s: Buffer) => readonly Buffer[]): Change {
  return ({ signature }) => {
    const name = Buffer.from(signature).readUInt32BE(0) + 4;
    const length = signature[name + 3] ?? 0;
    const [r = AFTER, s = AFTER] = stringsIn(Buffer.from(signature).subarray(name + 4, name + 4 + length));
    const rest = signature.subarray(name + 4 + length);
    return { signature: Buffer.concat([signature.subarray(0, name), wire(wire(...change(r, s))), rest]) };
  };
}

describe('a signature is refused', () => {
  it.each(changed)('with %s (%s)', (_, kind, change, because) => {
    const message = someText();
    expect(refusal(remade(keyOf(kind).sign(message, NAMESPACE), change), message)).toMatch(because);
  });

  it('that is for another namespace, also if it begins or ends like it', () => {
    const message = someText();
    for (const namespace of ['file', `${NAMESPACE}2`, NAMESPACE.slice(0, -1), NAMESPACE.toUpperCase()]) {
      expect(refusal(keyOf('ed25519').sign(message, namespace), message)).toBe(
        `The SSH signature is for the namespace "${namespace}". ` +
          'Sign again with: ssh-keygen -Y sign -n countersign@acme-test',
      );
    }
  });

  it('that says another key', () => {
    const message = someText();
    for (const kind of kinds.filter((each) => each !== 'rsa 3072')) {
      const armored = KINDS[kind]().sign(message, NAMESPACE);
      const { key } = partsOf(keyOf(kind).sign(message, NAMESPACE));
      const other = remade(armored, () => ({ key }));
      expect(refusal(other, message), `by ${kind}`).toMatch(OTHER_TEXT);
    }
  });

  it.each(kinds)('if any byte of it is another one (%s)', (kind) => {
    const message = someText();
    const blob = blobIn(keyOf(kind).sign(message, NAMESPACE));
    for (let at = 0; at < blob.length; at++) {
      for (const bits of [0x01, 0x80, 0xff]) {
        const other = Buffer.from(blob);
        other[at] = (other[at] ?? 0) ^ bits;
        expect(refusal(armor(other), message), `byte ${at}`).toBeDefined();
      }
    }
  });

  it.each(kinds)('if it is cut off anywhere (%s)', (kind) => {
    const message = someText();
    const blob = blobIn(keyOf(kind).sign(message, NAMESPACE));
    for (let length = 0; length < blob.length; length++) {
      expect(refusal(armor(blob.subarray(0, length)), message), `${length} bytes`).toBeDefined();
    }
  });

  it.each<[string, (armored: string) => string]>([
    ['no text', () => ''],
    ['no armor', (armored) => blobIn(armored).toString('base64')],
    ['nothing in the armor', () => '-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n'],
    ['an empty line in the armor', () => '-----BEGIN SSH SIGNATURE-----\n\n-----END SSH SIGNATURE-----\n'],
    ['padding alone', () => '-----BEGIN SSH SIGNATURE-----\n====\n-----END SSH SIGNATURE-----\n'],
    ['line breaks of Windows', (armored) => armored.replaceAll('\n', '\r\n')],
    ['a byte order mark', (armored) => `\uFEFF${armored}`],
    ['a blank before it', (armored) => ` ${armored}`],
    ['text before it', (armored) => `untrusted comment\n${armored}`],
    ['a line break after it', (armored) => `${armored}\n`],
    ['text after its end', (armored) => `${armored}more\n`],
    ['text in the line of its end', (armored) => armored.replace(/\n$/, ' \n')],
    ['another signature after it', (armored) => armored + armored],
    ['text after the base64', (armored) => armored.replace('\n-----END', '\nQUJD\n-----END')],
    ['text after the padding', (armored) => armored.replace('\n-----END', '=QUJD\n-----END')],
    ['further padding', (armored) => armored.replace('\n-----END', '=\n-----END')],
    ['a header', (armored) => armored.replace('-\n', '-\nVersion: 1\n')],
    ['a blank line', (armored) => armored.replace('-\n', '-\n\n')],
    ['a blank at the end of a line', (armored) => armored.replace('-\nU', '- \nU')],
    ['a blank in the base64', (armored) => armored.replace('\nU1', '\nU 1')],
    ['the other alphabet of base64', (armored) => armored.replaceAll('/', '_').replaceAll('+', '-')],
    ['a letter that is none', (armored) => armored.replace('\nU1', '\nU\u0661')],
    ['the armor of a key', (armored) => armored.replaceAll('SSH SIGNATURE', 'OPENSSH PRIVATE KEY')],
    ['the armor of PGP', (armored) => armored.replaceAll('SSH SIGNATURE', 'PGP SIGNATURE')],
    ['lines of more than 76 characters', (armored) => armored.replaceAll(/(?<=[^-])\n(?=[^-])/g, '')],
    ['no end', (armored) => armored.replace(/-----END.*\n/, '')],
    ['more than 16 KiB', (armored) => armored.replace('-\n', `-\n${`${'A'.repeat(70)}\n`.repeat(300)}`)],
  ])('with %s', (_, change) => {
    // The base64 has padding, and in some of them letters that another alphabet has not.
    const signed = Array.from({ length: 20 }, () => {
      const message = someText();
      return { message, armored: handEd25519().sign(message, { over: { namespace: Buffer.from('nn') } }) };
    });
    const others = signed.filter(({ armored }) => change(armored) !== armored);
    expect(others.length).toBeGreaterThan(0);
    for (const { message, armored } of others) {
      expect(refusal(armored, message, 'nn')).toBeUndefined();
      expect(refusal(change(armored), message, 'nn')).toMatch(ARMOR);
    }
  });

  it('with stray bits at the end of its base64', () => {
    const message = someText();
    const armored = keyOf('ed25519').sign(message, 'nn');
    expect(armored).toContain('=\n-----END');
    const stray = armored.replace(/(.)(=+\n)/, (_, letter: string, padding: string) => {
      return String.fromCharCode(letter.charCodeAt(0) + 1) + padding;
    });
    expect(blobIn(stray)).toEqual(blobIn(armored));
    expect(refusal(stray, message, 'nn')).toMatch(ARMOR);
  });

  it('that RSA made with SHA-1, and whatever else ssh-keygen would not write, though the key made it', () => {
    const message = someText();
    const rsa = handRsa(2048);
    expect(refusal(rsa(message, { algorithm: 'rsa-sha2-256', digest: 'sha256' }), message)).toBeUndefined();
    expect(refusal(rsa(message, { algorithm: 'ssh-rsa', digest: 'sha1' }), message)).toMatch(NOT_OF_KEY);
    expect(refusal(rsa(message, { algorithm: 'rsa-sha2-256', digest: 'sha1' }), message)).toMatch(OTHER_TEXT);
    expect(refusal(rsa(message, { algorithm: 'rsa-sha2-512', digest: 'sha256' }), message)).toMatch(
      OTHER_TEXT,
    );
    const { sign: signed } = handEd25519();
    expect(refusal(signed(message), message)).toBeUndefined();
    for (const [over, because] of [
      [{ version: 2 }, /version 1/],
      [{ reserved: Buffer.from('x') }, /must be empty/],
      [{ digest: 'sha1' }, /something other than sha256/],
      [{ digest: 'sha384' }, /something other than sha256/],
      [{ digest: 'md5' }, /something other than sha256/],
    ] as const) {
      expect(refusal(signed(message, { over }), message)).toMatch(because);
    }
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['RSA with 1024 bits', wire('ssh-rsa', Buffer.of(1, 0, 1), ones(1024)), /has 1024 bits/],
    ['RSA with 8193 bits', wire('ssh-rsa', Buffer.of(1, 0, 1), ones(8193)), /has 8193 bits/],
    ['RSA with the exponent 1', wire('ssh-rsa', Buffer.of(1), ones(2048)), /has an exponent/],
    ['DSA', wire('ssh-dss', ...Array<string>(4).fill('1')), /has the type ssh-dss/],
    ['a certificate', wire('ssh-ed25519-cert-v01@openssh.com', 'x'), /is a certificate/],
    ['no text as its type', wire('\u0007', 'x'), /has an unknown type\. Use a key/],
  ])('by a key of %s', (_, key, because) => {
    const message = someText();
    const refused = refusal(
      remade(keyOf('ed25519').sign(message, NAMESPACE), () => ({ key })),
      message,
    );
    expect(refused).toMatch(/^The key in the SSH signature /);
    expect(refused).toMatch(because);
  });

  it('that a security key made without a touch, or for another application', () => {
    const message = someText();
    for (const curve of ['ed25519', 'nistp256'] as const) {
      const key = createSecurityKey(curve);
      for (const flags of [0, 4, 0xfe]) {
        const untouched = key.signTouched(message, NAMESPACE, { flags });
        // OpenSSH reads the flags only where a server asks for a touch.
        expect(passesSshKeygen(untouched, message, NAMESPACE)).toBe(true);
        expect(refusal(untouched, message)).toMatch(/without a touch/);
      }
      expect(refusal(key.signTouched(message, NAMESPACE, { flags: 5 }), message)).toBeUndefined();
      expect(refusal(key.signTouched(message, NAMESPACE, { application: 'ssh:b' }), message)).toMatch(
        OTHER_TEXT,
      );
      const web = createSecurityKey(curve, { application: 'https://ops.example', flags: 1, counter: 1 });
      expect(refusal(web.sign(message, NAMESPACE), message)).toMatch(
        /^The key in the SSH signature belongs to an application other than ssh:/,
      );
    }
  });
});

const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const littleEndian = (number: bigint): Buffer =>
  Buffer.from(Buffer.from(number.toString(16).padStart(64, '0'), 'hex').toReversed());
const numberOf = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`);

describe('a signature with Ed25519', () => {
  it('has one form: with S + L it is refused', () => {
    const message = someText();
    const armored = handEd25519().sign(message);
    const change = inSignature((name, bytes) => [
      name,
      Buffer.concat([bytes.subarray(0, 32), littleEndian(numberOf(bytes.subarray(32)) + L)]),
    ]);
    expect(refusal(armored, message)).toBeUndefined();
    expect(refusal(remade(armored, change), message)).toMatch(OTHER_TEXT);
  });

  // R = [S]B holds for each text, if the text is multiplied with a key that is no more than a few points.
  it('that anybody can make, with a key of a small order, is refused, though ssh-keygen takes it', () => {
    const { privateKey, x } = handEd25519();
    const d = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
    const scalar = sha('sha512', d).subarray(0, 32);
    scalar[0] = (scalar[0] ?? 0) & 248;
    scalar[31] = ((scalar[31] ?? 0) & 127) | 64;
    const signature = wire('ssh-ed25519', Buffer.concat([x, littleEndian(numberOf(scalar) % L)]));
    const p = 2n ** 255n - 19n;
    const eighth = numberOf(
      Buffer.from('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', 'hex'),
    );
    const taken: bigint[] = [];
    const any = keyOf('ed25519').sign(someText(), NAMESPACE);
    for (const y of [0n, 1n, p - 1n, p, p + 1n, eighth, p - eighth]) {
      for (const signOfX of [0n, 2n ** 255n]) {
        const key = wire('ssh-ed25519', littleEndian(y + signOfX));
        for (let time = 0; time < 32; time++) {
          const message = someText();
          const armored = remade(any, () => ({ key, signature }));
          expect(refusal(armored, message)).toMatch(OTHER_TEXT);
          if (time === 0 && passesSshKeygen(armored, message, NAMESPACE)) taken.push(y + signOfX);
        }
      }
    }
    // That of the point at 1, for which no text matters.
    expect(taken).toContain(1n);
  });
});

describe('whatever passes here passes ssh-keygen', () => {
  const part = <T>(own: T, ...others: T[]): fc.Arbitrary<T> =>
    fc.oneof({ weight: 12, arbitrary: fc.constant(own) }, fc.constantFrom(...others));

  it.each(kinds)('also if its parts are put together otherwise (%s)', (kind) => {
    const key = keyOf(kind);
    const message = someText();
    const armored = key.sign(message, NAMESPACE);
    const parts = partsOf(armored);
    const others = kinds.map((each) => partsOf(keyOf(each).sign(message, NAMESPACE)));
    const again = partsOf(key.sign(message, NAMESPACE, 'sha256'));
    const bytes = fc.uint8Array({ maxLength: 5 });
    const anyParts = fc.record<SignatureParts>({
      magic: part('SSHSIG', 'SSHSIg', ''),
      version: part(1, 0, 2, 2 ** 32 - 1),
      key: part(parts.key, ...others.map((other) => other.key)),
      namespace: part(parts.namespace, Buffer.from('git'), Buffer.from(`${NAMESPACE}\0`)),
      reserved: part(parts.reserved, Buffer.of(0)),
      digest: part(parts.digest, 'sha256', 'sha512', 'sha1', 'sha384'),
      signature: fc.oneof(
        part(parts.signature, again.signature, ...others.map((other) => other.signature)),
        fc
          .tuple(fc.nat(parts.signature.length), bytes)
          .map(([at, inserted]) =>
            Buffer.concat([parts.signature.subarray(0, at), inserted, parts.signature.subarray(at)]),
          ),
      ),
      after: part(parts.after, Buffer.of(0)),
    });
    const counts = { here: 0, there: 0 };
    fc.assert(
      fc.property(anyParts, fc.constantFrom('', 'more', '\n'), (random, tail) => {
        const text = `${armor(blobOf(random))}${tail}`;
        const here = refusal(text, message) === undefined;
        const there = passesSshKeygen(text, message, NAMESPACE);
        if (here) counts.here++;
        if (there) counts.there++;
        expect(there || !here).toBe(true);
      }),
      { numRuns: 60 },
    );
    // Neither says no to all.
    expect(counts.here).toBeGreaterThan(0);
    expect(counts.there).toBeGreaterThan(counts.here);
  });

  it('also the other form of a signature with ECDSA, which both take', () => {
    const message = someText();
    const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const armored = keyOf('ecdsa 256').sign(message, NAMESPACE);
    const other = remade(
      armored,
      withPair((r, s) => {
        const negated = n - BigInt(`0x${s.toString('hex')}`);
        return [r, mpint(Buffer.from(negated.toString(16).padStart(64, '0'), 'hex'))];
      }),
    );
    expect(other).not.toBe(armored);
    expect(passesSshKeygen(other, message, NAMESPACE)).toBe(true);
    expect(verified(other, message)).toEqual(verified(armored, message));
  });
});
