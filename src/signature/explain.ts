import type { Failure } from '../errors.ts';
import { damageIn } from '../values/damage.ts';
import { type Members, decodeMembers, stringMember } from '../values/members.ts';
import type { AuthenticatorParts } from './authenticate.ts';
import type { SchemeName, SourceConfig } from './config.ts';
import { collectFaults } from './faults.ts';
import { type Payments, compilePayments } from './payments.ts';
import type { Explanation } from './scheme.ts';
import { schemeOf, shapeOf } from './schemes.ts';

/**
 * The explanation of one callback's signature. It may contain the right `sign`, so show it only to the owner
 * of the keys.
 */
export interface SignatureExplanation {
  readonly ok: true;
  readonly source: string;
  readonly scheme: SchemeName;
  /** One for each key of the scheme. */
  readonly tried: readonly (Explanation | Failure)[];
  /** Why the service would answer FAILURE; undefined if it accepts the signature. */
  readonly refusal: Failure | undefined;
  /** The first thing to fix. */
  readonly next: string | undefined;
}

/**
 * Explains the signature of a payment confirmation. Resolves with a Failure if the callback names no known key.
 * Rejects like {@link compileAuthenticator}.
 */
export async function explainSignature(
  body: Uint8Array,
  sources: readonly SourceConfig[],
  parts: AuthenticatorParts,
): Promise<SignatureExplanation | Failure> {
  const faults = collectFaults();
  const payments = compilePayments(
    sources.filter((source) => source.callback === 'payment'),
    parts,
    faults,
  );
  faults.throwIfAny();
  const decoded = decodeMembers(body);
  if (!decoded.ok) return decoded;
  return explainMembers(decoded.members, payments);
}

async function explainMembers(members: Members, payments: Payments): Promise<SignatureExplanation | Failure> {
  const candidate = payments.candidate(members);
  if (!candidate.ok)
    return candidate.code === 'SIGN_MALFORMED' ? malformed(candidate, members, payments) : candidate;
  const { source, scheme, sign, verifiers } = candidate;
  const tried = verifiers.map((verifier) => verifier.explain(members, sign));
  const outcome = await payments.verify(candidate, members);
  const refusal = outcome.ok ? undefined : outcome;
  const fix = tried.map((each) => (each.ok ? each.next : each.because)).find((next) => next !== undefined);
  return { ok: true, source, scheme, tried, refusal, next: refusal && (fix ?? refusal.because) };
}

/** The failure, and what remains to fix once the damage to the sign is undone. */
async function malformed(refused: Failure, members: Members, payments: Payments): Promise<Failure> {
  const isWhole = (text: string): boolean => schemeOf(shapeOf(members), text) !== undefined;
  const damage = damageIn(members.get('sign')?.text ?? '', isWhole);
  if (damage === undefined) return refused;
  const rest = await explainMembers(new Map(members).set('sign', stringMember(damage.repaired)), payments);
  const next = rest.ok ? rest.next : rest.because;
  const then = next === undefined ? 'Without that, the signature matches' : `Besides that, ${next}`;
  return { ...refused, because: `${refused.because}. ${then}` };
}
