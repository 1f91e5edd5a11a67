import { CountersignError } from '../../errors.ts';
import { type ReleaseDiff, diffReleases } from '../../policy/diff.ts';
import type { Release } from '../../policy/release.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { conflict, pushRelease, shortRevision } from '../../release/push.ts';
import { readTests } from '../../simulation/test-files.ts';
import { type TestReport, runTests } from '../../simulation/run-tests.ts';
import { freezeText } from '../../store/freezes.ts';
import type { Store } from '../../store/store.ts';
import { type Call, type CommandRow, byOption, requiredMessage } from '../command.ts';
import { guarded } from '../doctor/finding.ts';
import { checkRelease } from '../doctor/policies.ts';
import { printable } from '../print.ts';
import type { Session } from '../session.ts';
import { servicesThatApplied } from '../services.ts';
import { diffText } from './diff-text.ts';
import { reportJson, reportText, summaryText } from './test.ts';
import { sizeOf, sizeText } from './validate.ts';

const SKIPPED = ' (tests skipped)';

export const policyPush: CommandRow = {
  path: 'policy push',
  summary: 'Run the tests of policy files, and put the files in force on every replica.',
  example:
    'policy push --message "limit raised, see RISK-12"\n' +
    'policy push config/policies --message "as reviewed" --expect 3f9a1c04d2b7\n' +
    'policy push --dry-run',
  define: (command) =>
    byOption(
      command.argument('[directory]', 'the policy files (default: policies.directory of the settings)'),
    )
      .option('--message <text>', 'the reason, for the history; required except with --dry-run')
      .option(
        '--expect <revision>',
        'push only if this revision, or its beginning, is in force; `none` for no policies ' +
          '(default: the one in force now)',
      )
      .option('--dry-run', 'do everything except the push')
      .option('--skip-tests', 'push without running the tests; the history will say so'),
  async run(session, call) {
    const message = call.flag('dryRun') ? '' : requiredMessage(call);
    const [directory = session.settings().policies.directory] = call.arguments;
    const release = await readPolicyDirectory(directory);
    const skipped = call.flag('skipTests');
    const report = skipped ? undefined : await runPolicyTests(session, release, directory);
    if (report !== undefined && report.failed > 0) return refused(session, report);
    const store = await session.store();
    const { revision: before, frozen } = await store.control();
    const facts = {
      before,
      revision: release.revision,
      ...sizeOf(release),
      tests: report === undefined ? 'skipped' : { passed: report.passed },
    };
    if (release.revision === before) {
      session.print(`${shortRevision(before)} is already in force. Nothing to push.`, {
        pushed: false,
        ...facts,
      });
      return 0;
    }
    const findings = await guarded('policies', () => checkRelease(session.settings(), store, release));
    const warnings = findings.map(({ because }) => because);
    for (const warning of warnings) session.report(`Warning: ${warning}.`);
    const diff = await diffWithInForce(store, before, release);
    const shown = `${typeof diff === 'string' ? diff : diffText(diff)}\n${testsText(report)}`;
    const expected = expectedOf(call, before);
    if (call.flag('dryRun')) {
      if (expected !== before) throw conflict(before, expected, release.revision);
      const change = `${shortRevision(before)} → ${shortRevision(release.revision)}, ${sizeText(release)}`;
      const text = `Would be in force: ${change}. Nothing was pushed.`;
      session.print(`${shown}\n${text}`, { pushed: false, ...facts, diff, warnings });
      return 0;
    }
    const { sequence } = await pushRelease(store, {
      release,
      expected,
      by: session.by,
      message: skipped ? `${message}${SKIPPED}` : message,
    });
    session.print(
      `${shown}\nIn force: ${shortRevision(before)} → ${shortRevision(release.revision)}, ${sizeText(release)}.`,
      {
        pushed: true,
        ...facts,
        sequence,
        diff,
        warnings,
        services: await servicesThatApplied(session, { sequence }),
      },
    );
    if (frozen.length > 0) {
      const list = frozen.map((freeze) => `  ${printable(freezeText(freeze))}`).join('\n');
      session.report(`Approvals are frozen. \`countersign unfreeze\` lifts the freezes.\n${list}`);
    }
    return 0;
  },
};

async function runPolicyTests(session: Session, release: Release, directory: string): Promise<TestReport> {
  const tests = await readTests(directory);
  const report = runTests(release, tests, (done) => session.progress(`${done} of ${tests.length} tests`));
  session.progress('');
  return report;
}

function refused(session: Session, report: TestReport): 1 {
  const fix = 'Nothing was pushed. Correct the policies or their tests, or give --skip-tests.';
  session.print(`${reportText(report, { coverage: false })}\n${fix}`, {
    pushed: false,
    tests: reportJson(report),
  });
  return 1;
}

function testsText(report: TestReport | undefined): string {
  if (report === undefined) return 'The tests were skipped.';
  return report.passed === 0 ? 'There are no tests.' : summaryText(report);
}

/**
 * The changes that the push makes, or a sentence that says why they are not known. Even then a push must be
 * possible, because it may repair the store.
 */
async function diffWithInForce(
  store: Store,
  before: string,
  release: Release,
): Promise<ReleaseDiff | string> {
  try {
    const document = before === '' ? undefined : await store.document(before);
    return before !== '' && document === undefined
      ? `The difference is not known: the store does not have revision ${shortRevision(before)}, which is in force.`
      : diffReleases(document, release.document);
  } catch (thrown) {
    if (!(thrown instanceof CountersignError && thrown.code === 'STORE_CORRUPT')) throw thrown;
    return `The difference is not known: ${thrown.message}`;
  }
}

/**
 * The revision that must be in force for the push. A beginning of the revision in force stands for the whole
 * revision.
 */
function expectedOf(call: Call, inForce: string): string {
  const expect = call.option('expect');
  if (expect === undefined) return inForce;
  if (expect === 'none') return '';
  const wanted = expect.toLowerCase();
  return wanted.length >= 4 && inForce.startsWith(wanted) ? inForce : wanted;
}
