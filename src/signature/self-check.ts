import { createHmac } from 'node:crypto';

import { type ReadSecret, equalInConstantTime } from '../values/secret.ts';
import type { CosignerSourceConfig } from './config.ts';
import { readPublicKeyOf } from './key-of.ts';
import type { PublicKey } from './keys.ts';
import type { KeyInUse } from './scheme.ts';

/** The hashes of a co-signer's `verify_public_hash` callback. */
export interface SelfCheckHashes {
  readonly appId: string;
  readonly clientHash: string;
  readonly verifyHash: string;
}

export interface SelfCheckResult {
  readonly client: boolean;
  readonly verify: boolean;
}

export interface SelfChecker {
  readonly keys: readonly KeyInUse[];
  check(hashes: SelfCheckHashes): SelfCheckResult;
}

/**
 * Whether the co-signer holds the two public keys of the settings. Throws KEY_UNREADABLE or
 * SECRET_UNREADABLE.
 */
export function compileSelfCheck(
  { clientSystemKey, verifySignKey }: NonNullable<CosignerSourceConfig['selfCheck']>,
  readSecret: ReadSecret,
): SelfChecker {
  const client = readPublicKeyOf(clientSystemKey, readSecret);
  const verify = readPublicKeyOf(verifySignKey, readSecret);
  return {
    keys: [
      { role: 'client system key', fingerprint: client.fingerprint },
      { role: 'verify sign key', fingerprint: verify.fingerprint },
    ],
    check: ({ appId, clientHash, verifyHash }) => ({
      client: equalInConstantTime(selfCheckHash(appId, client), clientHash),
      verify: equalInConstantTime(selfCheckHash(appId, verify), verifyHash),
    }),
  };
}

/** Lower-case hexadecimal HMAC-SHA256, keyed with the app_id, of the base64 of a public key. */
function selfCheckHash(appId: string, { base64 }: Pick<PublicKey, 'base64'>): string {
  return createHmac('sha256', appId).update(base64).digest('hex');
}
