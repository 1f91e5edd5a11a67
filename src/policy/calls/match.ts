import { type Amount, formatAmount } from '../../values/amount.ts';
import { type Value, formatUnits, formatValue, valuesAt } from './abi.ts';
import { type Condition, type ListCondition, listText, unlimitedFrom } from './condition.ts';
import type { Entry } from './entry.ts';

/** A call that was read. */
export interface ReadCall {
  readonly contract: string;
  readonly values: readonly Value[];
  readonly native: Amount | 'unlimited';
  /** The address that signs the transaction. */
  readonly sender: string;
  /** The callback's `to`, for the transaction's own call; undefined for those within a wrapper. */
  readonly to: string | undefined;
}

export type Match =
  | { readonly ok: true; readonly charges: readonly Charge[]; readonly lists: readonly ListedValues[] }
  | { readonly ok: false; readonly because: string; readonly values: Readonly<Record<string, string>> };

/** Whether an entry for the call's contract and method allows it, as far as the callback alone can tell. */
export function matchEntry(entry: Entry, call: ReadCall): Match {
  return (
    wrongRecipient(entry, call) ??
    wrongUnlimited(entry, call) ??
    wrongNative(entry, call) ??
    wrongArgument(entry, call) ?? {
      ok: true,
      charges: [
        ...nativeCharges(entry, call),
        ...entry.conditions.flatMap((each) => chargesOf(entry, each, call)),
      ],
      lists: entry.conditions.flatMap((each) => listedBy(each, valuesAt(call.values, each.argument))),
    }
  );
}

function no(because: string, values: Readonly<Record<string, string>>): Match {
  return { ok: false, because, values };
}

function wrongRecipient({ recipient }: Entry, { to, contract, values }: ReadCall): Match | undefined {
  if (to === undefined || to === contract) return undefined;
  if (recipient === undefined) {
    return no(`to is ${to}, and not the contract ${contract} that is called`, { to });
  }
  const [named] = valuesAt(values, recipient);
  if (to === named) return undefined;
  return no(`to is ${to}, and neither the contract ${contract} nor ${recipient.path} of the call`, { to });
}

/** Amounts and flags that allow somebody everything, and the callback's own `-1`. */
function wrongUnlimited(entry: Entry, call: ReadCall): Match | undefined {
  const { method, unlimited } = entry;
  const found = unlimitedIn(entry, call.values);
  if (found !== undefined && !unlimited) {
    return no(`${found} of ${method.signature} is unlimited, and that is not allowed`, { argument: found });
  }
  if (call.native !== 'unlimited' || (unlimited && found !== undefined && method.approval)) return undefined;
  const because = unlimited
    ? 'and the call is no unlimited approval'
    : 'and unlimited amounts are not allowed';
  return no(`the callback’s amount is unlimited (-1), ${because}`, { native: 'unlimited' });
}

/** The path of the first amount or flag that is unlimited. */
function unlimitedIn({ method, amounts }: Entry, values: readonly Value[]): string | undefined {
  const flag = [...method.blanket].find((each) => valuesAt(values, each).some((value) => value !== false));
  const amount = [...amounts.keys()].find((each) =>
    valuesAt(values, each).some((value) => isUnlimited(value, unlimitedFrom(each.type))),
  );
  return (flag ?? amount)?.path;
}

function isUnlimited(value: Value, from: bigint): boolean {
  return typeof value !== 'bigint' || value >= from;
}

function wrongNative({ nativeMax, method }: Entry, { native }: ReadCall): Match | undefined {
  if (native === 'unlimited' || native <= nativeMax) return undefined;
  const [value, max] = [formatNative(native), formatNative(nativeMax)];
  return no(`the native value ${value} along with ${method.signature} is above the maximum ${max}`, {
    native: value,
    max,
  });
}

function wrongArgument(entry: Entry, { values, sender }: ReadCall): Match | undefined {
  for (const { argument, wrong } of entry.conditions) {
    const found = valuesAt(values, argument);
    if (found.length === 0) {
      return no(`${argument.path} is an empty list, so nothing says that it is allowed`, {
        argument: argument.path,
      });
    }
    for (const value of found) {
      // Only an entry that allows unlimited amounts gets here with one; it is above every limit and passes
      // all the same.
      if (entry.amounts.has(argument) && isUnlimited(value, unlimitedFrom(argument.type))) continue;
      const because = wrong(value, sender);
      if (because === undefined) continue;
      const shown = cut(inUnits(entry, argument, value));
      return no(`${argument.path} ${shown} ${because}`, { argument: argument.path, found: shown });
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

function nativeCharges(entry: Entry, { native }: ReadCall): readonly Charge[] {
  if (native === 'unlimited') return [];
  const what = `the native value along with ${entry.method.signature}`;
  return [{ key: entry.key, what, amount: native, max: entry.nativeMax, format: formatNative }];
}

function chargesOf(entry: Entry, condition: Condition, { values }: ReadCall): readonly Charge[] {
  const { argument, limits, summed } = condition;
  if (!summed || limits.max === undefined) return [];
  const { min = 0n, max } = limits;
  const format = (amount: bigint): string => inUnits(entry, argument, amount);
  const what = `${argument.path} of ${entry.method.signature}`;
  return valuesAt(values, argument).flatMap((amount): readonly Charge[] => {
    if (typeof amount !== 'bigint' || amount >= unlimitedFrom(argument.type)) return [];
    return amount < 0n
      ? [{ key: condition.key, below: true, what, amount: -amount, max: -min, format: (sum) => format(-sum) }]
      : [{ key: condition.key, what, amount, max, format }];
  });
}

/** Why a transaction is refused. */
export interface Refusal {
  /** A whole sentence. */
  readonly because: string;
  readonly values: Readonly<Record<string, string>>;
}

/** A share of a limit that holds for all calls of a transaction together. */
export interface Charge {
  /** Whose limit it is: charges with one key are added up. */
  readonly key: object;
  /** True if it counts what goes below zero, which has a sum of its own. */
  readonly below?: true;
  readonly what: string;
  /** Zero or more. */
  readonly amount: bigint;
  readonly max: bigint;
  readonly format: (amount: bigint) => string;
}

/** What must be on a list, or must not be. */
export interface ListedValues extends ListCondition {
  readonly argument: string;
  readonly values: readonly string[];
}

const TEXT_MAX = 200;

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

export function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}… (${text.length} characters)` : text;
}
