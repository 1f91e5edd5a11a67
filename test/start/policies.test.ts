import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
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

describe('a rule that waits for people', () => {
  const people = 'people: { ada: { roles: [approve] } }\ngroups: { treasury: [ada] }\n';
  const warnedOf = (wait: string, answerTimeoutMs: number): readonly string[] => {
    const policy = onePolicy(`approval: { by: treasury, quorum: 1, within: 1h${wait} }`);
    const files = [
      { name: 'one.yaml', text: policy },
      { name: 'people.yaml', text: people },
    ];
    const read = readPolicyFiles(files, () => undefined);
    if (!read.ok) throw new Error('the policies are wrong');
    return policyWarnings({ ...settings(400), answerTimeoutMs }, read.release);
  };

  it('must have the time that it takes', () => {
    expect(warnedOf(', wait: 20s', 2000)).toEqual([
      'one/approval#1 waits up to 20 s for people, but answerTimeoutMs is 2000, so the answer comes before; ' +
        'increase answerTimeoutMs and the time-outs of those who call',
    ]);
    expect(warnedOf(', wait: 9s', 9999)).toHaveLength(1);
    expect(warnedOf(', wait: 9s', 10_000)).toEqual([]);
    expect(warnedOf('', 100)).toEqual([]);
  });
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
