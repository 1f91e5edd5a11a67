import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MUTANTS } from '../../tools/mutants/mutants.ts';

/* `npm run mutants` runs the tests themselves. Here the catalogue is held against the source. */

it.each(MUTANTS)('$name: its place is there once, and so are its tests', ({ file, from, to, caughtBy }) => {
  expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2);
  expect(to).not.toBe(from);
  expect(caughtBy.filter((test) => !existsSync(test))).toEqual([]);
  expect(caughtBy).not.toEqual([]);
});

it('each fault has a name of its own', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
});
