import type { Json } from '../../values/canonical.ts';
import type { PolicyFile } from '../compile.ts';
import { isObject } from '../document.ts';
import { type Path, type PolicyFault, type Problem, faultOfFile, formatPath } from '../fault.ts';
import { type Tree, plainOf, positionOf, readYaml } from '../yaml.ts';
import { readCallback } from './callbacks.ts';
import { readGiven } from './given.ts';
import { type Reading, readLayer } from './layer.ts';
import { caseShape, fileShape } from './shape.ts';
import type { PolicyTest } from './suite.ts';

export type TestsRead =
  | {
      readonly ok: true;
      /** In the order of the files' names, and within a file as written. */ readonly tests: readonly PolicyTest[];
    }
  /** At least one. */
  | { readonly ok: false; readonly faults: readonly PolicyFault[] };

/**
 * Test files (`*.test.yaml`), all faults at once, each with its place and its cure. No files are no tests.
 */
export function readTestFiles(files: readonly PolicyFile[]): TestsRead {
  const faults: PolicyFault[] = [];
  const tests: PolicyTest[] = [];
  for (const file of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { trees, faults: syntax } = readYaml(file.text);
    faults.push(
      ...syntax.map(({ at, message, cure }) => ({ file: file.name, ...at, path: '', message, cure })),
    );
    if (trees.length === 0 && syntax.length === 0) {
      faults.push(
        faultOfFile(
          file.name,
          'the file holds no tests',
          'write `tests:` and some below it, or delete the file',
        ),
      );
    }
    for (const tree of trees) {
      const read = readTree(file.name, tree);
      faults.push(...read.faults);
      tests.push(...read.tests);
    }
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, tests };
}

function readTree(
  file: string,
  tree: Tree,
): { readonly tests: readonly PolicyTest[]; readonly faults: readonly PolicyFault[] } {
  const problems: Problem[] = [];
  const reading: Reading = { problems };
  const plain = plainOf(tree);
  const read = readLayer(reading, fileShape, plain, []);
  const written = read !== undefined && isObject(plain) ? plain['tests'] : undefined;
  const names = new Set<string>();
  const tests = (Array.isArray(written) ? (written as readonly Json[]) : []).flatMap((each, index) => {
    const path = ['tests', index];
    const test = readCase(reading, each, path, { file, tree });
    if (test !== undefined && names.has(test.name)) {
      const message = `there is a test with this name already`;
      problems.push({
        path: [...path, 'test'],
        of: 'value',
        message,
        cure: 'give one of the two another name',
      });
    }
    if (test !== undefined) names.add(test.name);
    return test ?? [];
  });
  const faults = problems.map(({ path, of, message, cure }) => ({
    file,
    ...positionOf(tree, path, of),
    path: formatPath(path),
    message,
    cure,
  }));
  return { tests, faults: faults.sort((a, b) => a.line - b.line || a.column - b.column) };
}

function readCase(
  reading: Reading,
  written: Json,
  path: Path,
  { file, tree }: { readonly file: string; readonly tree: Tree },
): PolicyTest | undefined {
  const read = readLayer(reading, caseShape, written, path);
  if (!isObject(written)) return undefined;
  const lineOf = (at: Path): number => positionOf(tree, at, 'value').line;
  // Also where the case itself has a fault, so that those within it come to light as well.
  const given = readGiven(reading, written['given'], [...path, 'given'], read?.now ?? Infinity);
  const listed = written['callbacks'];
  const callbacks = (Array.isArray(listed) ? (listed as readonly Json[]) : []).flatMap((each, index) => {
    const at = [...path, 'callbacks', index];
    return readCallback(reading, each, at, lineOf(at)) ?? [];
  });
  return read && { file, line: lineOf(path), name: read.test, nowMs: read.now, given, callbacks };
}
