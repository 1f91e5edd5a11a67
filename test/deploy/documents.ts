import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** A file of the project, as text. */
export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/**
 * The lines within the fences of a Markdown text, those of one language alone if it is given; `\` joins
 * lines.
 */
export function fencedLines(markdown: string, language?: string): readonly string[] {
  const fences = [...markdown.matchAll(/^ *```(\w*)[^\n]*\n([^]*?)^ *```$/gm)];
  return fences
    .filter(([, named]) => language === undefined || named === language)
    .flatMap(([, , body = '']) => body.replaceAll(/\\\n\s*/g, '').split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
