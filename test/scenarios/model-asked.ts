/*
 * What is asked, and what is known of whom it was asked about.
 */

/** One callback as it was sent, in the model's terms; the empty text for a member that it does not have. */
export interface Asked {
  readonly source: 'shop' | 'vault';
  readonly kind: 'payment' | 'transfer' | 'web3';
  readonly id: string;
  /** All that says what is to be done, as one text. */
  readonly terms: string;
  readonly type: 'payment' | 'sign_prepare' | 'sign_start' | 'sign_success';
  readonly speedUp: boolean;
  readonly amount: string;
  readonly symbol: string;
  readonly userId: string;
  readonly to: string;
  readonly memo: string;
  readonly txid: string;
  /** What a transaction moves; undefined if its call data can't be read. */
  readonly moves: readonly Move[] | undefined;
  /** What an order may say of it. */
  readonly members: Readonly<Record<string, string>>;
  /** The body that was sent. */
  readonly body: string;
}

export interface Move {
  readonly symbol: string;
  readonly to: string;
  readonly amount: string;
}

export interface Decision {
  readonly verdict: 'SUCCESS' | 'FAILURE';
  readonly code: string;
  readonly revision: number | undefined;
  /** Whether a refusal stands until the policies or a list change. */
  readonly stands: boolean;
  /** The lists it depends on, each with how often it had been changed. */
  readonly lists: ReadonlyMap<string, number>;
  readonly atMs: number;
  readonly entry: string;
  /** The alternatives that were taken; the empty text if nothing was left to the store. */
  readonly took: string;
}

export interface Subject {
  readonly terms: string;
  readonly decisions: Map<string, Decision>;
  readonly txids: Set<string>;
  /** The entry of its release. */
  released?: string;
}

export const subjectOf = ({ kind, id }: Pick<Asked, 'kind' | 'id'>): string => `${kind}:${id}`;

/** One speed-up is told from the next by the txids there are by then. */
export const questionOf = ({ type, speedUp }: Asked, { txids }: Subject): string =>
  `${type}${speedUp ? `+${txids.size}` : ''}`;
