import { expect, it } from 'vitest';
import { policyWarnings } from '../../src/compose/policy-warnings.ts';
import { onePolicy, release } from '../policy/callbacks.ts';

const settings = (subjectsDays: number) =>
  ({ store: { retention: { subjectsDays } } }) as Parameters<typeof policyWarnings>[0];

const warned = (window: string, subjectsDays: number): readonly string[] =>
  policyWarnings(
    settings(subjectsDays),
    release(onePolicy(`velocity-limit: { window: ${window}, max: 1 }`, 'payment')),
  );

it.each([
  ['92d', 93, 94],
  ['60d', 60, 61],
  ['quarter', 92, 93],
  ['year', 366, 367],
  ['400d', 406, 407],
])('a rule that counts %s needs subjects longer than %i days', (window, tooFew, enough) => {
  expect(warned(window, tooFew)).toEqual([expect.stringContaining(`set it to ${enough} or more`)]);
  expect(warned(window, enough)).toEqual([]);
});
