import { readFileSync } from 'node:fs';
import { CountersignError } from '../../errors.ts';
import { type Asset, readAssetAddress } from '../../policy/assets.ts';
import { faultOfUnreadable, formatFault } from '../../policy/fault.ts';
import { LIST_NAME, entriesAsWritten } from '../../policy/list-file.ts';
import { toComparableEntry, storedEntries, unsafeTextReason } from '../../values/comparable.ts';
import type { ListedRead } from '../../policy/rules/rule.ts';
import { decodeUtf8 } from '../../values/utf8.ts';
import type { Call } from '../command.ts';

/** Enough for an address, a symbol and a memo of the greatest length in a callback. */
const VALUE_MAX = 1024;
const CONTROL = /\p{Cc}/u;

/**
 * The list's name and the values of a call, from the arguments and `--file`. Values have their comparable
 * form, each once.
 */
export interface GivenValues {
  readonly list: string;
  readonly values: readonly string[];
}

type ReadValue = (written: string) => ListedRead;

const readAnything: ReadValue = (written) => ({ ok: true, texts: [toComparableEntry(written)] });

/**
 * The values to add to a list. With an asset, each must begin with an address of it. Throws USAGE or
 * LIST_INVALID, naming the first invalid value.
 */
export function addedValues(
  call: Call,
  asset: Asset | undefined,
  read: ReadValue = readAnything,
): GivenValues {
  const kept = writtenValues(call).map((value) => {
    if (value.includes('  '))
      throw invalidValue(value, 'has two spaces in a row. Write one space between its parts');
    const reason = unsafeTextReason(toComparableEntry(value));
    if (reason !== undefined) throw invalidValue(value, `${reason}, so no member can match it. Correct it`);
    const found = read(asset === undefined ? value : withCanonicalAddress(value, asset));
    if (found.ok) return found.texts[0];
    const fix = 'Correct it, or push the policy that needs it first';
    throw invalidValue(value, `matches nothing that the rules in force look up: ${found.because}. ${fix}`);
  });
  return givenValues(call, kept);
}

/**
 * The values to remove from a list, in all of their spellings and in the form that earlier versions stored.
 * Throws USAGE or LIST_INVALID, naming the first invalid value.
 */
export function removedValues(call: Call, read: ReadValue = readAnything): GivenValues {
  const texts = writtenValues(call).flatMap((value) => {
    const found = read(value);
    return [...storedEntries(value), ...(found.ok ? found.texts : [])];
  });
  return givenValues(call, texts);
}

/** The list that a call names. Throws USAGE. */
export function listOf(call: Call): string {
  const [list = ''] = call.arguments;
  return checkedName(list);
}

/** Returns the name. Throws USAGE if no policy can use it. */
export function checkedName(list: string): string {
  if (LIST_NAME.test(list)) return list;
  throw new CountersignError(
    'USAGE',
    `${JSON.stringify(list)} is not a name of a list. Write at most 64 lower-case letters, digits ` +
      'and hyphens, beginning with a letter',
  );
}

function givenValues(call: Call, entries: readonly string[]): GivenValues {
  return { list: listOf(call), values: [...new Set(entries)] };
}

/** The values as they are written, trimmed. */
function writtenValues(call: Call): readonly string[] {
  const [, ...written] = call.arguments;
  const file = call.option('file');
  const values = [
    ...written.map((value) => value.trim()),
    ...(file === undefined ? [] : entriesAsWritten(file, textOf(file))),
  ];
  for (const value of values) checkValue(value);
  return values;
}

function checkValue(value: string): void {
  if (value === '') throw invalidValue(value, 'is empty. Leave it out');
  if (value.length > VALUE_MAX) {
    throw invalidValue(value, `has ${value.length} characters. Write at most ${VALUE_MAX}`);
  }
  if (CONTROL.test(value) || !value.isWellFormed()) {
    throw invalidValue(
      value,
      'has a control character or half a character, so no member can match it. Correct it',
    );
  }
}

function invalidValue(value: string, problem: string): CountersignError {
  const shown = JSON.stringify(value.slice(0, 40));
  return new CountersignError('LIST_INVALID', `the value ${shown} ${problem}`);
}

function withCanonicalAddress(value: string, asset: Asset): string {
  const [address = '', ...others] = value.split(' ');
  const read = readAssetAddress(asset, address);
  if (read.ok) return [read.address, ...others].join(' ');
  throw new CountersignError(
    'USAGE',
    `${JSON.stringify(value)} does not begin with an address of ${asset.symbol}: ${read.because}. ` +
      'Nothing was added. Correct it and run the command again',
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
