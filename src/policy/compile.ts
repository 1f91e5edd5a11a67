import { messageOf } from '../errors.ts';
import { type Json, canonicalJson, sha256Hex } from '../values/canonical.ts';
import { type AssetTable, ASSETS_FILE, compileAssets } from './assets.ts';
import { type RuleFiles, compilePolicy } from './compile-policy.ts';
import { isObject, readPolicy } from './document.ts';
import { type PolicyFault, type Problem, faultOfFile, formatPath, shown } from './fault.ts';
import { readListFile, writtenEntries } from './list-file.ts';
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

/**
 * The text of a file beside the policies (a list, an ABI); undefined if there is none; throws, with the cure,
 * if it may not be read.
 */
export type SideFile = (name: string) => string | undefined;

/**
 * Policy files (YAML) to a release. All faults at once. The order of the files means nothing; the names of
 * policies are unique over all of them. A file called `assets.yaml` is no policy but the asset table.
 */
export function readPolicyFiles(files: readonly PolicyFile[], sideFile: SideFile): Compiled {
  const faults: PolicyFault[] = [];
  const policies: Written[] = [];
  const assets: Written[] = [];
  for (const { name: file, text } of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { trees, faults: syntax } = readYaml(text);
    faults.push(...syntax.map(({ at, message, cure }) => ({ file, ...at, path: '', message, cure })));
    const found = trees.flatMap((tree) => (tree.type === 'list' ? tree.items : [tree]));
    const isAssets = file === ASSETS_FILE;
    if (found.length === 0 && syntax.length === 0) {
      const what = isAssets ? 'asset table' : 'policy';
      faults.push(faultOfFile(file, `the file holds no ${what}`, 'write one, or delete the file'));
    }
    (isAssets ? assets : policies).push(...found.map((tree) => fromTree(file, tree)));
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
    again: false,
    listFile: (name) => readListFile(name, textFile(name)),
    writtenList: (name) => writtenEntries(name, textFile(name)),
    textFile,
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
  const { policies, lists, files = {}, assets } = release;
  if (!Array.isArray(policies) || !isObject(lists)) return refused('it has no policies or no lists');
  const written = (plain: Json, what: string): Written => ({
    plain,
    faultOf: ({ path, message, cure }) => ({
      ...faultOfFile(`release, ${what}`, message, cure),
      path: formatPath(path),
    }),
  });
  const fileIn = (held: Json, name: string): Json | undefined =>
    isObject(held) && Object.hasOwn(held, name) ? held[name] : undefined;
  const missing = (name: string): never => {
    throw new Error(`the release holds no file ${name}`);
  };
  return compileAll(
    {
      policies: (policies as readonly Json[]).map((plain) =>
        written(plain, `policy ${isObject(plain) ? shown(plain['policy']) : '?'}`),
      ),
      assets: assets === undefined ? [] : [written(assets, 'assets')],
    },
    [],
    {
      again: true,
      listFile(name) {
        const values = fileIn(lists, name);
        return isTexts(values) ? values : missing(name);
      },
      // What was pushed had its spelling checked; here each value is in the form in which it is compared.
      writtenList: () => undefined,
      textFile(name) {
        const text = fileIn(files, name);
        return typeof text === 'string' ? text : missing(name);
      },
    },
  );
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

interface AllWritten {
  readonly policies: readonly Written[];
  /** At most one, if all is well. */
  readonly assets: readonly Written[];
}

function compileAll(
  { policies: written, assets: tables }: AllWritten,
  faults: PolicyFault[],
  sides: Omit<RuleFiles, 'assets'>,
): Compiled {
  const lists = new Map<string, readonly string[]>();
  const texts = new Map<string, string>();
  const files: RuleFiles = {
    again: sides.again,
    listFile: kept(lists, sides.listFile),
    writtenList: sides.writtenList,
    textFile: kept(texts, sides.textFile),
    assets: compileTables(tables, faults),
  };
  const firstOf = new Map<string, PolicyFault>();
  const compiled: { readonly policy: CompiledPolicy; readonly plain: Json }[] = [];
  for (const { plain, faultOf } of written.slice(0, POLICIES_MAX)) {
    const problems: Problem[] = [];
    const document = readPolicy(plain, problems);
    const policy = document && compilePolicy(document, files, problems);
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
  // Every fault that leaves a policy out is recorded; were one not, an incomplete release must still not come
  // about.
  if (faults.length > 0 || compiled.length < written.length || compiled.length === 0) {
    return { ok: false, faults: faults.length > 0 ? faults.sort(byPlace) : [emptyRelease] };
  }
  compiled.sort((a, b) => (a.policy.name < b.policy.name ? -1 : 1));
  const document = canonicalJson({
    format: FORMAT,
    lists: Object.fromEntries(lists),
    // Left out where there are none, so that a revision of policies that need none stays what it was.
    ...(texts.size > 0 ? { files: Object.fromEntries(texts) } : {}),
    ...(tables[0] === undefined ? {} : { assets: tables[0].plain }),
    policies: compiled.map(({ plain }) => plain),
  });
  return {
    ok: true,
    release: indexPolicies(
      sha256Hex(document),
      document,
      compiled.map(({ policy }) => policy),
      files.assets,
    ),
  };
}

/** Reads once, and remembers for the release what was read. */
function kept<T>(read: Map<string, T>, reader: (name: string) => T): (name: string) => T {
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
