import { type JsonWebKeyInput, type KeyObject, createPublicKey, hash } from 'node:crypto';
import { CountersignError } from '../errors.ts';
import { printable } from './text.ts';
import { type Refuse, type SshReader, readSsh } from './ssh-wire.ts';

/** The public half of a key of SSH. */
export interface SshKey {
  readonly type: SshKeyType;
  /** The key in the wire format, in base64. Two keys are the same if this is. */
  readonly blob: string;
  readonly comment: string;
  /** As `ssh-keygen -l` prints it: `SHA256:` and base64 without padding. */
  readonly fingerprint: string;
}

/** A key with what verifies its signatures. */
export interface SshVerifyKey extends Omit<SshKey, 'comment'> {
  readonly publicKey: KeyObject;
  /** Of a security key (`sk-…`), such as `ssh:`. Empty for other keys. */
  readonly application: string;
}

type Verifier = Pick<SshVerifyKey, 'publicKey'> & Partial<Pick<SshVerifyKey, 'application'>>;

/** How the fields after the type are read. */
const TYPES = {
  'ssh-ed25519': (wire, refuse) => ({ publicKey: ed25519(wire, refuse) }),
  'ecdsa-sha2-nistp256': (wire, refuse) => ({ publicKey: ecdsa('nistp256', wire, refuse) }),
  'ecdsa-sha2-nistp384': (wire, refuse) => ({ publicKey: ecdsa('nistp384', wire, refuse) }),
  'ssh-rsa': (wire, refuse) => ({ publicKey: rsa(wire, refuse) }),
  'sk-ssh-ed25519@openssh.com': (wire, refuse) => ({
    publicKey: ed25519(wire, refuse),
    application: readApplication(wire, refuse),
  }),
  'sk-ecdsa-sha2-nistp256@openssh.com': (wire, refuse) => ({
    publicKey: ecdsa('nistp256', wire, refuse),
    application: readApplication(wire, refuse),
  }),
} as const satisfies Readonly<Record<string, (wire: SshReader, refuse: Refuse) => Verifier>>;

export type SshKeyType = keyof typeof TYPES;

const CURVES = {
  nistp256: { crv: 'P-256', bytes: 32 },
  nistp384: { crv: 'P-384', bytes: 48 },
} as const;
const RSA_BITS = { min: 2048, max: 8192 } as const;
const LINE_CHARACTERS_MAX = 4096;
const MAKE_ANOTHER = 'Make one with: ssh-keygen -t ed25519';
const COPY_LINE =
  'Copy the line of the file that ends in .pub: type, base64 and comment, one blank between them';
/** A comment that reads like an option, which `ssh-keygen` would ignore there. */
const OPTION = /(?:^|[\s,])(?:cert-authority|[a-z][a-z-]*=)/i;

/**
 * Reads a public key as `ssh-keygen` writes it into a file that ends in .pub: one line, without a line break.
 * Throws KEY_UNREADABLE.
 */
export function parseSshKey(line: string): SshKey {
  // Before all that quotes the text.
  if (line.includes('PRIVATE KEY')) refuseKey(`is a private key. Keep it secret. ${COPY_LINE}`);
  if (line.length > LINE_CHARACTERS_MAX || line !== printable(line)) {
    refuseKey(`is not one line of at most ${LINE_CHARACTERS_MAX} printable characters. ${COPY_LINE}`);
  }
  const [type = '', base64 = '', ...words] = line.split(' ');
  if (!isType(type)) refuseStart(line.split(' '));
  const comment = words.join(' ');
  if (OPTION.test(comment)) {
    refuseKey('has a comment that reads like an option, and would limit nothing. Remove it');
  }
  const blob = Buffer.from(base64, 'base64');
  // Node stops at the first character that is not base64.
  if (blob.toString('base64') !== base64) refuseKey(`is not in base64 after its type. ${COPY_LINE}`);
  const key = readSshKey(blob, refuseKey);
  if (key.type !== type) refuseKey(`starts with ${type}, and is a key of type ${key.type}. ${COPY_LINE}`);
  return { type, blob: base64, comment, fingerprint: key.fingerprint };
}

/** Reads a key in the wire format, all of it. */
export function readSshKey(blob: Buffer, refuse: Refuse): SshVerifyKey {
  const wire = readSsh(blob, refuse);
  const type = wire.name();
  if (!isType(type)) return refuse(typeFault(type));
  const { publicKey, application = '' }: Verifier = TYPES[type](wire, refuse);
  wire.end();
  const fingerprint = `SHA256:${hash('sha256', blob, 'base64').replaceAll('=', '')}`;
  return { type, blob: blob.toString('base64'), fingerprint, publicKey, application };
}

function refuseKey(because: string): never {
  throw new CountersignError('KEY_UNREADABLE', `The SSH key ${because}`);
}

const isType = (type: string): type is SshKeyType => Object.hasOwn(TYPES, type);

function typeFault(type: string): string {
  if (type.includes('-cert-')) return 'is a certificate. Use the public key that it certifies';
  const name = /^[\w.@-]{1,64}$/.test(type) ? `the type ${type}` : 'an unknown type';
  return `has ${name}. Use a key of one of the types ${Object.keys(TYPES).join(', ')}. ${MAKE_ANOTHER}`;
}

/** The line starts with something other than a type: with options, names, or a type that is not accepted. */
function refuseStart([first = '', ...words]: readonly string[]): never {
  if (words.some((word) => isType(word) || word.includes('-cert-'))) {
    refuseKey('has options or names before its type, which would not be followed. Write it without them');
  }
  if (/^(?:ssh|ecdsa|sk)-/.test(first)) refuseKey(typeFault(first));
  refuseKey(`does not start with a type of key, such as ssh-ed25519. ${COPY_LINE}`);
}

function ed25519(wire: SshReader, refuse: Refuse): KeyObject {
  return publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x: wire.string().toString('base64url') }, refuse);
}

function ecdsa(curve: keyof typeof CURVES, wire: SshReader, refuse: Refuse): KeyObject {
  const { crv, bytes } = CURVES[curve];
  const name = wire.name();
  const point = wire.string();
  if (name !== curve || point.length !== 1 + 2 * bytes || point[0] !== 4) {
    refuse(`is not an uncompressed point of the curve ${curve}. ${MAKE_ANOTHER}`);
  }
  const x = point.toString('base64url', 1, 1 + bytes);
  return publicKeyOf({ kty: 'EC', crv, x, y: point.toString('base64url', 1 + bytes) }, refuse);
}

function rsa(wire: SshReader, refuse: Refuse): KeyObject {
  const e = wire.positive();
  const n = wire.positive();
  const bits = BigInt(`0x${n.toString('hex')}`).toString(2).length;
  if (bits < RSA_BITS.min || bits > RSA_BITS.max) {
    refuse(`has ${bits} bits. Use an RSA key of ${RSA_BITS.min} to ${RSA_BITS.max} bits. ${MAKE_ANOTHER}`);
  }
  // With the exponent 1, anybody can sign. Those of real keys are odd, and 65537 nearly always.
  if (e.length > 3 || e.readUIntBE(0, e.length) < 3 || e.readUInt8(e.length - 1) % 2 === 0) {
    refuse(`has an exponent that is not an odd number from 3 to 2^24. ${MAKE_ANOTHER}`);
  }
  return publicKeyOf({ kty: 'RSA', e: e.toString('base64url'), n: n.toString('base64url') }, refuse);
}

/**
 * A browser signs only for names of hosts, so no web page can ask for a signature of an application `ssh:`.
 */
function readApplication(wire: SshReader, refuse: Refuse): string {
  const name = wire.name();
  if (/^ssh:[!-~]{0,64}$/.test(name)) return name;
  return refuse('belongs to an application other than ssh:. Make one with: ssh-keygen -t ed25519-sk');
}

function publicKeyOf(key: JsonWebKeyInput['key'], refuse: Refuse): KeyObject {
  try {
    return createPublicKey({ format: 'jwk', key });
  } catch {
    return refuse(`has a wrong length, or is no point of its curve. ${MAKE_ANOTHER}`);
  }
}
