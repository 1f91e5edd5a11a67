import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { perform } from '../act/act.ts';
import { type WrittenValue, changeList, listTexts, unusedText } from '../act/lists.ts';
import { CountersignError, usageError } from '../errors.ts';
import { wrongText } from '../policy/language/asset-texts.ts';
import {
  type Asset,
  ASSETS_FILE,
  assetFix,
  compileAssets,
  readAssetAddress,
} from '../policy/language/assets.ts';
import { faultAt, faultOfSyntax } from '../policy/compile.ts';
import type { Release } from '../policy/release.ts';
import type { ListedRead } from '../policy/rules/rule.ts';
import { type Problem, faultOfUnreadable, formatFault } from '../policy/fault.ts';
import { linesAsWritten, listFileLine } from '../policy/language/list-file.ts';
import { addedText, checkedName, listInForce, removedTexts, sourcesToFill } from '../release/lists.ts';
import { releaseInForce } from '../release/stored.ts';
import type { ListEntry, ListSummary, Store } from '../store/store.ts';
import { hasMemos } from '../values/address.ts';
import { quoted } from '../values/printable.ts';
import { decodeUtf8 } from '../values/utf8.ts';
import { jsonOf, readYaml } from '../values/yaml.ts';
import { type Call, type CommandRow, type ExitCode, byOption, fourEyesKey } from './command.ts';
import { counted, isoTime, printable, table } from './print.ts';
import { servicesThatApplied } from './services.ts';
import type { Session } from './session.ts';
import { chosenSources, sourceOption } from './sources.ts';

export const listShow: CommandRow = {
  path: 'list show',
  summary: 'Show all lists, or the values of one list.',
  example: 'list show\nlist show blocked-users --source shop',
  define: (command) =>
    sourceOption(command.argument('[name]', 'a list (default: all lists, without their values)')),
  async run(session, call) {
    const store = await session.store();
    const sources = chosenSources(session, call);
    const [name] = call.arguments;
    const found = await listsOf(store, sources);
    if (name === undefined) return showAll(session, found);
    const named = found.filter(({ list }) => list === checkedName(name));
    if (named.length === 0) throw noSuchList(name, sources);
    await showEntries(session, store, named);
    return 0;
  },
};

interface Found extends ListSummary {
  readonly source: string;
}

async function listsOf(store: Store, sources: readonly string[]): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const source of sources) {
    for (const summary of await store.lists(source)) found.push({ source, ...summary });
  }
  return found;
}

function showAll(session: Session, found: readonly Found[]): 0 {
  const rows = found.map((each) => [
    `${each.source}/${each.list}`,
    counted(each.entries, 'entry', 'entries'),
    `version ${each.version}`,
    `changed ${isoTime(each.changedAtMs)}`,
  ]);
  session.print(
    table(rows, 'There are no lists. Make one with `countersign list add`.'),
    found.map(summaryJson),
  );
  return 0;
}

async function showEntries(session: Session, store: Store, lists: readonly Found[]): Promise<void> {
  const shown: { readonly found: Found; readonly entries: readonly ListEntry[] }[] = [];
  for (const found of lists) shown.push({ found, entries: await entriesOf(store, found) });
  await session.drained();
  session.print(
    shown
      .map(({ found, entries }) => {
        const title =
          `# ${found.source}/${found.list}: ${counted(found.entries, 'entry', 'entries')}, version ` +
          `${found.version}, changed ${isoTime(found.changedAtMs)}`;
        return [
          title,
          ...entries.map(
            ({ value, addedAtMs }) => `${printable(listFileLine(value))} # ${isoTime(addedAtMs)}`,
          ),
        ].join('\n');
      })
      .join('\n'),
    shown.map(({ found, entries }) => ({
      ...summaryJson(found),
      values: entries.map(({ value, addedAtMs }) => ({ value, addedAt: isoTime(addedAtMs) })),
    })),
  );
}

/** Sorted by value, each once: the store may return one twice while the list changes. */
async function entriesOf(store: Store, { source, list }: Found): Promise<readonly ListEntry[]> {
  const entries = new Map<string, ListEntry>();
  for await (const entry of store.listEntries(source, list)) entries.set(entry.value, entry);
  return [...entries.values()].sort((a, b) => (a.value < b.value ? -1 : 1));
}

function summaryJson({ source, list, entries, version, changedAtMs }: Found) {
  return { source, list, entries, version, changedAt: isoTime(changedAtMs) };
}

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
        fourEyesKey(command)
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
  async run(session, call) {
    const asset = assetOf(session, call);
    const list = listOf(call);
    const store = await session.store();
    const release = await releaseInForce(store);
    const { isNamedFor, readFor } = listInForce(release, list);
    const create = call.flag('create');
    const sources = await sourcesToFill(store, release, {
      list,
      sources: chosenSources(session, call),
      create,
    });
    const written = writtenValues(call);
    const changes: Change[] = [];
    for (const source of sources) {
      const read = addedReader(readFor(source), { asset, isNamed: isNamedFor(source) });
      changes.push({ source, list, add: await listTexts(written, read), remove: [], create });
    }
    const code = await change(session, call, release, changes);
    const unused = unusedText(release, list);
    if (unused !== '') session.report(unused);
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
      sourceOption(
        fourEyesKey(command).argument('<name>', 'the list').argument('[values...]', 'the values to remove'),
      ),
    )
      .option('--file <file>', 'read more values from this file, one on each line; # begins a comment')
      .option('--message <text>', 'the reason, for the journal'),
  async run(session, call) {
    const list = listOf(call);
    const written = writtenValues(call);
    if ((await listTexts(written, (value) => removedTexts(value))).length === 0) {
      throw usageError('there are no values to remove. Give values, or a --file with values');
    }
    const sources = await sourcesWithList(session, call, list);
    const release = await releaseInForce(await session.store());
    const { readFor } = listInForce(release, list);
    const changes: Change[] = [];
    for (const source of sources) {
      const read = readFor(source);
      const remove = await listTexts(written, (value) => removedTexts(value, read));
      changes.push({ source, list, add: [], remove, create: false });
    }
    return change(session, call, release, changes);
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
function noSuchList(list: string, sources: readonly string[]): CountersignError {
  return new CountersignError(
    'NOT_FOUND',
    `there is no list ${list} in ${sources.join(', ')}. \`countersign list show\` prints the ` +
      'lists, and `countersign list add` makes one',
    { list, sources },
  );
}

type Change = Omit<z.input<typeof changeList.input>, 'message'>;

/** Changes the lists of several sources, one after the other. */
async function change(
  session: Session,
  call: Call,
  release: Release | undefined,
  changes: readonly Change[],
): Promise<ExitCode> {
  const parts = { store: await session.store(), release, progress: (line: string) => session.progress(line) };
  const message = call.option('message') ?? '';
  const results: Awaited<ReturnType<(typeof changeList)['perform']>>[] = [];
  const waiting: CountersignError[] = [];
  for (const each of changes) {
    try {
      results.push(await perform(changeList, parts, { ...each, message }, session));
    } catch (thrown) {
      if (!(thrown instanceof CountersignError && thrown.code === 'AWAITS_SIGNATURES')) throw thrown;
      waiting.push(thrown);
    }
  }
  const [first] = waiting;
  if (first !== undefined && changes.length === 1) throw first;
  const services = await servicesThatApplied(session);
  session.print([...results.map(changeList.text), ...waiting.map((each) => each.message)].join('\n'), [
    ...results.map((result) => ({ ...changeList.json(result), services })),
    ...waiting.map(({ data }) => data),
  ]);
  return first === undefined ? 0 : 1;
}

/**
 * The asset of `--asset`, from the asset table beside the policies. Undefined without `--asset`. Throws
 * USAGE.
 */
function assetOf(session: Session, call: Call): Asset | undefined {
  const symbol = call.option('asset');
  if (symbol === undefined) return undefined;
  const path = join(session.settings().policies.directory, ASSETS_FILE);
  const { trees, faults } = readYaml(
    textOf(path, '--asset needs the asset table, which', 'write one, or leave --asset out'),
  );
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
    throw usageError(`the asset table has faults:\n${messages.join('\n')}`);
  }
  const asset = assets.get(symbol);
  if (asset !== undefined) return asset;
  throw usageError(`${path} has no asset ${symbol}; ${assetFix(symbol, assets)}`);
}

/**
 * Reads values to add. With an asset, each must begin with an address of it, and where no rule in force looks
 * into the list, the rest must be what such an entry can have. Throws USAGE or LIST_INVALID.
 */
function addedReader(
  read: (written: string) => ListedRead,
  { asset, isNamed }: { readonly asset: Asset | undefined; readonly isNamed: boolean },
): (value: string) => readonly string[] {
  if (asset === undefined) return (value) => [addedText(value, read)];
  return (value) => {
    if (!isNamed) checkRest(value, asset);
    return [addedText(value, (written) => read(withCanonicalAddress(written, asset)))];
  };
}

/** The list that a call names. Throws USAGE. */
function listOf(call: Call): string {
  const [list = ''] = call.arguments;
  return checkedName(list);
}

function writtenValues(call: Call): readonly WrittenValue[] {
  const [, ...written] = call.arguments;
  const file = call.option('file');
  const lines =
    file === undefined
      ? []
      : linesAsWritten(file, textOf(file, '--file', 'name a text file with one value on each line'));
  return [
    ...written.map((value) => ({ value: value.trim(), place: '' })),
    ...Array.from(lines, ([value, line]) => ({ value, place: `${file}:${line}: ` })),
  ];
}

function withCanonicalAddress(value: string, asset: Asset): string {
  const [address = '', ...others] = value.split(' ');
  const read = readAssetAddress(asset, address);
  if (read.ok) return [read.address, ...others].join(' ');
  throw usageError(
    `${quoted(value)} does not begin with an address of ${asset.symbol}: ${read.because}. ` +
      'Nothing was added. Correct it and run the command again',
  );
}

/**
 * Throws USAGE unless an entry may have what follows its address: addresses and the symbol of the asset, then
 * a memo if the chain has memos.
 */
function checkRest(value: string, asset: Asset): void {
  const [, ...others] = value.split(' ');
  const memoAt = others.findIndex((word) => word !== asset.symbol && !readAssetAddress(asset, word).ok);
  if (memoAt === -1) return;
  const memo = others.slice(memoAt).join(' ');
  const wrong = hasMemos(asset.chain)
    ? wrongText('memo', memo, [asset])?.message
    : `${quoted(memo)} follows the address, and transfers of ${asset.symbol} have no memo`;
  if (wrong === undefined) return;
  throw usageError(
    `${quoted(value)} is not an entry about ${asset.symbol}: ${wrong}. Nothing was added. In a file, a ` +
      'comment begins with #. Correct it and run the command again',
  );
}

function textOf(file: string, what: string, fix: string): string {
  try {
    return decodeUtf8(readFileSync(file));
  } catch (thrown) {
    throw usageError(`${what} can't be read: ${formatFault(faultOfUnreadable(file, thrown, fix))}`);
  }
}
