import { keccak256, stringToHex } from 'viem/utils';
import {
  type AbiParameter,
  type Argument,
  type Parameter,
  argumentsOf,
  formatTypes,
  readParameters,
} from './abi.ts';
import { type InnerCalls, innerArguments, mapInnerCalls } from './inner-calls.ts';

/** A method, and what is known about its arguments. */
export interface Method {
  /** `transfer(address,uint256)`. */
  readonly signature: string;
  /** `0x` and eight digits, with which its call data begins. */
  readonly selector: string;
  readonly parameters: readonly Parameter[];
  /** The parameters in the ABI. */
  readonly inputs: readonly AbiParameter[];
  /** Two methods with one form read the same data alike, whichever policy has them. */
  readonly form: string;
  readonly arguments: readonly Argument[];
  /** Amounts of a token, in its units. They are summed over a transaction, and can be unlimited. */
  readonly amounts: ReadonlySet<Argument>;
  /** Flags that approve everything if they are true. */
  readonly blanketFlags: ReadonlySet<Argument>;
  /** Whether the method approves an amount, or everything. */
  readonly approval: boolean;
  /** Groups of lists that must have the same length. */
  readonly sameLength: readonly (readonly Argument[])[];
  /** Where a wrapper has its inner calls. */
  readonly innerCalls: InnerCalls | undefined;
  readonly failing: FailingCalls;
  /** The tokens that it moves. Undefined for a method of which nothing is known but its native value. */
  readonly moves: readonly TokenMove[] | undefined;
  /** Arguments that must be zero: otherwise the method moves an amount that the call data does not have. */
  readonly zero: readonly Argument[];
  readonly traits: Traits;
}

/**
 * Whether a wrapper may go on if one of its calls fails. A flag says it if it hasn't the value with which the
 * wrapper reverts.
 */
type FailingCalls<A = Argument> = boolean | { readonly argument: A; readonly reverts: boolean };

/** Tokens that a call moves, or allows somebody to move. `A` is an argument, or its path. */
export interface TokenMove<A = Argument> {
  readonly type: 'transfer' | 'approval';
  /** The recipient or the spender. */
  readonly to: A;
  /** The contract of the token. Without it, the called contract is the token. */
  readonly token?: A;
  /** The amount, or a flag for all. Without it, the call data has no amount. */
  readonly amount?: A;
  /** Whether it takes an approval back, so that nobody gets an amount. */
  readonly revokes?: true;
}

/** What an ABI does not say about a method. Arguments are given by their paths. */
export interface Traits {
  readonly moves?: readonly TokenMove<string>[];
  /** Amounts beside those that it moves. */
  readonly amounts?: readonly string[];
  readonly zero?: readonly string[];
  readonly sameLength?: readonly (readonly string[])[];
  readonly innerCalls?: InnerCalls<string>;
  /** Without it, a wrapper may go on. */
  readonly failing?: FailingCalls<string>;
  /** A wrapper that anybody may call, who can take what its contract holds. */
  readonly isForAnybody?: true;
  /** A method of an ERC-20 token, whose amounts are in the units of the called contract. */
  readonly isErc20?: true;
  /** Only an ABI file defines it. It is then unknown which of its arguments are amounts. */
  readonly fromAbiFile?: true;
}

/** `transfer`, of `transfer(address,uint256)`. */
export const nameIn = (signature: string): string => signature.split('(')[0]?.trim() ?? '';

const METHOD_NAME = /^[A-Za-z_$][\w$]{0,127}$/;

/**
 * A method with this ABI. The traits name arguments as `namedBy` does, which has the same types. Throws a RangeError
 * that names an invalid name or an unsupported type.
 */
export function methodOf(
  name: string,
  inputs: readonly AbiParameter[],
  traits: Traits = {},
  namedBy: readonly AbiParameter[] = inputs,
): Method {
  if (!METHOD_NAME.test(name)) {
    throw new RangeError(`${JSON.stringify(name.slice(0, 40))} is not a method name`);
  }
  const parameters = readParameters(inputs);
  const signature = `${name}${formatTypes(parameters)}`;
  const all = argumentsOf(parameters);
  const paths = argumentsOf(readParameters(namedBy)).map(({ path }) => path);
  const at = (path: string): Argument => {
    const found = all[paths.indexOf(path)];
    if (found === undefined) throw new RangeError(`${signature} has no argument ${path}`);
    return found;
  };
  const moves = traits.moves?.map(({ to, token, amount, ...others }): TokenMove => ({
    ...others,
    to: at(to),
    ...(token === undefined ? {} : { token: at(token) }),
    ...(amount === undefined ? {} : { amount: at(amount) }),
  }));
  const moved = (moves ?? []).flatMap(({ amount }) => amount ?? []);
  const { failing = true } = traits;
  return {
    signature,
    selector: keccak256(stringToHex(signature)).slice(0, 10),
    parameters,
    inputs,
    // What can't be read is said with the names of the arguments.
    form: `${signature} ${JSON.stringify(inputs)}`,
    arguments: all,
    amounts: new Set([
      ...(traits.amounts ?? []).map(at),
      ...moved.filter(({ type }) => type.kind === 'uint'),
    ]),
    blanketFlags: new Set(moved.filter(({ type }) => type.kind === 'bool')),
    approval: moves?.some(({ type, amount }) => type === 'approval' && amount !== undefined) ?? false,
    sameLength: (traits.sameLength ?? []).map((group) => group.map(at)),
    innerCalls: traits.innerCalls && mapInnerCalls(traits.innerCalls, at),
    failing: typeof failing === 'boolean' ? failing : { ...failing, argument: at(failing.argument) },
    moves,
    zero: (traits.zero ?? []).map(at),
    traits,
  };
}

/** Whether the argument describes the inner calls of a wrapper. The entries for those calls judge it. */
export function describesInnerCalls({ innerCalls }: Method, argument: Argument): boolean {
  return innerArguments(innerCalls).includes(argument);
}
