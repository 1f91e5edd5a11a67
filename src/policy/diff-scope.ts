import type { Kind } from '../callback/callback.ts';
import type { Direction } from './value-changes.ts';
import { MULTI_VALUED } from './language/members.ts';
import { type When, excludes, implies } from './language/conditions.ts';
import type { CompiledEntry, CompiledPolicy } from './release.ts';

/** The callbacks that a policy judges. */
export interface Scope {
  readonly callback: Kind;
  readonly when: When;
  /** Present if the addresses in `to` are those of the movements. */
  readonly movements?: object;
  /** Whether it covers each callback that it applies to, so that no other policy is needed for these. */
  readonly covers: boolean;
}

/**
 * What it does to approvals that a policy judges other callbacks than before. A callback that gets a further
 * judge is approved less often, and one that gets its first judge can be approved at all. It is the reverse
 * where a callback loses a judge. Undefined stands for a policy that judges nothing: it is not there, or none
 * of its rules decides. `others` are the scopes of the other policies, before and after.
 */
export function directionOfScope(
  was: Scope | undefined,
  is: Scope | undefined,
  others: { readonly before: readonly Scope[]; readonly after: readonly Scope[] },
): Direction {
  if (was !== undefined && is !== undefined && !isSameMixture(was, is)) return 'unclear';
  const gained = is !== undefined && (was === undefined || !contains(was, is));
  const lost = was !== undefined && (is === undefined || !contains(is, was));
  const gains = gained ? directionAmong(is, others.before, ['stricter', 'looser']) : undefined;
  const losses = lost ? directionAmong(was, others.after, ['looser', 'stricter']) : undefined;
  if (gains === undefined || losses === undefined) return gains ?? losses;
  return gains === losses ? gains : 'both';
}

/** The first direction if others judge all callbacks of a scope, the second if they judge none of them. */
function directionAmong(
  scope: Scope,
  others: readonly Scope[],
  [judged, unjudged]: readonly [Direction, Direction],
): Direction {
  if (others.some((other) => contains(other, scope))) return judged;
  return others.every((other) => isDisjoint(other, scope)) ? unjudged : 'both';
}

/** Whether each callback of `inner` is certainly one that `outer` judges and covers. */
function contains(outer: Scope, inner: Scope): boolean {
  return (
    outer.covers &&
    outer.callback === inner.callback &&
    (!outer.when.texts.has(MULTI_VALUED) || readsSameAddresses(outer, inner)) &&
    implies(inner.when, outer.when)
  );
}

/** A policy refuses a callback if it names only some of the callback's values. So both must name the same. */
function isSameMixture(one: Scope, other: Scope): boolean {
  const [texts, others] = [one.when.texts.get(MULTI_VALUED), other.when.texts.get(MULTI_VALUED)];
  return texts === undefined
    ? others === undefined
    : readsSameAddresses(one, other) && isSubset(others, texts) && isSubset(texts, others ?? texts);
}

const isDisjoint = (one: Scope, other: Scope): boolean =>
  one.callback !== other.callback || excludes(one.when, other.when);

const readsSameAddresses = (one: Scope, other: Scope): boolean =>
  (one.movements === undefined) === (other.movements === undefined);

const isSubset = (inner: ReadonlySet<string> | undefined, outer: ReadonlySet<string>): boolean =>
  inner !== undefined && [...inner].every((text) => outer.has(text));

/** Whether a policy covers each callback that it applies to. */
export const coversAll = ({ entries }: CompiledPolicy): boolean => entries.some(coversWhatItPasses);

/**
 * Whether an entry of a policy covers each callback that it passes, out of those that the policy applies to.
 */
function coversWhatItPasses(entry: CompiledEntry): boolean {
  const { when, mode } = entry;
  if (mode !== 'enforce' || when.conditions.length > 0) return false;
  if (!('group' in entry)) return entry.covers;
  return entry.group === 'any'
    ? entry.entries.every(coversAsAlternative)
    : entry.entries.some(coversWhatItPasses);
}

/** An alternative is taken only if its conditions are met, and `all` only if one of its rules covers. */
function coversAsAlternative(entry: CompiledEntry): boolean {
  if (!('group' in entry)) return entry.covers;
  return entry.group === 'all' || entry.entries.every(coversAsAlternative);
}
