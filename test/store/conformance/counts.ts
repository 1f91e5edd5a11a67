import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { WindowClaim } from '../../../src/claims/window.ts';
import { HOUR_MS, MINUTE_MS, START_MS, keyOf, rollingHour, units, usedOf, windowClaim } from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeCounts(open: OpenStore): void {
  const it = testsOn(open);

  describe('the buckets of counters', () => {
    it('are those of each key, oldest first', async ({ store, clock, settle }) => {
      const pay = (subject: string, claims: readonly WindowClaim[]) =>
        settle({ subject: `payment:${subject}`, claims });
      const day = { type: 'calendar', startMs: START_MS, endMs: START_MS + HOUR_MS } as const;
      const [rolling, calendar] = [keyOf('rolling'), keyOf('calendar')];
      await pay('1', [windowClaim('1.5', '10', { key: rolling })]);
      await pay('2', [
        windowClaim('0.25', '10', { key: rolling }),
        windowClaim('3', '10', { key: calendar, window: day }),
      ]);
      clock.advance(2 * MINUTE_MS);
      await pay('3', [windowClaim(`0.${'0'.repeat(35)}1`, '10', { key: rolling })]);
      await pay('4', [windowClaim('4', '10', { key: calendar, window: day })]);
      expect(await store.buckets('shop', [calendar, keyOf('unused'), rolling])).toEqual([
        [{ endMs: START_MS + HOUR_MS, amount: units('7') }],
        [],
        [
          { endMs: START_MS + MINUTE_MS, amount: units('1.75') },
          { endMs: START_MS + 3 * MINUTE_MS, amount: 1n },
        ],
      ]);
      expect(await store.buckets('vault', [rolling])).toEqual([[]]);
      expect(await store.buckets('shop', [])).toEqual([]);
    });

    it('add up to what a claim finds used', { timeout: 60_000 }, async ({ store, clock, settle }) => {
      const step = fc.record({
        amount: fc.constantFrom('1', '0.000000000000000000000000000000000001', '9007199254740993.5'),
        ms: fc.constantFrom(0, 1, 20_000, MINUTE_MS, HOUR_MS - 1, HOUR_MS, 2 * HOUR_MS),
      });
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
          const key = keyOf(`run ${++run}`);
          for (const [at, { amount, ms }] of steps.entries()) {
            await settle({
              subject: `payment:${run}-${at}`,
              claims: [windowClaim(amount, '1', { key, decides: false })],
            });
            clock.advance(ms);
            const [buckets = []] = await store.buckets('shop', [key]);
            const counting = buckets.filter(({ endMs }) => endMs > clock.nowMs - HOUR_MS);
            const sum = counting.reduce((total, each) => total + each.amount, 0n);
            expect(sum).toBe(await usedOf(store, { key, window: rollingHour }));
          }
        }),
        { numRuns: 15 },
      );
    });
  });
}
