import { type Failure, failure } from '../errors.ts';
import type { ReadSecret } from '../values/secret.ts';
import type { CosignerCredential, CosignerSourceConfig } from './config.ts';
import type { Faults } from './faults.ts';
import { type Arrival, CREDENTIAL_ORDER, type Credential, compileCredential } from './credentials.ts';
import { type SelfChecker, compileSelfCheck } from './self-check.ts';

/** One co-signer with its secrets and keys read. */
export interface CosignerSource {
  readonly name: string;
  /** For logs: `addresses+header`, or `none`. */
  readonly by: string;
  readonly warnings: readonly string[];
  readonly selfCheck: SelfChecker | undefined;
  /** Why this address may not call at all; it's asked before there is a body, and `check` asks again. */
  stranger(address: string): Failure | undefined;
  /** Undefined where the sender has shown all that is listed; else what is missing first. */
  check(arrival: Arrival): Failure | undefined;
}

export function compileCosigner(
  config: CosignerSourceConfig,
  readSecret: ReadSecret,
  faults: Faults,
): CosignerSource {
  const where = `source ${config.name}`;
  const { authenticate, selfCheck } = config;
  if (authenticate.length === 0) {
    faults.add(where, 'SETTINGS_INVALID', 'authenticate: list what the co-signer must show, or write none');
  }
  if (authenticate.includes('none') && authenticate.length > 1) {
    faults.add(
      where,
      'SETTINGS_INVALID',
      'authenticate: none stands beside proofs: delete none, so that they count',
    );
  }
  const credentials = authenticate
    .filter((credential) => credential !== 'none')
    .flatMap((credential) => faults.attempt(where, () => compileCredential(credential, readSecret)) ?? [])
    .sort((a, b) => CREDENTIAL_ORDER.indexOf(a.name) - CREDENTIAL_ORDER.indexOf(b.name));
  const addresses = credentials.find(({ name }) => name === 'addresses');
  const open = authenticate.length === 1 && authenticate[0] === 'none';

  return {
    name: config.name,
    by: open ? 'none' : credentials.map(({ name }) => name).join('+'),
    warnings: warningsOf(authenticate, credentials),
    selfCheck:
      selfCheck && faults.attempt(`${where}, selfCheck`, () => compileSelfCheck(selfCheck, readSecret)),
    stranger(address) {
      const lacking = addresses?.check({ ...NOTHING_SHOWN, address });
      return lacking && { ...lacking, data: { ...lacking.data, source: config.name } };
    },
    check(arrival) {
      if (open) return undefined;
      if (credentials.length === 0)
        return failure('KEYS_UNAVAILABLE', `${where} has nothing to tell its co-signer by`);
      for (const credential of credentials) {
        const lacking = credential.check(arrival);
        if (lacking !== undefined) return { ...lacking, data: { ...lacking.data, source: config.name } };
      }
      return undefined;
    },
  };
}

/** All that the proof of an address may not look at. */
const NOTHING_SHOWN: Omit<Arrival, 'address'> = {
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
      'authenticate: none believes whoever reaches the port: list addresses, a header, a path or a certificate',
      ...kept,
    ];
  }
  const byHeader = authenticate.some(
    (credential) =>
      credential !== 'none' && 'certificate' in credential && credential.certificate.header !== undefined,
  );
  return byHeader && !credentials.some(({ name }) => name === 'addresses')
    ? [
        "certificate from a header is as good as the gateway's grip on it: list the gateway under addresses as well",
        ...kept,
      ]
    : kept;
}
