import { CountersignError } from '../errors.ts';
import { comparable } from '../values/comparable.ts';

const LIST_FILE_MAX_VALUES = 1_000_000;

/**
 * The values of a list file, comparable, sorted and each once: one value a line; blank lines, and `#` with all that
 * follows it at the beginning of a line or after a blank, are left out. Throws LIST_INVALID if there are too many.
 */
export function readListFile(name: string, text: string): readonly string[] {
  const values = new Set<string>();
  for (const line of text.replace(/^\uFEFF/, '').split('\n')) {
    const value = (line.includes('#') ? line.replace(/(?:^|\s)#.*/, '') : line).trim();
    if (value !== '') values.add(comparable(value));
    if (values.size > LIST_FILE_MAX_VALUES) {
      throw new CountersignError(
        'LIST_INVALID',
        `${name} has more than ${LIST_FILE_MAX_VALUES} values; keep them in a list in the store`,
        { file: name },
      );
    }
  }
  return [...values].sort((a, b) => (a < b ? -1 : 1));
}
