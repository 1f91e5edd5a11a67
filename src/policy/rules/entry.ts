import type { Callback } from '../../callback/callback.ts';
import { toComparableEntry } from '../../values/comparable.ts';
import { readAssetAddress } from '../assets.ts';
import { type Path, formatInput } from '../fault.ts';
import { ADDRESS_MEMBERS, readMemberText, valuesOf } from '../members.ts';
import { memberOf } from './parameter.ts';
import type { RuleContext } from './rule.ts';

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
  const entries = new Set<string>();
  for (const text of texts) {
    const read = readEntry(members, text, path, context);
    if (!read.ok) return undefined;
    if (read.entry !== undefined) entries.add(read.entry);
  }
  return entries;
}

type EntryRead =
  | {
      readonly ok: true;
      /**
       * Undefined for an entry that no callback can have, in a stored release that is older than this check.
       */
      readonly entry: string | undefined;
    }
  | { readonly ok: false };

function readEntry(members: readonly string[], text: string, path: Path, context: RuleContext): EntryRead {
  const parts = entryParts(members, text);
  if (parts === undefined) {
    const expected = `the texts of ${members.join(', ')}, with one blank between them`;
    context.fault(path, `${JSON.stringify(text)} has too few parts`, `write ${expected}`);
    return { ok: false };
  }
  const read: string[] = [];
  for (const [index, member] of members.entries()) {
    const part = parts[index] ?? '';
    const result = readMemberText(member, part);
    if (result.ok) read.push(result.text);
    else if (context.isStored) return { ok: true, entry: undefined };
    else {
      context.fault(path, `${member} can't be ${JSON.stringify(part)}`, `write ${result.expected}`);
      return { ok: false };
    }
  }
  return { ok: true, entry: toComparableEntry(read.join(' ')) };
}

/** One text for each member, the rest of the entry in the last; undefined if there are too few. */
function entryParts(members: readonly string[], entry: string): readonly string[] | undefined {
  const words = entry.split(' ');
  const parts = words.slice(0, members.length - 1);
  const last = words.slice(members.length - 1).join(' ');
  return words.length < members.length ? undefined : [...parts, last];
}

export type EntriesToLookUp =
  | { readonly ok: true; /** At least one. */ readonly entries: readonly string[] }
  | { readonly ok: false; /** The first member that the callback lacks. */ readonly missing: string };

/**
 * The entries to look up for a callback: one for each of its addresses if `to` is among the members,
 * otherwise one.
 */
export function entriesToLookUp(callback: Callback, members: readonly string[]): EntriesToLookUp {
  let entries: readonly string[] | undefined;
  for (const member of members) {
    const values = valuesOf(callback, member);
    if (values.length === 0) return { ok: false, missing: member };
    entries = entries?.flatMap((entry) => values.map((value) => `${entry} ${value}`)) ?? values;
  }
  return { ok: true, entries: (entries ?? []).map(toComparableEntry) };
}

/** Further faults of the same list add nothing. */
const FAULTS_MAX = 10;

/**
 * Checks the addresses of entries, and returns whether all of them are valid. Reports a fault for each
 * address in `texts` that no chain of its assets accepts. The assets are the symbol in the entry, or the
 * symbols under `when`. Nothing is checked without symbols, or if the asset table lacks one of them. A
 * release from the store is not checked again: its push checked it, by the rules of that version.
 */
export function checkAddresses(
  members: readonly string[],
  texts: readonly string[],
  path: Path,
  context: RuleContext,
): boolean {
  if (context.isStored || context.assets.size === 0) return true;
  if (!members.some((member) => ADDRESS_MEMBERS.has(member))) return true;
  let faults = 0;
  for (const text of texts) {
    const wrong = wrongAddress(members, text, context);
    if (wrong === undefined) continue;
    context.fault(path, wrong, 'copy the address again from where it is known');
    if (++faults === FAULTS_MAX) break;
  }
  return faults === 0;
}

/** A sentence about the first address in an entry that is not an address on any chain of its assets. */
function wrongAddress(members: readonly string[], text: string, context: RuleContext): string | undefined {
  const parts = entryParts(members, text) ?? [];
  const named = parts[members.indexOf('symbol')];
  const symbols = named === undefined ? [...(context.when.get('symbol') ?? [])] : [named];
  const assets = symbols.map((symbol) => context.assets.get(symbol)).filter((asset) => asset !== undefined);
  if (assets.length === 0 || assets.length < symbols.length) return undefined;
  for (const [index, member] of members.entries()) {
    if (!ADDRESS_MEMBERS.has(member)) continue;
    const address = parts[index] ?? '';
    const reads = assets.map((asset) => ({ asset, read: readAssetAddress(asset, address) }));
    if (reads.some(({ read }) => read.ok)) continue;
    const why = reads.map(({ asset, read }) => `of ${asset.symbol}: ${read.ok ? '' : read.because}`);
    return `${formatInput(address)} is not an address ${why.join('; nor ')}`;
  }
  return undefined;
}
