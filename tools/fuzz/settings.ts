import type { SourceConfig } from '../../src/signature/config.ts';
import { LIMITS, type Scheme, WITHOUT_PEOPLE, cosigners, payments, secrets } from './parties.ts';
import { APPROVAL, PEOPLE } from './people.ts';

/*
 * The parties as the settings name them, and policies that let all below a limit pass, much of it only with the
 * approval of people.
 */

const KINDS = ['payment', 'transfer', 'web3'] as const;
const POLICIES = KINDS.map((kind) => {
  const any = [{ 'amount-limit': { max: WITHOUT_PEOPLE[kind] } }, { approval: APPROVAL }];
  const rules = [{ 'amount-limit': { max: LIMITS[kind] } }, { any }];
  return `---\n${JSON.stringify({ policy: `${kind}s`, callback: kind, rules })}\n`;
}).join('');
export const POLICY_FILES: Readonly<Record<string, string>> = {
  'policies.yaml': POLICIES,
  'people.yaml': PEOPLE,
};

/** As the settings name them, every secret by `{ env: … }`. */
export const sources: readonly SourceConfig[] = [
  ...payments.map(({ name, appKey, schemes }) => ({
    name,
    callback: 'payment' as const,
    appKey,
    signatures: schemes.map((scheme, at) => configOf(scheme, `${name}_${at}`)),
  })),
  ...cosigners.map(({ name, withdraw, web3, header, pathSecret, address, selfCheck }) => ({
    name,
    callback: 'cosigner' as const,
    paths: { withdraw, web3 },
    authenticate: [
      ...(address === undefined ? [] : [{ addresses: [address] }]),
      ...(header === undefined
        ? []
        : [{ header: { name: header.name, secret: { env: variable(`${name}_header`) } } }]),
      ...(pathSecret === undefined ? [] : [{ path: { secret: { env: variable(`${name}_path`) } } }]),
    ],
    ...(selfCheck === undefined
      ? {}
      : {
          selfCheck: {
            clientSystemKey: { env: variable(`${selfCheck.client.name} public`) },
            verifySignKey: { env: variable(`${selfCheck.verify.name} public`) },
          },
        }),
  })),
];

export const environment: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(secrets).map(([name, value]) => [variable(name), value]),
);

function variable(name: string): string {
  return `FUZZ_${name.replaceAll(/[^a-z0-9]/gi, '_').toUpperCase()}`;
}

function configOf(
  scheme: Scheme,
  secret: string,
): Extract<SourceConfig, { callback: 'payment' }>['signatures'][number] {
  if (scheme.scheme === 'md5') {
    return { scheme: 'md5', secret: { env: variable(secret) }, emptyValues: scheme.emptyValues };
  }
  const platformKey = { env: variable(`${scheme.platform.name} public`) };
  if (scheme.scheme === 'rsa-envelope') {
    const merchantKey = { env: variable(`${scheme.merchant.name} private`) };
    return { scheme: 'rsa-envelope', platformKey, merchantKey };
  }
  const { digest, signs, emptyValues } = scheme;
  return { scheme: 'rsa', platformKey, digest, signs, emptyValues };
}
