import { describe, expect } from 'vitest';
import { type NotificationCode, type Store, TXIDS_MAX } from '../../../src/store/store.ts';
import {
  type Noted,
  OTHER_TERMS,
  REVISION,
  START_MS,
  idOf,
  notice,
  push,
  revisionOf,
  signing,
  thaw,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeNotifications(open: OpenStore): void {
  const it = testsOn(open);

  const codeOf = async (store: Store, over: Partial<Noted> = {}): Promise<NotificationCode> => {
    const result = await store.recordNotification(notice(over));
    expect(result.verdict).toBe(result.code === 'NOTED' ? 'SUCCESS' : 'FAILURE');
    return result.code;
  };

  describe('a notice of what was signed', () => {
    it('is noted if sign_start stands approved, and journalled', async ({ store }) => {
      await store.settle(signing());
      const result = await store.recordNotification(notice({ detail: '{"txid":"0xaa"}' }));
      expect(result).toEqual({ id: result.id, atMs: START_MS, verdict: 'SUCCESS', code: 'NOTED' });
      expect(await store.entry('vault', result.id)).toEqual({
        id: result.id,
        source: 'vault',
        atMs: START_MS,
        type: 'notice',
        subject: 'transfer:1',
        verdict: 'SUCCESS',
        code: 'NOTED',
        revision: '',
        of: '',
        claims: [],
        detail: '{"txid":"0xaa"}',
      });
    });

    it('is an alarm if nothing approved it', async ({ store, settle }) => {
      expect(await codeOf(store)).toBe('SIGNED_WITHOUT_APPROVAL');
      await store.settle(signing({ question: 'sign_prepare' }));
      expect(await codeOf(store)).toBe('SIGNED_WITHOUT_APPROVAL');
      await store.settle(signing({ approves: false }));
      expect(await codeOf(store)).toBe('SIGNED_WITHOUT_APPROVAL');
      expect(await codeOf(store, { subject: 'transfer:2' })).toBe('SIGNED_WITHOUT_APPROVAL');
      await settle({ source: 'vault', subject: 'payment:1' });
      expect(await codeOf(store, { subject: 'payment:1' })).toBe('SIGNED_WITHOUT_APPROVAL');
      expect(await store.journalSize('vault')).toBe(8);
    });

    it('is an alarm if it has other terms, or comes from another source', async ({ store }) => {
      await store.settle(signing());
      expect(await codeOf(store, { terms: OTHER_TERMS })).toBe('SIGNED_WITHOUT_APPROVAL');
      expect(await codeOf(store, { source: 'shop' })).toBe('SIGNED_WITHOUT_APPROVAL');
      expect(await codeOf(store)).toBe('NOTED');
    });

    it('is an alarm if the approval was taken back', async ({ store }) => {
      await store.settle(signing());
      await store.push(push('second', REVISION));
      await store.settle(signing({ revision: revisionOf('second'), approves: false }));
      expect(await codeOf(store)).toBe('SIGNED_WITHOUT_APPROVAL');
    });

    it('makes no subject and no decision', async ({ store }) => {
      await codeOf(store);
      expect(await store.settle(signing({ terms: OTHER_TERMS }))).toMatchObject({
        outcome: 'decided',
        code: 'APPROVED',
      });
    });

    it('is noted again with the same txid, and without one', async ({ store }) => {
      await store.settle(signing());
      for (const txid of ['0xaa', '0xaa', '', '', '0xaa'])
        expect(await codeOf(store, { txid })).toBe('NOTED');
    });

    it('is an alarm with a second txid, unless a speed-up was approved', async ({ store }) => {
      await store.settle(signing());
      expect(await codeOf(store, { txid: '0x1' })).toBe('NOTED');
      expect(await codeOf(store, { txid: '0X1' })).toBe('TXID_UNEXPECTED');
    });

    it('allows one more txid for each approved speed-up of sign_start', async ({ store }) => {
      await store.settle(signing());
      expect(await codeOf(store, { txid: '0x1' })).toBe('NOTED');
      await store.settle(signing({ question: 'sign_prepare', speedUp: true }));
      await store.settle(signing({ speedUp: true }));
      await store.settle(signing({ speedUp: true }));
      expect(await codeOf(store, { txid: '0x2' })).toBe('NOTED');
      expect(await codeOf(store, { txid: '0x3' })).toBe('TXID_UNEXPECTED');
      expect(await codeOf(store, { txid: '0x1' })).toBe('NOTED');
    });

    it('allows none for a refused speed-up', async ({ store }) => {
      await store.settle(signing());
      expect(await codeOf(store, { txid: '0x1' })).toBe('NOTED');
      await store.settle(signing({ speedUp: true, approves: false }));
      expect(await codeOf(store, { txid: '0x2' })).toBe('TXID_UNEXPECTED');
    });

    it('records an unexpected txid too, so that it is known the next time', async ({ store }) => {
      await store.settle(signing());
      await codeOf(store, { txid: '0x1' });
      expect(await codeOf(store, { txid: '0x2' })).toBe('TXID_UNEXPECTED');
      expect(await codeOf(store, { txid: '0x2' })).toBe('NOTED');
      // One approved speed-up allows two txids, and two are recorded already.
      await store.settle(signing({ speedUp: true }));
      expect(await codeOf(store, { txid: '0x3' })).toBe('TXID_UNEXPECTED');
    });

    it('is refused while frozen, but its txid is recorded', async ({ store }) => {
      await store.settle(signing());
      await store.freeze({ reason: 'drill', by: 'ada' });
      expect(await codeOf(store, { txid: '0x1' })).toBe('FROZEN');
      expect(await codeOf(store, { txid: '0x2' })).toBe('TXID_UNEXPECTED');
      expect(await codeOf(store, { subject: 'transfer:2' })).toBe('SIGNED_WITHOUT_APPROVAL');
      await thaw(store);
      expect(await codeOf(store, { txid: '0x1' })).toBe('NOTED');
      expect(await codeOf(store, { txid: '0x3' })).toBe('TXID_UNEXPECTED');
    });

    it('records the txid of a known subject that has no approval', async ({ store }) => {
      await store.settle(signing({ question: 'sign_prepare' }));
      expect(await codeOf(store, { txid: '0x1' })).toBe('SIGNED_WITHOUT_APPROVAL');
      await store.settle(signing());
      expect(await codeOf(store, { txid: '0x2' })).toBe('TXID_UNEXPECTED');
      expect(await codeOf(store, { txid: '0x1' })).toBe('NOTED');
    });

    it('records no more than a hundred txids, however many are approved', async ({ store }) => {
      await store.settle(signing());
      for (let count = 0; count < TXIDS_MAX; count++) {
        expect(await codeOf(store, { txid: `0x${count}` })).toBe('NOTED');
        await store.settle(signing({ speedUp: true }));
      }
      for (let again = 0; again < 2; again++)
        expect(await codeOf(store, { txid: '0xmore' })).toBe('TXID_UNEXPECTED');
      expect(await codeOf(store, { txid: '0x0' })).toBe('NOTED');
    });

    it('leaves decisions as they are', async ({ store }) => {
      const first = await store.settle(signing());
      await codeOf(store, { txid: '0x1' });
      expect(await store.settle(signing())).toMatchObject({ outcome: 'repeated', of: idOf(first) });
    });
  });
}
