import type { Web3Callback } from '../../callback/callback.ts';
import type { Amount } from '../../values/amount.ts';
import { type Outcome, refuse } from '../rules/rule.ts';
import type { Condition } from './condition.ts';
import { type Call, SELECTOR_CHARACTERS, heldCalls, readCall } from './call.ts';
import type { Value } from './decode.ts';
import type { Entry } from './entry.ts';
import { type Match, matchEntry } from './match.ts';
import type { Method } from './method.ts';
import { type Refusal, TransactionTotals, formatNative, listedBy } from './totals.ts';

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
