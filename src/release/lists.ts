import { CountersignError } from '../errors.ts';
import { LIST_NAME } from '../policy/list-file.ts';
import { SOURCE } from '../policy/members.ts';
import type { CompiledRule, Release } from '../policy/release.ts';
import type { ListedRead } from '../policy/rules/rule.ts';
import { storedEntries, toComparableEntry, unsafeTextReason } from '../values/comparable.ts';

/*
 * The values that people write for lists, as the store keeps them.
 */

/** What the rules in force say about a list. */
export interface ListInForce {
  /** False if policies are in force, and none of their rules looks into the list. */
  readonly isUsed: boolean;
  /** Reads a value for the list of a source. It is refused if rules look it up, and none can match it. */
  readonly readFor: (source: string) => (written: string) => ListedRead;
}

/** `release`: the policies in force; undefined if there are none, or this version can't compile them. */
export function listInForce(release: Release | undefined, list: string): ListInForce {
  return {
    isUsed: release === undefined || rulesWith(release, list).length > 0,
    readFor(source) {
      const rules = release === undefined ? [] : rulesWith(release, list, source);
      return (written) => readBy(rules, list, written);
    },
  };
}

/** The rules that look into the list, of any source or of one. */
function rulesWith({ policies }: Release, list: string, source?: string): readonly CompiledRule[] {
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

// ---- the values ----

export type ReadValue = (written: string) => ListedRead;

/** Enough for an address, a symbol and a memo of the greatest length in a callback. */
const VALUE_MAX = 1024;
const CONTROL = /\p{Cc}/u;

/** Returns the name. Throws USAGE if no policy can use it. */
export function checkedName(list: string): string {
  if (LIST_NAME.test(list)) return list;
  throw new CountersignError(
    'USAGE',
    `${JSON.stringify(list)} is not a name of a list. Write at most 64 lower-case letters, digits ` +
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
export function addedText(value: string, read: ReadValue): string {
  if (value.includes('  '))
    throw invalidValue(value, 'has two spaces in a row. Write one space between its parts');
  const reason = unsafeTextReason(toComparableEntry(value));
  if (reason !== undefined) throw invalidValue(value, `${reason}, so no member can match it. Correct it`);
  const found = read(value);
  if (found.ok) return found.texts[0];
  const fix = 'Correct it, or push the policy that needs it first';
  throw invalidValue(value, `matches nothing that the rules in force look up: ${found.because}. ${fix}`);
}

/** All texts that a list may keep for a value: its spellings, and the form that earlier versions stored. */
export function removedTexts(value: string, read: ReadValue): readonly string[] {
  const found = read(value);
  return [...storedEntries(value), ...(found.ok ? found.texts : [])];
}

function invalidValue(value: string, problem: string): CountersignError {
  const shown = JSON.stringify(value.slice(0, 40));
  return new CountersignError('LIST_INVALID', `the value ${shown} ${problem}`);
}
