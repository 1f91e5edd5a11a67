import { z } from 'zod';
import { readAddress } from '../../values/address.ts';
import { toComparableEntry, unsafeTextReason } from '../../values/comparable.ts';
import { quoted } from '../../values/printable.ts';
import { type Path, fixFor, formatInput } from '../fault.ts';
import { listName, textList } from '../language/parameter.ts';
import { type RuleContext, compileLines } from '../rule-context.ts';
import type { Frame } from './inner-calls.ts';
import { aheadText, atLeastShape } from './relation.ts';
import { type Argument, type Type, type Value, formatType, formatUnits, formatValue } from './abi.ts';

const DECIMALS = 'a whole number from 0 to 36';

export const decimalsText = z
  .string({ error: DECIMALS })
  .regex(/^(?:[0-9]|[12][0-9]|3[0-6])$/, { error: DECIMALS })
  .transform(Number);

const TEXT = 'a text';
const text = z.string({ error: TEXT });
const ANY = 'any, or a mapping of conditions like { values: [0x…] }, { list: partners } or { max: 1000 }';

/**
 * The conditions on an argument, which must all be met. The compiler reports unknown names, because it knows
 * the names that fit the argument.
 */
const conditionShape = z
  .looseObject({
    values: textList.optional(),
    file: text.optional(),
    list: listName.optional(),
    'not-list': listName.optional(),
    is: z
      .enum(['sender', 'caller'], {
        error: 'sender: the address in the callback’s from; or caller: the address that makes the call',
      })
      .optional(),
    min: text.optional(),
    max: text.optional(),
    each: text.regex(/^true$/, { error: 'true, or leave it out' }).optional(),
    decimals: decimalsText.optional(),
    asset: text.optional(),
    within: aheadText.optional(),
    atLeast: atLeastShape.optional(),
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
export interface CheckedArgument {
  readonly argument: Argument;
  /** The decimals of its limits; undefined if neither the policy nor the method has them. */
  readonly decimals: number | undefined;
  readonly isAmount: boolean;
  /** Whether its limits are for the sum over a transaction in addition to each value. */
  readonly isSummed: boolean;
}

export interface Condition {
  readonly argument: Argument;
  /** Why the callback alone refuses a value, as the end of a sentence; undefined if it does not. */
  readonly violation: (value: Value, maker: CallMaker) => string | undefined;
  readonly lists: readonly ListCondition[];
  /** In the smallest units. */
  readonly limits: Limits;
  /** Whether the limits are for the sum over a transaction in addition to each value. */
  readonly isSummed: boolean;
  /**
   * The parsed condition of the policy itself, compared by reference. Charges with the same one are added to
   * one sum, so all methods of an entry share a sum.
   */
  readonly sumIdentity: object;
}

/** The address that signs the transaction, and the address that makes the call. */
export interface CallMaker extends Pick<Frame, 'caller'> {
  readonly sender: string;
  /** Our other accounts. Any other caller keeps what it gets. */
  readonly accounts: ReadonlySet<string>;
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

/**
 * Compiles a condition on one argument. Undefined, with faults, if the condition does not fit the argument.
 */
export function compileCondition(
  written: WrittenCondition,
  checked: CheckedArgument,
  path: Path,
  context: RuleContext,
): Condition | undefined {
  const { argument } = checked;
  const names = Object.keys(written);
  const allowedNames = namesFor(argument.type);
  const wrongName = names.find((name) => !allowedNames.includes(name));
  if (wrongName !== undefined) {
    const at = [...path, wrongName];
    return NAMES.includes(wrongName)
      ? context.fault(
          at,
          `${wrongName} does not fit ${formatArgument(argument)}`,
          `for it: any, ${allowedNames.join(', ')}`,
        )
      : context.fault(at, `${formatInput(wrongName)} is not known here`, fixFor(wrongName, allowedNames));
  }
  if (!names.some((name) => !['each', 'decimals', 'asset'].includes(name))) {
    const message = `there is no condition on ${formatArgument(argument)}`;
    return context.fault(path, message, 'write any if every value is allowed');
  }
  const limits = compileLimits(written, checked, path, context);
  const lists = listsOf(written);
  const sets = compileTexts(written, checked, path, context);
  if (limits === undefined || sets === undefined) return undefined;
  return {
    sumIdentity: written,
    argument,
    limits,
    isSummed: checked.isSummed,
    lists,
    violation: violationOf(
      sets,
      limits,
      { is: written.is, isListed: sets.length + lists.length > 0 },
      checked,
    ),
  };
}

function namesFor(type: Type): readonly string[] {
  const ofNumber = ['values', 'list', 'not-list', 'min', 'max', 'each', 'decimals', 'asset'];
  if (type.kind === 'int') return ofNumber;
  if (type.kind === 'uint') return [...ofNumber, 'within', 'atLeast'];
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
  checked: CheckedArgument,
  path: Path,
  context: RuleContext,
): Limits | undefined {
  const { type } = checked.argument;
  const limits: { min: bigint | undefined; max: bigint | undefined } = { min: undefined, max: undefined };
  for (const name of ['min', 'max'] as const) {
    const limit = written[name];
    if (limit === undefined) continue;
    const at = [...path, name];
    const read = readLimit(limit, type, checked.decimals, (...fault) => context.fault(at, ...fault));
    if (read === undefined) return undefined;
    limits[name] = read;
  }
  // The sign of an amount often says who pays. A maximum alone would allow any amount below zero.
  if (type.kind === 'int' && limits.max !== undefined) limits.min ??= 0n;
  if (limits.min !== undefined && limits.max !== undefined && limits.min > limits.max) {
    return context.fault(path, 'min is above max, so nothing could pass', 'exchange the two');
  }
  if (checked.isAmount && limits.max !== undefined && limits.max >= unlimitedFrom(type)) {
    const fix = 'write a lower one; to allow unlimited amounts, write unlimited: allowed beside where';
    return context.fault([...path, 'max'], 'this maximum is so high that it limits nothing', fix);
  }
  return limits;
}

/** The lists of the store that a condition looks up. */
export function listsOf({ list, 'not-list': other }: WrittenCondition): readonly ListCondition[] {
  return [
    ...(list === undefined ? [] : [{ list, must: 'hold-all' } as const]),
    ...(other === undefined ? [] : [{ list: other, must: 'hold-none' } as const]),
  ];
}

function violationOf(
  sets: readonly AllowedTexts[],
  { min, max }: Limits,
  { is, isListed }: { readonly is: WrittenCondition['is']; readonly isListed: boolean },
  { argument, decimals = 0 }: CheckedArgument,
): Condition['violation'] {
  const units = (value: bigint): string => formatUnits(value, decimals);
  const isText = argument.type.kind === 'string';
  return (value, maker) => {
    const stranger = is === undefined ? undefined : strangerTo(value, is, maker);
    if (stranger !== undefined) return stranger;
    if (typeof value === 'bigint') {
      if (min !== undefined && value < min) return `is below the minimum ${units(min)}`;
      if (max !== undefined && value > max) return `is above the maximum ${units(max)}`;
    } else if (min !== undefined || max !== undefined) {
      return `is not a number, and ${argument.path} has a limit`;
    }
    if (isListed && isText && typeof value === 'string') {
      const reason = unsafeTextReason(value);
      if (reason !== undefined) return `${reason}, so another text looks the same`;
    }
    const missed = sets.find(({ texts }) => !texts.has(listText(value)));
    return missed === undefined ? undefined : `is not among ${missed.where}`;
  };
}

/** Why a value is not the sender, or not a caller that is ours. */
function strangerTo(value: Value, is: 'sender' | 'caller', maker: CallMaker): string | undefined {
  const { sender, caller, accounts } = maker;
  if (value !== maker[is]) return `is not the ${is} ${maker[is]}`;
  if (is === 'sender' || caller === sender || accounts.has(caller)) return undefined;
  return 'is the caller, which keeps what it gets; if it is yours, add it to accounts of the rule';
}

/** The text of a value in lists: in the store, in files and in the policy. */
export function listText(value: Value): string {
  return toComparableEntry(formatValue(value));
}

/** The values under `values` and `file`. Undefined, with a fault, if the argument can't have one of them. */
function compileTexts(
  { values, file }: WrittenCondition,
  checked: CheckedArgument,
  path: Path,
  context: RuleContext,
): readonly AllowedTexts[] | undefined {
  const sets: AllowedTexts[] = [];
  if (values !== undefined) {
    const texts = readTexts(values, checked, [...path, 'values'], context);
    if (texts === undefined) return undefined;
    sets.push({ where: 'the values of the policy', texts });
  }
  if (file !== undefined) {
    const at = [...path, 'file'];
    const fix = 'put the file beside the policy, one value on each line';
    const texts = compileLines(file, { path: at, fix }, context, (lines, asWritten, own) => {
      const read = readTexts(lines, checked, at, own);
      // The checksum of an address is in its case, which the compared lines don't have.
      const isAddress = checked.argument.type.kind === 'address';
      return isAddress && readTexts(asWritten, checked, at, own) === undefined ? undefined : read;
    });
    if (texts === undefined) return undefined;
    sets.push({ where: file, texts });
  }
  return sets;
}

function readTexts(
  written: readonly string[],
  checked: CheckedArgument,
  path: Path,
  context: RuleContext,
): ReadonlySet<string> | undefined {
  const { isStored } = context;
  const texts = new Set<string>();
  for (const each of written) {
    // A revision from before this check stays valid: no argument ever equals such a text.
    const fault: Fault = (...said) => (isStored ? undefined : context.fault(path, ...said));
    const read = readText(each, checked, fault);
    if (read !== undefined) texts.add(read);
    else if (!isStored) return undefined;
  }
  return texts;
}

type Fault = (message: string, fix: string) => undefined;

/** The list text of a value that the policy gives. Undefined, with a fault, if no argument can have it. */
function readText(
  written: string,
  { argument: { type }, decimals }: Pick<CheckedArgument, 'argument' | 'decimals'>,
  fault: Fault,
): string | undefined {
  const refuse = (fix: string): undefined =>
    fault(`${formatInput(written)} is not a value of the type ${formatType(type)}`, fix);
  switch (type.kind) {
    case 'address': {
      const read = readAddress('evm', written);
      if (read.ok) return read.address;
      return fault(`${formatInput(written)} is not an address: ${read.because}`, 'copy it again');
    }
    case 'uint':
    case 'int':
      return readLimit(written, type, decimals, fault)?.toString();
    case 'bool':
      return written === 'true' || written === 'false' ? written : refuse('write true or false');
    case 'bytes':
      return /^0x(?:[0-9a-f]{2})*$/i.test(written)
        ? written.toLowerCase()
        : refuse('write 0x and hexadecimal digits');
    case 'fixed-bytes': {
      const digits = type.size * 2;
      return /^0x[0-9a-f]+$/i.test(written) && written.length === digits + 2
        ? written.toLowerCase()
        : refuse(`write 0x and ${digits} hexadecimal digits`);
    }
    case 'string': {
      const entry = toComparableEntry(written);
      const reason = unsafeTextReason(entry);
      if (reason === undefined) return entry;
      return fault(`${formatInput(written)} ${reason}, and such a text is refused`, 'write it without that');
    }
    case 'array':
    case 'tuple':
      break;
  }
  return refuse('name one of its members');
}

/**
 * Reads a value of a list in the store, which has numbers in the smallest units, like {@link listText}; or says why no
 * argument can have it.
 */
export function readListedText(
  written: string,
  argument: Argument,
): { readonly text: string } | { readonly because: string } {
  let because = '';
  const found = readText(written, { argument, decimals: 0 }, (message): undefined => {
    because = message;
  });
  return found === undefined ? { because } : { text: found };
}

const DECIMAL = /^(-?)(0|[1-9]\d{0,77})(?:\.(\d{1,36}))?$/;

/** Reads a number that a policy gives for an integer argument. The result is exact, in the smallest units. */
function readLimit(written: string, type: Type, decimals = 0, fault: Fault): bigint | undefined {
  const [, sign = '', whole = '', fraction = ''] = DECIMAL.exec(written) ?? [];
  if (whole === '') {
    const plain = decimals === 0 ? 'a whole number, like 10' : 'a plain decimal, like 10000 or 0.5';
    return fault(`${quoted(written.slice(0, 80))} is not valid`, `write ${plain}`);
  }
  if (fraction.length > decimals) {
    return fault(
      `${written} has ${fraction.length} digits after the point, and the argument has ${decimals}`,
      decimals === 0 ? 'write a whole number, or give its decimals' : 'round it',
    );
  }
  const units = BigInt(whole + fraction.padEnd(decimals, '0'));
  const value = sign === '' ? units : -units;
  const [least, greatest] = rangeOf(type);
  if (value >= least && value <= greatest) return value;
  return fault(`${written} is outside of the range of the argument`, 'leave it out');
}

function rangeOf(type: Type): readonly [least: bigint, greatest: bigint] {
  if (type.kind === 'uint') return [0n, 2n ** BigInt(type.bits) - 1n];
  if (type.kind === 'int') return [-(2n ** BigInt(type.bits - 1)), 2n ** BigInt(type.bits - 1) - 1n];
  return [0n, 0n];
}

/** A flag for everything, or an amount so great that it stands for everything. */
export function isUnlimited(value: Value, { type }: Argument): boolean {
  return typeof value === 'bigint' ? value >= unlimitedFrom(type) : value !== false;
}

/** The least amount that counts as unlimited: half of the type's range. */
function unlimitedFrom(type: Type): bigint {
  if (type.kind === 'uint') return 2n ** BigInt(type.bits - 1);
  return type.kind === 'int' ? 2n ** BigInt(type.bits - 2) : 0n;
}
