import type {
  Callback,
  PaymentCallback,
  TransferCallback,
  Web3Callback,
} from '../../src/callback/callback.ts';
import { parsePayment } from '../../src/callback/payment.ts';
import { parseTransfer } from '../../src/callback/transfer.ts';
import { parseWeb3 } from '../../src/callback/web3.ts';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import { type Price, type PriceTable, factsAt } from '../../src/policy/facts.ts';
import { formatFault } from '../../src/policy/fault.ts';
import type { Claim } from '../../src/claims/claims.ts';
import type { Proposal, RuleResult } from '../../src/policy/proposal.ts';
import type { Release } from '../../src/policy/release.ts';
import { parseAmount } from '../../src/values/amount.ts';
import { type Members, readMembers } from '../../src/values/members.ts';
import { ASSETS } from '../assets.ts';
import { type Column, type Names, type Written, oneOf, string, strings } from '../cases.ts';

type Body = Readonly<Record<string, unknown>>;

/** 2024-03-15 12:00:00.000 UTC, a Friday. */
export const NOON = Date.UTC(2024, 2, 15, 12);

export const A = '0x52908400098527886E0F7030069857D2E4169EE7';
export const B = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';
export const C = '0xde709f2102306220921060314715629080e2fb77';

export function payment(body: Body = {}, source = 'shop'): PaymentCallback {
  const all = {
    appKey: 'k',
    appOrderId: 'o-1',
    userId: '12345',
    orderAmount: '100',
    payCoinSymbol: 'USDT1742',
    ...body,
  };
  return parsed(parsePayment(members(all), source));
}

export function transfer(body: Body = {}, source = 'vault'): TransferCallback {
  const all = {
    type: 'sign_start',
    transfer_id: 7,
    request_id: 'r-1',
    pending_round: false,
    from: C,
    to: A,
    amount: '1.5',
    symbol: 'ETH',
    ...body,
  };
  return parsed(parseTransfer(members(all), source));
}

export function web3(body: Body = {}, source = 'vault'): Web3Callback {
  const all = {
    type: 'sign_start',
    trans_id: 7,
    request_id: 'w-1',
    pending_round: false,
    from: C,
    to: A,
    amount: '0',
    main_chain_symbol: 'ETH',
    input_data: '0xa9059cbb',
    interactive_contract: B,
    ...body,
  };
  return parsed(parseWeb3(members(all), source));
}

/**
 * A callback as tables have it: its kind, and the members that are not as usual. Outputs are a list of
 * addresses and amounts.
 */
export const asCallback: Column<Callback> = (written, names) => {
  const [kind, given = {}] = Object.entries(written)[0] ?? [];
  const body = Object.fromEntries(
    Object.entries(given as { readonly [name: string]: Written }).map(([name, value]) => [
      name,
      Array.isArray(value) ? outputsText(value as readonly Written[], names) : scalarOf(string(value, names)),
    ]),
  );
  return { payment, transfer, web3 }[oneOf('payment', 'transfer', 'web3')(kind ?? '', names)](body);
};

/** `true`, `false` and `-1` are no texts on the wire. */
const scalarOf = (text: string): unknown => (/^(?:true|false|-1)$/.test(text) ? JSON.parse(text) : text);

const outputsText = (written: readonly Written[], names: Names): unknown =>
  outputs(
    ...written.map((each) => {
      const [to = '', amount = ''] = strings(each, names);
      return [to, amount] as const;
    }),
  )['outputs'];

/** A withdrawal of these amounts to these addresses. */
export function outputs(...paid: readonly (readonly [to: string, amount: string])[]): Body {
  return { outputs: JSON.stringify(paid.map(([to, amount]) => ({ address_to: to, amount }))) };
}

export type ListTexts = Readonly<Record<string, string>>;

/** Compiles policies without an asset table. */
export const NO_ASSETS = '';

/** Compiles one file and an asset table; throws with its faults. */
export function release(yaml: string, lists: ListTexts = {}, assets: string = ASSETS): Release {
  const compiled = readPolicyFiles(filesOf(yaml, assets), (name) => lists[name]);
  if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
  return compiled.release;
}

/** The faults of one file, as text. */
export function faultsOf(yaml: string, lists: ListTexts = {}, assets?: string): readonly string[] {
  const compiled = readPolicyFiles(filesOf(yaml, assets), (name) => lists[name]);
  return compiled.ok ? [] : compiled.faults.map(formatFault);
}

function filesOf(yaml: string, assets: string | undefined): Parameters<typeof readPolicyFiles>[0] {
  const policies = { name: 'a.yaml', text: yaml };
  return assets === undefined || assets === NO_ASSETS
    ? [policies]
    : [policies, { name: 'assets.yaml', text: assets }];
}

/** What is known beside the instant: prices, the scheme, answers. */
export type MoreFacts = NonNullable<Parameters<typeof factsAt>[1]>;

/** A price table by asset; a price is true as of noon if nothing else is said. */
export function pricesOf(
  prices: Readonly<Record<string, string | readonly [price: string, asOfMs: number]>>,
  version = 1,
): PriceTable {
  const entries = Object.entries(prices).map(([asset, given]): [string, Price] => {
    const [text, asOfMs] = typeof given === 'string' ? [given, NOON] : given;
    const price = parseAmount(text);
    if (price === undefined) throw new Error(`${text} is no price`);
    return [asset, { price, asOfMs }];
  });
  return { version, prices: new Map(entries) };
}

/** What a release says at an instant; without more, no price, scheme or answer is known. */
export function evaluateAt(
  inForce: Release | undefined,
  callback: Callback,
  nowMs: number,
  facts: MoreFacts = {},
): Proposal {
  return evaluate(inForce, callback, factsAt(nowMs, facts));
}

export interface JudgedOptions {
  readonly when?: string;
  readonly lists?: ListTexts;
  /** The text of `assets.yaml`. */
  readonly assets?: string;
  /** Noon, if nothing else is said. */
  readonly nowMs?: number;
  readonly facts?: MoreFacts;
}

/** What a policy with this one rule, for callbacks of this kind and in any other way unlimited, says. */
export function judged(
  rule: string,
  callback: Callback,
  options: JudgedOptions = {},
): { readonly result: RuleResult; readonly claims: readonly Claim[]; readonly proposal: Proposal } {
  const yaml = onePolicy(rule, callback.kind, options.when);
  const inForce = release(yaml, options.lists, options.assets);
  const proposal = evaluateAt(inForce, callback, options.nowMs ?? NOON, options.facts);
  const [result] = proposal.results;
  if (result === undefined) throw new Error('the policy did not apply');
  return { result, claims: proposal.claims, proposal };
}

export function onePolicy(rule: string, kind: string = 'payment', when?: string): string {
  return `policy: one\ncallback: ${kind}\n${when === undefined ? '' : `when: ${when}\n`}rules:\n  - ${rule}\n`;
}

/** The faults of a policy with this one rule. */
export function ruleFaults(rule: string, kind = 'payment', when?: string): readonly string[] {
  return faultsOf(onePolicy(rule, kind, when));
}

function members(body: Body): Members {
  const decoded = readMembers(JSON.stringify(body));
  if (!decoded.ok) throw new Error(decoded.because);
  return decoded.members;
}

function parsed<T>(
  result: { readonly ok: true; readonly callback: T } | { readonly ok: false; readonly because: string },
): T {
  if (!result.ok) throw new Error(result.because);
  return result.callback;
}
