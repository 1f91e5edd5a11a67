import { type Failure, failure } from '../errors.ts';
import { type Canonical, byCodePoint } from './canonical.ts';

/** What one member may hold. */
interface MemberGrammar {
  readonly pattern: RegExp;
  readonly maxLength: number;
}

/** The members that a callback defines, and those of them that may be missing. */
export interface MemberTable {
  readonly grammar: Readonly<Record<string, MemberGrammar>>;
  readonly optional: ReadonlySet<string>;
}

/**
 * Undefined where the signed text can be read in one way only, and that way is the body's; else
 * SIGN_AMBIGUOUS.
 */
export type CheckAmbiguity = (canonical: Canonical, appKey: string) => Failure | undefined;

type Reading = readonly (readonly [name: string, value: string])[];

const END = -1;

/**
 * Compiles the check that a verified signature over names and values without separators proves this body and
 * no other: the defined names in order, each with a value of its grammar, must account for the signed text in
 * exactly one way. The appKey is taken as known, since it named the key. Text longer than all members at
 * their longest together has no reading, so time is bounded by the grammar and not by the body.
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

    // `names[index]` stands at `at`; `before` is what was read up to there.
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
      `the signature is right, but proves no reading of the body: ${reason(signed, other, { grammar, optional })}`,
      { members: signed.map(([name]) => name), otherReading: other?.map(([name]) => name) },
    );
  };
}

/**
 * Whether the text holds just the names of the body, each once, and the body defined ones only: then there is
 * nothing else to read in it. Most callbacks are so, and need no search.
 */
function isPlain(text: string, signed: Reading, names: readonly string[]): boolean {
  let held = 0;
  for (const name of names) {
    const first = text.indexOf(name);
    if (first === -1) continue;
    // Both are in code-point order, so the next name that the text holds can only be the body's next.
    if (signed[held]?.[0] !== name || text.includes(name, first + 1)) return false;
    held++;
  }
  return held === signed.length;
}

/** The names that may come next, up to the first that must; END where all that is left may be missing. */
function followersOf(
  index: number,
  names: readonly string[],
  optional: ReadonlySet<string>,
): readonly number[] {
  const rest = [...names.keys()].slice(index + 1);
  const required = rest.findIndex((each) => !optional.has(names[each] ?? ''));
  return required === -1 ? [...rest, END] : rest.slice(0, required + 1);
}

/** Where a value may end, at `from` or later: where `next` stands; without one, at the end of the text. */
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
  const stranger = signed.find(([name]) => !Object.hasOwn(grammar, name));
  if (stranger !== undefined) return `the callback defines no member ${JSON.stringify(stranger[0])}`;
  const missing = Object.keys(grammar).find((name) => !values.has(name) && !optional.has(name));
  if (missing !== undefined) return `${missing} is missing`;
  const wrong = signed.find(([name, value]) => {
    const rule = grammar[name];
    return rule === undefined || value.length > rule.maxLength || !rule.pattern.test(value);
  });
  if (wrong !== undefined) return `${wrong[0]} does not hold what the callback defines for it`;
  const differs = signed.find(([name, value], at) => other?.[at]?.[0] !== name || other[at][1] !== value);
  return `without separators it also stands for another ${differs?.[0] ?? 'one'}`;
}
