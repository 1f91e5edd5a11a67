import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { generatedPlatformFiles } from '../../packages/platform/generated.ts';
import { operations } from '../../packages/platform/operations/registry.ts';

describe('what is generated from the registry', () => {
  it.each(generatedPlatformFiles())('%s is as it is checked in', (path, content) => {
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  it.each(operations)('has a chapter about $name', ({ name, section }) => {
    expect(readFileSync('docs/operations.md', 'utf8')).toContain(`## \`${name}\` (${section})`);
  });
});
