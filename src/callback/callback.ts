import type { Failure } from '../errors.ts';
import type { Amount } from '../values/amount.ts';

/** What a callback asks about: a payment (section 6.1), a withdrawal (6.2) or a web3 transaction (6.3). */
export type Kind = 'payment' | 'transfer' | 'web3';

/** SUCCESS or FAILURE: what the platform or the co-signer is told (sections 6.1 and 6.4). */
export type Verdict = 'SUCCESS' | 'FAILURE';

export type QuestionType = 'payment' | 'sign_prepare' | 'sign_start' | 'sign_success';

/** What is asked about the subject. A speed-up (`pending_round: true`) is a question of its own. */
export interface Question {
  readonly type: QuestionType;
  readonly speedUp: boolean;
}

/**
 * Who is paid how much. A withdrawal to several addresses has one for each; any other callback at most one.
 */
export interface Payout {
  readonly to: string;
  readonly amount: Amount;
}

interface CallbackBase {
  /** The name of the source in the settings. */
  readonly source: string;
  /** `appOrderId` or `request_id`: with the source and the kind it names the subject. */
  readonly id: string;
  readonly question: Question;
  /** `unlimited` (a web3 `-1`) is above every limit. */
  readonly amount: Amount | 'unlimited';
  /** The coin's symbol; for web3 the network's (`main_chain_symbol`). */
  readonly symbol: string;
  readonly payouts: readonly Payout[];
  /**
   * The members by the names that policies use, as comparable text; none for an optional member that is not
   * there.
   */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** All that says what is to be done. Two callbacks about one subject must agree in these. */
  readonly terms: Readonly<Record<string, string>>;
  /** Names of members that the specification does not define, kept in the journal. */
  readonly unknown: readonly string[];
}

export interface PaymentCallback extends CallbackBase {
  readonly kind: 'payment';
  readonly userId: string;
}

export interface TransferCallback extends CallbackBase {
  readonly kind: 'transfer';
  readonly from: string;
  readonly to: string;
  /** Every address that is paid, as it is written: `to` and those of the outputs, each spelling once. */
  readonly recipients: readonly string[];
  readonly memo: string | undefined;
  readonly txid: string | undefined;
}

export interface Web3Callback extends CallbackBase {
  readonly kind: 'web3';
  readonly from: string;
  readonly to: string;
  readonly inputData: string;
  readonly interactiveContract: string;
  readonly txid: string | undefined;
}

export type Callback = PaymentCallback | TransferCallback | Web3Callback;

/** The co-signer's `verify_public_hash`: no subject, no policies. */
export interface SelfCheck {
  readonly kind: 'self-check';
  readonly source: string;
  readonly appId: string;
  readonly clientHash: string;
  readonly verifyHash: string;
}

/** The most outputs of one withdrawal that any setting allows. */
export const OUTPUTS_MAX = 1000;

/** What a callback may hold at most, beside the bounds of its body. */
export interface ParseBounds {
  /** Outputs of a withdrawal; OUTPUTS_MAX if it is not said. */
  readonly outputs: number;
}

export type Parsed<T> = { readonly ok: true; readonly callback: T } | Failure;

/** The subject's name within its source: one decision stands for all callbacks that share it. */
export function subjectOf(callback: Pick<Callback, 'kind' | 'id'>): string {
  return `${callback.kind}:${callback.id}`;
}
