import type { Kind } from '../callback/callback.ts';
import type { Direction } from './value-changes.ts';
import { MULTI_VALUED, SOURCE } from './members.ts';
import type { When } from './when.ts';

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
    outer.when.conditions.length === 0 &&
    (!outer.when.texts.has(MULTI_VALUED) || readsSameAddresses(outer, inner)) &&
    [...outer.when.texts].every(([member, texts]) => isSubset(inner.when.texts.get(member), texts))
  );
}

/** Members of which every callback has exactly one value. */
const ALWAYS_PRESENT = [SOURCE, 'symbol'];

/** Whether certainly no callback is one of both. One that lacks a member, or has several values, may be. */
export function isDisjoint(
  one: Pick<Scope, 'callback' | 'when'>,
  other: Pick<Scope, 'callback' | 'when'>,
): boolean {
  return (
    one.callback !== other.callback ||
    ALWAYS_PRESENT.some((member) => {
      const [texts, others] = [one.when.texts.get(member), other.when.texts.get(member)];
      return texts !== undefined && others !== undefined && ![...others].some((text) => texts.has(text));
    })
  );
}

/** A policy refuses a callback if it names only some of the callback's values. So both must name the same. */
function isSameMixture(one: Scope, other: Scope): boolean {
  const [texts, others] = [one.when.texts.get(MULTI_VALUED), other.when.texts.get(MULTI_VALUED)];
  return texts === undefined
    ? others === undefined
    : readsSameAddresses(one, other) && isSubset(others, texts) && isSubset(texts, others ?? texts);
}

const readsSameAddresses = (one: Scope, other: Scope): boolean =>
  (one.movements === undefined) === (other.movements === undefined);

const isSubset = (inner: ReadonlySet<string> | undefined, outer: ReadonlySet<string>): boolean =>
  inner !== undefined && [...inner].every((text) => outer.has(text));
