import { describe, expect } from 'vitest';
import {
  HOUR_MS,
  OTHER_TERMS,
  REVISION,
  START_MS,
  claimsOf,
  idOf,
  keyOf,
  markClaim,
  markedAtOf,
  push,
  request,
  revisionOf,
  windowClaim,
  thaw,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeMarks(open: OpenStore): void {
  const it = testsOn(open);

  describe('a claim that something was approved before', () => {
    it('fails without the mark, and refusing makes none', async ({ settle }) => {
      const claims = [markClaim({ retryable: true })];
      for (let attempt = 0; attempt < 2; attempt++) {
        const result = await settle({ claims });
        expect(result).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'RULE_REFUSED' });
        expect(claimsOf(result)).toEqual([{ type: 'mark', holds: false, markedAtMs: 0 }]);
      }
    });

    it('holds without the mark if it is exempt, and makes it with the time', async ({ clock, settle }) => {
      clock.advance(7);
      const first = await settle({ claims: [markClaim({ exempt: true })] });
      expect(first).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(first)).toEqual([{ type: 'mark', holds: true, markedAtMs: 0 }]);
      clock.advance(10);
      const next = await settle({ subject: 'payment:2', claims: [markClaim()] });
      expect(next).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(next)).toEqual([{ type: 'mark', holds: true, markedAtMs: START_MS + 7 }]);
    });

    it('holds from the very millisecond on, and not before', async ({ clock, settle }) => {
      await settle({ claims: [markClaim({ exempt: true, ageMs: HOUR_MS })] });
      const claims = [markClaim({ ageMs: HOUR_MS })];
      clock.advance(HOUR_MS - 1);
      const early = await settle({ subject: 'payment:2', claims });
      expect(early).toMatchObject({ verdict: 'FAILURE' });
      expect(claimsOf(early)).toEqual([{ type: 'mark', holds: false, markedAtMs: START_MS }]);
      clock.advance(1);
      const late = await settle({ subject: 'payment:3', claims });
      expect(late).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(late)).toEqual([{ type: 'mark', holds: true, markedAtMs: START_MS }]);
    });

    it('keeps the first time, however often it is claimed', async ({ store, clock, settle }) => {
      for (let index = 0; index < 3; index++) {
        await settle({ subject: `payment:${index}`, claims: [markClaim({ exempt: true })] });
        clock.advance(HOUR_MS);
      }
      expect(await markedAtOf(store)).toBe(START_MS);
    });

    it.for([
      ['the proposal refuses', { approves: false }],
      ['another claim fails', { claims: [markClaim({ exempt: true }), windowClaim('11', '10')] }],
      [
        'another mark is missing',
        { claims: [markClaim({ exempt: true }), markClaim({ key: keyOf('other') })] },
      ],
      ['the proposal is stale', { revision: revisionOf('older') }],
      ['the proposal is not valid now', { validUntilMs: START_MS }],
    ] as const)('makes no mark if %s', async ([, over], { store, settle }) => {
      await settle({ claims: [markClaim({ exempt: true })], ...over });
      expect(await markedAtOf(store)).toBe(0);
    });

    it('makes no mark while frozen, or for a subject with other terms', async ({ store, settle }) => {
      await settle();
      const claims = [markClaim({ exempt: true })];
      expect(await settle({ terms: OTHER_TERMS, claims })).toMatchObject({ code: 'TERMS_CHANGED' });
      await store.freeze({ reason: 'drill', by: 'ada' });
      expect(await settle({ subject: 'payment:2', claims })).toMatchObject({ code: 'FROZEN' });
      await thaw(store);
      expect(await markedAtOf(store)).toBe(0);
    });

    it('is made where it only observes, if it holds or not, and decides nothing', async ({
      store,
      settle,
    }) => {
      const result = await settle({ claims: [markClaim({ decides: false })] });
      expect(result).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(result)).toEqual([{ type: 'mark', holds: false, markedAtMs: 0 }]);
      expect(await markedAtOf(store)).toBe(START_MS);
    });

    it('is not made where it only observes a refusal', async ({ store, settle }) => {
      const claims = [markClaim({ decides: false, exempt: true }), windowClaim('11', '10')];
      expect(await settle({ claims })).toMatchObject({ verdict: 'FAILURE' });
      expect(await markedAtOf(store)).toBe(0);
    });

    it('is found by every claim of a request as it was before, each with its own exemption and age', async ({
      store,
      clock,
      settle,
    }) => {
      const exempt = markClaim({ exempt: true });
      const mixed = await settle({ claims: [exempt, markClaim(), exempt] });
      expect(mixed).toMatchObject({ verdict: 'FAILURE' });
      expect(claimsOf(mixed)).toEqual([
        { type: 'mark', holds: true, markedAtMs: 0 },
        { type: 'mark', holds: false, markedAtMs: 0 },
        { type: 'mark', holds: true, markedAtMs: 0 },
      ]);
      expect(await markedAtOf(store)).toBe(0);
      const both = await settle({ subject: 'payment:2', claims: [exempt, exempt] });
      expect(both).toMatchObject({ verdict: 'SUCCESS' });
      clock.advance(1000);
      const claims = [markClaim({ ageMs: 1000 }), markClaim({ ageMs: 1001 })];
      expect(claimsOf(await settle({ subject: 'payment:3', claims }))).toEqual([
        { type: 'mark', holds: true, markedAtMs: START_MS },
        { type: 'mark', holds: false, markedAtMs: START_MS },
      ]);
    });

    it('belongs to its source and its key', async ({ store, another, settle }) => {
      await settle({ claims: [markClaim({ exempt: true })] });
      expect(await markedAtOf(await another())).toBe(START_MS);
      expect(await markedAtOf(store, { source: 'vault' })).toBe(0);
      expect(await markedAtOf(store, { key: keyOf('other') })).toBe(0);
    });

    it('has nothing to do with a counter of the same key', async ({ store, settle }) => {
      const key = keyOf('shared');
      await settle({ claims: [windowClaim('10', '10', { key })] });
      expect(await markedAtOf(store, { key })).toBe(0);
      const claims = [markClaim({ key, exempt: true }), windowClaim('1', '10', { key })];
      const result = await settle({ subject: 'payment:2', claims });
      expect(claimsOf(result)).toMatchObject([
        { type: 'mark', holds: true, markedAtMs: 0 },
        { type: 'window', holds: false, reserved: 0n },
      ]);
    });

    it('is made when an approval is repeated under a policy that came in between', async ({
      store,
      clock,
      settle,
    }) => {
      const first = await settle();
      await store.push(push('second', REVISION));
      clock.advance(5);
      const asked = request({ revision: revisionOf('second'), claims: [markClaim({ exempt: true })] });
      expect(await store.settle(asked)).toMatchObject({
        outcome: 'repeated',
        verdict: 'SUCCESS',
        of: idOf(first),
      });
      const repeated = await store.settle(asked);
      expect(claimsOf(repeated)).toEqual([{ type: 'mark', holds: true, markedAtMs: START_MS + 5 }]);
    });

    it('is not made when a refusal is repeated', async ({ store, settle }) => {
      await settle({ approves: false });
      const asked = request({ claims: [markClaim({ exempt: true })] });
      expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', verdict: 'FAILURE' });
      expect(await markedAtOf(store)).toBe(0);
    });

    it('refuses what it approved if it is too young by a new policy', async ({ store, settle }) => {
      await settle({ claims: [markClaim({ exempt: true })] });
      await store.push(push('second', REVISION));
      const claims = [markClaim({ ageMs: HOUR_MS })];
      expect(await settle({ revision: revisionOf('second'), claims })).toMatchObject({
        outcome: 'decided',
        verdict: 'FAILURE',
        code: 'RULE_REFUSED',
      });
    });

    it('is made once, whoever comes at once', async ({ store, another }) => {
      const stores = [store, await another()];
      const claims = [markClaim({ exempt: true })];
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          stores[index % 2]!.settle(request({ subject: `payment:${index}`, claims })),
        ),
      );
      const found = results.map((result) => claimsOf(result)[0]);
      expect(found.filter((each) => each?.type === 'mark' && each.markedAtMs === 0)).toHaveLength(1);
      expect(await markedAtOf(store)).toBe(START_MS);
    });

    it('is journalled as it was found', async ({ store, settle }) => {
      await settle({ claims: [markClaim({ exempt: true })] });
      const claims = [markClaim(), markClaim({ key: keyOf('other'), decides: false })];
      const result = await settle({ subject: 'payment:2', claims });
      expect((await store.entry('shop', idOf(result)))?.claims).toEqual([
        { type: 'mark', holds: true, markedAtMs: START_MS },
        { type: 'mark', holds: false, markedAtMs: 0 },
      ]);
    });
  });
}
