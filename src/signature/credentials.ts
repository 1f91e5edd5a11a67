import { createAddressRanges } from '../values/address-ranges.ts';
import { CountersignError, type Failure, failure } from '../errors.ts';
import {
  type ReadSecret,
  type SecretRef,
  acceptedSecrets,
  nameOfSecret,
  presentedSecret,
} from '../values/secret.ts';
import type { CosignerCredential } from './config.ts';
import { plainFingerprint, readFingerprints } from './forwarded-certificate.ts';

/** What is known about the sender of a callback, apart from the body. */
export interface SenderFacts {
  /**
   * The client's address: from X-Forwarded-For if a trusted proxy sent it, otherwise the address of the
   * connection.
   */
  readonly address: string;
  /** The value of a header; undefined if the header is missing or was sent twice. */
  readonly header: (name: string) => string | undefined;
  /** Whether the connection comes from a trusted proxy. Only then does a certificate header count. */
  readonly fromProxy: boolean;
  /** The path segment after the source's path, if its URLs end in a secret segment. */
  readonly pathSecret: string | undefined;
  /** The client certificate of the TLS connection, only if its chain was verified. */
  readonly certificate: { readonly fingerprint256: string; readonly subject: string } | undefined;
}

/** One credential that a sender must present, ready to be checked. */
export interface Credential {
  readonly name: CredentialName;
  readonly warnings: readonly string[];
  /** The texts of which a check that passes returns one. */
  readonly by: readonly string[];
  check(arrival: SenderFacts): Presented | Failure;
}

/** The sender presents the credential. */
export interface Presented {
  readonly ok: true;
  /** For logs: `addresses` or, while two secrets are accepted, `header line 2`. */
  readonly by: string;
}

/** The order of the checks: addresses first, so that unknown addresses can't probe secrets. */
export const CREDENTIAL_ORDER = ['addresses', 'path', 'header', 'certificate'] as const;
type CredentialName = (typeof CREDENTIAL_ORDER)[number];

/** Throws SECRET_UNREADABLE. */
export function compileCredential(
  credential: Exclude<CosignerCredential, 'none'>,
  readSecret: ReadSecret,
): Credential {
  if ('addresses' in credential) return addressCredential(credential.addresses);
  if ('header' in credential) return headerCredential(credential.header, readSecret);
  if ('path' in credential) return pathCredential(credential.path, readSecret);
  return certificateCredential(credential.certificate);
}

function addressCredential(ranges: readonly string[]): Credential {
  const everyone = ranges.some((range) => /\/0+$/.test(range));
  const includes = createAddressRanges(ranges);
  const presented = presentedBy('addresses');
  return {
    name: 'addresses',
    warnings: everyone
      ? ["addresses: a range that ends in /0 allows every address; list only the co-signer's"]
      : [],
    by: [presented.by],
    check: ({ address }) =>
      includes(address)
        ? presented
        : failure(
            'ADDRESS_NOT_ALLOWED',
            `${address} is not in ${ranges.join(', ')}; ` +
              'correct the list, or add the address to public.trustedProxies if it is your proxy',
            { address, allowed: ranges },
          ),
  };
}

// Node joins repeated headers with a comma, so a secret has no comma. Characters outside printable ASCII may
// be changed in transit.
const HEADER_SECRET = /^[\x21-\x2b\x2d-\x7e](?:[\x20-\x2b\x2d-\x7e]*[\x21-\x2b\x2d-\x7e])?$/;

function headerCredential(
  { name, secret }: { readonly name: string; readonly secret: SecretRef },
  readSecret: ReadSecret,
): Credential {
  const { by, match } = secretMatcher('header', secret, readSecret, {
    pattern: HEADER_SECRET,
    allowed: 'printable ASCII without commas',
  });
  return {
    name: 'header',
    warnings: [],
    by,
    check({ header }) {
      const value = header(name);
      const presented = match(value);
      if (presented !== undefined) return presented;
      return failure(
        'HEADER_WRONG',
        value === undefined
          ? `the header ${name} is missing; set it in the co-signer or in its gateway`
          : `the header ${name} differs from ${nameOfSecret(secret)}; send the whole value, once`,
        { header: name },
      );
    },
  };
}

function pathCredential({ secret }: { readonly secret: SecretRef }, readSecret: ReadSecret): Credential {
  const { by, match } = secretMatcher('path', secret, readSecret, {
    pattern: /^[A-Za-z0-9._~-]+$/,
    allowed: 'letters, digits and - . _ ~',
  });
  return {
    name: 'path',
    warnings: [],
    by,
    check: ({ pathSecret }) =>
      match(pathSecret) ??
      failure(
        'PATH_WRONG',
        `the URL does not end with the secret in ${nameOfSecret(secret)}; check the co-signer's callback URL`,
      ),
  };
}

function certificateCredential(
  certificate: Extract<CosignerCredential, { certificate: unknown }>['certificate'],
): Credential {
  const { header, fingerprints = [], subjects = [] } = certificate;
  const accepted = new Set(fingerprints.map(plainFingerprint));
  return header === undefined
    ? connectionCredential(accepted, subjects)
    : forwardedCredential(header, accepted, subjects);
}

function connectionCredential(fingerprints: ReadonlySet<string>, subjects: readonly string[]): Credential {
  const refused = (because: string, shown?: unknown): Failure =>
    failure('CERTIFICATE_WRONG', because, { shown });
  const presented = presentedBy('certificate');
  return {
    name: 'certificate',
    warnings: [],
    by: [presented.by],
    check({ certificate }) {
      if (certificate === undefined) return refused('the TLS connection has no client certificate');
      const { fingerprint256, subject } = certificate;
      if (fingerprints.size > 0 && !fingerprints.has(plainFingerprint(fingerprint256)))
        return refused(notOneOf(fingerprint256), certificate);
      if (subjects.length > 0 && !subjects.includes(subject))
        return refused("the subject of the client's certificate is not one of subjects", certificate);
      return fingerprints.size + subjects.length > 0
        ? presented
        : refused('no certificate is accepted; list fingerprints or subjects', certificate);
    },
  };
}

/**
 * A certificate in a header only proves that the sender can write this header. So it counts only from a
 * trusted proxy, which must overwrite the header of its own clients.
 */
function forwardedCredential(
  name: string,
  fingerprints: ReadonlySet<string>,
  subjects: readonly string[],
): Credential {
  const reasonToRefuse = (value: string): string | undefined => {
    if (fingerprints.size > 0 === subjects.length > 0)
      return 'is read for fingerprints or for subjects, not both';
    if (subjects.length > 0) return subjects.includes(value) ? undefined : 'is not one of subjects';
    const forwarded = readFingerprints(name, value);
    if (!forwarded.ok) return `can't be read: ${forwarded.because}`;
    const other = forwarded.fingerprints.find((each) => !fingerprints.has(each));
    return other && `is not accepted: ${notOneOf(other)}`;
  };
  const presented = presentedBy('certificate');
  return {
    name: 'certificate',
    warnings: [],
    by: [presented.by],
    check({ header, fromProxy }) {
      const value = fromProxy ? header(name) : undefined;
      const why =
        value === undefined
          ? `has no client certificate${fromProxy ? '' : '; only a proxy in public.trustedProxies may send one'}`
          : reasonToRefuse(value);
      if (why === undefined) return presented;
      return failure('CERTIFICATE_WRONG', `the header ${name} ${why}`, { shown: value?.slice(0, 512) });
    },
  };
}

const notOneOf = (fingerprint: string): string =>
  `the client's certificate, with the SHA-256 fingerprint ${fingerprint}, is not one of fingerprints`;

const presentedBy = (by: string): Presented => ({ ok: true, by });

/** Compares texts with the secrets behind a reference. Undefined never matches. */
function secretMatcher(
  name: CredentialName,
  reference: SecretRef,
  readSecret: ReadSecret,
  { pattern, allowed }: { readonly pattern: RegExp; readonly allowed: string },
): { readonly by: readonly string[]; readonly match: (shown: string | undefined) => Presented | undefined } {
  const accepted = acceptedSecrets(reference, readSecret);
  if (!accepted.every(({ text }) => pattern.test(text))) {
    throw new CountersignError(
      'SECRET_UNREADABLE',
      `${nameOfSecret(reference)} has characters that can change in transit; use ${allowed}`,
    );
  }
  return {
    by: accepted.map(({ line }) => `${name}${line}`),
    match(shown) {
      const secret = shown === undefined ? undefined : presentedSecret(shown, accepted);
      return secret && presentedBy(`${name}${secret.line}`);
    },
  };
}
