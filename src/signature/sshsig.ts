import { type KeyObject, hash, verify } from 'node:crypto';
import { CountersignError } from '../errors.ts';
import { quoted } from '../values/printable.ts';
import { type SshKey, type SshKeyType, type SshVerifyKey, readSshKey } from '../values/ssh-key.ts';
import { type SshReader, readSsh, sshString } from '../values/ssh-wire.ts';

interface Algorithm {
  readonly key: SshKeyType;
  readonly digest?: 'sha256' | 'sha384' | 'sha512';
  /** The signature in the form in which Node verifies it. */
  readonly read: (signature: Buffer, key: KeyObject) => Buffer;
}

/** By the name in the signature. `ssh-rsa`, which is RSA with SHA-1, is none of them. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ['ssh-ed25519', { key: 'ssh-ed25519', read: ed25519 }],
  ['ecdsa-sha2-nistp256', { key: 'ecdsa-sha2-nistp256', digest: 'sha256', read: ecdsa(32) }],
  ['ecdsa-sha2-nistp384', { key: 'ecdsa-sha2-nistp384', digest: 'sha384', read: ecdsa(48) }],
  ['rsa-sha2-256', { key: 'ssh-rsa', digest: 'sha256', read: rsa }],
  ['rsa-sha2-512', { key: 'ssh-rsa', digest: 'sha512', read: rsa }],
  ['sk-ssh-ed25519@openssh.com', { key: 'sk-ssh-ed25519@openssh.com', read: ed25519 }],
  [
    'sk-ecdsa-sha2-nistp256@openssh.com',
    { key: 'sk-ecdsa-sha2-nistp256@openssh.com', digest: 'sha256', read: ecdsa(32) },
  ],
]);

const MAGIC = 'SSHSIG';
const VERSION = 1;
/** A signature by the longest RSA key has 3 KiB. */
const ARMOR_CHARACTERS_MAX = 16_384;
const ARMOR = /^-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/=]{1,76}\n)+)-----END SSH SIGNATURE-----\n?$/;
const USER_PRESENT = 0x01;

export interface SshSignature {
  /** As `ssh-keygen -Y sign` writes it. */
  readonly armored: string;
  readonly message: Uint8Array;
  /** What the signature is for, such as `countersign@acme-prod`: the option -n of ssh-keygen. */
  readonly namespace: string;
}

/**
 * Verifies an SSH signature of a message (PROTOCOL.sshsig of OpenSSH), and returns the key that made it: the
 * caller decides whose it is. Whatever passes here passes `ssh-keygen -Y verify`. Throws SIGNATURE_REFUSED.
 */
export function verifySshSignature({ armored, message, namespace }: SshSignature): SshKey {
  const wire = readSsh(dearmored(armored), refuse);
  if (wire.bytes(MAGIC.length).toString('latin1') !== MAGIC || wire.uint32() !== VERSION) {
    refuse('is not of version 1. Sign with: ssh-keygen -Y sign');
  }
  const key = readSshKey(wire.string(), refuseKey);
  const signedFor = wire.string();
  if (!signedFor.equals(Buffer.from(namespace))) {
    refuse(
      `is for the namespace ${quoted(signedFor.toString().slice(0, 100))}. ` +
        `Sign again with: ssh-keygen -Y sign -n ${namespace}`,
    );
  }
  if (wire.string().length > 0) refuse('has data in a field that must be empty. Sign again');
  const digest = wire.name();
  if (digest !== 'sha256' && digest !== 'sha512') {
    refuse(
      'hashes the text with something other than sha256 or sha512. Sign again without the option hashalg',
    );
  }
  const signature = wire.string();
  wire.end();
  const signed = Buffer.concat([
    Buffer.from(MAGIC),
    ...[namespace, '', digest, hash(digest, message, 'buffer')].map(sshString),
  ]);
  if (!verifies(key, signature, signed)) {
    refuse(
      `does not match this text and the key ${key.fingerprint}. ` +
        'Sign exactly the text that was shown, with nothing added or removed',
    );
  }
  const { type, blob, fingerprint } = key;
  return { type, blob, comment: '', fingerprint };
}

function refuse(because: string): never {
  throw new CountersignError('SIGNATURE_REFUSED', `The SSH signature ${because}`);
}

function refuseKey(because: string): never {
  throw new CountersignError('SIGNATURE_REFUSED', `The key in the SSH signature ${because}`);
}

function dearmored(armored: string): Buffer {
  const base64 = armored.length > ARMOR_CHARACTERS_MAX ? undefined : ARMOR.exec(armored)?.[1];
  const text = base64?.replaceAll('\n', '');
  const bytes = Buffer.from(text ?? '', 'base64');
  // Node stops at the first character that is not base64.
  if (bytes.toString('base64') === text) return bytes;
  return refuse(
    'is not as ssh-keygen writes it. Copy all of the file that ends in .sig, from its line BEGIN to its line END',
  );
}

function verifies(key: SshVerifyKey, signature: Buffer, signed: Buffer): boolean {
  const wire = readSsh(signature, refuse);
  const algorithm = ALGORITHMS.get(wire.name());
  if (algorithm?.key !== key.type) {
    return refuse(
      `uses an algorithm that is not accepted for keys of type ${key.type}. Sign with: ssh-keygen -Y sign`,
    );
  }
  const bytes = algorithm.read(wire.string(), key.publicKey);
  const data = key.type.startsWith('sk-') ? signedBySecurityKey(key, wire, signed) : signed;
  wire.end();
  return verify(algorithm.digest, data, { key: key.publicKey, dsaEncoding: 'ieee-p1363' }, bytes);
}

/**
 * What the device signs (PROTOCOL.u2f of OpenSSH). Its counter says nothing about the text, and is not
 * compared.
 */
function signedBySecurityKey({ application }: SshVerifyKey, wire: SshReader, signed: Buffer): Buffer {
  const flags = wire.byte();
  const counter = wire.bytes(4);
  if ((flags & USER_PRESENT) === 0) {
    refuse('was made without a touch of the security key. Make a key without the option no-touch-required');
  }
  const sha256 = (bytes: string | Buffer): Buffer => hash('sha256', bytes, 'buffer');
  return Buffer.concat([sha256(application), Buffer.of(flags), counter, sha256(signed)]);
}

function ed25519(signature: Buffer): Buffer {
  return signature.length === 64 ? signature : refuse('has a wrong length. Copy it again, unchanged');
}

function rsa(signature: Buffer, key: KeyObject): Buffer {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  return signature.length === Math.ceil(bits / 8)
    ? signature
    : refuse('does not have the length of its RSA key. Copy it again, unchanged');
}

/** The two numbers, each in `bytes` bytes. */
function ecdsa(bytes: number): (signature: Buffer) => Buffer {
  return (signature) => {
    const wire = readSsh(signature, refuse);
    const numbers = [wire.positive(), wire.positive()];
    wire.end();
    if (numbers.some(({ length }) => length > bytes)) {
      refuse('has a number that is too large for its curve. Copy it again, unchanged');
    }
    return Buffer.concat(
      numbers.map((number) => Buffer.concat([Buffer.alloc(bytes - number.length), number])),
    );
  };
}
