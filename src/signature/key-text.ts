import { type KeyObject, X509Certificate, createPrivateKey, createPublicKey } from 'node:crypto';

import { CountersignError } from '../errors.ts';

/** Shorter keys are refused. */
export const KEY_BITS_MIN = 2048;
/** Longer keys are refused: a single operation would take too long. */
export const KEY_BITS_MAX = 8192;

export type KeyKind = 'public' | 'private';

/**
 * The RSA key in a text, in any form that people have: PEM (PKCS#1, PKCS#8, SPKI or a certificate) or the
 * bare base64 or base64url of its DER; in one line or many, padded or not, in quotes, or with line breaks
 * written as `\n`. Throws KEY_UNREADABLE, with the cure and never with anything of the text.
 */
export function readKey(text: string, wanted: KeyKind): KeyObject {
  const key = parseKey(text);
  if (key.type !== wanted) {
    unreadable(
      wanted === 'public'
        ? "is a private key where a public one is wanted: put the other side's public key here, and keep the private key where it belongs"
        : 'is a public key (or a certificate) where a private one is wanted: put the private key of your own pair here',
    );
  }
  if (key.asymmetricKeyType !== 'rsa')
    unreadable(`is no RSA key but ${key.asymmetricKeyType}: make an RSA key`);
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < KEY_BITS_MIN || bits > KEY_BITS_MAX || bits % 8 !== 0) {
    unreadable(`has ${bits} bits: make a key of ${KEY_BITS_MIN} to ${KEY_BITS_MAX} bits, a multiple of 8`);
  }
  return key;
}

/** Whether a text that should be a shared secret is a key by mistake. */
export function isKey(text: string): boolean {
  try {
    parseKey(text);
    return true;
  } catch {
    return false;
  }
}

export function unreadable(because: string): never {
  throw new CountersignError('KEY_UNREADABLE', because);
}

const FORMS: readonly ((der: Buffer) => KeyObject)[] = [
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs1' }),
  (key) => createPublicKey({ key, format: 'der', type: 'spki' }),
  (key) => createPublicKey({ key, format: 'der', type: 'pkcs1' }),
  (der) => new X509Certificate(der).publicKey,
];

// The label of a PEM block is not relied upon: many a PKCS#8 key stands between lines that say otherwise.
function parseKey(text: string): KeyObject {
  const der = derOf(unquoted(text));
  for (const read of FORMS) {
    try {
      return read(der);
    } catch {
      // Not this form. What OpenSSL says about it would not help anybody.
    }
  }
  return unreadable(
    'is no RSA key: give it as PEM (PKCS#1, PKCS#8, SPKI or a certificate), or as the base64 of its DER, and whole',
  );
}

function unquoted(text: string): string {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/\\r|\r/g, '')
    .replaceAll('\\n', '\n')
    .trim();
  return lines.replace(/^(["'`])([^]*)\1$/, '$2');
}

function derOf(text: string): Buffer {
  if (/-----BEGIN ENCRYPTED|Proc-Type:.*ENCRYPTED/.test(text)) {
    unreadable('is encrypted with a passphrase: decrypt it first (openssl pkey -in KEY -out KEY.pem)');
  }
  const blocks = [...text.matchAll(/-----BEGIN [A-Z0-9 ]+-----([^-]*)-----END [A-Z0-9 ]+-----/g)];
  if (blocks.length > 1) unreadable(`holds ${blocks.length} PEM blocks: keep the one that is meant`);
  if (blocks.length === 0 && text.includes('-----')) {
    unreadable('is a PEM block that was cut off: give it with its BEGIN line, its END line and all between');
  }
  const base64 = (blocks[0]?.[1] ?? text).replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(base64)) {
    unreadable('is neither PEM nor base64: give the whole key in one of them');
  }
  return Buffer.from(base64, 'base64');
}
