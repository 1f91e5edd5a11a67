import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { CountersignError, messageOf } from '../errors.ts';
import type { Release } from '../policy/release.ts';
import { readPolicyDirectory } from '../release/files.ts';
import type { CommandRow } from './command.ts';
import { counted } from './print.ts';

export const policyValidate: CommandRow = {
  path: 'policy validate',
  summary: 'Check policy files: every fault with its place and its cure.',
  example: 'policy validate\npolicy validate config/policies/payments.yaml',
  define: (command) =>
    command.argument(
      '[paths...]',
      'a directory, or files of one directory (default: policies.directory of the settings)',
    ),
  async run(session, call) {
    try {
      const { directory, files } = filesOf(call.arguments, () => session.settings().policies.directory);
      const release = await readPolicyDirectory(directory, files);
      const { revision } = release;
      const { policies, rules } = sizeOf(release);
      session.print(`${sizeText(release)}, no faults. Revision ${revision}`, {
        valid: true,
        revision,
        policies,
        rules,
        faults: [],
      });
      return 0;
    } catch (thrown) {
      if (!(thrown instanceof CountersignError && thrown.code === 'POLICY_INVALID')) throw thrown;
      const { message, data } = thrown;
      session.print(message, { valid: false, message, faults: data['faults'] ?? [] });
      return 1;
    }
  },
};

/** How much there is in a release. */
export function sizeOf({ policies }: Pick<Release, 'policies'>): { policies: number; rules: number } {
  return {
    policies: policies.length,
    rules: policies.reduce((sum, policy) => sum + policy.rules.length, 0),
  };
}

/** `3 policies, 9 rules`. */
export function sizeText(release: Pick<Release, 'policies'>): string {
  const { policies, rules } = sizeOf(release);
  return `${counted(policies, 'policy', 'policies')}, ${counted(rules, 'rule')}`;
}

interface PolicyFiles {
  readonly directory: string;
  /** Their names within it; undefined for all. */
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
      `${stray}: give one directory, or files of one directory, since list files are looked for beside them`,
    );
  }
  return { directory: dirname(first), files: paths.map((path) => basename(path)) };
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (thrown) {
    throw new CountersignError('USAGE', `can't look at ${path}: ${messageOf(thrown)}; name what is there`);
  }
}
