import type { Coverage } from '../../simulation/coverage.ts';
import type { CallbackResult, TestReport, TestResult, RuleReport } from '../../simulation/run-tests.ts';
import { columns, counted, isoTime, printable } from '../print.ts';

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
