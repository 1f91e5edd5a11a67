import { z } from 'zod';
import { SYMBOL } from '../../callback/reading.ts';
import { type Amount, AMOUNT_SCALE, formatAmount, parseAmount } from '../../values/amount.ts';
import { cureFor, shown } from '../fault.ts';
import { SOURCE, memberNamed, memberNames, readMemberText } from '../members.ts';
import { DURATION_PATTERN, durationMs } from './duration.ts';
import type { RuleContext } from './rule.ts';

/*
 * The texts that parameters are made of. Each schema's message is the phrase for what it expects: a fault
 * reads "… will not do; write <message>".
 */

const AMOUNT = 'a plain decimal, like 10000 or 0.5, with at most 36 digits before and after the point';
const amountAsText = z
  .string({ error: AMOUNT })
  .regex(/^(?:0|[1-9]\d{0,35})(?:\.\d{1,36})?$/, { error: AMOUNT });

/** An exact amount, in units of 10^-36. */
export const amountText = amountAsText.transform(exactly);

/** Amounts by symbol, as callbacks have it. */
export type AmountTable = ReadonlyMap<string, Amount>;
/** One amount for every asset, or one for each that it names. */
export type AmountBound = Amount | AmountTable;

const AMOUNT_OR_TABLE = `${AMOUNT}; or, with by: asset, a symbol and its amount a line`;
const TABLE_MAX = 10_000;

/**
 * One amount, or a table of them by symbol. A rule that has it has `by` beside it, and {@link checkByAsset}.
 */
export const amountOrTable = z
  .union([amountAsText, z.record(z.string(), amountAsText, { error: AMOUNT_OR_TABLE })], {
    error: AMOUNT_OR_TABLE,
  })
  .superRefine((written, context) => {
    if (typeof written === 'string') return;
    const fault = (path: string[], message: string, cure: string): void => {
      context.addIssue({ code: 'custom', path, message, params: { cure } });
    };
    const symbols = Object.keys(written);
    if (symbols.length === 0)
      fault([], 'the table is empty, so every asset would be refused', 'name an asset');
    if (symbols.length > TABLE_MAX) {
      fault([], `the table has ${symbols.length} assets`, `keep to ${TABLE_MAX}`);
    }
    for (const symbol of symbols.filter(
      (each) => !SYMBOL.pattern.test(each) || each.length > SYMBOL.maxLength,
    )) {
      fault(
        [symbol],
        `no callback has the symbol ${shown(symbol)}`,
        'write it as callbacks do, like USDT1742',
      );
    }
  })
  .transform((written): AmountBound =>
    typeof written === 'string'
      ? exactly(written)
      : new Map(Object.entries(written).map(([symbol, amount]) => [symbol, exactly(amount)])),
  );

/** Beside an {@link amountOrTable}: says that it is a table. */
export const byAsset = z
  .literal('asset', { error: 'asset, or leave it out' })
  .optional()
  .describe('`asset`: the bounds are tables of amounts by symbol, and an asset in none of them is refused.');

/**
 * For a rule's whole schema: that `by: asset` stands where, and only where, one of the bounds at least is a
 * table.
 */
export function checkByAsset(
  by: 'asset' | undefined,
  bounds: Readonly<Record<string, AmountBound | undefined>>,
  context: z.RefinementCtx,
): void {
  const table = Object.entries(bounds).find(([, bound]) => isTable(bound));
  if ((table !== undefined) === (by !== undefined)) return;
  const [name = 'max'] = table ?? Object.keys(bounds);
  context.addIssue({
    code: 'custom',
    path: [table === undefined ? 'by' : name],
    message:
      table === undefined
        ? 'it is by asset, and has no table'
        : `${name} is a table, and it is not said by what`,
    params: {
      cure:
        table === undefined
          ? `write a table, like ${name}: { USDT1742: 5000, BTC: 0.1 }, or leave by out`
          : 'add by: asset, or write one amount',
    },
  });
}

export const isTable = (bound: AmountBound | undefined): bound is AmountTable => typeof bound === 'object';

/** The bound for an asset; undefined if it is a table that does not name it. */
export function boundFor(bound: AmountBound, symbol: string): Amount | undefined {
  return isTable(bound) ? bound.get(symbol) : bound;
}

/** An amount that a policy names, and its text: every callback is judged by the one and told the other. */
export interface Bound {
  /** In units of 10^-36. */
  readonly amount: Amount;
  readonly text: string;
}

export function boundOf(amount: Amount): Bound {
  return { amount, text: formatAmount(amount) };
}

/** As {@link boundFor}, with the texts made beforehand. */
export function boundsOf(bound: AmountBound): (symbol: string) => Bound | undefined {
  if (!isTable(bound)) {
    const one = boundOf(bound);
    return () => one;
  }
  const bounds = new Map([...bound].map(([symbol, amount]) => [symbol, boundOf(amount)]));
  return (symbol) => bounds.get(symbol);
}

const COUNT = 'a whole number above zero, like 10';

/** A whole number, in the same units: one is 10^36 of them. */
export const countText = z
  .string({ error: COUNT })
  .regex(/^[1-9]\d{0,11}$/, { error: COUNT })
  .transform((text) => BigInt(text) * 10n ** BigInt(AMOUNT_SCALE));

/** A whole number above zero, for what is counted one by one within a callback or a subject. */
export const wholeText = z
  .string({ error: COUNT })
  .regex(/^[1-9]\d{0,5}$/, { error: `${COUNT}, of at most 6 digits` })
  .transform(Number);

const DURATION = 'a length of time from 1s to 92d, like 90s, 10m, 24h or 7d';

/** A length of time, as it is written and in milliseconds. */
export const durationText = z
  .string({ error: DURATION })
  .regex(DURATION_PATTERN, { error: DURATION })
  .transform((text, context) => {
    const ms = durationMs(text);
    if (ms !== undefined) return { text, ms };
    context.addIssue({ code: 'custom', message: DURATION });
    return z.NEVER;
  });

export type Duration = z.output<typeof durationText>;

const MEMBER = 'the name of a member, like userId';

export const memberText = z.string({ error: MEMBER }).min(1, { error: MEMBER });

const TEXTS = 'a text, or a list of texts';
const text = z.string({ error: TEXTS });

/** One text or several, always read as several. */
export const textsText = z
  .union([text, z.array(text).min(1, { error: TEXTS })], { error: TEXTS })
  .transform((written) => (typeof written === 'string' ? [written] : written));

/** The one name of a member of this policy's callbacks; a fault if there is none. */
export function memberOf(
  name: string,
  path: readonly (string | number)[],
  context: RuleContext,
): string | undefined {
  const member = memberNamed(context.callback, name);
  if (member !== undefined) return member;
  return context.fault(
    path,
    `a ${context.callback} callback has no member ${JSON.stringify(name)}`,
    cureFor(name, memberNames(context.callback)),
  );
}

/** The texts in the form that callbacks have them; a fault for the first that no callback could ever have. */
export function memberTexts(
  member: string,
  texts: readonly string[],
  path: readonly (string | number)[],
  context: RuleContext,
): ReadonlySet<string> | undefined {
  const read = new Set<string>();
  for (const each of texts) {
    const result = readMemberText(member, each);
    if (result.ok) read.add(result.text);
    // A revision in force from before this was a fault: no callback has it, so nothing changes without it.
    else if (!context.again) {
      return context.fault(path, `no ${member} is ever ${JSON.stringify(each)}`, `write ${result.expected}`);
    }
  }
  return read;
}

/** The symbol that the policy is about, if it is about one alone. */
export function pinnedSymbol(context: RuleContext): string | undefined {
  const symbols = context.when.get('symbol');
  return symbols?.size === 1 ? [...symbols][0] : undefined;
}

/** For messages: `userId 12345`, `to 0xab… and 3 more`, `source shop`. */
export function formatMember(member: string, values: readonly string[]): string {
  const first = values[0] ?? '';
  return values.length > 1 ? `${member} ${first} and ${values.length - 1} more` : `${member} ${first}`;
}

export const isSource = (member: string): boolean => member === SOURCE;

function exactly(written: string): Amount {
  const amount = parseAmount(written);
  if (amount === undefined) throw new RangeError(`${written} is no amount`);
  return amount;
}
