import { describe, expect, it } from 'vitest';
import { jsonOf, positionOf, readYaml } from '../../src/values/yaml.ts';

/** One text under many aliases of aliases: 10^9 nodes if it were written out. */
const BOMB = `a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 8 }, (_, i) => {
  const alias = `*a${i}`;
  return `a${i + 1}: &a${i + 1} [${Array.from({ length: 10 }, () => alias).join(', ')}]`;
}).join('\n')}\n`;

const MEGABYTE = 1_048_576;

describe('YAML of policies and settings', () => {
  it('keeps every scalar as the text it is written as', () => {
    const text = `a: 10000\nb: 1.50\nc: 0x10\nd: yes\ne: ~\nf: 1e3\ng: "1.0"\nh: 2024-01-01\ni: 010\nj:\n`;
    const { trees, faults } = readYaml(text);
    expect(faults).toEqual([]);
    expect(trees.map(jsonOf)).toEqual([
      {
        a: '10000',
        b: '1.50',
        c: '0x10',
        d: 'yes',
        e: '~',
        f: '1e3',
        g: '1.0',
        h: '2024-01-01',
        i: '010',
        j: '',
      },
    ]);
  });

  it('does so under a %YAML 1.1 directive as well, and merges nothing', () => {
    const { trees } = readYaml('%YAML 1.1\n---\na: yes\n<<: { b: 010 }\n');
    expect(trees.map(jsonOf)).toEqual([{ a: 'yes', '<<': { b: '010' } }]);
  });

  it('knows where everything stands', () => {
    const [tree] = readYaml('# first\nrules:\n  - x: { max: 1 }\n').trees;
    if (tree === undefined) throw new Error('nothing read');
    expect(positionOf(tree, ['rules', 0, 'x', 'max'], 'value')).toEqual({ line: 3, column: 15 });
    expect(positionOf(tree, ['rules', 0, 'x', 'max'], 'name')).toEqual({ line: 3, column: 10 });
    expect(positionOf(tree, ['rules', 0, 'x', 'min'], 'value')).toEqual({ line: 3, column: 8 });
    expect(positionOf(tree, ['rules', 7], 'value')).toEqual({ line: 3, column: 3 });
    expect(positionOf(tree, [], 'value')).toEqual({ line: 2, column: 1 });
  });

  it('reads several documents, with places counted over the whole file', () => {
    const { trees } = readYaml('a: 1\n---\nb: 2\n');
    expect(trees.map(jsonOf)).toEqual([{ a: '1' }, { b: '2' }]);
    expect(trees.map((tree) => positionOf(tree, [], 'value').line)).toEqual([1, 3]);
  });

  it('follows an alias', () => {
    expect(readYaml('a: &x [1, 2]\nb: *x\n').trees.map(jsonOf)).toEqual([{ a: ['1', '2'], b: ['1', '2'] }]);
  });

  it('takes no other comma for a part of a number, and keeps byte order marks in texts', () => {
    const text =
      '\uFEFFa: [1,000]\nb: { 1: 2, 000: 3 }\nc: { d: x,000 }\ne: 1,000\nf: "\uFEFFg"\nh: { 1, 000 }\n';
    const { trees, faults } = readYaml(text);
    expect(faults).toEqual([]);
    expect(trees.map(jsonOf)).toEqual([
      {
        a: ['1', '000'],
        b: { '1': '2', '000': '3' },
        c: { d: 'x', '000': '' },
        e: '1,000',
        f: '\uFEFFg',
        h: { '1': '', '000': '' },
      },
    ]);
  });

  it('reads 15 levels', () => {
    expect(readYaml(`${'['.repeat(15)}a${']'.repeat(15)}`).faults).toEqual([]);
    expect(readYaml(`${'- '.repeat(15)}a`).faults).toEqual([]);
    expect(readYaml(Array.from({ length: 15 }, (_, i) => `${' '.repeat(i)}a:\n`).join('')).faults).toEqual(
      [],
    );
  });

  it('has names that mean something elsewhere', () => {
    const [tree] = readYaml('__proto__: 1\nconstructor: 2\n').trees;
    expect(tree && JSON.stringify(jsonOf(tree))).toBe('{"__proto__":"1","constructor":"2"}');
  });

  it.each([
    ['a: 1\nb: 2\na: 3\n', 3, '"a" appears twice'],
    ['a: { b: 1, "b": 2 }\n', 1, '"b" appears twice'],
    ['? [1, 2]\n: 3\n', 1, 'a name is not plain text'],
    ['a: [1, 2\n', 2, 'not valid YAML'],
    ['a: 1\n  b: 2\n', 1, 'not valid YAML'],
    ['a: *x\n', 1, 'there is no anchor for the alias *x'],
    ['a: !!int 5\n', 1, 'not valid YAML'],
    ['a: !js/function "x"\n', 1, 'not valid YAML'],
    ['a: "x\n', 2, 'not valid YAML'],
    ['\tb: 1\n', 1, 'not valid YAML'],
    ['a: 1\nb: { c: 1,000 }\n', 2, 'a comma splits the number 1,000'],
    ['{ a: 1,000,000.50, b: 2 }', 1, 'a comma splits the number 1,000,000.50'],
    ['{ a: { b: 1,5 } }', 1, 'a comma splits the number 1,5'],
    ['a: 1\n---\n\uFEFFb: 2\n', 3, 'there is a byte order mark (U+FEFF)'],
    ['a: 1\n--- \uFEFFb\n', 2, 'there is a byte order mark (U+FEFF)'],
    ['a: 1\n\uFEFF---\nb: 2\n', 2, 'there is a byte order mark (U+FEFF)'],
    ['\uFEFFa: 1\n\uFEFFb: 2\n', 2, 'there is a byte order mark (U+FEFF)'],
    [`a:\n  - ${'['.repeat(20)}`, 2, 'nested more than 16 deep'],
  ])('%j is a fault in line %i', (text, line, message) => {
    const { faults } = readYaml(text);
    expect(faults[0]?.at.line).toBe(line);
    expect(faults[0]?.message).toContain(message);
    expect(faults[0]?.fix).not.toBe('');
  });

  it('tells faults of several documents at once', () => {
    expect(readYaml('a: 1\na: 2\n---\nb: [\n---\nc: 1\nc: 2\n').faults.map(({ at }) => at.line)).toEqual([
      2, 5, 7,
    ]);
  });

  it.each([
    ['more than a megabyte', 'a'.repeat(MEGABYTE + 1), 'has more than 1048576 bytes'],
    [
      'more than a megabyte of two-byte characters',
      'ä'.repeat(MEGABYTE / 2 + 1),
      'has more than 1048576 bytes',
    ],
    ['aliases of aliases', BOMB, 'it has more than 100 aliases'],
    ['an alias of itself', 'a: &a [*a]\n', 'nested more than 16 deep'],
    ['a million brackets', '['.repeat(MEGABYTE), 'nested more than 16 deep'],
    ['a million braces', '{a: '.repeat(MEGABYTE / 4), 'nested more than 16 deep'],
    ['a deep list', '- '.repeat(100_000), 'nested more than 16 deep'],
    [
      'a deep mapping',
      Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}a:\n`).join(''),
      'nested more than 16 deep',
    ],
    ['a deep mapping in explicit form', '? '.repeat(1000), 'nested more than 16 deep'],
    ['a list of many', '- a\n'.repeat(MEGABYTE / 4), 'more than 250000 names'],
    [
      'aliases of a long list',
      `a: &x [${'x,'.repeat(2000)}]\nb: [${'*x,'.repeat(60)}]\n`,
      'more than 100000 nodes',
    ],
    ['many documents', '---\na\n'.repeat(2000), 'more than 1000 documents'],
    ['many names', Array.from({ length: 60_000 }, (_, i) => `k${i}: 1`).join('\n'), ''],
  ])('refuses %s, and soon', (_, text, message) => {
    const began = performance.now();
    const { faults } = readYaml(text);
    expect(faults[0]?.message).toContain(message);
    // Seconds, not minutes: these are the sizes at which careless reading takes hours.
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
