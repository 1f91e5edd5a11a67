import type { Amount } from '../values/amount.ts';

/**
 * What an item can be. `counts`: which side enters the sums of the day. An `exception` is a difference that
 * somebody must explain, and an `alarm` is one where money may have been taken or sent without our approval.
 */
export const CLASSES = {
  matched: { level: 'explained', counts: 'both', meaning: 'approved, and billed or signed as approved' },
  'transfer-order': {
    level: 'explained',
    counts: 'theirs',
    meaning: 'a transfer order (type 11), which needs no approval',
  },
  'settled-before': {
    level: 'explained',
    counts: 'none',
    meaning: "approved today, billed in the day before's bill",
  },
  settling: {
    level: 'explained',
    counts: 'ours',
    meaning: "approved at the day's end; carried to the next day",
  },
  'approved-late': {
    level: 'explained',
    counts: 'none',
    meaning: 'approved, but FAILURE was answered; neither billed nor signed',
  },
  released: {
    level: 'explained',
    counts: 'none',
    meaning: 'approved, then released as failed; neither billed nor signed',
  },
  'speed-up': {
    level: 'explained',
    counts: 'none',
    meaning: 'signed again under another txid, by an approved speed-up',
  },
  'approved-not-billed': { level: 'exception', counts: 'ours', meaning: 'approved, but not billed' },
  'billed-never-approved': { level: 'alarm', counts: 'theirs', meaning: 'billed, but never approved' },
  'billed-twice': { level: 'alarm', counts: 'theirs', meaning: 'billed more than once' },
  'billed-different': {
    level: 'alarm',
    counts: 'both',
    meaning: 'billed with another amount, coin, user or order type',
  },
  'billed-after-failure': {
    level: 'alarm',
    counts: 'both',
    meaning: 'billed, but FAILURE was answered, because the approval came late',
  },
  'billed-after-release': {
    level: 'alarm',
    counts: 'theirs',
    meaning: 'billed, but its approval was released, so that no limit counts it',
  },
  'billed-unreadable': {
    level: 'exception',
    counts: 'none',
    meaning: "a record of the bill that can't be read",
  },
  'billed-late': {
    level: 'exception',
    counts: 'theirs',
    meaning: 'approved on an earlier day, billed only now',
  },
  'approved-not-signed': { level: 'exception', counts: 'ours', meaning: 'approved, but not signed' },
  'signed-without-approval': { level: 'alarm', counts: 'theirs', meaning: 'signed without approval' },
  'signed-different': { level: 'alarm', counts: 'both', meaning: 'signed with other terms than approved' },
  'signed-twice': { level: 'alarm', counts: 'theirs', meaning: 'signed under more txids than approved' },
  'signed-after-failure': {
    level: 'alarm',
    counts: 'both',
    meaning: 'signed, but FAILURE was answered, because the approval came late',
  },
  'signed-after-release': {
    level: 'alarm',
    counts: 'theirs',
    meaning: 'signed after its approval was released, so that no limit counts it',
  },
  'signed-late': {
    level: 'exception',
    counts: 'theirs',
    meaning: 'approved on an earlier day, signed only now',
  },
  'txid-unexpected': { level: 'alarm', counts: 'none', meaning: 'the journal noted an unexpected txid' },
} as const satisfies Readonly<Record<string, ClassRow>>;

interface ClassRow {
  readonly level: 'explained' | 'exception' | 'alarm';
  readonly counts: 'both' | 'ours' | 'theirs' | 'none';
  readonly meaning: string;
}

export type ClassName = keyof typeof CLASSES;

export const FLOWS = ['payment', 'transfer-order', 'transfer', 'web3'] as const;
export type Flow = (typeof FLOWS)[number];

/** What one side says about an order or a transaction. */
export interface Side {
  readonly coin: string;
  readonly amount: Amount | 'unlimited';
  /** The payer; the empty text for withdrawals. */
  readonly user: string;
  /** The instant of our entry, in ISO 8601, or the time as the bill writes it. */
  readonly time: string;
  /** The journal entry, the line of the bill, or the txid. */
  readonly place: string;
  /** The people who had approved it; absent if nobody had to. */
  readonly approvers?: readonly string[] | undefined;
}

export interface Item {
  readonly class: ClassName;
  readonly flow: Flow;
  readonly source: string;
  /** `appOrderId` or `request_id`. */
  readonly id: string;
  /** Our approval; undefined if nothing was approved. */
  readonly ours: Side | undefined;
  /** What was billed or signed. */
  readonly theirs: Side | undefined;
  readonly note: string;
}

export const isException = ({ class: name }: Pick<Item, 'class'>): boolean =>
  CLASSES[name].level !== 'explained';
