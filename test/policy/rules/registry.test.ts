import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KINDS } from '../../../src/callback/callback.ts';
import { generatedPolicyFiles } from '../../../tools/generate/rules.ts';
import { readRulePage } from '../../../src/policy/rule-page.ts';
import { rules } from '../../../src/policy/rules/registry.ts';
import { rulePage } from './pages.ts';

const root = new URL('../../../', import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8');

describe('the registry of rules', () => {
  it('has names that are unique, and none that a policy uses for something else', () => {
    const names = rules.map((rule) => rule.name);
    expect(new Set([...names, 'mode']).size).toBe(names.length + 1);
    for (const name of names) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  it.each(rules.map((rule) => [rule.name, rule] as const))(
    '%s is described, with an example and tests of it',
    (_, rule) => {
      expect(rule.summary).not.toBe('');
      expect(rule.callbacks.every((kind) => KINDS.includes(kind))).toBe(true);
      const page = rulePage(rule.name);
      expect(page.notes.length).toBeGreaterThan(0);
      expect(page.example).toContain(`- ${rule.name}:`);
      expect(page.cases).toContain('expect: SUCCESS');
      expect(page.cases).toContain('FAILURE');
      for (const schema of Object.values(rule.parameters.shape)) {
        expect(schema).toHaveProperty('description', expect.stringMatching(/\w/));
      }
    },
  );

  it.each(generatedPolicyFiles(textOf))('%s is what is generated from it', (path, content) => {
    expect(textOf(path)).toBe(content);
  });

  it('names a page without the marks, and writes between them only', () => {
    expect(() =>
      generatedPolicyFiles((path) => (path.endsWith('pass.md') ? '# pass\n' : textOf(path))),
    ).toThrow('docs/rules/pass.md lacks the lines between which it is generated');
    const old = textOf('docs/rules/pass.md')
      .replace('Every callback', 'No callback')
      .replace('# pass', '# passes');
    const written = new Map(
      generatedPolicyFiles((path) => (path.endsWith('pass.md') ? old : textOf(path))),
    ).get('docs/rules/pass.md');
    expect(written).toBe(textOf('docs/rules/pass.md').replace('# pass', '# passes'));
  });

  it.each(['Notes', 'Example', 'Tests of the example'])('names the section %s that a page lacks', (title) => {
    const page = textOf('docs/rules/pass.md').replace(`\n## ${title}\n`, '\n## Other\n');
    expect(() => readRulePage(page)).toThrow(`the page has no section ${title}`);
  });

  it('leaves no page of a rule that is gone', () => {
    const pages = rules.map(({ name }) => `${name}.md`).sort();
    expect(readdirSync(new URL('docs/rules/', root)).sort()).toEqual(pages);
  });
});
