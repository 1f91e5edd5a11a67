import { readFileSync } from 'node:fs';
import { CountersignError, messageOf } from '../errors.ts';
import { readListFile } from '../policy/list-file.ts';
import { comparable } from '../values/comparable.ts';
import type { Call } from './command.ts';

const NAME = /^[a-z][a-z0-9-]{0,63}$/;
const VALUE_MAX = 512;
const CONTROL = /\p{Cc}/u;

/** The list's name and the values that a call gives, from the command line and from `--file`, comparable and each once. */
export interface GivenValues {
  readonly list: string;
  readonly values: readonly string[];
}

/** Throws USAGE or LIST_INVALID, naming the first value that will not do. */
export function givenValues(call: Call): GivenValues {
  const [list = '', ...written] = call.arguments;
  const file = call.option('file');
  const values = new Set([
    ...written.map((value) => comparable(value.trim())),
    ...(file === undefined ? [] : readListFile(file, textOf(file))),
  ]);
  for (const value of values) checkValue(value);
  return { list: checkedName(list), values: [...values] };
}

/** Throws USAGE for a name that no policy could refer to. */
export function checkedName(list: string): string {
  if (NAME.test(list)) return list;
  throw new CountersignError(
    'USAGE',
    `${JSON.stringify(list)} is no name of a list; write at most 64 lower-case letters, digits and hyphens, a letter first`,
  );
}

function checkValue(value: string): void {
  const problem =
    value === ''
      ? 'is empty'
      : value.length > VALUE_MAX
        ? `has ${value.length} characters; at most ${VALUE_MAX} are kept`
        : CONTROL.test(value) || !value.isWellFormed()
          ? 'has a control character or half a character in it; no member could ever match'
          : undefined;
  if (problem === undefined) return;
  const shown = JSON.stringify(value.slice(0, 40));
  throw new CountersignError('LIST_INVALID', `the value ${shown} ${problem}; mend it, then call again`);
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
