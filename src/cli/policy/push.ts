import { perform } from '../../act/act.ts';
import { pushPolicies, rollBackPolicies } from '../../act/policies.ts';
import { usageError } from '../../errors.ts';
import type { Release } from '../../policy/release.ts';
import { sizeOf, sizeText } from '../../release/check.ts';
import { type PushDiff, diffFrom, diffOrReason } from '../../release/diff-text.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { type UnmatchedValues, unmatchedText } from '../../release/lists.ts';
import { type Origin, noteOrigin, originOf, staleConflict, staleFiles } from '../../release/origin.ts';
import { conflict, findRollback, shortRevision } from '../../release/push.ts';
import { keptFiles } from '../../release/sources.ts';
import { type TestReport, runTests } from '../../simulation/run-tests.ts';
import { readTests } from '../../simulation/test-files.ts';
import { reportText, summaryText } from '../../simulation/test-text.ts';
import { lacksOf, unmatchedInStore } from '../../start/policies.ts';
import { freezeText } from '../../store/freezes.ts';
import type { Freeze, Store } from '../../store/store.ts';
import { type Call, type CommandRow, byOption, messageOption, requiredMessage } from '../command.ts';
import { attempt } from '../doctor/finding.ts';
import { counted, printable } from '../print.ts';
import { servicesThatApplied } from '../services.ts';
import type { Session } from '../session.ts';
import { sourceNames } from '../sources.ts';
import { reportJson } from './check.ts';
import { keyOption, policyParts, signedByCaller } from './signing.ts';

const SKIPPED = ' (tests skipped)';
const NO_REASON = 'no reason given';
const NAMES_SHOWN = 5;

export const policyPush: CommandRow = {
  path: pushPolicies.name,
  summary: pushPolicies.summary,
  example:
    'policy push --message "limit raised, see RISK-12"\n' +
    'policy push config/policies --message "as reviewed" --expect 3f9a1c04d2b7\n' +
    'policy push --dry-run',
  define: (command) =>
    keyOption(
      byOption(
        command.argument('[directory]', 'the policy files (default: policies.directory of the settings)'),
      ),
    )
      .option(
        '--message <text>',
        'the reason, for the history; required, unless --yes is given, if the push may loosen the policies',
      )
      .option('--yes', 'push without a reason and without a question')
      .option(
        '--expect <revision>',
        'push only if this revision, or its beginning, is in force; `none` for no policies ' +
          '(default: the one in force now, unless the files come from an earlier one)',
      )
      .option('--dry-run', 'do everything except the push')
      .option('--skip-lists', 'push although lists in the store have values that no callback can match')
      .option('--skip-tests', 'push without running the tests; the history will say so'),
  async run(session, call) {
    const message = call.option('message') === undefined ? undefined : requiredMessage(call);
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
    const origin = originOf(session.settings().store, directory);
    if (release.revision === before) {
      await noteOrigin(origin, before);
      session.print(`${shortRevision(before)} is already in force. Nothing to push.`, {
        pushed: false,
        ...facts,
      });
      return 0;
    }
    const lacks = await attempt(() => lacksOf(session.settings(), store, release));
    const warnings = lacks.ok ? lacks.value : [lacks.fault.because];
    for (const warning of warnings) session.report(`Warning: ${warning}.`);
    const lists = await unmatchedInStore(session.settings(), store, release);
    if (lists.length > 0 && !call.flag('skipLists')) return refusedForLists(session, lists);
    for (const list of lists) session.report(`Warning: ${unmatchedText(list)}.`);
    const sources = sourceNames(session);
    const diff = await diffFrom(store, { before, release, sources });
    const shown = `${diffOrReason(diff)}\n${testsText(report)}`;
    const expected = await checkedExpectation(call, store, { origin, release, inForce: before });
    if (call.flag('dryRun')) {
      const change = `${shortRevision(before)} → ${shortRevision(release.revision)}, ${sizeText(release)}`;
      const text = `Would be in force: ${change}. Nothing was pushed.`;
      session.print(`${shown}\n${text}`, { pushed: false, ...facts, diff, warnings });
      return 0;
    }
    if (message === undefined && !call.flag('yes') && !(await isConfirmed(session, diff))) {
      session.print('Nothing was pushed.', { pushed: false, ...facts, diff, warnings });
      return 1;
    }
    const given = {
      revision: release.revision,
      document: release.document,
      files: await keptFiles(directory, release.document),
      expected,
      message: `${message ?? NO_REASON}${skipped ? SKIPPED : ''}`,
      signed: await signedByCaller(session, call, { release, expected, shown }),
      unsigned: call.flag('unsigned'),
    };
    const result = await perform(pushPolicies, await policyParts(session), given, session);
    const json = { pushed: 'control' in result, ...facts, ...pushPolicies.json(result), diff, warnings };
    await noteOrigin(origin, release.revision);
    if (!('control' in result)) {
      session.print(`${shown}\n${pushPolicies.text(result)}`, json);
      return 1;
    }
    session.print(`${shown}\n${pushPolicies.text(result).slice(0, -1)}, ${sizeText(release)}.`, {
      ...json,
      services: await servicesThatApplied(session, result.control),
    });
    reportFreezes(session, frozen);
    return 0;
  },
};

function reportFreezes(session: Session, frozen: readonly Freeze[]): void {
  if (frozen.length === 0) return;
  const list = frozen.map((freeze) => `  ${printable(freezeText(freeze))}`).join('\n');
  session.report(`Approvals are frozen. \`countersign unfreeze\` lifts the freezes.\n${list}`);
}

/**
 * The revision that must be in force for the push. Throws POLICY_CONFLICT if another one is, or, without
 * --expect, if the files come from an earlier one.
 */
async function checkedExpectation(
  call: Call,
  store: Store,
  { origin, release, inForce }: { origin: Origin; release: Release; inForce: string },
): Promise<string> {
  const { revision } = release;
  const expected = expectedOf(call, inForce);
  if (expected !== inForce) throw conflict(inForce, expected, revision);
  if (call.option('expect') !== undefined) return expected;
  const stale = await staleFiles(store, origin, { release, inForce });
  if (stale === undefined) return expected;
  throw staleConflict(stale, { inForce, revision, directory: origin.directory });
}

/**
 * Whether to push without a reason. A push that may loosen the policies is a question, or a USAGE error if
 * nobody can answer it.
 */
async function isConfirmed(session: Session, diff: PushDiff | string): Promise<boolean> {
  const loosens =
    typeof diff === 'string' ? ['the policies, since the difference is not known'] : diff.loosens;
  if (loosens.length === 0) return true;
  session.report(diffOrReason(diff));
  const names = loosens.slice(0, NAMES_SHOWN).map(printable).join(', ');
  const more = loosens.length - NAMES_SHOWN;
  const what = `may loosen ${names}${more > 0 ? ` and ${counted(more, 'other')}` : ''}`;
  const confirmed = await session.confirm(`The push ${what}. Push?`);
  if (confirmed !== undefined) return confirmed;
  throw usageError(`the push ${what}. Give the reason with --message, or push without one with --yes`, {
    loosens,
  });
}

async function runPolicyTests(session: Session, release: Release, directory: string): Promise<TestReport> {
  const tests = await readTests(directory);
  const report = runTests(release, tests, {
    outputs: session.settings().public.limits.outputs,
    progress: (done) => session.progress(`${done} of ${tests.length} tests`),
  });
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

function refusedForLists(session: Session, lists: readonly UnmatchedValues[]): 1 {
  const fix = 'Nothing was pushed. Correct the lists, or give --skip-lists.';
  const texts = lists.map((list) => `  ${unmatchedText(list)}.`);
  session.print(['Lists in the store that this push looks into:', ...texts, fix].join('\n'), {
    pushed: false,
    lists,
  });
  return 1;
}

function testsText(report: TestReport | undefined): string {
  if (report === undefined) return 'The tests were skipped.';
  return report.passed === 0 ? 'There are no tests.' : summaryText(report);
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

export const policyRollback: CommandRow = {
  path: rollBackPolicies.name,
  summary: rollBackPolicies.summary,
  example:
    'policy rollback previous --message "the new limit refuses too much"\n' +
    'policy rollback 3f9a1c04d2b7 --message "as before the trial"',
  define: (command) =>
    messageOption(
      keyOption(
        byOption(
          command.argument(
            '<revision>',
            'the revision, a beginning that only one revision has, or `previous`',
          ),
        ),
      ),
    ),
  async run(session, call) {
    const message = requiredMessage(call);
    const [revision = ''] = call.arguments;
    const parts = await policyParts(session);
    const { store } = parts;
    const { release, expected: before } = await findRollback(store, revision);
    const diff = await diffFrom(store, { before, release, sources: sourceNames(session) });
    const shown = diffOrReason(diff);
    const signed = await signedByCaller(session, call, { release, expected: before, shown });
    const given = { revision: release.revision, message, signed, unsigned: call.flag('unsigned') };
    const result = await perform(rollBackPolicies, parts, given, session);
    for (const list of await unmatchedInStore(session.settings(), store, release)) {
      session.report(`Warning: ${unmatchedText(list)}.`);
    }
    const services = 'control' in result && { services: await servicesThatApplied(session, result.control) };
    session.print(`${shown}\n${rollBackPolicies.text(result)}`, {
      ...rollBackPolicies.json(result),
      diff,
      ...services,
    });
    return 'control' in result ? 0 : 1;
  },
};
