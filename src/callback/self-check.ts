import type { Members } from '../values/members.ts';
import type { Parsed, SelfCheck } from './callback.ts';
import { VISIBLE, reading, requiredText } from './reading.ts';

export const SELF_CHECK_TYPE = 'verify_public_hash';

const TEXT = { pattern: VISIBLE, maxLength: 256 };

/**
 * The co-signer's question whether both sides hold the same public keys; sent when its operator checks its
 * settings.
 */
export function parseSelfCheck(members: Members, source: string): Parsed<SelfCheck> {
  return reading(() => ({
    kind: 'self-check',
    source,
    appId: requiredText(members, 'app_id', TEXT),
    clientHash: requiredText(members, 'client_system_pubkey_hash', TEXT),
    verifyHash: requiredText(members, 'verify_sign_pub_hash', TEXT),
  }));
}
