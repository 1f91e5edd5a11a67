import { hash } from 'node:crypto';
import { type Failure, type FailureCode, failure } from '../errors.ts';
import { sha256Hex } from '../values/canonical.ts';
import type { Members } from '../values/members.ts';
import type { ReadSecret } from '../values/secret.ts';
import type { Canonical, EmptyValues } from './canonical.ts';
import type { SchemeConfig, SchemeName } from './config.ts';
import type { DecryptionThreads } from './blocks.ts';
import type { Digest } from './keys.ts';

/** The keys of a sender, as texts: the platform for a callback, the merchant for a request. */
export type SignerConfig =
  | { readonly scheme: 'md5'; readonly secret: string; readonly emptyValues: EmptyValues }
  /** `senderKey` is the sender's private key, `receiverKey` the other side's public one. */
  | { readonly scheme: 'rsa-envelope'; readonly senderKey: string; readonly receiverKey: string }
  | {
      readonly scheme: 'rsa';
      readonly senderKey: string;
      readonly digest: Digest;
      readonly signs: 'string' | 'md5-hex';
      readonly emptyValues: EmptyValues;
    };

export type ConfigOf<N extends SchemeName> = Extract<SchemeConfig, { readonly scheme: N }>;
export type SignerConfigOf<N extends SchemeName> = Extract<SignerConfig, { readonly scheme: N }>;

/** One row of the registry: the form of a callback of this scheme, its verification and its signing. */
export interface Scheme<N extends SchemeName> {
  readonly name: N;
  readonly shape: Shape;
  /** Whether a `sign` has the length and alphabet of this scheme. */
  readonly matchesForm: (sign: string) => boolean;
  /** Throws KEY_UNREADABLE or SECRET_UNREADABLE. */
  readonly verifier: (config: ConfigOf<N>, readSecret: ReadSecret, threads?: DecryptionThreads) => Verifier;
  /** Throws KEY_UNREADABLE. */
  readonly signer: (config: SignerConfigOf<N>) => Signer;
}

/** The members themselves, or an envelope that contains them. */
export type Shape = 'flat' | 'envelope';

/** One key, or pair of keys, of a source. */
export interface Verifier {
  readonly scheme: SchemeName;
  /** For logs: the scheme and the key's fingerprint, or the place of its secret. */
  readonly by: string;
  readonly keys: readonly KeyInUse[];
  readonly warnings: readonly string[];
  /** Rejects if a decryption thread fails. */
  verify(members: Members, sign: string, appKey: string): Promise<Verified | Failure>;
  /** Explains a signature to the owner of the keys. `expected` may be a credential. */
  explain(members: Members, sign: string): Explanation | Failure;
}

export interface KeyInUse {
  readonly role: 'secret' | 'platform key' | 'merchant key' | 'client system key' | 'verify sign key';
  /** The fingerprint. For a secret, which must not have one, its place. */
  readonly fingerprint: string;
}

export interface Verified {
  readonly ok: true;
  /** The members of the callback, with `appKey` and without `sign`. */
  readonly members: Members;
  /** The content of an envelope. */
  readonly plaintext: string | undefined;
  /** The signed text of a flat scheme, which may still be ambiguous. */
  readonly canonical: Canonical | undefined;
}

/** A callback whose sender is known. */
export interface Authenticated extends Omit<Verified, 'canonical'> {
  readonly source: string;
  /** Undefined for a co-signer, whose callbacks are not signed. */
  readonly scheme: SchemeName | undefined;
  /** For logs: `rsa SHA256:…`, `addresses+header`. */
  readonly by: string;
}

export interface Explanation {
  readonly ok: true;
  readonly scheme: SchemeName;
  readonly keys: readonly KeyInUse[];
  /** The signed text: the canonical string without the secret, or the MD5 of `hashed`. */
  readonly signed: string;
  readonly signedBytes: number;
  readonly signedSha256: string;
  /** The plaintext or canonical string whose MD5 in lower-case hexadecimal is signed. */
  readonly hashed: Hashed | undefined;
  /** The right `sign`, if the verifier's key can make it. It is a credential. */
  readonly expected: string | undefined;
  readonly received: string;
  readonly verifies: boolean;
  /** The first thing to fix; undefined if the signature is valid. */
  readonly next: string | undefined;
}

export interface Hashed {
  readonly text: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Signs what a {@link Verifier} accepts. */
export interface Signer {
  readonly scheme: SchemeName;
  /** Returns the body, from the flat members with `appKey`. Only an envelope uses `nowMs`. */
  sign(members: Members, nowMs: number): string;
}

/** The length and the digest of a signed text. Two sides can compare them without revealing the text. */
export interface TextDigest {
  readonly signedBytes: number;
  readonly signedSha256: string;
}

export function digestOf(signed: string | Uint8Array): TextDigest {
  return { signedBytes: Buffer.byteLength(signed), signedSha256: sha256Hex(signed) };
}

/** The signed text of an explanation: the text itself, or its MD5. */
export function signedOf(
  text: string | Uint8Array,
  signs: 'string' | 'md5-hex',
): Pick<Explanation, 'signed' | 'signedBytes' | 'signedSha256' | 'hashed'> {
  const plain = typeof text === 'string' ? text : Buffer.from(text).toString();
  if (signs === 'string') return { signed: plain, ...digestOf(text), hashed: undefined };
  const { signedBytes: bytes, signedSha256: sha256 } = digestOf(text);
  const signed = hash('md5', text, 'hex');
  return { signed, ...digestOf(signed), hashed: { text: plain, bytes, sha256 } };
}

/**
 * A failure of a signature. It names the keys that were tried, and the length and digest of the signed text
 * if it is known.
 */
export function signFailure(
  code: FailureCode,
  because: string,
  { scheme, keys }: Pick<Verifier, 'scheme' | 'keys'>,
  signed?: TextDigest,
): Failure {
  const tried = keys.map(({ role, fingerprint }) => `${role} ${fingerprint}`);
  const text =
    signed === undefined ? '' : ` over ${signed.signedBytes} bytes with SHA-256 ${signed.signedSha256}`;
  return failure(code, `${because} [${scheme}${text}; ${tried.join(', ')}]`, {
    scheme,
    keys: tried,
    ...signed,
  });
}

/**
 * Bytes from base64 or base64url, with or without padding; undefined for anything else. Mixed alphabets,
 * blanks, wrong padding and stray bits at the end are refused, so each value has one spelling in each
 * alphabet.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  const padded = bytes.toString('base64');
  if (text === padded) return bytes;
  const url = bytes.toString('base64url');
  const others = [url, url + padded.slice(url.length), padded.slice(0, url.length)];
  return others.includes(text) ? bytes : undefined;
}
