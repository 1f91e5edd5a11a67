import { ERRORS, FAILURES } from '../../src/errors.ts';
import { CLOSED, UNSERVED } from '../../src/http/load.ts';
import { DECISION_REASONS } from '../../src/policy/explain.ts';
import { NOTIFICATION_REASONS } from '../../src/store/store.ts';
import { type GeneratedFile, type ReadFile, pageWith } from './marks.ts';

/** The page of all codes. */
export const codesPage = (read: ReadFile): GeneratedFile => pageWith(codes(), 'docs/codes.md', read);

function codes(): string {
  const decisions = {
    ...DECISION_REASONS,
    RULE_REFUSED: `a rule refuses, or ${DECISION_REASONS['RULE_REFUSED']}`,
  };
  const failures = Object.entries(FAILURES).flatMap(([step, meanings]) =>
    Object.entries(meanings).map(([code, meaning]) => [code, meaning, step]),
  );
  const errors = Object.entries(ERRORS).map(([code, row]) => [
    code,
    row.meaning,
    String(row.exit),
    'status' in row ? String(row.status) : '',
  ]);
  return [
    section('Decisions', ['meaning'], [['APPROVED', 'approved'], ...Object.entries(decisions)]),
    section('Notifications', ['meaning'], Object.entries(NOTIFICATION_REASONS)),
    section('Callbacks that are answered FAILURE without a decision', ['meaning', 'step'], failures),
    section(
      'Requests and connections that are not served',
      ['meaning'],
      [...Object.values(UNSERVED), ...Object.entries(CLOSED)],
    ),
    section('Errors of commands and of the API', ['meaning', 'exit code', 'status'], errors),
  ].join('\n\n');
}

function section(title: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = rows.map(([code, ...cells]) => row([`\`${code}\``, ...cells]));
  return [
    `## ${title}`,
    '',
    row(['code', ...columns]),
    row(['---', ...columns.map(() => '---')]),
    ...lines,
  ].join('\n');
}

const row = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
