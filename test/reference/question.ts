/*
 * What is asked: a callback as the documentation describes it.
 */

export type Kind = 'payment' | 'transfer' | 'web3';
export type Member = 'userId' | 'to' | 'symbol' | 'memo';

/** An amount that the callback names itself, or what its call data moves, or allows somebody to take. */
export interface Movement {
  readonly kind: 'own' | 'native' | 'transfer' | 'approval';
  readonly to: string;
  readonly asset: string;
  readonly amount: bigint | 'unlimited';
}

export interface Question {
  readonly source: string;
  readonly kind: Kind;
  readonly id: string;
  readonly type: 'payment' | 'sign_prepare' | 'sign_start' | 'sign_success';
  readonly speedUp: boolean;
  /** Of a notification; the empty text for none. */
  readonly txid: string;
  readonly scheme: string | undefined;
  /** All that says what is to be done, as one text. */
  readonly terms: string;
  /** The values of a member. One that the callback lacks is absent. Only `to` may have several values. */
  readonly members: Readonly<Partial<Record<Member, readonly string[]>>>;
  /** Address by address, in the order of their texts. */
  readonly amounts: readonly Movement[];
  /** Of a transaction, what its call data moves; undefined if it can't be read. */
  readonly movements: readonly Movement[] | undefined;
  /** What an order may name. */
  readonly orderMembers: Readonly<Record<string, string>>;
}

export const subjectOf = ({ kind, id }: Pick<Question, 'kind' | 'id'>): string => `${kind}:${id}`;
