import { formatUnits, formatValue, valuesAt } from './argument.ts';
import { type Condition, type ListCondition, listText } from './condition.ts';
import type { Value } from './decode.ts';
import type { Entry } from './entry.ts';
import { isHeld } from './method.ts';
import { type Amount, formatAmount } from '../../values/amount.ts';

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

const NAMES_MAX = 100;
const TEXT_MAX = 200;

/** What all calls of one transaction add up to. */
export class TransactionTotals {
  readonly #values = new Map<string, string>();
  readonly #sums = new Map<object, bigint>();
  readonly #sumsBelow = new Map<object, bigint>();
  readonly #lists = new Map<string, { readonly first: ListedValues; readonly values: Set<string> }>();
  readonly #members = new Set<string>();
  /** Calls within wrappers so far. */
  inner = 0;

  /** Adds it; a refusal if the sum is then above its limit. */
  charge({ key, below, what, amount, max, format }: Charge): Refusal | undefined {
    const sums = below === true ? this.#sumsBelow : this.#sums;
    const sum = (sums.get(key) ?? 0n) + amount;
    sums.set(key, sum);
    if (sum <= max) return undefined;
    const limit = below === true ? 'below the minimum' : 'above the maximum';
    return {
      because: `${what} is ${format(sum)} over all calls together, ${limit} ${format(max)}`,
      values: { sum: format(sum), [below === true ? 'min' : 'max']: format(max) },
    };
  }

  claim(listed: ListedValues): void {
    const key = `${listed.must} ${listed.list}`;
    const known = this.#lists.get(key);
    if (known === undefined) this.#lists.set(key, { first: listed, values: new Set(listed.values) });
    else for (const value of listed.values) known.values.add(value);
    this.#members.add(listed.argument);
  }

  report(name: string, text: string): void {
    if (this.#values.size < NAMES_MAX) this.#values.set(name, cut(text));
  }

  /** The call, each of its arguments, and amounts in the token's units as well as in the smallest. */
  reportCall(
    prefix: string,
    contract: string,
    entry: Entry,
    values: readonly Value[],
    native: Amount | 'unlimited',
  ): void {
    const { method, amounts } = entry;
    this.report(`${prefix}contract`, contract);
    this.report(`${prefix}method`, method.signature);
    this.report(`${prefix}native`, formatNative(native));
    for (const argument of method.arguments.filter((each) => !isHeld(method, each))) {
      const found = valuesAt(values, argument);
      const decimals = amounts.get(argument);
      const name = `${prefix}args.${argument.path}`;
      if (decimals === undefined) this.report(name, formatValue(found));
      else {
        const units = found.map((each) => (typeof each === 'bigint' ? formatUnits(each, decimals) : ''));
        this.report(name, units.join(' '));
        this.report(`${name}.raw`, formatValue(found));
      }
    }
  }

  get values(): Readonly<Record<string, string>> {
    const [member] = this.#members;
    const values = Object.fromEntries(this.#values);
    return member === undefined || this.#members.size > 1 ? values : { ...values, member };
  }

  get lists(): readonly (ListCondition & { readonly values: readonly string[] })[] {
    return [...this.#lists.values()].map(({ first: { list, must }, values }) => ({
      list,
      must,
      values: [...values],
    }));
  }
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

export function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}… (${text.length} characters)` : text;
}
