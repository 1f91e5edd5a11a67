import type { Failure } from '../errors.ts';
import type { Amount } from '../values/amount.ts';
import { canonicalJson, sha256Hex } from '../values/canonical.ts';

/**
 * `payment` (section 6.1); `transfer`: a withdrawal from custody (6.2); `web3`: a web3 transaction (6.3).
 * Sections are those of the platform's specification, the Merchant Open Platform API Specification, here and
 * in all other files.
 */
export const KINDS = ['payment', 'transfer', 'web3'] as const;
export type Kind = (typeof KINDS)[number];

/** The answer to the platform or the co-signer (sections 6.1 and 6.4). */
export type Verdict = 'SUCCESS' | 'FAILURE';

export type QuestionType = 'payment' | 'sign_prepare' | 'sign_start' | 'sign_success';

/** The question about the subject. A speed-up (`pending_round: true`) is a separate question. */
export interface Question {
  readonly type: QuestionType;
  readonly speedUp: boolean;
}

/**
 * The amount for one recipient. A withdrawal has one for each address; any other callback has at most one.
 */
export interface Payout {
  readonly to: string;
  readonly amount: Amount;
}

/** What a web3 transaction moves, or allows somebody to move. */
export interface Movement {
  /** `native`: coins of the network. `transfer` and `approval`: of a token. */
  readonly type: 'native' | 'transfer' | 'approval';
  /** The asset in the asset table; undefined if no asset has the contract. */
  readonly symbol: string | undefined;
  /** The contract of the token, in lower case; undefined for native coins. */
  readonly contract: string | undefined;
  /** The recipient or the spender, in lower case. */
  readonly to: string;
  /**
   * In units of 10^-36, below 10^72. `unlimited` is above that, or all that the owner has. `unknown` if the
   * asset is, or if the call data has no amount.
   */
  readonly amount: Amount | 'unlimited' | 'unknown';
}

/** The movements of a transaction, for a policy that counts them. */
export interface Movements {
  /** Empty if there is a problem. */
  readonly list: readonly Movement[];
  /** Why they can't be read. */
  readonly problem: MemberProblem | undefined;
}

/** How the chain of a callback's asset reads the members. */
export interface ChainReading {
  /** Why the chain does not accept a member; undefined if it does, or if the member is of no chain. */
  readonly problemOf: (member: string) => MemberProblem | undefined;
  /**
   * Why another spelling of an address would be taken for another address; undefined if all spellings are
   * known.
   */
  readonly unspelled?: MemberProblem;
  /** The canonical form of an address, on a chain where it has several; undefined for any other text. */
  readonly canonical: (text: string) => string | undefined;
  /** The other comparable texts of a canonical address. */
  readonly otherSpellings: (address: string) => readonly string[];
}

export interface MemberProblem {
  /** A sentence. */
  readonly because: string;
  /** The values that it is about. */
  readonly values: Readonly<Record<string, string>>;
}

interface CallbackBase {
  /** The name of the sender in the settings. */
  readonly source: string;
  /** `appOrderId` or `request_id`. With the source and the kind it identifies the subject. */
  readonly id: string;
  readonly question: Question;
  /** `unlimited` (`-1` of a web3 callback) exceeds every limit. */
  readonly amount: Amount | 'unlimited';
  /** The coin's symbol; for web3 the network's (`main_chain_symbol`). */
  readonly symbol: string;
  readonly payouts: readonly Payout[];
  /** The `texts` as comparable texts, and for a withdrawal all addresses in `to`. A missing member has none. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** The members that determine the operation. All callbacks about one subject must have the same terms. */
  readonly terms: Readonly<Record<string, string>>;
  /** Names of members that the specification does not define. The journal keeps them. */
  readonly unknown: readonly string[];
  /** Only evaluation has it. Absent if the members are read as they are. */
  readonly reading?: ChainReading;
  /** Only evaluation has it, and only for policies that count movements. */
  readonly movements?: Movements;
}

/**
 * The members by the names that policies use, as written; the empty text for a missing one. Amounts are plain
 * decimals, and user ids have no zeros at their beginning.
 */
type Texts<Name extends string> = Readonly<Record<Name, string>>;

type CosignerName = 'type' | 'request_id' | 'pending_round' | 'from' | 'to' | 'amount' | 'symbol' | 'txid';

export interface PaymentCallback extends CallbackBase {
  readonly kind: 'payment';
  readonly texts: Texts<'userId' | 'appOrderId' | 'amount' | 'symbol'>;
}

export interface TransferCallback extends CallbackBase {
  readonly kind: 'transfer';
  readonly texts: Texts<CosignerName | 'transfer_id' | 'memo'>;
  /** All addresses that are paid, as written: `to` and those of the outputs, each spelling once. */
  readonly recipients: readonly string[];
}

export interface Web3Callback extends CallbackBase {
  readonly kind: 'web3';
  readonly texts: Texts<CosignerName | 'trans_id' | 'input_data' | 'interactive_contract'>;
}

export type Callback = PaymentCallback | TransferCallback | Web3Callback;

/** The co-signer's `verify_public_hash`. It has no subject, and no policy applies. */
export interface SelfCheck {
  readonly kind: 'self-check';
  readonly source: string;
  readonly appId: string;
  readonly clientHash: string;
  readonly verifyHash: string;
}

/** The highest bound on the outputs of a withdrawal that the settings allow. */
export const OUTPUTS_MAX = 1000;

/** Bounds in addition to those of the body. */
export interface ParseBounds {
  /** The most outputs of a withdrawal. The default is OUTPUTS_MAX. */
  readonly outputs: number;
}

export type Parsed<T> = { readonly ok: true; readonly callback: T } | Failure;

/**
 * The name of the subject within its source. All callbacks with this name must have the same terms. The store
 * decides each of their questions separately.
 */
export function subjectOf(callback: Pick<Callback, 'kind' | 'id'>): string {
  return `${callback.kind}:${callback.id}`;
}

/** The kind of a subject, such as `payment:11321`; undefined for the subject of an entry about no callback. */
export function kindOfSubject(subject: string): Kind | undefined {
  return KINDS.find((kind) => subject.startsWith(`${kind}:`));
}

/** One payout for each address in this form, sorted by address. */
export function mergedPayouts(
  payouts: readonly Payout[],
  form: (address: string) => string,
): readonly Payout[] {
  const paid = new Map<string, Amount>();
  for (const { to, amount } of payouts) {
    const address = form(to);
    paid.set(address, (paid.get(address) ?? 0n) + amount);
  }
  return [...paid].sort(([a], [b]) => (a < b ? -1 : 1)).map(([to, amount]) => ({ to, amount }));
}

/** SHA-256, in hexadecimal, of the canonical terms. Two callbacks about one subject must agree in it. */
export function termsOf({ terms }: Pick<Callback, 'terms'>): string {
  return sha256Hex(canonicalJson(terms));
}

/** The id of the transaction; an empty text if it is missing. */
export function txidOf(callback: Callback): string {
  return callback.kind === 'payment' ? '' : callback.texts.txid;
}
