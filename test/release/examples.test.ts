import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readHere } from '../../tools/generate/marks.ts';
import { releaseWarnings } from '../../src/release/check.ts';
import { exampleNames, examplesPage } from '../../tools/generate/examples.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { runTests } from '../../src/simulation/run-tests.ts';
import { readTests } from '../../src/simulation/test-files.ts';

const names = await exampleNames();

it('a page lists the examples', async () => {
  const [path, page] = await examplesPage(readHere);
  expect(readFileSync(path, 'utf8')).toBe(page);
});

describe.each(names)('docs/examples/%s', (name) => {
  const folder = `docs/examples/${name}`;

  it('says what it is for, and has no warning', async () => {
    const release = await readPolicyDirectory(folder);
    expect(release.document.match(/"description":/g)).toHaveLength(release.policies.length);
    expect(releaseWarnings(release)).toEqual([]);
  });

  it('tests each rule with callbacks that pass and callbacks that it refuses', async () => {
    const release = await readPolicyDirectory(folder);
    const { coverage } = runTests(release, await readTests(folder));
    const untested = coverage.rules.filter(
      ({ rule, mode, passed, refused }) =>
        mode === 'enforce' && (passed === 0 || (refused === 0 && !rule.includes('/pass#'))),
    );
    expect(untested).toEqual([]);
  });
});
