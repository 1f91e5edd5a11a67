import { describe, expect, it } from 'vitest';
import { policyWarnings } from '../../src/start/policies.ts';
import { onePolicy, release } from '../policy/callbacks.ts';

type Given = Parameters<typeof policyWarnings>[0];
const settings = (subjectsDays: number, sources: readonly object[] = []): Given =>
  ({ store: { retention: { subjectsDays } }, sources }) as unknown as Given;

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

describe('a rule that counts across a group', () => {
  const [shop, kiosk] = ['shop', 'kiosk'].map((name) => ({ name, callback: 'payment' }));
  const vault = { name: 'vault', callback: 'cosigner', paths: { withdraw: '/w' } };
  const rule = 'velocity-limit: { window: day, max: 1, across: group }';
  const warnedFor = (sources: readonly object[], when?: string): readonly string[] =>
    policyWarnings(settings(400, sources), release(onePolicy(rule, 'payment', when)));

  it('warns of each source that it may judge and that has no group', () => {
    expect(warnedFor([shop!, { ...kiosk!, group: 'sales' }, vault])).toEqual([
      'one/velocity-limit#1 counts across the sources of a group, so it refuses shop, which has no group in ' +
        'the settings; add `group` to the source',
    ]);
    expect(warnedFor([shop!, kiosk!])).toEqual([expect.stringContaining('refuses shop, kiosk, which')]);
  });

  it('warns of no source that it never judges', () => {
    expect(warnedFor([shop!, { ...kiosk!, group: 'sales' }], '{ source: kiosk }')).toEqual([]);
    expect(warnedFor([vault])).toEqual([]);
  });
});
