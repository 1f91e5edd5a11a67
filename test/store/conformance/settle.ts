import { subjectOf } from '../../../src/callback/callback.ts';
import { describe, expect } from 'vitest';
import {
  HOUR_MS,
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
  signing,
  speedUpClaim,
  units,
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

    it.for([
      ['RULE_REFUSED', undefined],
      ['NO_POLICY', 'NO_POLICY'],
      ['NOTHING_IN_FORCE', 'NOTHING_IN_FORCE'],
      ['TOO_MANY_CLAIMS', 'TOO_MANY_CLAIMS'],
    ] as const)("refuses with the proposal's own code %s", async ([refusalCode, refusal], { settle }) => {
      const result = await settle({ approves: false, refusal });
      expect(result).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: refusalCode, claims: [] });
    });

    it('refuses by rule if a claim fails, whatever code the proposal brought', async ({ settle }) => {
      const result = await settle({ refusal: 'NO_POLICY', claims: [windowClaim('10.1', '10')] });
      expect(result).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'RULE_REFUSED' });
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

    it('holds what is in force for a source that is registered later', async ({ store, settle }) => {
      await store.freeze({ reason: 'drill', by: 'ada' });
      await store.register(['late']);
      expect(await settle({ source: 'late' })).toMatchObject({ code: 'FROZEN' });
      await thaw(store);
      expect(await settle({ source: 'late', revision: '' })).toMatchObject({
        outcome: 'stale',
        inForce: REVISION,
      });
      expect(await settle({ source: 'late' })).toMatchObject({ code: 'APPROVED' });
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

    it('does not touch the subject: it is unknown afterwards, even under other terms', async ({
      store,
      settle,
    }) => {
      await store.freeze({ reason: 'drill', by: 'ada' });
      await settle();
      await thaw(store);
      expect(await settle({ terms: OTHER_TERMS })).toMatchObject({ outcome: 'decided', code: 'APPROVED' });
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

    it('says stale before expired, and before changed terms', async ({ settle }) => {
      await settle();
      const stale = { revision: revisionOf('older'), terms: OTHER_TERMS, validUntilMs: START_MS };
      expect(await settle(stale)).toMatchObject({ outcome: 'stale' });
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

    it('says expired before changed terms', async ({ settle }) => {
      await settle();
      expect(await settle({ terms: OTHER_TERMS, validUntilMs: START_MS })).toMatchObject({
        outcome: 'expired',
      });
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

    it('refuses for another question, another revision and a refusing proposal as well', async ({
      store,
    }) => {
      await store.settle(signing({ question: 'sign_prepare' }));
      expect(await store.settle(signing({ terms: OTHER_TERMS }))).toMatchObject({ code: 'TERMS_CHANGED' });
      expect(await store.settle(signing({ terms: OTHER_TERMS, speedUp: true }))).toMatchObject({
        code: 'TERMS_CHANGED',
      });
      expect(await store.settle(signing({ terms: OTHER_TERMS, approves: false }))).toMatchObject({
        code: 'TERMS_CHANGED',
      });
      await store.push(push('second', REVISION));
      expect(
        await store.settle(signing({ terms: OTHER_TERMS, revision: revisionOf('second') })),
      ).toMatchObject({ code: 'TERMS_CHANGED' });
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

  describe('settle and its claims', () => {
    it('checks and reports every claim, in order, also after one has failed', async ({ store, settle }) => {
      await store.changeList(change('known', ['a', 'c']));
      const result = await settle({
        claims: [
          listClaim('missing', 'hold-all', ['a']),
          windowClaim('11', '10'),
          listClaim('known', 'hold-all', ['c', 'b', 'a']),
          windowClaim('1', '10', { key: keyOf('second') }),
        ],
      });
      expect(result).toMatchObject({ verdict: 'FAILURE', code: 'RULE_REFUSED' });
      expect(claimsOf(result)).toEqual([
        { type: 'list', holds: false, missing: true, present: [] },
        { type: 'window', holds: false, reserved: 0n, used: 0n },
        { type: 'list', holds: false, missing: false, present: ['c', 'a'] },
        { type: 'window', holds: true, reserved: 0n, used: 0n },
      ]);
    });

    it('reserves nothing if one deciding claim fails, first or last', async ({ store, settle }) => {
      const fits = windowClaim('1', '10', { key: keyOf('fits') });
      const full = windowClaim('11', '10', { key: keyOf('full') });
      await settle({ subject: 'payment:a', claims: [fits, full] });
      await settle({ subject: 'payment:b', claims: [full, fits] });
      expect(await usedOf(store, { key: keyOf('fits') })).toBe(0n);
      expect(await usedOf(store, { key: keyOf('full') })).toBe(0n);
    });

    it('reserves nothing if the proposal refuses, but reports its claims', async ({ store, settle }) => {
      const result = await settle({ approves: false, claims: [windowClaim('1', '10')] });
      expect(result).toMatchObject({ code: 'RULE_REFUSED' });
      expect(claimsOf(result)).toEqual([{ type: 'window', holds: true, reserved: 0n, used: 0n }]);
      expect(await usedOf(store)).toBe(0n);
    });

    it.for([
      ['hold-all', ['a', 'b'], true],
      ['hold-all', ['a', 'x'], false],
      ['hold-all', ['A'], false],
      ['hold-none', ['x', 'y'], true],
      ['hold-none', ['x', 'a'], false],
      ['hold-none', ['A'], true],
      ['hold-none', ['__proto__'], true],
    ] as const)('%s %j against the list a, b: %s', async ([must, values, holds], { store, settle }) => {
      await store.changeList(change('list', ['a', 'b']));
      const result = await settle({ claims: [listClaim('list', must, values)] });
      const present = values.filter((value) => value === 'a' || value === 'b');
      expect(claimsOf(result)).toEqual([{ type: 'list', holds, missing: false, present }]);
      expect(result).toMatchObject({ verdict: holds ? 'SUCCESS' : 'FAILURE' });
    });

    it.for(['hold-all', 'hold-none'] as const)('fails %s of no values', async (must, { store, settle }) => {
      await store.changeList(change('list', ['a']));
      const result = await settle({ claims: [listClaim('list', must, [])] });
      expect(result).toMatchObject({ verdict: 'FAILURE', code: 'RULE_REFUSED' });
      expect(claimsOf(result)).toEqual([{ type: 'list', holds: false, missing: false, present: [] }]);
    });

    it.for(['hold-all', 'hold-none'] as const)(
      'fails %s of a list that does not exist',
      async (must, { store, settle }) => {
        await store.changeList(change('other', ['a']));
        await store.changeList(change('list', ['a'], [], { source: 'vault' }));
        const result = await settle({ claims: [listClaim('list', must, ['a'])] });
        expect(result).toMatchObject({ verdict: 'FAILURE', code: 'RULE_REFUSED' });
        expect(claimsOf(result)).toEqual([{ type: 'list', holds: false, missing: true, present: [] }]);
      },
    );

    it('knows an empty list from a missing one', async ({ store, settle }) => {
      await store.changeList(change('empty', []));
      const none = await settle({ claims: [listClaim('empty', 'hold-none', ['a'])] });
      expect(none).toMatchObject({ verdict: 'SUCCESS' });
      const all = await settle({ subject: 'payment:2', claims: [listClaim('empty', 'hold-all', ['a'])] });
      expect(claimsOf(all)).toEqual([{ type: 'list', holds: false, missing: false, present: [] }]);
    });

    it('lets a claim that only observes refuse nothing, and reserves it even if it does not hold', async ({
      store,
      settle,
    }) => {
      const observing = { decides: false } as const;
      const claims = [
        windowClaim('11', '10', observing),
        listClaim('missing', 'hold-all', ['a'], observing),
        windowClaim('1', '10', { ...observing, key: keyOf('holds') }),
      ];
      const result = await settle({ claims });
      expect(result).toMatchObject({ verdict: 'SUCCESS', code: 'APPROVED' });
      expect(claimsOf(result)).toMatchObject([{ holds: false }, { holds: false }, { holds: true }]);
      expect(await usedOf(store)).toBe(units('11'));
      expect(await usedOf(store, { key: keyOf('holds') })).toBe(units('1'));
    });

    it('does not reserve an observing claim of a refused decision', async ({ store, settle }) => {
      const claims = [
        windowClaim('1', '10', { decides: false }),
        windowClaim('11', '10', { key: keyOf('full') }),
      ];
      expect(await settle({ claims })).toMatchObject({ verdict: 'FAILURE' });
      expect(await usedOf(store)).toBe(0n);
    });

    it('counts two claims of one request on one counter together', async ({ store, settle }) => {
      const passing = await settle({ claims: [windowClaim('6', '10'), windowClaim('4', '10')] });
      expect(passing).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(passing)).toMatchObject([{ used: 0n }, { used: units('6') }]);
      expect(await usedOf(store)).toBe(units('10'));
      const refused = await settle({
        subject: 'payment:2',
        claims: [
          windowClaim('6', '10', { key: keyOf('other') }),
          windowClaim('5', '10', { key: keyOf('other') }),
        ],
      });
      expect(refused).toMatchObject({ verdict: 'FAILURE' });
      expect(claimsOf(refused)).toMatchObject([{ holds: true }, { holds: false }]);
      expect(await usedOf(store, { key: keyOf('other') })).toBe(0n);
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

    it('are compared with the largest whole numbers to the last digit', async ({ store, settle }) => {
      await store.changeList(change('allowed', ['a']));
      await settle();
      const largest = Number.MAX_SAFE_INTEGER;
      const claims = [
        agedClaim('allowed', largest, ['a']),
        markClaim({ ageMs: largest }),
        speedUpClaim(largest, largest),
        speedUpClaim(0, largest),
      ];
      const holds = claimsOf(await settle({ claims })).map((each) => each.holds);
      expect(holds).toEqual([false, false, true, false]);
    });
  });

  describe('time', () => {
    it('stands still while the clock is behind, and goes on from where it was', async ({
      store,
      clock,
      settle,
    }) => {
      await settle({ claims: [windowClaim('10', '10')] });
      clock.advance(-5 * HOUR_MS);
      const back = await settle({
        subject: 'payment:2',
        validFromMs: START_MS,
        claims: [windowClaim('1', '10')],
      });
      expect(back).toMatchObject({ outcome: 'decided', atMs: START_MS, verdict: 'FAILURE' });
      clock.advance(5 * HOUR_MS + 1);
      expect(await settle({ subject: 'payment:3' })).toMatchObject({ atMs: START_MS + 1 });
      expect((await store.health()).nowMs).toBe(START_MS + 1);
    });

    it('stands still for another handle as well', async ({ clock, another, settle }) => {
      const second = await another();
      await settle();
      clock.advance(-HOUR_MS);
      expect(await second.settle(request({ subject: 'payment:2' }))).toMatchObject({ atMs: START_MS });
    });
  });
}
