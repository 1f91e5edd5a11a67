import { type Failure, failure, lazyFailure } from '../errors.ts';
import type { Members } from '../values/members.ts';
import type { MemberTable } from './ambiguity.ts';
import type { SourceConfig } from './config.ts';
import {
  type CosignerSource,
  type SelfCheckHashes,
  type SelfCheckResult,
  compileCosigner,
} from './cosigners.ts';
import type { SenderFacts } from './credentials.ts';
import { collectFaults } from './faults.ts';
import { type KeyParts, type Payments, compilePayments } from './payments.ts';
import type { Authenticated, KeyInUse } from './scheme.ts';

/** The second of the five steps: finds out who sent a callback. No method throws or does I/O. */
export interface Authenticator {
  /**
   * Authenticates a payment confirmation by its `appKey` and signature (sections 5 and 6.1). Rejects if a
   * decryption thread fails.
   */
  payment(members: Members): Promise<Authenticated | Failure>;
  /** The source whose keys `payment` tries. Nothing is verified. */
  claimedSource(members: Members): string | undefined;
  /**
   * Authenticates a co-signer by the credentials of its source; its body is not signed (sections 6.2 and
   * 6.3).
   */
  cosigner(source: string, sender: SenderFacts, members: Members): Authenticated | Failure;
  /** Checks whether this address may call a co-signer's URL, before the body is read. */
  checkAddress(source: string, address: string): Failure | undefined;
  /** Whether the co-signer has the same public keys. Both results are false if the settings name no keys. */
  selfCheck(source: string, hashes: SelfCheckHashes): SelfCheckResult;
  describe(): readonly SourceDescription[];
}

/** What an operator may see of a source's keys. */
export interface SourceDescription {
  readonly source: string;
  readonly callback: 'payment' | 'cosigner';
  /** The accepted schemes, or the required credentials. */
  readonly accepts: readonly string[];
  readonly keys: readonly KeyInUse[];
  /** Every text that Authenticated may have as `by`: each key, or each combination of credentials. */
  readonly by: readonly string[];
  readonly warnings: readonly string[];
}

export type AuthenticatorParts = MemberTable & KeyParts;

/**
 * Reads all keys and secrets once, for sources that the settings have checked. `grammar` and `optional` are
 * the members of a payment confirmation. Throws one CountersignError (KEY_UNREADABLE, SECRET_UNREADABLE or
 * SETTINGS_INVALID) that lists all faults.
 */
export function compileAuthenticator(
  sources: readonly SourceConfig[],
  parts: AuthenticatorParts,
): Authenticator {
  const faults = collectFaults();
  const payments = compilePayments(
    sources.filter((source) => source.callback === 'payment'),
    parts,
    faults,
  );
  const cosigners = new Map<string, CosignerSource>();
  for (const config of sources) {
    if (config.callback !== 'cosigner') continue;
    cosigners.set(config.name, compileCosigner(config, parts.readSecret, faults));
  }
  faults.throwIfAny();

  return {
    async payment(members) {
      const candidate = payments.candidate(members);
      if (!candidate.ok) return candidate;
      const outcome = await payments.verify(candidate, members);
      return outcome.ok ? outcome : withSource(outcome, candidate.source);
    },
    claimedSource: payments.claimedSource,
    cosigner(name, sender, members) {
      const source = cosigners.get(name);
      if (source === undefined) return unknownCosigner(name);
      const checked = source.check(sender);
      if (!checked.ok) return checked;
      const { by } = checked;
      return { ok: true, source: name, scheme: undefined, by, members, plaintext: undefined };
    },
    checkAddress(name, address) {
      const source = cosigners.get(name);
      return source === undefined ? unknownCosigner(name) : source.checkAddress(address);
    },
    selfCheck: (name, hashes) =>
      cosigners.get(name)?.selfCheck?.check(hashes) ?? { client: false, verify: false },
    describe: () => [
      ...payments.sources.map(describePayment),
      ...[...cosigners.values()].map(describeCosigner),
    ],
  };
}

const unknownCosigner = (name: string): Failure =>
  failure('SOURCE_UNKNOWN', `the settings have no co-signer called ${name}`);

/** The reason is still read only if it is needed. */
function withSource(refused: Failure, source: string): Failure {
  return lazyFailure(refused.code, () => ({
    because: refused.because,
    data: { ...refused.data, source },
  }));
}

function describePayment({ name, verifiers }: Payments['sources'][number]): SourceDescription {
  return {
    source: name,
    callback: 'payment',
    accepts: [...new Set(verifiers.map(({ scheme }) => scheme))],
    keys: verifiers.flatMap(({ keys }) => keys),
    by: verifiers.map(({ by }) => by),
    warnings: verifiers.flatMap(({ warnings }) => warnings),
  };
}

function describeCosigner({ name, accepts, by, selfCheck, warnings }: CosignerSource): SourceDescription {
  return {
    source: name,
    callback: 'cosigner',
    accepts,
    keys: selfCheck?.keys ?? [],
    by,
    warnings,
  };
}

/**
 * A warning for each pair of sources that share a platform key. `md5` and `rsa` sign the appKey. Nothing
 * signs the `app_id` of an envelope, so only its merchant key shows which source it is for.
 */
export function sharedKeys(sources: readonly SourceDescription[]): readonly string[] {
  return sources.flatMap((one, at) =>
    sources.slice(at + 1).flatMap((other) => {
      const otherKeys = platformKeys(other);
      const shared = [...platformKeys(one)].filter((key) => otherKeys.has(key));
      return shared.map((key) => sharedKeyWarning(one, other, key));
    }),
  );
}

function sharedKeyWarning(one: SourceDescription, other: SourceDescription, key: string): string {
  const envelopes = [one, other].every(({ accepts }) => accepts.includes('rsa-envelope'));
  const envelopeRisk = envelopes ? ', and an rsa-envelope for one can be encrypted again for the other' : '';
  return (
    `the sources ${one.source} and ${other.source} share the platform key ${key}, so its owner can sign for ` +
    `both${envelopeRisk}; have the platform use a key for each`
  );
}

function platformKeys({ keys }: SourceDescription): ReadonlySet<string> {
  return new Set(keys.flatMap(({ role, fingerprint }) => (role === 'platform key' ? [fingerprint] : [])));
}
