import { hostname } from 'node:os';

/*
 * What may differ from run to run, and what may be worded better, in what the program says. All else is held.
 */

/** Members whose value is a sentence for people. */
const SENTENCES = new Set(['because', 'cure', 'message', 'summary']);
/** What the tests themselves say begins so, and comes back as it was. */
const GIVEN = 'golden ';
/** The sentence in a row of `results` in the journal: policy, rule, what it says, why, values. */
const SENTENCE_AT = 3;

export interface Mask {
  /** A value of JSON, with what varies replaced. */
  value(found: unknown): unknown;
  text(written: string): string;
}

/** `known` are texts of this run, such as its folder, and what they are written as. */
export function createMask(known: Readonly<Record<string, string>>): Mask {
  const process = new RegExp(`${hostname().replaceAll('.', String.raw`\.`)}:\\d+`, 'g');
  const text = (written: string): string => {
    let masked = written;
    for (const [from, to] of Object.entries(known)) masked = masked.replaceAll(from, to);
    return masked
      .replaceAll(process, '<process>')
      .replaceAll(/\b\d{13}-\d+\b/g, '<entry>')
      .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>')
      .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
      .replaceAll(/\b1[78]\d{11}\b/g, '<ms>');
  };
  const value = (found: unknown, name = ''): unknown => {
    if (typeof found === 'string') {
      if (SENTENCES.has(name) && found !== '' && !found.startsWith(GIVEN)) return '<sentence>';
      return isJson(found) ? JSON.stringify(value(JSON.parse(found))) : text(found);
    }
    if (typeof found === 'number') return text(String(found)) === '<ms>' ? '<ms>' : found;
    if (Array.isArray(found)) {
      const rows: readonly unknown[] = found;
      if (name !== 'results') return rows.map((each) => value(each));
      return rows.map((row) =>
        Array.isArray(row)
          ? row.map((each, at) => (at === SENTENCE_AT ? '<sentence>' : value(each)))
          : value(row),
      );
    }
    if (typeof found !== 'object' || found === null) return found;
    return Object.fromEntries(Object.entries(found).map(([key, each]) => [text(key), value(each, key)]));
  };
  return { value, text };
}

function isJson(text: string): boolean {
  if (!text.startsWith('{') && !text.startsWith('[')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
