import fc from 'fast-check';
import { TO, md5Sign, transfer, web3 } from '../service.ts';
import type { Asked } from './model.ts';
import { revisions } from './model-policies.ts';

/** What happens beside callbacks. */
export type Change =
  | { readonly type: 'push'; readonly revision: number }
  | { readonly type: 'freeze' }
  | { readonly type: 'unfreeze' }
  | {
      readonly type: 'toggle';
      readonly source: 'shop' | 'vault';
      readonly list: string;
      readonly value: string;
    };

export type Command =
  /** All at once, over two replicas, and a change meanwhile. */
  | { readonly type: 'burst'; readonly callbacks: readonly Asked[]; readonly meanwhile: Change | undefined }
  | { readonly type: 'change'; readonly change: Change }
  | { readonly type: 'advance'; readonly ms: number }
  /** Everything is closed and opened again. */
  | { readonly type: 'reopen' };

const OTHER = '0x27b1fdb04752bbc536007a920d24acb045561c26';
const LEAST = `0.${'0'.repeat(35)}1`;
const pick = <T>(from: readonly [T, ...T[]], index: number): T => from[index % from.length] ?? from[0];

/** A few orders, so that they come again; each mostly with its own terms, and now and then with another amount. */
const payment = fc
  .tuple(fc.nat(17), fc.boolean(), fc.integer({ min: 0, max: 9 }))
  .map(([order, late, odd]): Asked => {
    const id = `p-${order}${late ? '-late' : ''}`;
    const own = pick(['400', '900', '1000', `1000.${'0'.repeat(35)}1`, '600', LEAST, '499.5'], order);
    const amount = odd === 0 ? '1' : own;
    const userId = `${(order % 2) + 1}`;
    const symbol = order % 6 === 4 ? 'BTC' : 'USDT';
    const members = {
      appKey: 'test-shop',
      appOrderId: id,
      orderAmount: amount,
      payCoinSymbol: symbol,
      userId,
    };
    return {
      ...nothing,
      source: 'shop',
      kind: 'payment',
      type: 'payment',
      id,
      amount,
      symbol,
      userId,
      terms: [amount, symbol, userId].join(' '),
      body: JSON.stringify({ ...members, sign: md5Sign(members) }),
    };
  });

const question = fc.record({
  type: fc.constantFrom('sign_prepare', 'sign_start', 'sign_start', 'sign_success', 'sign_success'),
  speedUp: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
  txid: fc.constantFrom('', '0x0a', '0x0b', '0x0c'),
});

const withdrawal = fc
  .tuple(fc.nat(9), question, fc.integer({ min: 0, max: 11 }))
  .map(([order, asks, odd]): Asked => {
    const id = `w-${order}`;
    const amount = odd === 0 ? '0.5' : pick(['2', '9.5', '10', '10.1', '3'], order);
    const to = order % 3 === 0 ? OTHER : TO;
    const symbol = order === 7 ? 'BTC' : 'ETH';
    return cosigned(asks, { kind: 'transfer', id, amount, to, symbol }, transfer);
  });

const contract = fc.tuple(fc.nat(3), question).map(([order, asks]): Asked => {
  const amount = pick(['0', '5', '6'], order);
  return cosigned(asks, { kind: 'web3', id: `w-${order}`, amount, to: TO, symbol: 'ETH' }, web3);
});

const nothing = { userId: '', to: '', txid: '', speedUp: false } as const;

function cosigned(
  { type, speedUp, txid }: Pick<Asked, 'type' | 'speedUp' | 'txid'>,
  what: Pick<Asked, 'kind' | 'id' | 'amount' | 'to' | 'symbol'>,
  build: (members: object) => object,
): Asked {
  const { id, amount, to, symbol } = what;
  const members = { type, request_id: id, pending_round: speedUp, amount, to, txid };
  return {
    ...nothing,
    ...what,
    source: 'vault',
    type,
    speedUp,
    txid: type === 'sign_success' ? txid : '',
    terms: [amount, to, symbol].join(' '),
    body: JSON.stringify(build({ ...members, symbol, main_chain_symbol: symbol, ...only(what.kind) })),
  };
}

/** Leaves out the symbol's name of the other kind. */
const only = (kind: Asked['kind']): object =>
  kind === 'transfer' ? { main_chain_symbol: undefined } : { symbol: undefined };

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.nat(revisions.length - 1).map((revision): Change => ({ type: 'push', revision })),
  },
  { weight: 1, arbitrary: fc.constant<Change>({ type: 'freeze' }) },
  { weight: 3, arbitrary: fc.constant<Change>({ type: 'unfreeze' }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Change>(
      { type: 'toggle', source: 'shop', list: 'blocked', value: '1' },
      { type: 'toggle', source: 'shop', list: 'blocked', value: '3' },
      { type: 'toggle', source: 'vault', list: 'partners', value: TO },
      { type: 'toggle', source: 'vault', list: 'partners', value: OTHER },
    ),
  },
);

const callbacks = fc
  .array(
    fc.tuple(fc.oneof(payment, payment, withdrawal, withdrawal, contract), fc.integer({ min: 1, max: 3 })),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((rows) =>
    [0, 1, 2].flatMap((round) => rows.filter(([, times]) => times > round).map(([asked]) => asked)),
  );

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc
      .tuple(callbacks, fc.option(change, { freq: 6, nil: undefined }))
      .map(([all, meanwhile]): Command => ({ type: 'burst', callbacks: all, meanwhile })),
  },
  { weight: 7, arbitrary: change.map((each): Command => ({ type: 'change', change: each })) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(1, 999, 10_000, 59_999, 60_000, 600_000, 3_599_999, 3_600_001, 43_200_000)
      .map((ms): Command => ({ type: 'advance', ms })),
  },
  { weight: 1, arbitrary: fc.constant<Command>({ type: 'reopen' }) },
);

/** Mostly something is in force and the lists are there from the beginning; what then happens is left to chance. */
export const scripts: fc.Arbitrary<readonly Command[]> = fc
  .tuple(fc.integer({ min: 0, max: 4 }), fc.array(command, { minLength: 15, maxLength: 40, size: 'max' }))
  .map(([bare, commands]) => (bare === 0 ? commands : [...beginning, ...commands]));

const beginning: readonly Command[] = [
  { type: 'push', revision: 0 } as const,
  { type: 'toggle', source: 'shop', list: 'blocked', value: '3' } as const,
  { type: 'toggle', source: 'vault', list: 'partners', value: TO } as const,
].map((each): Command => ({ type: 'change', change: each }));
