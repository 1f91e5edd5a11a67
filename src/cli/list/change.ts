import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, messageOf } from '../../errors.ts';
import { ASSETS_FILE, type Asset, assetCure, compileAssets } from '../../policy/assets.ts';
import { compileRelease } from '../../policy/compile.ts';
import { type Problem, formatFault, formatPath } from '../../policy/fault.ts';
import type { ListSummary } from '../../store/store.ts';
import { type Tree, plainOf, positionOf, readYaml } from '../../values/yaml.ts';
import { type Call, type CommandRow, byOption } from '../command.ts';
import { counted } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import { takenNote } from '../taken-note.ts';
import { type GivenValues, addedValues, removedValues } from './values.ts';

/** Values in one step: decisions of the source wait for it. */
const STEP_VALUES = 10_000;

export const listAdd: CommandRow = {
  path: 'list add',
  summary: 'Put values on a list, which is made if there is none; without values, make an empty list.',
  example:
    'list add blocked-users 99999 88888 --source shop --message "fraud case 12"\nlist add withdrawal-addresses --file addresses.txt --asset ETH --source vault\nlist add vault-partners "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh XRP 12345" --source vault\nlist add blocked-users',
  define: (command) =>
    byOption(
      sourceOption(
        command
          .argument('<name>', 'the list')
          .argument('[values...]', 'what to put on it; a value of several parts has one blank between them'),
      ),
    )
      .option('--file <file>', 'more values, one a line, # for comments')
      .option(
        '--asset <symbol>',
        'each value must begin with an address of this asset, as assets.yaml beside the policies says',
      )
      .option('--message <text>', 'why, for the journal'),
  run: async (session, call) => {
    const given = addedValues(call, assetOf(session, call));
    const code = await change(session, call, given, 'add', chosenSources(session, call));
    await noteIfUnused(session, given.list);
    return code;
  },
};

export const listRemove: CommandRow = {
  path: 'list remove',
  summary: 'Take values off a list. A list stays, if an empty one.',
  example:
    'list remove blocked-users 99999 --source shop --message "case closed"\nlist remove withdrawal-addresses --file old.txt',
  define: (command) =>
    byOption(sourceOption(command.argument('<name>', 'the list').argument('[values...]', 'what to take off')))
      .option('--file <file>', 'more values, one a line, # for comments')
      .option('--message <text>', 'why, for the journal'),
  async run(session, call) {
    const given = removedValues(call);
    if (given.values.length === 0) {
      throw new CountersignError('USAGE', 'there is nothing to remove; give values, or --file with some');
    }
    return change(session, call, given, 'remove', await sourcesWithList(session, call, given.list));
  },
};

/**
 * Where the list is: a misspelt name must not make an empty list, by which a callback could pass. Throws
 * NOT_FOUND.
 */
async function sourcesWithList(session: Session, call: Call, list: string): Promise<readonly string[]> {
  const store = await session.store();
  const sources = chosenSources(session, call);
  const found: string[] = [];
  for (const source of sources) {
    const lists = await store.lists(source);
    if (lists.some((each) => each.list === list)) found.push(source);
  }
  if (found.length > 0) return found;
  throw noSuchList(list, sources);
}

/** NOT_FOUND, for a list that none of these sources has. */
export function noSuchList(list: string, sources: readonly string[]): CountersignError {
  return new CountersignError(
    'NOT_FOUND',
    `there is no list ${list} in ${sources.join(', ')}; \`countersign list show\` names those there are, \`countersign list add\` makes one`,
    { list, sources },
  );
}

/** Whoever adds somebody to a list expects that something comes of it. */
async function noteIfUnused(session: Session, list: string): Promise<void> {
  const store = await session.store();
  const { revision } = await store.control();
  const document = revision === '' ? undefined : await store.document(revision);
  const compiled = document === undefined ? undefined : compileRelease(document);
  if (compiled?.ok !== true) return;
  const rules = compiled.release.policies.flatMap((policy) => policy.rules);
  if (rules.some(({ lists = [] }) => lists.includes(list))) return;
  session.report(
    `No rule in force looks into the list ${list}: it changes nothing until a policy names it (list: ${list}).`,
  );
}

async function change(
  session: Session,
  call: Call,
  given: GivenValues,
  what: 'add' | 'remove',
  sources: readonly string[],
): Promise<0> {
  const message = call.option('message') ?? '';
  const changes: Changed[] = [];
  for (const source of sources) changes.push(await changeOne(session, source, given, what, message));
  const texts = changes.map(
    ({ source, changed, entries, version }) =>
      `${source}/${given.list}: ${changed} ${what === 'add' ? 'added' : 'removed'}, ${counted(entries, 'entry', 'entries')} now (version ${version})`,
  );
  const services = await takenNote(session);
  session.print(
    texts.join('\n'),
    changes.map((each) => ({ ...each, services })),
  );
  return 0;
}

interface Changed extends Pick<ListSummary, 'list' | 'entries' | 'version'> {
  readonly source: string;
  /** Values that were really added or removed. */
  readonly changed: number;
}

/** In steps of a bounded size, each of them whole; after a failure the same call does what is left. */
async function changeOne(
  session: Session,
  source: string,
  { list, values }: GivenValues,
  what: 'add' | 'remove',
  message: string,
): Promise<Changed> {
  const store = await session.store();
  let changed = 0;
  let done = 0;
  for (;;) {
    const step = values.slice(done, done + STEP_VALUES);
    const [add, remove] = what === 'add' ? [step, []] : [[], step];
    const { added, removed, summary } = await store
      .changeList({ source, list, add, remove, by: session.by, message })
      .catch((thrown: unknown) => {
        session.progress('');
        throw halfDone(thrown, `${source}/${list}`, done, values.length);
      });
    changed += added + removed;
    done += step.length;
    if (done === values.length) {
      session.progress('');
      return { source, list, changed, entries: summary.entries, version: summary.version };
    }
    session.progress(`${source}/${list}: ${done} of ${values.length}`);
  }
}

function halfDone(thrown: unknown, list: string, done: number, all: number): unknown {
  if (!(thrown instanceof CountersignError) || done === 0) return thrown;
  const said = `${done} of ${all} values of ${list} were dealt with, then: ${messageOf(thrown)}. The same call again does the rest`;
  return new CountersignError(thrown.code, said, thrown.data, thrown);
}

/**
 * The asset that `--asset` names, from the asset table beside the policies; undefined without it. Throws
 * USAGE, with the cure.
 */
function assetOf(session: Session, call: Call): Asset | undefined {
  const symbol = call.option('asset');
  if (symbol === undefined) return undefined;
  const path = join(session.settings().policies.directory, ASSETS_FILE);
  const { trees, faults } = readYaml(textOf(path));
  const [tree, second] = trees;
  const problems: Problem[] = [];
  const assets = tree === undefined ? new Map<string, Asset>() : compileAssets(plainOf(tree), problems);
  const said = [
    ...faults.map(({ at, message, cure }) => formatFault({ file: path, ...at, path: '', message, cure })),
    ...(tree === undefined && faults.length === 0
      ? [`${path} is empty; write \`assets:\` and below it a symbol a line`]
      : []),
    ...(tree === undefined ? [] : problems.map((problem) => formatProblem(path, tree, problem))),
    ...(second === undefined ? [] : [`${path} holds more than one table; join them into one`]),
  ];
  if (said.length > 0) throw new CountersignError('USAGE', `the asset table has faults:\n${said.join('\n')}`);
  const asset = assets.get(symbol);
  if (asset !== undefined) return asset;
  throw new CountersignError('USAGE', `${path} does not have ${symbol}; ${assetCure(symbol, assets)}`);
}

function formatProblem(file: string, tree: Tree, { path, of, message, cure }: Problem): string {
  return formatFault({ file, ...positionOf(tree, path, of), path: formatPath(path), message, cure });
}

function textOf(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (thrown) {
    throw new CountersignError(
      'USAGE',
      `--asset needs the asset table, and ${path} can't be read: ${messageOf(thrown)}; write one, or leave --asset out`,
    );
  }
}
