declare global {
  interface JSON {
    /** Part of JSON.parse source text access, which Node has. JSON.stringify writes its text as it is. */
    rawJSON(text: string): object;
  }
}

/** A value that is written to an answer. An object of `exactNumber` counts as one. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

/** A decimal as a JSON number with exactly these digits, for the members that the samples show as numbers. */
export function exactNumber(decimal: string): Json {
  const raw: unknown = JSON.rawJSON(decimal);
  return isJsonObject(raw) ? raw : decimal;
}

export const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

const isJsonObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

/** The value of a member: the content of a string, or another scalar as it is written. */
export interface Scalar {
  readonly kind: 'string' | 'number' | 'word' | 'null';
  readonly text: string;
}

/** The members of a request by name. */
export type Body = ReadonlyMap<string, Scalar>;

const STRING = String.raw`"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"`;
const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const BLANK = String.raw`[ \t\r\n]*`;
const MEMBER = new RegExp(
  `${BLANK}(${STRING})${BLANK}:${BLANK}(${STRING}|${NUMBER}|true|false|null)${BLANK}([,}])`,
  'y',
);
const BEGIN = new RegExp(`^${BLANK}\\{`);
const EMPTY = new RegExp(`^${BLANK}\\{${BLANK}\\}${BLANK}$`);

/**
 * Reads one flat JSON object, whose values are scalars, and keeps the digits of its numbers. Returns a
 * sentence that says what is wrong with any other text.
 */
export function readBody(text: string): Body | string {
  const body = new Map<string, Scalar>();
  if (EMPTY.test(text)) return body;
  let at = BEGIN.exec(text)?.[0].length;
  if (at === undefined) return 'the body is not a JSON object';
  for (;;) {
    MEMBER.lastIndex = at;
    const [whole, name = '', value = '', next] = MEMBER.exec(text) ?? [];
    if (whole === undefined) return `the body is not a flat JSON object at character ${at}`;
    at += whole.length;
    const known = contentOf(name);
    if (body.has(known)) return `the body has the member ${known} twice`;
    body.set(known, scalarOf(value));
    if (next === ',') continue;
    return text.slice(at).trim() === '' ? body : `the body goes on after its end at character ${at}`;
  }
}

function scalarOf(written: string): Scalar {
  if (written.startsWith('"')) return { kind: 'string', text: contentOf(written) };
  if (written === 'null') return { kind: 'null', text: written };
  return { kind: /^[tf]/.test(written) ? 'word' : 'number', text: written };
}

function contentOf(written: string): string {
  const content: unknown = JSON.parse(written);
  return typeof content === 'string' ? content : '';
}

/** A body whose members are all strings. */
export function textBody(members: Readonly<Record<string, string>>): Body {
  return new Map(
    Object.entries(members).map(([name, text]): [string, Scalar] => [name, { kind: 'string', text }]),
  );
}

/** Writes a body as JSON, with its numbers as they were. */
export function bodyText(body: Body): string {
  const members = Array.from(
    body,
    ([name, { kind, text }]) => `${JSON.stringify(name)}:${kind === 'string' ? JSON.stringify(text) : text}`,
  );
  return `{${members.join(',')}}`;
}

/** The value of a JSON text; undefined for any other text. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
