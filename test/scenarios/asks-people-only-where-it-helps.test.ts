import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatFault } from '../../src/policy/fault.ts';
import { readTestFiles } from '../../src/policy/suite/read.ts';
import { compileForPush } from '../../src/release/check.ts';
import { runTests } from '../../src/simulation/run-tests.ts';
import { string, tablesOf } from '../cases.ts';
import { type Staging, runOn, stagingOn } from './staged.ts';

/*
 * People are asked if, and only if, their approval alone would make it a SUCCESS.
 */

const PEOPLE = `people:
  ada: { roles: [approve] }
  ben: { roles: [approve] }
groups: { treasury: [ada, ben], board: [ben] }
`;

/** Once with nobody's approval, and once, as another transfer, with everybody's. */
const TESTS = `tests:
  - test: it
    now: 2026-03-02T10:00:00Z
    given: { lists: { vault: { vips: ['0x2'], others: ['0x3'] } } }
    callbacks:
${['alone', 'approved']
  .map(
    (id) => `      - source: vault
        transfer: { request_id: ${id}, from: '0x1', to: '0x2', amount: '5', symbol: ETH, memo: '' }
        ${id === 'approved' ? 'approvedBy: [ada, ben]' : ''}
        expect: SUCCESS
`,
  )
  .join('')}`;

const policyOf = (name: string, rules: readonly string[], when = '{ symbol: ETH }'): string =>
  `policy: ${name}\ncallback: transfer\nwhen: ${when}\nrules:\n${rules.map((each) => `  - ${each}\n`).join('')}`;

async function askedAbout(staging: Staging, policies: readonly string[]) {
  const files = policies.map((text, at) => ({ name: `${at}.yaml`, text }));
  const compiled = compileForPush([...files, { name: 'people.yaml', text: PEOPLE }], () => undefined);
  if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
  const read = readTestFiles([{ name: 'a.test.yaml', text: TESTS }]);
  const [test] = read.ok ? read.tests : [];
  if (test === undefined) throw new Error('the test is wrong');
  const found = await runOn(staging, compiled.release, test);
  const simulated = runTests(compiled.release, [test]).tests[0]?.callbacks.map((each) => each.found);
  expect(found).toEqual(simulated);
  const [alone, approved] = found;
  if (alone === undefined || approved === undefined) throw new Error('nothing was decided');
  return { alone, approved };
}

// What a rule says of the transfer is known: it passes, its claim holds or fails, or nobody knows whether it applies.
const RULES = [
  'approval: { by: treasury, quorum: 2, within: 24h }',
  'approval: { by: treasury, quorum: 1, within: 1h }',
  'approval: { by: board, quorum: 1, within: 24h }',
  'amount-limit: { max: 10 }',
  'amount-limit: { max: 1 }',
  'window-limit: { window: LENGTH, max: 1000 }',
  'window-limit: { window: LENGTH, max: 1 }',
  'allow-list: { list: vips, of: to }',
  'allow-list: { list: others, of: to }',
  'lock-out: { after: 50, within: LENGTH, for: 1h }',
];
/** Without prices, it can't be known. */
const UNKNOWN = '{ symbol: ETH, value: { above: 1, maxAge: 1h } }';
const WHENS = ['', UNKNOWN, '{ amount: { below: 1 } }', '{ amount: { above: 1 } }'].map((each) =>
  each === '' ? '' : `when: ${each}`,
);
const TOP = ['{ symbol: ETH }', '{ symbol: ETH }', UNKNOWN, '{ symbol: ETH, amount: { below: 1 } }'];

const { entry } = fc.letrec<{ entry: string; rule: string; group: string }>((tie) => ({
  entry: fc.oneof({ maxDepth: 3, withCrossShrink: true }, tie('rule'), tie('group')),
  rule: fc
    .record({ rule: fc.constantFrom(...RULES), when: fc.constantFrom('', '', '', ...WHENS) })
    .map(({ rule, when }) => `{ ${rule}${when === '' ? '' : `, ${when}`} }`),
  group: fc
    .record({
      how: fc.constantFrom('any', 'any', 'all'),
      entries: fc.array(tie('entry'), { minLength: 1, maxLength: 3 }),
      when: fc.constantFrom('', '', '', ...WHENS),
    })
    .map(({ how, entries, when }) => `{ ${how}: [${entries.join(', ')}]${when === '' ? '' : `, ${when}`} }`),
}));
const policies = fc.array(
  fc.record({ entries: fc.array(entry, { minLength: 1, maxLength: 3 }), when: fc.constantFrom(...TOP) }),
  { minLength: 1, maxLength: 2 },
);

const rowsOf = tablesOf(new URL('cases/asks-people.yaml', import.meta.url));

describe.each(['embedded', 'redis'] as const)('people are asked only where it helps, on %s', (kind) => {
  const staging = stagingOn(kind);

  it.each(rowsOf('alone', string, string, string))('%s: %s', async (rule, code, because) => {
    const { alone, approved } = await askedAbout(await staging(), [policyOf('one', [rule])]);
    expect(alone).toMatchObject({ code, because: expect.stringContaining(because) });
    expect(approved.verdict === 'SUCCESS').toBe(code === 'AWAITING_APPROVAL' || code === 'APPROVED');
  });

  it.each(rowsOf('under', string, string, string))('under %s, %s: %s', async (when, rule, code) => {
    const { alone, approved } = await askedAbout(await staging(), [policyOf('one', [rule], when)]);
    expect(alone.code).toBe(code);
    expect(approved.verdict === 'SUCCESS').toBe(code === 'AWAITING_APPROVAL');
  });

  it('whatever the policies', { timeout: 120_000 }, async () => {
    const codes = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(policies, async (drawn) => {
        let counters = 60;
        const texts = drawn.map(({ entries, when }, at) =>
          // Two rules of a policy must not count under one counter.
          policyOf(`policy-${at}`, entries, when).replaceAll('LENGTH', () => `${++counters}m`),
        );
        // Nor may two of its lock-outs, whose counter does not depend on the length.
        fc.pre(texts.every((text) => text.split('lock-out').length <= 2));
        const { alone, approved } = await askedAbout(await staging(), texts);
        codes.set(alone.code, (codes.get(alone.code) ?? 0) + 1);
        const helps = alone.verdict === 'FAILURE' && approved.verdict === 'SUCCESS';
        expect([alone.code, helps]).toEqual([alone.code, alone.code === 'AWAITING_APPROVAL']);
      }),
      { numRuns: 150 },
    );
    // Chance has been everywhere.
    expect([...codes.keys()]).toEqual(
      expect.arrayContaining(['AWAITING_APPROVAL', 'RULE_REFUSED', 'NO_POLICY', 'APPROVED']),
    );
  });
});
