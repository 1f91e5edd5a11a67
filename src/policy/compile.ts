import { messageOf } from '../errors.ts';
import { type Json, canonicalJson, sha256Hex } from '../values/canonical.ts';
import { compilePolicy } from './compile-policy.ts';
import { isObject, readPolicy } from './document.ts';
import { type PolicyFault, type Problem, faultOfFile, formatPath, shown } from './fault.ts';
import { readListFile } from './list-file.ts';
import { type CompiledPolicy, type Release, indexPolicies } from './release.ts';
import { type Tree, plainOf, positionOf, readYaml } from './yaml.ts';

/** Policies over all files; more than that nobody reviews. */
const POLICIES_MAX = 1000;
const FORMAT = 1;

export type Compiled =
  | { readonly ok: true; readonly release: Release }
  /** At least one, in the order of the files. */
  | { readonly ok: false; readonly faults: readonly PolicyFault[] };

export interface PolicyFile {
  readonly name: string;
  readonly text: string;
}

/** The text of a list file beside the policies; undefined if there is none; throws, with the cure, if it may not be read. */
export type ListFile = (name: string) => string | undefined;

/**
 * Policy files (YAML) to a release. All faults at once. The order of the files means nothing; the names of policies are
 * unique over all of them.
 */
export function readPolicyFiles(files: readonly PolicyFile[], listFile: ListFile): Compiled {
  const faults: PolicyFault[] = [];
  const written: Written[] = [];
  for (const { name: file, text } of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { trees, faults: syntax } = readYaml(text);
    faults.push(...syntax.map(({ at, message, cure }) => ({ file, ...at, path: '', message, cure })));
    const found = trees.flatMap((tree) => (tree.type === 'list' ? tree.items : [tree]));
    if (found.length === 0 && syntax.length === 0) {
      faults.push(faultOfFile(file, 'the file holds no policy', 'write one, or delete the file'));
    }
    written.push(...found.map((tree) => fromTree(file, tree)));
  }
  if (files.length === 0) {
    faults.push(faultOfFile('.', 'there is no policy file', 'write a policy into a file that ends in .yaml'));
  }
  return compileAll(written, faults, (name) => {
    const text = listFile(name);
    if (text === undefined) throw new Error(`there is no file ${name}`);
    return readListFile(name, text);
  });
}

/** A release from the canonical form that the store keeps. Its revision is the same again. */
export function compileRelease(document: string): Compiled {
  const refused = (message: string): Compiled => ({
    ok: false,
    faults: [faultOfFile('release', message, 'push the policies again with this version of the program')],
  });
  let release: Json;
  try {
    release = JSON.parse(document);
  } catch (thrown) {
    return refused(`it is not JSON: ${messageOf(thrown)}`);
  }
  if (!isObject(release) || release['format'] !== FORMAT) return refused(`it is not in format ${FORMAT}`);
  const { policies, lists } = release;
  if (!Array.isArray(policies) || !isObject(lists)) return refused('it has no policies or no lists');
  const written = (policies as readonly Json[]).map((plain): Written => ({
    plain,
    faultOf: ({ path, message, cure }) => ({
      ...faultOfFile(`release, policy ${isObject(plain) ? shown(plain['policy']) : '?'}`, message, cure),
      path: formatPath(path),
    }),
  }));
  return compileAll(written, [], (name) => {
    const values = Object.hasOwn(lists, name) ? lists[name] : undefined;
    if (!isTexts(values)) throw new Error(`the release holds no file ${name}`);
    return values;
  });
}

/** A policy as plain values, and where it stands. */
interface Written {
  readonly plain: Json;
  readonly faultOf: (problem: Problem) => PolicyFault;
}

function fromTree(file: string, tree: Tree): Written {
  return {
    plain: plainOf(tree),
    faultOf: ({ path, of, message, cure }) => ({
      file,
      ...positionOf(tree, path, of),
      path: formatPath(path),
      message,
      cure,
    }),
  };
}

function compileAll(
  written: readonly Written[],
  faults: PolicyFault[],
  readList: (name: string) => readonly string[],
): Compiled {
  const lists = new Map<string, readonly string[]>();
  const listFile = (name: string): readonly string[] => {
    const values = lists.get(name) ?? readList(name);
    lists.set(name, values);
    return values;
  };
  const firstOf = new Map<string, PolicyFault>();
  const compiled: { readonly policy: CompiledPolicy; readonly plain: Json }[] = [];
  for (const { plain, faultOf } of written.slice(0, POLICIES_MAX)) {
    const problems: Problem[] = [];
    const document = readPolicy(plain, problems);
    const policy = document && compilePolicy(document, listFile, problems);
    const place = faultOf({ path: ['policy'], of: 'value', message: '', cure: '' });
    const first = policy && firstOf.get(policy.name);
    if (first !== undefined && policy !== undefined) {
      const message = `there is a policy ${policy.name} already, in ${first.file}${first.line === 0 ? '' : `:${first.line}`}`;
      faults.push({ ...place, message, cure: 'give one of the two another name' });
    }
    faults.push(...problems.map(faultOf));
    if (policy === undefined) continue;
    if (policy.name !== '') firstOf.set(policy.name, first ?? place);
    compiled.push({ policy, plain });
  }
  if (written.length > POLICIES_MAX) {
    const message = `there are ${written.length} policies; at most ${POLICIES_MAX} are read`;
    faults.push(faultOfFile('.', message, 'join policies that share their `when`'));
  }
  // Every fault that leaves a policy out is recorded; were one not, an incomplete release must still not come about.
  if (faults.length > 0 || compiled.length < written.length || compiled.length === 0) {
    return { ok: false, faults: faults.length > 0 ? faults.sort(byPlace) : [emptyRelease] };
  }
  compiled.sort((a, b) => (a.policy.name < b.policy.name ? -1 : 1));
  const document = canonicalJson({
    format: FORMAT,
    lists: Object.fromEntries(lists),
    policies: compiled.map(({ plain }) => plain),
  });
  return {
    ok: true,
    release: indexPolicies(
      sha256Hex(document),
      document,
      compiled.map(({ policy }) => policy),
    ),
  };
}

function byPlace(a: PolicyFault, b: PolicyFault): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}

const emptyRelease = faultOfFile('.', 'there is no policy', 'write at least one');

function isTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
