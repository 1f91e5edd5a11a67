import type { Amount } from '../../values/amount.ts';
import { type Argument, SELECTOR_CHARACTERS, type Value, valuesAt } from './abi.ts';

/** Where a wrapper has its calls. `A` is an argument, or its path before the method is known. */
export type InnerCalls<A = Argument> = ListedCalls<A> | PackedCalls<A>;

/** A call, or a list of calls, in arguments of their own. */
interface ListedCalls<A> {
  readonly form: 'listed';
  readonly data: A;
  /** The called contract. `self` is the wrapper itself, which runs its own method by delegatecall. */
  readonly target: { readonly argument: A } | { readonly address: string } | 'self';
  /** The native value of each call in wei; `same` if every call sees the wrapper's own value; or `none`. */
  readonly value: { readonly argument: A } | 'same' | 'none';
  /** 0 for a call, 1 for a delegatecall. Without it, all are calls. */
  readonly operation?: A;
}

/** The packed encoding of Safe's `multiSend`. */
interface PackedCalls<A> {
  readonly form: 'packed';
  readonly data: A;
}

/** The same place with other arguments. */
export function mapInnerCalls<A, B>(inner: InnerCalls<A>, map: (argument: A) => B): InnerCalls<B> {
  if (inner.form === 'packed') return { form: 'packed', data: map(inner.data) };
  const { data, target, value, operation } = inner;
  return {
    form: 'listed',
    data: map(data),
    target: typeof target === 'object' && 'argument' in target ? { argument: map(target.argument) } : target,
    value: typeof value === 'object' ? { argument: map(value.argument) } : value,
    ...(operation === undefined ? {} : { operation: map(operation) }),
  };
}

/** The same text for the same places, by position: ABIs may name the arguments differently. */
export const placesOfCalls = (inner: InnerCalls | undefined): string =>
  inner === undefined ? '' : JSON.stringify(mapInnerCalls(inner, ({ steps }) => steps));

/** The arguments that describe the inner calls. The entries for those calls judge them. */
export function innerArguments(inner: InnerCalls | undefined): readonly Argument[] {
  const found: Argument[] = [];
  if (inner !== undefined) mapInnerCalls(inner, (argument) => found.push(argument));
  return found;
}

/** Who runs a call, and as whom. */
export interface Frame {
  /** The contract whose code runs; for a transfer without call data, its recipient. In lower case. */
  readonly contract: string;
  /** The address as which the code runs: the contract, or the account that runs it by delegatecall. */
  readonly runsAs: string;
  /** The address that makes the call (`msg.sender`). */
  readonly caller: string;
  /** The coins that its code sees (`msg.value`). */
  readonly native: Amount | 'unlimited';
  /** The coins that go to the contract: none if the call runs as the one that sees them already. */
  readonly sent: Amount | 'unlimited';
  readonly isDelegated: boolean;
}

export interface InnerCall extends Frame {
  /** `0x` and lower-case digits. */
  readonly data: string;
}

/** The calls of a wrapper, or a sentence that says why they can't be read. */
export function innerCallsOf(
  inner: InnerCalls,
  outer: Frame,
  values: readonly Value[],
): readonly InnerCall[] | string {
  return inner.form === 'listed'
    ? listedCalls(inner, outer, values)
    : packedCalls(textAt(values, inner.data), outer);
}

const UNREADABLE = 'an inner call has no selector, target or value';

function listedCalls(
  { data, target, value, operation }: ListedCalls<Argument>,
  outer: Frame,
  values: readonly Value[],
): readonly InnerCall[] | string {
  const datas = valuesAt(values, data);
  /** The value for each call; undefined if it is not clear which belongs to it. */
  const column = (argument: Argument): ((index: number) => Value | undefined) => {
    const found = valuesAt(values, argument);
    if (!argument.steps.includes('each')) return () => found[0];
    return (index) => (found.length === datas.length ? found[index] : undefined);
  };
  const targetAt =
    typeof target !== 'object'
      ? () => target
      : 'address' in target
        ? () => target.address
        : column(target.argument);
  const valueAt = typeof value === 'object' ? column(value.argument) : () => value;
  const operationAt = operation === undefined ? () => CALL : column(operation);
  const calls: InnerCall[] = [];
  for (const [index, each] of datas.entries()) {
    const written = {
      data: each,
      target: targetAt(index),
      value: valueAt(index),
      operation: operationAt(index),
    };
    const call = inOuter(outer, written);
    if (typeof call === 'string') return call;
    calls.push(call);
  }
  return calls;
}

const CALL = 0n;
const DELEGATECALL = 1n;

/** Wei in units of 10^-36: the native coin of an EVM network has 18 decimals. */
const WEI: Amount = 10n ** 18n;

/** The call with these values in a wrapper, or a sentence that says why it can't be read. */
function inOuter(
  outer: Frame,
  written: Readonly<Record<'data' | 'target' | 'value' | 'operation', Value | undefined>>,
): InnerCall | string {
  const { data, target, value, operation } = written;
  if (typeof data !== 'string' || typeof target !== 'string') return UNREADABLE;
  const native = value === 'same' ? outer.native : value === 'none' ? 0n : value;
  if (typeof native !== 'bigint' && native !== 'unlimited') return UNREADABLE;
  const amount = typeof value === 'bigint' ? value * WEI : native;
  const { runsAs, caller } = outer;
  if (target === 'self') {
    // A wrapper that calls its own methods sends no coins to itself, so each inner call needs a selector.
    if (data.length < SELECTOR_CHARACTERS) return UNREADABLE;
    return { data, contract: runsAs, runsAs, caller, native: amount, sent: 0n, isDelegated: false };
  }
  if (operation === CALL) {
    const frame = { contract: target, runsAs: target, caller: runsAs, isDelegated: false };
    return { data, ...frame, native: amount, sent: amount };
  }
  if (operation !== DELEGATECALL)
    return `the operation ${String(operation)} is neither a call (0) nor a delegatecall (1)`;
  if (amount !== 0n) return `a delegatecall to ${target} has a value, and would not send it`;
  if (data === '0x') return `a delegatecall to ${target} has no call data`;
  return { data, contract: target, runsAs, caller, native: outer.native, sent: 0n, isDelegated: true };
}

/** The digits of the operation, the target, the value and the length of the data. */
const PACKED_HEAD = [2, 40, 64, 64] as const;
const PACKED_HEAD_DIGITS = 170;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** Reads calls without padding between them, up to the last byte. */
function packedCalls(packed: string, outer: Frame): readonly InnerCall[] | string {
  const calls: InnerCall[] = [];
  let at = 2;
  while (at < packed.length) {
    if (packed.length - at < PACKED_HEAD_DIGITS) return 'the packed calls end within a call';
    const [operation = '', target = '', value = '', length = ''] = PACKED_HEAD.map((digits) => {
      at += digits;
      return packed.slice(at - digits, at);
    });
    const bytes = BigInt(`0x${length}`);
    if (bytes > BigInt((packed.length - at) / 2)) return 'the packed calls end within a call';
    const end = at + Number(bytes) * 2;
    const read = inOuter(outer, {
      data: `0x${packed.slice(at, end)}`,
      target: `0x${target}`,
      value: BigInt(`0x${value}`),
      operation: BigInt(`0x${operation}`),
    });
    if (typeof read === 'string') return read;
    if (read.contract === ZERO_ADDRESS) {
      return 'a packed call is to the zero address, which some versions take for the account itself';
    }
    calls.push(read);
    at = end;
  }
  return calls;
}

/** The value of an argument outside of lists. */
function textAt(values: readonly Value[], argument: Argument): string {
  const [found] = valuesAt(values, argument);
  return typeof found === 'string' ? found : '';
}
