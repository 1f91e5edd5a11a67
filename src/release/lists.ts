import type { Kind } from '../callback/callback.ts';
import { CountersignError, usageError } from '../errors.ts';
import type { Looser } from '../policy/language/looser.ts';
import { LIST_NAME } from '../policy/language/list-file.ts';
import { SOURCE } from '../policy/language/members.ts';
import type { CompiledRule, Release } from '../policy/release.ts';
import type { ListedRead } from '../policy/rules/rule.ts';
import type { Store } from '../store/store.ts';
import { closestMatch } from '../values/closest-match.ts';
import { toComparableEntry, unsafeTextReason } from '../values/comparable.ts';
import { counted, printable } from '../values/text.ts';
import { quoted } from '../values/printable.ts';

/*
 * The values that people write for lists, as the store keeps them.
 */

/** What the rules in force say about a list. */
export interface ListInForce {
  /** False if policies are in force, and none of their rules looks into the list. */
  readonly isUsed: boolean;
  /** Whether a rule in force looks into the list of a source. */
  readonly isNamedFor: (source: string) => boolean;
  /** Reads a value for the list of a source. It is refused if rules look it up, and none can match it. */
  readonly readFor: (source: string) => (written: string) => ListedRead;
  /**
   * What makes the rules of a source looser that look into the list. Undefined if either may, or there are
   * none.
   */
  readonly looserFor: (source: string) => Looser | undefined;
}

/** `release`: the policies in force; undefined if there are none, or this version can't compile them. */
export function listInForce(release: Policies | undefined, list: string): ListInForce {
  const rulesFor = (source: string): readonly CompiledRule[] =>
    release === undefined ? [] : rulesWith(release, list, source);
  return {
    isUsed: release === undefined || rulesWith(release, list).length > 0,
    isNamedFor: (source) => rulesFor(source).length > 0,
    readFor(source) {
      const rules = rulesFor(source);
      return (written) => readBy(rules, list, written);
    },
    looserFor(source) {
      const [looser, ...others] = new Set(rulesFor(source).map((rule) => rule.looserLists));
      return others.length === 0 ? looser : undefined;
    },
  };
}

type Policies = Pick<Release, 'policies'>;

/** The rules that look into the list, of any source or of one. */
function rulesWith({ policies }: Policies, list: string, source?: string): readonly CompiledRule[] {
  const mayJudge = ({ when }: Pick<CompiledRule, 'when'>): boolean =>
    source === undefined || when.texts.get(SOURCE)?.has(source) !== false;
  return policies
    .filter(mayJudge)
    .flatMap(({ rules }) => rules)
    .filter((rule) => mayJudge(rule) && rule.lists?.includes(list) === true);
}

function readBy(rules: readonly CompiledRule[], list: string, written: string): ListedRead {
  const comparable = toComparableEntry(written);
  const reads = rules.map(
    ({ readListed }): ListedRead => readListed?.(list, written) ?? { ok: true, texts: [comparable] },
  );
  const good = reads.filter((read) => read.ok);
  const wrong = reads.find((read) => !read.ok);
  if (wrong !== undefined && good.length === 0) return wrong;
  const [kept = comparable, another] = new Set(good.map(({ texts }) => texts[0]));
  // Each rule finds the comparable text, but perhaps not what another would keep.
  const first = another === undefined ? kept : comparable;
  return { ok: true, texts: [first, ...good.flatMap(({ texts }) => texts)] };
}

// ---- a list that does not exist ----

/**
 * The sources whose list a change may reach: those that have it, and those for which a policy in force names
 * it. With `create`, all of them. Throws NOT_FOUND if there is none: a misspelt name must not make a list
 * that nothing reads.
 */
export async function sourcesToFill(
  store: Pick<Store, 'lists'>,
  release: Release | undefined,
  { list, sources, create }: { list: string; sources: readonly string[]; create: boolean },
): Promise<readonly string[]> {
  if (create) return sources;
  const { isNamedFor } = listInForce(release, list);
  const known = new Set<string>(release === undefined ? [] : listsOf(release));
  const found: string[] = [];
  for (const source of sources) {
    const names = (await store.lists(source)).map((each) => each.list);
    for (const name of names) known.add(name);
    if (names.includes(list) || isNamedFor(source)) found.push(source);
  }
  if (found.length > 0) return found;
  known.delete(list);
  const match = closestMatch(list, [...known]);
  const suggestion = match === undefined ? '' : `Did you mean ${match}? `;
  throw new CountersignError(
    'NOT_FOUND',
    `there is no list ${list} in ${sources.join(', ')}, and no policy in force looks into it. ${suggestion}` +
      'To make it before its policy, give --create (in the console, tick the box)',
    { list, sources },
  );
}

/** The lists in the store that policies look into. */
export const listsOf = ({ policies }: Policies): readonly string[] => [
  ...new Set(policies.flatMap(({ rules }) => rules.flatMap(({ lists = [] }) => lists))),
];

// ---- the values that no callback can have ----

/** Values on a list in the store that nothing matches where the rules of a release look into the list. */
export interface UnmatchedValues {
  readonly source: string;
  readonly list: string;
  readonly count: number;
  /** Some of them, each with the reason. */
  readonly first: readonly { readonly value: string; readonly because: string }[];
}

const UNMATCHED_SHOWN = 3;

/**
 * The values in the store that `list add` would refuse if the release were in force: those of lists that were
 * filled before their policy. Such a value denies nobody.
 */
export async function unmatchedValues(
  store: Pick<Store, 'lists' | 'listEntries'>,
  { policies }: Policies,
  sources: readonly { readonly name: string; readonly kinds: readonly Kind[] }[],
): Promise<readonly UnmatchedValues[]> {
  const unmatched: UnmatchedValues[] = [];
  for (const { name: source, kinds } of sources) {
    const own = { policies: policies.filter(({ callback }) => kinds.includes(callback)) };
    for (const { list } of await store.lists(source)) {
      const { isNamedFor, readFor } = listInForce(own, list);
      if (!isNamedFor(source)) continue;
      const read = readFor(source);
      const first: { value: string; because: string }[] = [];
      let count = 0;
      for await (const { value } of store.listEntries(source, list)) {
        const because = whyUnmatched(value, read(value));
        if (because === undefined) continue;
        count += 1;
        if (first.length < UNMATCHED_SHOWN) first.push({ value, because });
      }
      if (count > 0) unmatched.push({ source, list, count, first });
    }
  }
  return unmatched;
}

/**
 * Also a value that the list keeps in a form that no rule looks up, such as a user id with zeros at its
 * beginning.
 */
function whyUnmatched(value: string, read: ListedRead): string | undefined {
  if (!read.ok) return read.because;
  return read.texts.includes(value) ? undefined : `rules look it up as ${read.texts[0]}`;
}

/** A sentence without its full stop. */
export function unmatchedText({ source, list, count, first }: UnmatchedValues): string {
  const examples = first.map(({ value, because }) => `${printable(value)} (${printable(because)})`);
  const more = count > first.length ? `, and ${count - first.length} more` : '';
  const what = count === 1 ? 'a value' : counted(count, 'value');
  return (
    `${source}/${list} has ${what} that no callback can have: ${examples.join(', ')}${more}; remove ` +
    `${count === 1 ? 'it' : 'them'} with \`countersign list remove ${list} --source ${source}\`, and add what is meant`
  );
}

// ---- the values ----

type ReadValue = (written: string) => ListedRead;

/** Where no rule in force looks into the list. */
const readAnything: ReadValue = (written) => ({ ok: true, texts: [toComparableEntry(written)] });

/** Enough for an address, a symbol and a memo of the greatest length in a callback. */
const VALUE_MAX = 1024;
const CONTROL = /\p{Cc}/u;

/** Returns the name. Throws USAGE if no policy can use it. */
export function checkedName(list: string): string {
  if (LIST_NAME.test(list)) return list;
  throw usageError(
    `${quoted(list)} is not a name of a list. Write at most 64 lower-case letters, digits ` +
      'and hyphens, beginning with a letter',
  );
}

/** Returns the value, as it was written. Throws LIST_INVALID if no list can hold it. */
export function checkedValue(value: string): string {
  if (value === '') throw invalidValue(value, 'is empty. Leave it out');
  if (value.length > VALUE_MAX) {
    throw invalidValue(value, `has ${value.length} characters. Write at most ${VALUE_MAX}`);
  }
  if (CONTROL.test(value) || !value.isWellFormed()) {
    throw invalidValue(
      value,
      'has a control character or half a character, so no member can match it. Correct it',
    );
  }
  return value;
}

/** The text that a list keeps for a value that is added. Throws LIST_INVALID if no member could match it. */
export function addedText(value: string, read = readAnything): string {
  if (value.includes('  '))
    throw invalidValue(value, 'has two spaces in a row. Write one space between its parts');
  const reason = unsafeTextReason(toComparableEntry(value));
  if (reason !== undefined) throw invalidValue(value, `${reason}, so no member can match it. Correct it`);
  const found = read(value);
  if (found.ok) return found.texts[0];
  const fix = 'Correct it, or push the policy that needs it first';
  throw invalidValue(value, `matches nothing that the rules in force look up: ${found.because}. ${fix}`);
}

/**
 * All texts that a list may keep for a value: as it is written, which is what was added before a policy named
 * the list, and its spellings.
 */
export function removedTexts(value: string, read = readAnything): readonly string[] {
  const found = read(value);
  return [toComparableEntry(value), ...(found.ok ? found.texts : [])];
}

function invalidValue(value: string, problem: string): CountersignError {
  const shown = quoted(value.slice(0, 40));
  return new CountersignError('LIST_INVALID', `the value ${shown} ${problem}`);
}
