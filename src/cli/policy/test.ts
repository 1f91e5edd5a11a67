import { CountersignError } from '../../errors.ts';
import type { PolicyTest } from '../../policy/suite/suite.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { TESTS_DIRECTORY, readTests } from '../../simulation/files.ts';
import {
  type CallbackResult,
  type Coverage,
  type RuleReport,
  type TestReport,
  type TestResult,
  runTests,
} from '../../simulation/run-tests.ts';
import type { Call, CommandRow } from '../command.ts';
import { columns, counted, isoTime, printable } from '../print.ts';

const PROGRESS_EVERY = 20;

export const policyTest: CommandRow = {
  path: 'policy test',
  summary:
    'Run the tests of policy files: callbacks that are decided as in production, and what must come out.',
  example:
    'policy test\npolicy test config/policies --only "above the limit"\npolicy test --require-coverage --json',
  define: (command) =>
    command
      .argument('[directory]', 'where the policies are (default: policies.directory of the settings)')
      .option('--only <text>', 'only tests whose name, or file, contains this')
      .option('--require-coverage', 'exit 1 unless every rule that enforces was made to pass and to refuse'),
  async run(session, call) {
    const only = call.option('only');
    const covered = call.flag('requireCoverage');
    if (only !== undefined && covered) {
      throw new CountersignError('USAGE', '--require-coverage is about all tests; leave --only out');
    }
    const [directory = session.settings().policies.directory] = call.arguments;
    const release = await readPolicyDirectory(directory);
    const tests = chosenTests(await readTests(directory), only);
    const report = runTests(release, tests, (done) => {
      if (done % PROGRESS_EVERY === 0) session.progress(`${done} of ${tests.length} tests`);
    });
    session.progress('');
    if (tests.length === 0) {
      session.print(nothingRun(directory, call), { ...reportJson(report), revision: release.revision });
      return 1;
    }
    const text = reportText(report, { coverage: only === undefined });
    session.print(text, { ...reportJson(report), revision: release.revision });
    return report.failed > 0 || (covered && !report.coverage.complete) ? 1 : 0;
  },
};

function chosenTests(tests: readonly PolicyTest[], only: string | undefined): readonly PolicyTest[] {
  return only === undefined
    ? tests
    : tests.filter(({ name, file }) => name.includes(only) || file.includes(only));
}

/** No test is no pass. */
function nothingRun(directory: string, call: Call): string {
  const only = call.option('only');
  return only === undefined
    ? `There are no tests in ${directory}/${TESTS_DIRECTORY}, so nothing was tried; write some into a file that ends in .test.yaml.`
    : `No test of ${directory} has ${JSON.stringify(only)} in its name or file, so nothing was tried.`;
}

/**
 * What came of tests, for people: those that failed with what every rule said, a summary, and what was not
 * covered.
 */
export function reportText(report: TestReport, show: { readonly coverage: boolean }): string {
  const failed = report.tests.filter(({ passed }) => !passed);
  return [
    ...failed.map(failureText),
    summaryText(report),
    ...(show.coverage ? [coverageText(report.coverage)] : []),
  ].join('\n');
}

/** `12 tests passed`, `2 of 12 tests failed`. */
export function summaryText({ passed, failed }: TestReport): string {
  const all = passed + failed;
  return failed === 0 ? `${counted(all, 'test')} passed.` : `${failed} of ${counted(all, 'test')} failed.`;
}

function failureText({ file, line, test, callbacks }: TestResult): string {
  const wrong = callbacks.filter(({ differences }) => differences.length > 0);
  return [
    `FAILED  ${file}:${line}  ${printable(test)}`,
    ...wrong.map((each) => wrongText(file, each)),
    '',
  ].join('\n');
}

function wrongText(file: string, callback: CallbackResult): string {
  const { line, source, subject, atMs, found, differences, rules } = callback;
  return [
    `  ${file}:${line}  ${printable(`${source}  ${subject}`)}  at ${isoTime(atMs)}`,
    ...differences.map((difference) => `    ${printable(difference)}`),
    `    ${found.verdict} ${found.code} because ${printable(found.because)}`,
    ...ruleLines(rules),
  ].join('\n');
}

function ruleLines(rules: readonly RuleReport[]): readonly string[] {
  if (rules.length === 0) return [];
  const rows = rules.map(({ policy, rule, mode, verdict, because, values }) => [
    `      ${verdict === 'SUCCESS' ? 'pass' : 'refuse'}`,
    `${policy}/${rule}`,
    printable(`${because}${mode === 'observe' ? ' (only observes)' : ''}${valuesText(values)}`),
  ]);
  return columns(rows).split('\n');
}

function valuesText(values: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  return pairs.length === 0 ? '' : ` [${pairs.join(', ')}]`;
}

function coverageText({ rules, complete }: Coverage): string {
  if (complete) return 'Every rule that enforces was made to pass and to refuse.';
  const lacking = rules
    .filter(({ passed, refused }) => passed === 0 || refused === 0)
    .map(({ rule, mode, passed, refused }) => {
      const what = passed + refused === 0 ? 'never ran' : passed === 0 ? 'never passed' : 'never refused';
      return [`  ${what}`, `${rule}${mode === 'observe' ? ' (only observes)' : ''}`];
    });
  return `Not covered by these tests:\n${columns(lacking)}`;
}

/** The same for machines: every callback with what was expected and found. */
export function reportJson({ passed, failed, tests, coverage }: TestReport) {
  return {
    passed,
    failed,
    tests: tests.map(({ callbacks, ...test }) => ({
      ...test,
      callbacks: callbacks.map(({ atMs, ...callback }) => ({ ...callback, at: isoTime(atMs) })),
    })),
    coverage,
  };
}
