import type { Web3Callback } from '../../callback/callback.ts';
import type { Amount } from '../../values/amount.ts';
import { type Outcome, refuse } from '../rules/rule.ts';
import { type Value, formatUnits, formatValue, valuesAt } from './abi.ts';
import type { Condition, ListCondition } from './condition.ts';
import { SELECTOR_CHARACTERS, readCall } from './decode.ts';
import type { Entry } from './entry.ts';
import {
  type Charge,
  type ListedValues,
  type Match,
  type Refusal,
  cut,
  formatNative,
  listedBy,
  matchEntry,
} from './match.ts';
import { type HeldCalls, type Method, isHeld } from './methods.ts';

/** What a rule allows, compiled. */
export interface Allowed {
  /** By contract, then by selector; several entries for a pair are alternatives, all of one signature. */
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, readonly Entry[]>>;
  /** Signatures by selector, for messages. */
  readonly signatures: ReadonlyMap<string, string>;
  readonly plain: Plain | undefined;
  readonly nesting: { readonly depth: number; readonly calls: number } | undefined;
}

/** Transfers of native coins without call data. */
export interface Plain {
  readonly max: Amount;
  readonly to: Condition | undefined;
}

/** Call data is at most this long; what a callback can carry is no longer. */
const DATA_MAX_BYTES = 32_768;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const HEX = /^0x(?:[0-9a-fA-F]{2})*$/;

/**
 * What the rule says to a transaction. Pure, and bounded by the size of the call data and by the number of
 * calls allowed.
 */
export function judgeTransaction(allowed: Allowed, callback: Web3Callback): Outcome {
  const { inputData: data, interactiveContract: contract, to, from } = callback;
  const malformed = malformedIn(callback);
  if (malformed !== undefined) return refuse(malformed.because, malformed.values);
  const isCall = data !== '' && data !== '0x';
  const judging = new Judging(allowed, from.toLowerCase(), isCall ? to.toLowerCase() : undefined);
  const target = (isCall ? contract : to).toLowerCase();
  const refusal = judging.judge({
    target,
    data: isCall ? data.toLowerCase() : '0x',
    native: callback.amount,
    place: [],
  });
  return refusal === undefined ? judging.outcome() : refuse(refusal.because, refusal.values);
}

function malformedIn({
  inputData: data,
  interactiveContract: contract,
  to,
  from,
}: Web3Callback): Refusal | undefined {
  const no = (because: string, values: Refusal['values'] = {}): Refusal => ({ because, values });
  if (data.length > 2 + DATA_MAX_BYTES * 2) {
    return no(`the call data has ${data.length} characters, more than ${DATA_MAX_BYTES} bytes`);
  }
  if (data !== '' && !HEX.test(data)) {
    return no('the call data is not 0x and pairs of hexadecimal digits', { data: data.slice(0, 80) });
  }
  if (!ADDRESS.test(from)) return no('from is no EVM address', { from });
  if (!ADDRESS.test(to)) return no('to is no EVM address', { to });
  if (data !== '' && data !== '0x') {
    return ADDRESS.test(contract)
      ? undefined
      : no('there is call data, and interactive_contract is no EVM address', { contract });
  }
  if (contract === '' || contract.toLowerCase() === to.toLowerCase()) return undefined;
  return no(`there is no call data, and interactive_contract is not to`, { contract, to });
}

class Judging {
  readonly #allowed: Allowed;
  readonly #sender: string;
  readonly #to: string | undefined;
  readonly #totals = new TransactionTotals();
  #because = '';

  constructor(allowed: Allowed, sender: string, to: string | undefined) {
    this.#allowed = allowed;
    this.#sender = sender;
    this.#to = to;
  }

  judge(call: Call): Refusal | undefined {
    if (call.place.length > 0) this.#totals.inner += 1;
    const refusal = call.data === '0x' ? this.#judgePlain(call) : this.#judgeCall(call);
    // The innermost call that is refused names its place; those around it pass that on.
    if (refusal === undefined || call.place.length === 0 || 'call' in refusal.values) return refusal;
    const place = call.place.join('.');
    return { because: `call ${place}: ${refusal.because}`, values: { call: place, ...refusal.values } };
  }

  outcome(): Outcome {
    const { values, lists } = this.#totals;
    if (lists.length === 0) return { verdict: 'pass', because: `${this.#because} is allowed`, values };
    const wanted = lists.map(({ list, must, values: listed }) => {
      const [first = '', ...more] = listed;
      const named = more.length === 0 ? first : `${first} and ${more.length} more`;
      return `${named} ${must === 'hold-all' ? 'on' : 'not on'} the list ${list}`;
    });
    return {
      verdict: 'claim',
      because: `${this.#because} is allowed with ${wanted.join(', ')}`,
      values,
      claims: lists.map((listed) => ({ type: 'list', ...listed })),
    };
  }

  #judgePlain({ target, native, place }: Call): Refusal | undefined {
    const { plain } = this.#allowed;
    const values = { to: target, native: formatNative(native) };
    if (plain === undefined) {
      return {
        because: 'there is no call data, and plain transfers of native coins are not allowed',
        values,
      };
    }
    const max = formatNative(plain.max);
    if (native === 'unlimited' || native > plain.max) {
      return {
        because: `the plain transfer of ${values.native} is above the maximum ${max}`,
        values: { ...values, max },
      };
    }
    const wrong = plain.to?.wrong(target, this.#sender);
    if (wrong !== undefined) return { because: `to ${target} of a plain transfer ${wrong}`, values };
    for (const listed of plain.to === undefined ? [] : listedBy(plain.to, [target]))
      this.#totals.claim(listed);
    const prefix = prefixOf(place);
    this.#totals.report(`${prefix}to`, target);
    this.#totals.report(`${prefix}native`, values.native);
    this.#because ||= `a plain transfer of ${values.native} to ${target}`;
    const refusal = this.#totals.charge({
      key: plain,
      what: 'what plain transfers send',
      amount: native,
      max: plain.max,
      format: formatNative,
    });
    return refusal && { ...refusal, values: { ...values, ...refusal.values } };
  }

  #judgeCall(call: Call): Refusal | undefined {
    const { target, data } = call;
    if (data.length < SELECTOR_CHARACTERS) {
      return { because: 'the call data is shorter than a selector', values: { contract: target, data } };
    }
    const selector = data.slice(0, SELECTOR_CHARACTERS);
    const entries = this.#allowed.entries.get(target)?.get(selector) ?? [];
    const [entry] = entries;
    if (entry === undefined) return this.#unknown(target, selector);
    const { method } = entry;
    const known = { contract: target, method: method.signature, selector };
    const read = readCall(method, data);
    if (!read.ok) return { because: read.because, values: { ...known, argument: read.argument } };
    const judged = this.#match(entries, call, read.values);
    if ('because' in judged) return { because: judged.because, values: { ...known, ...judged.values } };
    this.#because ||= `${method.signature} of ${target}`;
    this.#totals.reportCall(prefixOf(call.place), target, judged.entry, read.values, call.native);
    return method.holds === undefined ? undefined : this.#judgeHeld(judged.entry.method, call, read.values);
  }

  #unknown(contract: string, selector: string): Refusal {
    const signature = this.#allowed.signatures.get(selector);
    const values = { contract, selector, ...(signature === undefined ? {} : { method: signature }) };
    if (!this.#allowed.entries.has(contract)) {
      return { because: `no call of the contract ${contract} is allowed`, values };
    }
    const method = signature === undefined ? `an unknown method (${selector})` : `${signature} (${selector})`;
    return { because: `${method} of ${contract} is not allowed`, values };
  }

  /** The first entry that allows the call, one that asks no list before one that does. */
  #match(
    entries: readonly Entry[],
    { target: contract, native, place }: Call,
    values: readonly Value[],
  ): { readonly entry: Entry } | Refusal {
    const to = place.length === 0 ? this.#to : undefined;
    const call = { contract, values, native, sender: this.#sender, to };
    const tried = entries.map((entry) => ({ entry, match: matchEntry(entry, call) }));
    const found =
      tried.find(({ match }) => match.ok && match.lists.length === 0) ?? tried.find(({ match }) => match.ok);
    if (found?.match.ok !== true) return refusalOf(tried.map(({ match }) => match));
    for (const listed of found.match.lists) this.#totals.claim(listed);
    for (const charge of found.match.charges) {
      const refusal = this.#totals.charge(charge);
      if (refusal !== undefined) return refusal;
    }
    return { entry: found.entry };
  }

  /** Each call that a wrapper makes, as if it were alone. */
  #judgeHeld(method: Method, call: Call, values: readonly Value[]): Refusal | undefined {
    const { nesting } = this.#allowed;
    const { holds, signature } = method;
    if (holds === undefined) return undefined;
    const known = { contract: call.target, method: signature };
    if (nesting === undefined)
      return { because: `${signature} holds calls, and that is not allowed`, values: known };
    if (call.place.length >= nesting.depth) {
      const because = `${signature} holds calls at a depth of ${call.place.length + 1}; at most ${nesting.depth} is allowed`;
      return { because, values: known };
    }
    const held = heldCalls(holds, call, values);
    if (held.length === 0) return { because: `${signature} holds no call`, values: known };
    const count = this.#totals.inner + held.length;
    if (count > nesting.calls) {
      return {
        because: `there are ${count} calls or more within others; at most ${nesting.calls} are allowed`,
        values: known,
      };
    }
    for (const each of held) {
      const refusal = each === undefined ? lostCall(known) : this.judge(each);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }
}

function lostCall(values: Refusal['values']): Refusal {
  return { because: 'a call within another has no selector, target or value', values };
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

const prefixOf = (place: readonly number[]): string => (place.length === 0 ? '' : `call${place.join('.')}.`);

/** Wei in units of 10^-36: an EVM's native coin has 18 decimals. */
const WEI: Amount = 10n ** 18n;

/** A call or a transfer: the transaction's own, or one within a wrapper. */
export interface Call {
  /** Where it goes, lower-case. */
  readonly target: string;
  /** `0x` and lower-case digits. */
  readonly data: string;
  readonly native: Amount | 'unlimited';
  /** Its place in each wrapper around it, counted from 1; none for the transaction's own. */
  readonly place: readonly number[];
}

/** The calls of a wrapper; undefined for one that can't be told. */
export function heldCalls(
  holds: HeldCalls,
  { target, native, place }: Call,
  values: readonly Value[],
): readonly (Call | undefined)[] {
  const targets = holds.target && valuesAt(values, holds.target);
  const natives = typeof holds.value === 'string' ? undefined : valuesAt(values, holds.value);
  return valuesAt(values, holds.data).map((data, index): Call | undefined => {
    const to = targets === undefined ? target : targets[index];
    const wei = natives?.[index];
    const own =
      holds.value === 'same'
        ? native
        : holds.value === 'none'
          ? 0n
          : typeof wei === 'bigint'
            ? wei * WEI
            : undefined;
    if (typeof data !== 'string' || typeof to !== 'string' || own === undefined) return undefined;
    // A wrapper of its own methods does not send coins: a call without a selector is nothing that anybody
    // meant.
    if (targets === undefined && data.length < SELECTOR_CHARACTERS) return undefined;
    return { target: to, data, native: own, place: [...place, index + 1] };
  });
}

const NAMES_MAX = 100;

/** What all calls of one transaction add up to. */
class TransactionTotals {
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
