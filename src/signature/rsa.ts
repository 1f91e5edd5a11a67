import { hash } from 'node:crypto';

import type { SchemeConfig } from './config.ts';
import { flatSigner, flatVerifier } from './flat.ts';
import { KEY_BITS_MAX, KEY_BITS_MIN, type SignedDigest, readPrivateKey, readPublicKeyFrom } from './keys.ts';
import { type Scheme, decodeBase64 } from './scheme.ts';
import { MD5_HEX_MISTAKES, type Variant } from './variants.ts';

type Signs = Extract<SchemeConfig, { readonly scheme: 'rsa' }>['signs'];

/**
 * PKCS#1 v1.5 over the canonical string or over its MD5 in hexadecimal, in base64 or base64url (section 5,
 * rule 2).
 */
export const rsa: Scheme<'rsa'> = {
  name: 'rsa',
  shape: 'flat',
  matchesForm: isRsaSized,

  verifier({ platformKey, digest, signs, emptyValues }, readSecret) {
    const key = readPublicKeyFrom(platformKey, readSecret, digest);
    return flatVerifier({
      scheme: 'rsa',
      by: `rsa ${key.fingerprint}`,
      key: { role: 'platform key', fingerprint: key.fingerprint },
      emptyValues,
      signs,
      warnings:
        digest === 'sha1'
          ? ['rsa with digest: sha1 can be forged by a SHA-1 collision; agree on sha256 with the platform']
          : [],
      matches: (text, sign) => {
        const signature = decodeBase64(sign);
        return signature?.length === key.bytes && key.verify(signedText(text, signs), signature);
      },
      expected: () => undefined,
      fix: (text, sign, variants) => {
        const signature = decodeBase64(sign);
        if (signature?.length !== key.bytes) {
          return (
            `the signature has ${signature?.length} bytes, but the key makes signatures of ${key.bytes} bytes; ` +
            "check the platform's key in the settings"
          );
        }
        const own = { text, fix: '' };
        return fixOf(key.digestIn(signature), [own, ...variants], { digest, signs });
      },
    });
  },

  signer({ senderKey, digest, signs, emptyValues }) {
    const key = readPrivateKey(senderKey, digest);
    return flatSigner('rsa', emptyValues, (text) =>
      Buffer.from(key.sign(signedText(text, signs))).toString('base64'),
    );
  },
};

/** Whether a sign is the base64 of a signature by a key of an allowed size. */
export function isRsaSized(sign: string): boolean {
  const bytes = decodeBase64(sign)?.length ?? 0;
  return bytes >= KEY_BITS_MIN / 8 && bytes <= KEY_BITS_MAX / 8;
}

function signedText(text: string, signs: Signs): string {
  return signs === 'string' ? text : hash('md5', text, 'hex');
}

/** What a sender signs of a text. */
const SIGNED_FORMS = [
  { signs: 'string', bytes: (text: string) => text, fix: '' },
  { signs: 'md5-hex', bytes: (text: string) => signedText(text, 'md5-hex'), fix: '' },
  ...MD5_HEX_MISTAKES.map((mistake) => ({ signs: 'md5-hex', ...mistake })),
] as const;

/** Finds the setting that is wrong, by comparing the digest in the signature with those of other texts. */
function fixOf(
  signed: SignedDigest | undefined,
  variants: readonly Variant[],
  configured: { readonly digest: string; readonly signs: Signs },
): string {
  if (signed === undefined)
    return "the signature was made with another key; check the platform's key in the settings";
  const { digest } = signed;
  if (digest === 'another digest')
    return "the key is right, but the sender's digest is not sha256 or sha1; the sender must use sha256";
  for (const { text, fix } of variants) {
    for (const { signs, bytes, fix: form } of SIGNED_FORMS) {
      if (hash(digest, bytes(text), 'hex') !== signed.hash) continue;
      const fixes = [
        digest === configured.digest ? '' : `set digest: ${digest}`,
        signs === configured.signs ? '' : `set signs: ${signs}`,
        fix,
        form,
      ];
      return `the key is right; ${fixes.filter((each) => each !== '').join('; ')}`;
    }
  }
  return (
    'the key is right, but it signed another text; ' +
    'compare the length and the digest of the signed string with the sender'
  );
}
