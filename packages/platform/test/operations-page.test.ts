import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { operationsPage } from '../operations-page.ts';
import { operations } from '../operations/registry.ts';

describe('the page that is generated from the registry', () => {
  it('is as it is checked in', () => {
    const [path, content] = operationsPage();
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  it.each(operations)('has a chapter about $name', ({ name, section }) => {
    expect(readFileSync('docs/operations.md', 'utf8')).toContain(`## \`${name}\` (${section})`);
  });
});
