import { type Failure, failure, failureWhy } from '../errors.ts';
import type { Members } from '../values/members.ts';
import type { ReadSecret } from '../values/secret.ts';
import type { SchemeName, SourceConfig } from './config.ts';
import { type CosignerSource, compileCosigner } from './cosigners.ts';
import { collectFaults } from './faults.ts';
import { type Payments, compilePayments } from './payments.ts';
import type { Arrival } from './credentials.ts';
import type { MemberTable } from './ambiguity.ts';
import type { KeyInUse } from './scheme.ts';
import type { SelfCheckHashes, SelfCheckResult } from './self-check.ts';

/**
 * The second of the five steps: who sent a callback, shown by what they hold. Nothing here throws or does
 * I/O.
 */
export interface Authenticator {
  /** A payment confirmation by its `appKey` and signature (sections 5 and 6.1). */
  payment(decoded: { readonly members: Members }): Authenticated | Failure;
  /**
   * A co-signer's callback by all that its source must show; the body itself proves nothing (sections 6.2 and
   * 6.3).
   */
  cosigner(source: string, arrival: Arrival & { readonly members: Members }): Authenticated | Failure;
  /**
   * Why nobody at this address may call a co-signer's URL: known before its body is read, or any secret
   * looked at.
   */
  stranger(source: string, address: string): Failure | undefined;
  /** Whether the co-signer holds the same public keys; both false where the settings name none. */
  selfCheck(source: string, hashes: SelfCheckHashes): SelfCheckResult;
  describe(): readonly SourceDescription[];
}

export interface Authenticated {
  readonly ok: true;
  readonly source: string;
  /** Undefined for a co-signer, whose callbacks are not signed. */
  readonly scheme: SchemeName | undefined;
  /** For logs: `rsa SHA256:…`, `addresses+header`. */
  readonly by: string;
  /** The callback's own members, from an envelope too; of a payment without `sign` and with `appKey`. */
  readonly members: Members;
  /** What an envelope held. */
  readonly plaintext: string | undefined;
}

/** What an operator may see of a source's keys. */
export interface SourceDescription {
  readonly source: string;
  readonly callback: 'payment' | 'cosigner';
  /** The schemes that are accepted, or the proofs that are asked for. */
  readonly accepts: readonly string[];
  readonly keys: readonly KeyInUse[];
  readonly warnings: readonly string[];
}

export type AuthenticatorParts = MemberTable & { readonly readSecret: ReadSecret };

/**
 * Reads all keys and secrets once. `grammar` and `optional` are the members of a payment confirmation. Throws
 * one CountersignError (KEY_UNREADABLE, SECRET_UNREADABLE or SETTINGS_INVALID) that lists every fault and its
 * cure.
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
    if (sources.find(({ name }) => name === config.name) !== config) {
      faults.add(
        `source ${config.name}`,
        'SETTINGS_INVALID',
        'is there twice: give each source its own name',
      );
    }
    if (config.callback === 'cosigner') {
      cosigners.set(config.name, compileCosigner(config, parts.readSecret, faults));
    }
  }
  faults.throwIfAny();

  return {
    payment: ({ members }) => authenticatePayment(payments, members),
    cosigner(name, arrival) {
      const source = cosigners.get(name);
      if (source === undefined)
        return failure('SOURCE_UNKNOWN', `no co-signer of the settings is called ${name}`);
      const lacking = source.check(arrival);
      if (lacking !== undefined) return lacking;
      return {
        ok: true,
        source: name,
        scheme: undefined,
        by: source.by,
        members: arrival.members,
        plaintext: undefined,
      };
    },
    stranger: (name, address) => cosigners.get(name)?.stranger(address),
    selfCheck: (name, hashes) =>
      cosigners.get(name)?.selfCheck?.check(hashes) ?? { client: false, verify: false },
    describe: () => [
      ...payments.sources.map(describePayment),
      ...[...cosigners.values()].map(describeCosigner),
    ],
  };
}

function authenticatePayment(payments: Payments, members: Members): Authenticated | Failure {
  const candidate = payments.candidate(members);
  if (!candidate.ok) return candidate;
  const { source, scheme } = candidate;
  const outcome = payments.verify(candidate, members);
  if (!outcome.ok) {
    const { code } = outcome;
    return failureWhy(code, () => ({
      because: outcome.because,
      data: { ...outcome.data, source },
    }));
  }
  const { verified, by } = outcome;
  return { ok: true, source, scheme, by, members: verified.members, plaintext: verified.plaintext };
}

function describePayment({ name, verifiers }: Payments['sources'][number]): SourceDescription {
  return {
    source: name,
    callback: 'payment',
    accepts: [...new Set(verifiers.map(({ scheme }) => scheme))],
    keys: verifiers.flatMap(({ keys }) => keys),
    warnings: verifiers.flatMap(({ warnings }) => warnings),
  };
}

function describeCosigner({ name, by, selfCheck, warnings }: CosignerSource): SourceDescription {
  return {
    source: name,
    callback: 'cosigner',
    accepts: by.split('+'),
    keys: selfCheck?.keys ?? [],
    warnings,
  };
}
