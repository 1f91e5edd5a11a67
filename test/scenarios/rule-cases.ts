import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatFault } from '../../src/policy/fault.ts';
import type { Release } from '../../src/policy/release.ts';
import { rules } from '../../src/policy/rules/registry.ts';
import type { Rule } from '../../src/policy/rules/rule.ts';
import { readTestFiles } from '../../src/policy/suite/read.ts';
import type { PolicyTest } from '../../src/policy/suite/suite.ts';
import { readTests } from '../../src/simulation/test-files.ts';
import { compileForPush } from '../../src/release/check.ts';
import { exampleNames } from '../../tools/generate/examples.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { rulePage } from '../policy/rules/pages.ts';

/** A release with tests of it. */
export interface Suite {
  readonly of: string;
  readonly release: Release;
  readonly tests: readonly PolicyTest[];
}

const POLICIES = fileURLToPath(new URL('../../config/policies', import.meta.url));

const EXAMPLES = fileURLToPath(new URL('../../docs/examples', import.meta.url));

/**
 * Of every rule there is its example with the tests that its page shows; then the policies that come along,
 * with theirs; and the examples of the documentation.
 */
export async function everySuite(): Promise<readonly Suite[]> {
  const tests = await readTests(POLICIES);
  const release = await readPolicyDirectory(POLICIES);
  const examples = await Promise.all((await exampleNames(EXAMPLES)).map(exampleSuite));
  const all = [...rules.map(suiteOf), { of: 'config/policies', release, tests }, ...examples];
  return all.filter((suite) => suite.tests.length > 0);
}

async function exampleSuite(name: string): Promise<Suite> {
  const folder = join(EXAMPLES, name);
  const [release, tests] = await Promise.all([readPolicyDirectory(folder), readTests(folder)]);
  return { of: `docs/examples/${name}`, release, tests };
}

function suiteOf({ name }: Rule): Suite {
  const { example, files, cases } = rulePage(name);
  const policies = Object.entries({ ...files, [`${name}.yaml`]: example })
    .filter(([file]) => file.endsWith('.yaml'))
    .map(([file, text]) => ({ name: file, text }));
  const compiled = compileForPush(policies, (file) => files[file]);
  if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
  const read = readTestFiles([{ name: `${name}.test.yaml`, text: cases }]);
  if (!read.ok) throw new Error(read.faults.map(formatFault).join('\n'));
  return { of: name, release: compiled.release, tests: read.tests };
}
