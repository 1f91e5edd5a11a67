/** A coin of the sandbox. The bill, balances and symbols name it by `symbol`. */
export interface Coin {
  readonly symbol: string;
  readonly name: string;
  readonly precision: number;
  readonly contractAddress: string;
  readonly tokenBase: string;
  readonly withdrawFee: string;
  /** The balance that each user begins with. */
  readonly opening: number;
}

/** Its name is its symbol, and it has no contract, unless `own` says otherwise. */
const coin = (
  symbol: string,
  own: Omit<Coin, 'symbol' | 'name' | 'contractAddress'> & Partial<Coin>,
): Coin => ({ symbol, name: symbol, contractAddress: '', ...own });

const USDT = { name: 'USDT', contractAddress: '0xdAC17F958D2ee523a2206206994597C13D831ec7' };

export const COINS: readonly [Coin, ...Coin[]] = [
  coin('USDT1742', { ...USDT, precision: 6, tokenBase: 'ETH', withdrawFee: '5', opening: 100_000 }),
  coin('BTC', { precision: 8, tokenBase: 'BTC', withdrawFee: '0.0005', opening: 5 }),
  coin('ETH', { precision: 8, tokenBase: 'ETH', withdrawFee: '0.003', opening: 50 }),
  coin('LTC', { precision: 8, tokenBase: 'LTC', withdrawFee: '0.01', opening: 200 }),
];

export const PAIRS = [
  { symbol: 'btcusdt', showSymbol: 'BTC/USDT', base: 'BTC', quote: 'USDT1742', price: '64250.5' },
  { symbol: 'ethusdt', showSymbol: 'ETH/USDT', base: 'ETH', quote: 'USDT1742', price: '3120.25' },
  { symbol: 'ltcbtc', showSymbol: 'LTC/BTC', base: 'LTC', quote: 'BTC', price: '0.00125' },
] as const;

export const SCENES = ['activity', 'compensation', 'airdrop'] as const;

export const GIFT_TYPES = [
  { present_type: 'register', title: 'Registration gift' },
  { present_type: 'invite', title: 'Invitation gift' },
  { present_type: 'manual', title: 'Manual gift' },
] as const;

/** Wallet types of section 3.1. */
export const WALLET_TYPES = [1, 2, 3, 4] as const;

export function coinNamed(symbol: string): Coin | undefined {
  return COINS.find((each) => each.symbol === symbol);
}
