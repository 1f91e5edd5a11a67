import { COINS, GIFT_TYPES, PAIRS, SCENES, WALLET_TYPES } from './coins.ts';
import { decimalText, readDecimal } from './decimal.ts';
import { type Random, randomOf } from './random.ts';
import type { State } from './state.ts';
import { DAY_MS } from './time.ts';

export interface SeedOptions {
  readonly seed: string;
  /** Multiplies the numbers of records, for tests of paging. */
  readonly scale: number;
  readonly nowMs: number;
}

const FIRST_UID = 12_345;
const USERS = 20;
const HOUR_MS = 3_600_000;

/** A new state. The same options give the same state. All records are older than `nowMs`. */
export function seedState({ seed, scale, nowMs }: SeedOptions): State {
  let nextId = 100_001;
  const context: Seeding = {
    nowMs,
    random: (label, at) => randomOf(seed, 'seed', label, at),
    nextId: () => nextId++,
    times: (count) => Array.from({ length: count * scale }, (_, at) => at),
  };
  const users = usersOf(context);
  const parts = { ...tradingOf(context), ...rewardsOf(context), ...agentsOf(context) };
  return {
    form: 'countersign sandbox 1',
    seed,
    users,
    accounts: users.flatMap(({ uid }) =>
      COINS.map(({ symbol, opening }) => ({
        id: context.nextId(),
        uid,
        coin: symbol,
        type: '201' as const,
        balance: String(opening),
        updatedAtMs: nowMs - HOUR_MS,
      })),
    ),
    ...parts,
    ...walletsOf(context),
    payments: paymentsOf(context),
    codes: users.map(({ uid }, at) => ({ code: context.random('code', at).hex(32), uid, used: false })),
    tokens: [],
    signings: [],
    usage: { day: '', requests: 0 },
    nextId,
  };
}

interface Seeding {
  readonly nowMs: number;
  readonly random: (label: string, at: number) => Random;
  readonly nextId: () => number;
  readonly times: (count: number) => readonly number[];
}

const uidAt = (at: number): number => FIRST_UID + (at % USERS);
const coinAt = (at: number): string => COINS[at % COINS.length]?.symbol ?? COINS[0].symbol;

/** A decimal with at most `places` decimal places, from 10^-places to `most`. */
function amountUpTo(random: Random, most: number, places = 2): string {
  const whole = readDecimal(
    `${random.whole(0, most - 1)}.${String(random.whole(1, 10 ** places - 1)).padStart(places, '0')}`,
  );
  return decimalText(whole ?? 0n);
}

function usersOf({ random, nowMs }: Seeding): State['users'] {
  return Array.from({ length: USERS }, (_, at) => {
    const own = random('user', at);
    // User 0 invites 1 to 4, and each of these invites three more.
    const inviter = at === 0 ? -1 : at <= 4 ? FIRST_UID : at <= 16 ? uidAt(1 + ((at - 5) % 4)) : -1;
    return {
      uid: uidAt(at),
      openId: own.hex(32),
      nickname: `user-${uidAt(at)}`,
      inviteCode: own.hex(8).toUpperCase(),
      invitedUid: inviter,
      mobileNumber: `138${String(own.whole(0, 99_999_999)).padStart(8, '0')}`,
      email: `user-${uidAt(at)}@example.com`,
      apiKey: own.hex(32),
      secret: own.hex(32),
      createdAtMs: nowMs - (60 - at) * DAY_MS,
    };
  });
}

function tradingOf({
  times,
  random,
  nextId,
  nowMs,
}: Seeding): Pick<State, 'orders' | 'deposits' | 'otcTrades'> {
  return {
    orders: times(120).map((at) => {
      const own = random('order', at);
      const { symbol, price } = PAIRS[at % 2] ?? PAIRS[0];
      const status = own.pick([2, 2, 2, 3, 4, 1, 0, 5, 6]);
      const volume = amountUpTo(own, 3, 4);
      return {
        id: nextId(),
        userId: uidAt(at),
        side: own.pick(['BUY', 'SELL']),
        orderType: own.pick([1, 1, 1, 2, 3]),
        status,
        source: own.pick([1, 2, 3, 6]),
        symbol,
        price,
        volume,
        dealVolume: status === 2 ? volume : '0',
        createdAtMs: nowMs - HOUR_MS - at * 2 * HOUR_MS,
      };
    }),
    deposits: times(90).map((at) => {
      const own = random('deposit', at);
      return {
        id: nextId(),
        uid: at % 3 === 0 ? FIRST_UID : uidAt(at),
        symbol: coinAt(at),
        amount: amountUpTo(own, 20, 4),
        addressTo: `0x${own.hex(40)}`,
        ...(at % 7 === 0 ? {} : { txid: `0x${own.hex(64)}` }),
        status: 1,
        depositType: own.pick([0, 1]),
        riskLevel: 0,
        createdAtMs: nowMs - HOUR_MS - at * 3 * HOUR_MS,
      };
    }),
    otcTrades: times(40).map((at) => {
      const own = random('otc', at);
      const [price, volume] = [BigInt(own.whole(680, 720)), BigInt(own.whole(10, 5000))];
      const createdAtMs = nowMs - HOUR_MS - at * 5 * HOUR_MS;
      const unit = readDecimal('0.01') ?? 0n;
      return {
        id: nextId(),
        buyerId: uidAt(at),
        sellerId: uidAt(at + 1),
        coinSymbol: 'USDT1742',
        price: decimalText(price * unit),
        volume: volume.toString(),
        totalPrice: decimalText(price * volume * unit),
        status: own.pick([1, 2, 3, 4]),
        createdAtMs,
        paidAtMs: at % 4 === 0 ? null : createdAtMs + 60_000,
      };
    }),
  };
}

function rewardsOf({
  times,
  random,
  nextId,
  nowMs,
}: Seeding): Pick<State, 'coupons' | 'gifts' | 'otherTransfers'> {
  return {
    coupons: times(30).map((at) => {
      const own = random('coupon', at);
      const [amount, status] = [own.whole(10, 100), (at % 3) + 1];
      const used = own.whole(0, amount);
      return {
        id: nextId(),
        sn: `activity-${1 + (at % 3)}`,
        uid: uidAt(at),
        coin: 'USDT1742',
        amount: String(amount),
        amountSup: '0',
        amountUse: String(used),
        amountBack: status === 3 ? String(amount - used) : '0',
        status,
        timeMs: nowMs - HOUR_MS - at * 6 * HOUR_MS,
      };
    }),
    gifts: times(250).map((at) => {
      const own = random('gift', at);
      return {
        uid: uidAt(at),
        symbol: coinAt(at),
        amount: amountUpTo(own, 5),
        typeName: own.pick([GIFT_TYPES[0].present_type, GIFT_TYPES[1].present_type]),
        opUid: 0,
        createdAtMs: nowMs - HOUR_MS - at * HOUR_MS,
      };
    }),
    otherTransfers: times(36).map((at) => ({
      id: nextId(),
      uid: uidAt(at),
      amount: amountUpTo(random('transfer', at), 50),
      coinSymbol: coinAt(at),
      transactionScene: SCENES[at % SCENES.length] ?? SCENES[0],
      status: 1,
      createdAtMs: nowMs - HOUR_MS - at * 4 * HOUR_MS,
    })),
  };
}

function agentsOf({
  times,
  random,
  nextId,
  nowMs,
}: Seeding): Pick<State, 'brokerBonuses' | 'coAgentBonuses' | 'agentUsers' | 'feeShares'> {
  return {
    brokerBonuses: times(45).map((at) => {
      const own = random('bonus', at);
      return {
        id: nextId(),
        uid: uidAt(1 + (at % 4)),
        pid: FIRST_UID,
        symbol: PAIRS[at % 2]?.symbol ?? PAIRS[0].symbol,
        feeSymbol: coinAt(at),
        fee: amountUpTo(own, 2, 6),
        amount: amountUpTo(own, 1, 6),
        createdAtMs: nowMs - HOUR_MS - at * 7 * HOUR_MS,
      };
    }),
    coAgentBonuses: times(48).map((at) => {
      const own = random('co-agent', at);
      return {
        id: nextId(),
        uid: uidAt(1 + (at % 4)),
        subUid: uidAt(5 + (at % 12)),
        superUid: FIRST_UID,
        coin: coinAt(at),
        amount: amountUpTo(own, 9, 4),
        selfVolume: amountUpTo(own, 900),
        subVolume: amountUpTo(own, 900),
        status: at % 4,
        subLevel: 1 + (at % 2),
        userType: own.pick([1, 2]),
        bonusType: own.pick([1, 2]),
        timeMs: nowMs - HOUR_MS - at * 6 * HOUR_MS,
      };
    }),
    agentUsers: times(40).map((at) => {
      const own = random('agent', at);
      return {
        uid: uidAt(at),
        coin: 'USDT1742',
        itemDate: nowMs - (nowMs % DAY_MS) - Math.floor(at / USERS) * DAY_MS,
        tradeAmount: amountUpTo(own, 90_000),
        feeAmount: amountUpTo(own, 90),
      };
    }),
    feeShares: times(42).map((at) => {
      const own = random('fee', at);
      const { symbol, base, quote } = PAIRS[at % PAIRS.length] ?? PAIRS[0];
      return {
        symbol,
        base,
        quote,
        status: own.pick([0, 1, 3, 3]),
        itemDateMs: nowMs - (nowMs % DAY_MS) - (at % 14) * DAY_MS,
        baseFee: amountUpTo(own, 2, 6),
        quoteFee: amountUpTo(own, 100, 4),
        rate: own.pick(['0.1', '0.2', '0.35']),
      };
    }),
  };
}

/** Bills of the five days before yesterday, so that no bill of today has what no receiver approved. */
function paymentsOf({ times, random, nowMs }: Seeding): State['payments'] {
  return times(50).map((at) => {
    const own = random('payment', at);
    const createdAtMs = nowMs - 2 * DAY_MS - (at % 5) * DAY_MS - at * 1000;
    return {
      appOrderId: `past-${at + 1}`,
      userId: uidAt(at),
      coin: at % 5 === 0 ? 'BTC' : 'USDT1742',
      amount: at % 5 === 0 ? amountUpTo(own, 1, 8) : amountUpTo(own, 500),
      orderType: at % 4 === 3 ? 11 : 1,
      state: 'paid',
      createdAtMs,
      paidAtMs: createdAtMs + own.whole(200, 1500),
    };
  });
}

function walletsOf({ random }: Seeding): Pick<State, 'addresses' | 'walletSymbols'> {
  return {
    addresses: WALLET_TYPES.flatMap((walletType) =>
      COINS.flatMap(({ symbol }) =>
        Array.from({ length: USERS }, (_, at) => ({
          walletType,
          symbol,
          uid: uidAt(at),
          address: `0x${random(`address ${walletType} ${symbol}`, at).hex(40)}`,
          walletUid: 900_000 + at,
          tag: '',
        })),
      ),
    ),
    walletSymbols: WALLET_TYPES.flatMap((walletType) =>
      COINS.map(({ symbol, name, tokenBase }) => ({
        walletType,
        symbol,
        walletSymbol: name === tokenBase ? name : `${tokenBase}_${name}`,
      })),
    ),
  };
}
