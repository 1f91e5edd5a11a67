import { type Failure, failure } from '../errors.ts';
import { prefixOf } from './damage.ts';
import { Rejected, catchRejection } from './rejection.ts';

/**
 * A member's value as exact text: the content of a string; a number, boolean or null as written; an object or
 * array as raw JSON.
 */
export interface Member {
  readonly kind: 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array';
  readonly text: string;
}

/**
 * The members of one JSON object by name, in the order of the body. In a map, `__proto__` is an ordinary
 * name.
 */
export type Members = ReadonlyMap<string, Member>;

/** The texts that a member may have. */
export interface Grammar {
  readonly pattern: RegExp;
  readonly maxLength: number;
}

/** The bounds of a text that is already decoded. */
export interface TextBounds {
  readonly members: number;
  readonly depth: number;
  readonly numberCharacters: number;
}

export interface Bounds extends TextBounds {
  readonly bytes: number;
}

/** The bounds of a callback's body. */
export const BODY_BOUNDS: Bounds = { bytes: 65_536, members: 64, depth: 4, numberCharacters: 80 };

/** The bounds of a withdrawal's `outputs`. Their bytes are bounded by those of the body. */
export const OUTPUT_BOUNDS: TextBounds = { members: 4096, depth: 4, numberCharacters: 80 };

export type Decoded = { readonly ok: true; readonly text: string; readonly members: Members } | Failure;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes bytes as one JSON object (RFC 8259). Numbers keep their exact text. A name that appears twice is a
 * failure.
 */
export function decodeMembers(bytes: Uint8Array, bounds: Bounds = BODY_BOUNDS): Decoded {
  if (bytes.length > bounds.bytes) {
    return failure('BODY_TOO_LARGE', `the body has ${bytes.length} bytes; at most ${bounds.bytes} are read`);
  }
  const decoded = decodeText(bytes, bounds);
  if (decoded.ok || (decoded.code !== 'NOT_UTF8' && decoded.code !== 'NOT_AN_OBJECT')) return decoded;
  const prefix = prefixOf(bytes);
  if (prefix === undefined) return decoded;
  return failure(decoded.code, `the body begins with ${prefix.name}, not with {; ${prefix.fix}`);
}

function decodeText(bytes: Uint8Array, bounds: Bounds): Decoded {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return failure('NOT_UTF8', 'the body is not UTF-8');
  }
  return readMembers(text, bounds);
}

/** Like {@link decodeMembers}, for text that is already decoded, such as the plaintext of an envelope. */
export function readMembers(text: string, bounds: TextBounds = BODY_BOUNDS): Decoded {
  return catchRejection(() => ({ ok: true, text, members: new Reader(text, bounds).document() }));
}

export type DecodedObjects = { readonly ok: true; readonly objects: readonly Members[] } | Failure;

/** Decodes a text as a JSON array of objects, such as the `outputs` of a withdrawal. */
export function readObjects(text: string, bounds: TextBounds): DecodedObjects {
  return catchRejection(() => ({ ok: true, objects: new Reader(text, bounds).objects() }));
}

export type DecodedElements = { readonly ok: true; readonly elements: readonly Member[] } | Failure;

/** Decodes a text as a JSON array of any values. */
export function readElements(text: string, bounds: TextBounds): DecodedElements {
  return catchRejection(() => ({ ok: true, elements: new Reader(text, bounds).elements() }));
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
// Unescaped characters with escapes between them. Control characters must be escaped (RFC 8259, section 7).
// eslint-disable-next-line no-control-regex
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;

/** A strict JSON reader. The bound on the depth also bounds its recursion. */
class Reader {
  readonly #text: string;
  readonly #bounds: TextBounds;
  #at = 0;
  #count = 0;

  constructor(text: string, bounds: TextBounds) {
    this.#text = text;
    this.#bounds = bounds;
  }

  document(): Members {
    this.#skipBlanks();
    if (this.#text[this.#at] !== '{') {
      this.#reject('NOT_AN_OBJECT', 'the body is not a JSON object');
    }
    const members = this.#object(1);
    this.#expectEnd();
    return members;
  }

  objects(): Members[] {
    const found: Members[] = [];
    this.#skipBlanks();
    if (this.#text[this.#at] !== '[') this.#syntax('an array');
    this.#enter(1);
    if (!this.#skipClosing(']')) {
      do {
        this.#skipBlanks();
        if (this.#text[this.#at] !== '{') this.#syntax('an object');
        found.push(this.#object(2));
      } while (!this.#skipSeparator(']'));
    }
    this.#expectEnd();
    return found;
  }

  elements(): Member[] {
    const found: Member[] = [];
    this.#skipBlanks();
    if (this.#text[this.#at] !== '[') this.#syntax('an array');
    this.#enter(1);
    if (!this.#skipClosing(']')) {
      do {
        found.push(this.#value(1));
      } while (!this.#skipSeparator(']'));
    }
    this.#expectEnd();
    return found;
  }

  #expectEnd(): void {
    this.#skipBlanks();
    if (this.#at !== this.#text.length) this.#syntax('the end');
  }

  #object(depth: number): Map<string, Member> {
    this.#enter(depth);
    const members = new Map<string, Member>();
    if (this.#skipClosing('}')) return members;
    for (;;) {
      this.#skipBlanks();
      const name = this.#string();
      if (members.has(name)) {
        this.#reject('DUPLICATE_MEMBER', `the member ${JSON.stringify(name)} appears twice`, {
          member: name,
        });
      }
      if (++this.#count > this.#bounds.members) {
        this.#reject('TOO_MANY_MEMBERS', `the JSON has more than ${this.#bounds.members} members`);
      }
      this.#skipBlanks();
      this.#expect(':');
      members.set(name, this.#value(depth));
      if (this.#skipSeparator('}')) return members;
    }
  }

  #array(depth: number): void {
    this.#enter(depth);
    if (this.#skipClosing(']')) return;
    do {
      if (++this.#count > this.#bounds.members) {
        this.#reject('TOO_MANY_MEMBERS', `the JSON has more than ${this.#bounds.members} members`);
      }
      this.#value(depth);
    } while (!this.#skipSeparator(']'));
  }

  #value(depth: number): Member {
    this.#skipBlanks();
    const start = this.#at;
    const first = this.#text[start];
    if (first === '"') return { kind: 'string', text: this.#string() };
    if (first === '{') {
      this.#object(depth + 1);
      return { kind: 'object', text: this.#text.slice(start, this.#at) };
    }
    if (first === '[') {
      this.#array(depth + 1);
      return { kind: 'array', text: this.#text.slice(start, this.#at) };
    }
    if (this.#skipMatch(WORD)) {
      return { kind: first === 'n' ? 'null' : 'boolean', text: this.#text.slice(start, this.#at) };
    }
    if (!this.#skipMatch(NUMBER)) return this.#syntax('a value');
    if (this.#at - start > this.#bounds.numberCharacters) {
      this.#reject('NUMBER_TOO_LONG', `a number has more than ${this.#bounds.numberCharacters} characters`);
    }
    return { kind: 'number', text: this.#text.slice(start, this.#at) };
  }

  #string(): string {
    const start = this.#at;
    if (!this.#skipMatch(STRING)) return this.#syntax('a string');
    const written = this.#text.slice(start + 1, this.#at - 1);
    if (!written.includes('\\')) return written;
    const content: unknown = JSON.parse(this.#text.slice(start, this.#at));
    if (typeof content !== 'string' || !content.isWellFormed()) {
      this.#reject('NOT_UTF8', 'a string contains an unpaired surrogate, which has no UTF-8 form');
    }
    return content;
  }

  #enter(depth: number): void {
    if (depth > this.#bounds.depth) {
      this.#reject('TOO_DEEP', `the JSON is nested more than ${this.#bounds.depth} deep`);
    }
    this.#at++;
  }

  #skipClosing(bracket: string): boolean {
    this.#skipBlanks();
    if (this.#text[this.#at] !== bracket) return false;
    this.#at++;
    return true;
  }

  /** After a value: skips the closing bracket and returns true, or skips a comma and returns false. */
  #skipSeparator(bracket: string): boolean {
    if (this.#skipClosing(bracket)) return true;
    this.#expect(',');
    return false;
  }

  #expect(character: string): void {
    if (this.#text[this.#at] !== character) this.#syntax(`'${character}'`);
    this.#at++;
  }

  #skipBlanks(): void {
    while (isBlank(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  /** Skips the text that a sticky pattern matches at this place. Returns false if it matches none. */
  #skipMatch(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #syntax(expected: string): never {
    return this.#reject('NOT_JSON', `expected ${expected} at character ${this.#at}`, { at: this.#at });
  }

  #reject(code: Failure['code'], because: string, data: Failure['data'] = {}): never {
    throw new Rejected(failure(code, because, data));
  }
}

/** Whether a UTF-16 code unit is white space (RFC 8259, section 2). After the end of the text it is NaN. */
function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

/** Formats members as JSON. Values other than strings keep their exact text. */
export function membersJson(members: Members): string {
  const written = Array.from(
    members,
    ([name, { kind, text }]) => `${JSON.stringify(name)}:${kind === 'string' ? JSON.stringify(text) : text}`,
  );
  return `{${written.join(',')}}`;
}

/** A copy without some members. */
export function withoutMembers(members: Members, ...names: readonly string[]): Map<string, Member> {
  const rest = new Map<string, Member>();
  for (const [name, member] of members) if (!names.includes(name)) rest.set(name, member);
  return rest;
}

export function stringMember(text: string): Member {
  return { kind: 'string', text };
}
