import { type Html, html, lines } from './html.ts';

type Sort = 'key' | 'string' | 'number' | 'comment' | 'plain';

export interface Token {
  readonly sort: Sort;
  readonly text: string;
  /** For a key: the keys around it, from the outermost. */
  readonly within: readonly string[];
}

/** YAML with its keys, strings, numbers and comments marked. `linkOf` may give a key a link. */
export function highlighted(text: string, linkOf: (key: Token) => string | undefined): Html {
  const marked = yamlTokens(text).map((token): Html => {
    if (token.sort === 'plain') return lines(token.text);
    const to = token.sort === 'key' ? linkOf(token) : undefined;
    return to === undefined
      ? html`<span class="${token.sort}">${lines(token.text)}</span>`
      : html`<a class="${token.sort}" href="${to}">${lines(token.text)}</a>`;
  });
  return html`<pre class="yaml">${marked}</pre>`;
}

const BLANK = /[ \t]+/y;
const COMMENT = /#.*/y;
const DASH = /-(?=[ \t]|$)/y;
const PUNCTUATION = /[{}[\],:]/y;
const DOUBLE_QUOTED = /"(?:[^"\\]|\\.)*"?/y;
const SINGLE_QUOTED = /'(?:[^']|'')*'?/y;
const PLAIN = /(?:(?!:(?:\s|$)|\s#).)+/y;
const PLAIN_IN_FLOW = /(?:(?!:(?:[\s,[\]{}]|$)|\s#)[^,[\]{}])+/y;
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;
/** The text that follows is a block of lines which are indented further. */
const BLOCK = /^[|>][-+\d]*$/;
const COLON = /\s*:(?:[\s,[\]{}]|$)/y;

/**
 * The parts of a YAML text, which together are the text again. It marks what people recognise, and judges
 * nothing: any text has parts.
 */
export function yamlTokens(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const keys: { readonly column: number; readonly key: string }[] = [];
  let [depth, block] = [0, -1];

  for (const [index, line] of text.split('\n').entries()) {
    if (index > 0) tokens.push(plain('\n'));
    const indent = line.length - line.trimStart().length;
    if (block >= 0 && (indent > block || line.trim() === '')) {
      if (line !== '') tokens.push({ sort: 'string', text: line, within: [] });
      continue;
    }
    block = -1;
    for (let at = 0; at < line.length;) {
      const found = tokenAt(line, at, depth > 0);
      if (found.sort === 'key' && depth === 0 && /^[\s-]*$/.test(line.slice(0, at))) {
        while ((keys.at(-1)?.column ?? -1) >= at) keys.pop();
        tokens.push({ ...found, within: keys.map(({ key }) => key) });
        keys.push({ column: at, key: found.text.trim() });
      } else tokens.push(found);
      if (/^[{[]$/.test(found.text)) depth++;
      if (/^[}\]]$/.test(found.text)) depth = Math.max(0, depth - 1);
      at += found.text.length;
      if (depth === 0 && at === line.length && BLOCK.test(found.text)) block = indent;
    }
  }
  return tokens;
}

const plain = (text: string): Token => ({ sort: 'plain', text, within: [] });

/** The token that begins at a place. It has at least one character. */
function tokenAt(line: string, at: number, inFlow: boolean): Token {
  const read = (pattern: RegExp): string => matchAt(pattern, line, at);
  const isAfterBlank = at === 0 || /\s/.test(line[at - 1] ?? '');
  const comment = isAfterBlank ? read(COMMENT) : '';
  if (comment !== '') return { sort: 'comment', text: comment, within: [] };
  const mark = read(BLANK) || (inFlow ? '' : read(DASH));
  if (mark !== '') return plain(mark);
  const quoted = read(DOUBLE_QUOTED) || read(SINGLE_QUOTED);
  const isPunctuation = /[{}[\],]/.test(line[at] ?? '') && (inFlow || isAfterBlank);
  const word = quoted || (isPunctuation ? '' : read(inFlow ? PLAIN_IN_FLOW : PLAIN));
  if (word === '') return plain(read(PUNCTUATION) || (line[at] ?? ''));
  if (matchAt(COLON, line, at + word.length) !== '') return { sort: 'key', text: word, within: [] };
  const sort = quoted === '' ? (NUMBER.test(word.trim()) ? 'number' : 'plain') : 'string';
  return { sort, text: word, within: [] };
}

function matchAt(pattern: RegExp, line: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0] ?? '';
}

// ---- differences ----

const SIGNS: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '~': 'changed' };

/** The differences as `policy diff` prints them, a colour for each sign. */
export function diffLines(text: string): Html {
  const marked = text.split('\n').map((line, at) => {
    const sort = SIGNS[line.trimStart()[0] ?? ''];
    const shown = sort === undefined ? lines(line) : html`<span class="${sort}">${lines(line)}</span>`;
    return html`${at > 0 && lines('\n')}${shown}`;
  });
  return html`<pre class="diff">${marked}</pre>`;
}
