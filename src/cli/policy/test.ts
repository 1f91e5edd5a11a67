import { CountersignError } from '../../errors.ts';
import type { PolicyTest } from '../../policy/suite/suite.ts';
import { TESTS_DIRECTORY, readPolicyDirectory } from '../../release/files.ts';
import { readTests } from '../../simulation/test-files.ts';
import { type TestReport, runTests } from '../../simulation/run-tests.ts';
import { reportText } from '../../simulation/test-text.ts';
import type { Call, CommandRow } from '../command.ts';
import { isoTime } from '../print.ts';

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
    const report = runTests(release, tests, {
      // A given directory needs no settings.
      outputs: call.arguments.length === 0 ? session.settings().public.limits.outputs : undefined,
      progress: (done) => {
        if (done % PROGRESS_EVERY === 0) session.progress(`${done} of ${tests.length} tests`);
      },
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
