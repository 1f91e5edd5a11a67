import { escapeControls } from '../values/printable.ts';

const MARKUP = Symbol('markup');

/** Markup that is safe to send. Only this module can make it, so data from outside can never be taken for it. */
export interface Html {
  readonly [MARKUP]: string;
}

/** What `html` accepts as a value. `false` and `undefined` are left out. */
export type Renderable = Html | string | number | bigint | false | undefined | readonly Renderable[];

/**
 * Markup with values. Each value is escaped, for text and for quoted attributes alike, unless it is markup
 * itself. Control characters and those that change the direction of text are shown as their code points. Write
 * all attributes with quotes. A value must not be the start of a URL: build links with `link`.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Renderable[]): Html {
  return { [MARKUP]: parts.reduce((markup, part, at) => `${markup}${part}${render(values[at])}`, '') };
}

export const markupOf = (content: Html): string => content[MARKUP];

/** Text as it is, with its line breaks, for `pre`, `textarea` and `value`. Nothing but markup is escaped. */
export const verbatim = (text: string): Html => ({ [MARKUP]: escapeMarkup(text) });

/** Text of several lines: line breaks and tabs stay, other control characters are shown. */
export const lines = (text: string): Html => ({
  [MARKUP]: text
    .split('\n')
    .map((line) => line.split('\t').map(render).join('\t'))
    .join('\n'),
});

/**
 * A path below the console with values as segments, as `link`/decisions/${source}/${id}``. Each value is encoded,
 * so that it can neither leave its segment nor begin a URL.
 */
export function link(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return `/console${String.raw({ raw: parts }, ...values.map(segment))}`;
}

// A browser resolves `.` and `..` as segments, also in their encoded form.
const segment = (value: string | number): string =>
  /^\.{1,2}$/.test(String(value)) ? `${value}~` : encodeURIComponent(String(value).toWellFormed());

/** A path with a query. Parameters without a value are left out. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((each): each is [string, string] => (each[1] ?? '') !== '');
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

function render(value: Renderable): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'object') return MARKUP in value ? value[MARKUP] : value.map(render).join('');
  const text = String(value);
  return PLAIN.test(text) ? text : escapeMarkup(escapeControls(text, codePointText));
}

/** Printable ASCII without what `ESCAPES` has: most values need no more. */
const PLAIN = /^[ !#-%(-;=?-~]*$/;

const codePointText = (codePoint: number): string =>
  codePoint === 10 || codePoint === 9 ? ' ' : `⟨U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}⟩`;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeMarkup = (text: string): string =>
  text.toWellFormed().replaceAll(/[&<>"']/g, (letter) => ESCAPES[letter] ?? '');
