import { columns } from '../values/text.ts';

export { columns, counted, isoTime, printable, printableLines } from '../values/text.ts';

/** Rows with aligned columns. Without rows, the text for an empty table. */
export function table(rows: readonly (readonly string[])[], whenEmpty: string): string {
  return rows.length === 0 ? whenEmpty : columns(rows);
}

const WIDTH = 30;

/** `[########----------------------]  27%  12500 callbacks`, for a part from 0 to 1. */
export function progressBar(part: number, callbacks: number): string {
  const filled = Math.round(part * WIDTH);
  const percent = `${Math.floor(part * 100)}%`.padStart(4);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${percent}  ${callbacks} callbacks`;
}
