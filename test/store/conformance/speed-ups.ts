import { describe, expect } from 'vitest';
import type { ClaimResult } from '../../../src/claims/claims.ts';
import type { SettleRequest, Store } from '../../../src/store/store.ts';
import {
  type Asked,
  HOUR_MS,
  OTHER_TERMS,
  REVISION,
  START_MS,
  claimsOf,
  idOf,
  notice,
  push,
  revisionOf,
  signing,
  speedUpClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeSpeedUps(open: OpenStore): void {
  const it = testsOn(open);

  /** A speed-up of `sign_start` about `transfer:1`, at most `max` of them and within an hour. */
  const speedUp = (max: number, over: Partial<Asked> = {}): SettleRequest =>
    signing({ speedUp: true, claims: [speedUpClaim(max, HOUR_MS)], ...over });

  const found = (holds: boolean, approvedAtMs: number, speedUps: number): readonly ClaimResult[] => [
    { type: 'speed-up', holds, approvedAtMs, speedUps },
  ];

  const signed = async (store: Store, txid: string): Promise<void> => {
    expect(await store.recordNotification(notice({ txid }))).toMatchObject({ code: 'NOTED' });
  };

  describe('a claim that what is sped up was approved', () => {
    it.for([
      ['nothing was asked about the subject', []],
      ['only sign_prepare was approved', [signing({ question: 'sign_prepare' })]],
      ['the question was refused', [signing({ approves: false })]],
      [
        'only a speed-up of it was approved',
        [signing({ speedUp: true, terms: OTHER_TERMS, subject: 'transfer:2' })],
      ],
      ['it was approved about another subject', [signing({ subject: 'transfer:2' })]],
      ['it was approved for another source', [signing({ source: 'shop' })]],
    ] as const)('fails if %s', async ([, before], { store }) => {
      for (const each of before) await store.settle(each);
      const result = await store.settle(speedUp(5));
      expect(result).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'RULE_REFUSED' });
      expect(claimsOf(result)).toEqual(found(false, 0, 0));
    });

    it('holds up to the very millisecond, and no longer', async ({ store, clock }) => {
      for (const subject of ['transfer:1', 'transfer:2']) await store.settle(signing({ subject }));
      clock.advance(HOUR_MS);
      const last = await store.settle(speedUp(1));
      expect(last).toMatchObject({ verdict: 'SUCCESS', code: 'APPROVED' });
      expect(claimsOf(last)).toEqual(found(true, START_MS, 0));
      clock.advance(1);
      const late = await store.settle(speedUp(1, { subject: 'transfer:2' }));
      expect(late).toMatchObject({ verdict: 'FAILURE' });
      expect(claimsOf(late)).toEqual(found(false, START_MS, 0));
    });

    it('counts from the decision, not from its repeats', async ({ store, clock }) => {
      await store.settle(signing());
      clock.advance(HOUR_MS);
      expect(await store.settle(signing())).toMatchObject({ outcome: 'repeated' });
      clock.advance(1);
      expect(claimsOf(await store.settle(speedUp(1)))).toEqual(found(false, START_MS, 0));
    });

    it('passes no more of them than its maximum', async ({ store, clock }) => {
      await store.settle(signing());
      await signed(store, '0x1');
      for (const [index, txid] of ['0x2', '0x3'].entries()) {
        clock.advance(1000);
        const passing = await store.settle(speedUp(2));
        expect(passing).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
        expect(claimsOf(passing)).toEqual(found(true, START_MS, index));
        await signed(store, txid);
      }
      const third = await store.settle(speedUp(2));
      expect(third).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      expect(claimsOf(third)).toEqual(found(false, START_MS, 2));
    });

    it.for([0, 1])('of %i passes as many', async (max, { store }) => {
      await store.settle(signing());
      expect(claimsOf(await store.settle(speedUp(max)))).toEqual(found(max > 0, START_MS, 0));
    });

    it('does not count itself when it is repeated', async ({ store }) => {
      await store.settle(signing());
      const first = await store.settle(speedUp(1));
      for (let repeat = 0; repeat < 2; repeat++) {
        const result = await store.settle(speedUp(1));
        expect(result).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS', of: idOf(first) });
        expect(claimsOf(result)).toEqual(found(true, START_MS, 0));
      }
    });

    it('refuses the repeat of one that it approved once its time is over', async ({ store, clock }) => {
      await store.settle(signing());
      await store.settle(speedUp(1));
      clock.advance(HOUR_MS + 1);
      expect(await store.settle(speedUp(1))).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
    });

    it('does not count those that were refused', async ({ store }) => {
      await store.settle(signing());
      expect(await store.settle(speedUp(1, { approves: false }))).toMatchObject({ verdict: 'FAILURE' });
      await signed(store, '0x1');
      const next = await store.settle(speedUp(1));
      expect(next).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(claimsOf(next)).toEqual(found(true, START_MS, 0));
    });

    it('counts those of its own question alone', async ({ store }) => {
      await store.settle(signing({ question: 'sign_prepare' }));
      await store.settle(speedUp(1, { question: 'sign_prepare' }));
      await store.settle(signing());
      const started = await store.settle(speedUp(1));
      expect(started).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(started)).toEqual(found(true, START_MS, 0));
      await signed(store, '0x1');
      const prepared = await store.settle(speedUp(1, { question: 'sign_prepare' }));
      expect(prepared).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      expect(claimsOf(prepared)).toEqual(found(false, START_MS, 1));
    });

    it('fails once the approval was taken back, and counts from the one that is given again', async ({
      store,
      clock,
    }) => {
      await store.settle(signing());
      await store.push(push('second', REVISION));
      const revision = revisionOf('second');
      await store.settle(signing({ revision, approves: false, retryable: true }));
      clock.advance(5);
      const asked = speedUp(1, { revision, claims: [speedUpClaim(1, HOUR_MS, { retryable: true })] });
      expect(claimsOf(await store.settle(asked))).toEqual(found(false, 0, 0));
      await store.settle(signing({ revision }));
      const again = await store.settle(asked);
      expect(again).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(claimsOf(again)).toEqual(found(true, START_MS + 5, 0));
    });

    it('decides nothing if it only observes, and its approval counts', async ({ store }) => {
      const claims = [speedUpClaim(0, HOUR_MS, { decides: false })];
      const result = await store.settle(speedUp(0, { claims }));
      expect(result).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(result)).toEqual(found(false, 0, 0));
      await store.settle(signing());
      await signed(store, '0x1');
      expect(claimsOf(await store.settle(speedUp(5)))).toEqual(found(true, START_MS, 1));
    });

    it('fails for a question that is no speed-up and was not approved yet', async ({ store }) => {
      const result = await store.settle(signing({ claims: [speedUpClaim(5, HOUR_MS)] }));
      expect(result).toMatchObject({ verdict: 'FAILURE' });
      expect(claimsOf(result)).toEqual(found(false, 0, 0));
    });

    it('works for a payment as for any question', async ({ settle }) => {
      await settle();
      const claims = [speedUpClaim(1, HOUR_MS)];
      expect(claimsOf(await settle({ speedUp: true, claims }))).toEqual(found(true, START_MS, 0));
    });

    it('gives way to changed terms', async ({ store }) => {
      await store.settle(signing());
      expect(await store.settle(speedUp(1, { terms: OTHER_TERMS }))).toMatchObject({
        code: 'TERMS_CHANGED',
        claims: [],
      });
    });

    it('passes its maximum together, whoever comes at once', async ({ store, another }) => {
      const stores = [store, await another()];
      await store.settle(signing());
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, index) => stores[index % 2]!.settle(speedUp(1))),
      );
      expect(results.filter((result) => result.outcome === 'decided')).toHaveLength(1);
      for (const result of results) expect(result).toMatchObject({ verdict: 'SUCCESS' });
    });

    it('is journalled as it was found', async ({ store }) => {
      await store.settle(signing());
      const result = await store.settle(speedUp(1));
      expect((await store.entry('vault', idOf(result)))?.claims).toEqual(found(true, START_MS, 0));
    });
  });
}
