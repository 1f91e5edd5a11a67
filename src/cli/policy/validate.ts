import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { CountersignError, messageOf } from '../../errors.ts';
import { readTests } from '../../simulation/test-files.ts';
import { releaseWarnings, sizeOf, sizeText } from '../../release/check.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { listsOf } from '../../release/lists.ts';
import type { CommandRow } from '../command.ts';
import { counted } from '../print.ts';

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
    throw new CountersignError(
      'USAGE',
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
    throw new CountersignError(
      'USAGE',
      `can't read ${path}: ${messageOf(thrown)}. Name a directory, or policy files`,
    );
  }
}
