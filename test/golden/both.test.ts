import { describe, expect, it } from 'vitest';
import { writtenOfBoth } from './both.ts';

describe('what both stores gave', () => {
  const given = { answer: 'SUCCESS', rows: [{ id: 1 }, { id: 2 }], members: { a: '1', b: '2' } };
  const writtenWith = (embedded: unknown, redis: unknown = given): string =>
    writtenOfBoth({ embedded, redis });

  it('is written once where they agree', () => {
    expect(writtenWith(given)).toBe(`${JSON.stringify(given)}\n`);
  });

  it.each([
    ['a value', { ...given, answer: 'SUCCESs' }, '{"answer":{"<embedded>":"SUCCESs","<redis>":"SUCCESS"}'],
    ['a value in a list', { ...given, rows: [{ id: 1 }, { id: 3 }] }, '{"id":{"<embedded>":3,"<redis>":2}}'],
    [
      'the length of a list',
      { ...given, rows: [] },
      '"rows":{"<embedded>":[],"<redis>":[{"id":1},{"id":2}]}',
    ],
    ['a name that one lacks', { ...given, members: { b: '2' } }, '"members":{"a":{"<redis>":"1"},"b":"2"}'],
    ['another name', { ...given, members: { c: '1', b: '2' } }, '"c":{"<embedded>":"1"}'],
    [
      'the order',
      { ...given, members: { b: '2', a: '1' } },
      '{"<embedded>":{"b":"2","a":"1"},"<redis>":{"a"',
    ],
    ['a type', { ...given, answer: null }, '"answer":{"<embedded>":null,"<redis>":"SUCCESS"}'],
  ])('says which of them gave %s', (_, other, said) => {
    expect(writtenWith(other)).toContain(said);
    const exchanged = writtenWith(given, other);
    expect(new Set([writtenWith(given), writtenWith(other), exchanged]).size).toBe(3);
  });
});
