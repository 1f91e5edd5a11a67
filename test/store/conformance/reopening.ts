import { describe, expect } from 'vitest';
import {
  OTHER_TERMS,
  REVISION,
  START_MS,
  announcement,
  change,
  claimsOf,
  idOf,
  keyOf,
  listClaim,
  markClaim,
  notice,
  orderClaim,
  priceChange,
  push,
  request,
  requestChange,
  revisionOf,
  signing,
  units,
  usedOf,
  windowClaim,
  thaw,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeReopening(open: OpenStore): void {
  const it = testsOn(open);

  describe('closing and opening again', () => {
    it('keeps subjects, terms, reservations and counters', async ({ reopen, settle }) => {
      const claims = [windowClaim('7.5', '10')];
      const first = await settle({ claims });
      const refused = await settle({ subject: 'payment:2', approves: false });
      const again = await reopen();
      expect(await again.settle(request({ claims }))).toMatchObject({ outcome: 'repeated', of: idOf(first) });
      expect(await again.settle(request({ subject: 'payment:2' }))).toMatchObject({
        outcome: 'repeated',
        verdict: 'FAILURE',
        of: idOf(refused),
      });
      expect(await again.settle(request({ terms: OTHER_TERMS }))).toMatchObject({ code: 'TERMS_CHANGED' });
      expect(await usedOf(again)).toBe(units('7.5'));
    });

    it('keeps txids', async ({ store, reopen }) => {
      await store.settle(signing());
      await store.recordNotification(notice({ txid: '0x1' }));
      const again = await reopen();
      expect(await again.recordNotification(notice({ txid: '0x1' }))).toMatchObject({ code: 'NOTED' });
      expect(await again.recordNotification(notice({ txid: '0x2' }))).toMatchObject({
        code: 'TXID_UNEXPECTED',
      });
    });

    it('keeps the journal, its order and its count', async ({ store, reopen, settle }) => {
      for (const detail of ['a', 'b', 'c']) await settle({ detail });
      const before = await store.entries({ source: 'shop', limit: 10 });
      const again = await reopen();
      expect(await again.entries({ source: 'shop', limit: 10 })).toEqual(before);
      expect(await again.journalSize('shop')).toBe(3);
      const next = idOf(await again.settle(request({ detail: 'd' })));
      expect(
        (await again.entries({ source: 'shop', after: before[2]?.id ?? '', limit: 10 })).map((e) => e.id),
      ).toEqual([next]);
    });

    it('keeps what is in force, the freeze, the documents and the history', async ({ store, reopen }) => {
      await store.push(push('second', REVISION));
      const { control } = await store.freeze({ reason: 'drill', by: 'ada' });
      const history = await store.history(10);
      const again = await reopen();
      expect(await again.control()).toEqual(control);
      expect(await again.history(10)).toEqual(history);
      expect(await again.document(REVISION)).toBe(push('first', '').document);
      expect(await again.settle(request())).toMatchObject({ code: 'FROZEN' });
      await thaw(again);
      expect(await again.settle(request())).toMatchObject({
        outcome: 'stale',
        inForce: revisionOf('second'),
      });
    });

    it('keeps lists and their versions', async ({ store, reopen }) => {
      await store.changeList(change('list', ['a']));
      const asked = request({ claims: [listClaim('list', 'hold-all', ['b'])] });
      const refused = await store.settle(asked);
      const again = await reopen();
      expect(await again.lists('shop')).toEqual([
        { list: 'list', entries: 1, version: 1, changedAtMs: START_MS },
      ]);
      expect(await again.settle(asked)).toMatchObject({ outcome: 'repeated', of: idOf(refused) });
      await again.changeList(change('list', ['b']));
      expect(await again.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
    });

    it('keeps marks, orders and whose they are', async ({ store, clock, reopen, settle }) => {
      const claims = [markClaim({ exempt: true }), orderClaim()];
      for (const subject of ['payment:1', 'payment:2']) await store.expectOrder(announcement({ subject }));
      await settle({ claims });
      await store.cancelOrder({ source: 'shop', subject: 'payment:2', by: 'ada' });
      const orders = [await store.order('shop', 'payment:1'), await store.order('shop', 'payment:2')];
      clock.advance(5);
      const again = await reopen();
      expect([await again.order('shop', 'payment:1'), await again.order('shop', 'payment:2')]).toEqual(
        orders,
      );
      expect(claimsOf(await again.settle(request({ claims })))).toEqual([
        { type: 'mark', holds: true, markedAtMs: START_MS },
        { type: 'order', holds: true, order: 'agrees', differs: [] },
      ]);
    });

    it('keeps time from running backwards', async ({ clock, reopen, settle }) => {
      await settle({ claims: [windowClaim('10', '10', { key: keyOf('kept') })] });
      clock.advance(-60_000);
      const again = await reopen();
      expect(await again.settle(request({ subject: 'payment:2' }))).toMatchObject({ atMs: START_MS });
    });

    it('rejects every verb of a store that is closed', async ({ store, close, settle }) => {
      await close();
      const unreachable = { code: 'STORE_UNREACHABLE' };
      await expect(settle()).rejects.toMatchObject(unreachable);
      await expect(store.recordNotification(notice())).rejects.toMatchObject(unreachable);
      await expect(store.control()).rejects.toMatchObject(unreachable);
      await expect(store.push(push('second', REVISION))).rejects.toMatchObject(unreachable);
      await expect(store.freeze({ reason: '', by: '' })).rejects.toMatchObject(unreachable);
      await expect(store.unfreeze({ by: '', ids: ['f1'] })).rejects.toMatchObject(unreachable);
      await expect(store.changeList(change('list', []))).rejects.toMatchObject(unreachable);
      await expect(store.expectOrder(announcement())).rejects.toMatchObject(unreachable);
      await expect(store.order('shop', 'payment:1')).rejects.toMatchObject(unreachable);
      await expect(
        store.cancelOrder({ source: 'shop', subject: 'payment:1', by: 'ada' }),
      ).rejects.toMatchObject(unreachable);
      await expect(store.openApprovalRequests('shop')).rejects.toMatchObject(unreachable);
      await expect(store.approvalRequest('shop', 'payment:1')).rejects.toMatchObject(unreachable);
      await expect(store.changeApprovalRequest(requestChange())).rejects.toMatchObject(unreachable);
      await expect(store.prices()).rejects.toMatchObject(unreachable);
      await expect(store.changePrices(priceChange({ BTC: '1' }))).rejects.toMatchObject(unreachable);
      await expect(store.priceHistory({ after: 0, limit: 1 })).rejects.toMatchObject(unreachable);
      await expect(store.entries({ source: 'shop', limit: 1 })).rejects.toMatchObject(unreachable);
      await expect(store.health()).rejects.toMatchObject(unreachable);
    });

    it('settles what was asked before it closes', async ({ store, reopen, settle }) => {
      const settles = Array.from({ length: 50 }, (_, index) => settle({ subject: `payment:${index}` }));
      const closed = store.close();
      for (const result of await Promise.all(settles)) expect(result).toMatchObject({ verdict: 'SUCCESS' });
      await closed;
      expect(await (await reopen()).journalSize('shop')).toBe(50);
    });
  });
}
