import { subjectOf } from '../../../src/callback/callback.ts';
import { describe, expect } from 'vitest';
import {
  OTHER_TERMS,
  REVISION,
  START_MS,
  agedClaim,
  announcement,
  change,
  claimsOf,
  idOf,
  keyOf,
  listClaim,
  markClaim,
  orderClaim,
  push,
  request,
  revisionOf,
  usedOf,
  windowClaim,
  thaw,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeSettle(open: OpenStore): void {
  const it = testsOn(open);

  describe('settle, step by step', () => {
    it('approves where the proposal approves and every claim holds', async ({ settle }) => {
      const result = await settle({ claims: [windowClaim('10', '10')] });
      expect(result).toEqual({
        outcome: 'decided',
        id: idOf(result),
        atMs: START_MS,
        verdict: 'SUCCESS',
        code: 'APPROVED',
        claims: [{ type: 'window', holds: true, reserved: 0n, used: 0n }],
      });
    });

    it('approves nothing under no revision, whatever the proposal says', async ({ empty: { store } }) => {
      await store.register(['shop']);
      expect(await store.settle(request({ revision: '' }))).toMatchObject({
        outcome: 'decided',
        verdict: 'FAILURE',
        code: 'RULE_REFUSED',
      });
    });

    it('decides where nothing is in force, and decides again once something is', async ({
      empty: { store },
    }) => {
      await store.register(['shop']);
      const nothing = request({ revision: '', approves: false, refusal: 'NOTHING_IN_FORCE' });
      expect(await store.settle(nothing)).toMatchObject({ outcome: 'decided', code: 'NOTHING_IN_FORCE' });
      expect(await store.settle(request())).toMatchObject({ outcome: 'stale', inForce: '' });
      await store.push(push('first', ''));
      expect(await store.settle(nothing)).toMatchObject({ outcome: 'stale', inForce: REVISION });
      expect(await store.settle(request())).toMatchObject({ outcome: 'decided', code: 'APPROVED' });
    });
  });

  describe('settle while frozen', () => {
    it('refuses whatever else holds, and journals it', async ({ store, settle }) => {
      const first = await settle();
      await store.freeze({ reason: 'drill', by: 'ada' });
      const attempts = [
        request(),
        request({ subject: 'payment:2' }),
        request({ revision: revisionOf('older') }),
        request({ validUntilMs: START_MS }),
        request({ terms: OTHER_TERMS }),
        request({ approves: false, refusal: 'NO_POLICY' }),
        request({
          subject: 'payment:3',
          claims: [windowClaim('1', '10'), listClaim('none', 'hold-none', ['x'])],
        }),
      ];
      for (const attempt of attempts) {
        const result = await store.settle(attempt);
        expect(result).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'FROZEN', claims: [] });
        expect(await store.entry('shop', idOf(result))).toMatchObject({
          type: 'decision',
          verdict: 'FAILURE',
          code: 'FROZEN',
          subject: subjectOf(attempt.callback),
        });
      }
      await thaw(store);
      expect(await usedOf(store)).toBe(0n);
      expect(await settle()).toMatchObject({ outcome: 'repeated', of: idOf(first) });
    });
  });

  describe('settle under a revision that is not in force, or at another time', () => {
    it.for([
      ['older', revisionOf('older')],
      ['empty', ''],
      ['differing in case', REVISION.toUpperCase()],
    ] as const)('says stale and writes nothing: %s', async ([, revision], { store, settle }) => {
      const claims = [windowClaim('1', '10')];
      expect(await settle({ revision, claims })).toEqual({
        outcome: 'stale',
        inForce: REVISION,
        nowMs: START_MS,
      });
      expect(await store.journalSize('shop')).toBe(0);
      expect(await usedOf(store)).toBe(0n);
      expect(await settle({ terms: OTHER_TERMS })).toMatchObject({ code: 'APPROVED' });
    });

    it('says expired outside [validFromMs, validUntilMs) and writes nothing', async ({ store, settle }) => {
      for (const outside of [
        { validFromMs: START_MS + 1 },
        { validUntilMs: START_MS },
        { validFromMs: START_MS, validUntilMs: START_MS },
      ]) {
        const result = await settle({ ...outside, claims: [windowClaim('1', '10')] });
        expect(result).toEqual({ outcome: 'expired', nowMs: START_MS });
      }
      expect(await store.journalSize('shop')).toBe(0);
      expect(await usedOf(store)).toBe(0n);
      expect(
        await settle({ terms: OTHER_TERMS, validFromMs: START_MS, validUntilMs: START_MS + 1 }),
      ).toMatchObject({ outcome: 'decided', code: 'APPROVED' });
    });
  });

  describe('settle of a subject that is known with other terms', () => {
    it.for([
      ['approved', { approves: true }],
      ['refused', { approves: false }],
    ] as const)('refuses, and leaves the subject as it was: %s', async ([, over], { store, settle }) => {
      const first = await settle({ ...over, claims: [windowClaim('4', '10')] });
      const used = await usedOf(store);
      const other = request({
        terms: OTHER_TERMS,
        claims: [windowClaim('1', '10', { key: keyOf('other') })],
      });
      for (let attempt = 0; attempt < 2; attempt++) {
        const result = await store.settle(other);
        expect(result).toMatchObject({
          outcome: 'decided',
          verdict: 'FAILURE',
          code: 'TERMS_CHANGED',
          claims: [],
        });
        expect(await store.entry('shop', idOf(result))).toMatchObject({
          type: 'decision',
          code: 'TERMS_CHANGED',
        });
      }
      expect(await usedOf(store)).toBe(used);
      expect(await usedOf(store, { key: keyOf('other') })).toBe(0n);
      expect(await settle({ ...over, claims: [windowClaim('4', '10')] })).toMatchObject({
        outcome: 'repeated',
        of: idOf(first),
      });
    });

    it.for([
      ['another kind', { subject: 'transfer:a1' }],
      ['another source', { source: 'vault' }],
      ['another case', { subject: 'payment:A1' }],
      ['a longer id', { subject: 'payment:a11' }],
      ['an odd id', { subject: 'payment:a1 "\\\':{}*?[é\u{1f512}' }],
      ['a name of the language', { subject: 'payment:__proto__' }],
    ] as const)('takes for another subject: %s', async ([, over], { store, settle }) => {
      await settle({ subject: 'payment:a1' });
      const other = request({ subject: 'payment:a1', terms: OTHER_TERMS, ...over });
      const decided = await store.settle(other);
      expect(decided).toMatchObject({ outcome: 'decided', code: 'APPROVED' });
      expect(await store.settle(other)).toMatchObject({ outcome: 'repeated', of: idOf(decided) });
    });
  });

  describe('claims at their bounds', () => {
    it('are taken by the thousand, with texts by the thousand', async ({ store, settle }) => {
      const values = Array.from({ length: 9000 }, (_, index) => `value ${index}`);
      const members = Object.fromEntries(values.slice(0, 3000).map((value) => [value, value]));
      await store.changeList(change('many', values));
      await store.expectOrder(announcement({ members }));
      const claims = [
        listClaim('many', 'hold-all', values),
        agedClaim('many', 0, values),
        orderClaim(members),
        ...Array.from({ length: 1000 }, (_, index) =>
          markClaim({ key: keyOf(`mark ${index}`), exempt: true }),
        ),
        ...Array.from({ length: 1000 }, () => agedClaim('many', 0, ['value 1'])),
      ];
      const results = claimsOf(await settle({ claims }));
      expect(results).toHaveLength(claims.length);
      expect(results.filter(({ holds }) => !holds)).toEqual([]);
      const lacking = orderClaim({ ...members, 'value 2999': '' });
      expect(claimsOf(await settle({ claims: [lacking] }))).toEqual([
        { type: 'order', holds: false, order: 'differs', differs: ['value 2999'] },
      ]);
    });
  });
}
