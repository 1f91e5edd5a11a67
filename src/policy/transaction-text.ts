import type { Callback, Web3Callback } from '../callback/callback.ts';
import { formatAmount } from '../values/amount.ts';
import { tokenAt } from './assets.ts';
import { type Argument, type Value, formatUnits, formatValue, valuesAt } from './calls/abi.ts';
import { methodsBySelector } from './calls/methods.ts';
import { type ReadCall, type Reading, readTransaction } from './calls/read.ts';
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
  const { calls, problem } = readTransaction(callback, readingFor(release, callback.symbol));
  return {
    list: calls.map((call) => callText(release, callback, call)),
    problem: problem?.because ?? '',
  };
}

function readingFor(release: Release | undefined, network: string): Reading {
  const allowed = (release?.policies ?? [])
    .flatMap(({ rules }) => rules.flatMap(({ allowedCalls }) => allowedCalls ?? []))
    .filter(({ networks }) => networks.has(network));
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

function callText(release: Release | undefined, { symbol }: Web3Callback, call: ReadCall): CallText {
  const { contract, decoded, isDelegated, native, position } = call;
  const token = release && tokenAt(release.assets, symbol, contract);
  const { method, values = [] } = decoded ?? {};
  const textOf = (argument: Argument): string => {
    const found = valuesAt(values, argument);
    const isAmount = method?.isErc20 === true && method.amounts.has(argument);
    const inUnits = (value: Value): string =>
      isAmount && token !== undefined && typeof value === 'bigint'
        ? `${value} (${formatUnits(value, token.decimals)} ${token.symbol})`
        : formatValue(value);
    return found.map(inUnits).join(' ');
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
