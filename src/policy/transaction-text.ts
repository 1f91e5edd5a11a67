import type { Callback, Web3Callback } from '../callback/callback.ts';
import { formatAmount } from '../values/amount.ts';
import { tokenAt } from './language/assets.ts';
import { type Argument, type Type, type Value, formatUnits, formatValue, valuesAt } from './calls/abi.ts';
import { methodsBySelector } from './calls/known-methods.ts';
import { type ReadCall, type Reading, readTransaction } from './calls/read.ts';
import type { AllowedTransactions } from './calls/transaction.ts';
import { movementsOf } from './evaluate.ts';
import { type MovementText, movementText } from './movements.ts';
import type { Release } from './release.ts';

/*
 * What a web3 transaction does, for people. No rule decides by it.
 */

/** The movements that the rules of a policy see. */
export interface PolicyMovementTexts {
  readonly policy: string;
  /** Empty if there is a problem. */
  readonly list: readonly MovementText[];
  /** Why they can't be read; the empty text if they can. */
  readonly problem: string;
}

/** What a transaction moves, for each policy with `movements` that may apply at some time and some prices. */
export function movementTexts(
  release: Release | undefined,
  callback: Callback,
): readonly PolicyMovementTexts[] {
  return movementsOf(release, callback).map(({ policy, movements: { list, problem } }) => ({
    policy,
    list: list.map(movementText),
    problem: problem?.because ?? '',
  }));
}

/** The calls of a transaction. */
export interface CallTexts {
  /** In the order in which the transaction names them. A wrapper comes before the calls in it. */
  readonly list: readonly CallText[];
  /** Why the calls after these can't be read; the empty text if they can. */
  readonly problem: string;
}

export interface CallText {
  /** The position in each wrapper around it, like `2.1`. Empty for the transaction's own call. */
  readonly position: string;
  readonly contract: string;
  /** The symbol of the token in the asset table; the empty text if the contract is none. */
  readonly token: string;
  /** `transfer(address,uint256)`, or `plain transfer` for native coins without call data. */
  readonly method: string;
  readonly delegatecall: boolean;
  /** Native coins that the call sends: a plain decimal, or `unlimited`. */
  readonly native: string;
  readonly arguments: readonly { readonly name: string; readonly value: string }[];
}

/** Far above what wallets send; it bounds the page that shows them. */
const NESTING = { depth: 8, calls: 200 };

/**
 * The calls of a transaction, by the methods that `contract-calls` rules of any policy name for the contract, and
 * otherwise by the built-in methods, whatever the contract. Without policies, only by the latter.
 */
export function callTexts(release: Release | undefined, callback: Web3Callback): CallTexts {
  const allowed = (release?.policies ?? [])
    .flatMap(({ rules }) => rules.flatMap(({ allowedCalls }) => allowedCalls ?? []))
    .filter(({ networks }) => networks.has(callback.symbol));
  const { calls, problem } = readTransaction(callback, readingFor(allowed));
  return {
    list: calls.map((call) => callText({ release, allowed, callback }, call)),
    problem: problem?.because ?? '',
  };
}

function readingFor(allowed: readonly AllowedTransactions[]): Reading {
  return {
    nesting: NESTING,
    methodOf(contract, selector) {
      const named = allowed.map(({ reading }) => reading.methodOf(contract, selector));
      const method = named.find((each) => 'method' in each)?.method ?? methodsBySelector().get(selector);
      return method === undefined
        ? { because: `no policy names the method ${selector} of ${contract}`, values: {} }
        : { method, trailingMax: Infinity };
    },
  };
}

interface CallContext {
  readonly release: Release | undefined;
  readonly allowed: readonly AllowedTransactions[];
  readonly callback: Web3Callback;
}

function callText({ release, allowed, callback: { symbol } }: CallContext, call: ReadCall): CallText {
  const { contract, decoded, isDelegated, native, position } = call;
  const token = release && tokenAt(release.assets, symbol, contract);
  const { method, values = [] } = decoded ?? {};
  const entries = allowed.flatMap((each) => each.entries.get(contract)?.get(method?.selector ?? '') ?? []);
  /** As the rules that name the method know it. */
  const decimalsOf = ({ path }: Argument): number | undefined =>
    entries
      .flatMap(({ amounts }) => [...amounts])
      .find(([argument, decimals]) => argument.path === path && decimals !== undefined)?.[1];
  const textOf = (argument: Argument): string => {
    const found = valuesAt(values, argument);
    if (method?.amounts.has(argument) !== true) return found.map(formatValue).join(' ');
    const ofToken = method.traits.isErc20 === true ? token : undefined;
    const decimals = ofToken?.decimals ?? decimalsOf(argument);
    return found.map((value) => amountText(value, argument.type, decimals, ofToken?.symbol)).join(' ');
  };
  return {
    position: position.join('.'),
    contract,
    token: token?.symbol ?? '',
    method: method?.signature ?? 'plain transfer',
    delegatecall: isDelegated,
    native: native === 'unlimited' ? native : formatAmount(native),
    arguments: (method?.arguments ?? []).map((argument) => ({
      name: argument.path,
      value: textOf(argument),
    })),
  };
}

/** An amount in the token's own units, and in whole units if its decimals are known. */
function amountText(value: Value, type: Type, decimals: number | undefined, symbol = ''): string {
  if (typeof value !== 'bigint') return formatValue(value);
  if (type.kind === 'uint' && value === 2n ** BigInt(type.bits) - 1n) return `unlimited (2^${type.bits}-1)`;
  return decimals === undefined || decimals === 0
    ? `${value}`
    : `${value} (${`${formatUnits(value, decimals)} ${symbol}`.trim()})`;
}
