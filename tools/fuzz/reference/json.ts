import { isUtf8 } from './utf8.ts';

/*
 * The strict JSON of the specification, written a second time and plainly: bytes that are UTF-8, values by
 * recursion, numbers as the text they were. It shares nothing with what it is compared with.
 */

export type Value =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'number'; readonly text: string }
  | { readonly type: 'boolean'; readonly text: 'true' | 'false' }
  | { readonly type: 'null' }
  | { readonly type: 'list'; readonly items: readonly Value[] }
  | { readonly type: 'object'; readonly members: readonly (readonly [string, Value])[] };

export interface Bounds {
  readonly bytes: number;
  /** Members of objects and items of lists, all told. */
  readonly members: number;
  readonly depth: number;
  readonly numberCharacters: number;
}

/** What decisions.md gives a callback. */
export const CALLBACK: Bounds = { bytes: 65_536, members: 64, depth: 4, numberCharacters: 80 };

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Thrown by the reader alone, and caught by `readJson`. */
class NotJson extends Error {}

/** The value, or why there is none. */
export function readJson(
  bytes: Uint8Array,
  bounds: Bounds,
): { readonly value: Value } | { readonly no: string } {
  if (bytes.length > bounds.bytes) return { no: 'more bytes than the bound' };
  if (!isUtf8(bytes)) return { no: 'not UTF-8' };
  try {
    return { value: new Reader(Buffer.from(bytes).toString('utf8'), bounds).whole() };
  } catch (thrown) {
    if (thrown instanceof NotJson) return { no: thrown.message };
    throw thrown;
  }
}

/** What a text says; undefined for any other value. */
export function textOf(value: Value | undefined): string | undefined {
  return value?.type === 'text' ? value.text : undefined;
}

/** One pass over the text, at one place. A class only because everything shares that place. */
class Reader {
  private readonly source: string;
  private readonly bounds: Bounds;
  private at = 0;
  private counted = 0;

  constructor(source: string, bounds: Bounds) {
    this.source = source;
    this.bounds = bounds;
  }

  whole(): Value {
    this.blanks();
    const value = this.value(1);
    this.blanks();
    if (this.at < this.source.length) throw new NotJson('something after the value');
    return value;
  }

  private next(): string {
    return this.source.charAt(this.at);
  }

  private blanks(): void {
    while (this.next() === ' ' || this.next() === '\t' || this.next() === '\n' || this.next() === '\r')
      this.at += 1;
  }

  private take(literal: string): void {
    if (!this.source.startsWith(literal, this.at)) throw new NotJson(`no ${literal}`);
    this.at += literal.length;
  }

  private value(depth: number): Value {
    switch (this.next()) {
      case '{':
        return this.object(depth);
      case '[':
        return this.list(depth);
      case '"':
        return { type: 'text', text: this.text() };
      case 't':
        this.take('true');
        return { type: 'boolean', text: 'true' };
      case 'f':
        this.take('false');
        return { type: 'boolean', text: 'false' };
      case 'n':
        this.take('null');
        return { type: 'null' };
      default:
        return { type: 'number', text: this.number() };
    }
  }

  private object(depth: number): Value {
    const members: [string, Value][] = [];
    this.deep(depth);
    this.take('{');
    this.blanks();
    if (this.next() === '}') {
      this.at += 1;
      return { type: 'object', members };
    }
    for (;;) {
      this.blanks();
      if (this.next() !== '"') throw new NotJson('no name');
      const name = this.text();
      if (members.some(([other]) => other === name)) throw new NotJson('a name twice');
      this.blanks();
      this.take(':');
      this.blanks();
      this.count();
      members.push([name, this.value(depth + 1)]);
      this.blanks();
      if (this.next() !== ',') break;
      this.at += 1;
    }
    this.take('}');
    return { type: 'object', members };
  }

  private list(depth: number): Value {
    const items: Value[] = [];
    this.deep(depth);
    this.take('[');
    this.blanks();
    if (this.next() === ']') {
      this.at += 1;
      return { type: 'list', items };
    }
    for (;;) {
      this.blanks();
      this.count();
      items.push(this.value(depth + 1));
      this.blanks();
      if (this.next() !== ',') break;
      this.at += 1;
    }
    this.take(']');
    return { type: 'list', items };
  }

  private deep(depth: number): void {
    if (depth > this.bounds.depth) throw new NotJson('too deep');
  }

  private count(): void {
    this.counted += 1;
    if (this.counted > this.bounds.members) throw new NotJson('too many members');
  }

  private text(): string {
    let text = '';
    this.take('"');
    let from = this.at;
    for (;;) {
      const code = this.source.charCodeAt(this.at);
      if (Number.isNaN(code)) throw new NotJson('no end of a text');
      if (code < 0x20) throw new NotJson('a control character in a text');
      this.at += 1;
      if (code !== QUOTE && code !== BACKSLASH) continue;
      text += this.source.slice(from, this.at - 1);
      if (code === QUOTE) break;
      text += this.escaped();
      from = this.at;
    }
    if (!text.isWellFormed()) throw new NotJson('half a surrogate pair');
    return text;
  }

  private escaped(): string {
    const letter = this.next();
    this.at += 1;
    if (letter !== 'u') {
      const meant = ESCAPES.get(letter);
      if (meant === undefined) throw new NotJson('no such escape');
      return meant;
    }
    let code = 0;
    for (let digit = 0; digit < 4; digit++) {
      const hexadecimal = this.next();
      const value = '0123456789abcdef'.indexOf(hexadecimal.toLowerCase());
      if (hexadecimal === '' || value < 0) throw new NotJson('no hexadecimal digit');
      code = code * 16 + value;
      this.at += 1;
    }
    return String.fromCharCode(code);
  }

  private number(): string {
    const from = this.at;
    if (this.next() === '-') this.at += 1;
    if (this.next() === '0') this.at += 1;
    else this.digits();
    if (this.next() === '.') {
      this.at += 1;
      this.digits();
    }
    if (this.next() === 'e' || this.next() === 'E') {
      this.at += 1;
      if (this.next() === '+' || this.next() === '-') this.at += 1;
      this.digits();
    }
    const text = this.source.slice(from, this.at);
    if (text.length > this.bounds.numberCharacters) throw new NotJson('a number that is too long');
    return text;
  }

  private digits(): void {
    const from = this.at;
    while (this.next() >= '0' && this.next() <= '9') this.at += 1;
    if (this.at === from) throw new NotJson('no digit');
  }
}
