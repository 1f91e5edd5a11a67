import { z } from 'zod';
import { CountersignError } from '../../src/errors.ts';

/*
 * All that the sandbox keeps, as one JSON value: it is what a snapshot holds. Amounts are decimal texts,
 * times are milliseconds since the epoch. Members are named as in section 2 where they hold what is answered.
 */

const amount = z.string().regex(/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/);
const ms = z.int();
const id = z.int();
const text = z.string();

const user = z.strictObject({
  uid: id,
  openId: text,
  nickname: text,
  inviteCode: text,
  /** The uid of the user who invited this one; -1 if there is none. */
  invitedUid: z.int(),
  mobileNumber: text,
  email: text,
  apiKey: text,
  secret: text,
  createdAtMs: ms,
});

/** `type` is one of section 3.2. */
const account = z.strictObject({
  id,
  uid: id,
  coin: text,
  type: z.enum(['201', '202']),
  balance: amount,
  updatedAtMs: ms,
});

const order = z.strictObject({
  id,
  userId: id,
  side: z.enum(['BUY', 'SELL']),
  orderType: z.int(),
  status: z.int(),
  source: z.int(),
  symbol: text,
  price: amount,
  volume: amount,
  dealVolume: amount,
  createdAtMs: ms,
});

const deposit = z.strictObject({
  id,
  uid: id,
  symbol: text,
  amount,
  addressTo: text,
  txid: text.optional(),
  status: z.int(),
  depositType: z.int(),
  riskLevel: z.int(),
  createdAtMs: ms,
});

const brokerBonus = z.strictObject({
  id,
  uid: id,
  pid: id,
  symbol: text,
  feeSymbol: text,
  fee: amount,
  amount,
  createdAtMs: ms,
});

const address = z.strictObject({
  walletType: z.int(),
  symbol: text,
  uid: id,
  address: text,
  walletUid: id,
  tag: text,
});

const walletSymbol = z.strictObject({ walletType: z.int(), symbol: text, walletSymbol: text });

const otherTransfer = z.strictObject({
  id,
  uid: id,
  amount,
  coinSymbol: text,
  transactionScene: text,
  status: z.int(),
  createdAtMs: ms,
});

const otcTrade = z.strictObject({
  id,
  buyerId: id,
  sellerId: id,
  coinSymbol: text,
  price: amount,
  volume: amount,
  totalPrice: amount,
  status: z.int(),
  createdAtMs: ms,
  paidAtMs: ms.nullable(),
});

const coupon = z.strictObject({
  id,
  sn: text,
  uid: id,
  coin: text,
  amount,
  amountSup: amount,
  amountUse: amount,
  amountBack: amount,
  /** 1 received, 2 to be recovered, 3 recovered. */
  status: z.int(),
  timeMs: ms,
});

const gift = z.strictObject({
  uid: id,
  symbol: text,
  amount,
  typeName: text,
  opUid: id,
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

const feeShare = z.strictObject({
  symbol: text,
  base: text,
  quote: text,
  /** 0 statistic, 1 calculated, 3 settled. */
  status: z.int(),
  itemDateMs: ms,
  baseFee: amount,
  quoteFee: amount,
  rate: amount,
});

const coAgentBonus = z.strictObject({
  id,
  uid: id,
  subUid: id,
  superUid: id,
  coin: text,
  amount,
  selfVolume: amount,
  subVolume: amount,
  status: z.int(),
  subLevel: z.int(),
  userType: z.int(),
  bonusType: z.int(),
  timeMs: ms,
});

const agentUser = z.strictObject({
  uid: id,
  coin: text,
  itemDate: z.int(),
  tradeAmount: amount,
  feeAmount: amount,
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
  form: z.literal('countersign sandbox 1'),
  seed: text,
  users: z.array(user),
  accounts: z.array(account),
  orders: z.array(order),
  deposits: z.array(deposit),
  brokerBonuses: z.array(brokerBonus),
  addresses: z.array(address),
  walletSymbols: z.array(walletSymbol),
  otherTransfers: z.array(otherTransfer),
  otcTrades: z.array(otcTrade),
  coupons: z.array(coupon),
  gifts: z.array(gift),
  payments: z.array(payment),
  feeShares: z.array(feeShare),
  coAgentBonuses: z.array(coAgentBonus),
  agentUsers: z.array(agentUser),
  codes: z.array(loginCode),
  tokens: z.array(token),
  signings: z.array(signing),
  /** Requests of one day, for the daily limit. */
  usage: z.strictObject({ day: text, requests: z.int() }),
  nextId: id,
});

/** Operations and commands change it in place. */
export type State = z.infer<typeof stateSchema>;
export type User = State['users'][number];
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
  let value: unknown;
  try {
    value = JSON.parse(written);
  } catch {
    throw new CountersignError('USAGE', 'the snapshot is not JSON. Give a file of `sandbox snapshot`');
  }
  const read = snapshotSchema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new CountersignError(
    'USAGE',
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
