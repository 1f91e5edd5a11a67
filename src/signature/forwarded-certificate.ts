import { X509Certificate } from 'node:crypto';

/** The header of Envoy, in lower case. It has a form of its own. */
const ENVOY_HEADER = 'x-forwarded-client-cert';

type Forwarded =
  | { readonly ok: true; readonly fingerprints: readonly string[] }
  | { readonly ok: false; readonly because: string };

/**
 * The SHA-256 fingerprints that a gateway's header names, as 64 lower-case digits: a fingerprint with or
 * without colons, a percent-encoded certificate in PEM, or the elements of Envoy's header. Each of them must
 * be accepted.
 */
export function readFingerprints(header: string, value: string): Forwarded {
  if (header.toLowerCase() === ENVOY_HEADER) return readEnvoyHeader(value);
  if (value.startsWith('-----BEGIN')) return readEscapedCertificate(value);
  const digits = plainFingerprint(value);
  if (/^[0-9a-f]{64}$/.test(digits)) return { ok: true, fingerprints: [digits] };
  return unreadable(
    /^[0-9a-f]{40}$/.test(digits)
      ? 'it has 40 digits and is SHA-1; send the SHA-256 fingerprint, or the certificate. From nginx, send ' +
          '$ssl_client_escaped_cert in place of $ssl_client_fingerprint'
      : 'it is neither a SHA-256 fingerprint of 64 digits nor a percent-encoded certificate in PEM',
  );
}

export function plainFingerprint(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}

/** One `key=value` and what follows it. A quote stands only around a whole value. */
const PAIR = /[ \t]*([A-Za-z]+)=(?:"(?:[^"\\]|\\.)*"|([^",;]*))(;|,|$)/y;

/**
 * Envoy separates elements by commas and their pairs by semicolons. It writes the client's URI without
 * escaping it, and may append to what the client has sent. So a client can add elements of its own, before
 * and after that of the gateway, but it can't remove the gateway's `Hash`. That is why no `Hash=` in the
 * whole value may be left out, whatever stands around it.
 */
function readEnvoyHeader(value: string): Forwarded {
  const fingerprints: string[] = [];
  let elements = 1;
  for (let at = 0, end = false; !end; at = PAIR.lastIndex) {
    PAIR.lastIndex = at;
    const [, name = '', text = '', separator] = PAIR.exec(value) ?? [];
    if (separator === undefined) return unreadable(`at character ${at}, it is not a list of KEY=VALUE`);
    if (name.toLowerCase() === 'hash') fingerprints.push(text.toLowerCase());
    if (separator === ',') elements += 1;
    end = separator === '';
  }
  const written = value.match(/hash=/gi)?.length ?? 0;
  if (fingerprints.length !== elements || written !== elements)
    return unreadable('it does not have one Hash in each element');
  return fingerprints.every((each) => /^[0-9a-f]{64}$/.test(each))
    ? { ok: true, fingerprints }
    : unreadable('a Hash is not a SHA-256 fingerprint of 64 digits');
}

/** Such as `$ssl_client_escaped_cert` of nginx. */
function readEscapedCertificate(value: string): Forwarded {
  try {
    const pem = decodeURIComponent(value);
    const isOne = /^-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*$/.test(pem);
    if (isOne) return { ok: true, fingerprints: [plainFingerprint(new X509Certificate(pem).fingerprint256)] };
  } catch {
    // The reason is the same for each part that can't be read.
  }
  return unreadable('it is not one percent-encoded certificate in PEM');
}

const unreadable = (because: string): Forwarded => ({ ok: false, because });
