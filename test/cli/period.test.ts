import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columns, printable, printableLines } from '../../src/cli/print.ts';
import { readTime } from '../../src/cli/period.ts';

const NOW_MS = Date.UTC(2025, 5, 15, 12);
const read = (text: string): string => new Date(readTime('since', text, NOW_MS)).toISOString();

describe('--since and --until', () => {
  it.each([
    ['0s', '2025-06-15T12:00:00.000Z'],
    ['90s', '2025-06-15T11:58:30.000Z'],
    ['15m', '2025-06-15T11:45:00.000Z'],
    ['2h', '2025-06-15T10:00:00.000Z'],
    ['7d', '2025-06-08T12:00:00.000Z'],
    ['2025-03-01', '2025-03-01T00:00:00.000Z'],
    ['2025-03-01T10:30', '2025-03-01T10:30:00.000Z'],
    ['2025-03-01T10:30:15Z', '2025-03-01T10:30:15.000Z'],
    ['2025-03-01T10:30:15.123Z', '2025-03-01T10:30:15.123Z'],
    ['2025-03-01T10:30:15+02:00', '2025-03-01T08:30:15.000Z'],
    ['2025-03-01T10:30-05:30', '2025-03-01T16:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ])('%s is %s', (text, instant) => {
    expect(read(text)).toBe(instant);
  });

  it.each([
    '',
    '2 h',
    '2025-03-01 10:30',
    ' 2h',
    ...'now 2 2H -2h 1.5h 2h30m 1234567h 2025 2025-3-1 2025-02-29'.split(' '),
    ...'2025-02-30 2025-13-01 2025-00-10 2025-03-01T24:00 2025-03-01T10:60'.split(' '),
    ...'2025-03-01T10:30:60Z 2025-03-01T10:30Europe 2025-03-01T10:30+25:00'.split(' '),
    ...'2025-03-01T10:30+02:60 1750000000000'.split(' '),
  ])('%j is refused, with what to write', (text) => {
    expect(() => readTime('since', text, NOW_MS)).toThrow(
      /^--since .* is not a time\. Write a duration before now, such as 30s, 15m, 2h or 7d/,
    );
  });

  it('reads every time as it is printed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (atMs) => {
        expect(readTime('until', new Date(atMs).toISOString(), NOW_MS)).toBe(atMs);
      }),
    );
  });
});

describe('text of others', () => {
  it('keeps to its line, and steers nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it('is left as it is where it is harmless', () => {
    for (const text of ['shop/17', 'käse “ß” 付款 🙂', '{"a":1}']) expect(printable(text)).toBe(text);
    expect(printableLines('a\n\u001bb')).toBe('a\n\\u{1b}b');
  });
});

describe('columns', () => {
  it('are aligned, without blanks at the end of a line', () => {
    expect(columns([['a', 'bb', ''], ['aaa', 'b', 'c'], []])).toBe('a    bb\naaa  b   c\n');
  });
});
