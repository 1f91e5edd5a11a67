import { type Json, isObject } from '../values/canonical.ts';
import { GROUPS } from './language/document.ts';
import { ruleNamed } from './rules/registry.ts';
import {
  type Direction,
  type JsonObject,
  type ValueChange,
  declaredDirections,
  definedIn,
  diffValues,
  isSame,
  mayLoosen,
  noDirection,
} from './value-changes.ts';

/** A rule in the document of a release. */
export interface WrittenRule {
  /** `amount-limit#1`. */
  readonly name: string;
  readonly kind: string;
  readonly mode: 'enforce' | 'observe';
  readonly parameters: JsonObject;
  /**
   * Present if its counter, or the values that it knows, are new and those of another rule of its kind are
   * gone.
   */
  readonly newCount?: NewCount | undefined;
}

/** What a rule of this kind has in the store is left behind. */
export interface NewCount {
  /** Undefined for a lock-out, which counts refusals, and for a rule that only knows values. */
  readonly max: Json | undefined;
  readonly window: Json | undefined;
  /**
   * Present if the store still has the counter, from an earlier revision. It lacks what was approved since.
   */
  readonly goesOn: EarlierCount | undefined;
  /** Whether it counts, and not only knows values. */
  readonly counts: boolean;
  /** Whether the values that were approved before are left behind, so that each is new again. */
  readonly forgets: boolean;
}

/** A counter of a revision that was in force. */
export interface EarlierCount {
  readonly revision: string;
  readonly untilMs: number;
}

export type RuleChange =
  | {
      readonly change: 'added' | 'removed';
      readonly rule: string;
      readonly mode: WrittenRule['mode'];
      readonly parameters: WrittenRule['parameters'];
      readonly direction: Direction;
      readonly newCount?: NewCount | undefined;
    }
  | {
      readonly change: 'changed';
      /** Its name and position now, and before (`was`). */
      readonly rule: string;
      readonly was: string;
      /** Whether its position changed among the rules that both releases have. */
      readonly moved: boolean;
      readonly mode:
        { readonly before: string; readonly after: string; readonly direction: Direction } | undefined;
      readonly parameters: readonly ValueChange[];
      readonly newCount?: (NewCount & { readonly direction: Direction }) | undefined;
    };

/** Whether a change of a rule may approve what was refused before. */
export function ruleLoosens(change: RuleChange): boolean {
  if (change.change !== 'changed') return mayLoosen(change.direction);
  const { mode, parameters, newCount } = change;
  return [mode, newCount, ...parameters].some((each) => mayLoosen(each?.direction));
}

/**
 * The changes of the rules of a policy, with or without `movements`: first the rules in `after`, in their
 * order, then the removed rules. Rules are matched by kind and similarity. A change of their order alone
 * changes no verdict, only which reason comes first. `covers`: whether the policy covers each callback that it
 * applies to, before and after.
 */
export function diffRules(
  before: readonly WrittenRule[],
  after: readonly WrittenRule[],
  { hasMovements, covers }: { readonly hasMovements: boolean; readonly covers: boolean },
): readonly RuleChange[] {
  const counterparts = matchRules(before, after);
  const keptRules = new Set(counterparts.values());
  const oldOrder = before.filter((rule) => keptRules.has(rule));
  const newOrder = after.filter((rule) => counterparts.has(rule));
  // Where a policy begins or ceases to enforce, the policy has the direction, and not its rules.
  const policy = { isEnforced: enforces(before) && enforces(after), hasMovements };
  const changes = after.map((rule): RuleChange | undefined => {
    const was = counterparts.get(rule);
    if (was === undefined) return addedOrRemoved('added', rule, policy);
    return changedRule(was, rule, { moved: oldOrder.indexOf(was) !== newOrder.indexOf(rule), ...policy });
  });
  const removed = before.filter((rule) => !keptRules.has(rule));
  const all = [
    ...changes.filter((change) => change !== undefined),
    ...removed.map((rule) => addedOrRemoved('removed', rule, policy)),
  ];
  // If all rules have conditions, a rule more may be the first that covers a callback.
  return covers ? all : all.map(withUnclearDirection);
}

/** Whether it, or a rule in it, may name calls. Nothing is known of the rules of another version. */
function mayNameCalls(rule: WrittenRule): boolean {
  if (isGroup(rule)) return entriesOf(rule).some(mayNameCalls);
  const known = ruleNamed(rule.kind);
  return known === undefined || known.namesCalls === true;
}

const isGroup = ({ kind }: WrittenRule): boolean => GROUPS.some((group) => group === kind);

/** The rules and groups in a group. */
function entriesOf({ kind, parameters }: WrittenRule): readonly WrittenRule[] {
  const entries = parameters[kind];
  return Array.isArray(entries)
    ? (entries as readonly Json[]).map(writtenRule).filter((rule) => rule !== undefined)
    : [];
}

function withUnclearDirection(change: RuleChange): RuleChange {
  const unclear = (direction: Direction): Direction => direction && 'unclear';
  if (change.change !== 'changed') return { ...change, direction: unclear(change.direction) };
  const { mode } = change;
  return { ...change, mode: mode && { ...mode, direction: unclear(mode.direction) } };
}

/** Whether any of the rules decides. A policy without such a rule changes no verdict. */
export const enforces = (rules: readonly Pick<WrittenRule, 'mode'>[]): boolean =>
  rules.some(({ mode }) => mode === 'enforce');

/** What is known of the policy of a rule. */
interface PolicyOfRule {
  /** Whether it decides, before and after. */
  readonly isEnforced: boolean;
  readonly hasMovements: boolean;
}

/**
 * The direction of a rule that begins to decide (`stricter`), or ceases to. With movements, one that names
 * calls also changes what the other rules can read, and so what they refuse.
 */
const directionOfRule = (
  direction: 'stricter' | 'looser',
  rule: WrittenRule,
  { hasMovements }: PolicyOfRule,
): Direction => (hasMovements && mayNameCalls(rule) ? 'unclear' : direction);

function addedOrRemoved(change: 'added' | 'removed', rule: WrittenRule, policy: PolicyOfRule): RuleChange {
  const { name, mode, parameters, newCount } = rule;
  const direction = directionOfRule(change === 'added' ? 'stricter' : 'looser', rule, policy);
  return {
    change,
    rule: name,
    mode,
    parameters,
    direction: policy.isEnforced && mode === 'enforce' ? direction : undefined,
    ...(newCount && { newCount }),
  };
}

function changedRule(
  was: WrittenRule,
  rule: WrittenRule,
  { moved, ...policy }: PolicyOfRule & { readonly moved: boolean },
): RuleChange | undefined {
  const { isEnforced } = policy;
  const decides = isEnforced && was.mode === 'enforce' && rule.mode === 'enforce';
  const parameters = diffValues(
    was.parameters,
    rule.parameters,
    decides
      ? declaredDirections(ruleNamed(rule.kind)?.parameters, was.parameters, rule.parameters)
      : noDirection,
  );
  const enforced = rule.mode === 'enforce' ? rule : was;
  const direction = directionOfRule(rule.mode === 'enforce' ? 'stricter' : 'looser', enforced, policy);
  const mode =
    was.mode === rule.mode
      ? undefined
      : ({ before: was.mode, after: rule.mode, direction: isEnforced ? direction : undefined } as const);
  const newCount = rule.newCount && {
    ...rule.newCount,
    // Who is new again gets less, and who was locked out or counted gets more.
    direction: !decides ? undefined : rule.newCount.counts ? ('looser' as const) : ('stricter' as const),
  };
  if (parameters.length === 0 && mode === undefined && !moved && newCount === undefined) return undefined;
  return {
    change: 'changed',
    rule: rule.name,
    was: was.name,
    moved,
    mode,
    parameters,
    ...(newCount && { newCount }),
  };
}

/**
 * Maps each rule in `after` to its counterpart in `before`: an equal rule if there is one, otherwise the most
 * similar rule of its kind, and of these the nearest.
 */
function matchRules(
  before: readonly WrittenRule[],
  after: readonly WrittenRule[],
): ReadonlyMap<WrittenRule, WrittenRule> {
  const pairs = after.flatMap((rule, to) =>
    before
      .map((was, from) => ({
        rule,
        was,
        similarity: similarity(was, rule),
        distance: Math.abs(from - to),
        to,
        from,
      }))
      .filter(({ was }) => was.kind === rule.kind),
  );
  pairs.sort(
    (a, b) => b.similarity - a.similarity || a.distance - b.distance || a.to - b.to || a.from - b.from,
  );
  const counterparts = new Map<WrittenRule, WrittenRule>();
  const matched = new Set<WrittenRule>();
  for (const { rule, was } of pairs) {
    if (counterparts.has(rule) || matched.has(was)) continue;
    counterparts.set(rule, was);
    matched.add(was);
  }
  return counterparts;
}

/** From 0 for two rules that share nothing to 1 for two equal ones. */
function similarity(a: WrittenRule, b: WrittenRule): number {
  const names = [...new Set([...Object.keys(a.parameters), ...Object.keys(b.parameters)])];
  const equal = names.filter((name) => isSame(a.parameters[name], b.parameters[name])).length;
  return (equal + (a.mode === b.mode ? 1 : 0)) / (names.length + 1);
}

/** An entry under `rules` of a release's policy; undefined for anything that is not a rule. */
export function writtenRule(entry: Json, index: number): WrittenRule | undefined {
  if (!isObject(entry)) return undefined;
  const { mode, when, ...others } = entry;
  const [kind] = Object.keys(others);
  if (kind === undefined) return undefined;
  const parameters = others[kind];
  return {
    name: `${kind}#${index + 1}`,
    kind,
    mode: mode === 'observe' ? 'observe' : 'enforce',
    parameters: {
      ...(isObject(parameters)
        ? definedIn(parameters)
        : Array.isArray(parameters)
          ? { [kind]: parameters }
          : {}),
      ...(when === undefined ? {} : { when }),
    },
  };
}
