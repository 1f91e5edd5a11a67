import type { Json } from '../values/canonical.ts';
import type { Direction } from './diff-direction.ts';
import { type Named, type ValueChange, defined, diffValues, same } from './diff-values.ts';
import { isObject } from './document.ts';

/** A rule as a release has it. */
export interface WrittenRule {
  /** `amount-limit#1`. */
  readonly name: string;
  readonly kind: string;
  readonly mode: 'enforce' | 'observe';
  readonly parameters: Named;
}

export type RuleChange =
  | {
      readonly change: 'added' | 'removed';
      readonly rule: string;
      readonly mode: WrittenRule['mode'];
      readonly parameters: WrittenRule['parameters'];
      readonly direction: Direction;
    }
  | {
      readonly change: 'changed';
      /** Its name and place now, and before. */
      readonly rule: string;
      readonly was: string;
      /** It stands elsewhere among the rules that stayed. */
      readonly moved: boolean;
      readonly mode:
        { readonly before: string; readonly after: string; readonly direction: Direction } | undefined;
      readonly parameters: readonly ValueChange[];
    };

/**
 * What became of a policy's rules, matched by kind and likeness, wherever they stand. In the order they have
 * now.
 */
export function diffRules(
  before: readonly WrittenRule[],
  after: readonly WrittenRule[],
): readonly RuleChange[] {
  const partners = matchRules(before, after);
  const stayed = unmoved(
    after.map((rule) => partners.get(rule)).map((rule) => (rule ? before.indexOf(rule) : -1)),
  );
  const enforced = (rules: readonly WrittenRule[]): number =>
    rules.filter(({ mode }) => mode === 'enforce').length;
  // A policy that enforces nothing approves nothing: its first rule lets through, its last one going shuts.
  const certain = enforced(before) > 0 && enforced(after) > 0;
  const changes: RuleChange[] = [];
  for (const [index, rule] of after.entries()) {
    const was = partners.get(rule);
    if (was === undefined) changes.push(comeOrGone('added', rule, certain));
    else {
      const change = changed(was, rule, !stayed.has(index), certain);
      if (change !== undefined) changes.push(change);
    }
  }
  const kept = new Set(partners.values());
  for (const rule of before) if (!kept.has(rule)) changes.push(comeOrGone('removed', rule, certain));
  return changes;
}

function comeOrGone(change: 'added' | 'removed', rule: WrittenRule, certain: boolean): RuleChange {
  const { name, mode, parameters } = rule;
  const direction = change === 'added' ? 'stricter' : 'looser';
  return {
    change,
    rule: name,
    mode,
    parameters,
    direction: certain && mode === 'enforce' ? direction : undefined,
  };
}

function changed(
  was: WrittenRule,
  rule: WrittenRule,
  moved: boolean,
  certain: boolean,
): RuleChange | undefined {
  const parameters = diffValues(was.parameters, rule.parameters, rule.kind);
  const direction = rule.mode === 'enforce' ? 'stricter' : 'looser';
  const mode =
    was.mode === rule.mode
      ? undefined
      : ({ before: was.mode, after: rule.mode, direction: certain ? direction : undefined } as const);
  if (parameters.length === 0 && mode === undefined && !moved) return undefined;
  return { change: 'changed', rule: rule.name, was: was.name, moved, mode, parameters };
}

/**
 * Each rule now with what it was: the very same first, then the likest of its kind, then the next by place.
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
        likeness: likeness(was, rule),
        apart: Math.abs(from - to),
        to,
        from,
      }))
      .filter(({ was }) => was.kind === rule.kind),
  );
  pairs.sort((a, b) => b.likeness - a.likeness || a.apart - b.apart || a.to - b.to || a.from - b.from);
  const partners = new Map<WrittenRule, WrittenRule>();
  const taken = new Set<WrittenRule>();
  for (const { rule, was } of pairs) {
    if (partners.has(rule) || taken.has(was)) continue;
    partners.set(rule, was);
    taken.add(was);
  }
  return partners;
}

/** From 0 for two rules that have nothing in common to 1 for two that are the same. */
function likeness(a: WrittenRule, b: WrittenRule): number {
  const names = [...new Set([...Object.keys(a.parameters), ...Object.keys(b.parameters)])];
  const equal = names.filter((name) => same(a.parameters[name], b.parameters[name])).length;
  return (equal + (a.mode === b.mode ? 1 : 0)) / (names.length + 1);
}

/** The places whose old places ascend, as many as there can be; -1 is no old place. The rest was moved. */
function unmoved(oldPlaces: readonly number[]): ReadonlySet<number> {
  const best: { readonly length: number; readonly before: number }[] = [];
  let end = -1;
  for (const [index, place] of oldPlaces.entries()) {
    let [length, before] = [place === -1 ? 0 : 1, -1];
    const earlier = place === -1 ? [] : oldPlaces.slice(0, index);
    for (const [at, old] of earlier.entries()) {
      const found = best[at]?.length ?? 0;
      if (old !== -1 && old < place && found + 1 > length) [length, before] = [found + 1, at];
    }
    best.push({ length, before });
    if (length > (best[end]?.length ?? 0)) end = index;
  }
  const stayed = new Set<number>();
  for (let at = end; at !== -1; at = best[at]?.before ?? -1) stayed.add(at);
  return stayed;
}

/** A rule of a release's policy; undefined for what is none. */
export function writtenRule(entry: Json, index: number): WrittenRule | undefined {
  if (!isObject(entry)) return undefined;
  const { mode, ...others } = entry;
  const [kind] = Object.keys(others);
  if (kind === undefined) return undefined;
  const parameters = others[kind];
  return {
    name: `${kind}#${index + 1}`,
    kind,
    mode: mode === 'observe' ? 'observe' : 'enforce',
    parameters: isObject(parameters) ? defined(parameters) : {},
  };
}
