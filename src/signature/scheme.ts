import { hash } from 'node:crypto';
import { type Failure, type FailureCode, failure } from '../errors.ts';
import { sha256Hex } from '../values/canonical.ts';
import type { Members } from '../values/members.ts';
import type { ReadSecret } from '../values/secret.ts';
import type { Canonical, EmptyValues } from './canonical.ts';
import type { SchemeConfig, SchemeName } from './config.ts';
import type { Digest } from './keys.ts';

/** What a sender signs with, as texts: the platform's side of a callback, or the merchant's of a request. */
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

/** One row of the registry: how a callback of this scheme looks, how it is verified, and how it is made. */
export interface Scheme<N extends SchemeName> {
  readonly name: N;
  readonly shape: Shape;
  /** Whether a `sign` could be one of this scheme's, by length and alphabet alone. */
  readonly bears: (sign: string) => boolean;
  /** Throws KEY_UNREADABLE or SECRET_UNREADABLE. */
  readonly verifier: (config: ConfigOf<N>, readSecret: ReadSecret) => Verifier;
  /** Throws KEY_UNREADABLE. */
  readonly signer: (config: SignerConfigOf<N>) => Signer;
}

/** Members of the callback itself, or an envelope that holds them. */
export type Shape = 'flat' | 'envelope';

/** One key (or pair of keys) of a source, read once. */
export interface Verifier {
  readonly scheme: SchemeName;
  /** For logs: the scheme and the key's fingerprint, or where its secret is kept. */
  readonly by: string;
  readonly keys: readonly KeyInUse[];
  readonly warnings: readonly string[];
  verify(members: Members, sign: string, appKey: string): Verified | Failure;
  /**
   * What a person needs to mend a signature. `expected` may be a credential: for the holder of the keys
   * alone.
   */
  explain(members: Members, sign: string): Explanation | Failure;
}

export interface KeyInUse {
  readonly role: 'secret' | 'platform key' | 'merchant key' | 'client system key' | 'verify sign key';
  /** The fingerprint; of a secret, which must not have one, the place where it is kept. */
  readonly fingerprint: string;
}

export interface Verified {
  readonly ok: true;
  /** The callback's own members, `appKey` among them, without `sign`. */
  readonly members: Members;
  /** What an envelope held. */
  readonly plaintext: string | undefined;
  /** The signed text of a flat scheme, which may still have another reading. */
  readonly canonical: Canonical | undefined;
}

export interface Explanation {
  readonly ok: true;
  readonly scheme: SchemeName;
  readonly keys: readonly KeyInUse[];
  /**
   * The text that the signature is over: the exact canonical string (without the secret), or the MD5 of
   * `hashed`.
   */
  readonly signed: string;
  readonly signedBytes: number;
  readonly signedSha256: string;
  /**
   * The envelope's plaintext or the canonical string, where its MD5 in lower-case hexadecimal is what is
   * signed.
   */
  readonly hashed: Hashed | undefined;
  /** The `sign` that would have been right, where the verifier's key can make it: a credential. */
  readonly expected: string | undefined;
  readonly received: string;
  readonly verifies: boolean;
  /** The first thing to mend; undefined where it verifies. */
  readonly next: string | undefined;
}

export interface Hashed {
  readonly text: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Makes what a {@link Verifier} accepts. */
export interface Signer {
  readonly scheme: SchemeName;
  /**
   * The body of a callback or request from its flat members, `appKey` among them. Only an envelope uses
   * `nowMs`.
   */
  sign(members: Members, nowMs: number): string;
}

/** The length and digest by which two sides compare what they signed without showing it. */
export interface Measured {
  readonly signedBytes: number;
  readonly signedSha256: string;
}

export function measured(signed: string | Uint8Array): Measured {
  return { signedBytes: Buffer.byteLength(signed), signedSha256: sha256Hex(signed) };
}

/** What an explanation says is signed: the text itself, or its MD5. */
export function signedOf(
  text: string | Uint8Array,
  signs: 'string' | 'md5-hex',
): Pick<Explanation, 'signed' | 'signedBytes' | 'signedSha256' | 'hashed'> {
  const written = typeof text === 'string' ? text : Buffer.from(text).toString();
  if (signs === 'string') return { signed: written, ...measured(text), hashed: undefined };
  const { signedBytes: bytes, signedSha256: sha256 } = measured(text);
  const signed = hash('md5', text, 'hex');
  return { signed, ...measured(signed), hashed: { text: written, bytes, sha256 } };
}

/**
 * A failure of a signature, with the keys that were tried and, where it is known, the measure of what was
 * signed.
 */
export function signFailure(
  code: FailureCode,
  because: string,
  { scheme, keys }: Pick<Verifier, 'scheme' | 'keys'>,
  signed?: Measured,
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
