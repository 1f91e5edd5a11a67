import { describe, expect } from 'vitest';
import type { ClaimResult } from '../../../src/claims/claims.ts';
import type { Order, SettleRequest } from '../../../src/store/store.ts';
import type { OrderFound } from '../../../src/claims/order.ts';
import {
  type Asked,
  HOUR_MS,
  MEMBERS,
  START_MS,
  announcement,
  claimsOf,
  orderClaim,
  request,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

const order = (over: Partial<Order> = {}): Order => ({
  ...announcement(),
  state: 'expected',
  announcedAtMs: START_MS,
  endedAtMs: 0,
  ...over,
});
const cancel = { source: 'shop', subject: 'payment:1', by: 'bob' } as const;
const found = (state: OrderFound, ...differs: readonly string[]): readonly ClaimResult[] => [
  { type: 'order', holds: state === 'agrees', order: state, differs },
];
const claimingWith = (over: Partial<Asked>): SettleRequest => request({ claims: [orderClaim()], ...over });
const claiming = claimingWith({});

export function describeOrders(open: OpenStore): void {
  const it = testsOn(open);

  describe('announcing orders', () => {
    it('is kept as it was announced, for its subject and source', async ({ store, another }) => {
      const members = { ...MEMBERS, 'é "\\': ' \u{1f512}', empty: '', constructor: 'x' };
      const announced = await store.expectOrder(announcement({ members }));
      expect(announced).toEqual({ outcome: 'expected', order: order({ members }) });
      const other = await another();
      expect(await other.order('shop', 'payment:1')).toEqual(order({ members }));
      expect(await other.order('shop', 'payment:2')).toBeUndefined();
      expect(await other.order('vault', 'payment:1')).toBeUndefined();
    });

    it('changes nothing if the very same stands', async ({ store, clock }) => {
      await store.expectOrder(announcement());
      clock.advance(10);
      const members = Object.fromEntries(Object.entries(MEMBERS).toReversed());
      expect(await store.expectOrder(announcement({ members, by: 'bob' }))).toEqual({
        outcome: 'unchanged',
        order: order(),
      });
      expect(await store.journalSize('shop')).toBe(1);
    });

    it.for([
      ['another text', { members: { ...MEMBERS, amount: '100.1' } }],
      ['one member more', { members: { ...MEMBERS, memo: '' } }],
      ['one member less', { members: { userId: '12345' } }],
      ['another expiry', { expiresAtMs: START_MS + HOUR_MS + 1 }],
    ] as const)('conflicts with another that stands: %s', async ([, over], { store }) => {
      await store.expectOrder(announcement());
      expect(await store.expectOrder(announcement(over))).toEqual({ outcome: 'conflict', order: order() });
      expect(await store.order('shop', 'payment:1')).toEqual(order());
      expect(await store.journalSize('shop')).toBe(1);
    });

    it('takes the place of a cancelled one, also if it is the very same', async ({ store, clock }) => {
      for (const members of [MEMBERS, MEMBERS, { ...MEMBERS, amount: '7' }]) {
        expect(await store.expectOrder(announcement({ members }))).toEqual({
          outcome: 'expected',
          order: order({ members, announcedAtMs: clock.nowMs }),
        });
        clock.advance(1);
        await store.cancelOrder(cancel);
        clock.advance(1);
      }
    });

    it('takes the place of an expired one, from the very millisecond on', async ({ store, clock }) => {
      await store.expectOrder(announcement());
      const next = announcement({ expiresAtMs: START_MS + 2 * HOUR_MS });
      clock.advance(HOUR_MS - 1);
      expect(await store.expectOrder(next)).toMatchObject({
        outcome: 'conflict',
        order: { state: 'expected' },
      });
      clock.advance(1);
      expect(await store.order('shop', 'payment:1')).toEqual(order({ state: 'expired' }));
      expect(await store.expectOrder(next)).toEqual({
        outcome: 'expected',
        order: order({ expiresAtMs: START_MS + 2 * HOUR_MS, announcedAtMs: START_MS + HOUR_MS }),
      });
    });

    it('conflicts with one that is used, even if it is the very same or has expired', async ({
      store,
      clock,
    }) => {
      await store.expectOrder(announcement());
      await store.settle(claiming);
      const used = order({ state: 'used', endedAtMs: START_MS });
      expect(await store.expectOrder(announcement())).toEqual({ outcome: 'conflict', order: used });
      clock.advance(2 * HOUR_MS);
      expect(await store.expectOrder(announcement({ expiresAtMs: START_MS + 3 * HOUR_MS }))).toEqual({
        outcome: 'conflict',
        order: used,
      });
    });

    it.for([
      ['without members, which would agree with whatever comes', { members: {} }],
      ['that expires before 1970', { expiresAtMs: -1 }],
      ['that expires between two milliseconds', { expiresAtMs: START_MS + 0.5 }],
      ['that expires at no time', { expiresAtMs: Number.NaN }],
      ['that never expires', { expiresAtMs: Number.POSITIVE_INFINITY }],
    ] as const)('rejects one %s, and leaves what stands', async ([, over], { store }) => {
      await expect(store.expectOrder(announcement(over))).rejects.toMatchObject({ code: 'USAGE' });
      expect(await store.order('shop', 'payment:1')).toBeUndefined();
      await store.expectOrder(announcement());
      await expect(store.expectOrder(announcement(over))).rejects.toMatchObject({ code: 'USAGE' });
      expect(await store.order('shop', 'payment:1')).toEqual(order());
      expect(await store.journalSize('shop')).toBe(1);
    });

    it('may expire at once, or after the century', async ({ store }) => {
      expect(await store.expectOrder(announcement({ expiresAtMs: 0 }))).toMatchObject({
        outcome: 'expected',
        order: { state: 'expired' },
      });
      expect(claimsOf(await store.settle(claiming))).toMatchObject(found('expired'));
      const last = { subject: 'payment:2', expiresAtMs: Number.MAX_SAFE_INTEGER };
      expect(await store.expectOrder(announcement(last))).toMatchObject({ order: last });
      expect(await store.settle(claimingWith({ subject: 'payment:2' }))).toMatchObject({
        verdict: 'SUCCESS',
      });
      const [entry] = await store.entries({ source: 'shop', subject: 'payment:2', limit: 2 });
      expect(entry?.detail).toContain(String(last.expiresAtMs));
    });

    it('is cancelled once, and is kept to say so', async ({ store, clock }) => {
      await store.expectOrder(announcement());
      clock.advance(5);
      const cancelled = order({ state: 'cancelled', endedAtMs: START_MS + 5 });
      expect(await store.cancelOrder(cancel)).toEqual({ outcome: 'cancelled', order: cancelled });
      clock.advance(5);
      expect(await store.cancelOrder(cancel)).toEqual({ outcome: 'ended', order: cancelled });
      clock.advance(HOUR_MS);
      expect(await store.order('shop', 'payment:1')).toEqual(cancelled);
      expect(await store.journalSize('shop')).toBe(2);
    });

    it('is not cancelled once it is used or expired', async ({ store, clock }) => {
      await store.expectOrder(announcement());
      await store.expectOrder(announcement({ subject: 'payment:2' }));
      await store.settle(claiming);
      expect(await store.cancelOrder(cancel)).toEqual({
        outcome: 'ended',
        order: order({ state: 'used', endedAtMs: START_MS }),
      });
      clock.advance(HOUR_MS);
      expect(await store.cancelOrder({ ...cancel, subject: 'payment:2' })).toEqual({
        outcome: 'ended',
        order: order({ subject: 'payment:2', state: 'expired' }),
      });
      expect(await store.settle(claiming)).toMatchObject({ verdict: 'SUCCESS' });
    });

    it('can not be cancelled if there is none', async ({ store }) => {
      await store.expectOrder(announcement({ source: 'vault' }));
      await expect(store.cancelOrder(cancel)).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: 'the source shop has no order for payment:1; `countersign orders expect` announces one',
      });
      expect(await store.journalSize('shop')).toBe(0);
    });

    it('journals each change with who and what', async ({ store, clock }) => {
      await store.expectOrder(announcement());
      clock.advance(3);
      await store.cancelOrder(cancel);
      const entries = await store.entries({ source: 'shop', subject: 'payment:1', limit: 10 });
      expect(entries).toMatchObject([
        {
          type: 'order',
          atMs: START_MS,
          subject: 'payment:1',
          verdict: '',
          code: '',
          revision: '',
          of: '',
          claims: [],
        },
        { type: 'order', atMs: START_MS + 3, subject: 'payment:1' },
      ]);
      const { expiresAtMs } = announcement();
      expect(entries.map((entry): unknown => JSON.parse(entry.detail))).toEqual([
        { change: 'expect', members: MEMBERS, expiresAtMs, by: 'ada' },
        { change: 'cancel', members: MEMBERS, expiresAtMs, by: 'bob' },
      ]);
    });
  });

  describe('a claim that an order was announced', () => {
    it.for(['constructor', 'toString', 'hasOwnProperty'])(
      'does not take a name of the language for a member: %s',
      async (name, { store }) => {
        await store.expectOrder(announcement({ members: { [name]: '' } }));
        expect(claimsOf(await store.settle(claiming))).toEqual(found('differs', name));
      },
    );
  });

  describe('orders, at once', () => {
    const each = <T>(count: number, one: (index: number) => Promise<T>): Promise<readonly T[]> =>
      Promise.all(Array.from({ length: count }, (_, index) => one(index)));

    it('are announced once, whoever comes first', async ({ store, another }) => {
      const stores = [store, await another()];
      const results = await each(40, (index) =>
        stores[index % 2]!.expectOrder(announcement({ members: { amount: String(index % 4) } })),
      );
      const outcomes = results.map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'expected')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'unchanged')).toHaveLength(9);
      expect(new Set(results.map((result) => result.order.members['amount'])).size).toBe(1);
      expect(await store.journalSize('shop')).toBe(1);
    });

    it('are either used or cancelled, never both, and used by one set of terms', async ({
      store,
      another,
    }) => {
      const stores = [store, await another()];
      for (let round = 0; round < 20; round++) {
        const subject = `payment:${round}`;
        await store.expectOrder(announcement({ subject }));
        const settling = each(6, (index) =>
          stores[index % 2]!.settle(claimingWith({ subject, terms: `terms ${index % 3}` })),
        );
        const cancelled = await stores[round % 2]!.cancelOrder({ ...cancel, subject });
        const approved = (await settling).flatMap((result, index) =>
          'verdict' in result && result.verdict === 'SUCCESS' ? [index % 3] : [],
        );
        const state = (await store.order('shop', subject))?.state;
        expect(new Set(approved).size).toBe(state === 'used' ? 1 : 0);
        expect(cancelled).toMatchObject({
          outcome: state === 'used' ? 'ended' : 'cancelled',
          order: { state },
        });
      }
    });

    it('are used by one decision, which the others repeat', async ({ store, another }) => {
      const stores = [store, await another()];
      await store.expectOrder(announcement());
      const results = await each(40, (index) => stores[index % 2]!.settle(claiming));
      expect(results.filter(({ outcome }) => outcome === 'decided')).toHaveLength(1);
      for (const result of results) expect(result).toMatchObject({ verdict: 'SUCCESS' });
    });
  });
}
