import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { CountersignError, messageOf } from '../errors.ts';
import { ASSETS_FILE } from '../policy/language/assets.ts';
import { type PolicyFile, holdsPolicies } from '../policy/compile.ts';
import { PEOPLE_FILE } from '../policy/people.ts';
import {
  type PolicyFault,
  faultOfFile,
  faultOfUnreadable,
  faultToJson,
  formatFault,
} from '../policy/fault.ts';
import type { Release } from '../policy/release.ts';
import { decodeUtf8 } from '../values/utf8.ts';
import { YAML_BOUNDS } from '../values/yaml.ts';
import { compileForPush } from './check.ts';

/** The subdirectory with the tests of the policies. */
export const TESTS_DIRECTORY = 'tests';
const FILES_MAX = 1000;
const REFERENCED_FILE_MAX_BYTES = 67_108_864;

/**
 * Compiles the policy files of a directory (`*.yaml`, `*.yml`) and the files that they refer to. With `only`,
 * compiles only these policy files, with the asset table and the people of the directory. Throws one
 * POLICY_INVALID with all faults, in the message and in `data.faults`. A path that leads out of the directory
 * is a fault. A policy file in a subdirectory is a fault, since it would have no effect; `tests/` and hidden
 * folders are ignored.
 */
export async function readPolicyDirectory(directory: string, only?: readonly string[]): Promise<Release> {
  const faults: PolicyFault[] = [];
  const files: PolicyFile[] = [];
  for (const name of only === undefined
    ? await policyFileNames(directory)
    : withFilesBeside(directory, only)) {
    try {
      files.push({ name, text: await readPolicyFile(directory, name) });
    } catch (thrown) {
      faults.push(faultOfUnreadable(name, thrown, 'correct or remove the file'));
    }
  }
  // Without a readable policy file, the compiler would only say that there is none.
  const isWorthCompiling = faults.length === 0 || files.some(({ name }) => holdsPolicies(name));
  const compiled = isWorthCompiling
    ? compileForPush(files, (name) => readReferencedFile(directory, name))
    : { ok: false as const, faults: [] };
  if (!compiled.ok) faults.push(...compiled.faults);
  if (!compiled.ok || faults.length > 0) throw invalidPolicies(`the policies in ${directory}`, faults);
  return compiled.release;
}

function withFilesBeside(directory: string, names: readonly string[]): readonly string[] {
  const beside = [ASSETS_FILE, PEOPLE_FILE].filter((name) => existsSync(join(directory, name)));
  return [...new Set([...beside, ...names])];
}

/** One error for all faults, with a line each. */
export function invalidPolicies(what: string, faults: readonly PolicyFault[]): CountersignError {
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
  const lines = faults.map((fault) => `  ${formatFault(fault)}`);
  return new CountersignError('POLICY_INVALID', `${what} have ${count}:\n${lines.join('\n')}`, {
    faults: faults.map(faultToJson),
  });
}

/** The names of the policy files of a directory. Throws POLICY_INVALID. */
export async function policyFileNames(directory: string): Promise<readonly string[]> {
  let names: readonly string[];
  try {
    names = await readdir(directory, { recursive: true });
  } catch (thrown) {
    throw new CountersignError(
      'POLICY_INVALID',
      `the policies in ${directory} can't be read: ${messageOf(thrown)}; name a directory that ` +
        'holds policy files',
      { directory },
      thrown,
    );
  }
  const found = yamlFilesOf(names).filter((name) => !name.startsWith(`${TESTS_DIRECTORY}/`));
  if (found.length > FILES_MAX) {
    throw invalidPolicies(`the policies in ${directory}`, [
      faultOfFile(
        '.',
        `there are ${found.length} policy files`,
        `merge some, since a file may hold several policies: at most ${FILES_MAX} files are allowed`,
      ),
    ]);
  }
  return found;
}

/** The names of the test files below {@link TESTS_DIRECTORY}, relative to it. Throws POLICY_INVALID. */
export async function testFileNames(directory: string): Promise<readonly string[]> {
  const folder = join(directory, TESTS_DIRECTORY);
  let names: readonly string[];
  try {
    names = await readdir(folder, { recursive: true });
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return [];
    throw unreadableTests(folder, messageOf(thrown));
  }
  const found = yamlFilesOf(names);
  if (found.length > FILES_MAX) throw unreadableTests(folder, `there are ${found.length} files`);
  return found;
}

function unreadableTests(directory: string, why: string): CountersignError {
  return new CountersignError(
    'POLICY_INVALID',
    `the tests in ${directory} can't be read: ${why}. Keep at most ${FILES_MAX} test files in a ` +
      'readable directory',
    { directory },
  );
}

/** The YAML files in the listing of a directory, sorted, with `/` in their paths. Without hidden files. */
function yamlFilesOf(names: readonly string[]): readonly string[] {
  return names
    .map((name) => name.split(sep))
    .filter((path) => !path.some((step) => step.startsWith('.')))
    .map((path) => path.join('/'))
    .filter((name) => /\.ya?ml$/i.test(name))
    .sort();
}

async function readPolicyFile(directory: string, name: string): Promise<string> {
  if (basename(name) !== name) {
    throw new Error(
      `policies are read from the directory itself, not from ${dirname(name)}; move the file up`,
    );
  }
  const path = pathInside(directory, name);
  const { size } = await stat(path);
  if (size > YAML_BOUNDS.bytes)
    throw new Error(`it has ${size} bytes; at most ${YAML_BOUNDS.bytes} are read`);
  return decodeUtf8(await readFile(path));
}

function readReferencedFile(directory: string, name: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(pathInside(directory, name));
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
  if (bytes.length > REFERENCED_FILE_MAX_BYTES) {
    throw new Error(`${name} has ${bytes.length} bytes; at most ${REFERENCED_FILE_MAX_BYTES} are read`);
  }
  return decodeUtf8(bytes);
}

/** The real path of a file, with links resolved. Throws for a path outside of the directory. */
function pathInside(directory: string, name: string): string {
  const root = realpathSync(directory);
  const isInside = (path: string): boolean => path.startsWith(root.endsWith(sep) ? root : root + sep);
  if (!isInside(resolve(root, name))) throw new Error(`${name} leads out of the directory of the policies`);
  const path = realpathSync(join(root, name));
  if (!isInside(path)) throw new Error(`${name} is a link that leads out of the directory of the policies`);
  return path;
}
