import { describe, expect, it } from 'vitest';
import { rules } from '../../src/policy/rules/registry.ts';
import { differencesOf, runTests } from '../../src/simulation/run-tests.ts';
import { everySuite } from './rule-cases.ts';
import { runOn, stagingOn } from './staged.ts';

const suites = await everySuite();

describe.each(['embedded', 'redis'] as const)('as its page shows it, each rule decides, on %s', (kind) => {
  const staging = stagingOn(kind);

  describe.each(suites)('$of', ({ release, tests }) => {
    it.each(tests.map((test) => [test.name, test] as const))('%s', async (_, test) => {
      const found = await runOn(await staging(), release, test);
      expect(found).toHaveLength(test.callbacks.length);
      const differences = test.callbacks.map(({ line, expect: expected }, index) => {
        const was = found[index];
        return {
          line,
          differences: was === undefined ? ['nothing was found'] : differencesOf(expected, was),
        };
      });
      expect(differences.filter((each) => each.differences.length > 0)).toEqual([]);
      // What `policy test` says of it is what production does, to the last word.
      expect(found).toEqual(runTests(release, [test]).tests[0]?.callbacks.map((each) => each.found));
    });
  });
});

it.each(rules)('the tests of $name have it pass and refuse', ({ name }) => {
  const suite = suites.find(({ of }) => of === name);
  const { coverage } =
    suite === undefined ? { coverage: { rules: [] } } : runTests(suite.release, suite.tests);
  const own = coverage.rules.filter(({ rule }) => rule.includes(`/${name}#`));
  expect(own.some(({ passed }) => passed > 0)).toBe(true);
  expect(own.some(({ refused }) => refused > 0)).toBe(name !== 'pass');
});
