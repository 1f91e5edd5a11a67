import type { Web3Callback } from '../../callback/callback.ts';
import type { Amount } from '../../values/amount.ts';
import type { Facts } from '../facts.ts';
import { type RuleOutcome, refuse } from '../outcome.ts';
import { type Standing, combine } from '../standing.ts';
import { formatUnits, formatValue, valuesAt } from './abi.ts';
import type { Condition, ListCondition } from './condition.ts';
import type { Entry } from './entry.ts';
import {
  type Charge,
  type ListedValues,
  type Match,
  truncate,
  formatNative,
  listedBy,
  matchEntry,
} from './match.ts';
import { describesInnerCalls } from './methods.ts';
import {
  type DecodedCall,
  type ReadCall,
  type Reading,
  type Refusal,
  inCall,
  readTransaction,
} from './read.ts';

/** The transactions that a rule allows. */
export interface AllowedTransactions {
  /** The networks of the contracts, by symbol. At least one. */
  readonly networks: ReadonlySet<string>;
  /** By contract, then by selector. Several entries for a pair are alternatives with the same signature. */
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, readonly Entry[]>>;
  readonly plain: PlainTransfer | undefined;
  /** The accounts of ours, beside the sender. */
  readonly accounts: ReadonlySet<string>;
  readonly reading: Reading;
}

/** Transfers of native coins without call data. */
export interface PlainTransfer {
  readonly max: Amount;
  readonly to: Condition | undefined;
}

/** Evaluates a transaction: each of its calls, and then whether they could all be read. */
export function evaluateTransaction(
  allowed: AllowedTransactions,
  callback: Web3Callback,
  facts: Facts,
): RuleOutcome {
  const { calls, problem } = readTransaction(callback, allowed.reading);
  const evaluation = new TransactionEvaluation(allowed, callback, facts);
  for (const call of calls) {
    const refusal = evaluation.evaluate(call);
    if (refusal !== undefined) return evaluation.refusal(inCall(refusal, call));
  }
  return problem === undefined ? evaluation.outcome() : evaluation.refusal(problem);
}

class TransactionEvaluation {
  readonly #allowed: AllowedTransactions;
  readonly #sender: string;
  readonly #to: string;
  readonly #facts: Facts;
  readonly #totals = new TransactionTotals();
  readonly #standings: Standing[] = [];
  #firstCall = '';
  #trailingBytes = 0;

  constructor(allowed: AllowedTransactions, { texts: { from, to } }: Web3Callback, facts: Facts) {
    this.#allowed = allowed;
    this.#sender = from.toLowerCase();
    this.#to = to.toLowerCase();
    this.#facts = facts;
  }

  evaluate(call: ReadCall): Refusal | undefined {
    return call.decoded === undefined ? this.#evaluatePlain(call) : this.#evaluateCall(call, call.decoded);
  }

  refusal({ because, values }: Refusal): RuleOutcome {
    return { ...refuse(because, values), ...combine('one', this.#standings) };
  }

  outcome(): RuleOutcome {
    const { values, lists } = this.#totals;
    const bytes = this.#trailingBytes;
    const trailing = bytes === 0 ? '' : `, with ${bytes} bytes behind the arguments`;
    const standing = { ...combine('one', this.#standings), retryable: false };
    if (lists.length === 0) {
      return { verdict: 'pass', because: `${this.#firstCall} is allowed${trailing}`, values, ...standing };
    }
    const wanted = lists.map(({ list, must, values: listed }) => {
      const [first = '', ...others] = listed;
      const named = others.length === 0 ? first : `${first} and ${others.length} more`;
      return `${named} ${must === 'hold-all' ? 'on' : 'not on'} the list ${list}`;
    });
    return {
      verdict: 'claim',
      because: `${this.#firstCall} is allowed with ${wanted.join(', ')}${trailing}`,
      values,
      claims: lists.map((listed) => ({ type: 'list', ...listed })),
      ...standing,
    };
  }

  #evaluatePlain({ contract: target, native, caller, position, path }: ReadCall): Refusal | undefined {
    const { plain } = this.#allowed;
    const values = { to: target, native: formatNative(native) };
    if (plain === undefined) {
      const because = 'there is no call data, and plain transfers of native coins are not allowed';
      return { because, values };
    }
    const max = formatNative(plain.max);
    if (native === 'unlimited' || native > plain.max) {
      const because = `the plain transfer of ${values.native} is above the maximum ${max}`;
      return { because, values: { ...values, max } };
    }
    const { accounts } = this.#allowed;
    const violation = plain.to?.violation(target, { sender: this.#sender, caller, accounts });
    if (violation !== undefined) return { because: `to ${target} of a plain transfer ${violation}`, values };
    if (plain.to !== undefined) this.#totals.claim(listedBy(plain.to, [target]));
    const prefix = prefixOf(position);
    if (position.length > 0) this.#totals.report(`${prefix}path`, path.join(' > '));
    this.#totals.report(`${prefix}to`, target);
    this.#totals.report(`${prefix}native`, values.native);
    this.#firstCall ||= `a plain transfer of ${values.native} to ${target}`;
    const refusal = this.#totals.charge({
      sumIdentity: plain,
      what: 'the amount of plain transfers',
      amount: native,
      max: plain.max,
      format: formatNative,
    });
    return refusal && { ...refusal, values: { ...values, ...refusal.values } };
  }

  #evaluateCall(call: ReadCall, decoded: DecodedCall): Refusal | undefined {
    const { contract } = call;
    const { signature, selector } = decoded.method;
    const entries = this.#allowed.entries.get(contract)?.get(selector) ?? [];
    const matched = this.#match(entries, call, decoded);
    if ('because' in matched) {
      const known = { contract, method: signature, selector };
      return { because: matched.because, values: { ...known, ...matched.values } };
    }
    this.#firstCall ||= `${signature} of ${contract}`;
    this.#trailingBytes += decoded.trailing.length / 2;
    this.#totals.reportCall(call, decoded, matched.entry);
    return undefined;
  }

  /** The first entry that allows the call. Entries without lists come before those with lists. */
  #match(
    entries: readonly Entry[],
    { contract, native, caller, isDelegated, position }: ReadCall,
    { values, trailing }: DecodedCall,
  ): { readonly entry: Entry } | Refusal {
    const maker = { sender: this.#sender, caller, accounts: this.#allowed.accounts };
    const to = position.length === 0 ? this.#to : undefined;
    const call = { contract, values, trailing, native, maker, isDelegated, to, facts: this.#facts };
    const tried = entries.map((entry) => ({ entry, match: matchEntry(entry, call) }));
    const found =
      tried.find(({ match }) => match.ok && match.lists.length === 0) ?? tried.find(({ match }) => match.ok);
    for (const { match } of tried) {
      // What an alternative refuses doesn't matter once another one allows the call.
      if (match.standing === undefined) continue;
      this.#standings.push(
        found === undefined ? match.standing : { ...match.standing, retryable: false, failed: false },
      );
    }
    if (found?.match.ok !== true) return refusalOf(tried.map(({ match }) => match));
    this.#totals.claim(found.match.lists);
    for (const charge of found.match.charges) {
      const refusal = this.#totals.charge(charge);
      if (refusal !== undefined) return refusal;
    }
    return { entry: found.entry };
  }
}

function refusalOf(matches: readonly Match[]): Refusal {
  const failed = matches.flatMap((match) => (match.ok ? [] : [match]));
  const [first] = failed;
  if (first === undefined) return { because: 'no entry allows it', values: {} };
  if (failed.length === 1) return first;
  const reasons = [...new Set(failed.map(({ because }) => because))].slice(0, 3).join('; ');
  return {
    because: `none of the ${failed.length} entries allows it: ${reasons}`,
    values: { ...first.values, entries: String(failed.length) },
  };
}

const prefixOf = (position: readonly number[]): string =>
  position.length === 0 ? '' : `call${position.join('.')}.`;

const NAMES_MAX = 100;

/** The sums, list values and reported values of all calls of one transaction. */
class TransactionTotals {
  readonly #values: Record<string, string> = {};
  #reported = 0;
  readonly #sums = new Map<object, bigint>();
  readonly #sumsBelow = new Map<object, bigint>();
  readonly #lists = new Map<string, { readonly first: ListedValues; readonly values: Set<string> }>();
  readonly #members = new Set<string>();

  /** Adds an amount to its sum. Returns a refusal if the sum exceeds the limit. */
  charge({ sumIdentity, isBelowZero, what, amount, max, format }: Charge): Refusal | undefined {
    const sums = isBelowZero === true ? this.#sumsBelow : this.#sums;
    const sum = (sums.get(sumIdentity) ?? 0n) + amount;
    sums.set(sumIdentity, sum);
    if (sum <= max) return undefined;
    const limit = isBelowZero === true ? 'below the minimum' : 'above the maximum';
    return {
      because: `${what} is ${format(sum)} over all calls together, ${limit} ${format(max)}`,
      values: { sum: format(sum), [isBelowZero === true ? 'min' : 'max']: format(max) },
    };
  }

  claim(lists: readonly ListedValues[]): void {
    for (const listed of lists) {
      const key = `${listed.must} ${listed.list}`;
      const known = this.#lists.get(key);
      if (known === undefined) this.#lists.set(key, { first: listed, values: new Set(listed.values) });
      else for (const value of listed.values) known.values.add(value);
      this.#members.add(listed.argument);
    }
  }

  report(name: string, text: string): void {
    if (this.#reported++ < NAMES_MAX) this.#values[name] = truncate(text);
  }

  /**
   * Reports a call and its arguments. Amounts appear in the token's units and, as `.raw`, in the smallest.
   */
  reportCall(
    { position, path, contract, native, isDelegated }: ReadCall,
    { values, trailing }: DecodedCall,
    { method, amounts }: Entry,
  ): void {
    const prefix = prefixOf(position);
    if (position.length > 0) this.report(`${prefix}path`, path.join(' > '));
    this.report(`${prefix}contract`, contract);
    this.report(`${prefix}method`, method.signature);
    this.report(`${prefix}native`, formatNative(native));
    if (isDelegated) this.report(`${prefix}delegatecall`, 'true');
    if (trailing !== '') this.report(`${prefix}trailing`, `0x${trailing}`);
    for (const argument of method.arguments.filter((each) => !describesInnerCalls(method, each))) {
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
    return member === undefined || this.#members.size > 1 ? this.#values : { ...this.#values, member };
  }

  get lists(): readonly (ListCondition & { readonly values: readonly string[] })[] {
    return [...this.#lists.values()].map(({ first: { list, must }, values }) => ({
      list,
      must,
      values: [...values],
    }));
  }
}
