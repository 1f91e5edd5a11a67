import type { Kind } from '../callback/callback.ts';
import { messageOf } from '../errors.ts';
import { type Json, canonicalJson, isObject, sha256Hex } from '../values/canonical.ts';
import { type SyntaxFault, type Tree, jsonOf, positionOf, readYaml } from '../values/yaml.ts';
import { ASSETS_FILE, compileAssets } from './language/assets.ts';
import {
  type EntryDocument,
  type PolicyDocument,
  type RuleDocument,
  readPolicy,
} from './language/document.ts';
import {
  type Path,
  type Place,
  type PolicyFault,
  type Problem,
  faultOfFile,
  formatFault,
  formatPath,
  formatInput,
} from './fault.ts';
import { declaredAt } from './language/looser.ts';
import { linesAsWritten, parseListFile } from './language/list-file.ts';
import type { AllowedTransactions } from './calls/transaction.ts';
import { ADDRESS_MEMBERS } from './language/members.ts';
import { type MovementReader, createMovementReader, uncountedMethods } from './movements.ts';
import {
  type CompiledEntry,
  type CompiledPolicy,
  type CompiledRule,
  type Release,
  indexPolicies,
} from './release.ts';
import { refuse } from './outcome.ts';
import type { RuleContext } from './rule-context.ts';
import type { Check, Rule } from './rules/rule.ts';
import { sharedCounterFaults } from './shared-counters.ts';
import { ALWAYS, type When, bothTexts } from './language/conditions.ts';
import { NO_PEOPLE, PEOPLE_FILE, type People, compilePeople } from './people.ts';
import { compileWhen } from './language/when.ts';

/** Policies over all files. */
const POLICIES_MAX = 1000;
const FORMAT = 1;

export type CompileResult =
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
export type ReadReferencedFile = (name: string) => string | undefined;

/**
 * Compiles policy files (YAML) to a release, or reports all their faults. The order of the files has no
 * effect. The names of policies are unique over all files. The file `assets.yaml` is the asset table, and
 * `people.yaml` says who people are: neither has policies.
 */
export function readPolicyFiles(
  files: readonly PolicyFile[],
  readReferencedFile: ReadReferencedFile,
): CompileResult {
  const faults: PolicyFault[] = [];
  const documents: Record<Content, ParsedDocument[]> = { policies: [], assets: [], people: [] };
  for (const { name: file, text } of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { trees, faults: syntax } = readYaml(text);
    faults.push(...syntax.map((fault) => faultOfSyntax(file, fault)));
    const found = trees.flatMap((tree) => (tree.type === 'list' ? tree.items : [tree]));
    const [of, what] = contentOfFile(file);
    if (found.length === 0 && syntax.length === 0) {
      faults.push(faultOfFile(file, `the file holds no ${what}`, 'write one, or delete the file'));
    }
    documents[of].push(...found.map((tree) => documentInFile(file, tree)));
  }
  if (!files.some(({ name }) => holdsPolicies(name))) {
    faults.push(faultOfFile('.', 'there is no policy file', 'write a policy into a file that ends in .yaml'));
  }
  const textFile = (name: string): string => {
    const text = readReferencedFile(name);
    if (text === undefined) throw new Error(`there is no file ${name}`);
    return text;
  };
  const peopleText = files.find(({ name }) => name === PEOPLE_FILE)?.text;
  return compileAll({ ...documents, peopleText }, faults, {
    isStored: false,
    listFile: (name) => parseListFile(name, textFile(name)),
    listAsWritten: (name) => linesAsWritten(name, textFile(name)),
    textFile,
  });
}

/** Whether a YAML file beside the policies has policies, by its name. */
export const holdsPolicies = (file: string): boolean => contentOfFile(file)[0] === 'policies';

type Content = 'policies' | 'assets' | 'people';

/** What a YAML file has, and what one of them is called. */
function contentOfFile(file: string): readonly [Content, string] {
  if (file === ASSETS_FILE) return ['assets', 'asset table'];
  return file === PEOPLE_FILE ? ['people', 'people'] : ['policies', 'policy'];
}

/** Compiles the canonical document that the store keeps. The revision does not change. */
export function compileRelease(document: string): CompileResult {
  const failure = (message: string): CompileResult => ({
    ok: false,
    faults: [faultOfFile('release', message, 'push the policies again with this version of the program')],
  });
  let release: Json;
  try {
    release = JSON.parse(document);
  } catch (thrown) {
    return failure(`it is not JSON: ${messageOf(thrown)}`);
  }
  if (!isObject(release) || release['format'] !== FORMAT) return failure(`it is not in format ${FORMAT}`);
  const { policies, lists, files = {}, assets } = release;
  if (!Array.isArray(policies) || !isObject(lists)) return failure('it has no policies or no lists');
  const fileIn = (container: Json, name: string): Json | undefined =>
    isObject(container) && Object.hasOwn(container, name) ? container[name] : undefined;
  const throwMissing = (name: string): never => {
    throw new Error(`the release holds no file ${name}`);
  };
  const peopleText = fileIn(files, PEOPLE_FILE);
  const people = typeof peopleText === 'string' ? readYaml(peopleText) : undefined;
  return compileAll(
    {
      policies: (policies as readonly Json[]).map((json) =>
        documentInRelease(json, `policy ${isObject(json) ? formatInput(json['policy']) : '?'}`),
      ),
      assets: assets === undefined ? [] : [documentInRelease(assets, 'assets')],
      people: (people?.trees ?? []).map((tree) => documentInFile(PEOPLE_FILE, tree)),
      peopleText: typeof peopleText === 'string' ? peopleText : undefined,
    },
    (people?.faults ?? []).map((fault) => faultOfSyntax(PEOPLE_FILE, fault)),
    {
      isStored: true,
      listFile(name) {
        const values = fileIn(lists, name);
        return isTextList(values) ? values : throwMissing(name);
      },
      // A release has the values in the form that lookups use. Their spelling was checked at the push.
      listAsWritten: () => undefined,
      textFile(name) {
        const text = fileIn(files, name);
        return typeof text === 'string' ? text : throwMissing(name);
      },
    },
  );
}

/** Reads a text like people.yaml. All faults are reported, with their places in `file`. */
export function readPeople(
  text: string,
  file: string = PEOPLE_FILE,
):
  | { readonly ok: true; readonly people: People }
  | { readonly ok: false; readonly faults: readonly PolicyFault[] } {
  const { trees, faults: syntax } = readYaml(text);
  const faults = syntax.map((fault) => faultOfSyntax(file, fault));
  const people = compileOnly(
    trees.map((tree) => documentInFile(file, tree)),
    {
      what: 'a list of people',
      compile: compilePeople,
      otherwise: undefined,
      faults,
    },
  );
  if (people === undefined && faults.length === 0) {
    faults.push(faultOfFile(file, 'the file names nobody', 'write `people:` and below it a name a line'));
  }
  return people === undefined || faults.length > 0 ? { ok: false, faults } : { ok: true, people };
}

/** A policy or an asset table as plain values, and a function that adds the position to a problem. */
interface ParsedDocument {
  readonly json: Json;
  readonly faultOf: (problem: Problem) => PolicyFault;
}

function documentInFile(file: string, tree: Tree): ParsedDocument {
  return {
    json: jsonOf(tree),
    faultOf: (problem) => faultWithin('', problem) ?? faultAt(file, tree, problem),
  };
}

function documentInRelease(json: Json, what: string): ParsedDocument {
  return {
    json,
    faultOf: (problem) =>
      faultWithin('release, ', problem) ?? {
        ...faultOfFile(`release, ${what}`, problem.message, problem.fix),
        path: formatPath(problem.path),
      },
  };
}

/** The fault of a problem in a file beside the policy. */
function faultWithin(where: string, { within, message, fix }: Problem): PolicyFault | undefined {
  return within && { ...faultOfFile(`${where}${within.file}`, message, fix), ...within.at };
}

/** A problem of a YAML document, with its place in the file. */
export function faultAt(file: string, tree: Tree, { path, of, message, fix }: Problem): PolicyFault {
  return { file, ...positionOf(tree, path, of), path: formatPath(path), message, fix };
}

/** A fault of the YAML itself. */
export function faultOfSyntax(file: string, { at, message, fix }: SyntaxFault): PolicyFault {
  return { file, ...at, path: '', message, fix };
}

interface ParsedDocuments {
  readonly policies: readonly ParsedDocument[];
  /** More than one asset table is a fault. */
  readonly assets: readonly ParsedDocument[];
  /** The same. */
  readonly people: readonly ParsedDocument[];
  /** As it is written. It is one of the files of the release. */
  readonly peopleText: string | undefined;
}

/** The files beside the policies. */
type RuleFiles = Pick<
  RuleContext,
  'isStored' | 'listFile' | 'listAsWritten' | 'textFile' | 'assets' | 'people'
>;

function compileAll(
  { policies: written, assets: tables, people: peopleFiles, peopleText }: ParsedDocuments,
  faults: PolicyFault[],
  referencedFiles: Omit<RuleFiles, 'assets' | 'people'>,
): CompileResult {
  const lists = new Map<string, readonly string[]>();
  const texts = new Map<string, string>();
  const people = compileOnly(peopleFiles, {
    what: 'a list of people',
    compile: compilePeople,
    otherwise: NO_PEOPLE,
    faults,
  });
  const files: RuleFiles = {
    isStored: referencedFiles.isStored,
    listFile: cached(lists, referencedFiles.listFile),
    listAsWritten: referencedFiles.listAsWritten,
    textFile: cached(texts, referencedFiles.textFile),
    people,
    assets: compileOnly(tables, {
      what: 'an asset table',
      compile: compileAssets,
      otherwise: new Map(),
      faults,
    }),
  };
  const warnings: PolicyFault[] = [];
  const compiled = compileEach(written.slice(0, POLICIES_MAX), files, { faults, warnings });
  faults.push(...sharedCounterFaults(compiled.map(({ policy }) => policy)));
  if (written.length > POLICIES_MAX) {
    const message = `there are ${written.length} policies; at most ${POLICIES_MAX} are read`;
    faults.push(faultOfFile('.', message, 'join policies that share their `when`'));
  }
  // A policy is left out only if it has a fault. The comparison of the lengths makes sure that no release
  // lacks a policy.
  if (faults.length > 0 || compiled.length < written.length || compiled.length === 0) {
    return { ok: false, faults: faults.length > 0 ? unique(faults).sort(byPlace) : [emptyRelease] };
  }
  compiled.sort((a, b) => (a.policy.name < b.policy.name ? -1 : 1));
  if (peopleText !== undefined) texts.set(PEOPLE_FILE, peopleText);
  const document = canonicalJson({
    format: FORMAT,
    lists: Object.fromEntries(lists),
    // Absent rather than empty: a release without files or assets keeps its old revision.
    ...(texts.size > 0 ? { files: Object.fromEntries(texts) } : {}),
    ...(tables[0] === undefined ? {} : { assets: tables[0].json }),
    policies: compiled.map(({ json }) => json),
  });
  const policies = compiled.map(({ policy }) => policy);
  return {
    ok: true,
    release: indexPolicies(sha256Hex(document), document, policies, {
      assets: files.assets,
      people: files.people,
      warnings: unique(warnings).sort(byPlace),
    }),
  };
}

const placeIn = ({ file, line, column }: PolicyFault): Place => ({ file, line, column });

/** The policies that could be compiled, including those with faults. */
function compileEach(
  written: readonly ParsedDocument[],
  files: RuleFiles,
  { faults, warnings }: { readonly faults: PolicyFault[]; readonly warnings: PolicyFault[] },
): { readonly policy: CompiledPolicy; readonly json: Json }[] {
  const firstOf = new Map<string, PolicyFault>();
  return written.flatMap(({ json, faultOf }) => {
    const problems: Problem[] = [];
    const doubts: Problem[] = [];
    const document = readPolicy(json, problems);
    const placeOf = (path: Path): Place | undefined =>
      files.isStored ? undefined : placeIn(faultOf({ path, of: 'name', message: '', fix: '' }));
    const policy = document && compilePolicy(document, files, problems, { doubts, placeOf });
    const place = faultOf({ path: ['policy'], of: 'value', message: '', fix: '' });
    const first = policy && firstOf.get(policy.name);
    if (first !== undefined && policy !== undefined) {
      const at = first.line === 0 ? first.file : `${first.file}:${first.line}`;
      const message = `there is a policy ${policy.name} already, in ${at}`;
      faults.push({ ...place, message, fix: 'give one of the two another name' });
    }
    faults.push(...problems.map(faultOf));
    if (!files.isStored) warnings.push(...doubts.map(faultOf));
    if (policy === undefined) return [];
    if (policy.name !== '') firstOf.set(policy.name, first ?? place);
    return [{ policy, json }];
  });
}

/**
 * A policy with its compiled rules. A rule with a fault is left out, and the fault goes to `problems`. What
 * is valid, but hardly meant, goes to `doubts`.
 */
export function compilePolicy(
  document: PolicyDocument,
  files: RuleFiles,
  problems: Problem[],
  { doubts = [], placeOf = () => undefined }: Partial<Pick<PolicyParts, 'doubts' | 'placeOf'>> = {},
): CompiledPolicy {
  const { name, callback, movements } = document;
  const given = { ...files, kind: callback, movements, problems, doubts, when: ALWAYS.texts, placeOf };
  const when = compileWhen(document.when, ['when'], given);
  const policy: PolicyParts = { ...given, name, counters: new Map(), rules: [] };
  const entries = document.rules
    .map((entry) =>
      compileEntry(entry, policy, {
        when: when.texts,
        always: true,
        mode: entry.mode,
        alternatives: [],
        scope: [],
      }),
    )
    .filter((entry) => entry !== undefined);
  const { rules } = policy;
  const reader = movements && movementReader(entries, policy);
  return { name, callback, when, entries, rules, ...(reader && { movements: reader }) };
}

/** Reads what transactions move, as far as the asset table and the rules of the policy know it. */
function movementReader(entries: readonly CompiledEntry[], { assets, doubts }: PolicyParts): MovementReader {
  const allowed = judgedCalls(entries);
  for (const method of uncountedMethods(allowed, assets)) {
    doubts.push({
      path: ['movements'],
      of: 'name',
      message: `contract-calls allows ${method}, and the tokens that it moves do not count`,
      fix: 'limit it by the conditions of its entry, or leave it out there',
    });
  }
  return createMovementReader(allowed, assets);
}

/**
 * The calls that contract-calls rules of a policy name, of those rules that judge each transaction on their
 * networks that the policy applies to. If a rule has a condition, or is one of several alternatives, the
 * policy may pass a transaction that the rule has not judged, or has refused. So an `any` has such calls only
 * if each of its alternatives has: whichever is taken has judged the transaction.
 */
function judgedCalls(entries: readonly CompiledEntry[]): readonly AllowedTransactions[] {
  return entries.filter(({ mode }) => mode === 'enforce').flatMap((entry) => callsOf(entry));
}

function callsOf(entry: CompiledEntry): readonly AllowedTransactions[] {
  return namesOnlyNetworks(entry) ? callsOfTaken(entry) : [];
}

/** The conditions of an alternative are met if it is taken. */
function callsOfTaken(entry: CompiledEntry): readonly AllowedTransactions[] {
  if (!('group' in entry)) return entry.allowedCalls === undefined ? [] : [entry.allowedCalls];
  if (entry.group === 'all') return entry.entries.flatMap(callsOf);
  const alternatives = entry.entries.map(callsOfTaken);
  return alternatives.every(({ length }) => length > 0) ? alternatives.flat() : [];
}

/** Whether it applies to each transaction, or to each on the networks of the rules in it. */
const namesOnlyNetworks = ({ when: { conditions } }: CompiledEntry): boolean =>
  conditions.every((each) => each.is === 'one-of' && each.member === 'symbol' && !each.isListed);

/** The parts of a policy that all its entries share. */
interface PolicyParts extends RuleFiles {
  readonly name: string;
  readonly kind: Kind;
  readonly movements: 'count' | undefined;
  readonly problems: Problem[];
  /** What is valid, but hardly meant. */
  readonly doubts: Problem[];
  readonly placeOf: (path: Path) => Place | undefined;
  /** By counter, the rules that count in it. */
  readonly counters: Map<string, { readonly place: string; readonly alternatives: readonly string[] }[]>;
  /** The rules that were compiled, in order. */
  readonly rules: CompiledRule[];
}

/** The groups that an entry is in. */
interface Surroundings {
  /** The conditions of the policy and of the groups, as far as they name texts. */
  readonly when: When['texts'];
  readonly always: boolean;
  readonly mode: CompiledRule['mode'];
  /** The places of the alternatives that it belongs to, from the outermost `any`. */
  readonly alternatives: readonly string[];
  /** The `when` of each group and of the entry itself. */
  readonly scope: readonly Json[];
}

function compileEntry(
  entry: EntryDocument,
  policy: PolicyParts,
  { when: outer, always, mode, alternatives, scope }: Surroundings,
): CompiledEntry | undefined {
  const when = compileWhen(entry.when, [...entry.path, 'when'], { ...policy, when: outer });
  const inner = {
    when: bothTexts(outer, when.texts),
    always: always && entry.when === undefined,
    mode,
    alternatives,
    scope: entry.when === undefined ? scope : [...scope, entry.when],
  };
  if (!('group' in entry)) return compileRule(entry, policy, { ...inner, own: when });
  const isAny = entry.group === 'any';
  const entries = entry.entries
    .map((each) =>
      compileEntry(each, policy, {
        ...inner,
        always: inner.always && !isAny,
        alternatives: isAny ? [...alternatives, each.place] : alternatives,
      }),
    )
    .filter((each) => each !== undefined);
  return { group: entry.group, name: `${entry.group}#${entry.place}`, mode, when, entries };
}

/** All rules have the same properties in the same order, because the evaluation reads such objects faster. */
const UNDECLARED: object = {
  counter: undefined,
  remembers: undefined,
  lockoutIds: undefined,
  sharedCounter: undefined,
  acrossGroup: undefined,
  countsMs: undefined,
  pluginQuestions: undefined,
  approval: undefined,
  lists: undefined,
  looserLists: undefined,
  readListed: undefined,
  maxPriceAge: undefined,
  alwaysPasses: undefined,
  allowedCalls: undefined,
  judgesAmounts: undefined,
  compared: undefined,
} satisfies Record<Exclude<keyof Check, 'evaluate'>, undefined>;

function compileRule(
  { rule, place, path, parameters }: RuleDocument,
  policy: PolicyParts,
  { when, always, mode, alternatives, scope, own }: Surroundings & { readonly own: When },
): CompiledRule | undefined {
  const { kind, problems, doubts, placeOf } = policy;
  const base = [...path, rule.name];
  const reportTo =
    (found: Problem[]): RuleContext['fault'] =>
    (where, message, fix) => {
      const at = 'file' in where ? { path: base, within: where } : { path: [...base, ...where] };
      found.push({ ...at, of: 'value', message, fix });
      return undefined;
    };
  const [fault, warn] = [reportTo(problems), reportTo(doubts)];
  const problemsBefore = problems.length;
  const context: RuleContext = {
    ...policy,
    policy: policy.name,
    mode,
    callback: kind,
    when,
    scope: scope.length === 0 ? undefined : canonicalJson(scope),
    fault,
    warn,
  };
  let check: Check | undefined;
  try {
    check = rule.compile(parameters, context);
    // Without one of its rules a policy would approve what that rule refuses, so a missing check is always a
    // fault.
    if (check === undefined && problems.length === problemsBefore) {
      fault([], 'the rule can’t be compiled, and does not say why', 'write it in another way');
    }
  } catch (thrown) {
    fault([], `the rule can't be compiled: ${messageOf(thrown)}`, 'write it in another way');
  }
  if (check === undefined) return undefined;
  for (const [at, text] of doubtfulAmounts(rule, parameters)) {
    warn(
      at,
      `${text} has a point and three digits: it is less than a thousand`,
      `write ${text.replace('.', '')} if a thousand times as much is meant, or else leave a digit out`,
    );
  }
  checkCounter(check, { place, path: [...path, rule.name], alternatives }, policy);
  const { evaluate, ...declared } = check;
  // What the evaluation reads comes first, so that it is together in memory.
  const compiled = {
    name: `${rule.name}#${place}`,
    mode,
    when: own,
    evaluate: comparesSpellings(check) ? refusingUnspelled(evaluate) : evaluate,
    covers: rule.covers !== false,
    always,
    place: placeOf(base),
    ...UNDECLARED,
    ...declared,
  };
  policy.rules.push(compiled);
  return compiled;
}

/** Whether another spelling of an address would get past the rule. */
const comparesSpellings = ({ compared }: Check): boolean =>
  compared?.effect !== undefined && compared.members.some((member) => ADDRESS_MEMBERS.has(member));

/** The rule, which also refuses an asset if the asset table does not say how its chain spells addresses. */
function refusingUnspelled(evaluate: Check['evaluate']): Check['evaluate'] {
  return (callback, facts) => {
    const problem = callback.reading?.unspelled;
    return problem === undefined ? evaluate(callback, facts) : refuse(problem.because, problem.values);
  };
}

/** In many languages, a point before three digits separates thousands. */
const LIKE_THOUSANDS = /^[1-9]\d{0,2}\.\d{3}$/;

/** The bounds of a rule, or of a table in it, that look as if a point separated thousands. */
function doubtfulAmounts(rule: Rule, parameters: Json): readonly (readonly [path: Path, text: string])[] {
  if (!isObject(parameters)) return [];
  const isBound = (name: string): boolean =>
    ['higher', 'lower'].includes(declaredAt(rule.parameters, [name])?.by ?? '');
  return Object.keys(rule.parameters.shape)
    .filter(isBound)
    .flatMap((name) => {
      const bound = parameters[name];
      const texts: readonly (readonly [Path, Json | undefined])[] = isObject(bound)
        ? Object.entries(bound).map(([symbol, text]) => [[name, symbol], text])
        : [[[name], bound]];
      return texts.flatMap(([path, text]) =>
        typeof text === 'string' && LIKE_THOUSANDS.test(text) ? [[path, text] as const] : [],
      );
    });
}

/**
 * Reports two rules that would both reserve in one counter. Rules of different alternatives may share one,
 * because only one of these reserves. Limits should say so by naming their counter: people may expect a count
 * for each alternative.
 */
function checkCounter(
  { counter, sharedCounter, countsMs }: Check,
  rule: { readonly place: string; readonly path: Path; readonly alternatives: readonly string[] },
  { counters, problems, doubts }: PolicyParts,
): void {
  if (counter === undefined) return;
  const others = counters.get(counter) ?? [];
  const other = others.find(({ alternatives }) => !areExclusive(alternatives, rule.alternatives));
  if (other !== undefined) {
    problems.push({
      path: rule.path,
      of: 'name',
      message: `it would count under the same counter as rule ${other.place} of this policy`,
      fix: 'keep one of the two, or move one that observes to a policy of its own',
    });
  }
  const [first] = others;
  if (other === undefined && first !== undefined && sharedCounter === undefined && countsMs !== undefined) {
    doubts.push({
      path: rule.path,
      of: 'name',
      message:
        `it shares one count with rule ${first.place}, which is in another alternative: ` +
        'what is approved through one of the two leaves less room in the other',
      fix:
        'write the same counter in both (counter: NAME) if they are to share the count, ' +
        'or a counter of its own in each if each is to count only what it lets through',
    });
  }
  counters.set(counter, [...others, rule]);
}

/** Whether two rules belong to different alternatives of one `any`. */
function areExclusive(one: readonly string[], other: readonly string[]): boolean {
  const differ = one.findIndex((place, at) => place !== other[at]);
  const [a, b] = [one[differ], other[differ]];
  if (a === undefined || b === undefined) return false;
  return a.slice(0, a.lastIndexOf('.')) === b.slice(0, b.lastIndexOf('.'));
}

/** Stores each value in `values`, because it becomes part of the release. */
function cached<T>(values: Map<string, T>, read: (name: string) => T): (name: string) => T {
  return (name) => {
    const value = values.get(name) ?? read(name);
    values.set(name, value);
    return value;
  };
}

/** Compiles what a release has once; `otherwise` without it. */
function compileOnly<T>(
  documents: readonly ParsedDocument[],
  {
    what,
    compile,
    otherwise,
    faults,
  }: {
    /** Such as `an asset table`. */
    readonly what: string;
    readonly compile: (json: Json, problems: Problem[]) => T;
    readonly otherwise: T;
    readonly faults: PolicyFault[];
  },
): T {
  const [first, second] = documents;
  if (second !== undefined) {
    const fix = 'join the two into one';
    faults.push(second.faultOf({ path: [], of: 'value', message: `there is ${what} already`, fix }));
  }
  if (first === undefined) return otherwise;
  const problems: Problem[] = [];
  const compiled = compile(first.json, problems);
  faults.push(...problems.map(first.faultOf));
  return compiled;
}

/** Each fault once: several rules may use one faulty file. */
function unique(faults: readonly PolicyFault[]): PolicyFault[] {
  return [...new Map(faults.map((fault) => [formatFault(fault), fault])).values()];
}

function byPlace(a: PolicyFault, b: PolicyFault): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}

const emptyRelease = faultOfFile('.', 'there is no policy', 'write at least one');

function isTextList(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
