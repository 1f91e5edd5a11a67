import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { PolicyFile } from '../policy/compile.ts';
import { type PolicyFault, faultOfFile, faultOfUnreadable } from '../policy/fault.ts';
import { readTestFiles } from '../policy/suite/read.ts';
import type { PolicyTest } from '../policy/suite/suite.ts';
import { TESTS_DIRECTORY, invalidPolicies, testFileNames } from '../release/files.ts';
import { decodeUtf8 } from '../values/utf8.ts';
import { YAML_BOUNDS } from '../values/yaml.ts';

const TEST_FILE = /\.test\.ya?ml$/i;

/**
 * The tests of the policies in a directory, from `tests/*.test.yaml` and the folders below `tests`. Empty
 * without such a folder. Throws one POLICY_INVALID with all faults, also in `data.faults`. A YAML file with
 * another name is a fault, because nobody would notice that it never runs.
 */
export async function readTests(directory: string): Promise<readonly PolicyTest[]> {
  const faults: PolicyFault[] = [];
  const files: PolicyFile[] = [];
  for (const name of await testFileNames(directory)) {
    const file = `${TESTS_DIRECTORY}/${name}`;
    if (!TEST_FILE.test(name)) {
      faults.push(
        faultOfFile(
          file,
          'the file is never run',
          'give it a name that ends in .test.yaml, or move it elsewhere',
        ),
      );
      continue;
    }
    try {
      files.push({ name: file, text: await readText(join(directory, TESTS_DIRECTORY, name)) });
    } catch (thrown) {
      faults.push(faultOfUnreadable(file, thrown, 'repair or remove the file'));
    }
  }
  const read = readTestFiles(files);
  if (!read.ok) faults.push(...read.faults);
  if (read.ok && faults.length === 0) return read.tests;
  throw invalidPolicies(`the tests of the policies in ${directory}`, faults);
}

async function readText(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > YAML_BOUNDS.bytes) {
    throw new Error(`it has ${size} bytes, more than ${YAML_BOUNDS.bytes}`);
  }
  return decodeUtf8(await readFile(path));
}
