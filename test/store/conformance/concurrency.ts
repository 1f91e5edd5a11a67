import { describe, expect } from 'vitest';
import type { SettleResult } from '../../../src/store/store.ts';
import {
  OTHER_TERMS,
  REVISION,
  TERMS,
  idOf,
  push,
  request,
  revisionOf,
  units,
  usedOf,
  windowClaim,
  HOUR_MS,
  START_MS,
  claimsOf,
  markClaim,
  markedAtOf,
  signing,
  speedUpClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

const MANY = 200;
const ROOM = 37;

const verdictOf = (result: SettleResult): string =>
  'verdict' in result ? `${result.outcome} ${result.code}` : result.outcome;

function tally(results: readonly SettleResult[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const result of results) counts[verdictOf(result)] = (counts[verdictOf(result)] ?? 0) + 1;
  return counts;
}

export function describeConcurrency(open: OpenStore): void {
  const it = testsOn(open);

  describe('settling at once', () => {
    const all = <T>(each: (index: number) => Promise<T>): Promise<readonly T[]> =>
      Promise.all(Array.from({ length: MANY }, (_, index) => each(index)));

    it.for([1, 2])(
      'approves exactly as many as there is room for, over %i handle(s)',
      async (handles, { store, another }) => {
        const stores = handles === 1 ? [store] : [store, await another()];
        const claims = [windowClaim('1.1', '41.7')];
        const results = await all((index) =>
          (stores[index % handles] ?? store).settle(request({ subject: `payment:${index}`, claims })),
        );
        expect(tally(results)).toEqual({ 'decided APPROVED': ROOM, 'decided RULE_REFUSED': MANY - ROOM });
        expect(await usedOf(store)).toBe(units('40.7'));
        expect(await store.journalSize('shop')).toBe(MANY + 1);
      },
    );

    it.for([1, 2])(
      'decides one subject once, under one of two terms, over %i handle(s)',
      async (handles, { store, another }) => {
        const stores = handles === 1 ? [store] : [store, await another()];
        const claims = [windowClaim('1', '5')];
        const results = await all((index) =>
          (stores[(index >> 1) % handles] ?? store).settle(
            request({ terms: index % 2 === 0 ? TERMS : OTHER_TERMS, claims }),
          ),
        );
        expect(tally(results)).toEqual({
          'decided APPROVED': 1,
          'repeated APPROVED': MANY / 2 - 1,
          'decided TERMS_CHANGED': MANY / 2,
        });
        const first = results.find((result) => verdictOf(result) === 'decided APPROVED');
        if (first === undefined) throw new Error('none was approved');
        const repeats = results.filter((result) => result.outcome === 'repeated');
        expect(new Set(repeats.map((result) => result.of))).toEqual(new Set([idOf(first)]));
        expect(new Set(results.map(idOf)).size).toBe(MANY);
        expect(await usedOf(store)).toBe(units('1'));
      },
    );

    it('settles nothing under the old revision that began after a push had resolved', async ({
      store,
      another,
    }) => {
      const other = await another();
      const before = all((index) =>
        [store, other][index % 2]!.settle(request({ subject: `payment:before-${index}` })),
      );
      const pushed = other.push(push('second', REVISION));
      const after = pushed.then(() =>
        all((index) => [store, other][index % 2]!.settle(request({ subject: `payment:after-${index}` }))),
      );
      expect(await pushed).toMatchObject({ outcome: 'in-force' });
      for (const result of await after) {
        expect(result).toMatchObject({ outcome: 'stale', inForce: revisionOf('second') });
      }
      for (const result of await before) {
        expect(['decided APPROVED', 'stale']).toContain(verdictOf(result));
      }
    });

    it('approves nothing that began after a freeze had resolved', async ({ store, another }) => {
      const other = await another();
      const before = all((index) => other.settle(request({ subject: `payment:before-${index}` })));
      await store.freeze({ reason: 'drill', by: 'ada' });
      const after = await all((index) => other.settle(request({ subject: `payment:after-${index}` })));
      expect(tally(after)).toEqual({ 'decided FROZEN': MANY });
      await before;
    });

    it('lets one of two pushes win that were compared against the same revision', async ({
      store,
      another,
    }) => {
      const other = await another();
      const [one, two] = await Promise.all([
        store.push(push('second', REVISION)),
        other.push(push('third', REVISION)),
      ]);
      expect([one.outcome, two.outcome].sort()).toEqual(['conflict', 'in-force']);
      const winner = revisionOf(one.outcome === 'in-force' ? 'second' : 'third');
      expect(one.control.revision).toBe(winner);
      expect(two.control.revision).toBe(winner);
      expect((await store.history(10)).map((entry) => entry.revision)).toEqual([winner, REVISION]);
    });

    it('make a mark once, whoever comes first', async ({ store, another }) => {
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

    it('pass the maximum of speed-ups together', async ({ store, another }) => {
      const stores = [store, await another()];
      await store.settle(signing());
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          stores[index % 2]!.settle(signing({ speedUp: true, claims: [speedUpClaim(1, HOUR_MS)] })),
        ),
      );
      expect(results.filter((result) => result.outcome === 'decided')).toHaveLength(1);
      for (const result of results) expect(result).toMatchObject({ verdict: 'SUCCESS' });
    });
  });
}
