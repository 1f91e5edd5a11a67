import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { commandLine } from '../command-line.ts';
import { MUTANTS, type Mutant } from './mutants.ts';

/*
 * Shows that the tests notice what must not happen: makes one fault at a time in a copy of the source, and
 * runs the tests that must fail. Ends with 1 if a fault goes unnoticed, or if the tests fail without one.
 */

const ROOT = join(import.meta.dirname, '../..');
const NOT_COPIED: ReadonlySet<string> = new Set(['node_modules', '.git', 'data']);

const options = z
  .object({ only: z.string().optional() })
  .parse(
    commandLine('mutants', 'Makes one fault at a time, and shows that tests notice it.', '--only "(Redis)"')
      .option('--only <text>', 'the faults whose names contain this')
      .parse()
      .opts(),
  );
const { only = '' } = options;
const chosen = MUTANTS.filter(({ name }) => name.includes(only));
if (chosen.length === 0) {
  console.error(`no fault has ${only} in its name; without --only, all are made`);
  process.exit(2);
}

const copy = mkdtempSync(join(tmpdir(), 'countersign-mutants-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
cpSync(ROOT, copy, {
  recursive: true,
  filter: (path) => !NOT_COPIED.has(path.slice(ROOT.length + 1)),
});
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));

const summary = z.object({ numFailedTests: z.number(), numPassedTests: z.number() });

/** How many of the tests fail and pass in the copy. */
async function runTests(files: readonly string[]): Promise<z.output<typeof summary>> {
  const report = join(copy, 'mutants-report.json');
  rmSync(report, { force: true });
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const args = ['run', '--reporter=json', `--outputFile=${report}`, ...files];
  const child = spawn(process.execPath, [vitest, ...args], {
    cwd: copy,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const errors = await text(child.stderr);
  try {
    return summary.parse(JSON.parse(readFileSync(report, 'utf8')));
  } catch {
    throw new Error(`the tests did not run: ${errors.slice(-2000)}`);
  }
}

/** Undefined if the fault is noticed, else what happened in its place. */
async function problemWith({ file, from, to, caughtBy }: Mutant): Promise<string | undefined> {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  const [before = '', after, ...more] = source.split(from);
  if (after === undefined || more.length > 0) {
    return `${file} has its text ${more.length + (after === undefined ? 0 : 1)} times, not once`;
  }
  writeFileSync(path, before + to + after);
  try {
    const { numFailedTests, numPassedTests } = await runTests(caughtBy);
    if (numFailedTests > 0) return undefined;
    return numPassedTests > 0 ? `all ${numPassedTests} tests pass` : 'no test ran: the fault prevents it';
  } finally {
    writeFileSync(path, source);
  }
}

const files = [...new Set(chosen.flatMap(({ caughtBy }) => caughtBy))];
const without = await runTests(files);
console.log(`without a fault: ${without.numPassedTests} tests pass, ${without.numFailedTests} fail`);
let unnoticed = without.numFailedTests;
for (const [at, mutant] of chosen.entries()) {
  const problem = await problemWith(mutant);
  if (problem !== undefined) unnoticed += 1;
  console.log(`${at + 1}/${chosen.length} ${mutant.name}: ${problem ?? 'noticed'}`);
}
process.exitCode = unnoticed === 0 ? 0 : 1;
