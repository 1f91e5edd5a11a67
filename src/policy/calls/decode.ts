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

export type CallRead =
  | {
      readonly ok: true;
      readonly values: readonly Value[];
      /** The hexadecimal digits behind the arguments. */
      readonly trailing: string;
    }
  | {
      readonly ok: false;
      /** A sentence that says what is wrong. */
      readonly because: string;
      /** The name or position of the invalid argument; empty for the data as a whole. */
      readonly argument: string;
    };

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
  const read = ofData.get(key) ?? decodeArguments(method, data.slice(SELECTOR_CHARACTERS), trailingMax);
  ofData.set(key, read);
  const { signature, sameLength } = method;
  if (!read.ok) return { ...read, because: `${signature}: ${read.because}` };
  const unequal = sameLength.find(
    (group) => new Set(group.map((each) => valuesAt(read.values, each).length)).size > 1,
  );
  if (unequal === undefined) return read;
  const names = unequal.map((each) => each.path).join(' and ');
  return { ok: false, because: `${signature}: ${names} have different lengths`, argument: '' };
}

/**
 * Decodes arguments from lower-case hexadecimal text without prefix and selector. Accepts only the encoding
 * that Solidity itself writes: the values that are found where that encoding has them must give the same bytes
 * when viem encodes them. So no two texts have the same arguments. At most `trailingMax` bytes may follow the
 * last one. Never throws.
 *
 * viem's decoder is not used, because it follows offsets, and reads shared ones repeatedly: a `bytes[][]` of 32 KB
 * can block the event loop for 200 ms.
 */
export function decodeArguments(
  { parameters, inputs }: Pick<Method, 'parameters' | 'inputs'>,
  hex: string,
  trailingMax = 0,
): CallRead {
  try {
    const { values, end } = new Reader(hex).list(parameters, 0, '');
    const more = hex.length / 2 - end;
    if (more > trailingMax) {
      const allowed = trailingMax === 0 ? '' : `; at most ${trailingMax} are allowed`;
      throw new InvalidData('', `${more} bytes follow the last argument${allowed}`);
    }
    const [encoded, written] = [encodeAbiParameters(inputs, values).slice(2), hex.slice(0, end * 2)];
    if (encoded !== written) {
      const byte = firstDifference(encoded, written);
      // The argument with this byte is named.
      new Reader(hex, { byte, expected: encoded.slice(byte * 2, byte * 2 + 2) }).list(parameters, 0, '');
      throw new InvalidData('', 'the arguments, encoded again, are different bytes');
    }
    return { ok: true, values, trailing: hex.slice(end * 2) };
  } catch (thrown) {
    if (thrown instanceof InvalidData) {
      return { ok: false, because: thrown.message, argument: thrown.argument };
    }
    const because = `the arguments can't be encoded again: ${messageOf(thrown).split('\n')[0]}`;
    return { ok: false, because, argument: '' };
  }
}

function firstDifference(one: string, other: string): number {
  let byte = 0;
  while (one.slice(byte * 2, byte * 2 + 2) === other.slice(byte * 2, byte * 2 + 2)) byte++;
  return byte;
}

class InvalidData extends Error {
  readonly argument: string;
  constructor(argument: string, because: string) {
    super(because);
    this.argument = argument;
  }
}

/**
 * Reads values where Solidity writes them: each offset leads to the end of the previous tail, so each byte is read
 * once. Padding and the unused bytes of words are not looked at.
 */
class Reader {
  readonly #hex: string;
  readonly #wrong: { readonly byte: number; readonly expected: string } | undefined;

  /** Throws at the argument that has the wrong byte. */
  constructor(hex: string, wrong?: { readonly byte: number; readonly expected: string }) {
    this.#hex = hex;
    this.#wrong = wrong;
  }

  /** Reads the heads of a list of parameters, and their tails in the same order. */
  list(
    parameters: readonly Parameter[],
    at: number,
    within: string,
  ): { readonly values: readonly Value[]; readonly end: number } {
    const values: Value[] = [];
    let head = at;
    let tail = at + headBytesOf(parameters);
    for (const [index, { name, type }] of parameters.entries()) {
      const path = pathOf(within, name, index);
      if (isDynamic(type)) {
        const offset = BigInt(`0x${this.#digits(head, WORD_BYTES, path)}`);
        if (offset !== BigInt(tail - at)) {
          const because = `the offset of ${path} is ${short(offset)} and must be ${tail - at}`;
          throw new InvalidData(path, because);
        }
        const { value, end } = this.#value(type, tail, path);
        values.push(value);
        tail = end;
      } else {
        values.push(this.#value(type, head, path).value);
      }
      head += headBytes(type);
    }
    return { values, end: tail };
  }

  #value(type: Type, at: number, path: string): { readonly value: Value; readonly end: number } {
    const word = (): string => this.#digits(at, WORD_BYTES, path);
    const end = at + WORD_BYTES;
    switch (type.kind) {
      case 'address':
        return { value: `0x${word().slice(24)}`, end };
      case 'fixed-bytes':
        return { value: `0x${word().slice(0, type.size * 2)}`, end };
      case 'bool':
        return { value: BigInt(`0x${word()}`) !== 0n, end };
      case 'uint':
        return { value: BigInt.asUintN(type.bits, BigInt(`0x${word()}`)), end };
      case 'int':
        return { value: BigInt.asIntN(type.bits, BigInt(`0x${word()}`)), end };
      case 'tuple': {
        const members = this.list(type.members, at, path);
        return { value: members.values, end: members.end };
      }
      case 'array': {
        const length = type.length ?? this.#length(word(), end, headBytes(type.of), path);
        const parameters = Array.from({ length }, () => ({ name: '', type: type.of }));
        const items = this.list(parameters, type.length === undefined ? end : at, path);
        return { value: items.values, end: items.end };
      }
      case 'bytes':
      case 'string':
        break;
    }
    const length = this.#length(word(), end, 1, path);
    const padded = Math.ceil(length / WORD_BYTES) * WORD_BYTES;
    const hex = this.#digits(end, padded, path).slice(0, length * 2);
    return { value: type.kind === 'bytes' ? `0x${hex}` : utf8(hex, path), end: end + padded };
  }

  /** Checks a length against the bytes behind it before anything is allocated. */
  #length(word: string, at: number, itemBytes: number, path: string): number {
    const length = BigInt(`0x${word}`);
    const room = Math.floor((this.#hex.length / 2 - at) / itemBytes);
    if (length <= BigInt(room)) return Number(length);
    throw new InvalidData(path, `${path} claims a length of ${short(length)}, and there is room for ${room}`);
  }

  #digits(at: number, bytes: number, path: string): string {
    const end = at + bytes;
    if (end * 2 > this.#hex.length) throw new InvalidData(path, `the data ends within ${path}`);
    const wrong = this.#wrong;
    if (wrong !== undefined && wrong.byte >= at && wrong.byte < end) {
      const [found, expected] = [this.#hex.slice(wrong.byte * 2, wrong.byte * 2 + 2), wrong.expected];
      const because = `byte ${wrong.byte} of the arguments is 0x${found} and must be 0x${expected}`;
      throw new InvalidData(path, `${path} is not written as Solidity writes it: ${because}`);
    }
    return this.#hex.slice(at * 2, end * 2);
  }
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
