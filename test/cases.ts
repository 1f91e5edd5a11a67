import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** What YAML holds if each scalar is a text. */
export type Written = string | readonly Written[] | { readonly [name: string]: Written };

/** Texts that many rows contain, as `$NAME` or `${NAME}`. A file may have more under `names`. */
export type Names = Readonly<Record<string, string>>;

/** Reads one column of a table. */
export type Column<T> = (written: Written, names: Names) => T;

type Row<Columns extends readonly Column<unknown>[]> = {
  -readonly [At in keyof Columns]: Columns[At] extends Column<infer T> ? T : never;
};

interface Tables {
  readonly names?: { readonly [name: string]: Written };
  readonly [table: string]: readonly Written[] | { readonly [name: string]: Written } | undefined;
}

/**
 * The tables of a YAML file, for `it.each`. A row is a list with a value for each column, or a mapping: its
 * first name and the values are the columns then, in this order. Throws unless each row has all columns.
 */
export function tablesOf(file: URL, names: Names = {}) {
  const { names: own = {}, ...tables }: Tables = parse(readFileSync(file, 'utf8'), { schema: 'failsafe' });
  const known = Object.entries(own).reduce<Names>(
    (before, [name, value]) => ({ ...before, [name]: string(value, before) }),
    names,
  );
  return <const Columns extends readonly Column<unknown>[]>(
    table: string,
    ...columns: Columns
  ): readonly Row<Columns>[] => {
    const rows = tables[table];
    if (!Array.isArray(rows) || rows.length === 0)
      throw new Error(`${file.pathname} has no rows of ${table}`);
    return (rows as readonly Written[]).map((row) => {
      const written = valuesOf(row);
      if (written.length !== columns.length)
        throw new Error(`${table}: ${JSON.stringify(row)} has not ${columns.length} columns`);
      return columns.map((column, at) => column(written[at] ?? '', known)) as Row<Columns>;
    });
  };
}

function valuesOf(row: Written): readonly Written[] {
  if (typeof row === 'string') return [row];
  if (Array.isArray(row)) return row as readonly Written[];
  const entries = Object.entries(row as { readonly [name: string]: Written });
  return [...entries.slice(0, 1).map(([name]) => name), ...entries.map(([, value]) => value)];
}

/** A text, or parts that are joined. A part such as `{ ab: 3 }` is `ababab`. */
export const string: Column<string> = (written, names) => {
  if (typeof written === 'string') {
    return written.replace(
      /\$(?:([A-Z][A-Z0-9_]*)|\{([A-Z][A-Z0-9_]*)\})/g,
      (_, plain?: string, braced?: string) => {
        const named = names[plain ?? braced ?? ''];
        if (named === undefined) throw new Error(`no name is known for ${written}`);
        return named;
      },
    );
  }
  if (Array.isArray(written))
    return (written as readonly Written[]).map((part) => string(part, names)).join('');
  return Object.entries(written)
    .map(([part, times]) => string(part, names).repeat(Number(times)))
    .join('');
};

/** A list of texts, or one text. */
export const strings: Column<readonly string[]> = (written, names) =>
  Array.isArray(written)
    ? (written as readonly Written[]).map((each) => string(each, names))
    : [string(written, names)];

export const number: Column<number> = (written, names) => Number(string(written, names));

export const pattern: Column<RegExp> = (written, names) => new RegExp(string(written, names));

/** One of these words. */
export const oneOf =
  <const Word extends string>(...words: readonly Word[]): Column<Word> =>
  (written, names) => {
    const found = words.find((word) => word === string(written, names));
    if (found === undefined) throw new Error(`${JSON.stringify(written)} is none of ${words.join(', ')}`);
    return found;
  };
