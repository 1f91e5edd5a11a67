import { describe, expect } from 'vitest';
import { type NotificationCode, type Store, TXIDS_MAX } from '../../../src/store/store.ts';
import { type Noted, START_MS, notice, signing } from '../requests.ts';
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
  });
}
