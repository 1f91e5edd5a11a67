import { encodePacked } from 'viem/utils';
import { type Column, string } from '../../cases.ts';
import { type Transaction, call, withWord } from './transactions.ts';

/*
 * Call data and transactions as tables have them, such as
 *
 *     $USDT.transfer(address $PARTNER, uint256 5e6), amount 1, from $OTHER
 *
 * An argument has its type before it; a list is in brackets, a tuple in parentheses. Where bytes are expected
 * there may be a call, or `packed(…)`: what multiSend takes. `word 3 = 2^64` replaces a word behind the selector,
 * `then 0x00` adds bytes, and `without 2` leaves off as many.
 */

/** Call data. */
export const asCallData: Column<string> = (written, names) => {
  const reader = new Reader(string(written, names));
  const data = reader.data();
  reader.end();
  return data;
};

/** A transaction; `nothing` instead of contract and call for coins alone. */
export const asTransaction: Column<Transaction> = (written, names) => {
  const reader = new Reader(string(written, names));
  const contract = reader.take(/^0x[0-9a-fA-F]{40}/) ?? '';
  const data =
    reader.take(/^nothing/) !== undefined || reader.take(/^[.:] ?/) === undefined ? '' : reader.data();
  const more: Record<string, string> = {};
  for (
    let found = reader.take(/^, (?:to|amount|from) /);
    found !== undefined;
    found = reader.take(/^, (?:to|amount|from) /)
  ) {
    more[found.slice(2, -1)] = reader.need(/^[^,]+/);
  }
  reader.end();
  return { contract, data, ...more };
};

class Reader {
  #rest: string;

  constructor(text: string) {
    this.#rest = text;
  }

  take(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.#rest)?.[0];
    if (found !== undefined) this.#rest = this.#rest.slice(found.length);
    return found;
  }

  need(pattern: RegExp): string {
    const found = this.take(pattern);
    if (found === undefined) throw new Error(`there is no ${pattern} at "${this.#rest}"`);
    return found;
  }

  end(): void {
    this.need(/^$/);
  }

  data(): string {
    let data = this.#plain();
    for (;;) {
      if (this.take(/^ then /) !== undefined) data += this.#plain().slice(2);
      else if (this.take(/^ without /) !== undefined) data = data.slice(0, -2 * Number(this.need(/^\d+/)));
      else if (this.take(/^ word /) !== undefined) {
        const index = Number(this.need(/^\d+ = /).slice(0, -3));
        data = withWord(data, index, this.#integer());
      } else return data;
    }
  }

  #plain(): string {
    const hex = this.take(/^0x[0-9a-fA-F]*/);
    if (hex !== undefined) return hex;
    if (this.take(/^packed\(/) !== undefined) {
      const all = this.#items(')', () => this.#value('(uint8,address,uint256,bytes)'));
      return packed(...(all as Packed[]));
    }
    const name = this.need(/^\w+(?=\()/);
    this.need(/^\(/);
    const types: string[] = [];
    const values = this.#items(')', () => {
      const type = this.#type();
      types.push(type);
      return this.#value(type);
    });
    return call(`${name}(${types.join(',')})`, ...values);
  }

  #type(): string {
    let depth = 0;
    const end = Array.from(this.#rest).findIndex((each) => {
      if (each === '(') depth++;
      if (each === ')') depth--;
      return each === ' ' && depth === 0;
    });
    const type = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return type;
  }

  #value(type: string): unknown {
    const item = /^(.*)\[\d*\]$/.exec(type)?.[1];
    if (item !== undefined) {
      this.need(/^\[/);
      return this.#items(']', () => this.#value(item));
    }
    if (type.startsWith('(')) {
      this.need(/^\(/);
      const types = partsOf(type);
      return this.#items(')', (at) => this.#value(types[at] ?? ''));
    }
    if (type === 'bool') return this.need(/^(?:true|false)/) === 'true';
    if (type === 'string') return JSON.parse(this.need(/^"[^"]*"/));
    if (type === 'bytes') return this.data();
    if (/^u?int/.test(type)) {
      const value = this.#integer();
      return Number(/\d+/.exec(type)?.[0] ?? 256) <= 48 ? Number(value) : value;
    }
    return this.need(/^0x[0-9a-fA-F]*/);
  }

  #items<T>(end: ')' | ']', item: (at: number) => T): T[] {
    const found: T[] = [];
    while (!this.#rest.startsWith(end)) {
      if (found.length > 0) this.need(/^, /);
      found.push(item(found.length));
    }
    this.#rest = this.#rest.slice(1);
    return found;
  }

  /** `5`, `5e6`, or `2^64-1`. */
  #integer(): bigint {
    const text = this.need(/^-?\d+(?:e\d+|\^\d+(?:[+-]\d+)?)?/);
    const [, base = '', power = '0', more = '0'] = /^(-?\d+)(?:[e^](\d+)([+-]\d+)?)?$/.exec(text) ?? [];
    if (text.includes('^')) return BigInt(base) ** BigInt(power) + BigInt(more.replace('+', ''));
    return BigInt(base) * 10n ** BigInt(power);
  }
}

/** The types in a tuple. */
function partsOf(tuple: string): readonly string[] {
  let depth = 0;
  const parts = [''];
  for (const each of tuple.slice(1, -1)) {
    if (each === '(') depth++;
    if (each === ')') depth--;
    if (each === ',' && depth === 0) parts.push('');
    else parts.push(`${parts.pop() ?? ''}${each}`);
  }
  return parts;
}

export type Packed = readonly [operation: number, to: string, value: bigint, data: string];

const hex = (text: string): `0x${string}` => `0x${text.slice(2)}`;

/** Calls as multiSend of a Safe takes them. */
export function packed(...calls: readonly Packed[]): string {
  const each = calls.map(([operation, to, value, data]) =>
    encodePacked(
      ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
      [operation, hex(to), value, BigInt(data.length / 2 - 1), hex(data)],
    ).slice(2),
  );
  return `0x${each.join('')}`;
}
