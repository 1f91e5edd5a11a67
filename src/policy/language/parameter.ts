import { z } from 'zod';
import { SYMBOL } from '../../callback/member-readers.ts';
import { type Amount, AMOUNT_SCALE, formatAmount, parseAmount } from '../../values/amount.ts';
import { type Path, fixFor, formatInput } from '../fault.ts';
import { addressTexts, chainsWithSpellings } from './asset-texts.ts';
import { LIST_NAME } from './list-file.ts';
import { ADDRESS_MEMBERS, SOURCE, memberNamed, memberNames, readMemberText } from './members.ts';
import type { RuleContext } from '../rule-context.ts';
import { quoted } from '../../values/printable.ts';

/*
 * The schemas of parameters. The message of a schema is the phrase for what it expects, since a fault reads
 * "… is not valid; write <message>".
 */

const AMOUNT = 'a plain decimal, like 10000 or 0.5, with at most 36 digits before and after the point';
const amountAsText = z
  .string({ error: AMOUNT })
  .regex(/^(?:0|[1-9]\d{0,35})(?:\.\d{1,36})?$/, { error: AMOUNT });

/** An exact amount, in units of 10^-36. */
export const amountText = amountAsText.transform(exactAmount);

/** Amounts by symbol, as callbacks write the symbol. */
export type AmountTable = ReadonlyMap<string, Amount>;
/** One amount for every asset, or a table. */
export type AmountBound = Amount | AmountTable;

const AMOUNT_OR_TABLE = `${AMOUNT}; or, with by: asset, a symbol and its amount a line`;
const TABLE_MAX = 10_000;

/** An {@link AmountBound}. A rule with this parameter also has `by`, and calls {@link checkByAsset}. */
export const amountOrTable = z
  .union([amountAsText, z.record(z.string(), amountAsText, { error: AMOUNT_OR_TABLE })], {
    error: AMOUNT_OR_TABLE,
  })
  .superRefine((written, context) => {
    if (typeof written === 'string') return;
    const fault = (path: string[], message: string, fix: string): void => {
      context.addIssue({ code: 'custom', path, message, params: { fix } });
    };
    const symbols = Object.keys(written);
    if (symbols.length === 0)
      fault([], 'the table is empty, so every asset would be refused', 'name an asset');
    if (symbols.length > TABLE_MAX) {
      fault([], `the table has ${symbols.length} assets`, `remove some: at most ${TABLE_MAX} are allowed`);
    }
    for (const symbol of symbols.filter(
      (each) => !SYMBOL.pattern.test(each) || each.length > SYMBOL.maxLength,
    )) {
      fault(
        [symbol],
        `no callback has the symbol ${formatInput(symbol)}`,
        'write it as callbacks do, like USDT1742',
      );
    }
  })
  .transform((written): AmountBound =>
    typeof written === 'string'
      ? exactAmount(written)
      : new Map(Object.entries(written).map(([symbol, amount]) => [symbol, exactAmount(amount)])),
  );

/** The parameter next to an {@link amountOrTable}. It declares that the bounds are tables. */
export const byAsset = z
  .literal('asset', { error: 'asset, or leave it out' })
  .optional()
  .describe('`asset`: the bounds are tables of amounts by symbol. An asset in no table is refused.');

/** Checks that `by: asset` is present if, and only if, at least one of the bounds is a table. */
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
        ? 'asset is given, but no limit is a table'
        : 'a table is given, but by: asset is missing',
    params: {
      fix:
        table === undefined
          ? `write a table, like ${name}: { USDT1742: 5000, BTC: 0.1 }, or leave by out`
          : 'add by: asset, or write one amount',
    },
  });
}

export const isTable = (bound: AmountBound | undefined): bound is AmountTable => typeof bound === 'object';

/** The bound for an asset; undefined for an asset that the table doesn't have. */
export function amountFor(bound: AmountBound, symbol: string): Amount | undefined {
  return isTable(bound) ? bound.get(symbol) : bound;
}

/** A bound with its text for messages. */
export interface Bound {
  /** In units of 10^-36. */
  readonly amount: Amount;
  readonly text: string;
}

export function toBound(amount: Amount): Bound {
  return { amount, text: formatAmount(amount) };
}

/** The bound by symbol, like {@link amountFor}. */
export function boundLookup(bound: AmountBound): (symbol: string) => Bound | undefined {
  if (!isTable(bound)) {
    const one = toBound(bound);
    return () => one;
  }
  const bounds = new Map([...bound].map(([symbol, amount]) => [symbol, toBound(amount)]));
  return (symbol) => bounds.get(symbol);
}

/** Judges the approvals of a transaction alone. The rule calls {@link checkApprovals}. */
export const approvalsOnly = z
  .literal('only', { error: 'only, or leave it out' })
  .optional()
  .describe('`only`: judges the approvals of a web3 transaction, in a policy with `movements`.');

export function checkApprovals(approvals: 'only' | undefined, context: RuleContext): void {
  if (approvals === undefined || context.movements !== undefined) return;
  const fix = 'leave it out, or add movements: { approvals: count } to the policy';
  context.fault(['approvals'], 'the policy sees no approvals, since it has no movements', fix);
}

/** Reports an amount without an asset, where a transaction may move several assets. */
export function checkMovedAssets(isByAsset: boolean, context: RuleContext): void {
  if (isByAsset || context.movements === undefined) return;
  const message = 'the policy has movements, so one amount would be for several assets';
  context.fault(['max'], message, 'write by: asset and a table, like max: { USDT1742: 5000 }');
}

/** Warns of the symbols in tables that no callback under `when` has. Movements are of other symbols. */
export function warnOfUnusedSymbols(
  bounds: Readonly<Record<string, AmountBound | undefined>>,
  { when, movements, warn }: Pick<RuleContext, 'when' | 'movements' | 'warn'>,
): void {
  const symbols = when.get('symbol');
  if (symbols === undefined || movements !== undefined) return;
  for (const [name, bound] of Object.entries(bounds)) {
    for (const symbol of isTable(bound) ? bound.keys() : []) {
      if (symbols.has(symbol)) continue;
      const message = `when has no ${symbol}, so this never applies`;
      warn([name, symbol], message, `name ${symbol} under when, or leave it out`);
    }
  }
}

const COUNT = 'a whole number above zero, like 10';

/** A count of callbacks as an amount: one is 10^36 units. */
export const countText = z
  .string({ error: COUNT })
  .regex(/^[1-9]\d{0,11}$/, { error: COUNT })
  .transform((text) => BigInt(text) * 10n ** BigInt(AMOUNT_SCALE));

/** A whole number above zero. */
export const wholeNumberText = z
  .string({ error: COUNT })
  .regex(/^[1-9]\d{0,5}$/, { error: `${COUNT}, of at most 6 digits` })
  .transform(Number);

/** A whole number from 1 to a greatest one. */
export const wholeUpTo = (max: number) => {
  const error = `a whole number from 1 to ${max}`;
  const isValid = (text: string): boolean => /^[1-9]\d{0,5}$/.test(text) && Number(text) <= max;
  return z.string({ error }).refine(isValid, { error }).transform(Number);
};

const DAY_MS = 86_400_000;
const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', DAY_MS],
]);
export const DURATION_PATTERN = /^([1-9]\d{0,7})([smhd])$/;
export const DURATION_MAX_MS = 92 * DAY_MS;
/** The longest window in which a rule counts. */
export const WINDOW_MAX_MS = 400 * DAY_MS;

/**
 * A duration like `90s`, `10m`, `24h` or `7d`, in milliseconds: at least 1s, by default at most 92d.
 * Undefined for other text.
 */
export function durationMs(text: string, maxMs = DURATION_MAX_MS): number | undefined {
  const match = DURATION_PATTERN.exec(text);
  const lengthMs = Number(match?.[1] ?? 0) * (UNITS_MS.get(match?.[2] ?? '') ?? 0);
  return lengthMs === 0 || lengthMs > maxMs ? undefined : lengthMs;
}

/** A duration of at most `max`, as text and in milliseconds. */
export const durationUpTo = (max: string, like = '90s, 10m, 24h or 7d') => {
  const error = `a duration from 1s to ${max}, like ${like}`;
  return z
    .string({ error })
    .regex(DURATION_PATTERN, { error })
    .transform((text, context) => {
      const ms = durationMs(text, durationMs(max));
      if (ms !== undefined) return { text, ms };
      context.addIssue({ code: 'custom', message: error });
      return z.NEVER;
    });
};

/** A duration, as text and in milliseconds. */
export const durationText = durationUpTo(`${DURATION_MAX_MS / DAY_MS}d`);

export type Duration = z.output<typeof durationText>;

const MEMBER = 'the name of a member, like userId';

export const memberText = z.string({ error: MEMBER }).min(1, { error: MEMBER });

const LIST = 'the name of a list in the store: lower-case letters, digits and hyphens, a letter first';

export const listName = z.string({ error: LIST }).regex(LIST_NAME, { error: LIST });

const TEXTS = 'a text, or a list of texts';
const text = z.string({ error: TEXTS });

/** One text or a list of texts; the output is always a list. */
export const textList = z
  .union([text, z.array(text).min(1, { error: TEXTS })], { error: TEXTS })
  .transform((written) => (typeof written === 'string' ? [written] : written));

/** The canonical name of a member of the policy's callbacks. Reports a fault for an unknown name. */
export function memberOf(name: string, path: Path, context: RuleContext): string | undefined {
  const member = memberNamed(context.callback, name);
  if (context.movements !== undefined && (member === 'amount' || name === 'main_chain_symbol')) {
    return context.fault(
      path,
      `the policy has movements, so ${name} is not one value`,
      member === 'amount' ? 'use a rule about amounts' : 'name the networks under when; symbol is the asset',
    );
  }
  if (member !== undefined) return member;
  return context.fault(
    path,
    `a ${context.callback} callback has no member ${quoted(name)}`,
    fixFor(name, memberNames(context.callback)),
  );
}

/**
 * The texts in the forms that callbacks have. Reports a fault for the first text that no callback can have.
 */
export function memberTexts(
  member: string,
  texts: readonly string[],
  path: Path,
  context: Pick<RuleContext, 'fault' | 'isStored' | 'assets' | 'when'>,
): ReadonlySet<string> | undefined {
  const read = new Set<string>();
  const chains = ADDRESS_MEMBERS.has(member) ? chainsWithSpellings(context) : [];
  for (const each of texts) {
    const result = readMemberText(member, each);
    if (result.ok) for (const form of addressTexts(result.text, chains)) read.add(form);
    // A stored release may be older than this check. No callback has the text, so the rule is the same
    // without it.
    else if (!context.isStored) {
      return context.fault(path, `${member} can't be ${quoted(each)}`, `write ${result.expected}`);
    }
  }
  return read;
}

/** The only asset of the callbacks, named under `when`; undefined unless there is exactly one. */
export function onlySymbol(context: RuleContext): string | undefined {
  if (context.movements !== undefined) return undefined;
  const symbols = context.when.get('symbol');
  return symbols?.size === 1 ? [...symbols][0] : undefined;
}

/** For messages: `userId 12345`, `to 0xab… and 3 more`, `source shop`. */
export function formatMember(member: string, values: readonly string[]): string {
  const first = values[0] ?? '';
  return values.length > 1 ? `${member} ${first} and ${values.length - 1} more` : `${member} ${first}`;
}

export const isSource = (member: string): boolean => member === SOURCE;

function exactAmount(written: string): Amount {
  const amount = parseAmount(written);
  if (amount === undefined) throw new RangeError(`${written} is not an amount`);
  return amount;
}
