import { CountersignError } from '../errors.ts';
import { compileRelease } from '../policy/compile.ts';
import {
  type AssetChange,
  type EarlierCounts,
  type Entries,
  type ListChange,
  type PolicyChange,
  type ReleaseDiff,
  beginsCounts,
  diffReleases,
} from '../policy/diff.ts';
import type { EarlierCount, NewCount, RuleChange, WrittenRule } from '../policy/diff-rules.ts';
import type { CompiledRule, Release } from '../policy/release.ts';
import type { Direction, ValueChange } from '../policy/value-changes.ts';
import { WINDOW_MAX_MS, durationMs } from '../policy/language/parameter.ts';
import type { Lockout, Store } from '../store/store.ts';
import type { Json } from '../values/canonical.ts';
import { counted, isoTime, printable } from '../values/text.ts';
import { yamlLine } from '../values/written-yaml.ts';
import { shortRevision } from './push.ts';

const TEXTS_SHOWN = 5;

/** What a push changes, with what becomes of the store's lock-outs. */
export interface PushDiff extends ReleaseDiff {
  readonly lockouts: LockoutsChange;
}

/**
 * The changes from the revision that is, or was until now, in force to a release, or a sentence that says why
 * they are not known. Even then a push must be possible, because it may repair the store.
 */
export async function diffFrom(
  store: DiffedStore,
  { before, release, sources }: { before: string; release: DiffedRelease; sources: readonly string[] },
): Promise<PushDiff | string> {
  try {
    const document = before === '' ? undefined : await store.document(before);
    return before !== '' && document === undefined
      ? `The difference is not known: the store does not have revision ${shortRevision(before)}, which is in force.`
      : await diffInStore(store, { before, document, release, sources });
  } catch (thrown) {
    if (!(thrown instanceof CountersignError && thrown.code === 'STORE_CORRUPT')) throw thrown;
    return `The difference is not known: ${thrown.message}`;
  }
}

async function diffInStore(
  store: DiffedStore,
  {
    before,
    document,
    release,
    sources,
  }: { before: string; document: string | undefined; release: DiffedRelease; sources: readonly string[] },
): Promise<PushDiff> {
  const plain = diffReleases(document, release.document);
  const diff = beginsCounts(plain)
    ? diffReleases(document, release.document, await earlierCounts(store, before))
    : plain;
  const lockouts = await lockoutsChange(store, sources, {
    before: compiledPolicies(document),
    after: release.policies,
  });
  const freed = lockouts.left === 0 ? [] : [counted(lockouts.left, 'lock-out')];
  return { ...diff, loosens: [...diff.loosens, ...freed], lockouts };
}

type DiffedStore = Pick<Store, 'document' | 'history' | 'health' | 'lockouts'>;
type DiffedRelease = Pick<Release, 'document' | 'policies'>;

function compiledPolicies(document: string | undefined): Release['policies'] {
  const compiled = document === undefined ? undefined : compileRelease(document);
  return compiled?.ok === true ? compiled.release.policies : [];
}

/** Pushes that are looked at for counters that the store still has, and the revisions that are compiled. */
const PUSHES_MAX = 100;
const REVISIONS_MAX = 20;

/** The counters of revisions before `before` whose windows have not passed. */
async function earlierCounts(store: DiffedStore, before: string): Promise<EarlierCounts> {
  const { nowMs } = await store.health();
  const history = await store.history(PUSHES_MAX);
  const at = history.findIndex(({ revision }) => revision === before);
  const earlier = new Map<string, EarlierCount>();
  const seen = new Set<string>([before]);
  if (at === -1) return earlier;
  for (const [index, { revision }] of history.entries()) {
    const untilMs = history[index - 1]?.atMs;
    if (index <= at || untilMs === undefined || seen.has(revision)) continue;
    if (seen.size > REVISIONS_MAX) break;
    seen.add(revision);
    for (const { counter, countsMs = 0 } of countersIn(await store.document(revision))) {
      if (counter === undefined || earlier.has(counter) || untilMs + countsMs <= nowMs) continue;
      earlier.set(counter, { revision, untilMs });
    }
  }
  return earlier;
}

const countersIn = (document: string | undefined): readonly CompiledRule[] =>
  compiledPolicies(document).flatMap(({ rules }) => rules);

/** How many lock-outs in the store cease to hold, and begin to hold again. */
export interface LockoutsChange {
  readonly left: number;
  readonly back: number;
}

async function lockoutsChange(
  store: DiffedStore,
  sources: readonly string[],
  { before, after }: { before: Release['policies']; after: Release['policies'] },
): Promise<LockoutsChange> {
  let [left, back] = [0, 0];
  for (const source of sources) {
    for await (const lockout of store.lockouts(source)) {
      const [held, holds] = [isHeldBy(before, lockout), isHeldBy(after, lockout)];
      if (held && !holds) left += 1;
      if (!held && holds) back += 1;
    }
  }
  return { left, back };
}

/** Whether a rule of the policies refuses whom a lock-out names. */
export const isHeldBy = (policies: Release['policies'], { id, whose }: Lockout): boolean =>
  policies.some(({ rules }) => rules.some(({ lockoutIds }) => lockoutIds?.(whose).includes(id) === true));

export const diffOrReason = (diff: PushDiff | string): string =>
  typeof diff === 'string' ? diff : [diffText(diff), ...lockoutLines(diff.lockouts)].join('\n');

function lockoutLines({ left, back }: LockoutsChange): readonly string[] {
  const what = (count: number): string => `${counted(count, 'lock-out')} in the store`;
  return [
    ...(left === 0 ? [] : [`! ${what(left)} will no longer hold: who was locked out may pass (looser)`]),
    ...(back === 0 ? [] : [`! ${what(back)} will hold again (stricter)`]),
  ];
}

/** The differences of two releases for people: `+` added, `-` removed, `~` changed. */
export function diffText({ same, policies, lists, assets, files }: ReleaseDiff): string {
  if (same) return 'Nothing differs.';
  return [
    ...policies.flatMap(policyLines),
    ...lists.map(listLine),
    ...assets.map(assetLine),
    ...files.flatMap(({ file, change, direction, people }) => [
      `${SIGNS[change]} file ${printable(file)}${directionText(direction)}`,
      ...(people?.removed ?? []).map((sentence) => `    - ${sentence}`),
      ...(people?.added ?? []).map((sentence) => `    + ${sentence}`),
    ]),
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

/** `; begins a new count: …`. What the rule had in the store is left behind. */
function newCountText(newCount: NewCount | undefined): string {
  if (newCount === undefined) return '';
  return `${newCount.counts ? anewText(newCount) : ''}${
    newCount.forgets ? '; leaves behind the values that it knew: each is new again' : ''
  }`;
}

function anewText({ max, window, goesOn }: NewCount): string {
  if (goesOn !== undefined) {
    const until = isoTime(goesOn.untilMs);
    return (
      `; goes on with the count of revision ${shortRevision(goesOn.revision)}, in force until ${until}: what was ` +
      'approved since does not count'
    );
  }
  if (max === undefined || window === undefined) {
    return '; leaves behind its lock-outs, and begins a new count of refusals';
  }
  const length = jsonText(window);
  const isRolling = durationMs(length, WINDOW_MAX_MS) !== undefined;
  const until = isRolling ? `in the first ${length}` : `until the end of the ${length}`;
  return `; begins a new count: up to ${jsonText(max)} more may pass ${until}`;
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
