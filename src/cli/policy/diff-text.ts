import { stringify } from 'yaml';
import type { AssetChange, Entries, ListChange, PolicyChange, ReleaseDiff } from '../../policy/diff.ts';
import type { Direction, RuleChange, ValueChange, WrittenRule } from '../../policy/diff-rules.ts';
import type { Json } from '../../values/canonical.ts';
import { counted, printable } from '../print.ts';

const TEXTS_SHOWN = 5;

/** The differences of two releases for people: `+` added, `-` removed, `~` changed. */
export function diffText({ same, policies, lists, assets, files }: ReleaseDiff): string {
  if (same) return 'Nothing differs.';
  return [
    ...policies.flatMap(policyLines),
    ...lists.map(listLine),
    ...assets.map(assetLine),
    ...files.map(({ file, change }) => `${SIGNS[change]} file ${printable(file)}`),
  ].join('\n');
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

function policyLines(policy: PolicyChange): readonly string[] {
  const sign = SIGNS[policy.change];
  const headline = `${sign} policy ${policy.policy}`;
  if (policy.change !== 'changed') {
    const rules = policy.rules.map((rule) => `    ${sign} ${ruleText(rule)}`);
    return [`${headline} (${policy.callback}, ${counted(policy.rules.length, 'rule')})`, ...rules];
  }
  return [
    headline,
    ...policy.members.map((member) => `    ~ ${valueText(member)}`),
    ...policy.when.map((member) => `    ~ when ${valueText(member)}`),
    ...policy.rules.map(ruleLine),
  ];
}

function ruleLine(change: RuleChange): string {
  if (change.change !== 'changed') {
    return `    ${SIGNS[change.change]} ${ruleText(change)}${directionText(change.direction)}`;
  }
  const { rule, was, moved, mode, parameters } = change;
  const details = [
    ...(moved ? [`moved from ${was}`] : []),
    ...(mode === undefined ? [] : [`mode ${mode.before} -> ${mode.after}${directionText(mode.direction)}`]),
    ...parameters.map(valueText),
  ];
  return `    ~ ${rule}${rule === was || moved ? '' : ` (was ${was})`} ${details.join('; ')}`;
}

function ruleText(
  rule: Pick<WrittenRule, 'mode' | 'parameters'> & { readonly rule?: string; readonly name?: string },
): string {
  const observes = rule.mode === 'observe' ? ' (only observes)' : '';
  return `${rule.rule ?? rule.name} ${jsonText(rule.parameters)}${observes}`;
}

/** `max 50000 -> 20000 (stricter)`, `symbol + USDT9, - USDT1`. */
function valueText(change: ValueChange): string {
  const { name, direction } = change;
  if ('added' in change) {
    const { added, removed } = change;
    const parts = [...textsOf('+', added), ...textsOf('-', removed)];
    return `${name} ${parts.join(', ')}${directionText(direction)}`;
  }
  const { before, after } = change;
  return `${name} ${jsonText(before)} -> ${jsonText(after)}${directionText(direction)}`;
}

function textsOf(sign: string, items: readonly Json[]): readonly string[] {
  const shown = items.slice(0, TEXTS_SHOWN).map((item) => `${sign} ${jsonText(item)}`);
  return items.length > TEXTS_SHOWN ? [...shown, `${sign} ${items.length - TEXTS_SHOWN} more`] : shown;
}

function listLine({ file, change, added, removed, direction }: ListChange): string {
  const parts = [...entriesText('added', added), ...entriesText('removed', removed)];
  return (
    `${SIGNS[change]} list file ${printable(file)}: ` +
    `${parts.join(', ') || 'empty'}${directionText(direction)}`
  );
}

function entriesText(what: string, { count, first }: Entries): readonly string[] {
  if (count === 0) return [];
  const more = count > first.length ? ', …' : '';
  return [`${count} ${what} (${first.map(printable).join(', ')}${more})`];
}

function assetLine({ symbol, change, members }: AssetChange): string {
  return `${SIGNS[change]} asset ${printable(symbol)} ${members.map(valueText).join('; ')}`;
}

const directionText = (direction: Direction): string => (direction === undefined ? '' : ` (${direction})`);

/** The value as YAML in one line. */
function jsonText(value: Json | undefined): string {
  if (value === undefined) return '(none)';
  if (typeof value === 'string') return printable(value) || "''";
  return printable(stringify(value, { schema: 'failsafe', lineWidth: 0, collectionStyle: 'flow' }).trimEnd());
}
