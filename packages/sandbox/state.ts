import { z } from 'zod';
import { usageError } from '../../src/errors.ts';
import { addDecimals } from './decimal.ts';
import { jsonOf } from './json.ts';

/*
 * All that changes, as one JSON value: it is what a snapshot holds, with the seed of the other records. Amounts
 * are decimal texts, times are milliseconds since the epoch.
 */

const amount = z.string().regex(/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/);
const ms = z.int();
const id = z.int();
const text = z.string();

/** `type` is one of section 3.2. */
const account = z.strictObject({
  id,
  uid: id,
  coin: text,
  type: z.enum(['201', '202']),
  balance: amount,
  updatedAtMs: ms,
});

/** One that a command made. */
const deposit = z.strictObject({
  id,
  uid: id,
  symbol: text,
  amount,
  addressTo: text,
  txid: text,
  createdAtMs: ms,
});

/** An order of 4.2, or a transfer order. It is in the bill once it is paid. */
const payment = z.strictObject({
  appOrderId: text,
  userId: id,
  coin: text,
  amount,
  /** 1 payment order, 11 transfer order. */
  orderType: z.int(),
  state: z.enum(['confirming', 'paid']),
  createdAtMs: ms,
  paidAtMs: ms,
});

/** A code of the first login step (section 5, rule 3). */
const loginCode = z.strictObject({ code: text, uid: id, used: z.boolean() });

const token = z.strictObject({
  uid: id,
  token: text,
  refreshToken: text,
  refreshableUntilMs: ms,
});

/** A withdrawal or web3 transaction that the co-signer asks about. */
const signing = z.strictObject({
  kind: z.enum(['transfer', 'web3']),
  id,
  requestId: text,
  from: text,
  to: text,
  amount: text,
  symbol: text,
  memo: text,
  /** The JSON text of a withdrawal to several addresses; empty otherwise. */
  outputs: text,
  inputData: text,
  contract: text,
  /** How many speed-ups follow the first round. */
  speedUps: z.int(),
  /** Rounds that were signed. */
  signed: z.int(),
  /** Polls in which the answer was no. */
  refused: z.int(),
  status: z.enum(['pending', 'signed', 'ignored']),
  txids: z.array(text),
});

const stateSchema = z.strictObject({
  form: z.literal('countersign sandbox 2'),
  seed: text,
  /** Multiplies the numbers of seeded records. */
  scale: z.int().min(1).max(1000),
  /** When the records were seeded: they are all older. */
  seededAtMs: ms,
  accounts: z.array(account),
  deposits: z.array(deposit),
  /** The ids of coupons that were recovered. */
  recoveredCoupons: z.array(id),
  payments: z.array(payment),
  codes: z.array(loginCode),
  tokens: z.array(token),
  signings: z.array(signing),
  /** Requests of one day, for the daily limit. */
  usage: z.strictObject({ day: text, requests: z.int() }),
  nextId: id,
});

/** Operations and commands change it in place. */
export type State = z.infer<typeof stateSchema>;
export type Payment = State['payments'][number];
export type Signing = State['signings'][number];

const snapshotSchema = z.strictObject({
  state: stateSchema,
  clock: z.strictObject({ standing: z.boolean(), atMs: ms }),
});

export type Snapshot = z.infer<typeof snapshotSchema>;

export function snapshotText(snapshot: Snapshot): string {
  return `${JSON.stringify(snapshot, undefined, 1)}\n`;
}

/** Throws USAGE for a text that no sandbox wrote. */
export function readSnapshot(written: string): Snapshot {
  const value = jsonOf(written);
  if (value === undefined) throw usageError('the snapshot is not JSON. Give a file of `sandbox snapshot`');
  const read = snapshotSchema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw usageError(
    `the snapshot is not valid at ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}. ` +
      'Give a file that `sandbox snapshot` of this version wrote',
  );
}

/** The user's account of a type in a coin. It is made with a balance of 0 if it isn't there. */
export function accountOf(
  state: State,
  { uid, coin, type }: { readonly uid: number; readonly coin: string; readonly type: '201' | '202' },
  nowMs: number,
): State['accounts'][number] {
  const found = state.accounts.find((each) => each.uid === uid && each.coin === coin && each.type === type);
  if (found !== undefined) return found;
  const made = { id: state.nextId++, uid, coin, type, balance: '0', updatedAtMs: nowMs };
  state.accounts.push(made);
  return made;
}

/** Adds to a balance of a user, or with an amount below zero takes from it. Returns the balance. */
export function book(
  state: State,
  of: Parameters<typeof accountOf>[1],
  added: string,
  nowMs: number,
): string {
  const found = accountOf(state, of, nowMs);
  Object.assign(found, { balance: addDecimals(found.balance, added), updatedAtMs: nowMs });
  return found.balance;
}
