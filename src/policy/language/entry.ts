import type { Callback } from '../../callback/callback.ts';
import { type Chain, hasSpellings } from '../../values/address.ts';
import { toComparableEntry } from '../../values/comparable.ts';
import { quoted } from '../../values/printable.ts';
import {
  type Scope,
  type WrongText,
  addressSpellings,
  addressTexts,
  chainsWithSpellings,
  knownAssets,
  wrongText,
} from './asset-texts.ts';
import type { Path } from '../fault.ts';
import { ADDRESS_MEMBERS, readMemberText, valuesOf } from './members.ts';
import { movedTo } from './moved-amounts.ts';
import { memberOf } from './parameter.ts';
import type { RuleContext } from '../rule-context.ts';
import type { ListedRead } from '../rules/rule.ts';

/*
 * An entry of a list is the text of one member, or the texts of several with one blank between them. Only a
 * memo may contain blanks, so it comes last, and an entry is unambiguous.
 */

/** The canonical names of the members that entries consist of; undefined after a fault. */
export function entryMembers(
  of: readonly string[],
  path: Path,
  context: RuleContext,
): readonly string[] | undefined {
  const members = of.map((name) => memberOf(name, path, context));
  const known = members.filter((member) => member !== undefined);
  if (known.length < members.length) return undefined;
  const twice = known.find((member, index) => known.indexOf(member) !== index);
  if (twice !== undefined) return context.fault(path, `${twice} appears twice`, 'keep one of the two');
  const memo = known.indexOf('memo');
  if (memo === -1 || memo === known.length - 1) return known;
  const sorted = [...known.filter((member) => member !== 'memo'), 'memo'];
  return context.fault(
    path,
    'a memo may have blanks in it, so nothing can follow it in an entry',
    `write [${sorted.join(', ')}], and the entries in that order`,
  );
}

/** Entries in the form that lookups use. Reports a fault for the first entry that no callback can have. */
export function entriesOf(
  members: readonly string[],
  texts: readonly string[],
  path: Path,
  context: RuleContext,
): ReadonlySet<string> | undefined {
  const chains = chainsWithSpellings(context);
  const entries = new Set<string>();
  for (const text of texts) {
    const parts = entryParts(members, text);
    if (parts === undefined) {
      const expected = `the texts of ${members.join(', ')}, with one blank between them`;
      return context.fault(path, `${quoted(text)} has too few parts`, `write ${expected}`);
    }
    const read = readParts(members, parts);
    if (read.ok)
      for (const entry of comparedEntries(members, read.parts, chains, context)) entries.add(entry);
    // A stored release may be older than this check. No callback has the entry.
    else if (!context.isStored) return context.fault(path, read.message, `write ${read.expected}`);
  }
  return entries;
}

type PartsRead =
  | { readonly ok: true; /** Comparable, one for each member. */ readonly parts: readonly string[] }
  | { readonly ok: false; readonly message: string; readonly expected: string };

function readParts(members: readonly string[], parts: readonly string[]): PartsRead {
  const read: string[] = [];
  for (const [index, member] of members.entries()) {
    const part = parts[index] ?? '';
    const result = readMemberText(member, part);
    if (!result.ok) {
      return { ok: false, message: `${member} can't be ${quoted(part)}`, expected: result.expected };
    }
    read.push(result.text);
  }
  return { ok: true, parts: read };
}

/** The entries that lookups may have for these parts: see {@link addressTexts}. */
function comparedEntries(
  members: readonly string[],
  parts: readonly string[],
  chains: readonly Chain[],
  context: Scope,
): readonly string[] {
  const symbol = parts[members.indexOf('symbol')];
  const own = symbol === undefined ? chains : chainsWithSpellings(context, [symbol]);
  if (own.length === 0) return [toComparableEntry(parts.join(' '))];
  const texts = parts.map((part, index) =>
    ADDRESS_MEMBERS.has(members[index] ?? '') ? addressTexts(part, own) : [part],
  );
  return entriesWith(texts);
}

/** Every choice of one element of each list, in order. */
function choices<T>(lists: readonly (readonly T[])[]): readonly (readonly T[])[] {
  return lists.reduce<readonly (readonly T[])[]>(
    (chosen, list) => chosen.flatMap((before) => list.map((each) => [...before, each])),
    [[]],
  );
}

/** The entries that have one of these texts at each place. The first entry has the first text of each. */
function entriesWith(texts: readonly (readonly string[])[]): readonly string[] {
  const [first, second] = texts;
  if (first !== undefined && second === undefined) return first.map(toComparableEntry);
  return choices(texts).map((each) => toComparableEntry(each.join(' ')));
}

/** One text for each member, the rest of the entry in the last; undefined if there are too few. */
function entryParts(members: readonly string[], entry: string): readonly string[] | undefined {
  const words = entry.split(' ');
  const parts = words.slice(0, members.length - 1);
  const last = words.slice(members.length - 1).join(' ');
  return words.length < members.length ? undefined : [...parts, last];
}

export type EntriesToLookUp =
  | {
      readonly ok: true;
      /** At least one. */
      readonly entries: readonly string[];
      /** See ListClaim. */
      readonly also: readonly (readonly string[])[] | undefined;
    }
  | { readonly ok: false; /** The first member that the callback lacks. */ readonly missing: string };

/** The texts of members that are given, in place of those of the callback. */
type GivenTexts = Readonly<Record<string, readonly string[]>>;

/**
 * The entries to look up for a callback: one for each of its addresses if `to` is among the members,
 * otherwise one. Of a transaction with movements, `symbol` is the asset of each, together with its recipient.
 * Throws UnreadableMember.
 */
export function entriesToLookUp(callback: Callback, members: readonly string[]): EntriesToLookUp {
  if (callback.movements === undefined || !members.includes('symbol')) {
    return entriesWithTexts(callback, members);
  }
  const entries: string[] = [];
  const also: (readonly string[])[] = [];
  for (const { to, symbol } of movedTo(callback)) {
    const found = entriesWithTexts(callback, members, { to: [to], symbol: [symbol] });
    if (!found.ok) return found;
    for (const [index, entry] of found.entries.entries()) {
      if (entries.includes(entry)) continue;
      entries.push(entry);
      also.push(found.also?.[index] ?? []);
    }
  }
  if (entries.length === 0) return { ok: false, missing: 'symbol' };
  return { ok: true, entries, also: also.every((others) => others.length === 0) ? undefined : also };
}

/** The entries to look up, one for each of these texts of `to` if it is among the members. */
export function entriesWithTexts(
  callback: Callback,
  members: readonly string[],
  given?: GivenTexts,
): EntriesToLookUp {
  const values: (readonly string[])[] = [];
  for (const member of members) {
    const texts = given?.[member] ?? valuesOf(callback, member);
    if (texts.length === 0) return { ok: false, missing: member };
    values.push(texts);
  }
  // Most callbacks have no address with several spellings, and this is the hot path.
  if (callback.reading === undefined) return { ok: true, entries: entriesWith(values), also: undefined };
  const spelt = values.map((texts, index) =>
    texts.map((text) => [text, ...othersOf(callback, members[index], text)]),
  );
  const found = choices(spelt).map(entriesWith);
  const also = found.map((entries) => entries.slice(1));
  return {
    ok: true,
    entries: found.map(([entry = '']) => entry),
    also: also.every((others) => others.length === 0) ? undefined : also,
  };
}

function othersOf(callback: Callback, member: string | undefined, text: string): readonly string[] {
  if (member === undefined || !ADDRESS_MEMBERS.has(member)) return [];
  return callback.reading?.otherSpellings(text) ?? [];
}

/**
 * Reads a value of a list in the store, in which entries have these members. The text to keep is canonical if
 * all of its assets are on chains with a canonical form: an asset that is compared as text needs its own
 * text.
 */
export function readListedEntry(members: readonly string[], written: string, scope: Scope): ListedRead {
  const parts = entryParts(members, written);
  if (parts === undefined) return { ok: false, because: `it has too few parts for ${members.join(', ')}` };
  const read = readParts(members, parts);
  if (!read.ok) return { ok: false, because: read.message };
  const wrong = wrongEntry(members, parts, scope);
  if (wrong !== undefined) return { ok: false, because: wrong.message };
  const symbol = parts[members.indexOf('symbol')];
  const symbols = symbol === undefined ? undefined : [symbol];
  const chains = chainsWithSpellings(scope, symbols);
  const spelt = read.parts.map((part, index) =>
    ADDRESS_MEMBERS.has(members[index] ?? '') ? addressSpellings(parts[index] ?? '', chains) : [part],
  );
  const isCanonical = knownAssets(scope, symbols)?.every(({ chain }) => hasSpellings(chain)) === true;
  const all = entriesWith(spelt);
  const kept = isCanonical ? (all[0] ?? written) : toComparableEntry(read.parts.join(' '));
  return { ok: true, texts: [kept, ...all] };
}

/** Further faults of the same list add nothing. */
const FAULTS_MAX = 10;

/**
 * Checks the addresses and destination tags of entries, and returns whether all of them are valid. Reports a
 * fault for each entry in `texts` that has another one than the chains of its assets. The assets are the
 * symbol in the entry, or the symbols under `when`. Nothing is checked without symbols, or if the asset table
 * lacks one of them. A release from the store is not checked again: its push checked it, by the rules of that
 * version.
 */
export function checkEntries(
  members: readonly string[],
  texts: readonly string[],
  path: Path,
  context: Pick<RuleContext, 'isStored' | 'assets' | 'when' | 'fault'>,
): boolean {
  const isChecked = members.some((member) => member === 'memo' || ADDRESS_MEMBERS.has(member));
  if (context.isStored || !isChecked || context.assets.size === 0) return true;
  let faults = 0;
  for (const text of texts) {
    const wrong = wrongEntry(members, entryParts(members, text) ?? [], context);
    if (wrong === undefined) continue;
    context.fault(path, wrong.message, wrong.fix);
    if (++faults === FAULTS_MAX) break;
  }
  return faults === 0;
}

/** The first part of an entry that no callback about its assets can have. */
function wrongEntry(
  members: readonly string[],
  parts: readonly string[],
  scope: Scope,
): WrongText | undefined {
  const named = parts[members.indexOf('symbol')];
  const assets = knownAssets(scope, named === undefined ? undefined : [named]);
  if (assets === undefined) return undefined;
  for (const [index, member] of members.entries()) {
    const wrong = wrongText(member, parts[index] ?? '', assets);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
