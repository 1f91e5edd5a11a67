import { type Amount, formatAmount } from '../../values/amount.ts';
import type { Facts } from '../facts.ts';
import { type Standing, combine } from '../standing.ts';
import { type Value, formatUnits, formatValue, valuesAt } from './abi.ts';
import { type CallMaker, type Condition, type ListCondition, isUnlimited, listText } from './condition.ts';
import type { Entry } from './entry.ts';
import type { DecodedCall, ReadCall, Refusal } from './read.ts';

/** A decoded call, and what it is compared with. */
export interface JudgedCall
  extends Pick<ReadCall, 'contract' | 'native' | 'isDelegated'>, Pick<DecodedCall, 'values' | 'trailing'> {
  readonly maker: CallMaker;
  /** The callback's `to`, for the transaction's own call; undefined for inner calls. */
  readonly to: string | undefined;
  readonly facts: Facts;
}

export type Match = (
  | { readonly ok: true; readonly charges: readonly Charge[]; readonly lists: readonly ListedValues[] }
  | ({ readonly ok: false } & Refusal)
) & { readonly standing?: Standing };

/** An amount that counts towards a limit on the sum over a transaction. */
export interface Charge {
  /**
   * The parsed policy object that has the limit, compared by reference. Charges with the same one are added
   * to one sum.
   */
  readonly sumIdentity: object;
  /** True for an amount below zero. Such amounts have a sum of their own. */
  readonly isBelowZero?: true;
  readonly what: string;
  /** Zero or more. */
  readonly amount: bigint;
  readonly max: bigint;
  readonly format: (amount: bigint) => string;
}

/** The values of an argument that a list must hold, or must not hold. */
export interface ListedValues extends ListCondition {
  readonly argument: string;
  readonly values: readonly string[];
}

/** Whether an entry for the call's contract and method allows the call. Sums and lists are checked later. */
export function matchEntry(entry: Entry, call: JudgedCall): Match {
  const refused =
    recipientRefusal(entry, call) ??
    trailingRefusal(entry, call) ??
    delegatecallRefusal(entry, call) ??
    unlimitedRefusal(entry, call) ??
    nativeRefusal(entry, call) ??
    argumentRefusal(entry, call);
  if (refused !== undefined) return refused;
  const allowed: Match = {
    ok: true,
    charges: [
      ...nativeCharges(entry, call),
      ...entry.conditions.flatMap((each) => chargesOf(entry, each, call)),
    ],
    lists: entry.conditions.flatMap((each) => listedBy(each, valuesAt(call.values, each.argument))),
  };
  if (entry.relations.length === 0) return allowed;
  // All relations are checked, because the result depends on all of them.
  const related = entry.relations.map((relation) => relation(call.values, call.facts));
  const standing = combine('one', related);
  const violated = related.filter(({ violation }) => violation !== undefined);
  const [first] = violated;
  if (first?.violation === undefined) return { ...allowed, standing };
  const { because, argument, found } = first.violation;
  const { retryable } = first;
  const { failed } = combine('all', violated);
  return { ...refusal(because, { argument, found }), standing: { ...standing, retryable, failed } };
}

function trailingRefusal({ trailingMax, method }: Entry, { trailing }: JudgedCall): Match | undefined {
  const bytes = trailing.length / 2;
  if (bytes <= trailingMax) return undefined;
  const followed = `${bytes} bytes follow the arguments of ${method.signature}`;
  const because = `${followed}, and at most ${trailingMax} are allowed`;
  return refusal(because, { trailing: truncate(`0x${trailing}`) });
}

function delegatecallRefusal(
  { delegatecall, method }: Entry,
  { isDelegated }: JudgedCall,
): Match | undefined {
  if (!isDelegated || delegatecall) return undefined;
  return refusal(`${method.signature} is run by delegatecall, and that is not allowed`, {});
}

function refusal(because: string, values: Readonly<Record<string, string>>): Match {
  return { ok: false, because, values };
}

function recipientRefusal({ recipient }: Entry, { to, contract, values }: JudgedCall): Match | undefined {
  if (to === undefined || to === contract) return undefined;
  if (recipient === undefined) {
    return refusal(`to is ${to}, which is not the contract ${contract} that is called`, { to });
  }
  const [named] = valuesAt(values, recipient);
  if (to === named) return undefined;
  const because = `to is ${to}, which is neither the contract ${contract} nor the argument ${recipient.path}`;
  return refusal(because, { to });
}

/** Unlimited amounts, flags that approve everything, and the callback's own `-1`. */
function unlimitedRefusal(entry: Entry, call: JudgedCall): Match | undefined {
  const { method, unlimited } = entry;
  const argument = unlimitedIn(entry, call.values);
  if (argument !== undefined && !unlimited) {
    return refusal(`${argument} of ${method.signature} is unlimited, and that is not allowed`, { argument });
  }
  if (call.native !== 'unlimited' || (unlimited && argument !== undefined && method.approval)) {
    return undefined;
  }
  const because = unlimited
    ? 'and the call is not an unlimited approval'
    : 'and unlimited amounts are not allowed';
  return refusal(`the callback’s amount is unlimited (-1), ${because}`, { native: 'unlimited' });
}

/** The path of the first flag or amount that is unlimited. */
function unlimitedIn({ method, amounts }: Entry, values: readonly Value[]): string | undefined {
  return [...method.blanketFlags, ...amounts.keys()].find((each) =>
    valuesAt(values, each).some((value) => isUnlimited(value, each)),
  )?.path;
}

function nativeRefusal({ nativeMax, method }: Entry, { native }: JudgedCall): Match | undefined {
  if (native === 'unlimited' || native <= nativeMax) return undefined;
  const [value, max] = [formatNative(native), formatNative(nativeMax)];
  const because = `the native value ${value} of ${method.signature} is above the maximum ${max}`;
  return refusal(because, { native: value, max });
}

function argumentRefusal(entry: Entry, { values, maker }: JudgedCall): Match | undefined {
  for (const { argument, violation } of entry.conditions) {
    const found = valuesAt(values, argument);
    if (found.length === 0) {
      const because = `${argument.path} is an empty list, so no value fulfils the condition`;
      return refusal(because, { argument: argument.path });
    }
    for (const value of found) {
      // An unlimited amount gets here only if the entry allows it. No limit applies to it.
      if (entry.amounts.has(argument) && isUnlimited(value, argument)) continue;
      const because = violation(value, maker);
      if (because === undefined) continue;
      const shown = truncate(inUnits(entry, argument, value));
      return refusal(`${argument.path} ${shown} ${because}`, { argument: argument.path, found: shown });
    }
  }
  return undefined;
}

function inUnits({ amounts }: Entry, argument: Condition['argument'], value: Value): string {
  const decimals = amounts.get(argument);
  return typeof value === 'bigint' && decimals !== undefined
    ? formatUnits(value, decimals)
    : formatValue(value);
}

function nativeCharges(entry: Entry, { native }: JudgedCall): readonly Charge[] {
  if (native === 'unlimited') return [];
  const what = `the native value of ${entry.method.signature}`;
  return [
    { sumIdentity: entry.sumIdentity, what, amount: native, max: entry.nativeMax, format: formatNative },
  ];
}

function chargesOf(entry: Entry, condition: Condition, { values }: JudgedCall): readonly Charge[] {
  const { argument, limits, isSummed } = condition;
  if (!isSummed) return [];
  const { min, max } = limits;
  const format = (amount: bigint): string => inUnits(entry, argument, amount);
  const common = {
    sumIdentity: condition.sumIdentity,
    what: `${argument.path} of ${entry.method.signature}`,
  };
  return valuesAt(values, argument).flatMap((amount): readonly Charge[] => {
    if (typeof amount !== 'bigint' || isUnlimited(amount, argument)) return [];
    if (amount >= 0n) return max === undefined ? [] : [{ ...common, amount, max, format }];
    if (min === undefined) return [];
    return [{ ...common, isBelowZero: true, amount: -amount, max: -min, format: (sum) => format(-sum) }];
  });
}

export function listedBy(condition: Condition, values: readonly Value[]): readonly ListedValues[] {
  return condition.lists.map(({ list, must }) => ({
    list,
    must,
    argument: condition.argument.path,
    values: [...new Set(values.map(listText))],
  }));
}

export function formatNative(native: Amount | 'unlimited'): string {
  return native === 'unlimited' ? native : formatAmount(native);
}

const TEXT_MAX = 200;

export function truncate(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}… (${text.length} characters)` : text;
}
