import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, messageOf } from '../../errors.ts';
import { ASSETS_FILE, type Asset, assetFix, compileAssets } from '../../policy/assets.ts';
import { faultAt, faultOfSyntax } from '../../policy/compile.ts';
import { type Problem, faultOfUnreadable, formatFault } from '../../policy/fault.ts';
import type { ListSummary } from '../../store/store.ts';
import { decodeUtf8 } from '../../values/utf8.ts';
import { jsonOf, readYaml } from '../../values/yaml.ts';
import { type Call, type CommandRow, byOption } from '../command.ts';
import { counted } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import { servicesThatApplied } from '../services.ts';
import { listInForce, sourcesToFill } from '../../release/lists.ts';
import { releaseInForce } from '../../release/stored.ts';
import { type GivenValues, addedValues, listOf, removedValues } from './values.ts';

/** Values that one step changes. Decisions of the source wait during a step. */
const STEP_VALUES = 10_000;

export const listAdd: CommandRow = {
  path: 'list add',
  summary:
    'Add values to a list. Make a list that does not exist, even without values, if a policy in force looks into ' +
    'it, or with --create.',
  example:
    'list add blocked-users 99999 88888 --source shop --message "fraud case 12"\n' +
    'list add withdrawal-addresses --file addresses.txt --asset ETH --source vault\n' +
    'list add vault-partners "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh XRP 12345" --source vault\n' +
    'list add blocked-users --source shop --create',
  define: (command) =>
    byOption(
      sourceOption(
        command
          .argument('<name>', 'the list')
          .argument(
            '[values...]',
            'the values to add; write the parts of a value with one space between them',
          ),
      ),
    )
      .option('--file <file>', 'read more values from this file, one on each line; # begins a comment')
      .option(
        '--asset <symbol>',
        'check that each value begins with an address of this asset of assets.yaml, beside the policies',
      )
      .option('--create', 'make the list although no policy in force looks into it')
      .option('--message <text>', 'the reason, for the journal'),
  run: async (session, call) => {
    const asset = assetOf(session, call);
    const list = listOf(call);
    const store = await session.store();
    const release = await releaseInForce(store);
    const { isUsed, isNamedFor, readFor } = listInForce(release, list);
    const sources = await sourcesToFill(store, release, {
      list,
      sources: chosenSources(session, call),
      create: call.flag('create'),
    });
    const given = sources.map((source) => ({
      source,
      ...addedValues(call, { asset, isNamed: isNamedFor(source) }, readFor(source)),
    }));
    const code = await change(session, call, given, 'add');
    // People who add values don't expect that a list has no effect yet.
    if (!isUsed) {
      session.report(
        `No rule in force uses the list ${list}. It has no effect until a policy names it (list: ${list}).`,
      );
    }
    return code;
  },
};

export const listRemove: CommandRow = {
  path: 'list remove',
  summary: 'Remove values from a list. An empty list stays.',
  example:
    'list remove blocked-users 99999 --source shop --message "case closed"\n' +
    'list remove withdrawal-addresses --file old.txt',
  define: (command) =>
    byOption(
      sourceOption(command.argument('<name>', 'the list').argument('[values...]', 'the values to remove')),
    )
      .option('--file <file>', 'read more values from this file, one on each line; # begins a comment')
      .option('--message <text>', 'the reason, for the journal'),
  async run(session, call) {
    const { list, values } = removedValues(call);
    if (values.length === 0) {
      throw new CountersignError(
        'USAGE',
        'there are no values to remove. Give values, or a --file with values',
      );
    }
    const sources = await sourcesWithList(session, call, list);
    const { readFor } = listInForce(await releaseInForce(await session.store()), list);
    const given = sources.map((source) => ({ source, ...removedValues(call, readFor(source)) }));
    return change(session, call, given, 'remove');
  },
};

/**
 * The sources that have the list. Throws NOT_FOUND, because a misspelt name must not make an empty list, with
 * which callbacks could pass.
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

/** A NOT_FOUND for a list that these sources don't have. */
export function noSuchList(list: string, sources: readonly string[]): CountersignError {
  return new CountersignError(
    'NOT_FOUND',
    `there is no list ${list} in ${sources.join(', ')}. \`countersign list show\` prints the ` +
      'lists, and `countersign list add` makes one',
    { list, sources },
  );
}

interface SourceValues extends GivenValues {
  readonly source: string;
}

async function change(
  session: Session,
  call: Call,
  given: readonly SourceValues[],
  what: 'add' | 'remove',
): Promise<0> {
  const message = call.option('message') ?? '';
  const changes: Changed[] = [];
  for (const each of given) changes.push(await changeOne(session, each, what, message));
  const texts = changes.map(
    ({ source, list, changed, entries, version }) =>
      `${source}/${list}: ${changed} ${what === 'add' ? 'added' : 'removed'}, ` +
      `${counted(entries, 'entry', 'entries')} now (version ${version})`,
  );
  const services = await servicesThatApplied(session);
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

/** Changes a list in atomic steps of bounded size. After a failure, the same call does the rest. */
async function changeOne(
  session: Session,
  { source, list, values }: SourceValues,
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
        throw partialChangeError(thrown, `${source}/${list}`, done, values.length);
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

function partialChangeError(thrown: unknown, list: string, done: number, all: number): unknown {
  if (!(thrown instanceof CountersignError) || done === 0) return thrown;
  const message =
    `${done} of ${all} values of ${list} are done, then: ${messageOf(thrown)}. Run the same command ` +
    'again for the rest';
  return new CountersignError(thrown.code, message, thrown.data, thrown);
}

/**
 * The asset of `--asset`, from the asset table beside the policies. Undefined without `--asset`. Throws
 * USAGE.
 */
function assetOf(session: Session, call: Call): Asset | undefined {
  const symbol = call.option('asset');
  if (symbol === undefined) return undefined;
  const path = join(session.settings().policies.directory, ASSETS_FILE);
  const { trees, faults } = readYaml(textOf(path));
  const [tree, second] = trees;
  const problems: Problem[] = [];
  const assets = tree === undefined ? new Map<string, Asset>() : compileAssets(jsonOf(tree), problems);
  const messages = [
    ...faults.map((fault) => formatFault(faultOfSyntax(path, fault))),
    ...(tree === undefined && faults.length === 0
      ? [`${path} is empty. Write \`assets:\`, and below it one symbol on each line`]
      : []),
    ...(tree === undefined ? [] : problems.map((problem) => formatFault(faultAt(path, tree, problem)))),
    ...(second === undefined ? [] : [`${path} has more than one table. Join them into one`]),
  ];
  if (messages.length > 0) {
    throw new CountersignError('USAGE', `the asset table has faults:\n${messages.join('\n')}`);
  }
  const asset = assets.get(symbol);
  if (asset !== undefined) return asset;
  throw new CountersignError('USAGE', `${path} has no asset ${symbol}; ${assetFix(symbol, assets)}`);
}

function textOf(path: string): string {
  try {
    return decodeUtf8(readFileSync(path));
  } catch (thrown) {
    throw new CountersignError(
      'USAGE',
      `--asset needs the asset table, which can't be read: ${formatFault(
        faultOfUnreadable(path, thrown, 'write one, or leave --asset out'),
      )}`,
    );
  }
}
