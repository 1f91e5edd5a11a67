import { readFileSync } from 'node:fs';
import { CountersignError, messageOf } from '../../errors.ts';
import { type Asset, readAssetAddress } from '../../policy/assets.ts';
import { writtenEntries } from '../../policy/list-file.ts';
import { comparableEntry, storedEntries, ambiguityOf } from '../../values/comparable.ts';
import type { Call } from '../command.ts';

const NAME = /^[a-z][a-z0-9-]{0,63}$/;
/** Room for an address, a symbol and a memo, each as long as a callback can have it. */
const VALUE_MAX = 1024;
const CONTROL = /\p{Cc}/u;

/**
 * The list's name and the values that a call gives, from the command line and from `--file`, comparable and
 * each once.
 */
export interface GivenValues {
  readonly list: string;
  readonly values: readonly string[];
}

/**
 * Values to be put on a list; with an asset, each must begin with an address of it. Throws USAGE or
 * LIST_INVALID, naming the first value that will not do.
 */
export function addedValues(call: Call, asset: Asset | undefined): GivenValues {
  const written = writtenValues(call);
  for (const value of written) {
    if (value.includes('  '))
      throw invalidValue(value, 'has two blanks in a row, where one divides its parts');
    const unseen = ambiguityOf(comparableEntry(value));
    if (unseen !== undefined) throw invalidValue(value, `${unseen}; no member could ever match`);
    if (asset !== undefined) checkAddress(value, asset);
  }
  return givenValues(call, written.map(comparableEntry));
}

/**
 * Values to be taken off a list, also in the form in which an earlier version put them on it. Throws USAGE or
 * LIST_INVALID, naming the first value that will not do.
 */
export function removedValues(call: Call): GivenValues {
  return givenValues(call, writtenValues(call).flatMap(storedEntries));
}

/** Throws USAGE for a name that no policy could refer to. */
export function checkedName(list: string): string {
  if (NAME.test(list)) return list;
  throw new CountersignError(
    'USAGE',
    `${JSON.stringify(list)} is no name of a list; write at most 64 lower-case letters, digits and hyphens, a letter first`,
  );
}

function givenValues(call: Call, entries: readonly string[]): GivenValues {
  const [list = ''] = call.arguments;
  return { list: checkedName(list), values: [...new Set(entries)] };
}

/** As they are written, trimmed. */
function writtenValues(call: Call): readonly string[] {
  const [, ...written] = call.arguments;
  const file = call.option('file');
  const values = [
    ...written.map((value) => value.trim()),
    ...(file === undefined ? [] : writtenEntries(file, textOf(file))),
  ];
  for (const value of values) checkValue(value);
  return values;
}

function checkValue(value: string): void {
  if (value === '') throw invalidValue(value, 'is empty');
  if (value.length > VALUE_MAX) {
    throw invalidValue(value, `has ${value.length} characters; at most ${VALUE_MAX} are kept`);
  }
  if (CONTROL.test(value) || !value.isWellFormed()) {
    throw invalidValue(
      value,
      'has a control character or half a character in it; no member could ever match',
    );
  }
}

function invalidValue(value: string, problem: string): CountersignError {
  const shown = JSON.stringify(value.slice(0, 40));
  return new CountersignError('LIST_INVALID', `the value ${shown} ${problem}; mend it, then call again`);
}

function checkAddress(value: string, asset: Asset): void {
  const [address = ''] = value.split(' ', 1);
  const read = readAssetAddress(asset, address);
  if (read.ok) return;
  throw new CountersignError(
    'USAGE',
    `${JSON.stringify(value)} does not begin with an address of ${asset.symbol}: ${read.because}; mend it, then call again. Nothing was added`,
  );
}

function textOf(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (thrown) {
    throw new CountersignError(
      'USAGE',
      `--file ${file} can't be read: ${messageOf(thrown)}; name a text file with one value a line`,
    );
  }
}
