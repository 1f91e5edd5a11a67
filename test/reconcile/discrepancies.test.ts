import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  HOUR_MS,
  MIDNIGHT_MS,
  MINUTE_MS,
  type Report,
  type Row,
  type World,
  billed,
  openWorld,
  reportOf,
} from './world.ts';

const CORRECT = 1000;
const END_MS = MIDNIGHT_MS + 24 * HOUR_MS;

/** What each kind of discrepancy must be called, by the id of its order or transaction. */
const EXPECTED: Readonly<Record<string, string>> = {
  'p-lost': 'approved-not-billed',
  'p-unknown': 'billed-never-approved',
  'p-refused': 'billed-never-approved',
  'p-twice': 'billed-twice',
  'p-copied': 'billed-twice',
  'p-as-transfer-too': 'billed-twice',
  'p-one-more': 'billed-different',
  'p-one-less': 'billed-different',
  'p-coin': 'billed-different',
  'p-user': 'billed-different',
  'p-as-transfer': 'billed-different',
  'p-swapped-1': 'billed-different',
  'p-swapped-2': 'billed-different',
  'p-late': 'billed-after-failure',
  'p-old': 'billed-late',
  'p-released': 'billed-after-release',
  'P-case': 'billed-never-approved',
  'p-case': 'approved-not-billed',
  'p-blank ': 'billed-never-approved',
  'p-carried': 'approved-not-billed',
  't-twice': 'billed-twice',
  'w-unsigned': 'approved-not-signed',
  'w-alone': 'signed-without-approval',
  'w-before': 'signed-without-approval',
  'w-amount': 'signed-different',
  'w-address': 'signed-different',
  'w-twice': 'signed-twice',
  'w-late': 'signed-after-failure',
  'w-released': 'signed-after-release',
  'c-contract': 'signed-different',
};

let report: Report;
let world: World;

beforeAll(async () => {
  world = await openWorld();
  const { pay, refuse, late, release, approve, sign, reconcile } = world;
  const rows: Row[] = [];
  await pay({ id: 'p-old', atMs: MIDNIGHT_MS - 30 * HOUR_MS });
  await pay({ id: 'p-carried', atMs: MIDNIGHT_MS - MINUTE_MS });
  await reconcile([], '--day', '2025-06-09');
  for (let at = 0; at < CORRECT; at += 100) {
    // Together, so that the store can write them together.
    const ids = Array.from({ length: 100 }, (_, index) => at + index);
    const atMs = MIDNIGHT_MS + 2 * HOUR_MS + at * MINUTE_MS;
    const paid = ids.map((index) => ({
      id: `ok-${index}`,
      amount: `${index}.${index}1`,
      user: String(index),
      atMs,
    }));
    await Promise.all(paid.map(pay));
    rows.push(...paid.map((each) => billed(each)));
  }
  const lateAt = END_MS - 3 * HOUR_MS;
  const payLate = (id: string, amount = '100') => pay({ id, amount, atMs: lateAt });
  const bill = (id: string, over: Partial<Row> = {}, amount = '100') =>
    void rows.splice((rows.length * 7) % (rows.length + 1), 0, billed({ id, amount, atMs: lateAt }, over));
  await payLate('p-lost');
  bill('p-unknown');
  await refuse({ id: 'p-refused', atMs: lateAt });
  bill('p-refused');
  for (const id of ['p-twice', 'p-copied', 'p-as-transfer-too']) {
    await payLate(id);
    bill(id);
  }
  rows.push(billed({ id: 'p-twice', atMs: lateAt + MINUTE_MS }));
  rows.push(billed({ id: 'p-copied', atMs: lateAt }));
  rows.push(billed({ id: 'p-as-transfer-too', atMs: lateAt }, { orderType: '11' }));
  for (const [id, over] of Object.entries({
    'p-one-more': { orderAmount: '100.000000000000000000000000000000000001' },
    'p-one-less': { orderAmount: '99.999999999999999999999999999999999999' },
    'p-coin': { payCoinSymbol: 'usdt1742' },
    'p-user': { userId: '123450' },
    'p-as-transfer': { orderType: '11' },
  })) {
    await payLate(id);
    bill(id, over);
  }
  await payLate('p-swapped-1', '1');
  await payLate('p-swapped-2', '2');
  bill('p-swapped-1', {}, '2');
  bill('p-swapped-2', {}, '1');
  const lateEntry = await payLate('p-late');
  await late(lateEntry, 'p-late');
  bill('p-late');
  bill('p-old');
  await payLate('p-released');
  await release('p-released');
  bill('p-released');
  await payLate('p-failed');
  await release('p-failed');
  await payLate('p-case');
  bill('P-case');
  await payLate('p-blank');
  bill('p-blank');
  bill('p-blank ');
  bill('t-ok', { orderType: '11' });
  bill('t-twice', { orderType: '11' });
  bill('t-twice', { orderType: '11' });
  for (const [index, id] of [
    'w-unsigned',
    'w-amount',
    'w-address',
    'w-twice',
    'w-late',
    'w-ok',
    'w-released',
    'w-failed',
  ].entries()) {
    const entry = await approve({ id, atMs: lateAt + index });
    if (id === 'w-late') await late(entry, id, 'vault');
  }
  await release('w-released', 'vault');
  await release('w-failed', 'vault');
  const signedAt = lateAt + MINUTE_MS;
  const signed = (id: string, txid: string, members: object = {}) =>
    sign({ id, txid, members, atMs: signedAt });
  await signed('w-alone', '0x1');
  await signed('w-before', '0x2');
  await signed('w-amount', '0x3', { amount: '1.500000000000000001' });
  await signed('w-address', '0x4', { to: '0x27b1fdb04752bbc536007a920d24acb045561c26' });
  await signed('w-twice', '0x5');
  await signed('w-twice', '0x6');
  await signed('w-late', '0x7');
  await signed('w-ok', '0x8');
  await signed('w-released', '0xa');
  await approve({ id: 'w-before', atMs: signedAt + 1 });
  await sign({ id: 'w-before', txid: '0x2', atMs: signedAt + 2 });
  await approve({ id: 'c-contract', kind: 'web3', atMs: signedAt + 3 });
  const contract = { interactive_contract: '0x27b1fdb04752bbc536007a920d24acb045561c26' };
  await sign({ id: 'c-contract', kind: 'web3', txid: '0x9', members: contract, atMs: signedAt + 4 });
  report = reportOf(await reconcile(rows, '--json'));
});

afterAll(() => world.close());

describe('injected discrepancies', () => {
  it('are at least twenty kinds', () => {
    expect(Object.keys(EXPECTED).length).toBeGreaterThan(20);
  });

  it.each(Object.entries(EXPECTED))('%s is named %s, once', (id, name) => {
    expect(report.exceptions.filter((item) => item.id === id).map((item) => item.class)).toEqual([name]);
  });

  it('raise no false alarm among a thousand correct orders', () => {
    const others = report.exceptions.filter(({ id }) => EXPECTED[id] === undefined);
    expect(others).toEqual([]);
    expect(report.exceptions).toHaveLength(Object.keys(EXPECTED).length);
    // Also matched: the first record of each order billed twice, p-blank, w-ok, w-before and w-twice.
    expect(report.classes).toMatchObject({ matched: CORRECT + 3 + 1 + 3, 'transfer-order': 2, released: 2 });
  });

  it('are the whole difference of the sums, to the last digit', () => {
    expect(report.coins.find(({ flow, coin }) => flow === 'payment' && coin === 'usdt1742')).toMatchObject({
      settled: { count: 1, amount: '100' },
      difference: '-100',
    });
    const usdt = report.coins.find(({ flow, coin }) => flow === 'payment' && coin === 'USDT1742');
    // Approved only: 3 not billed, 1 in another coin. Billed only: 4 never approved, 2 again, 1 late, 1 released.
    expect(usdt).toMatchObject({ difference: String(100 * (4 - 8)), unexplained: '-400' });
  });
});
