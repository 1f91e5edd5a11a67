import { describe, expect, it } from 'vitest';
import { formatFault } from '../../../src/policy/fault.ts';
import type { Release } from '../../../src/policy/release.ts';
import { rules } from '../../../src/policy/rules/registry.ts';
import type { Rule } from '../../../src/policy/rules/rule.ts';
import { readTestFiles } from '../../../src/policy/suite/read.ts';
import type { PolicyTest } from '../../../src/policy/suite/suite.ts';
import { compileForPush } from '../../../src/release/check.ts';
import { runTests } from '../../../src/simulation/run-tests.ts';
import { ASSETS_FILE } from '../../../src/policy/assets.ts';
import { rulePage } from './pages.ts';

function exampleOf({ name }: Rule): Release {
  const { example, files } = rulePage(name);
  const policies = [{ name: `${name}.yaml`, text: example }];
  const assets = files[ASSETS_FILE];
  const all = assets === undefined ? policies : [...policies, { name: ASSETS_FILE, text: assets }];
  const compiled = compileForPush(all, (file) => files[file]);
  if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
  return compiled.release;
}

function casesOf({ name }: Rule): readonly PolicyTest[] {
  const { cases } = rulePage(name);
  const read = readTestFiles([{ name: `${name}.test.yaml`, text: cases }]);
  if (!read.ok) throw new Error(read.faults.map(formatFault).join('\n'));
  return read.tests;
}

describe.each(rules.map((rule) => [rule.name, rule] as const))('the example of %s', (name, rule) => {
  it('does in its tests what they promise', () => {
    const { tests } = runTests(exampleOf(rule), casesOf(rule));
    const wrong = tests.flatMap(({ test, line, callbacks }) =>
      callbacks.flatMap(({ differences, found }) =>
        differences.map(
          (difference) => `${name}.test.yaml:${line}: ${test}: ${difference} (${found.because})`,
        ),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('passes in one test and refuses in another', () => {
    const { coverage } = runTests(exampleOf(rule), casesOf(rule));
    const own = coverage.rules.filter((each) => each.rule.includes(`/${name}#`));
    expect(own.some(({ passed }) => passed > 0)).toBe(true);
    expect(own.some(({ refused }) => refused > 0)).toBe(name !== 'pass');
  });
});
