import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import { readAddress } from '../../values/address.ts';
import { ambiguityOf, comparableEntry } from '../../values/comparable.ts';
import { type Path, cureFor, formatInput } from '../fault.ts';
import { textsText } from '../rules/parameter.ts';
import type { RuleContext } from '../rules/rule.ts';
import { type Argument, type Type, type Value, formatType, formatUnits, formatValue } from './abi.ts';

const TEXT = 'a text';
const text = z.string({ error: TEXT });
const ANY = 'any, or a mapping of conditions like { values: [0x…] }, { list: partners } or { max: 1000 }';

/**
 * The conditions on an argument, which must all be met. The compiler reports unknown names, because it knows
 * the names that fit the argument.
 */
const conditionShape = z
  .looseObject({
    values: textsText.optional(),
    file: text.optional(),
    list: text.optional(),
    'not-list': text.optional(),
    is: z.literal('sender', { error: 'sender: the address in the callback’s from' }).optional(),
    min: text.optional(),
    max: text.optional(),
    each: text.optional(),
    decimals: text.optional(),
    asset: text.optional(),
  })
  .meta({ additionalProperties: false });

export const conditionText = z.union([z.literal('any'), conditionShape], { error: ANY });

export type WrittenCondition = z.output<typeof conditionShape>;

/** A list in the store must hold all values of an argument, or none of them. */
export interface ListCondition {
  readonly list: string;
  readonly must: 'hold-all' | 'hold-none';
}

/** An argument, and how a policy writes its values. */
export interface JudgedArgument {
  readonly argument: Argument;
  /** The decimals of its limits; undefined if neither the policy nor the method has them. */
  readonly decimals: number | undefined;
  readonly amount: boolean;
  /** Whether its limits are for the sum over a transaction instead of each value. */
  readonly summed: boolean;
}

export interface Condition {
  readonly argument: Argument;
  /** Why the callback alone refuses a value, as the end of a sentence; undefined if it does not. */
  readonly violation: (value: Value, sender: string) => string | undefined;
  readonly lists: readonly ListCondition[];
  /** In the smallest units. */
  readonly limits: Limits;
  /** Whether the limits are for the sum over a transaction in addition to each value. */
  readonly summed: boolean;
  /** The condition in the policy. All methods of an entry share it, and with it one sum. */
  readonly key: object;
}

interface Limits {
  readonly min: bigint | undefined;
  readonly max: bigint | undefined;
}

/** The allowed values in one place of the policy. */
interface AllowedTexts {
  readonly where: string;
  readonly texts: ReadonlySet<string>;
}

const NAMES = Object.keys(conditionShape.shape);
const LIST = /^[a-z][a-z0-9-]{0,63}$/;

/**
 * Compiles a condition on one argument. Undefined, with faults, if the condition does not fit the argument.
 */
export function compileCondition(
  written: WrittenCondition,
  judged: JudgedArgument,
  path: Path,
  context: RuleContext,
): Condition | undefined {
  const { argument } = judged;
  const given = Object.keys(written);
  const fitting = namesFor(argument.type);
  const misfit = given.find((name) => !fitting.includes(name));
  if (misfit !== undefined) {
    const at = [...path, misfit];
    return NAMES.includes(misfit)
      ? context.fault(
          at,
          `${misfit} does not fit ${formatArgument(argument)}`,
          `for it: any, ${fitting.join(', ')}`,
        )
      : context.fault(at, `${formatInput(misfit)} is not known here`, cureFor(misfit, fitting));
  }
  if (!given.some((name) => !['each', 'decimals', 'asset'].includes(name))) {
    const message = `there is no condition on ${formatArgument(argument)}`;
    return context.fault(path, message, 'write any if every value is allowed');
  }
  const limits = compileLimits(written, judged, path, context);
  const lists = compileLists(written, path, context);
  const sets = compileTexts(written, judged, path, context);
  if (limits === undefined || lists === undefined || sets === undefined) return undefined;
  return {
    key: written,
    argument,
    limits,
    summed: judged.summed,
    lists,
    violation: violationOf(
      sets,
      limits,
      { isSender: written.is === 'sender', isListed: sets.length + lists.length > 0 },
      judged,
    ),
  };
}

function namesFor(type: Type): readonly string[] {
  if (type.kind === 'uint' || type.kind === 'int') {
    return ['values', 'list', 'not-list', 'min', 'max', 'each', 'decimals', 'asset'];
  }
  if (type.kind === 'bool') return ['values'];
  return type.kind === 'address'
    ? ['values', 'file', 'list', 'not-list', 'is']
    : ['values', 'file', 'list', 'not-list'];
}

function formatArgument({ path, type }: Argument): string {
  return `${path} (${formatType(type)})`;
}

function compileLimits(
  written: WrittenCondition,
  judged: JudgedArgument,
  path: Path,
  context: RuleContext,
): Limits | undefined {
  const { type } = judged.argument;
  const limits: { min: bigint | undefined; max: bigint | undefined } = { min: undefined, max: undefined };
  for (const name of ['min', 'max'] as const) {
    const limit = written[name];
    if (limit === undefined) continue;
    const read = readLimit(limit, type, judged.decimals ?? 0);
    if (!read.ok) return context.fault([...path, name], read.message, read.cure);
    limits[name] = read.value;
  }
  // The sign of an amount often says who pays. A maximum alone would allow any amount below zero.
  if (type.kind === 'int' && limits.max !== undefined) limits.min ??= 0n;
  if (limits.min !== undefined && limits.max !== undefined && limits.min > limits.max) {
    return context.fault(path, 'min is above max, so nothing could pass', 'exchange the two');
  }
  if (judged.amount && limits.max !== undefined && limits.max >= unlimitedFrom(type)) {
    const cure = 'write a lower one; to allow unlimited amounts, write unlimited: allowed beside where';
    return context.fault([...path, 'max'], 'this maximum is so high that it limits nothing', cure);
  }
  return limits;
}

function compileLists(
  written: WrittenCondition,
  path: Path,
  context: RuleContext,
): readonly ListCondition[] | undefined {
  const lists: ListCondition[] = [];
  for (const [name, must] of [
    ['list', 'hold-all'],
    ['not-list', 'hold-none'],
  ] as const) {
    const list = written[name];
    if (list === undefined) continue;
    if (!LIST.test(list)) {
      const cure =
        'write the name of a list in the store: lower-case letters, digits and hyphens, a letter first';
      return context.fault([...path, name], `${formatInput(list)} will not do`, cure);
    }
    lists.push({ list, must });
  }
  return lists;
}

function violationOf(
  sets: readonly AllowedTexts[],
  { min, max }: Limits,
  { isSender, isListed }: { readonly isSender: boolean; readonly isListed: boolean },
  { argument, decimals = 0 }: JudgedArgument,
): Condition['violation'] {
  const units = (value: bigint): string => formatUnits(value, decimals);
  const isText = argument.type.kind === 'string';
  return (value, sender) => {
    if (isSender && value !== sender) return `is not the sender ${sender}`;
    if (typeof value === 'bigint') {
      if (min !== undefined && value < min) return `is below the minimum ${units(min)}`;
      if (max !== undefined && value > max) return `is above the maximum ${units(max)}`;
    } else if (min !== undefined || max !== undefined) {
      return `is not a number, and ${argument.path} has a limit`;
    }
    if (isListed && isText && typeof value === 'string') {
      const ambiguity = ambiguityOf(value);
      if (ambiguity !== undefined) return `${ambiguity}, so another text looks the same`;
    }
    const missed = sets.find(({ texts }) => !texts.has(listText(value)));
    return missed === undefined ? undefined : `is not among ${missed.where}`;
  };
}

/** The text of a value in lists: in the store, in files and in the policy. */
export function listText(value: Value): string {
  return comparableEntry(formatValue(value));
}

/** The values under `values` and `file`. Undefined, with a fault, if the argument can't have one of them. */
function compileTexts(
  { values, file }: WrittenCondition,
  judged: JudgedArgument,
  path: Path,
  context: RuleContext,
): readonly AllowedTexts[] | undefined {
  const sets: AllowedTexts[] = [];
  if (values !== undefined) {
    const texts = readTexts(values, judged, [...path, 'values'], context);
    if (texts === undefined) return undefined;
    sets.push({ where: 'the values of the policy', texts });
  }
  if (file !== undefined) {
    const at = [...path, 'file'];
    const lines = linesOf(file, at, context);
    const texts = lines && readTexts(lines, judged, at, context);
    if (texts === undefined || !hasChecksums(file, judged, at, context)) return undefined;
    sets.push({ where: file, texts });
  }
  return sets;
}

function linesOf(file: string, path: Path, context: RuleContext): readonly string[] | undefined {
  try {
    return context.listFile(file);
  } catch (thrown) {
    return context.fault(path, messageOf(thrown), 'put the file beside the policy, one value on each line');
  }
}

/** Verifies the checksums of a file's addresses as written, because the compared lines are in lower case. */
function hasChecksums(file: string, judged: JudgedArgument, path: Path, context: RuleContext): boolean {
  if (judged.argument.type.kind !== 'address') return true;
  return readTexts(context.writtenList(file) ?? [], judged, path, context) !== undefined;
}

function readTexts(
  written: readonly string[],
  judged: JudgedArgument,
  path: Path,
  context: RuleContext,
): ReadonlySet<string> | undefined {
  const texts = new Set<string>();
  for (const each of written) {
    const read = readText(each, judged);
    if (read.ok) texts.add(read.text);
    // A revision from before this check stays valid: no argument ever equals such a text.
    else if (!context.isStored) return context.fault(path, read.message, read.cure);
  }
  return texts;
}

type TextRead =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly cure: string };

/** The list text of a value that the policy gives. */
function readText(written: string, { argument: { type }, decimals }: JudgedArgument): TextRead {
  const refuse = (cure: string): TextRead => ({
    ok: false,
    message: `${formatInput(written)} is not a value of the type ${formatType(type)}`,
    cure,
  });
  switch (type.kind) {
    case 'address': {
      const read = readAddress('evm', written);
      if (read.ok) return { ok: true, text: read.address };
      const message = `${formatInput(written)} is not an address: ${read.because}`;
      return { ok: false, message, cure: 'copy it again' };
    }
    case 'uint':
    case 'int': {
      const read = readLimit(written, type, decimals ?? 0);
      return read.ok ? { ok: true, text: read.value.toString() } : read;
    }
    case 'bool':
      return written === 'true' || written === 'false'
        ? { ok: true, text: written }
        : refuse('write true or false');
    case 'bytes':
      return /^0x(?:[0-9a-f]{2})*$/i.test(written)
        ? { ok: true, text: written.toLowerCase() }
        : refuse('write 0x and hexadecimal digits');
    case 'fixed-bytes': {
      const digits = type.size * 2;
      return /^0x[0-9a-f]+$/i.test(written) && written.length === digits + 2
        ? { ok: true, text: written.toLowerCase() }
        : refuse(`write 0x and ${digits} hexadecimal digits`);
    }
    case 'string': {
      const entry = comparableEntry(written);
      const ambiguity = ambiguityOf(entry);
      if (ambiguity === undefined) return { ok: true, text: entry };
      const message = `${formatInput(written)} ${ambiguity}, and such a text is refused`;
      return { ok: false, message, cure: 'write it without that' };
    }
    case 'array':
    case 'tuple':
      break;
  }
  return refuse('name one of its members');
}

const DECIMAL = /^(-?)(0|[1-9]\d{0,77})(?:\.(\d{1,36}))?$/;

type LimitRead =
  | { readonly ok: true; readonly value: bigint }
  | { readonly ok: false; readonly message: string; readonly cure: string };

/** Reads a number that a policy gives for an integer argument. The result is exact, in the smallest units. */
function readLimit(written: string, type: Type, decimals: number): LimitRead {
  const [, sign = '', whole = '', fraction = ''] = DECIMAL.exec(written) ?? [];
  if (whole === '') {
    const plain = decimals === 0 ? 'a whole number, like 10' : 'a plain decimal, like 10000 or 0.5';
    const message = `${JSON.stringify(written.slice(0, 80))} will not do`;
    return { ok: false, message, cure: `write ${plain}` };
  }
  if (fraction.length > decimals) {
    return {
      ok: false,
      message: `${written} has ${fraction.length} digits after the point, and the argument has ${decimals}`,
      cure: decimals === 0 ? 'write a whole number, or give its decimals' : 'round it',
    };
  }
  const units = BigInt(whole + fraction.padEnd(decimals, '0'));
  const value = sign === '' ? units : -units;
  const [least, greatest] = rangeOf(type);
  if (value >= least && value <= greatest) return { ok: true, value };
  return { ok: false, message: `${written} is outside of the range of the argument`, cure: 'leave it out' };
}

function rangeOf(type: Type): readonly [least: bigint, greatest: bigint] {
  if (type.kind === 'uint') return [0n, 2n ** BigInt(type.bits) - 1n];
  if (type.kind === 'int') return [-(2n ** BigInt(type.bits - 1)), 2n ** BigInt(type.bits - 1) - 1n];
  return [0n, 0n];
}

/** The least amount that counts as unlimited: half of the type's range. */
export function unlimitedFrom(type: Type): bigint {
  if (type.kind === 'uint') return 2n ** BigInt(type.bits - 1);
  return type.kind === 'int' ? 2n ** BigInt(type.bits - 2) : 0n;
}
