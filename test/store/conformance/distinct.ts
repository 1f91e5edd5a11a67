import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { DistinctClaim } from '../../../src/claims/distinct.ts';
import type { Window } from '../../../src/claims/window.ts';
import type { SettleResult } from '../../../src/store/store.ts';
import { claimsOf, countedOf, distinctClaim, keyOf, request } from '../requests.ts';
import { type OpenStore, ready, testsOn } from './store-under-test.ts';

const verdictOf = (result: SettleResult): string => ('verdict' in result ? result.verdict : result.outcome);
const MANY = 60;

export function describeDistinct(open: OpenStore): void {
  const it = testsOn(open);

  /** Asks about one value after the other, each for a subject of its own. */
  const asking = async () => {
    const { store, clock, another } = await ready(open);
    let asked = 0;
    const ask = (values: readonly string[], max: number, over: Partial<DistinctClaim> = {}) =>
      store.settle(
        request({ subject: `payment:any-${++asked}`, claims: [distinctClaim(values, max, over)] }),
      );
    return { store, clock, another, ask };
  };

  describe('a claim for different values', () => {
    it('keeps a bounded number of values where it only observes: those that count longest', async () => {
      const { ask, clock, store } = await asking();
      const values = (from: number, count: number): readonly string[] =>
        Array.from({ length: count }, (_, index) => `v${from + index}`);
      await ask(values(0, 700), 1, { decides: false });
      clock.advance(1);
      await ask(values(700, 700), 1, { decides: false });
      expect(await countedOf(store)).toBe(1001);
      expect(claimsOf(await ask(values(700, 700), 1, { decides: false }))).toMatchObject([{ further: 0 }]);
    });
  });

  describe('different values at once', () => {
    it('never exceed the maximum, over two handles', async ({ store, another }) => {
      const stores = [store, await another()];
      const results = await Promise.all(
        Array.from({ length: MANY }, (_, index) =>
          stores[index % 2]!.settle(
            request({ subject: `payment:${index}`, claims: [distinctClaim([`v${index % 20}`], 7)] }),
          ),
        ),
      );
      const approved = new Set(
        results.flatMap((result, index) => (verdictOf(result) === 'SUCCESS' ? [index % 20] : [])),
      );
      expect(approved.size).toBe(7);
      expect(await countedOf(store)).toBe(7);
      const once = results.filter((_, index) => approved.has(index % 20)).map(verdictOf);
      expect(new Set(once.slice(-7))).toEqual(new Set(['SUCCESS']));
    });

    it('are counted as by hand, whatever comes', async ({ clock, settle }) => {
      const lengthMs = 1000;
      const window: Window = { type: 'rolling', lengthMs, bucketMs: 17 };
      const step = fc.record({
        waitMs: fc.constantFrom(0, 1, 200, 999, 1000),
        values: fc.uniqueArray(fc.nat(6), { minLength: 1, maxLength: 3 }),
        max: fc.integer({ min: 1, max: 4 }),
        again: fc.nat(3),
      });
      let run = 0;
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 30 }),
        fc.boolean(),
        async (steps, onlyNew) => {
          run++;
          const approvals: { readonly value: number; readonly atMs: number }[] = [];
          for (const [index, { waitMs, values, max }] of steps.entries()) {
            clock.advance(waitMs);
            const { nowMs } = clock;
            const names = values.map((value) => `${run} ${value}`);
            const claim = distinctClaim(names, max, { key: keyOf(`run ${run}`), window, onlyNew });
            const result = await settle({ subject: `payment:${run}-${index}`, claims: [claim] });
            const inWindow = onlyNew
              ? approvals.filter(
                  ({ value, atMs }, at) =>
                    atMs > nowMs - lengthMs && !approvals.slice(0, at).some((each) => each.value === value),
                )
              : approvals.filter(({ atMs }) => atMs > nowMs - lengthMs);
            const counted = new Set(inWindow.map(({ value }) => value));
            const known = onlyNew ? new Set(approvals.map(({ value }) => value)) : counted;
            const further = values.filter((value) => !known.has(value)).length;
            const holds = counted.size + further <= max || (onlyNew && further === 0);
            expect(claimsOf(result)).toEqual([{ type: 'distinct', holds, counted: counted.size, further }]);
            if (holds) approvals.push(...values.map((value) => ({ value, atMs: nowMs })));
          }
        },
      );
      await fc.assert(property, { numRuns: 20 });
    });
  });
}
