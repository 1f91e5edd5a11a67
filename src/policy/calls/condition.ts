import { z } from 'zod';
import { comparableEntry } from '../../values/comparable.ts';
import { secondSpelling } from '../../values/spelling.ts';
import { type Path, cureFor, shown } from '../fault.ts';
import { textsText } from '../rules/parameter.ts';
import type { RuleContext } from '../rules/rule.ts';
import { type AllowedTexts, type Judged, compileTexts } from './allowed-texts.ts';
import { type Argument, formatUnits, formatValue } from './argument.ts';
import type { Value } from './decode.ts';
import { readLimit, unlimitedFrom } from './limit-text.ts';
import { formatType } from './type.ts';

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
      const why = secondSpelling(value);
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
