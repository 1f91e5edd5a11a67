import { keccak256, stringToHex } from 'viem/utils';
import { type Argument, argumentsOf } from './argument.ts';
import { type AbiParameter, type Parameter, formatTypes, readParameters } from './type.ts';

/** A method that call data can be judged by. */
export interface Method {
  /** `transfer(address,uint256)`. */
  readonly signature: string;
  /** `0x` and the eight digits that its call data begins with. */
  readonly selector: string;
  readonly parameters: readonly Parameter[];
  /** The parameters as the ABI has them. */
  readonly inputs: readonly AbiParameter[];
  readonly arguments: readonly Argument[];
  /** Amounts of a token: in its units, added up over a transaction, and perhaps unlimited. */
  readonly amounts: ReadonlySet<Argument>;
  /** Flags that, if true, allow somebody everything. */
  readonly blanket: ReadonlySet<Argument>;
  /** Whether it does nothing but allow somebody to take what it names. */
  readonly approval: boolean;
  /** Lists that must be of one length. */
  readonly together: readonly (readonly Argument[])[];
  /** The calls that it holds, if it is a wrapper. */
  readonly holds: HeldCalls | undefined;
  /** Whether it comes from an ABI file alone, so that nobody knows which of its arguments are amounts. */
  readonly own: boolean;
  /** Why no policy may allow it; undefined if one may. */
  readonly unreadable: string | undefined;
}

/** Where a wrapper has the calls that it makes. */
export interface HeldCalls {
  readonly data: Argument;
  /** The contract called; without it, the wrapper's own. */
  readonly target: Argument | undefined;
  /** The native value of each in wei; or the wrapper's own value, which every call then sees; or nothing. */
  readonly value: Argument | 'same' | 'none';
}

/** What is known of a method beyond its ABI; arguments by their paths. */
export interface Traits {
  readonly amounts?: readonly string[];
  readonly blanket?: readonly string[];
  readonly approval?: true;
  readonly together?: readonly (readonly string[])[];
  readonly holds?: { readonly data: string; readonly target?: string; readonly value: string };
  readonly own?: true;
  readonly unreadable?: string;
}

const METHOD_NAME = /^[A-Za-z_$][\w$]{0,127}$/;

/** A method from its ABI. Throws, with what is wrong, if call data can't be judged by it. */
export function methodOf(name: string, inputs: readonly AbiParameter[], traits: Traits = {}): Method {
  if (!METHOD_NAME.test(name))
    throw new RangeError(`${JSON.stringify(name.slice(0, 40))} is no name of a method`);
  const parameters = readParameters(inputs);
  const signature = `${name}${formatTypes(parameters)}`;
  const all = argumentsOf(parameters);
  const at = (path: string): Argument => {
    const found = all.find((each) => each.path === path);
    if (found === undefined) throw new RangeError(`${signature} has no argument ${path}`);
    return found;
  };
  const { holds } = traits;
  return {
    signature,
    selector: keccak256(stringToHex(signature)).slice(0, 10),
    parameters,
    inputs,
    arguments: all,
    amounts: new Set((traits.amounts ?? []).map(at)),
    blanket: new Set((traits.blanket ?? []).map(at)),
    approval: traits.approval ?? false,
    together: (traits.together ?? []).map((paths) => paths.map(at)),
    holds: holds && {
      data: at(holds.data),
      target: holds.target === undefined ? undefined : at(holds.target),
      value: holds.value === 'same' || holds.value === 'none' ? holds.value : at(holds.value),
    },
    own: traits.own ?? false,
    unreadable: traits.unreadable,
  };
}

/** The same method with the names of another ABI. What is known of it stays known, by place. */
export function renamed(known: Method, inputs: readonly AbiParameter[]): Method {
  const parameters = readParameters(inputs);
  const all = argumentsOf(parameters);
  const twin = (argument: Argument): Argument => all[known.arguments.indexOf(argument)] ?? argument;
  const { holds } = known;
  return {
    ...known,
    parameters,
    inputs,
    arguments: all,
    amounts: new Set([...known.amounts].map(twin)),
    blanket: new Set([...known.blanket].map(twin)),
    together: known.together.map((group) => group.map(twin)),
    holds: holds && {
      data: twin(holds.data),
      target: holds.target && twin(holds.target),
      value: typeof holds.value === 'string' ? holds.value : twin(holds.value),
    },
  };
}

/** Whether the argument says what a wrapper calls; entries for the calls inside judge it then. */
export function isHeld({ holds }: Method, argument: Argument): boolean {
  return holds !== undefined && [holds.data, holds.target, holds.value].includes(argument);
}
