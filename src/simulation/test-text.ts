import { type RuleReport, wordOf } from '../policy/explain.ts';
import { columns, counted, isoTime, printable } from '../values/text.ts';
import type { CallbackResult, Coverage, TestReport, TestResult } from './run-tests.ts';

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
