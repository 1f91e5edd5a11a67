import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commandsFor } from '../../../src/cli/commands.ts';
import { FAULTS } from '../faults.ts';
import { CODES } from '../refusal.ts';
import { DISCREPANCIES, expectedOf } from '../../../tools/end-to-end/discrepancies.ts';

const page = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8');

describe('docs/sandbox.md', () => {
  it('has a row for each fault, and no other', () => {
    const named = [...page.matchAll(/^\| `([a-z0-9-]+)` +\| /gm)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(Object.keys(FAULTS)));
    expect(named.length).toBe(Object.keys(FAULTS).length);
  });

  it('says what a reconciliation says about each fault of the bill and the co-signer', () => {
    for (const fault of DISCREPANCIES) {
      const row = new RegExp(`^\\| \`${fault}\` .* \\| (.*) \\|$`, 'm').exec(page)?.[1] ?? '';
      const classes = Array.from(row.matchAll(/`([a-z-]+)`/g), ([, name]) => name);
      expect([fault, classes]).toEqual([fault, expectedOf(fault, 'any').map((each) => each.class)]);
      expect([fault, row.includes('the next day')]).toEqual([
        fault,
        expectedOf(fault, 'any').some(({ day }) => day === 1),
      ]);
    }
  });

  it('names each code', () => {
    for (const code of Object.keys(CODES)) expect(page).toMatch(new RegExp(`\\b${code}\\b`));
  });

  it('names each command', async () => {
    const paths = (await commandsFor([]))
      .map(({ path }) => path)
      .filter((path) => path.startsWith('sandbox'));
    expect(paths.length).toBeGreaterThan(10);
    for (const path of paths) expect(page).toContain(path);
  });
});
