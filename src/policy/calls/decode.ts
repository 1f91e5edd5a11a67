import { encodeAbiParameters } from 'viem/utils';
import { messageOf } from '../../errors.ts';
import {
  SELECTOR_CHARACTERS,
  type Parameter,
  type Type,
  type Value,
  WORD_BYTES,
  headBytes,
  headBytesOf,
  isDynamic,
  valuesAt,
} from './abi.ts';
import type { Method } from './methods.ts';

export type Decoded =
  | {
      readonly ok: true;
      readonly values: readonly Value[];
      readonly words: number;
      /** The hexadecimal digits behind the arguments. */
      readonly trailing: string;
    }
  | {
      readonly ok: false;
      /** A sentence that says what is wrong. */
      readonly because: string;
      /** The name or position of the invalid argument; empty for the data as a whole. */
      readonly argument: string;
      /** The number of words read, never more than the data has. */
      readonly words: number;
    };

class InvalidData extends Error {
  readonly argument: string;
  constructor(argument: string, because: string) {
    super(because);
    this.argument = argument;
  }
}

export type CallRead =
  | { readonly ok: true; readonly values: readonly Value[]; readonly trailing: string }
  | { readonly ok: false; readonly because: string; readonly argument: string };

/** What has been read of the calls of one transaction, by call data, and by the form of the method. */
export type ReadCalls = Map<string, Map<string, CallRead>>;

/**
 * Reads the arguments of a call. Policies and rules that know its method by the same names read it once:
 * `known` has what was read before. At most `trailingMax` bytes may follow the arguments.
 */
export function readCall(method: Method, data: string, trailingMax: number, known: ReadCalls): CallRead {
  const ofData = known.get(data) ?? new Map<string, CallRead>();
  known.set(data, ofData);
  const key = `${trailingMax} ${method.form}`;
  const read = ofData.get(key) ?? decodeCall(method, data.slice(SELECTOR_CHARACTERS), trailingMax);
  ofData.set(key, read);
  if (!read.ok) return read;
  const unequal = method.sameLength.find(
    (group) => new Set(group.map((each) => valuesAt(read.values, each).length)).size > 1,
  );
  return unequal === undefined
    ? read
    : refused(method, `${unequal.map((each) => each.path).join(' and ')} have different lengths`);
}

const refused = ({ signature }: Method, because: string, argument = ''): CallRead => ({
  ok: false,
  because: `${signature}: ${because}`,
  argument,
});

/**
 * Decodes the arguments of a call from the digits after its selector. Refuses them unless another encoder
 * (viem) encodes them to the same bytes.
 */
function decodeCall(method: Method, body: string, trailingMax: number): CallRead {
  const { parameters, inputs } = method;
  const refuse = (because: string, argument?: string): CallRead => refused(method, because, argument);
  const decoded = decodeArguments(parameters, body, trailingMax);
  if (!decoded.ok) return refuse(decoded.because, decoded.argument);
  const { values, trailing } = decoded;
  try {
    if (encodeAbiParameters(inputs, values) !== `0x${body.slice(0, body.length - trailing.length)}`) {
      return refuse('the arguments, encoded again, are different bytes');
    }
  } catch (thrown) {
    return refuse(`the arguments can't be encoded again: ${messageOf(thrown).split('\n')[0]}`);
  }
  return { ok: true, values, trailing };
}

/**
 * Decodes arguments from lower-case hexadecimal text without prefix and selector. Accepts only the encoding
 * that Solidity itself writes: every offset leads to the end of the previous tail, and all padding is zero.
 * So each byte is read once, and no two texts have the same arguments. At most `trailingMax` bytes may follow
 * the last tail. Never throws.
 *
 * viem's decoder is not used, because it reads shared offsets repeatedly: a `bytes[][]` of 32 KB can block
 * the event loop for 200 ms. Its errors don't name the argument either.
 */
export function decodeArguments(parameters: readonly Parameter[], hex: string, trailingMax = 0): Decoded {
  const reader = new Reader(hex);
  try {
    const { values, end } = reader.list(parameters, 0, '');
    const more = reader.bytes - end;
    if (more > trailingMax) {
      const allowed = trailingMax === 0 ? '' : `; at most ${trailingMax} are allowed`;
      return invalidData('', `${more} bytes follow the last argument${allowed}`, reader.words);
    }
    return { ok: true, values, words: reader.words, trailing: hex.slice(end * 2) };
  } catch (thrown) {
    if (thrown instanceof InvalidData) return invalidData(thrown.argument, thrown.message, reader.words);
    throw thrown;
  }
}

function invalidData(argument: string, because: string, words: number): Decoded {
  return { ok: false, because, argument, words };
}

interface DecodedList {
  readonly values: readonly Value[];
  /** The first byte after the list. */
  readonly end: number;
}

interface DecodedValue {
  readonly value: Value;
  readonly end: number;
}

class Reader {
  readonly #hex: string;
  readonly bytes: number;
  words = 0;

  constructor(hex: string) {
    this.#hex = hex;
    this.bytes = hex.length / 2;
  }

  /** Reads the heads of a list of parameters, and their tails in the same order. */
  list(parameters: readonly Parameter[], at: number, within: string): DecodedList {
    const values: Value[] = [];
    let head = at;
    let tail = at + headBytesOf(parameters);
    for (const [index, { name, type }] of parameters.entries()) {
      const path = pathOf(within, name, index);
      if (isDynamic(type)) {
        this.#offset(head, tail - at, path);
        const { value, end } = this.#tail(type, tail, path);
        values.push(value);
        tail = end;
      } else {
        values.push(this.#inPlace(type, head, path));
      }
      head += headBytes(type);
    }
    return { values, end: tail };
  }

  #offset(at: number, expected: number, path: string): void {
    const offset = this.#word(at, path);
    if (offset !== BigInt(expected)) {
      throw new InvalidData(path, `the offset of ${path} is ${short(offset)} and must be ${expected}`);
    }
  }

  #tail(type: Type, at: number, path: string): DecodedValue {
    if (type.kind === 'bytes' || type.kind === 'string') return this.#text(type.kind, at, path);
    if (type.kind === 'tuple') {
      const { values, end } = this.list(type.members, at, path);
      return { value: values, end };
    }
    if (type.kind !== 'array') throw new InvalidData(path, `${path} can't be read`);
    const start = type.length === undefined ? at + WORD_BYTES : at;
    const length = type.length ?? this.#length(at, headBytes(type.of), path);
    const members = Array.from({ length }, () => ({ name: '', type: type.of }));
    const { values, end } = this.list(members, start, path);
    return { value: values, end };
  }

  #inPlace(type: Type, at: number, path: string): Value {
    if (type.kind === 'tuple') return this.list(type.members, at, path).values;
    if (type.kind === 'array') {
      const members = Array.from({ length: type.length ?? 0 }, () => ({ name: '', type: type.of }));
      return this.list(members, at, path).values;
    }
    return scalar(type, this.#word(at, path), path);
  }

  #text(kind: 'bytes' | 'string', at: number, path: string): DecodedValue {
    const length = this.#length(at, 1, path);
    const start = at + WORD_BYTES;
    const padded = Math.ceil(length / WORD_BYTES) * WORD_BYTES;
    this.#within(start + padded, path);
    this.words += padded / WORD_BYTES;
    const hex = this.#hex.slice(start * 2, (start + length) * 2);
    const padding = this.#hex.slice((start + length) * 2, (start + padded) * 2);
    if (/[^0]/.test(padding)) throw new InvalidData(path, `the padding of ${path} is not zero`);
    return { value: kind === 'bytes' ? `0x${hex}` : utf8(hex, path), end: start + padded };
  }

  /** Reads a length and checks it against the remaining bytes before anything is allocated. */
  #length(at: number, itemBytes: number, path: string): number {
    const length = this.#word(at, path);
    const room = Math.floor((this.bytes - at - WORD_BYTES) / itemBytes);
    if (length > BigInt(room)) {
      throw new InvalidData(
        path,
        `${path} claims a length of ${short(length)}, and there is room for ${room}`,
      );
    }
    return Number(length);
  }

  #word(at: number, path: string): bigint {
    this.#within(at + WORD_BYTES, path);
    this.words += 1;
    return BigInt(`0x${this.#hex.slice(at * 2, (at + WORD_BYTES) * 2)}`);
  }

  #within(end: number, path: string): void {
    if (end > this.bytes) throw new InvalidData(path, `the data ends within ${path}`);
  }
}

function scalar(type: Type, word: bigint, path: string): Value {
  const hex = word.toString(16).padStart(64, '0');
  switch (type.kind) {
    case 'uint':
      if (word >> BigInt(type.bits) === 0n) return word;
      throw new InvalidData(
        path,
        `${path} is more than a uint${type.bits} holds: its upper bytes are not zero`,
      );
    case 'int': {
      const value = BigInt.asIntN(type.bits, word);
      if (BigInt.asUintN(256, value) === word) return value;
      throw new InvalidData(
        path,
        `${path} is more than an int${type.bits} holds: its upper bytes do not match its sign`,
      );
    }
    case 'address':
      if (word >> 160n === 0n) return `0x${hex.slice(24)}`;
      throw new InvalidData(path, `${path} is not an address: its upper bytes are not zero`);
    case 'bool':
      if (word <= 1n) return word === 1n;
      throw new InvalidData(path, `${path} is neither true nor false`);
    case 'fixed-bytes':
      if (/^0*$/.test(hex.slice(type.size * 2))) return `0x${hex.slice(0, type.size * 2)}`;
      throw new InvalidData(path, `${path} is more than ${type.size} bytes: its lower bytes are not zero`);
    case 'bytes':
    case 'string':
    case 'array':
    case 'tuple':
      break;
  }
  throw new InvalidData(path, `${path} can't be read`);
}

function utf8(hex: string, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(hex, 'hex'));
  } catch {
    throw new InvalidData(path, `${path} is not UTF-8 text`);
  }
}

function pathOf(within: string, name: string, index: number): string {
  const own = name === '' ? String(index + 1) : name;
  return within === '' ? own : `${within}.${own}`;
}

const short = (value: bigint): string => (value > 0xffffffffn ? `0x${value.toString(16)}` : value.toString());
