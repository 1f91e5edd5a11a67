import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import type { Amount } from '../../values/amount.ts';
import type { Json } from '../../values/canonical.ts';
import type { Facts } from '../facts.ts';
import { type Path, type Problem, problemsOf } from '../fault.ts';
import { UnreadableMember, comparisonProblem, valuesOf } from './members.ts';
import { type MovedAmount, amountsOf } from './moved-amounts.ts';
import { checkEntries } from './entry.ts';
import { type Extent, amounts, textExtent } from './region.ts';
import { amountText, durationText, memberTexts, textList } from './parameter.ts';
import { priceOf, valueAt } from './price.ts';
import type { RuleOutcome } from '../outcome.ts';
import { type RuleContext, compileLines } from '../rule-context.ts';
import { compileSchedule, scheduleParameters } from './schedule.ts';
import { type Standing, combine } from '../standing.ts';

/** Whether a callback meets a condition. `failed`: it found no price that is valid now. */
export interface Tested extends Standing {
  /**
   * `unknown`: a member or a price is missing. The policy or rule then applies, but does not count as the one
   * that must cover the callback. `unclear`: some values of a member meet it and others don't, or the chain of
   * the asset does not accept one. Whether it applies is then not clear, and the callback is refused.
   */
  readonly state: 'met' | 'unmet' | 'unknown' | 'unclear';
  /** Why it is unknown or unclear. */
  readonly because?: string;
  /** For the refusal, if it is unclear. */
  readonly values?: RuleOutcome['values'];
}

export interface Condition {
  readonly test: (callback: Callback, facts: Facts) => Tested;
  /** Whether it depends on the callback alone, and not on time or prices. */
  readonly constant: boolean;
  /** The members whose texts it compares. */
  readonly members?: readonly string[];
  /** The callbacks that meet it, for the warnings of `policy validate`. By default, any may. */
  readonly extent?: Extent;
}

/** The parts of the policy, and the files beside it, that a condition may use. */
export type ConditionContext = Pick<
  RuleContext,
  'isStored' | 'listFile' | 'listAsWritten' | 'textFile' | 'assets' | 'movements' | 'when' | 'fault' | 'warn'
> & { readonly problems: Problem[]; readonly path: Path };

export const MET: Tested = { state: 'met' };
const UNMET: Tested = { state: 'unmet' };

// ---- the values of a member ----

/** The member has one of the texts. */
export function oneOf(member: string, texts: ReadonlySet<string>): Condition {
  return {
    constant: true,
    members: [member],
    extent: textExtent(member, texts),
    test: (callback) => testTexts(member, texts, callback),
  };
}

/** Whether the member's values are among the texts: all, some or none of them. */
export function testTexts(member: string, texts: ReadonlySet<string>, callback: Callback): Tested {
  const problem = comparisonProblem(callback, member);
  if (problem !== undefined) return { state: 'unclear', ...problem };
  const values = valuesOf(callback, member);
  if (values.length === 0) return { state: 'unknown', because: `${member} is missing` };
  let matches = 0;
  for (const value of values) if (texts.has(value)) matches++;
  if (matches === 0) return UNMET;
  if (matches === values.length) return MET;
  const because = `some values of ${member}, not all, are named under when`;
  return { state: 'unclear', because, values: { member } };
}

const FILE = 'the name of a file beside the policy';
export const listFileShape = z.strictObject({
  file: z
    .string({ error: FILE })
    .min(1, { error: FILE })
    .describe('A file beside the policy, with a value a line. It becomes part of the revision.'),
});

/** The member's value is in a file: `{ file: vips.txt }`. */
export function listedIn(member: string, written: Json, context: ConditionContext): Condition | undefined {
  const read = parsed(listFileShape, written, context);
  if (read === undefined) return undefined;
  const place = { path: ['file'], fix: 'put the file beside the policy, one value a line' };
  const texts = compileLines(read.file, place, context, (values, asWritten, own) => {
    const found = memberTexts(member, values, place.path, own);
    return found && checkEntries([member], asWritten, place.path, own) ? found : undefined;
  });
  return texts && oneOf(member, texts);
}

const SCHEME = 'a scheme, like md5 or rsa-envelope, or a list of schemes';
const SCHEME_PATTERN = /^[a-z][a-z0-9-]{0,63}$/;

/** The payment is signed with one of the schemes. */
export function schemeIs(written: Json, context: ConditionContext): Condition | undefined {
  const read = textList.safeParse(written);
  if (!read.success || !read.data.every((text) => SCHEME_PATTERN.test(text))) {
    return context.fault([], `${JSON.stringify(written)} is not valid`, `write ${SCHEME}`);
  }
  const schemes = new Set(read.data);
  return {
    constant: true,
    extent: textExtent('scheme', schemes),
    test(_, { scheme }) {
      if (scheme === undefined) return { state: 'unknown', because: 'its scheme is not known' };
      return schemes.has(scheme) ? MET : UNMET;
    },
  };
}

// ---- ranges ----

const bounds = {
  above: amountText.optional().describe('Greater than this.'),
  atLeast: amountText.optional().describe('This or greater.'),
  below: amountText.optional().describe('Less than this.'),
  atMost: amountText.optional().describe('This or less.'),
};

type Bounds = Readonly<Partial<Record<keyof typeof bounds, Amount | undefined>>>;

export const amountShape = z.strictObject(bounds).superRefine(checkRange);

/** The amount is in a range: `{ above: 1000, atMost: 5000 }`. An unlimited amount is above every amount. */
export function amountRange(written: Json, context: ConditionContext): Condition | undefined {
  const range = parsed(amountShape, written, context);
  return (
    range && {
      constant: true,
      extent: rangeExtent('amount', range),
      test: ({ amount }) => (isWithin(amount, range) ? MET : UNMET),
    }
  );
}

export const valueShape = z
  .strictObject({
    ...bounds,
    maxAge: durationText.describe('How old a price may be, from 1s to 92d, like 10m.'),
  })
  .superRefine(checkRange);

/** The value at the current price is in a range: `{ above: 10000, maxAge: 10m }`. */
export function valueRange(written: Json, context: ConditionContext): Condition | undefined {
  const range = parsed(valueShape, written, context);
  return (
    range && {
      constant: false,
      // What a transaction moves has another value than its native coins.
      ...(context.movements === undefined ? { extent: rangeExtent('value', range) } : {}),
      test(callback, facts) {
        const moved = knownAmounts(callback);
        if ('state' in moved) return moved;
        let value = 0n;
        let standing: Standing = { usesPrices: true, retryable: true };
        for (const { amount, symbol } of moved) {
          if (amount === 'unlimited') return isWithin(amount, range) ? MET : UNMET;
          const priced = priceOf(symbol, facts, range.maxAge);
          if ('verdict' in priced) return { ...priced, state: 'unknown' };
          value += valueAt(amount, priced.price);
          standing = combine('one', [standing, priced]);
        }
        return { ...standing, state: isWithin(value, range) ? 'met' : 'unmet' };
      },
    }
  );
}

function rangeExtent(of: string, { above, atLeast, below, atMost }: Bounds): Extent {
  const from = above === undefined ? (atLeast ?? 0n) : above + 1n;
  return { of, allows: amounts(from, below === undefined ? atMost : below - 1n), isExact: true };
}

/** The amounts of the callback, or that they are unknown. */
function knownAmounts(callback: Callback): readonly MovedAmount[] | Tested {
  try {
    return amountsOf(callback);
  } catch (thrown) {
    if (thrown instanceof UnreadableMember) return { state: 'unknown', because: thrown.message };
    throw thrown;
  }
}

function isWithin(amount: Amount | 'unlimited', { above, atLeast, below, atMost }: Bounds): boolean {
  if (amount === 'unlimited') return below === undefined && atMost === undefined;
  return (
    (above === undefined || amount > above) &&
    (atLeast === undefined || amount >= atLeast) &&
    (below === undefined || amount < below) &&
    (atMost === undefined || amount <= atMost)
  );
}

/** A range has one lower or upper bound, or one of each, and something within. */
function checkRange({ above, atLeast, below, atMost }: Bounds, context: z.RefinementCtx): void {
  const fault = (message: string, fix: string): void =>
    context.addIssue({ code: 'custom', message, params: { fix } });
  const lower = above ?? atLeast;
  const upper = below ?? atMost;
  if (lower === undefined && upper === undefined) {
    return fault('the range has no bound', 'write above, atLeast, below or atMost');
  }
  if (above !== undefined && atLeast !== undefined)
    return fault('above and atLeast are both given', 'keep one');
  if (below !== undefined && atMost !== undefined)
    return fault('below and atMost are both given', 'keep one');
  if (lower === undefined || upper === undefined) return;
  const isEmpty = lower > upper || (lower === upper && (atLeast === undefined || atMost === undefined));
  if (isEmpty) fault('no amount is in the range', 'write a lower bound that is below the upper one');
}

// ---- time ----

/** The instant is within opening hours, as the rule schedule has them. */
export function within(written: Json, context: ConditionContext): Condition | undefined {
  const read = parsed(scheduleParameters, written, context);
  const compiled = read && compileSchedule(read, context);
  return (
    compiled && {
      constant: false,
      extent: { of: `during in ${compiled.zone}`, allows: compiled.week, isExact: !compiled.hasHolidays },
      test(callback, facts) {
        const { verdict, valid, retryable } = compiled.evaluate(callback, facts);
        return { state: verdict === 'pass' ? 'met' : 'unmet', valid, retryable };
      },
    }
  );
}

/** The value, if it fits the schema; otherwise reports its faults. */
function parsed<T extends z.ZodObject>(
  shape: T,
  written: Json,
  { problems, path }: ConditionContext,
): z.output<T> | undefined {
  const read = shape.safeParse(written);
  if (read.success) return read.data;
  problems.push(...problemsOf(read.error, written, Object.keys(shape.shape), path));
  return undefined;
}
