import { CountersignError, messageOf } from '../../errors.ts';
import { toComparableEntry } from '../../values/comparable.ts';

/** The name of a list in the store. */
export const LIST_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const LIST_FILE_MAX_VALUES = 1_000_000;

/** The entries of a list file, comparable, unique and sorted. Throws like {@link entriesAsWritten}. */
export function parseListFile(name: string, text: string): readonly string[] {
  const values = new Set(entriesAsWritten(name, text).map(toComparableEntry));
  return [...values].sort((a, b) => (a < b ? -1 : 1));
}

/** Lines of a list file that can't be read. */
export class UnreadableLines extends CountersignError {
  readonly lines: readonly { readonly line: number; readonly because: string }[];

  constructor(name: string, lines: UnreadableLines['lines']) {
    const messages = lines.map(({ line, because }) => `${name}:${line}: ${because}; ${QUOTED_FIX}`);
    super('LIST_INVALID', messages.join('\n'), { file: name, lines });
    this.lines = lines;
  }
}

export const QUOTED_FIX = 'write a value that begins with " as a JSON string';
/** Further faults of the same list add nothing. */
export const LINE_FAULTS_MAX = 10;

/** The entries of {@link linesAsWritten}. */
export function entriesAsWritten(name: string, text: string): readonly string[] {
  return [...linesAsWritten(name, text).keys()];
}

/**
 * The unique entries of a list file as written, one a line, with their first lines. Blank lines and comments
 * are skipped. A comment is a `#` at the beginning of a line or after a blank, and the rest of the line. An
 * entry that contains such a `#`, or begins with `"`, is written as a JSON string. Throws LIST_INVALID if
 * there are too many entries, or UnreadableLines.
 */
export function linesAsWritten(name: string, text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  const unreadable: { line: number; because: string }[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    const written = line.trim();
    try {
      const value = written.startsWith('"') ? quoted(written) : withoutComment(written);
      if (value !== '' && !values.has(value)) values.set(value, index + 1);
    } catch (thrown) {
      const because = `the line begins with a quotation mark and is not a JSON string: ${messageOf(thrown)}`;
      if (unreadable.length < LINE_FAULTS_MAX) unreadable.push({ line: index + 1, because });
    }
    if (values.size > LIST_FILE_MAX_VALUES) {
      throw new CountersignError(
        'LIST_INVALID',
        `${name} has more than ${LIST_FILE_MAX_VALUES} values; keep them in a list in the store`,
        { file: name },
      );
    }
  }
  if (unreadable.length > 0) throw new UnreadableLines(name, unreadable);
  return values;
}

/** The line of a list file for an entry. */
export function listFileLine(value: string): string {
  return value.startsWith('"') || withoutComment(value) !== value ? JSON.stringify(value) : value;
}

function withoutComment(line: string): string {
  return (line.includes('#') ? line.replace(/(?:^|\s)#.*/s, '') : line).trim();
}

function quoted(line: string): string {
  const [, string, rest = ''] = /^("(?:[^"\\]|\\.)*")(.*)$/.exec(line) ?? [];
  if (string === undefined) throw new SyntaxError('the second quotation mark is missing');
  if (!/^(?:\s*|\s+#.*)$/.test(rest)) throw new SyntaxError('something follows the second quotation mark');
  const value: unknown = JSON.parse(string);
  if (typeof value === 'string') return value.trim();
  throw new SyntaxError('it is not a text');
}
