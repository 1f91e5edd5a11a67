import { CountersignError } from '../../errors.ts';
import type { PolicyTest } from '../../policy/suite/suite.ts';
import { TESTS_DIRECTORY, readTests } from '../../simulation/files.ts';
import { runTests } from '../../simulation/run-tests.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import type { Call, CommandRow } from '../command.ts';
import { reportJson, reportText } from './test-text.ts';

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
