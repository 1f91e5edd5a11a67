import { CountersignError } from '../../errors.ts';
import { type ReleaseDiff, diffReleases } from '../../policy/diff.ts';
import type { Release } from '../../policy/release.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { named, pushRelease } from '../../release/push.ts';
import { readTests } from '../../simulation/files.ts';
import { type TestReport, runTests } from '../../simulation/run-tests.ts';
import { freezeText } from '../../store/freezes.ts';
import type { Store } from '../../store/store.ts';
import { type Call, type CommandRow, byOption, neededMessage } from '../command.ts';
import { guarded } from '../doctor/finding.ts';
import { checkRelease } from '../doctor/policies.ts';
import { printable } from '../print.ts';
import type { Session } from '../session.ts';
import { takenNote } from '../taken-note.ts';
import { diffText } from './diff-text.ts';
import { reportJson, reportText, summaryText } from './test.ts';
import { sizeOf, sizeText } from './validate.ts';

const SKIPPED = ' (tests skipped)';

export const policyPush: CommandRow = {
  path: 'policy push',
  summary: 'Put policy files in force, on every replica, once their tests pass.',
  example:
    'policy push --message "limit raised, see RISK-12"\npolicy push config/policies --message "as reviewed" --expect 3f9a1c04d2b7\npolicy push --dry-run',
  define: (command) =>
    byOption(command.argument('[directory]', 'where they are (default: policies.directory of the settings)'))
      .option('--message <text>', 'why, for the history; only --dry-run needs none')
      .option(
        '--expect <revision>',
        'push only if this one, or one that begins so, is in force; `none` if nothing is (default: what is in force now)',
      )
      .option('--dry-run', 'do everything but the push')
      .option('--skip-tests', 'push without running the tests; the message will say so'),
  async run(session, call) {
    const message = call.flag('dryRun') ? '' : neededMessage(call);
    const [directory = session.settings().policies.directory] = call.arguments;
    const release = await readPolicyDirectory(directory);
    const skipped = call.flag('skipTests');
    const report = skipped ? undefined : await tested(session, release, directory);
    if (report !== undefined && report.failed > 0) return refused(session, report);
    const store = await session.store();
    const { revision: before, frozen } = await store.control();
    const said = {
      before,
      revision: release.revision,
      ...sizeOf(release),
      tests: report === undefined ? 'skipped' : { passed: report.passed },
    };
    if (release.revision === before) {
      session.print(`${named(before)} is in force already: nothing to push.`, { pushed: false, ...said });
      return 0;
    }
    const needs = await guarded('policies', () => checkRelease(session.settings(), store, release));
    const warnings = needs.map(({ because }) => because);
    for (const warning of warnings) session.report(`Warning: ${warning}.`);
    const diff = await compared(store, before, release);
    const shown = `${typeof diff === 'string' ? diff : diffText(diff)}\n${testsText(report)}`;
    if (call.flag('dryRun')) {
      const text = `Would be in force: ${named(before)} → ${named(release.revision)}, ${sizeText(release)}. Nothing was pushed.`;
      session.print(`${shown}\n${text}`, { pushed: false, ...said, diff, warnings });
      return 0;
    }
    const { sequence } = await pushRelease(store, {
      release,
      expected: expectedOf(call, before),
      by: session.by,
      message: skipped ? `${message}${SKIPPED}` : message,
    });
    session.print(
      `${shown}\nIn force: ${named(before)} → ${named(release.revision)}, ${sizeText(release)}.`,
      {
        pushed: true,
        ...said,
        sequence,
        diff,
        warnings,
        services: await takenNote(session, { sequence }),
      },
    );
    if (frozen.length > 0) {
      const stand = frozen.map((freeze) => `  ${printable(freezeText(freeze))}`).join('\n');
      session.report(`All is frozen; \`countersign unfreeze\` lets approvals through again.\n${stand}`);
    }
    return 0;
  },
};

async function tested(session: Session, release: Release, directory: string): Promise<TestReport> {
  const tests = await readTests(directory);
  const report = runTests(release, tests, (done) => session.progress(`${done} of ${tests.length} tests`));
  session.progress('');
  return report;
}

function refused(session: Session, report: TestReport): 1 {
  const cure = 'Nothing was pushed; mend the policies or their tests, or give --skip-tests.';
  session.print(`${reportText(report, { coverage: false })}\n${cure}`, {
    pushed: false,
    tests: reportJson(report),
  });
  return 1;
}

function testsText(report: TestReport | undefined): string {
  if (report === undefined) return 'The tests were skipped.';
  return report.passed === 0 ? 'There are no tests, so nothing was tried.' : summaryText(report);
}

/**
 * What the push changes; or why that can't be told, which must not keep anybody from mending it by a push.
 */
async function compared(store: Store, before: string, release: Release): Promise<ReleaseDiff | string> {
  try {
    const document = before === '' ? undefined : await store.document(before);
    return before !== '' && document === undefined
      ? `What differs is not known: the store does not hold revision ${named(before)}, which is in force.`
      : diffReleases(document, release.document);
  } catch (thrown) {
    if (!(thrown instanceof CountersignError && thrown.code === 'STORE_CORRUPT')) throw thrown;
    return `What differs is not known: ${thrown.message}`;
  }
}

/**
 * What the store is to compare with: the full name of what is in force if that is meant, else what cannot be
 * in force.
 */
function expectedOf(call: Call, inForce: string): string {
  const expect = call.option('expect');
  if (expect === undefined) return inForce;
  if (expect === 'none') return '';
  const wanted = expect.toLowerCase();
  return wanted.length >= 4 && inForce.startsWith(wanted) ? inForce : wanted;
}
