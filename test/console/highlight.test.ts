import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rulePage } from '../policy/rules/pages.ts';
import { diffLines, highlighted, yamlTokens } from '../../src/console/highlight.ts';
import { markupOf } from '../../src/console/html.ts';
import { rules } from '../../src/policy/rules/registry.ts';
import type { Rule } from '../../src/policy/rules/rule.ts';

const shownAs = (text: string): readonly string[] =>
  yamlTokens(text)
    .filter(({ sort }) => sort !== 'plain')
    .map(({ sort, text: part }) => `${sort} ${part}`);

describe('the parts of a YAML text', () => {
  it('are together the text again, whatever it is', () => {
    const letters = fc.constantFrom(...'a1-:#"\'\\{}[],|> \t\n&*!%\u202e<'.split(''));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: letters })), (text) => {
        const tokens = yamlTokens(text);
        expect(tokens.map((token) => token.text).join('')).toBe(text);
        expect(tokens.every((token) => token.text !== '')).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('take time in proportion to the text', () => {
    for (const part of ['"', "'", '#', ' :', '- ', '{', 'a: ', '\\"', '|\n']) {
      const text = part.repeat(100_000);
      expect(yamlTokens(text).reduce((sum, token) => sum + token.text.length, 0)).toBe(text.length);
    }
  });

  it.each([
    ['a: 1', ['key a', 'number 1']],
    ['a: -1.50 # why', ['key a', 'number -1.50', 'comment # why']],
    ['a: b#c', ['key a']],
    ['a: "b: #c"', ['key a', 'string "b: #c"']],
    [`'a b': 'it''s'`, [`key 'a b'`, `string 'it''s'`]],
    ['- a: { b: 1, c: [2, x] }', ['key a', 'key b', 'number 1', 'key c', 'number 2']],
    ['url: http://x:80/y', ['key url']],
    ['a: |\n  # no comment\n\n  b: c\nd: e', ['key a', 'string   # no comment', 'string   b: c', 'key d']],
    ['# all', ['comment # all']],
    ['5m', []],
  ])('of %j are marked', (text, expected) => {
    expect(shownAs(text)).toEqual(expected);
  });

  it('know the keys around a key', () => {
    const text =
      'rules:\n  - any:\n      - pass: {}\n        mode: observe\n      - ask: { x: 1 }\nwhen:\n  a: b';
    const within = yamlTokens(text)
      .filter((token) => token.sort === 'key')
      .map((token) => [...token.within, token.text].join('/'));
    expect(within).toEqual([
      'rules',
      'rules/any',
      'rules/any/pass',
      'rules/any/mode',
      'rules/any/ask',
      'x',
      'when',
      'when/a',
    ]);
  });

  it('of the examples of all rules have a key for each rule', () => {
    const isMarked = ({ name }: Rule): boolean =>
      yamlTokens(rulePage(name).example).some((token) => token.sort === 'key' && token.text === name);
    expect(rules.filter((rule) => !isMarked(rule)).map(({ name }) => name)).toEqual([]);
  });
});

it('highlighted YAML is text, whatever it says', () => {
  const text = `<script>: "<b>"\n# </pre><img src=x>\na: \u202e'"'`;
  const markup = markupOf(highlighted(text, () => undefined));
  expect(markup).not.toMatch(/<(?!\/?(?:pre|span)\b)/);
  expect(markup).toContain('⟨U+202E⟩');
  expect(markup).not.toContain('\u202e');
});

it('a difference has a class for each sign, and is text', () => {
  expect(markupOf(diffLines('+ <b>\n    - x\n~ y\nnothing'))).toBe(
    '<pre class="diff"><span class="added">+ &lt;b&gt;</span>\n<span class="removed">    - x</span>\n' +
      '<span class="changed">~ y</span>\nnothing</pre>',
  );
});
