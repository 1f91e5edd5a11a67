import { type When, excludes, implies, membersIn } from './language/conditions.ts';
import { MULTI_VALUED } from './language/members.ts';
import type { CompiledEntry, CompiledPolicy } from './release.ts';
import type { Direction } from './value-changes.ts';

/**
 * What it does to approvals that a policy judges other callbacks than before. A callback that gets a further
 * judge is approved less often, and one that gets its first judge can be approved at all. It is the reverse
 * where a callback loses a judge. A policy of which no rule decides judges nothing. Undefined stands for policies
 * that this version can't compile.
 */
export function directionOfScope(
  name: string,
  before: readonly CompiledPolicy[] | undefined,
  after: readonly CompiledPolicy[] | undefined,
): Direction {
  if (before === undefined || after === undefined) return 'unclear';
  const [judged, judges] = [before.filter(decides), after.filter(decides)];
  const [was, is] = [judged, judges].map((policies) => policies.find((each) => each.name === name));
  if (was !== undefined && is !== undefined && !isSameMixture(was, is)) return 'unclear';
  const others = (policies: readonly CompiledPolicy[]) => policies.filter((each) => each.name !== name);
  const gained = is !== undefined && (was === undefined || !contains(was, is));
  const lost = was !== undefined && (is === undefined || !contains(is, was));
  const gains = gained ? directionAmong(is, others(judged), ['stricter', 'looser']) : undefined;
  const losses = lost ? directionAmong(was, others(judges), ['looser', 'stricter']) : undefined;
  if (gains === undefined || losses === undefined) return gains ?? losses;
  return gains === losses ? gains : 'both';
}

const decides = ({ rules }: CompiledPolicy): boolean => rules.some(({ mode }) => mode === 'enforce');

/** The first direction if others judge all callbacks of a policy, the second if they judge none of them. */
function directionAmong(
  policy: CompiledPolicy,
  others: readonly CompiledPolicy[],
  [judged, unjudged]: readonly [Direction, Direction],
): Direction {
  if (others.some((other) => contains(other, policy))) return judged;
  const areApart = (other: CompiledPolicy): boolean =>
    other.callback !== policy.callback || excludes(other.when, policy.when);
  return others.every(areApart) ? unjudged : 'both';
}

/** Whether each callback of `inner` is certainly one that `outer` judges and covers. */
const contains = (outer: CompiledPolicy, inner: CompiledPolicy): boolean =>
  coversAll(outer) &&
  outer.callback === inner.callback &&
  (mixturesIn(outer.when) === 0 || readsSameAddresses(outer, inner)) &&
  implies(inner.when, outer.when);

/**
 * A policy refuses a callback if it names only some of the callback's values. So both must name the same, and as
 * plainly.
 */
function isSameMixture(one: CompiledPolicy, other: CompiledPolicy): boolean {
  const mentions = [one, other].map(({ when }) => mixturesIn(when));
  if (mentions.every((count) => count === 0)) return true;
  const [texts, others] = [one.when.texts.get(MULTI_VALUED), other.when.texts.get(MULTI_VALUED)];
  return (
    mentions.every((count) => count === 1) &&
    texts?.symmetricDifference(others ?? new Set()).size === 0 &&
    readsSameAddresses(one, other)
  );
}

/** How many conditions look at a member of which a callback may have several values. */
const mixturesIn = ({ conditions }: When): number =>
  membersIn(conditions).filter((member) => member === MULTI_VALUED).length;

const readsSameAddresses = (one: CompiledPolicy, other: CompiledPolicy): boolean =>
  (one.movements === undefined) === (other.movements === undefined);

/** Whether a policy covers each callback that it applies to. */
export const coversAll = ({ entries }: CompiledPolicy): boolean => entries.some(coversWhatItPasses);

/**
 * Whether an entry of a policy covers each callback that it passes, out of those that the policy applies to.
 */
function coversWhatItPasses(entry: CompiledEntry): boolean {
  if (entry.mode !== 'enforce' || entry.when.conditions.length > 0) return false;
  if (!('group' in entry)) return entry.covers;
  return entry.group === 'any'
    ? entry.entries.every(coversAsAlternative)
    : entry.entries.some(coversWhatItPasses);
}

/** An alternative is taken only if its conditions are met, and `all` only if one of its rules covers. */
const coversAsAlternative = (entry: CompiledEntry): boolean =>
  'group' in entry ? entry.group === 'all' || entry.entries.every(coversAsAlternative) : entry.covers;
