import { CountersignError, type Failure, failure } from '../errors.ts';
import { type ReadSecret, type SecretRef, equalInConstantTime, nameOfSecret } from '../values/secret.ts';
import { compileAddresses } from './addresses.ts';
import type { CosignerCredential } from './config.ts';

/** What is known of a callback's sender beside the body. */
export interface Arrival {
  /** The peer's address, behind trusted proxies. */
  readonly address: string;
  /** A header's value; none of one that was sent twice. */
  readonly header: (name: string) => string | undefined;
  /** Whether the connection is one of a trusted proxy, whose word about the client's certificate counts. */
  readonly fromProxy: boolean;
  /** The path segment after the source's path. */
  readonly pathSecret: string | undefined;
  /** The client certificate of the TLS connection, only where its chain was verified. */
  readonly certificate: { readonly fingerprint256: string; readonly subject: string } | undefined;
}

/** One thing that a sender must show, ready to be checked. */
export interface Credential {
  readonly name: CredentialName;
  readonly warnings: readonly string[];
  check(arrival: Arrival): Failure | undefined;
}

/** In the order in which they are checked: strangers are turned away before a secret is looked at. */
export const CREDENTIAL_ORDER = ['addresses', 'path', 'header', 'certificate'] as const;
type CredentialName = (typeof CREDENTIAL_ORDER)[number];

/** Throws SETTINGS_INVALID or SECRET_UNREADABLE. */
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
  const { includes, everyone } = compileAddresses(ranges);
  return {
    name: 'addresses',
    warnings: everyone ? ['addresses: a range ending in /0 lets every address in'] : [],
    check: ({ address }) =>
      includes(address)
        ? undefined
        : failure(
            'ADDRESS_NOT_ALLOWED',
            `${address} is in none of ${ranges.join(', ')}: check the list, and public.trustedProxies if this is a proxy`,
            { address, allowed: ranges },
          ),
  };
}

// A comma could also come from two headers that Node joined; other characters never arrive as they were
// written.
const HEADER_SECRET = /^[\x21-\x2b\x2d-\x7e](?:[\x20-\x2b\x2d-\x7e]*[\x21-\x2b\x2d-\x7e])?$/;

function headerCredential(
  { name, secret }: { readonly name: string; readonly secret: SecretRef },
  readSecret: ReadSecret,
): Credential {
  const matches = secretMatcher(secret, readSecret, HEADER_SECRET, 'printable ASCII without commas');
  return {
    name: 'header',
    warnings: [],
    check({ header }) {
      const value = header(name);
      if (matches(value)) return undefined;
      return failure(
        'HEADER_WRONG',
        value === undefined
          ? `the header ${name} is missing: set it in the co-signer or in the gateway before it`
          : `the header ${name} does not hold what is in ${nameOfSecret(secret)}; the whole value counts, and it may be sent once only`,
        { header: name },
      );
    },
  };
}

function pathCredential({ secret }: { readonly secret: SecretRef }, readSecret: ReadSecret): Credential {
  const matches = secretMatcher(secret, readSecret, /^[A-Za-z0-9._~-]+$/, 'letters, digits and - . _ ~');
  return {
    name: 'path',
    warnings: [],
    check: ({ pathSecret }) =>
      matches(pathSecret)
        ? undefined
        : failure(
            'PATH_WRONG',
            `the URL does not end in the secret of ${nameOfSecret(secret)}: check the URL that the co-signer calls`,
          ),
  };
}

/**
 * A certificate from a header proves no more than that the sender can write this header. So it counts
 * only from a trusted proxy, which must overwrite what its own clients send.
 */
function certificateCredential({
  header: headerName,
  fingerprints = [],
  subjects = [],
}: Extract<CosignerCredential, { certificate: unknown }>['certificate']): Credential {
  const wanted = new Set(fingerprints.map(plainFingerprint));
  for (const fingerprint of wanted) {
    if (!/^[0-9a-f]{64}$/.test(fingerprint)) {
      invalid(
        `certificate: ${fingerprint} is no SHA-256 fingerprint (openssl x509 -noout -fingerprint -sha256)`,
      );
    }
  }
  if (wanted.size === 0 && subjects.length === 0) {
    invalid('certificate: list the fingerprints or the subjects that are accepted');
  }
  if (headerName !== undefined && wanted.size > 0 && subjects.length > 0) {
    invalid('certificate: a header holds a fingerprint or a subject; list only those that the gateway sends');
  }
  const holds = (fingerprint: string | undefined, subject: string | undefined): boolean =>
    (wanted.size === 0 || (fingerprint !== undefined && wanted.has(plainFingerprint(fingerprint)))) &&
    (subjects.length === 0 || (subject !== undefined && subjects.includes(subject)));

  return {
    name: 'certificate',
    warnings: [],
    check({ header, fromProxy, certificate }) {
      const shown = headerName === undefined || !fromProxy ? undefined : header(headerName);
      const good =
        headerName === undefined
          ? holds(certificate?.fingerprint256, certificate?.subject)
          : holds(shown, shown);
      if (good) return undefined;
      const where = headerName === undefined ? 'the TLS connection' : `the header ${headerName}`;
      const missing = headerName === undefined ? certificate === undefined : shown === undefined;
      return failure(
        'CERTIFICATE_WRONG',
        missing
          ? `${where} shows no client certificate${headerName === undefined || fromProxy ? '' : ': only a proxy of public.trustedProxies may say so'}`
          : `the certificate of ${where} is not one of those accepted`,
        { shown: headerName === undefined ? certificate : shown?.slice(0, 512) },
      );
    },
  };
}

function plainFingerprint(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}

/**
 * Compares with the secret behind a reference, in a time that depends on neither. Undefined never matches.
 */
function secretMatcher(
  reference: SecretRef,
  readSecret: ReadSecret,
  pattern: RegExp,
  allowed: string,
): (shown: string | undefined) => boolean {
  const secret = readSecret(reference);
  const place = nameOfSecret(reference);
  if (secret === '')
    throw new CountersignError('SECRET_UNREADABLE', `${place} is empty: put the secret there`);
  if (!pattern.test(secret)) {
    throw new CountersignError('SECRET_UNREADABLE', `${place} could never arrive as it is: use ${allowed}`);
  }
  return (shown) => shown !== undefined && equalInConstantTime(shown, secret);
}

function invalid(because: string): never {
  throw new CountersignError('SETTINGS_INVALID', because);
}
