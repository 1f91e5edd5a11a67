import { type Failure, failure, lazyFailure } from '../errors.ts';
import { damageIn } from '../values/damage.ts';
import type { Members } from '../values/members.ts';
import type { ReadSecret } from '../values/secret.ts';
import type { PaymentSourceConfig, SchemeName } from './config.ts';
import type { DecryptionThreads } from './blocks.ts';
import type { Faults } from './faults.ts';
import { type MemberTable, compileAmbiguityCheck } from './ambiguity.ts';
import type { Authenticated, Shape, Verifier } from './scheme.ts';
import { compileVerifier, schemeOf, shapeOf } from './schemes.ts';

export interface KeyParts {
  readonly readSecret: ReadSecret;
  /** Where envelopes are decrypted. Without threads, the caller's thread decrypts them. */
  readonly threads?: DecryptionThreads | undefined;
}

/** One payment source with its keys. */
interface PaymentSource {
  readonly name: string;
  readonly verifiers: readonly Verifier[];
}

/** The source and scheme that a callback claims, and the keys that may have signed it. */
interface Candidate {
  readonly ok: true;
  readonly source: string;
  readonly scheme: SchemeName;
  readonly appKey: string;
  readonly sign: string;
  readonly verifiers: readonly Verifier[];
}

/** The characters of an unknown appKey that a failure shows. */
const NAME_MAX = 128;

export interface Payments {
  readonly sources: readonly PaymentSource[];
  /** The source that a callback names. Nothing is verified yet. */
  readonly claimedSource: (members: Members) => string | undefined;
  /** Finds the keys by the `appKey` and the shape of the callback. Nothing is verified yet. */
  candidate(members: Members): Candidate | Failure;
  /** Rejects if a decryption thread fails. */
  verify(candidate: Candidate, members: Members): Promise<Authenticated | Failure>;
}

export function compilePayments(
  configs: readonly PaymentSourceConfig[],
  parts: MemberTable & KeyParts,
  faults: Faults,
): Payments {
  const checkAmbiguity = compileAmbiguityCheck(parts);
  const byAppKey = new Map<string, PaymentSource>();
  for (const config of configs) {
    const verifiers = compileVerifiers(config, parts, faults);
    byAppKey.set(config.appKey, { name: config.name, verifiers });
  }
  const sources = [...byAppKey.values()];
  refuseSharedEnvelopes(sources, faults);

  return {
    sources,
    claimedSource: (members) => byAppKey.get(claimedAppKey(members) ?? '')?.name,
    candidate(members) {
      const shape = shapeOf(members);
      const named = appKeyOf(members, shape);
      if (typeof named !== 'string') return named;
      const source = byAppKey.get(named);
      return source === undefined
        ? failure(
            'SOURCE_UNKNOWN',
            `no source of the settings has the appKey ${JSON.stringify(named.slice(0, NAME_MAX))}`,
            { appKey: named.slice(0, NAME_MAX) },
          )
        : candidateOf(members, shape, { source, appKey: named });
    },
    async verify({ source, scheme, appKey, sign, verifiers }, members) {
      const failures: Failure[] = [];
      for (const verifier of verifiers) {
        const verified = await verifier.verify(members, sign, appKey);
        if (!verified.ok) {
          failures.push(verified);
          continue;
        }
        const { canonical, ...content } = verified;
        const ambiguous = canonical && checkAmbiguity(canonical, appKey);
        return ambiguous ?? { ...content, source, scheme, by: verifier.by };
      }
      return joinFailures(failures);
    },
  };
}

/**
 * Nothing signs an envelope's app_id, so sources with the same two keys would accept each other's callbacks.
 */
function refuseSharedEnvelopes(sources: readonly PaymentSource[], faults: Faults): void {
  const owners = new Map<string, PaymentSource>();
  for (const source of sources) {
    for (const { scheme, keys } of source.verifiers) {
      if (scheme !== 'rsa-envelope') continue;
      const pair = keys.map(({ fingerprint }) => fingerprint).join(' ');
      const owner = owners.get(pair) ?? source;
      owners.set(pair, owner);
      if (owner === source) continue;
      faults.add(
        `source ${source.name}`,
        'SETTINGS_INVALID',
        `has both rsa-envelope keys of source ${owner.name}, so each accepts the other's callbacks; ` +
          'give each its own merchant key',
      );
    }
  }
}

function compileVerifiers(
  { name, signatures }: PaymentSourceConfig,
  { readSecret, threads }: KeyParts,
  faults: Faults,
): readonly Verifier[] {
  return signatures.flatMap(
    (config, at) =>
      faults.attempt(`source ${name}, signatures[${at}] (${config.scheme})`, () =>
        compileVerifier(config, readSecret, threads),
      ) ?? [],
  );
}

/** The appKey that a callback names. Nothing is verified yet. */
export function claimedAppKey(members: Members): string | undefined {
  const named = appKeyOf(members, shapeOf(members));
  return typeof named === 'string' ? named : undefined;
}

function appKeyOf(members: Members, shape: Shape): string | Failure {
  const name = shape === 'envelope' ? 'app_id' : 'appKey';
  const member = members.get(name);
  return member?.kind === 'string' && member.text !== ''
    ? member.text
    : failure('SOURCE_UNKNOWN', `${name}, the string that names the source, is missing`, {
        member: name,
      });
}

function candidateOf(
  members: Members,
  shape: Shape,
  { source, appKey }: { readonly source: PaymentSource; readonly appKey: string },
): Candidate | Failure {
  const sign = members.get('sign');
  if (sign === undefined || sign.kind === 'null' || (sign.kind === 'string' && sign.text === '')) {
    return failure('SIGN_MISSING', 'the member sign is missing', { source: source.name });
  }
  const scheme = sign.kind === 'string' ? schemeOf(shape, sign.text) : undefined;
  if (scheme === undefined) {
    const damage = damageIn(sign.text, (text) => schemeOf(shape, text) !== undefined);
    return failure(
      'SIGN_MALFORMED',
      `sign, a ${sign.kind} of ${sign.text.length} characters, is ` +
        (shape === 'envelope' ? 'not ' : 'neither 32 hexadecimal digits nor ') +
        `the base64 of an RSA signature${damage === undefined ? '' : `: ${damage.because}`}`,
      { source: source.name, kind: sign.kind, length: sign.text.length },
    );
  }
  const verifiers = source.verifiers.filter((verifier) => verifier.scheme === scheme);
  if (verifiers.length > 0) {
    return { ok: true, source: source.name, scheme, appKey, sign: sign.text, verifiers };
  }
  const accepted = [...new Set(source.verifiers.map((verifier) => verifier.scheme))];
  return failure(
    'SCHEME_NOT_ALLOWED',
    `the callback is signed by ${scheme}, but source ${source.name} accepts ${accepted.join(' and ')}; ` +
      `agree on one scheme with the platform, or add ${scheme} to its signatures`,
    { source: source.name, scheme, accepted },
  );
}

/** Joins the failures of several keys into one. */
function joinFailures(failures: readonly Failure[]): Failure {
  const [first] = failures;
  if (first === undefined)
    return failure('KEYS_UNAVAILABLE', 'no key can verify the signature; list one under signatures');
  if (failures.length === 1) return first;
  // A code other than SIGN_WRONG names a fault besides the key, so it is more specific.
  const specific = failures.find((each) => each.code !== 'SIGN_WRONG') ?? first;
  return lazyFailure(specific.code, () => {
    const because = failures.map((each) => each.because).join('; ');
    const keys = failures.flatMap((each) => (Array.isArray(each.data['keys']) ? each.data['keys'] : []));
    return {
      because: `none of ${failures.length} keys verifies the signature: ${because}`,
      data: { ...specific.data, keys },
    };
  });
}
