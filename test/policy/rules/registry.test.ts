import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KINDS } from '../../../src/callback/callback.ts';
import { generatedPolicyFiles } from '../../../src/policy/generated.ts';
import { rules } from '../../../src/policy/rules/registry.ts';

const root = new URL('../../../', import.meta.url);

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
      expect(rule.notes.length).toBeGreaterThan(0);
      expect(rule.example).toContain(`- ${rule.name}:`);
      expect(rule.cases).toContain('expect: SUCCESS');
      expect(rule.cases).toContain('FAILURE');
      for (const schema of Object.values(rule.parameters.shape)) {
        expect(schema).toHaveProperty('description', expect.stringMatching(/\w/));
      }
    },
  );

  it.each(generatedPolicyFiles())('%s is what is generated from it', (path, content) => {
    expect(readFileSync(new URL(path, root), 'utf8')).toBe(content);
  });

  it('leaves no page of a rule that is gone', () => {
    const pages = rules.map(({ name }) => `${name}.md`).sort();
    expect(readdirSync(new URL('docs/rules/', root)).sort()).toEqual(pages);
  });
});
