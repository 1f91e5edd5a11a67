import { CountersignError } from '../errors.ts';
import type { CompileResult, ReadReferencedFile } from '../policy/compile.ts';
import { listFileLine } from '../policy/language/list-file.ts';
import type { Release } from '../policy/release.ts';
import { readTestFiles } from '../policy/suite/read.ts';
import { compileForPush, releaseWarnings, sizeText } from '../release/check.ts';
import { type Content, contentIn } from '../release/content.ts';
import { type PushDiff, diffOrReason } from '../release/diff-text.ts';
import { invalidPolicies } from '../release/files.ts';
import { runTests } from '../simulation/run-tests.ts';
import { reportText } from '../simulation/test-text.ts';
import { type CandidateFile, type CheckRequest, type Checked, isTestFile } from './candidate-checks.ts';

const YAML_FILE = /\.ya?ml$/i;

export interface CandidateContext {
  /** `public.limits.outputs`. */
  readonly outputs: number;
  readonly settingsWarnings: (release: Release) => readonly string[];
  readonly listFaults: (release: Release) => Promise<readonly string[]>;
  readonly diffFrom: (release: Release) => Promise<PushDiff | string>;
}

/**
 * Validates a candidate, runs its tests and compares it with what is in force, as `policy validate`, `policy
 * test` and `policy diff` do. A list or other file that the candidate lacks is that of the revision in force.
 */
export async function checkCandidate(
  { files, inForce, document }: Omit<CheckRequest, 'by'>,
  { outputs, settingsWarnings, listFaults, diffFrom }: CandidateContext,
): Promise<Checked> {
  const policyFiles = files.filter((file) => YAML_FILE.test(file.name) && !isTestFile(file));
  const compiled: CompileResult = compileForPush(
    policyFiles,
    filesBeside(files, contentOfRelease(document, inForce)),
  );
  const tests = readTestFiles(files.filter(isTestFile));
  if (!compiled.ok || !tests.ok) {
    const faults = [
      ...(compiled.ok ? [] : [invalidPolicies('the policies of the candidate', compiled.faults)]),
      ...(tests.ok ? [] : [invalidPolicies('the tests of the candidate', tests.faults)]),
    ];
    return { valid: false, faults: faults.map(({ message }) => message).join('\n') };
  }
  const { release } = compiled;
  const report = runTests(release, tests.tests, { outputs });
  const count = tests.tests.length;
  return {
    valid: true,
    document: release.document,
    revision: release.revision,
    size: sizeText(release),
    warnings: [...releaseWarnings(release), ...settingsWarnings(release)],
    lists: [...(await listFaults(release))],
    tests: {
      count,
      failed: report.failed,
      text:
        count === 0
          ? 'There are no tests, so none was run. Add a file whose name ends in .test.yaml.'
          : reportText(report, { coverage: true }),
    },
    diff: shownDiff(await diffFrom(release)),
  };
}

type CandidateDiff = Extract<Checked, { valid: true }>['diff'];

/** Even if the store lost what is in force, a push must be possible: it may repair the store. */
const shownDiff = (diff: PushDiff | string): CandidateDiff =>
  typeof diff === 'string'
    ? { same: false, loosens: ['the policies, since the difference is not known'], text: diff }
    : { same: diff.same, loosens: [...diff.loosens], text: diffOrReason(diff) };

/** Undefined if it can't be read. */
function contentOfRelease(document: string, revision: string): Content | undefined {
  try {
    return document === '' ? undefined : contentIn(document, revision);
  } catch (thrown) {
    if (!(thrown instanceof CountersignError && thrown.code === 'STORE_CORRUPT')) throw thrown;
    return undefined;
  }
}

function filesBeside(files: readonly CandidateFile[], content: Content | undefined): ReadReferencedFile {
  const own = new Map(files.map(({ name, text }) => [name, text]));
  const lists = new Map(Object.entries(content?.lists ?? {}));
  const texts = new Map(Object.entries(content?.files ?? {}));
  return (name) => {
    const values = lists.get(name);
    return own.get(name) ?? texts.get(name) ?? values?.map((value) => `${listFileLine(value)}\n`).join('');
  };
}
