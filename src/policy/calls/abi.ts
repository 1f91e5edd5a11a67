/** The type of an argument. Every type takes at least one word of call data. */
export type Type =
  | { readonly kind: 'uint' | 'int'; readonly bits: number }
  | { readonly kind: 'address' | 'bool' | 'bytes' | 'string' }
  | { readonly kind: 'fixed-bytes'; readonly size: number }
  /** `length` is undefined for an array of any length. */
  | { readonly kind: 'array'; readonly of: Type; readonly length: number | undefined }
  | { readonly kind: 'tuple'; readonly members: readonly Parameter[] };

export interface Parameter {
  /** Empty if the ABI has no name. */
  readonly name: string;
  readonly type: Type;
}

/** A parameter in a JSON ABI. */
export interface AbiParameter {
  readonly type: string;
  readonly name?: string | undefined;
  readonly components?: readonly AbiParameter[] | undefined;
}

/** The value of an argument. Addresses and bytes are lower-case hexadecimal; arrays and tuples are lists. */
export type Value = bigint | boolean | string | readonly Value[];

export const WORD_BYTES = 32;
/** The length of `0x` and the eight digits of a selector. */
export const SELECTOR_CHARACTERS = 10;
/** Bounds far above those of methods in use. */
const DEPTH_MAX = 16;
export const TOO_DEEP = `its types are nested more than ${DEPTH_MAX} deep`;
const MEMBERS_MAX = 64;
const LENGTH_MAX = 1024;
const HEAD_MAX_WORDS = 1024;

const ARRAY = /^(.+)\[(\d{0,4})\]$/;
const INTEGER = /^(u?)int(\d{0,3})$/;
const FIXED_BYTES = /^bytes([1-9]|[12]\d|3[0-2])$/;

/** Reads the parameters of an ABI. Throws a RangeError that names an invalid or unsupported type. */
export function readParameters(written: readonly AbiParameter[], depth = 0): readonly Parameter[] {
  if (depth > DEPTH_MAX) throw new RangeError(TOO_DEEP);
  if (written.length > MEMBERS_MAX) throw new RangeError(`a list of parameters has more than ${MEMBERS_MAX}`);
  const parameters = written.map((each) => ({ name: each.name ?? '', type: readType(each, depth) }));
  if (headBytesOf(parameters) > HEAD_MAX_WORDS * WORD_BYTES) {
    throw new RangeError('its arguments are too large');
  }
  return parameters;
}

function readType(written: AbiParameter, depth: number): Type {
  const { type, components } = written;
  if (depth > DEPTH_MAX) throw new RangeError(TOO_DEEP);
  const array = ARRAY.exec(type);
  if (array !== null) {
    const length = array[2] === '' ? undefined : Number(array[2]);
    if (length === 0 || (length ?? 0) > LENGTH_MAX) {
      throw new RangeError(`an array of ${length} items is not supported; from 1 to ${LENGTH_MAX} are`);
    }
    return { kind: 'array', of: readType({ ...written, type: array[1] ?? '' }, depth + 1), length };
  }
  if (type === 'tuple') {
    if ((components ?? []).length === 0) throw new RangeError('a tuple has no members');
    return { kind: 'tuple', members: readParameters(components ?? [], depth + 1) };
  }
  if (type === 'address' || type === 'bool' || type === 'bytes' || type === 'string') return { kind: type };
  const integer = INTEGER.exec(type);
  const bits = Number(integer?.[2] || 256);
  if (integer !== null && bits >= 8 && bits <= 256 && bits % 8 === 0) {
    return { kind: integer[1] === 'u' ? 'uint' : 'int', bits };
  }
  const fixed = FIXED_BYTES.exec(type);
  if (fixed !== null) return { kind: 'fixed-bytes', size: Number(fixed[1]) };
  throw new RangeError(`${JSON.stringify(type.slice(0, 40))} is not a supported type`);
}

/** A type in a method's signature: `(address,uint256)[]`. */
export function formatType(type: Type): string {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return `${type.kind}${type.bits}`;
    case 'fixed-bytes':
      return `bytes${type.size}`;
    case 'array':
      return `${formatType(type.of)}[${type.length ?? ''}]`;
    case 'tuple':
      return formatTypes(type.members);
    case 'address':
    case 'bool':
    case 'bytes':
    case 'string':
      break;
  }
  return type.kind;
}

export function formatTypes(parameters: readonly Parameter[]): string {
  return `(${parameters.map(({ type }) => formatType(type)).join(',')})`;
}

/** Whether the head holds an offset to the value instead of the value. */
export function isDynamic(type: Type): boolean {
  if (type.kind === 'array') return type.length === undefined || isDynamic(type.of);
  if (type.kind === 'tuple') return type.members.some((member) => isDynamic(member.type));
  return type.kind === 'bytes' || type.kind === 'string';
}

/** The size of a type in the head. */
export function headBytes(type: Type): number {
  if (isDynamic(type)) return WORD_BYTES;
  if (type.kind === 'array') return (type.length ?? 0) * headBytes(type.of);
  if (type.kind === 'tuple') return headBytesOf(type.members);
  return WORD_BYTES;
}

export function headBytesOf(parameters: readonly Parameter[]): number {
  return parameters.reduce((sum, { type }) => sum + headBytes(type), 0);
}

/** A single value within a method's arguments, or one in each item of an array. */
export interface Argument {
  /**
   * Names from the outside in, such as `permitSingle.details.amount`; a position from 1 replaces a missing
   * name.
   */
  readonly path: string;
  /** The same path as indexes; `each` is all items of an array. */
  readonly steps: readonly (number | 'each')[];
  readonly type: Type;
}

const NAME = /^[A-Za-z_$][\w$]*$/;

/** All single values within a method's arguments, in their order. */
export function argumentsOf(parameters: readonly Parameter[]): readonly Argument[] {
  return argumentsInList(parameters, '', []);
}

function argumentsInList(
  parameters: readonly Parameter[],
  path: string,
  steps: Argument['steps'],
): readonly Argument[] {
  return parameters.flatMap(({ name, type }, index) => {
    const unique = NAME.test(name) && parameters.filter((each) => each.name === name).length === 1;
    const own = unique ? name : String(index + 1);
    return argumentsInType(type, path === '' ? own : `${path}.${own}`, [...steps, index]);
  });
}

function argumentsInType(type: Type, path: string, steps: Argument['steps']): readonly Argument[] {
  if (type.kind === 'array') return argumentsInType(type.of, path, [...steps, 'each']);
  if (type.kind === 'tuple') return argumentsInList(type.members, path, steps);
  return [{ path, steps, type }];
}

/**
 * The argument that a policy names, or all arguments within a tuple. Each part is a name or a position from
 * 1.
 */
export function argumentsNamed(all: readonly Argument[], written: string): readonly Argument[] {
  const parts = written.split('.');
  return all.filter(({ path, steps }) => {
    const names = path.split('.');
    const indexes = steps.filter((step) => step !== 'each');
    return (
      parts.length <= names.length &&
      parts.every((part, level) => part === names[level] || part === String((indexes[level] ?? 0) + 1))
    );
  });
}

/** The values of an argument in a call: one value, or one for each item of an array. */
export function valuesAt(values: readonly Value[], { steps }: Argument): readonly Value[] {
  return valuesIn(values, steps);
}

function valuesIn(value: Value, steps: Argument['steps']): readonly Value[] {
  let found: Value | undefined = value;
  let taken = 0;
  for (const step of steps) {
    if (typeof found !== 'object') return [];
    taken += 1;
    if (step === 'each') {
      const rest = steps.slice(taken);
      return found.flatMap((item) => valuesIn(item, rest));
    }
    found = found[step];
  }
  return found === undefined ? [] : [found];
}

/** Whether two arguments are in the same items of the same lists, so that their values belong together. */
export function isBeside(one: Argument, other: Argument): boolean {
  const items = (argument: Argument): string =>
    JSON.stringify(argument.steps.slice(0, argument.steps.lastIndexOf('each') + 1));
  return items(one) === items(other);
}

/** The text of a value, for lists and for people. Numbers are in the smallest units. */
export function formatValue(value: Value | undefined): string {
  return typeof value === 'object' ? value.map(formatValue).join(' ') : String(value);
}

/** A whole number with its decimal point: 1500000 with 6 decimals is `1.5`. */
export function formatUnits(value: bigint, decimals: number): string {
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}
