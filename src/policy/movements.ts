import type { Callback, MemberProblem, Movement, Movements, Web3Callback } from '../callback/callback.ts';
import { AMOUNT_SCALE, type Amount, formatAmount } from '../values/amount.ts';
import { type AssetTable, tokenAt } from './language/assets.ts';
import { TOO_GREAT } from './language/moved-amounts.ts';
import { type Value, valuesAt } from './calls/abi.ts';
import { isUnlimited } from './calls/condition.ts';
import { placesOfCalls } from './calls/inner-calls.ts';
import { methodsBySelector } from './calls/known-methods.ts';
import type { Method, TokenMove } from './calls/methods.ts';
import {
  type DecodedCall,
  type ReadCall,
  type Reading,
  type Refusal,
  inCall,
  readTransaction,
} from './calls/read.ts';
import type { AllowedTransactions } from './calls/transaction.ts';

/** No transaction of today has a tenth of it; each movement may need a claim of its own. */
const MOVEMENTS_MAX = 1000;

/** What a policy with `movements` knows of call data. */
export interface MovementReader {
  /** The movements of a callback, and its problem if they can't be read. Never throws. */
  readonly read: (callback: Web3Callback) => Movements;
}

/**
 * Reads the movements of transactions: native coins, and the tokens that the call data moves. It can read the
 * ERC-20 methods of the contracts in the asset table, and the calls that `allowed` names. These must be
 * judged by the policy whenever it passes a transaction.
 */
export function createMovementReader(
  allowed: readonly AllowedTransactions[],
  assets: AssetTable,
): MovementReader {
  // Only networks of the asset table are added, so callbacks can't make the map grow.
  const networks = new Map<string, Network>();
  return {
    read(callback) {
      const { symbol: network } = callback;
      const problem = (refusal: Refusal): Movements => ({ list: [], problem: unreadable(refusal) });
      if (assets.get(network)?.chain !== 'evm') {
        const because = `the asset table has no EVM network ${network}`;
        return problem({ because, values: { symbol: network } });
      }
      const known = networks.get(network) ?? readNetwork(network, allowed, assets);
      networks.set(network, known);
      const list = new MovementList(callback, assets, known.allowed);
      const { calls, problem: unread } = readTransaction(callback, known.reading);
      const refusal = unread ?? list.add(calls);
      return refusal === undefined ? { list: list.movements, problem: undefined } : problem(refusal);
    },
  };
}

/**
 * The methods of tokens that the policy's own ABI defines, as `METHOD of SYMBOL`. What they move of the token
 * is not known, and does not count.
 */
export function uncountedMethods(
  allowed: readonly AllowedTransactions[],
  assets: AssetTable,
): readonly string[] {
  const found = allowed.flatMap(({ networks, entries }) =>
    [...entries].flatMap(([contract, bySelector]) => {
      const token = [...networks].map((network) => tokenAt(assets, network, contract)).find(Boolean);
      const methods = [...bySelector.values()].flat().map(({ method }) => method);
      return token === undefined
        ? []
        : methods
            .filter(({ traits, innerCalls }) => traits.fromAbiFile === true && innerCalls === undefined)
            .map(({ signature }) => `${signature} of ${token.symbol}`);
    }),
  );
  return [...new Set(found)];
}

/** The callback as the rules of a policy see it. */
export function withMovements(callback: Callback, reader: MovementReader | undefined): Callback {
  return reader === undefined || callback.kind !== 'web3'
    ? callback
    : { ...callback, movements: reader.read(callback) };
}

/**
 * A movement for people and programs outside: amounts are plain decimals, and what is not known is left out.
 */
export interface MovementText {
  readonly type: Movement['type'];
  readonly symbol?: string;
  readonly contract?: string;
  readonly to: string;
  readonly amount: string;
}

export function movementText({ type, symbol, contract, to, amount }: Movement): MovementText {
  return {
    type,
    ...(symbol === undefined ? {} : { symbol }),
    ...(contract === undefined ? {} : { contract }),
    to,
    amount: typeof amount === 'string' ? amount : formatAmount(amount),
  };
}

function unreadable({ because, values }: Refusal): MemberProblem {
  return { because: `what it moves is not known: ${because}`, values };
}

interface Network {
  readonly reading: Reading;
  /** The calls that are allowed on this network. An address is another contract on another one. */
  readonly allowed: readonly AllowedTransactions[];
}

function readNetwork(network: string, all: readonly AllowedTransactions[], assets: AssetTable): Network {
  const allowed = all.filter(({ networks }) => networks.has(network));
  const methodOf = methodLookup(network, allowed, assets);
  return { reading: { methodOf, nesting: nestingOf(allowed) }, allowed };
}

/** The contract-calls rules have bounds of their own; the greatest reads all that one of them allows. */
function nestingOf(allowed: readonly AllowedTransactions[]): Reading['nesting'] {
  const bounds = allowed.flatMap(({ reading }) => reading.nesting ?? []);
  if (bounds.length === 0) return undefined;
  return {
    depth: Math.max(...bounds.map(({ depth }) => depth)),
    calls: Math.max(...bounds.map(({ calls }) => calls)),
  };
}

function methodLookup(
  network: string,
  allowed: readonly AllowedTransactions[],
  assets: AssetTable,
): Reading['methodOf'] {
  return (contract, selector) => {
    const found = allowed.map(({ reading }) => reading.methodOf(contract, selector));
    const named = found.filter((each) => 'method' in each);
    const trailingMax = Math.max(0, ...named.map((each) => each.trailingMax));
    const token = tokenAt(assets, network, contract);
    const known = methodsBySelector().get(selector);
    // The names in an ABI file could make an amount an id.
    if (token !== undefined && known?.traits.isErc20 === true) return { method: known, trailingMax };
    const [first, ...others] = named;
    if (first !== undefined) {
      const { signature } = first.method;
      return others.every((other) => hasSameCalls(first.method, other.method))
        ? { method: first.method, trailingMax }
        : {
            because: `the rules contract-calls of the policy differ in the calls that ${signature} contains`,
            values: { contract, selector, method: signature },
          };
    }
    const method = known?.signature ?? selector;
    const of = token === undefined ? contract : `${token.symbol} (${contract})`;
    return {
      because: `the asset table and contract-calls of the policy name no method ${method} of ${of}`,
      values: { contract, selector, ...(known === undefined ? {} : { method }) },
    };
  };
}

/** Otherwise the one that is read might not have the calls that the other rule has judged. */
const hasSameCalls = (one: Method, other: Method): boolean =>
  one.signature === other.signature && placesOfCalls(one.innerCalls) === placesOfCalls(other.innerCalls);

/** Whether an entry lets an account run the method as its own code. */
function mayRunDelegated({ contract, decoded }: ReadCall, allowed: readonly AllowedTransactions[]): boolean {
  return allowed.some(({ entries }) =>
    entries
      .get(contract)
      ?.get(decoded?.method.selector ?? '')
      ?.some((entry) => entry.delegatecall),
  );
}

/** Adds up the movements of the calls of one transaction. */
class MovementList {
  readonly movements: Movement[] = [];
  readonly #callback: Web3Callback;
  readonly #assets: AssetTable;
  readonly #allowed: readonly AllowedTransactions[];

  constructor(callback: Web3Callback, assets: AssetTable, allowed: readonly AllowedTransactions[]) {
    this.#callback = callback;
    this.#assets = assets;
    this.#allowed = allowed;
  }

  /** Returns why the movements are not known; undefined if they are. */
  add(calls: readonly ReadCall[]): Refusal | undefined {
    for (const call of calls) {
      const refusal = this.#addTokens(call);
      if (refusal !== undefined) return inCall(refusal, call);
    }
    this.#addNative(calls);
    this.#addReturns(calls);
    const [outer] = calls;
    if (this.movements.length > MOVEMENTS_MAX) {
      const because = `there are ${this.movements.length} movements, more than ${MOVEMENTS_MAX}`;
      return { because, values: {} };
    }
    return this.#checkTo(outer);
  }

  #addTokens(call: ReadCall): Refusal | undefined {
    const { decoded, isDelegated, contract } = call;
    if (decoded === undefined) return undefined;
    const { method, values } = decoded;
    const refuse = (because: string): Refusal => ({
      because,
      values: { contract, method: method.signature },
    });
    if (isDelegated && (method.innerCalls === undefined || !mayRunDelegated(call, this.#allowed))) {
      return refuse(`${method.signature} is run by delegatecall`);
    }
    const paid = method.zero.find((argument) => valuesAt(values, argument).some((value) => value !== 0n));
    if (paid !== undefined) {
      return refuse(
        `${paid.path} of ${method.signature} is not zero, and pays an amount that it does not say`,
      );
    }
    for (const move of method.moves ?? []) this.#addMoves(move, call, decoded);
    return undefined;
  }

  #addMoves(move: TokenMove, call: ReadCall, { values }: DecodedCall): void {
    const at = (argument: TokenMove['to'] | undefined): readonly Value[] =>
      argument === undefined ? [] : valuesAt(values, argument);
    const [recipients, tokens, amounts] = [at(move.to), at(move.token), at(move.amount)];
    const count = Math.max(recipients.length, tokens.length, amounts.length);
    for (let index = 0; index < count; index++) {
      const to = addressIn(recipients, index);
      const contract = move.token === undefined ? call.contract : addressIn(tokens, index);
      const token = tokenAt(this.#assets, this.#callback.symbol, contract);
      const base = { type: move.type, symbol: token?.symbol, contract, to };
      if (move.revokes === true) {
        this.movements.push({ ...base, amount: 0n });
      } else {
        const written = itemAt(amounts, index);
        const isExact = token !== undefined && written !== undefined;
        this.movements.push({
          ...base,
          amount: isExact ? amountOf(written, move.amount, token.decimals) : 'unknown',
        });
      }
    }
  }

  /** The native coins: what each call brings to its contract, and what wrappers don't send on. */
  #addNative(calls: readonly ReadCall[]): void {
    const wrappers = new WrapperCoins();
    for (const [index, call] of calls.entries()) {
      const { decoded, contract, runsAs } = call;
      const sent = index === 0 && statesApproval(call) ? 0n : call.sent;
      const { innerCalls, moves } = decoded?.method ?? { innerCalls: undefined, moves: undefined };
      wrappers.add(call, sent, innerCalls === undefined ? undefined : runsAs);
      // A call that is known to move something else is not for its contract, unless it sends coins to it.
      if (innerCalls === undefined && (sent !== 0n || moves === undefined)) this.#pushNative(contract, sent);
    }
    for (const [address, stays] of wrappers.stays()) {
      if (!this.#isOurs(address)) this.#pushNative(address, stays);
    }
  }

  /**
   * What calls may bring to the wrappers that make them, once for each: a call of a method of which nothing
   * is known but its coins, and coins for a contract that may give tokens for them.
   */
  #addReturns(calls: readonly ReadCall[]): void {
    const callers = calls
      .filter(({ decoded, contract, sent }) =>
        decoded === undefined
          ? sent !== 0n && this.#isKnown(contract)
          : decoded.method.innerCalls === undefined && decoded.method.moves === undefined,
      )
      .map(({ caller }) => caller);
    for (const caller of new Set(callers)) {
      if (!this.#isOurs(caller)) this.#pushNative(caller, 'unknown');
    }
  }

  #pushNative(to: string, amount: Movement['amount']): void {
    const { symbol } = this.#callback;
    const known = amount === 'unknown' ? amount : bounded(amount);
    this.movements.push({ type: 'native', symbol, contract: undefined, to, amount: known });
  }

  #isOurs(address: string): boolean {
    return (
      address === this.#callback.texts.from.toLowerCase() ||
      this.#allowed.some(({ accounts }) => accounts.has(address))
    );
  }

  /** Whether the asset table or a rule knows an address as a contract. */
  #isKnown(address: string): boolean {
    return (
      tokenAt(this.#assets, this.#callback.symbol, address) !== undefined ||
      this.#allowed.some(({ entries }) => entries.has(address))
    );
  }

  /** The callback may name the recipient in `to` instead of the contract. It must be one of the two. */
  #checkTo(outer: ReadCall | undefined): Refusal | undefined {
    const to = this.#callback.texts.to.toLowerCase();
    if (to === outer?.contract || this.movements.some((movement) => movement.to === to)) return undefined;
    return { because: `to is ${to}, which is neither the called contract nor a recipient`, values: { to } };
  }
}

/**
 * What wrappers get and send. A call that may fail is a part of the transaction that takes effect or not,
 * with all calls in it. What a wrapper sends is not with it anymore only if the part in which it got it
 * includes the sending.
 */
class WrapperCoins {
  /** The part around each part; the first is the transaction. */
  readonly #around: number[] = [0];
  /** The part of the last call at each depth. */
  readonly #partAt: number[] = [0];
  /** By address, what it gets minus what it sends, in each part. */
  readonly #gains = new Map<string, Amount[]>();
  readonly #unlimited = new Set<string>();

  /** Adds a call that sends coins; `wrapper` is whom it lets make other calls. Outer calls come first. */
  add(
    { position, mayFail, caller }: ReadCall,
    sent: Amount | 'unlimited',
    wrapper: string | undefined,
  ): void {
    const depth = position.length;
    const outer = this.#partAt[depth - 1] ?? 0;
    if (mayFail) this.#around.push(outer);
    const part = mayFail ? this.#around.length - 1 : outer;
    this.#partAt[depth] = part;
    if (wrapper !== undefined) {
      if (sent === 'unlimited') this.#unlimited.add(wrapper);
      this.#change(wrapper, part, sent === 'unlimited' ? 0n : sent);
    }
    if (depth > 0 && sent !== 'unlimited') this.#change(caller, part, -sent);
  }

  #change(address: string, part: number, by: Amount): void {
    const gains = this.#gains.get(address) ?? [];
    gains[part] = (gains[part] ?? 0n) + by;
    this.#gains.set(address, gains);
  }

  /** The most that stays with each wrapper, whichever parts fail. */
  *stays(): Generator<readonly [address: string, amount: Amount | 'unlimited']> {
    for (const [address, gains] of this.#gains) {
      // A part comes after the one around it.
      for (let part = this.#around.length - 1; part > 0; part--) {
        const gained = gains[part] ?? 0n;
        const around = this.#around[part] ?? 0;
        if (gained > 0n) gains[around] = (gains[around] ?? 0n) + gained;
      }
      const [gained = 0n] = gains;
      if (this.#unlimited.has(address)) yield [address, 'unlimited'];
      else if (gained > 0n) yield [address, gained];
    }
  }
}

/** Whether the callback's `-1` is the amount of an approval, which sends no coins. */
function statesApproval({ native, decoded }: ReadCall): boolean {
  if (native !== 'unlimited' || decoded?.method.approval !== true) return false;
  const { moves = [] } = decoded.method;
  return moves.some(({ amount }) =>
    amount === undefined
      ? false
      : valuesAt(decoded.values, amount).some((value) => isUnlimited(value, amount)),
  );
}

/** The item of a list; a single value belongs to every item. */
const itemAt = (values: readonly Value[], index: number): Value | undefined =>
  values.length === 1 ? values[0] : values[index];

const addressIn = (values: readonly Value[], index: number): string => String(itemAt(values, index) ?? '');

function amountOf(written: Value, argument: TokenMove['amount'], decimals: number): Movement['amount'] {
  if (argument === undefined || isUnlimited(written, argument)) return 'unlimited';
  return typeof written === 'bigint' ? bounded(written * 10n ** BigInt(AMOUNT_SCALE - decimals)) : 0n;
}

const bounded = (amount: Amount | 'unlimited'): Amount | 'unlimited' =>
  amount === 'unlimited' || amount >= TOO_GREAT ? 'unlimited' : amount;
