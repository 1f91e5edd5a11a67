import type { Web3Callback } from '../../callback/callback.ts';
import { SELECTOR_CHARACTERS, type Value, valuesAt } from './abi.ts';
import { type ReadCalls, readCall } from './decode.ts';
import { type Frame, type InnerCall, innerCallsOf } from './inner-calls.ts';
import { type Method, nameIn } from './methods.ts';

/** Why a transaction is refused. */
export interface Refusal {
  /** A sentence. */
  readonly because: string;
  readonly values: Readonly<Record<string, string>>;
}

/** How the calls of transactions are read. */
export interface Reading {
  /** The method of a contract with a selector, or why no call of it can be read. */
  readonly methodOf: (contract: string, selector: string) => ReadableMethod | Refusal;
  /** Bounds on inner calls; undefined if wrappers can't be read. */
  readonly nesting: { readonly depth: number; readonly calls: number } | undefined;
}

export interface ReadableMethod {
  readonly method: Method;
  /** The most bytes that may follow the arguments. */
  readonly trailingMax: number;
}

/** A call of a transaction, or a transfer of native coins without call data. */
export interface ReadCall extends Frame {
  /** Undefined for a transfer without call data. */
  readonly decoded: DecodedCall | undefined;
  /** The position in each wrapper around it, from 1. Empty for the transaction's own call. */
  readonly position: readonly number[];
  /** The names of the methods from the outside in, like `execTransaction`, `transfer`. */
  readonly path: readonly string[];
  /** Whether the wrapper around it may go on if it fails. */
  readonly mayFail: boolean;
}

export interface DecodedCall {
  readonly method: Method;
  /** The values of the method's arguments. */
  readonly values: readonly Value[];
  /** The bytes behind the arguments, as hexadecimal digits. */
  readonly trailing: string;
}

export interface TransactionCalls {
  /** The calls in the order in which the transaction names them. A wrapper comes before its calls. */
  readonly calls: readonly ReadCall[];
  /** Why the calls after these can't be read; undefined if they are all. */
  readonly problem: Refusal | undefined;
}

/**
 * What has been read of each callback, for all policies and rules that judge it. The copies that evaluation
 * makes of a callback share its terms, which include the call data.
 */
const readOf = new WeakMap<Web3Callback['terms'], ReadCalls>();

/**
 * All calls of a transaction, decoded. The size of the call data and the bounds on inner calls bound the
 * work.
 */
export function readTransaction(callback: Web3Callback, reading: Reading): TransactionCalls {
  const calls: ReadCall[] = [];
  const known: ReadCalls = readOf.get(callback.terms) ?? new Map();
  readOf.set(callback.terms, known);
  const problem =
    malformedIn(callback) ?? new Reader(reading, calls, known).read(outerCall(callback), OUTERMOST);
  return { calls, problem };
}

/**
 * No callback has longer call data: its `input_data` has at most 65,536 characters including `0x`, which are
 * 32,767 bytes.
 */
const DATA_MAX_BYTES = 32_768;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const HEX = /^0x(?:[0-9a-fA-F]{2})*$/;

const hasCallData = ({ texts: { input_data: data } }: Web3Callback): boolean => data !== '' && data !== '0x';

function malformedIn(callback: Web3Callback): Refusal | undefined {
  const { input_data: data, interactive_contract: contract, to, from } = callback.texts;
  const refusal = (because: string, values: Refusal['values'] = {}): Refusal => ({ because, values });
  if (data.length > 2 + DATA_MAX_BYTES * 2) {
    return refusal(`the call data has ${data.length} characters, more than ${DATA_MAX_BYTES} bytes`);
  }
  if (data !== '' && !HEX.test(data)) {
    return refusal('the call data is not 0x and pairs of hexadecimal digits', { data: data.slice(0, 80) });
  }
  if (!ADDRESS.test(from)) return refusal('from is not an EVM address', { from });
  if (!ADDRESS.test(to)) return refusal('to is not an EVM address', { to });
  if (hasCallData(callback)) {
    return ADDRESS.test(contract)
      ? undefined
      : refusal('there is call data, and interactive_contract is not an EVM address', { contract });
  }
  if (contract === '' || contract.toLowerCase() === to.toLowerCase()) return undefined;
  return refusal('there is no call data, and interactive_contract is another address than to', {
    contract,
    to,
  });
}

function outerCall(callback: Web3Callback): InnerCall {
  const { from, to, interactive_contract: called, input_data: data } = callback.texts;
  const isCall = hasCallData(callback);
  const contract = (isCall ? called : to).toLowerCase();
  return {
    contract,
    runsAs: contract,
    caller: from.toLowerCase(),
    native: callback.amount,
    sent: callback.amount,
    isDelegated: false,
    data: isCall ? data.toLowerCase() : '0x',
  };
}

/** Where a call is. */
interface Place extends Pick<ReadCall, 'position' | 'mayFail'> {
  readonly outside: readonly string[];
}

const OUTERMOST: Place = { position: [], outside: [], mayFail: false };

/** Adds the calls that it reads to a list. */
class Reader {
  readonly #reading: Reading;
  readonly #calls: ReadCall[];
  readonly #known: ReadCalls;
  #innerCalls = 0;

  constructor(reading: Reading, calls: ReadCall[], known: ReadCalls) {
    this.#reading = reading;
    this.#calls = calls;
    this.#known = known;
  }

  /** Reads a call and the calls in it. Returns the problem at which it stopped. */
  read(call: InnerCall, { position, outside, mayFail }: Place): Refusal | undefined {
    const { data } = call;
    if (data === '0x') {
      const path = [...outside, 'plain transfer'];
      this.#calls.push(readCallOf(call, { decoded: undefined, position, path, mayFail }));
      return undefined;
    }
    const refuse = ({ because, values }: Refusal, name: string): Refusal =>
      inCall({ because, values }, { position, path: [...outside, nameIn(name)] });
    const { contract } = call;
    if (data.length < SELECTOR_CHARACTERS) {
      const because = 'the call data is shorter than a selector';
      return refuse({ because, values: { contract, data } }, data);
    }
    const selector = data.slice(0, SELECTOR_CHARACTERS);
    const readable = this.#reading.methodOf(contract, selector);
    if ('because' in readable) return refuse(readable, readable.values['method'] ?? selector);
    const { method, trailingMax } = readable;
    const found = readCall(method, data, trailingMax, this.#known);
    if (!found.ok) {
      const values = { contract, method: method.signature, selector, argument: found.argument };
      return refuse({ because: found.because, values }, method.signature);
    }
    const { values, trailing } = found;
    const path = [...outside, nameIn(method.signature)];
    const decoded = { method, values, trailing };
    const own = readCallOf(call, { decoded, position, path, mayFail });
    this.#calls.push(own);
    return method.innerCalls === undefined ? undefined : this.#readInner(own, decoded);
  }

  #readInner(call: ReadCall, { method, values }: DecodedCall): Refusal | undefined {
    const { innerCalls, signature } = method;
    const { position, path, contract } = call;
    const refuse = (because: string): Refusal =>
      inCall({ because, values: { contract, method: signature } }, call);
    const { nesting } = this.#reading;
    if (innerCalls === undefined) return undefined;
    if (nesting === undefined) return refuse(`${signature} contains calls, and that is not allowed`);
    if (position.length >= nesting.depth) {
      const depth = position.length + 1;
      return refuse(
        `${signature} contains calls at a depth of ${depth}; at most ${nesting.depth} is allowed`,
      );
    }
    const calls = innerCallsOf(innerCalls, call, values);
    if (typeof calls === 'string') return refuse(calls);
    if (calls.length === 0) return refuse(`${signature} contains no call`);
    // All of them count before the first is read, because it may be a wrapper with calls of its own.
    this.#innerCalls += calls.length;
    if (this.#innerCalls > nesting.calls) {
      return refuse(
        `there are at least ${this.#innerCalls} inner calls; at most ${nesting.calls} are allowed`,
      );
    }
    for (const [index, each] of calls.entries()) {
      const mayFail = mayFailAt(method, values, index);
      const problem = this.read(each, { position: [...position, index + 1], outside: path, mayFail });
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}

/** Named one by one, because that takes less time than the rest of an object. */
function readCallOf(
  { contract, runsAs, caller, native, sent, isDelegated }: Frame,
  { decoded, position, path, mayFail }: Omit<ReadCall, keyof Frame>,
): ReadCall {
  return { contract, runsAs, caller, native, sent, isDelegated, decoded, position, path, mayFail };
}

/** Whether a wrapper may go on if one of its calls fails. */
function mayFailAt({ failing }: Method, values: readonly Value[], index: number): boolean {
  if (typeof failing === 'boolean') return failing;
  const found = valuesAt(values, failing.argument);
  return found[failing.argument.steps.includes('each') ? index : 0] !== failing.reverts;
}

/** The refusal of a call, with its place if it is an inner call. */
export function inCall(
  { because, values }: Refusal,
  { position, path }: Pick<ReadCall, 'position' | 'path'>,
): Refusal {
  if (position.length === 0) return { because, values };
  const call = position.join('.');
  return {
    because: `call ${call}: ${because}`,
    values: { call, path: path.join(' > '), ...values },
  };
}
