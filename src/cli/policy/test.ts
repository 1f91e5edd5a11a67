import { CountersignError } from '../../errors.ts';
import type { RuleReport } from '../../policy/explain.ts';
import type { PolicyTest } from '../../policy/suite/suite.ts';
import { TESTS_DIRECTORY, readPolicyDirectory } from '../../release/files.ts';
import { readTests } from '../../simulation/test-files.ts';
import {
  type CallbackResult,
  type Coverage,
  type TestReport,
  type TestResult,
  runTests,
} from '../../simulation/run-tests.ts';
import type { Call, CommandRow } from '../command.ts';
import { wordOf } from '../decisions/decision.ts';
import { columns, counted, isoTime, printable } from '../print.ts';

const PROGRESS_EVERY = 20;

export const policyTest: CommandRow = {
  path: 'policy test',
  summary:
    'Run the tests of policy files. Their callbacks are decided as in production and compared with ' +
    'the expectations.',
  example:
    'policy test\n' +
    'policy test config/policies --only "above the limit"\n' +
    'policy test --require-coverage --json',
  define: (command) =>
    command
      .argument('[directory]', 'where the policies are (default: policies.directory of the settings)')
      .option('--only <text>', 'run only tests whose name or file contains this text')
      .option('--require-coverage', 'exit 1 unless every enforced rule passed and refused at least once'),
  async run(session, call) {
    const only = call.option('only');
    const covered = call.flag('requireCoverage');
    if (only !== undefined && covered) {
      throw new CountersignError('USAGE', '--require-coverage needs all tests. Leave --only out');
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

/** Without tests, the command fails. */
function nothingRun(directory: string, call: Call): string {
  const only = call.option('only');
  return only === undefined
    ? `There are no tests in ${directory}/${TESTS_DIRECTORY}, so none was run. Write some into a ` +
        'file whose name ends in .test.yaml.'
    : `No test of ${directory} has ${JSON.stringify(only)} in its name or file, so none was run.`;
}

/**
 * A report of tests as text: the failed tests with the results of all rules, a summary, and rules without
 * coverage.
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
  const rows = rules.map((rule) => [
    `      ${wordOf(rule)}`,
    `${rule.policy}/${rule.rule}`,
    printable(`${rule.because}${valuesText(rule.values)}`),
  ]);
  return columns(rows).split('\n');
}

function valuesText(values: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  return pairs.length === 0 ? '' : ` [${pairs.join(', ')}]`;
}

function coverageText({ rules, complete }: Coverage): string {
  if (complete) return 'Every enforced rule passed and refused at least once.';
  const uncovered = rules
    .filter(({ passed, refused }) => passed === 0 || refused === 0)
    .map(({ rule, mode, passed, refused }) => {
      const what = passed + refused === 0 ? 'never ran' : passed === 0 ? 'never passed' : 'never refused';
      return [`  ${what}`, `${rule}${mode === 'observe' ? ' (only observes)' : ''}`];
    });
  return `Not covered by these tests:\n${columns(uncovered)}`;
}

/** The report as JSON: every callback with its expectation and its result. */
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
