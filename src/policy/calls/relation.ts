import { z } from 'zod';
import type { Facts } from '../facts.ts';
import { type Path, fixFor, formatInput } from '../fault.ts';
import { type Duration, durationMs } from '../language/parameter.ts';
import { priceOf } from '../language/price.ts';
import type { RuleOutcome } from '../outcome.ts';
import { type RuleContext, checkNames } from '../rule-context.ts';
import { type Standing, type Validity, combine } from '../standing.ts';
import { type Argument, type Value, argumentsNamed, formatUnits, isBeside, valuesAt } from './abi.ts';

const SHARE = 'a share above 0 and at most 100 %, like 99.5 %';
const ARGUMENT = 'the name of another argument, like amountIn';
const DURATION = 'a duration from 1s to 92d, like 20m or 1h';

/** A duration, as text and in milliseconds. */
export const aheadText = z
  .string({ error: DURATION })
  .refine((text) => durationMs(text) !== undefined, { error: DURATION })
  .transform((text): Duration => ({ text, ms: durationMs(text) ?? 0 }));

const AT_LEAST = 'a mapping like { share: 99.5 %, of: amountIn }';

/** A share of 100 % is 10^20 units. */
const SHARE_SCALE = 18;
const WHOLE = 100n * 10n ** BigInt(SHARE_SCALE);
const SHARE_TEXT = /^(\d{1,3})(?:\.(\d{1,18}))? ?%$/;

/** Zero for a text that is no share. */
function shareIn(text: string): bigint {
  const [, whole = '', fraction = ''] = SHARE_TEXT.exec(text) ?? [];
  const share = BigInt(whole + fraction.padEnd(SHARE_SCALE, '0'));
  return share <= WHOLE ? share : 0n;
}

const shareText = z
  .string({ error: SHARE })
  .refine((text) => shareIn(text) > 0n, { error: SHARE })
  .transform((text) => ({ text, share: shareIn(text) }));

/** An amount's least share of another one. The compiler reports unknown and missing names. */
export const atLeastShape = z
  .looseObject(
    {
      share: shareText.optional(),
      of: z.string({ error: ARGUMENT }).optional(),
      maxAge: aheadText.optional(),
    },
    { error: AT_LEAST },
  )
  .meta({ additionalProperties: false, required: ['share', 'of'] });

type AtLeast = z.output<typeof atLeastShape>;

/** A condition of an argument that refers to the time, to prices or to another argument. */
export type Relation = (values: readonly Value[], facts: Facts) => Related;

export interface Related extends Standing {
  /** Undefined if the condition is met. */
  readonly violation:
    { readonly argument: string; readonly found: string; readonly because: string } | undefined;
}

/** An amount, and how its token is known. */
export interface TokenAmount {
  readonly argument: Argument;
  readonly decimals: number;
  readonly asset: string | undefined;
}

// ---- a time within a period from now ----

/** Compiles `within`: a time in seconds since 1970 that is not past, and at most so far ahead. */
export function compileWithin(within: Duration, argument: Argument): Relation {
  return (values, { nowMs }) => {
    const results = valuesAt(values, argument).map((seconds) => timeAt(seconds, within, nowMs));
    const standing = combine('one', results);
    const failed = results.find(({ because }) => because !== undefined);
    if (failed === undefined) return { ...standing, violation: undefined };
    const { found, because } = failed;
    return {
      ...standing,
      violation: { argument: argument.path, found, because: `${argument.path} ${found} ${because}` },
    };
  };
}

const LAST_MS = Number.MAX_SAFE_INTEGER;

function timeAt(
  seconds: Value,
  within: Duration,
  nowMs: number,
): Standing & { readonly because: string | undefined; readonly found: string } {
  const during = (fromMs: number, untilMs: number): Standing => ({
    valid: { fromMs, untilMs },
    retryable: true,
  });
  const atMs = typeof seconds === 'bigint' ? seconds * 1000n : 0n;
  const [fromMs, untilMs] = [instant(atMs - BigInt(within.ms)), instant(atMs + 1n)];
  const found =
    atMs < 10n ** 14n ? new Date(Number(atMs)).toISOString().replace('.000Z', 'Z') : String(seconds);
  if (nowMs >= untilMs) return { because: 'has passed', found, ...during(untilMs, LAST_MS) };
  if (nowMs >= fromMs) return { because: undefined, found, ...during(fromMs, untilMs) };
  return { because: `is more than ${within.text} ahead`, found, ...during(0, fromMs) };
}

const instant = (ms: bigint): number => (ms < 0n ? 0 : ms > BigInt(LAST_MS) ? LAST_MS : Number(ms));

// ---- an amount that is at least a share of another ----

/**
 * Compiles `atLeast`. Without `maxAge`, the amounts are compared one for one, in whole units of their tokens.
 * With it, they are compared by the current prices of both. `tokenOf` is an amount whose decimals are known.
 */
export function compileAtLeast(
  written: AtLeast,
  argument: Argument,
  {
    all,
    tokenOf,
  }: { readonly all: readonly Argument[]; readonly tokenOf: (argument: Argument) => TokenAmount | undefined },
  path: Path,
  context: RuleContext,
): Relation | undefined {
  const { share, of, maxAge } = written;
  if (!checkNames(written, Object.keys(atLeastShape.shape), path, context)) return undefined;
  if (share === undefined) return context.fault(path, 'share is missing', `write ${SHARE}`);
  if (of === undefined) return context.fault(path, 'of is missing', `write ${ARGUMENT}`);
  const base = baseNamed(of, argument, all, [...path, 'of'], context);
  if (base === undefined) return undefined;
  const [part, whole] = [tokenOf(argument), tokenOf(base)];
  if (part === undefined || whole === undefined) {
    const missing = part === undefined ? argument : base;
    const message = `${missing.path} has no decimals, so its units are not known`;
    return context.fault(path, message, 'write asset (or decimals) in its condition');
  }
  return comparable(part, whole, maxAge, path, context) && shareOf(share, part, whole, maxAge);
}

/** The integer argument with a name. It has one value, or it is in the same items of lists. */
function baseNamed(
  name: string,
  argument: Argument,
  all: readonly Argument[],
  path: Path,
  context: RuleContext,
): Argument | undefined {
  const others = all.filter((each) => each !== argument && each.type.kind === 'uint');
  const [base, another] = argumentsNamed(others, name);
  if (base === undefined || another !== undefined) {
    const known = others.map((each) => each.path);
    return context.fault(path, `there is no other amount ${formatInput(name)}`, fixFor(name, known));
  }
  if (!base.steps.includes('each') || isBeside(base, argument)) return base;
  const message = `${base.path} is in a list, and ${argument.path} is not in the same items`;
  return context.fault(path, message, 'name an argument outside of lists');
}

/** Whether a share of one token can be compared with another. */
function comparable(
  part: TokenAmount,
  whole: TokenAmount,
  maxAge: Duration | undefined,
  path: Path,
  context: RuleContext,
): true | undefined {
  if (maxAge !== undefined) {
    if (part.asset !== undefined && whole.asset !== undefined) return true;
    const missing = part.asset === undefined ? part : whole;
    const message = `${missing.argument.path} has no asset, so it has no price`;
    return context.fault(path, message, 'write asset instead of decimals in its condition');
  }
  if (part.asset === undefined || whole.asset === undefined || part.asset === whole.asset) return true;
  const message = `${part.asset} and ${whole.asset} are different tokens, which are not worth the same`;
  const fix = 'add maxAge, like maxAge: 10m, to compare them by prices; or write decimals instead of asset';
  return context.fault(path, message, `${fix} to compare them one for one`);
}

const pow10 = (digits: number): bigint => 10n ** BigInt(digits);

function shareOf(
  { text, share }: { readonly text: string; readonly share: bigint },
  part: TokenAmount,
  whole: TokenAmount,
  maxAge: Duration | undefined,
): Relation {
  return (values, facts) => {
    const prices = maxAge === undefined ? undefined : bothPrices(part, whole, maxAge, facts);
    const usesPrices = prices !== undefined;
    const failed = prices?.because !== undefined;
    const standing: Standing = { valid: prices?.valid, usesPrices, retryable: usesPrices, failed };
    const refused = (found: string, because: string): Related => ({
      ...standing,
      violation: { argument: part.argument.path, found, because },
    });
    const bases = valuesAt(values, whole.argument);
    const isListed = whole.argument.steps.includes('each');
    for (const [index, value] of valuesAt(values, part.argument).entries()) {
      const base = bases[isListed ? index : 0];
      if (typeof value !== 'bigint' || typeof base !== 'bigint') return refused('', 'an amount is missing');
      const found = formatUnits(value, part.decimals);
      if (prices?.because !== undefined) return refused(found, prices.because);
      if (base === 0n) {
        return refused(found, `${whole.argument.path} is 0, and a share of nothing limits nothing`);
      }
      const worth = value * pow10(whole.decimals) * (prices?.part ?? 1n) * WHOLE;
      const needed = base * pow10(part.decimals) * (prices?.whole ?? 1n) * share;
      if (worth >= needed) continue;
      const of = `${whole.argument.path} ${formatUnits(base, whole.decimals)}`;
      const because = `${part.argument.path} ${found} is below ${text} of ${of}`;
      return refused(found, `${because}${prices?.text ?? ''}`);
    }
    return { ...standing, violation: undefined };
  };
}

interface BothPrices {
  readonly part: bigint;
  readonly whole: bigint;
  readonly text: string;
  readonly valid: Validity | undefined;
  /** Why one of them is unknown. */
  readonly because?: string;
}

function bothPrices(part: TokenAmount, whole: TokenAmount, maxAge: Duration, facts: Facts): BothPrices {
  const unknown = ({ because, valid }: RuleOutcome): BothPrices => ({
    part: 0n,
    whole: 0n,
    text: '',
    valid,
    because,
  });
  const one = priceOf(part.asset ?? '', facts, maxAge);
  if ('verdict' in one) return unknown(one);
  const other = priceOf(whole.asset ?? '', facts, maxAge);
  if ('verdict' in other) return unknown(other);
  return {
    part: one.price,
    whole: other.price,
    text: ` (${part.asset} at ${one.values.price}, ${whole.asset} at ${other.values.price})`,
    valid: combine('one', [one, other]).valid,
  };
}
