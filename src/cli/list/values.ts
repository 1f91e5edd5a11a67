import { readFileSync } from 'node:fs';
import { CountersignError } from '../../errors.ts';
import { type Asset, readAssetAddress } from '../../policy/assets.ts';
import { wrongText } from '../../policy/asset-texts.ts';
import { faultOfUnreadable, formatFault } from '../../policy/fault.ts';
import { linesAsWritten } from '../../policy/list-file.ts';
import { type ReadValue, addedText, checkedName, checkedValue, removedTexts } from '../../release/lists.ts';
import { hasMemos } from '../../values/address.ts';
import { toComparableEntry } from '../../values/comparable.ts';
import { decodeUtf8 } from '../../values/utf8.ts';
import type { Call } from '../command.ts';
import { quoted } from '../../values/printable.ts';

/**
 * The list's name and the values of a call, from the arguments and `--file`. Values have their comparable
 * form, each once.
 */
export interface GivenValues {
  readonly list: string;
  readonly values: readonly string[];
}

const readAnything: ReadValue = (written) => ({ ok: true, texts: [toComparableEntry(written)] });

/**
 * The values to add to a list. With an asset, each must begin with an address of it, and where no rule in
 * force looks into the list, the rest must be what such an entry can have. Throws USAGE or LIST_INVALID,
 * naming the invalid values.
 */
export function addedValues(
  call: Call,
  { asset, isNamed = false }: { readonly asset?: Asset | undefined; readonly isNamed?: boolean },
  read: ReadValue = readAnything,
): GivenValues {
  const kept = eachOf(writtenValues(call), (value) => {
    if (asset === undefined) return addedText(value, read);
    if (!isNamed) checkRest(value, asset);
    return addedText(value, (written) => read(withCanonicalAddress(written, asset)));
  });
  return givenValues(call, kept);
}

/**
 * The values to remove from a list, as they are written and in all of their spellings. Throws USAGE or LIST_INVALID, naming the invalid values.
 */
export function removedValues(call: Call, read: ReadValue = readAnything): GivenValues {
  return givenValues(call, eachOf(writtenValues(call), (value) => removedTexts(value, read)).flat());
}

/** The list that a call names. Throws USAGE. */
export function listOf(call: Call): string {
  const [list = ''] = call.arguments;
  return checkedName(list);
}

function givenValues(call: Call, entries: readonly string[]): GivenValues {
  return { list: listOf(call), values: [...new Set(entries)] };
}

/** A value as it is written, trimmed. */
interface Written {
  readonly value: string;
  /** The line of its file, with the colon that follows it. */
  readonly place: string;
}

const FAULTS_SHOWN = 10;

/** What is read of each value. Throws the faults of all of them as one error, each with its line. */
function eachOf<T>(written: readonly Written[], read: (value: string) => T): readonly T[] {
  const faults: CountersignError[] = [];
  const found = written.flatMap(({ value, place }) => {
    try {
      return [read(checkedValue(value))];
    } catch (thrown) {
      if (!(thrown instanceof CountersignError)) throw thrown;
      faults.push(new CountersignError(thrown.code, `${place}${thrown.message}`, thrown.data));
      return [];
    }
  });
  const [first] = faults;
  if (first === undefined) return found;
  if (faults.length === 1) throw first;
  const shown = faults.slice(0, FAULTS_SHOWN).map(({ message }) => message);
  const more = faults.length > FAULTS_SHOWN ? [`and ${faults.length - FAULTS_SHOWN} more`] : [];
  throw new CountersignError(first.code, [...shown, ...more].join('\n'), first.data);
}

function writtenValues(call: Call): readonly Written[] {
  const [, ...written] = call.arguments;
  const file = call.option('file');
  const lines = file === undefined ? [] : linesAsWritten(file, textOf(file));
  return [
    ...written.map((value) => ({ value: value.trim(), place: '' })),
    ...Array.from(lines, ([value, line]) => ({ value, place: `${file}:${line}: ` })),
  ];
}

function withCanonicalAddress(value: string, asset: Asset): string {
  const [address = '', ...others] = value.split(' ');
  const read = readAssetAddress(asset, address);
  if (read.ok) return [read.address, ...others].join(' ');
  throw new CountersignError(
    'USAGE',
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
  throw new CountersignError(
    'USAGE',
    `${quoted(value)} is not an entry about ${asset.symbol}: ${wrong}. Nothing was added. In a file, a ` +
      'comment begins with #. Correct it and run the command again',
  );
}

function textOf(file: string): string {
  try {
    return decodeUtf8(readFileSync(file));
  } catch (thrown) {
    throw new CountersignError(
      'USAGE',
      `--file can't be read: ${formatFault(
        faultOfUnreadable(file, thrown, 'name a text file with one value on each line'),
      )}`,
    );
  }
}
