import { CountersignError, messageOf } from '../errors.ts';
import { toComparableEntry } from '../values/comparable.ts';

/** The name of a list in the store. */
export const LIST_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const LIST_FILE_MAX_VALUES = 1_000_000;

/** The entries of a list file, comparable, unique and sorted. Throws like {@link entriesAsWritten}. */
export function parseListFile(name: string, text: string): readonly string[] {
  const values = new Set(entriesAsWritten(name, text).map(toComparableEntry));
  return [...values].sort((a, b) => (a < b ? -1 : 1));
}

/**
 * The unique entries of a list file as written, one a line. Blank lines and comments are skipped. A comment
 * is a `#` at the beginning of a line or after a blank, and the rest of the line. An entry that contains such
 * a `#`, or begins with `"`, is written as a JSON string. Throws LIST_INVALID if there are too many entries,
 * or one can't be read.
 */
export function entriesAsWritten(name: string, text: string): readonly string[] {
  const values = new Set<string>();
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    const written = line.trim();
    const value = written.startsWith('"') ? quoted(`${name}:${index + 1}`, written) : withoutComment(written);
    if (value !== '') values.add(value);
    if (values.size > LIST_FILE_MAX_VALUES) {
      throw new CountersignError(
        'LIST_INVALID',
        `${name} has more than ${LIST_FILE_MAX_VALUES} values; keep them in a list in the store`,
        { file: name },
      );
    }
  }
  return [...values];
}

/** The line of a list file for an entry. */
export function listFileLine(value: string): string {
  return value.startsWith('"') || withoutComment(value) !== value ? JSON.stringify(value) : value;
}

function withoutComment(line: string): string {
  return (line.includes('#') ? line.replace(/(?:^|\s)#.*/s, '') : line).trim();
}

function quoted(place: string, line: string): string {
  const [, string, rest = ''] = /^("(?:[^"\\]|\\.)*")(.*)$/.exec(line) ?? [];
  try {
    if (string === undefined) throw new SyntaxError('the second quotation mark is missing');
    if (!/^(?:\s*|\s+#.*)$/.test(rest)) throw new SyntaxError('something follows the second quotation mark');
    const value: unknown = JSON.parse(string);
    if (typeof value === 'string') return value.trim();
    throw new SyntaxError('it is not a text');
  } catch (thrown) {
    throw new CountersignError(
      'LIST_INVALID',
      `${place}: the line begins with a quotation mark and is not a JSON string: ` +
        `${messageOf(thrown)}; write a value that begins with " as a JSON string`,
      { place },
    );
  }
}
