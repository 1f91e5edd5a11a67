import type { Web3Callback } from '../../callback/callback.ts';
import type { Amount } from '../../values/amount.ts';
import { type RuleOutcome, refuse } from '../rules/rule.ts';
import { type Value, formatUnits, formatValue, valuesAt } from './abi.ts';
import type { Condition, ListCondition } from './condition.ts';
import { SELECTOR_CHARACTERS, readCall } from './decode.ts';
import type { Entry } from './entry.ts';
import {
  type Charge,
  type ListedValues,
  type Match,
  type Refusal,
  truncate,
  formatNative,
  listedBy,
  matchEntry,
} from './match.ts';
import { type InnerCalls, type Method, describesInnerCalls } from './methods.ts';

/** The transactions that a rule allows. */
export interface AllowedTransactions {
  /** By contract, then by selector. Several entries for a pair are alternatives with the same signature. */
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, readonly Entry[]>>;
  /** Signatures by selector, for messages. */
  readonly signatures: ReadonlyMap<string, string>;
  readonly plain: PlainTransfer | undefined;
  /** Bounds on inner calls; undefined if wrappers are not allowed. */
  readonly nesting: { readonly depth: number; readonly calls: number } | undefined;
}

/** Transfers of native coins without call data. */
export interface PlainTransfer {
  readonly max: Amount;
  readonly to: Condition | undefined;
}

/**
 * No callback has longer call data: its `input_data` has at most 65,536 characters including `0x`, which are
 * 32,767 bytes.
 */
const DATA_MAX_BYTES = 32_768;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const HEX = /^0x(?:[0-9a-fA-F]{2})*$/;

/** Evaluates a transaction. The size of the call data and the bounds on inner calls bound its work. */
export function evaluateTransaction(allowed: AllowedTransactions, callback: Web3Callback): RuleOutcome {
  const { inputData: data, interactiveContract: contract, to, from } = callback;
  const malformed = malformedIn(callback);
  if (malformed !== undefined) return refuse(malformed.because, malformed.values);
  const isCall = data !== '' && data !== '0x';
  const evaluation = new TransactionEvaluation(
    allowed,
    from.toLowerCase(),
    isCall ? to.toLowerCase() : undefined,
  );
  const refusal = evaluation.evaluate({
    target: (isCall ? contract : to).toLowerCase(),
    data: isCall ? data.toLowerCase() : '0x',
    native: callback.amount,
    position: [],
  });
  return refusal === undefined ? evaluation.outcome() : refuse(refusal.because, refusal.values);
}

function malformedIn({
  inputData: data,
  interactiveContract: contract,
  to,
  from,
}: Web3Callback): Refusal | undefined {
  const refusal = (because: string, values: Refusal['values'] = {}): Refusal => ({ because, values });
  if (data.length > 2 + DATA_MAX_BYTES * 2) {
    return refusal(`the call data has ${data.length} characters, more than ${DATA_MAX_BYTES} bytes`);
  }
  if (data !== '' && !HEX.test(data)) {
    return refusal('the call data is not 0x and pairs of hexadecimal digits', { data: data.slice(0, 80) });
  }
  if (!ADDRESS.test(from)) return refusal('from is not an EVM address', { from });
  if (!ADDRESS.test(to)) return refusal('to is not an EVM address', { to });
  if (data !== '' && data !== '0x') {
    return ADDRESS.test(contract)
      ? undefined
      : refusal('there is call data, and interactive_contract is not an EVM address', { contract });
  }
  if (contract === '' || contract.toLowerCase() === to.toLowerCase()) return undefined;
  return refusal('there is no call data, and interactive_contract is another address than to', {
    contract,
    to,
  });
}

/** A call or a plain transfer: the transaction's own, or one within a wrapper. */
interface Call {
  /** The recipient, in lower case. */
  readonly target: string;
  /** `0x` and lower-case digits. */
  readonly data: string;
  readonly native: Amount | 'unlimited';
  /** The position in each wrapper around it, from 1. Empty for the transaction's own call. */
  readonly position: readonly number[];
}

class TransactionEvaluation {
  readonly #allowed: AllowedTransactions;
  readonly #sender: string;
  readonly #to: string | undefined;
  readonly #totals = new TransactionTotals();
  #firstCall = '';

  constructor(allowed: AllowedTransactions, sender: string, to: string | undefined) {
    this.#allowed = allowed;
    this.#sender = sender;
    this.#to = to;
  }

  evaluate(call: Call): Refusal | undefined {
    const refusal = call.data === '0x' ? this.#evaluatePlain(call) : this.#evaluateCall(call);
    // The refusal of an inner call already names the innermost position.
    if (refusal === undefined || call.position.length === 0 || 'call' in refusal.values) return refusal;
    const position = call.position.join('.');
    return { because: `call ${position}: ${refusal.because}`, values: { call: position, ...refusal.values } };
  }

  outcome(): RuleOutcome {
    const { values, lists } = this.#totals;
    if (lists.length === 0) return { verdict: 'pass', because: `${this.#firstCall} is allowed`, values };
    const wanted = lists.map(({ list, must, values: listed }) => {
      const [first = '', ...others] = listed;
      const named = others.length === 0 ? first : `${first} and ${others.length} more`;
      return `${named} ${must === 'hold-all' ? 'on' : 'not on'} the list ${list}`;
    });
    return {
      verdict: 'claim',
      because: `${this.#firstCall} is allowed with ${wanted.join(', ')}`,
      values,
      claims: lists.map((listed) => ({ type: 'list', ...listed })),
    };
  }

  #evaluatePlain({ target, native, position }: Call): Refusal | undefined {
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
    const violation = plain.to?.violation(target, this.#sender);
    if (violation !== undefined) return { because: `to ${target} of a plain transfer ${violation}`, values };
    if (plain.to !== undefined) this.#totals.claim(listedBy(plain.to, [target]));
    const prefix = prefixOf(position);
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

  #evaluateCall(call: Call): Refusal | undefined {
    const { target, data } = call;
    if (data.length < SELECTOR_CHARACTERS) {
      return { because: 'the call data is shorter than a selector', values: { contract: target, data } };
    }
    const selector = data.slice(0, SELECTOR_CHARACTERS);
    const entries = this.#allowed.entries.get(target)?.get(selector) ?? [];
    const [entry] = entries;
    if (entry === undefined) return this.#notAllowed(target, selector);
    const { method } = entry;
    const known = { contract: target, method: method.signature, selector };
    const read = readCall(method, data);
    if (!read.ok) return { because: read.because, values: { ...known, argument: read.argument } };
    const matched = this.#match(entries, call, read.values);
    if ('because' in matched) return { because: matched.because, values: { ...known, ...matched.values } };
    this.#firstCall ||= `${method.signature} of ${target}`;
    this.#totals.reportCall(prefixOf(call.position), target, matched.entry, read.values, call.native);
    return this.#evaluateInnerCalls(matched.entry.method, call, read.values);
  }

  #notAllowed(contract: string, selector: string): Refusal {
    const signature = this.#allowed.signatures.get(selector);
    const values = { contract, selector, ...(signature === undefined ? {} : { method: signature }) };
    if (!this.#allowed.entries.has(contract)) {
      return { because: `no call of the contract ${contract} is allowed`, values };
    }
    const method = signature === undefined ? `an unknown method (${selector})` : `${signature} (${selector})`;
    return { because: `${method} of ${contract} is not allowed`, values };
  }

  /** The first entry that allows the call. Entries without lists come before those with lists. */
  #match(
    entries: readonly Entry[],
    { target: contract, native, position }: Call,
    values: readonly Value[],
  ): { readonly entry: Entry } | Refusal {
    const to = position.length === 0 ? this.#to : undefined;
    const call = { contract, values, native, sender: this.#sender, to };
    const tried = entries.map((entry) => ({ entry, match: matchEntry(entry, call) }));
    const found =
      tried.find(({ match }) => match.ok && match.lists.length === 0) ?? tried.find(({ match }) => match.ok);
    if (found?.match.ok !== true) return refusalOf(tried.map(({ match }) => match));
    this.#totals.claim(found.match.lists);
    for (const charge of found.match.charges) {
      const refusal = this.#totals.charge(charge);
      if (refusal !== undefined) return refusal;
    }
    return { entry: found.entry };
  }

  /** Evaluates each inner call of a wrapper like a separate call. */
  #evaluateInnerCalls(method: Method, call: Call, values: readonly Value[]): Refusal | undefined {
    const { innerCalls, signature } = method;
    if (innerCalls === undefined) return undefined;
    const { nesting } = this.#allowed;
    const refusalOfWrapper = (because: string): Refusal => ({
      because,
      values: { contract: call.target, method: signature },
    });
    if (nesting === undefined)
      return refusalOfWrapper(`${signature} contains calls, and that is not allowed`);
    if (call.position.length >= nesting.depth) {
      const depth = call.position.length + 1;
      return refusalOfWrapper(
        `${signature} contains calls at a depth of ${depth}; at most ${nesting.depth} is allowed`,
      );
    }
    const calls = callsWithin(innerCalls, call, values);
    if (calls.length === 0) return refusalOfWrapper(`${signature} contains no call`);
    // All of them count before the first is evaluated, because it may be a wrapper with calls of its own.
    this.#totals.innerCalls += calls.length;
    const count = this.#totals.innerCalls;
    if (count > nesting.calls) {
      return refusalOfWrapper(
        `there are at least ${count} inner calls; at most ${nesting.calls} are allowed`,
      );
    }
    for (const each of calls) {
      const refusal =
        each === undefined
          ? refusalOfWrapper('an inner call has no selector, target or value')
          : this.evaluate(each);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
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

/** Wei in units of 10^-36: the native coin of an EVM network has 18 decimals. */
const WEI: Amount = 10n ** 18n;

/** The calls of a wrapper. A call without a selector, a target or a value is undefined. */
function callsWithin(
  innerCalls: InnerCalls,
  { target, native, position }: Call,
  values: readonly Value[],
): readonly (Call | undefined)[] {
  const targets = innerCalls.target && valuesAt(values, innerCalls.target);
  const natives = typeof innerCalls.value === 'string' ? undefined : valuesAt(values, innerCalls.value);
  const nativeAt = (index: number): Call['native'] | undefined => {
    if (innerCalls.value === 'same') return native;
    if (innerCalls.value === 'none') return 0n;
    const wei = natives?.[index];
    return typeof wei === 'bigint' ? wei * WEI : undefined;
  };
  return valuesAt(values, innerCalls.data).map((data, index): Call | undefined => {
    const to = targets === undefined ? target : targets[index];
    const value = nativeAt(index);
    if (typeof data !== 'string' || typeof to !== 'string' || value === undefined) return undefined;
    // A wrapper that calls its own methods sends no coins to itself, so each inner call needs a selector.
    if (targets === undefined && data.length < SELECTOR_CHARACTERS) return undefined;
    return { target: to, data, native: value, position: [...position, index + 1] };
  });
}

const NAMES_MAX = 100;

/** The sums, list values and reported values of all calls of one transaction. */
class TransactionTotals {
  readonly #values = new Map<string, string>();
  readonly #sums = new Map<object, bigint>();
  readonly #sumsBelow = new Map<object, bigint>();
  readonly #lists = new Map<string, { readonly first: ListedValues; readonly values: Set<string> }>();
  readonly #members = new Set<string>();
  /** The number of inner calls so far. */
  innerCalls = 0;

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
    if (this.#values.size < NAMES_MAX) this.#values.set(name, truncate(text));
  }

  /**
   * Reports a call and its arguments. Amounts appear in the token's units and, as `.raw`, in the smallest.
   */
  reportCall(
    prefix: string,
    contract: string,
    { method, amounts }: Entry,
    values: readonly Value[],
    native: Amount | 'unlimited',
  ): void {
    this.report(`${prefix}contract`, contract);
    this.report(`${prefix}method`, method.signature);
    this.report(`${prefix}native`, formatNative(native));
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
