import type { Value } from './decode.ts';
import type { Parameter, Type } from './type.ts';

/** A single value within a method's arguments, or one in each item of an array. */
export interface Argument {
  /**
   * Names (or places counted from 1, where there is no name) from the outside in:
   * `permitSingle.details.amount`.
   */
  readonly path: string;
  /** The same as indexes; `each` stands for all items of an array. */
  readonly steps: readonly (number | 'each')[];
  readonly type: Type;
}

const NAME = /^[A-Za-z_$][\w$]*$/;

/** All single values that a method's arguments have, in their order. */
export function argumentsOf(parameters: readonly Parameter[]): readonly Argument[] {
  return within(parameters, '', []);
}

function within(
  parameters: readonly Parameter[],
  path: string,
  steps: Argument['steps'],
): readonly Argument[] {
  return parameters.flatMap(({ name, type }, index) => {
    const unique = NAME.test(name) && parameters.filter((each) => each.name === name).length === 1;
    const own = unique ? name : String(index + 1);
    return inside(type, path === '' ? own : `${path}.${own}`, [...steps, index]);
  });
}

function inside(type: Type, path: string, steps: Argument['steps']): readonly Argument[] {
  if (type.kind === 'array') return inside(type.of, path, [...steps, 'each']);
  if (type.kind === 'tuple') return within(type.members, path, steps);
  return [{ path, steps, type }];
}

/**
 * The argument that a policy names, or all within a tuple that it names; at each level by name or by place.
 */
export function argumentsNamed(all: readonly Argument[], written: string): readonly Argument[] {
  const parts = written.split('.');
  return all.filter(({ path, steps }) => {
    const names = path.split('.');
    const places = steps.filter((step) => step !== 'each');
    return (
      parts.length <= names.length &&
      parts.every((part, level) => part === names[level] || part === String((places[level] ?? 0) + 1))
    );
  });
}

/** What a call has for an argument: one value, or those of all items in their order. */
export function valuesAt(values: readonly Value[], { steps }: Argument): readonly Value[] {
  let found: readonly Value[] = [values];
  for (const step of steps) {
    found = found.flatMap((value): readonly Value[] => {
      if (typeof value !== 'object') return [];
      if (step === 'each') return value;
      const item = value[step];
      return item === undefined ? [] : [item];
    });
  }
  return found;
}

/** A value as lists hold it and people read it; numbers as they are, without decimals. */
export function formatValue(value: Value | undefined): string {
  return typeof value === 'object' ? value.map(formatValue).join(' ') : String(value);
}

/** A whole number with the point `decimals` from the right: 1500000 with 6 is `1.5`. */
export function formatUnits(value: bigint, decimals: number): string {
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}
