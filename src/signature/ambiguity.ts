import { type Failure, failure } from '../errors.ts';
import type { Grammar } from '../values/members.ts';
import { type Canonical, byCodePoint } from './canonical.ts';

/** The members that a callback defines, and which of them are optional. */
export interface MemberTable {
  readonly grammar: Readonly<Record<string, Grammar>>;
  readonly optional: ReadonlySet<string>;
}

/** Undefined if the body is the only reading of the signed text; otherwise SIGN_AMBIGUOUS. */
export type CheckAmbiguity = (canonical: Canonical, appKey: string) => Failure | undefined;

type Reading = readonly (readonly [name: string, value: string])[];

const END = -1;

/**
 * Without separators, one signed text may have several readings as names and values. This check accepts a
 * verified signature only if the defined names, in order, with values of their grammar, match the text in
 * exactly one way, which is the body. The appKey is known, since it selected the key. A text longer than all
 * names plus all maximum values is rejected without a search, so the cost depends on the grammar and not on
 * the size of the body.
 */
export function compileAmbiguityCheck({ grammar, optional }: MemberTable): CheckAmbiguity {
  const names = Object.keys(grammar).sort(byCodePoint);
  const longest = names.reduce((sum, name) => sum + name.length + (grammar[name]?.maxLength ?? 0), 0);
  const followers = [END, ...names.keys()].map((index) => followersOf(index, names, optional));

  /** Whether the body itself is a reading. */
  const fits = (signed: Reading, appKey: string): boolean =>
    names.every((name) => {
      const value = signed.find(([own]) => own === name)?.[1];
      if (value === undefined) return optional.has(name);
      if (name === 'appKey') return value === appKey;
      const rule = grammar[name];
      return rule !== undefined && value.length <= rule.maxLength && rule.pattern.test(value);
    });

  function readingsOf(text: string, appKey: string): readonly Reading[] {
    const found: Reading[] = [];
    if (text.length > longest) return found;

    // Reads `names[index]` at the offset `at`. `before` holds the members that were read before it.
    const read = (index: number, at: number, before: Reading): void => {
      const name = names[index] ?? '';
      const start = at + name.length;
      const limit = start + (grammar[name]?.maxLength ?? 0);
      for (const next of followers[index + 1] ?? []) {
        for (
          let end = endOf(text, names[next], start);
          end <= limit;
          end = endOf(text, names[next], end + 1)
        ) {
          if (found.length > 1) return;
          const value = text.slice(start, end);
          if (name === 'appKey' ? value !== appKey : grammar[name]?.pattern.test(value) !== true) continue;
          const reading = [...before, [name, value] as const];
          if (next === END) found.push(reading);
          else read(next, end, reading);
        }
      }
    };
    for (const first of followers[0] ?? []) {
      if (text.startsWith(names[first] ?? '\0')) read(first, 0, []);
    }
    return found;
  }

  return ({ text, signed }, appKey) => {
    if (isPlain(text, signed, names) && fits(signed, appKey)) return undefined;
    const readings = readingsOf(text, appKey);
    const [only] = readings;
    if (only !== undefined && readings.length === 1 && same(only, signed)) return undefined;
    const other = readings.find((reading) => !same(reading, signed));
    return failure(
      'SIGN_AMBIGUOUS',
      'the signature is valid, but the signed text is ambiguous: ' +
        reason(signed, other, { grammar, optional }),
      { members: signed.map(([name]) => name), otherReading: other?.map(([name]) => name) },
    );
  };
}

/**
 * Whether the text contains each name of the body once and no other name. Most texts do; then no search is
 * needed.
 */
function isPlain(text: string, signed: Reading, names: readonly string[]): boolean {
  let found = 0;
  for (const name of names) {
    const first = text.indexOf(name);
    if (first === -1) continue;
    // Both are in code-point order, so the next name in the text must be the body's next.
    if (signed[found]?.[0] !== name || text.includes(name, first + 1)) return false;
    found++;
  }
  return found === signed.length;
}

/** The names that may follow, up to the first required one; END if all remaining ones are optional. */
function followersOf(
  index: number,
  names: readonly string[],
  optional: ReadonlySet<string>,
): readonly number[] {
  const rest = [...names.keys()].slice(index + 1);
  const required = rest.findIndex((each) => !optional.has(names[each] ?? ''));
  return required === -1 ? [...rest, END] : rest.slice(0, required + 1);
}

/** The next possible end of a value, from `from` on: the name `next`, or the end of the text without one. */
function endOf(text: string, next: string | undefined, from: number): number {
  if (next === undefined) return from > text.length ? Infinity : text.length;
  const at = text.indexOf(next, from);
  return at === -1 ? Infinity : at;
}

function same(a: Reading, b: Reading): boolean {
  return a.length === b.length && a.every(([name, value], at) => name === b[at]?.[0] && value === b[at][1]);
}

function reason(signed: Reading, other: Reading | undefined, { grammar, optional }: MemberTable): string {
  const values = new Map(signed);
  const unknown = signed.find(([name]) => !Object.hasOwn(grammar, name));
  if (unknown !== undefined) return `${JSON.stringify(unknown[0])} is not a member of a payment confirmation`;
  const missing = Object.keys(grammar).find((name) => !values.has(name) && !optional.has(name));
  if (missing !== undefined) return `${missing} is missing`;
  const wrong = signed.find(([name, value]) => {
    const rule = grammar[name];
    return rule === undefined || value.length > rule.maxLength || !rule.pattern.test(value);
  });
  if (wrong !== undefined) return `${wrong[0]} has a value that is not allowed`;
  const differs = signed.find(([name, value], at) => other?.[at]?.[0] !== name || other[at][1] !== value);
  return `without separators, it can also be read with another ${differs?.[0] ?? 'member'}`;
}
