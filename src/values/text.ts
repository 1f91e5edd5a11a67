import { escapeControls } from './printable.ts';

const LINE_BREAK = 0x0a;

/** Untrusted text on one line. Control characters are shown as `\u{1b}`. */
export function printable(text: string): string {
  return escapeControls(text, shown);
}

/** Untrusted text with its line breaks. Other control characters are shown as `\u{1b}`. */
export function printableLines(text: string): string {
  return escapeControls(text, (codePoint) => (codePoint === LINE_BREAK ? '\n' : shown(codePoint)));
}

const shown = (codePoint: number): string => `\\u{${codePoint.toString(16)}}`;

/** ISO 8601 in UTC. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** Rows as lines with aligned columns and two spaces between them. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `1 policy`, `3 policies`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The value of a JSON text. If it is not JSON, the text itself, so that it can still be read. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Like jsonOrText, with each number as the text that it is written as: a double may have fewer digits. Numbers of a
 * text that is nested too deeply for this remain doubles.
 */
export function exactJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text, (_name, value: unknown, written?: { readonly source?: string }) =>
      typeof value === 'number' ? written?.source : value,
    );
  } catch {
    return jsonOrText(text);
  }
}

/** The lines of a text, without making them. A line break at the end begins no further line. */
export function countLines(text: string): number {
  let count = text === '' || text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
