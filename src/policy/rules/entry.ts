import type { Callback } from '../../callback/callback.ts';
import { comparableEntry } from '../../values/comparable.ts';
import { readMemberText, valuesOf } from '../members.ts';
import { memberOf } from './parameter.ts';
import type { RuleContext } from './rule.ts';

/*
 * An entry of a list is the text of one member, or those of several with one blank between them. Only a memo
 * may have blanks in it, so it comes last: an entry then has one reading.
 */

/** The members that entries are made of, by their one names; undefined once every fault is known. */
export function entryMembers(
  of: readonly string[],
  path: readonly (string | number)[],
  context: RuleContext,
): readonly string[] | undefined {
  const members = of.map((name) => memberOf(name, path, context));
  const known = members.filter((member) => member !== undefined);
  if (known.length < members.length) return undefined;
  const twice = known.find((member, index) => known.indexOf(member) !== index);
  if (twice !== undefined) return context.fault(path, `${twice} is there twice`, 'keep one of the two');
  const memo = known.indexOf('memo');
  if (memo === -1 || memo === known.length - 1) return known;
  const sorted = [...known.filter((member) => member !== 'memo'), 'memo'];
  return context.fault(
    path,
    'a memo may have blanks in it, so nothing can follow it in an entry',
    `write [${sorted.join(', ')}], and the entries in that order`,
  );
}

/**
 * An entry's texts, one for each member; undefined if there are too few. What is too much is left in the
 * last.
 */
export function entryParts(members: readonly string[], entry: string): readonly string[] | undefined {
  const words = entry.split(' ');
  const parts = words.slice(0, members.length - 1);
  const last = words.slice(members.length - 1).join(' ');
  return words.length < members.length ? undefined : [...parts, last];
}

/**
 * Entries in the form in which they are looked up; a fault for the first that no callback could ever have.
 */
export function entriesOf(
  members: readonly string[],
  texts: readonly string[],
  path: readonly (string | number)[],
  context: RuleContext,
): ReadonlySet<string> | undefined {
  const entries = new Set<string>();
  reading: for (const text of texts) {
    const parts = entryParts(members, text);
    if (parts === undefined) {
      const entry = `the texts of ${members.join(', ')}, with one blank between them`;
      return context.fault(path, `${JSON.stringify(text)} has too few parts`, `write ${entry}`);
    }
    const read: string[] = [];
    for (const [index, member] of members.entries()) {
      const part = parts[index] ?? '';
      const result = readMemberText(member, part);
      if (!result.ok) {
        // A revision in force from before this was a fault: no callback has it, so nothing changes without
        // it.
        if (context.again) continue reading;
        const said = `no ${member} is ever ${JSON.stringify(part)}`;
        return context.fault(path, said, `write ${result.expected}`);
      }
      read.push(result.text);
    }
    entries.add(comparableEntry(read.join(' ')));
  }
  return entries;
}

export type LookedUp =
  | { readonly ok: true; /** At least one. */ readonly entries: readonly string[] }
  | { readonly ok: false; /** The first member that the callback does not have. */ readonly missing: string };

/**
 * What is looked up for a callback: one entry for each of its addresses, if `to` is among the members, else
 * one.
 */
export function lookedUp(callback: Callback, members: readonly string[]): LookedUp {
  let entries: readonly string[] | undefined;
  for (const member of members) {
    const values = valuesOf(callback, member);
    if (values.length === 0) return { ok: false, missing: member };
    entries = entries?.flatMap((entry) => values.map((value) => `${entry} ${value}`)) ?? values;
  }
  return { ok: true, entries: (entries ?? []).map(comparableEntry) };
}
