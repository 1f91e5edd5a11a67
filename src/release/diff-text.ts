import { CountersignError } from '../errors.ts';
import {
  type AssetChange,
  type Entries,
  type ListChange,
  type PolicyChange,
  type ReleaseDiff,
  diffReleases,
} from '../policy/diff.ts';
import type { NewCount, RuleChange, WrittenRule } from '../policy/diff-rules.ts';
import type { Release } from '../policy/release.ts';
import type { Direction, ValueChange } from '../policy/value-changes.ts';
import { WINDOW_MAX_MS, durationMs } from '../policy/rules/parameter.ts';
import type { Store } from '../store/store.ts';
import type { Json } from '../values/canonical.ts';
import { counted, printable } from '../values/text.ts';
import { yamlLine } from '../values/written-yaml.ts';
import { shortRevision } from './push.ts';

const TEXTS_SHOWN = 5;

/**
 * The changes from a revision to a release, or a sentence that says why they are not known. Even then a push
 * must be possible, because it may repair the store.
 */
export async function diffFrom(
  store: Pick<Store, 'document'>,
  before: string,
  release: Pick<Release, 'document'>,
): Promise<ReleaseDiff | string> {
  try {
    const document = before === '' ? undefined : await store.document(before);
    return before !== '' && document === undefined
      ? `The difference is not known: the store does not have revision ${shortRevision(before)}, which is in force.`
      : diffReleases(document, release.document);
  } catch (thrown) {
    if (!(thrown instanceof CountersignError && thrown.code === 'STORE_CORRUPT')) throw thrown;
    return `The difference is not known: ${thrown.message}`;
  }
}

export const diffOrReason = (diff: ReleaseDiff | string): string =>
  typeof diff === 'string' ? diff : diffText(diff);

/** The differences of two releases for people: `+` added, `-` removed, `~` changed. */
export function diffText({ same, policies, lists, assets, files }: ReleaseDiff): string {
  if (same) return 'Nothing differs.';
  return [
    ...policies.flatMap(policyLines),
    ...lists.map(listLine),
    ...assets.map(assetLine),
    ...files.map(
      ({ file, change, direction }) => `${SIGNS[change]} file ${printable(file)}${directionText(direction)}`,
    ),
  ].join('\n');
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

function policyLines(policy: PolicyChange): readonly string[] {
  const sign = SIGNS[policy.change];
  const headline = `${sign} policy ${policy.policy}`;
  if (policy.change !== 'changed') {
    const rules = policy.rules.map((rule) => `    ${sign} ${ruleText(rule)}${newCountText(rule.newCount)}`);
    const content = `(${policy.callback}, ${counted(policy.rules.length, 'rule')})`;
    return [`${headline} ${content}${scopeText(policy)}`, ...rules];
  }
  return [
    `${headline}${scopeText(policy)}`,
    ...policy.members.map((member) => `    ~ ${valueText(member)}`),
    ...policy.when.map((member) => `    ~ when ${valueText(member)}`),
    ...policy.rules.map(ruleLine),
  ];
}

function ruleLine(change: RuleChange): string {
  if (change.change !== 'changed') {
    const text = `${ruleText(change)}${directionText(change.direction)}${newCountText(change.newCount)}`;
    return `    ${SIGNS[change.change]} ${text}`;
  }
  const { rule, was, moved, mode, parameters, newCount } = change;
  const details = [
    ...(moved ? [`moved from ${was}`] : []),
    ...(mode === undefined ? [] : [`mode ${mode.before} -> ${mode.after}${directionText(mode.direction)}`]),
    ...parameters.map(valueText),
  ];
  const name = `${rule}${rule === was || moved ? '' : ` (was ${was})`}`;
  const countText = `${newCountText(newCount)}${directionText(newCount?.direction)}`;
  return `    ~ ${[name, ...(details.length > 0 ? [details.join('; ')] : [])].join(' ')}${countText}`;
}

/** `; begins a new count: …`. What was used so far is no longer counted. */
function newCountText(newCount: NewCount | undefined): string {
  if (newCount === undefined) return '';
  const window = jsonText(newCount.window);
  const isRolling = durationMs(window, WINDOW_MAX_MS) !== undefined;
  const until = isRolling ? `in the first ${window}` : `until the end of the ${window}`;
  return `; begins a new count: up to ${jsonText(newCount.max)} more may pass ${until}`;
}

const SCOPE_TEXTS: Readonly<Record<PolicyChange['change'], Partial<Record<string, string>>>> = {
  added: {
    looser: 'looser: no other policy decided its callbacks',
    both: 'stricter where another policy decided the callback, looser elsewhere',
  },
  removed: {
    stricter: 'stricter: no other policy decides its callbacks, so they are refused',
    both: 'looser where another policy decides the callback, stricter elsewhere: refused',
  },
  changed: { both: 'stricter for some, looser for others' },
};

/** The direction of a policy that decides other callbacks than before. */
function scopeText({ change, direction }: PolicyChange): string {
  if (direction === undefined) return '';
  const text = SCOPE_TEXTS[change][direction] ?? direction;
  return ` (${change === 'changed' ? `decides other callbacks: ${text}` : text})`;
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

function assetLine({ symbol, change, members, direction }: AssetChange): string {
  const text = members.map(valueText).join('; ');
  return `${SIGNS[change]} asset ${printable(symbol)} ${text}${directionText(direction)}`;
}

const directionText = (direction: Direction): string => (direction === undefined ? '' : ` (${direction})`);

/** The value as YAML in one line. */
function jsonText(value: Json | undefined): string {
  if (value === undefined) return '(none)';
  if (typeof value === 'string') return printable(value) || "''";
  return printable(yamlLine(value));
}
