import { hash } from 'node:crypto';

import { CountersignError } from '../errors.ts';
import { equalInConstantTime, nameOfSecret } from '../values/secret.ts';
import { flatSigner, flatVerifier } from './flat.ts';
import { isKey } from './keys.ts';
import type { Scheme } from './scheme.ts';
import { MD5_MISTAKES, type Variant } from './variants.ts';

/** 32 hexadecimal digits: the MD5 of the canonical string followed by the secret (section 5, rule 2). */
export const md5: Scheme<'md5'> = {
  name: 'md5',
  shape: 'flat',
  matchesForm: (sign) => /^[0-9a-fA-F]{32}$/.test(sign),

  verifier({ secret: reference, emptyValues }, readSecret) {
    const secret = readSecret(reference);
    const place = nameOfSecret(reference);
    if (secret === '')
      throw new CountersignError('SECRET_UNREADABLE', `${place} is empty; put the secret there`);
    if (isKey(secret)) {
      throw new CountersignError(
        'SECRET_UNREADABLE',
        `${place} is a key; put the secret of the md5 scheme there`,
      );
    }
    const matches = (text: string, sign: string): boolean =>
      equalInConstantTime(signOf(text, secret), sign.toLowerCase());
    return flatVerifier({
      scheme: 'md5',
      by: `md5 ${place}`,
      key: { role: 'secret', fingerprint: place },
      emptyValues,
      matches,
      expected: (text) => signOf(text, secret),
      fix: (text, sign, variants) =>
        fixOf(sign.toLowerCase(), [{ text, fix: '' }, ...variants], secret) ??
        'compare the length and the digest of the signed string with the sender; if they agree, the ' +
          'secrets differ',
    });
  },

  signer: ({ secret, emptyValues }) => flatSigner('md5', emptyValues, (text) => signOf(text, secret)),
};

function signOf(text: string, secret: string): string {
  return hash('md5', text + secret, 'hex');
}

/** The mistake, or the two, with which the sender has made this sign. */
function fixOf(sign: string, variants: readonly Variant[], secret: string): string | undefined {
  const ways = [{ sign: signOf, fix: '' }, ...MD5_MISTAKES];
  for (const { text, fix } of variants) {
    const way = ways.find((each) => equalInConstantTime(each.sign(text, secret), sign));
    if (way !== undefined) return [fix, way.fix].filter((each) => each !== '').join('; ');
  }
  return undefined;
}
