import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { CountersignError, messageOf, usageError } from '../../errors.ts';
import type { PolicyTest } from '../../policy/suite/suite.ts';
import { releaseWarnings, sizeOf, sizeText } from '../../release/check.ts';
import { TESTS_DIRECTORY, readPolicyDirectory } from '../../release/files.ts';
import { listsOf } from '../../release/lists.ts';
import { type TestReport, runTests } from '../../simulation/run-tests.ts';
import { readTests } from '../../simulation/test-files.ts';
import { reportText } from '../../simulation/test-text.ts';
import type { Call, CommandRow } from '../command.ts';
import { counted, isoTime } from '../print.ts';

export const policyValidate: CommandRow = {
  path: 'policy validate',
  summary:
    'Check policy files and their test files. List every fault with its place and fix. Warn of ' +
    'callbacks that no policy covers.',
  example: 'policy validate\npolicy validate config/policies/payments.yaml',
  define: (command) =>
    command.argument(
      '[paths...]',
      'a directory, or files of one directory (default: policies.directory of the settings)',
    ),
  async run(session, call) {
    const { directory, files } = filesOf(call.arguments, () => session.settings().policies.directory);
    const [policies, tests] = await Promise.all([
      resultOrInvalid(readPolicyDirectory(directory, files)),
      resultOrInvalid(files === undefined ? readTests(directory) : Promise.resolve([])),
    ]);
    if (policies instanceof CountersignError || tests instanceof CountersignError) {
      const invalid = [policies, tests].filter((each) => each instanceof CountersignError);
      const message = invalid.map((each) => each.message).join('\n');
      session.print(message, { valid: false, message, faults: invalid.flatMap(faultsOf) });
      return 1;
    }
    const { revision } = policies;
    const warnings = releaseWarnings(policies);
    for (const warning of warnings) session.report(`warning: ${warning}`);
    const testsText = tests.length === 0 ? '' : `, ${counted(tests.length, 'test')}`;
    const lists = listsOf(policies);
    const listsText =
      lists.length === 0
        ? ''
        : `\nThe store must have ${lists.length === 1 ? 'the list' : 'these lists'} at the push: ${lists.join(', ')}. ` +
          '`countersign policy push --dry-run` says which a source lacks';
    session.print(`${sizeText(policies)}${testsText}, no faults. Revision ${revision}${listsText}`, {
      valid: true,
      revision,
      ...sizeOf(policies),
      tests: tests.length,
      lists,
      faults: [],
      warnings,
    });
    return 0;
  },
};

/** The result, or its POLICY_INVALID error. */
async function resultOrInvalid<T>(reading: Promise<T>): Promise<T | CountersignError> {
  try {
    return await reading;
  } catch (thrown) {
    if (thrown instanceof CountersignError && thrown.code === 'POLICY_INVALID') return thrown;
    throw thrown;
  }
}

function faultsOf({ data }: CountersignError): readonly unknown[] {
  const faults = data['faults'];
  return Array.isArray(faults) ? (faults as readonly unknown[]) : [];
}

interface PolicyFiles {
  readonly directory: string;
  /** Names of files in the directory. Undefined for all files. */
  readonly files: readonly string[] | undefined;
}

function filesOf(paths: readonly string[], byDefault: () => string): PolicyFiles {
  const [first] = paths;
  if (first === undefined) return { directory: byDefault(), files: undefined };
  if (paths.length === 1 && isDirectory(first)) return { directory: first, files: undefined };
  const stray = paths.find((path) => isDirectory(path) || dirname(path) !== dirname(first));
  if (stray !== undefined) {
    throw usageError(
      `${stray} is in another directory. Give one directory, or files of one directory, which also ` +
        'has their list files',
    );
  }
  return { directory: dirname(first), files: paths.map((path) => basename(path)) };
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (thrown) {
    throw usageError(`can't read ${path}: ${messageOf(thrown)}. Name a directory, or policy files`);
  }
}

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
      throw usageError('--require-coverage needs all tests. Leave --only out');
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
