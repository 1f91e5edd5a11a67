import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactValue } from '../../src/values/exact-json.ts';
import { readMembers } from '../../src/values/members.ts';

const BOUNDS = { members: 10_000, depth: 12, numberCharacters: 80 };

/** The exact value of a JSON text, or the code of its failure. */
function read(json: string): unknown {
  const wrapped = readMembers(`{"value":${json}}`, BOUNDS);
  if (!wrapped.ok) return wrapped.code;
  const member = wrapped.members.get('value');
  const exact = member && exactValue(member, BOUNDS);
  return exact?.ok === true ? exact.value : exact?.code;
}

const withTexts = (value: unknown): unknown => {
  if (typeof value === 'number') return JSON.stringify(value);
  if (Array.isArray(value)) return value.map(withTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withTexts(member)]));
};

describe('an exact value', () => {
  it('is what JSON.parse gives, with the text of each number', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4, noUnicodeString: false }), fc.boolean(), (value, isSpaced) => {
        const json = JSON.stringify(value, undefined, isSpaced ? 2 : 0);
        expect(read(json)).toEqual(withTexts(JSON.parse(json)));
      }),
    );
  });

  it.each([
    ['9007199254740993', '9007199254740993'],
    ['[1.50, 1E-8, -0, 0.1]', ['1.50', '1E-8', '-0', '0.1']],
    ['{"a":{"b":[{"c":100.10}]}}', { a: { b: [{ c: '100.10' }] } }],
    ['[]', []],
    ['[[],[[]]]', [[], [[]]]],
  ])('keeps %s', (json, value) => {
    expect(read(json)).toEqual(value);
  });

  it('has a member __proto__ like any other', () => {
    const value = read('{"__proto__":{"isAdmin":true}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value as object)).toEqual(['__proto__']);
  });

  it.each([
    ['[1,]', 'NOT_JSON'],
    ['[1 2]', 'NOT_JSON'],
    ['[01]', 'NOT_JSON'],
    ['[1', 'NOT_JSON'],
    ['[{"a":1,"a":2}]', 'DUPLICATE_MEMBER'],
    [`[{"a":{"b":{"c":1,"c":1}}}]`, 'DUPLICATE_MEMBER'],
    [`${'['.repeat(12)}${']'.repeat(12)}`, 'TOO_DEEP'],
    [`[${'1,'.repeat(10_000)}1]`, 'TOO_MANY_MEMBERS'],
    [`[${'1'.repeat(81)}]`, 'NUMBER_TOO_LONG'],
  ])('of %s is refused', (json, code) => {
    expect(read(json)).toBe(code);
  });
});
