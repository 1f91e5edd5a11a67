import { z } from 'zod';
import { comparableEntry, ambiguityOf } from '../../values/comparable.ts';
import { type Path, cureFor, shown } from '../fault.ts';
import { textsText } from '../rules/parameter.ts';
import type { RuleContext } from '../rules/rule.ts';
import { type Argument, type Type, type Value, formatType, formatUnits, formatValue } from './abi.ts';

import { messageOf } from '../../errors.ts';
import { readAddress } from '../../values/address.ts';

const TEXT = 'a text';
const text = z.string({ error: TEXT });
const ANY = 'any, or a mapping of conditions like { values: [0x…] }, { list: partners } or { max: 1000 }';

/** What an argument must be. All that is given must hold. Strange names are found when it is compiled. */
export const conditionShape = z
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

/** That a list of the source's holds all values of an argument, or none of them. */
export interface ListCondition {
  readonly list: string;
  readonly must: 'hold-all' | 'hold-none';
}

export interface Condition {
  readonly argument: Argument;
  /**
   * Why a value won't do, as the end of a sentence; undefined if it will, as far as the callback alone can
   * tell.
   */
  readonly wrong: (value: Value, sender: string) => string | undefined;
  readonly lists: readonly ListCondition[];
  /** In the smallest units. */
  readonly limits: Limits;
  /** Whether the limits are for all calls of a transaction together, and not only for each value. */
  readonly summed: boolean;
  /** As it is written: the same for all methods of an entry, whose amounts are added up together. */
  readonly key: object;
}

const NAMES = Object.keys(conditionShape.shape);
const LIST = /^[a-z][a-z0-9-]{0,63}$/;

/** A condition on one argument; undefined, with faults, if it doesn't fit it. */
export function compileCondition(
  written: WrittenCondition,
  judged: Judged,
  path: Path,
  context: RuleContext,
): Condition | undefined {
  const { argument } = judged;
  const given = Object.keys(written);
  const fitting = namesFor(judged);
  for (const name of given.filter((each) => !fitting.includes(each))) {
    const known = NAMES.includes(name);
    const message = known
      ? `${name} does not fit ${formatArgument(argument)}`
      : `${shown(name)} is not known here`;
    return context.fault(
      [...path, name],
      message,
      known ? `for it: any, ${fitting.join(', ')}` : cureFor(name, fitting),
    );
  }
  if (!given.some((name) => !['each', 'decimals', 'asset'].includes(name))) {
    return context.fault(
      path,
      `it asks nothing of ${formatArgument(argument)}`,
      'write any if it may be anything',
    );
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
    wrong: wrongIn(
      sets,
      limits,
      { isSender: written.is === 'sender', isLooked: sets.length + lists.length > 0 },
      judged,
    ),
  };
}

function namesFor({ argument: { type } }: Judged): readonly string[] {
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

interface Limits {
  readonly min: bigint | undefined;
  readonly max: bigint | undefined;
}

function compileLimits(
  written: WrittenCondition,
  judged: Judged,
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
  // A signed amount's sign often says which way it goes: a maximum alone would let any size through below
  // zero.
  if (type.kind === 'int' && limits.max !== undefined) limits.min ??= 0n;
  if (limits.min !== undefined && limits.max !== undefined && limits.min > limits.max) {
    return context.fault(path, 'min is above max, so nothing could pass', 'exchange the two');
  }
  if (judged.amount && limits.max !== undefined && limits.max >= unlimitedFrom(type)) {
    const cure = 'write a lower one; if unlimited amounts shall pass, write unlimited: allowed beside where';
    return context.fault([...path, 'max'], 'this maximum is as good as none', cure);
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
      return context.fault([...path, name], `${shown(list)} will not do`, cure);
    }
    lists.push({ list, must });
  }
  return lists;
}

function wrongIn(
  sets: readonly AllowedTexts[],
  { min, max }: Limits,
  { isSender, isLooked }: { readonly isSender: boolean; readonly isLooked: boolean },
  { argument, decimals = 0 }: Judged,
): Condition['wrong'] {
  const units = (value: bigint): string => formatUnits(value, decimals);
  const isText = argument.type.kind === 'string';
  return (value, sender) => {
    if (isSender && value !== sender) return `is not the sender ${sender}`;
    if (typeof value === 'bigint') {
      if (min !== undefined && value < min) return `is below the minimum ${units(min)}`;
      if (max !== undefined && value > max) return `is above the maximum ${units(max)}`;
    } else if (min !== undefined || max !== undefined) {
      return `is no number, and ${argument.path} has a limit`;
    }
    if (isLooked && isText && typeof value === 'string') {
      const why = ambiguityOf(value);
      if (why !== undefined) return `${why}, which no list can tell from the text without`;
    }
    const missed = sets.find(({ texts }) => !texts.has(listText(value)));
    return missed === undefined ? undefined : `is not among ${missed.where}`;
  };
}

/** The text by which lists, in the store, in files and in the policy itself, know a value. */
export function listText(value: Value): string {
  return comparableEntry(formatValue(value));
}

/** An argument, and how a policy writes its values. */
export interface Judged {
  readonly argument: Argument;
  /** Digits after the point that its limits are written with; undefined if nobody said. */
  readonly decimals: number | undefined;
  readonly amount: boolean;
  /** Whether its limits are for the sum over a transaction, and not for each value. */
  readonly summed: boolean;
}

/** The values that will do, by where they are written. */
export interface AllowedTexts {
  readonly where: string;
  readonly texts: ReadonlySet<string>;
}

/**
 * The values that `values` and `file` of a condition name; a fault for one that the argument could never
 * have.
 */
export function compileTexts(
  written: { readonly values?: readonly string[] | undefined; readonly file?: string | undefined },
  judged: Judged,
  path: Path,
  context: RuleContext,
): readonly AllowedTexts[] | undefined {
  const sets: AllowedTexts[] = [];
  const { values, file } = written;
  if (values !== undefined) {
    const texts = readTexts(values, judged, [...path, 'values'], context);
    if (texts === undefined) return undefined;
    sets.push({ where: 'the values of the policy', texts });
  }
  if (file !== undefined) {
    const at = [...path, 'file'];
    const lines = linesOf(file, at, context);
    const texts = lines && readTexts(lines, judged, at, context);
    if (texts === undefined || !checksumsStand(file, judged, at, context)) return undefined;
    sets.push({ where: file, texts });
  }
  return sets;
}

function linesOf(file: string, path: Path, context: RuleContext): readonly string[] | undefined {
  try {
    return context.listFile(file);
  } catch (thrown) {
    return context.fault(path, messageOf(thrown), 'put the file beside the policy, one value a line');
  }
}

/**
 * The lines of a file are compared in lower case; whether an address was misspelt shows only as it is
 * written.
 */
function checksumsStand(file: string, judged: Judged, path: Path, context: RuleContext): boolean {
  if (judged.argument.type.kind !== 'address') return true;
  return readTexts(context.writtenList(file) ?? [], judged, path, context) !== undefined;
}

function readTexts(
  written: readonly string[],
  judged: Judged,
  path: Path,
  context: RuleContext,
): ReadonlySet<string> | undefined {
  const texts = new Set<string>();
  for (const each of written) {
    const read = readText(each, judged);
    if (read.ok) texts.add(read.text);
    // A revision in force from before this was a fault: nothing that is looked up is ever so.
    else if (!context.again) return context.fault(path, read.message, read.cure);
  }
  return texts;
}

type TextRead =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly cure: string };

/** A value as the policy writes it, in the form in which those of a call are looked up. */
function readText(written: string, { argument, decimals }: Judged): TextRead {
  const { type } = argument;
  const no = (cure: string): TextRead => ({
    ok: false,
    message: `no ${formatType(type)} is ever ${shown(written)}`,
    cure,
  });
  switch (type.kind) {
    case 'address': {
      const read = readAddress('evm', written);
      if (read.ok) return { ok: true, text: read.address };
      return { ok: false, message: `${shown(written)} is no address: ${read.because}`, cure: 'copy it anew' };
    }
    case 'uint':
    case 'int': {
      const read = readLimit(written, type, decimals ?? 0);
      return read.ok ? { ok: true, text: read.value.toString() } : read;
    }
    case 'bool':
      return written === 'true' || written === 'false'
        ? { ok: true, text: written }
        : no('write true or false');
    case 'bytes':
      return /^0x(?:[0-9a-f]{2})*$/i.test(written)
        ? { ok: true, text: written.toLowerCase() }
        : no('write 0x and hexadecimal digits');
    case 'fixed-bytes': {
      const digits = type.size * 2;
      return /^0x[0-9a-f]+$/i.test(written) && written.length === digits + 2
        ? { ok: true, text: written.toLowerCase() }
        : no(`write 0x and ${digits} hexadecimal digits`);
    }
    case 'string': {
      const text = comparableEntry(written);
      const why = ambiguityOf(text);
      if (why === undefined) return { ok: true, text };
      return {
        ok: false,
        message: `${shown(written)} ${why}, and such a text is refused`,
        cure: 'leave that out',
      };
    }
    case 'array':
    case 'tuple':
      break;
  }
  return no('name one of its members');
}

const DECIMAL = /^(-?)(0|[1-9]\d{0,77})(?:\.(\d{1,36}))?$/;

export type LimitRead =
  | { readonly ok: true; readonly value: bigint }
  | { readonly ok: false; readonly message: string; readonly cure: string };

/** A number that a policy gives for an integer argument, in the smallest units: exact, or refused. */
export function readLimit(written: string, type: Type, decimals: number): LimitRead {
  const [, sign = '', whole = '', fraction = ''] = DECIMAL.exec(written) ?? [];
  if (whole === '') {
    const plain = decimals === 0 ? 'a whole number, like 10' : 'a plain decimal, like 10000 or 0.5';
    return {
      ok: false,
      message: `${JSON.stringify(written.slice(0, 80))} will not do`,
      cure: `write ${plain}`,
    };
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
  return { ok: false, message: `${written} is outside of what the argument can hold`, cure: 'leave it out' };
}

function rangeOf(type: Type): readonly [least: bigint, greatest: bigint] {
  if (type.kind === 'uint') return [0n, 2n ** BigInt(type.bits) - 1n];
  if (type.kind === 'int') return [-(2n ** BigInt(type.bits - 1)), 2n ** BigInt(type.bits - 1) - 1n];
  return [0n, 0n];
}

/** From here on an amount is as good as unlimited: half of what its type holds. */
export function unlimitedFrom(type: Type): bigint {
  if (type.kind === 'uint') return 2n ** BigInt(type.bits - 1);
  return type.kind === 'int' ? 2n ** BigInt(type.bits - 2) : 0n;
}
