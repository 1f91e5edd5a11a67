import { messageOf } from '../errors.ts';
import { type Json, canonicalJson, isObject, sha256Hex } from '../values/canonical.ts';
import { type SyntaxFault, type Tree, plainOf, positionOf, readYaml } from '../values/yaml.ts';
import { ASSETS_FILE, type AssetTable, compileAssets } from './assets.ts';
import { type PolicyDocument, type RuleDocument, readPolicy } from './document.ts';
import { type PolicyFault, type Problem, faultOfFile, formatPath, formatInput } from './fault.ts';
import { readListFile, writtenEntries } from './list-file.ts';
import { type CompiledPolicy, type CompiledRule, type Release, indexPolicies } from './release.ts';
import type { Check, RuleContext } from './rules/rule.ts';

/** Policies over all files. */
const POLICIES_MAX = 1000;
const FORMAT = 1;

export type Compiled =
  | { readonly ok: true; readonly release: Release }
  /** At least one fault, in the order of the files. */
  | { readonly ok: false; readonly faults: readonly PolicyFault[] };

export interface PolicyFile {
  readonly name: string;
  readonly text: string;
}

/**
 * Reads a file beside the policies (a list, an ABI). Undefined if it doesn't exist; throws if it can't be
 * read.
 */
export type SideFile = (name: string) => string | undefined;

/**
 * Compiles policy files (YAML) to a release, or reports all their faults. The order of the files has no
 * effect. The names of policies are unique over all files. The file `assets.yaml` is the asset table and not
 * a policy.
 */
export function readPolicyFiles(files: readonly PolicyFile[], sideFile: SideFile): Compiled {
  const faults: PolicyFault[] = [];
  const policies: Written[] = [];
  const assets: Written[] = [];
  for (const { name: file, text } of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { trees, faults: syntax } = readYaml(text);
    faults.push(...syntax.map((fault) => faultOfSyntax(file, fault)));
    const found = trees.flatMap((tree) => (tree.type === 'list' ? tree.items : [tree]));
    const isAssets = file === ASSETS_FILE;
    if (found.length === 0 && syntax.length === 0) {
      const what = isAssets ? 'asset table' : 'policy';
      faults.push(faultOfFile(file, `the file holds no ${what}`, 'write one, or delete the file'));
    }
    (isAssets ? assets : policies).push(...found.map((tree) => writtenIn(file, tree)));
  }
  if (!files.some(({ name }) => name !== ASSETS_FILE)) {
    faults.push(faultOfFile('.', 'there is no policy file', 'write a policy into a file that ends in .yaml'));
  }
  const textFile = (name: string): string => {
    const text = sideFile(name);
    if (text === undefined) throw new Error(`there is no file ${name}`);
    return text;
  };
  return compileAll({ policies, assets }, faults, {
    isStored: false,
    listFile: (name) => readListFile(name, textFile(name)),
    writtenList: (name) => writtenEntries(name, textFile(name)),
    textFile,
  });
}

/** Compiles the canonical document that the store keeps. The revision does not change. */
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
  const { policies, lists, files = {}, assets } = release;
  if (!Array.isArray(policies) || !isObject(lists)) return refused('it has no policies or no lists');
  const fileIn = (held: Json, name: string): Json | undefined =>
    isObject(held) && Object.hasOwn(held, name) ? held[name] : undefined;
  const missing = (name: string): never => {
    throw new Error(`the release holds no file ${name}`);
  };
  return compileAll(
    {
      policies: (policies as readonly Json[]).map((plain) =>
        writtenInRelease(plain, `policy ${isObject(plain) ? formatInput(plain['policy']) : '?'}`),
      ),
      assets: assets === undefined ? [] : [writtenInRelease(assets, 'assets')],
    },
    [],
    {
      isStored: true,
      listFile(name) {
        const values = fileIn(lists, name);
        return isTexts(values) ? values : missing(name);
      },
      // A release has the values in the form that lookups use. Their spelling was checked at the push.
      writtenList: () => undefined,
      textFile(name) {
        const text = fileIn(files, name);
        return typeof text === 'string' ? text : missing(name);
      },
    },
  );
}

/** A policy or an asset table as plain values, and a function that adds the position to a problem. */
interface Written {
  readonly plain: Json;
  readonly faultOf: (problem: Problem) => PolicyFault;
}

function writtenIn(file: string, tree: Tree): Written {
  return { plain: plainOf(tree), faultOf: (problem) => faultAt(file, tree, problem) };
}

function writtenInRelease(plain: Json, what: string): Written {
  return {
    plain,
    faultOf: ({ path, message, cure }) => ({
      ...faultOfFile(`release, ${what}`, message, cure),
      path: formatPath(path),
    }),
  };
}

/** A problem of a YAML document, with its place in the file. */
export function faultAt(file: string, tree: Tree, { path, of, message, cure }: Problem): PolicyFault {
  return { file, ...positionOf(tree, path, of), path: formatPath(path), message, cure };
}

/** A fault of the YAML itself. */
export function faultOfSyntax(file: string, { at, message, cure }: SyntaxFault): PolicyFault {
  return { file, ...at, path: '', message, cure };
}

interface AllWritten {
  readonly policies: readonly Written[];
  /** More than one asset table is a fault. */
  readonly assets: readonly Written[];
}

/** The files beside the policies. */
type RuleFiles = Pick<RuleContext, 'isStored' | 'listFile' | 'writtenList' | 'textFile' | 'assets'>;

function compileAll(
  { policies: written, assets: tables }: AllWritten,
  faults: PolicyFault[],
  sides: Omit<RuleFiles, 'assets'>,
): Compiled {
  const lists = new Map<string, readonly string[]>();
  const texts = new Map<string, string>();
  const files: RuleFiles = {
    isStored: sides.isStored,
    listFile: cached(lists, sides.listFile),
    writtenList: sides.writtenList,
    textFile: cached(texts, sides.textFile),
    assets: compileTables(tables, faults),
  };
  const compiled = compileEach(written.slice(0, POLICIES_MAX), files, faults);
  if (written.length > POLICIES_MAX) {
    const message = `there are ${written.length} policies; at most ${POLICIES_MAX} are read`;
    faults.push(faultOfFile('.', message, 'join policies that share their `when`'));
  }
  // A policy is left out only if it has a fault. The comparison of the lengths makes sure that no release
  // lacks a policy.
  if (faults.length > 0 || compiled.length < written.length || compiled.length === 0) {
    return { ok: false, faults: faults.length > 0 ? faults.sort(byPlace) : [emptyRelease] };
  }
  compiled.sort((a, b) => (a.policy.name < b.policy.name ? -1 : 1));
  const document = canonicalJson({
    format: FORMAT,
    lists: Object.fromEntries(lists),
    // Absent rather than empty: a release without files or assets keeps its old revision.
    ...(texts.size > 0 ? { files: Object.fromEntries(texts) } : {}),
    ...(tables[0] === undefined ? {} : { assets: tables[0].plain }),
    policies: compiled.map(({ plain }) => plain),
  });
  const policies = compiled.map(({ policy }) => policy);
  return { ok: true, release: indexPolicies(sha256Hex(document), document, policies, files.assets) };
}

/** The policies that could be compiled, including those with faults. */
function compileEach(
  written: readonly Written[],
  files: RuleFiles,
  faults: PolicyFault[],
): { readonly policy: CompiledPolicy; readonly plain: Json }[] {
  const firstOf = new Map<string, PolicyFault>();
  return written.flatMap(({ plain, faultOf }) => {
    const problems: Problem[] = [];
    const document = readPolicy(plain, problems);
    const policy = document && compilePolicy(document, files, problems);
    const place = faultOf({ path: ['policy'], of: 'value', message: '', cure: '' });
    const first = policy && firstOf.get(policy.name);
    if (first !== undefined && policy !== undefined) {
      const at = first.line === 0 ? first.file : `${first.file}:${first.line}`;
      const message = `there is a policy ${policy.name} already, in ${at}`;
      faults.push({ ...place, message, cure: 'give one of the two another name' });
    }
    faults.push(...problems.map(faultOf));
    if (policy === undefined) return [];
    if (policy.name !== '') firstOf.set(policy.name, first ?? place);
    return [{ policy, plain }];
  });
}

/** A policy with its compiled rules. A rule with a fault is left out, and the fault goes to `problems`. */
export function compilePolicy(
  document: PolicyDocument,
  files: RuleFiles,
  problems: Problem[],
): CompiledPolicy {
  const counters = new Map<string, number>();
  const rules: CompiledRule[] = [];
  for (const rule of document.rules) {
    const check = compileRule(rule, document, files, problems);
    if (check === undefined) continue;
    const twin = check.counter === undefined ? undefined : counters.get(check.counter);
    if (twin !== undefined) {
      problems.push({
        path: ['rules', rule.index, rule.rule.name],
        of: 'name',
        message: `it would count under the same counter as rule ${twin + 1} of this policy`,
        cure: 'keep one of the two, or move one that observes to a policy of its own',
      });
    }
    if (check.counter !== undefined) counters.set(check.counter, rule.index);
    rules.push({ ...check, name: `${rule.rule.name}#${rule.index + 1}`, mode: rule.mode });
  }
  const { name, callback, when, final } = document;
  return { name, callback, when, final, rules };
}

function compileRule(
  { rule, index, parameters }: RuleDocument,
  document: PolicyDocument,
  files: RuleFiles,
  problems: Problem[],
): Check | undefined {
  const fault: RuleContext['fault'] = (path, message, cure) => {
    problems.push({ path: ['rules', index, rule.name, ...path], of: 'value', message, cure });
    return undefined;
  };
  const { name: policy, callback, when } = document;
  const known = problems.length;
  try {
    const check = rule.compile(parameters, { ...files, policy, callback, when, fault });
    // Without one of its rules a policy would approve what that rule refuses, so a missing check is always a
    // fault.
    if (check !== undefined || problems.length > known) return check;
    return fault([], 'the rule can’t be compiled, and does not say why', 'write it in another way');
  } catch (thrown) {
    return fault([], `the rule can't be compiled: ${messageOf(thrown)}`, 'write it in another way');
  }
}

/** Stores each value in `read`, because it becomes part of the release. */
function cached<T>(read: Map<string, T>, reader: (name: string) => T): (name: string) => T {
  return (name) => {
    const value = read.get(name) ?? reader(name);
    read.set(name, value);
    return value;
  };
}

function compileTables(tables: readonly Written[], faults: PolicyFault[]): AssetTable {
  const [first, second] = tables;
  if (second !== undefined) {
    const cure = 'join the two into one';
    faults.push(second.faultOf({ path: [], of: 'value', message: 'there is an asset table already', cure }));
  }
  if (first === undefined) return new Map();
  const problems: Problem[] = [];
  const assets = compileAssets(first.plain, problems);
  faults.push(...problems.map(first.faultOf));
  return assets;
}

function byPlace(a: PolicyFault, b: PolicyFault): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}

const emptyRelease = faultOfFile('.', 'there is no policy', 'write at least one');

function isTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
