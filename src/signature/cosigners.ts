import { createHmac } from 'node:crypto';

import { type Failure, failure } from '../errors.ts';
import { type ReadSecret, equalInConstantTime } from '../values/secret.ts';
import type { CosignerCredential, CosignerSourceConfig } from './config.ts';
import {
  CREDENTIAL_ORDER,
  type Credential,
  type Presented,
  type SenderFacts,
  compileCredential,
} from './credentials.ts';
import type { Faults } from './faults.ts';
import { type PublicKey, readPublicKeyFrom } from './keys.ts';
import type { KeyInUse } from './scheme.ts';

/** One co-signer with its secrets and keys. */
export interface CosignerSource {
  readonly name: string;
  /** The names of the required credentials, or `none`. */
  readonly accepts: readonly string[];
  /** For logs, the texts by which a check that passes says how: `addresses+header`, or `none`. */
  readonly by: readonly string[];
  readonly warnings: readonly string[];
  readonly selfCheck: SelfChecker | undefined;
  /** Checks the address alone, before the body is read. `check` checks it again. */
  checkAddress(address: string): Failure | undefined;
  /** Whether the sender presents all credentials; otherwise the first that is missing. */
  check(arrival: SenderFacts): Presented | Failure;
}

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

interface SelfChecker {
  readonly keys: readonly KeyInUse[];
  check(hashes: SelfCheckHashes): SelfCheckResult;
}

export function compileCosigner(
  config: CosignerSourceConfig,
  readSecret: ReadSecret,
  faults: Faults,
): CosignerSource {
  const where = `source ${config.name}`;
  const { authenticate, selfCheck } = config;
  const credentials = authenticate
    .filter((credential) => credential !== 'none')
    .flatMap((credential) => faults.attempt(where, () => compileCredential(credential, readSecret)) ?? [])
    .sort((a, b) => CREDENTIAL_ORDER.indexOf(a.name) - CREDENTIAL_ORDER.indexOf(b.name));
  const addresses = credentials.find(({ name }) => name === 'addresses');
  const withoutCredentials = authenticate.length === 1 && authenticate[0] === 'none';
  const accepts = withoutCredentials ? ['none'] : credentials.map(({ name }) => name);

  return {
    name: config.name,
    accepts,
    by: withoutCredentials ? accepts : combinationsOf(credentials.map(({ by }) => by)),
    warnings: warningsOf(authenticate, credentials),
    selfCheck:
      selfCheck && faults.attempt(`${where}, selfCheck`, () => compileSelfCheck(selfCheck, readSecret)),
    checkAddress(address) {
      const checked = addresses?.check({ ...NOTHING_PRESENTED, address });
      if (checked === undefined || checked.ok) return undefined;
      return { ...checked, data: { ...checked.data, source: config.name } };
    },
    check(arrival) {
      if (withoutCredentials) return { ok: true, by: 'none' };
      if (credentials.length === 0)
        return failure('KEYS_UNAVAILABLE', `${where} has no credential; list one under authenticate`);
      const presented: string[] = [];
      for (const credential of credentials) {
        const checked = credential.check(arrival);
        if (!checked.ok) return { ...checked, data: { ...checked.data, source: config.name } };
        presented.push(checked.by);
      }
      return { ok: true, by: presented.join('+') };
    },
  };
}

/** Every way to take one text of each list, in order, joined by `+`. */
function combinationsOf(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...rest] = lists;
  if (rest.length === 0) return first;
  return first.flatMap((text) => combinationsOf(rest).map((others) => `${text}+${others}`));
}

/** The credential `addresses` uses the address alone. */
const NOTHING_PRESENTED: Omit<SenderFacts, 'address'> = {
  header: () => undefined,
  fromProxy: false,
  pathSecret: undefined,
  certificate: undefined,
};

function warningsOf(
  authenticate: readonly CosignerCredential[],
  credentials: readonly Credential[],
): readonly string[] {
  const kept = credentials.flatMap(({ warnings }) => warnings);
  if (authenticate.includes('none')) {
    return [
      'authenticate: none trusts every caller that reaches the port; ' +
        'list addresses, a header, a path or a certificate',
      ...kept,
    ];
  }
  const byHeader = authenticate.some(
    (credential) =>
      credential !== 'none' && 'certificate' in credential && credential.certificate.header !== undefined,
  );
  return byHeader && !credentials.some(({ name }) => name === 'addresses')
    ? [
        'any client of the gateway can send the certificate in a header, unless the gateway overwrites that ' +
          "header; make the gateway overwrite it, and list the co-signer's addresses (not the gateway's) " +
          'under addresses',
        ...kept,
      ]
    : kept;
}

/**
 * Checks that the co-signer has the two public keys of the settings. Throws KEY_UNREADABLE or
 * SECRET_UNREADABLE.
 */
function compileSelfCheck(
  { clientSystemKey, verifySignKey }: NonNullable<CosignerSourceConfig['selfCheck']>,
  readSecret: ReadSecret,
): SelfChecker {
  const client = readPublicKeyFrom(clientSystemKey, readSecret);
  const verify = readPublicKeyFrom(verifySignKey, readSecret);
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
