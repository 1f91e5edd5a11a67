import { KINDS, type Kind } from '../../callback/callback.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import type { Member } from '../../values/members.ts';
import { type Tree, jsonOf, positionOf, readYaml } from '../../values/yaml.ts';
import { type PolicyFile, faultAt, faultOfSyntax } from '../compile.ts';
import { type Path, type PolicyFault, type Problem, faultOfFile } from '../fault.ts';
import { readGiven } from './given.ts';
import {
  VERDICTS,
  callbackShape,
  caseShape,
  entriesOf,
  expectShape,
  fileShape,
  oneNameOf,
  readShape,
  valueProblem,
} from './shape.ts';
import type { Expectation, PolicyTest, TestCallback } from './suite.ts';

export type TestsRead =
  | {
      readonly ok: true;
      /** Ordered by file name, then as written. */ readonly tests: readonly PolicyTest[];
    }
  /** At least one fault. */
  | { readonly ok: false; readonly faults: readonly PolicyFault[] };

/** Reads test files (`*.test.yaml`), or reports all their faults. Without files there are no tests. */
export function readTestFiles(files: readonly PolicyFile[]): TestsRead {
  const faults: PolicyFault[] = [];
  const tests: PolicyTest[] = [];
  for (const file of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { trees, faults: syntax } = readYaml(file.text);
    faults.push(...syntax.map((fault) => faultOfSyntax(file.name, fault)));
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
  const plain = jsonOf(tree);
  const read = readShape(problems, fileShape, plain, []);
  const written = read !== undefined && isObject(plain) ? plain['tests'] : undefined;
  const names = new Set<string>();
  const tests = (Array.isArray(written) ? (written as readonly Json[]) : []).flatMap((each, index) => {
    const path = ['tests', index];
    const test = readCase(problems, each, path, { file, tree });
    if (test !== undefined && names.has(test.name)) {
      const message = `there is a test with this name already`;
      problems.push({
        path: [...path, 'test'],
        of: 'value',
        message,
        fix: 'give one of the two another name',
      });
    }
    if (test !== undefined) names.add(test.name);
    return test ?? [];
  });
  const faults = problems.map((problem) => faultAt(file, tree, problem));
  return { tests, faults: faults.sort((a, b) => a.line - b.line || a.column - b.column) };
}

function readCase(
  problems: Problem[],
  written: Json,
  path: Path,
  { file, tree }: { readonly file: string; readonly tree: Tree },
): PolicyTest | undefined {
  const read = readShape(problems, caseShape, written, path);
  if (!isObject(written)) return undefined;
  const lineOf = (at: Path): number => positionOf(tree, at, 'value').line;
  // Read even if the test has a fault, so that the faults below it are reported too.
  const given = readGiven(problems, written['given'], [...path, 'given'], read?.now ?? Infinity);
  const listed = written['callbacks'];
  const callbacks = (Array.isArray(listed) ? (listed as readonly Json[]) : []).flatMap((each, index) => {
    const at = [...path, 'callbacks', index];
    return readCallback(problems, each, at, lineOf(at)) ?? [];
  });
  return read && { file, line: lineOf(path), name: read.test, nowMs: read.now, given, callbacks };
}

/** The members of a co-signer's callback that a test may leave out. */
const DEFAULTS: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  payment: {},
  transfer: { type: 'sign_prepare', transfer_id: '1' },
  web3: { type: 'sign_prepare', trans_id: '1', input_data: '', interactive_contract: '' },
};

/** A callback of a test; undefined after a fault. */
function readCallback(
  problems: Problem[],
  written: Json,
  path: Path,
  line: number,
): TestCallback | undefined {
  const read = readShape(problems, callbackShape, written, path);
  if (!isObject(written)) return undefined;
  const kind = oneNameOf(problems, written, KINDS, path);
  const expect = readExpectation(problems, written['expect'], [...path, 'expect']);
  if (read === undefined || kind === undefined || expect === undefined) return undefined;
  return {
    line,
    source: read.source,
    kind,
    members: readWire(problems, written[kind], kind, [...path, kind]),
    scheme: read.scheme,
    approvedBy: read.approvedBy,
    afterMs: read.after ?? 0,
    expect,
  };
}

/** The members as they would arrive: strings, except `pending_round`, which is a JSON boolean. */
function readWire(
  problems: Problem[],
  written: Json | undefined,
  kind: Kind,
  path: Path,
): TestCallback['members'] {
  const members = new Map<string, Member>();
  for (const [name, value] of entriesOf(problems, written, path, 'the members of the callback, by name')) {
    const member = memberOf(name, value);
    if (member === undefined) problems.push(valueProblem([...path, name], value, expectedOf(name)));
    else members.set(name, member);
  }
  const otherId = kind === 'transfer' && members.has('withdraw_id');
  for (const [name, text] of Object.entries(DEFAULTS[kind])) {
    if (members.has(name) || (otherId && name === 'transfer_id')) continue;
    members.set(name, { kind: 'string', text });
  }
  return members;
}

function memberOf(name: string, value: Json): Member | undefined {
  if (name === 'outputs' && Array.isArray(value)) return { kind: 'string', text: JSON.stringify(value) };
  if (typeof value !== 'string') return undefined;
  const isFlag = name === 'pending_round' && (value === 'true' || value === 'false');
  return { kind: isFlag ? 'boolean' : 'string', text: value };
}

const expectedOf = (name: string): string =>
  name === 'outputs' ? 'a list like [{ address_to: 0x…, amount: 1.5 }]' : 'a text';

const EXPECTED = 'SUCCESS, FAILURE, or a mapping like { verdict: FAILURE, rule: amount-limit#1 }';

function readExpectation(
  problems: Problem[],
  written: Json | undefined,
  path: Path,
): Expectation | undefined {
  if (written === undefined) {
    problems.push({ path, of: 'value', message: 'expect is missing', fix: `write ${EXPECTED}` });
    return undefined;
  }
  if (!isObject(written)) {
    const verdict = VERDICTS.find((each) => each === written);
    if (verdict === undefined) problems.push(valueProblem(path, written, EXPECTED));
    return verdict && { verdict };
  }
  const read = readShape(problems, expectShape, written, path);
  const stray =
    read?.verdict === 'SUCCESS' ? (['rule', 'values'] as const).find((name) => read[name]) : undefined;
  if (stray !== undefined) {
    problems.push({
      path: [...path, stray],
      of: 'name',
      message: `${stray} is about the rule that refuses, and a SUCCESS has none`,
      fix: 'leave it out, or expect a FAILURE',
    });
  }
  return read;
}
