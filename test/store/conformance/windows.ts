import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Window } from '../../../src/claims/window.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  HOUR_MS,
  MINUTE_MS,
  START_MS,
  claimsOf,
  keyOf,
  request,
  rollingHour,
  units,
  usedOf,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

const nines = '9'.repeat(36);
const LARGEST = `${nines}.${nines}`;
const SMALLEST = `0.${'0'.repeat(35)}1`;
/** One past the first bucket's end: START_MS is the beginning of a bucket. */
const FREE_AT_MS = START_MS + MINUTE_MS + HOUR_MS;

export function describeWindows(open: OpenStore): void {
  const it = testsOn(open);

  describe('a window limit, to the last digit', () => {
    it.for([
      ['10', '10', true],
      ['10.000000000000000000000000000000000001', '10', false],
      [LARGEST, LARGEST, true],
      [LARGEST, `${nines}.${'9'.repeat(35)}8`, false],
      [SMALLEST, SMALLEST, true],
      [SMALLEST, '0', false],
      ['0', '0', true],
      ['9007199254740993', '9007199254740992', false],
    ] as const)('%s below or at %s: %s', async ([amount, max, holds], { store, settle }) => {
      const result = await settle({ claims: [windowClaim(amount, max)] });
      expect(result).toMatchObject({ verdict: holds ? 'SUCCESS' : 'FAILURE' });
      expect(await usedOf(store)).toBe(holds ? units(amount) : 0n);
    });

    it.for([
      ['0.1', '0.2', '0.3', '0.299999999999999999999999999999999999'],
      [LARGEST.replace(/9$/, '8'), SMALLEST, LARGEST, LARGEST.replace(/9$/, '8')],
      ['9007199254740992', '1', '9007199254740993', '9007199254740992.999999999999999999999999999999999999'],
      [`1${'0'.repeat(34)}`, SMALLEST, `1${'0'.repeat(34)}.${'0'.repeat(35)}1`, `1${'0'.repeat(34)}`],
    ] as const)(
      '%s and then %s pass at %s, and not at %s',
      async ([first, then, max, below], { store, settle }) => {
        await settle({ claims: [windowClaim(first, max)] });
        expect(await settle({ subject: 'payment:2', claims: [windowClaim(then, below)] })).toMatchObject({
          verdict: 'FAILURE',
        });
        expect(await settle({ subject: 'payment:3', claims: [windowClaim(then, max)] })).toMatchObject({
          verdict: 'SUCCESS',
        });
        expect(await usedOf(store)).toBe(units(max));
      },
    );

    it('sums exactly beyond 72 digits', async ({ store, settle }) => {
      for (let paid = 0; paid < 12; paid++) {
        const claims = [windowClaim(LARGEST, '0', { decides: false })];
        await settle({ subject: `payment:${paid}`, claims });
      }
      expect(await usedOf(store)).toBe(12n * units(LARGEST));
      const over = request({ subject: 'payment:over', claims: [windowClaim(SMALLEST, LARGEST)] });
      expect(await store.settle(over)).toMatchObject({ verdict: 'FAILURE' });
    });
  });

  describe('a rolling window', () => {
    it.for([0, 1, MINUTE_MS - 1])(
      'counts an approval %i ms into its bucket until no instant of the bucket lies within',
      async (intoBucketMs, { store, clock, settle }) => {
        clock.nowMs = START_MS + intoBucketMs;
        await settle({ claims: [windowClaim('10', '10')] });
        clock.nowMs = FREE_AT_MS - 1;
        expect(await usedOf(store)).toBe(units('10'));
        expect(await settle({ subject: 'payment:2', claims: [windowClaim('1', '10')] })).toMatchObject({
          verdict: 'FAILURE',
        });
        clock.nowMs = FREE_AT_MS;
        expect(await settle({ subject: 'payment:3', claims: [windowClaim('1', '10')] })).toMatchObject({
          verdict: 'SUCCESS',
        });
        expect(await usedOf(store)).toBe(units('1'));
      },
    );

    it('never lets more than its limit through in any window of its length, and errs by one bucket at most', async ({
      clock,
      settle,
    }) => {
      const lengthMs = 10_000;
      let run = 0;
      const step = fc.record({
        waitMs: fc.oneof(fc.integer({ min: -500, max: 1500 }), fc.constantFrom(0, lengthMs, lengthMs + 1)),
        amount: fc.bigInt({ min: 0n, max: 6n }),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 5, maxLength: 40 }),
          fc.constantFrom(1, 700, 1000, lengthMs),
          async (steps, bucketMs) => {
            const window: Window = { type: 'rolling', lengthMs, bucketMs };
            run++;
            const approved: { readonly atMs: number; readonly amount: bigint }[] = [];
            const withinLast = (atMs: number, spanMs: number): bigint =>
              approved
                .filter((each) => each.atMs > atMs - spanMs)
                .reduce((sum, each) => sum + each.amount, 0n);
            for (const [index, { waitMs, amount }] of steps.entries()) {
              clock.advance(waitMs);
              const claim = {
                ...windowClaim('0', '0', { key: keyOf(`run ${run}`), window }),
                amount,
                max: 10n,
              };
              const result = await settle({ subject: `payment:${run}-${index}`, claims: [claim] });
              if (result.outcome !== 'decided') throw new Error(`expected a decision, not ${result.outcome}`);
              const approves = result.verdict === 'SUCCESS';
              if (approves) approved.push({ atMs: result.atMs, amount });
              expect(withinLast(result.atMs, lengthMs)).toBeLessThanOrEqual(10n);
              const hadRoom = withinLast(result.atMs, lengthMs + bucketMs) + amount <= 10n;
              expect(approves || !hadRoom).toBe(true);
            }
          },
        ),
        { numRuns: 15 },
      );
    });
  });

  describe('the longest window', () => {
    const DAY_MS = 24 * HOUR_MS;
    /** As a rule of 400d claims it. */
    const longest: Window = { type: 'rolling', lengthMs: 400 * DAY_MS, bucketMs: 576_000_000 };
    const bucketEndMs = (Math.floor(START_MS / longest.bucketMs) + 1) * longest.bucketMs;

    it('counts for 400 days and at most a sixtieth more, to the millisecond', async ({
      store,
      clock,
      settle,
    }) => {
      const claim = (amount: string) => windowClaim(amount, '10', { window: longest });
      await settle({ claims: [claim('10')] });
      // Other callbacks let the store clean up meanwhile.
      for (const days of [93, 200, 399]) {
        clock.nowMs = START_MS + days * DAY_MS;
        await settle({ subject: `payment:day ${days}` });
      }
      clock.nowMs = START_MS + 400 * DAY_MS;
      expect(await usedOf(store, { window: longest })).toBe(units('10'));
      clock.nowMs = bucketEndMs + longest.lengthMs - 1;
      const full = await settle({ subject: 'payment:2', claims: [claim('0.1')] });
      expect(full).toMatchObject({ verdict: 'FAILURE' });
      clock.advance(1);
      const after = await settle({ subject: 'payment:3', claims: [claim('10')] });
      expect(after).toMatchObject({ verdict: 'SUCCESS' });
      expect(await usedOf(store, { window: longest })).toBe(units('10'));
    });

    it('counts a repeat once within it', async ({ store, clock, settle }) => {
      const ask = () => settle({ claims: [windowClaim('10', '10', { window: longest })] });
      await ask();
      clock.nowMs = START_MS + 399 * DAY_MS;
      expect(claimsOf(await ask())).toMatchObject([{ type: 'window', holds: true, reserved: units('10') }]);
      expect(await usedOf(store, { window: longest })).toBe(units('10'));
    });

    it('errs by one bucket at most, however approvals are spread over years', async ({ clock, settle }) => {
      let run = 0;
      const step = fc.record({
        days: fc.integer({ min: 0, max: 150 }),
        amount: fc.bigInt({ min: 0n, max: 6n }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
          run++;
          const approved: { readonly atMs: number; readonly amount: bigint }[] = [];
          const sumOf = (atMs: number, spanMs: number): bigint =>
            approved
              .filter((each) => each.atMs > atMs - spanMs)
              .reduce((sum, { amount }) => sum + amount, 0n);
          for (const [index, { days, amount }] of steps.entries()) {
            clock.advance(days * DAY_MS + index);
            const key = keyOf(`years ${run}`);
            const claim = { ...windowClaim('0', '0', { key, window: longest }), amount, max: 10n };
            const result = await settle({ subject: `payment:${run}-${index}`, claims: [claim] });
            if (result.outcome !== 'decided') throw new Error(`expected a decision, not ${result.outcome}`);
            if (result.verdict === 'SUCCESS') approved.push({ atMs: result.atMs, amount });
            expect(sumOf(result.atMs, longest.lengthMs)).toBeLessThanOrEqual(10n);
            const hadRoom = sumOf(result.atMs, longest.lengthMs + longest.bucketMs) + amount <= 10n;
            expect(result.verdict === 'SUCCESS' || !hadRoom).toBe(true);
          }
        }),
        { numRuns: 15 },
      );
    });

    it.for([
      ['a leap year', Date.UTC(2028, 0, 1), Date.UTC(2029, 0, 1)],
      ['a year in Lord Howe', Date.UTC(2025, 11, 31, 13), Date.UTC(2026, 11, 31, 13)],
      ['a quarter in Kathmandu', Date.UTC(2026, 5, 30, 18, 15), Date.UTC(2026, 8, 30, 18, 15)],
    ] as const)(
      'counts %s from its first to its last millisecond',
      async ([, startMs, endMs], { store, clock, settle }) => {
        const window: Window = { type: 'calendar', startMs, endMs };
        const ask = (id: string, amount: string) =>
          settle({ subject: `payment:${id}`, claims: [windowClaim(amount, '10', { window })] });
        clock.nowMs = startMs;
        expect(await ask('first', '9')).toMatchObject({ verdict: 'SUCCESS' });
        clock.nowMs = endMs - 1;
        expect(await ask('too much', '1.1')).toMatchObject({ verdict: 'FAILURE' });
        expect(await ask('last', '1')).toMatchObject({ verdict: 'SUCCESS' });
        clock.nowMs = endMs;
        const next: Window = { type: 'calendar', startMs: endMs, endMs: endMs + 365 * DAY_MS };
        expect(await usedOf(store, { window: next })).toBe(0n);
      },
    );
  });

  describe('a calendar window', () => {
    const day = (startMs: number, lengthMs = 24 * HOUR_MS): Window => ({
      type: 'calendar',
      startMs,
      endMs: startMs + lengthMs,
    });
    const beginMs = START_MS - 3 * HOUR_MS;

    it('counts a repeat in a new period anew, and refuses it there without room', async ({
      store,
      clock,
      settle,
    }) => {
      const claim = (window: Window) => windowClaim('10', '10', { window });
      await settle({ claims: [claim(day(beginMs))] });
      clock.nowMs = beginMs + 24 * HOUR_MS;
      const tomorrow = day(beginMs + 24 * HOUR_MS);
      const result = await settle({ claims: [claim(tomorrow)] });
      expect(result).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
      expect(claimsOf(result)).toEqual([{ type: 'window', holds: true, reserved: 0n, used: 0n }]);
      expect(await usedOf(store, { window: tomorrow })).toBe(units('10'));
      const another = await settle({ subject: 'payment:2', claims: [claim(tomorrow)] });
      expect(another).toMatchObject({ verdict: 'FAILURE' });
      clock.nowMs += 24 * HOUR_MS;
      const third = day(clock.nowMs);
      await settle({ subject: 'payment:3', claims: [claim(third)] });
      const without = await settle({ claims: [claim(third)] });
      expect(without).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'RULE_REFUSED' });
    });
  });

  describe('what was reserved long before', () => {
    it('lets nothing past the limit: questions prepared hours apart do not all start at once', async ({
      clock,
      settle,
    }) => {
      const ask = (index: number, question: 'sign_prepare' | 'sign_start') =>
        settle({ subject: `transfer:${index}`, question, claims: [windowClaim('10', '10')] });
      for (let index = 0; index < 5; index++) {
        expect(await ask(index, 'sign_prepare')).toMatchObject({ verdict: 'SUCCESS' });
        clock.advance(2 * HOUR_MS);
      }
      const started: string[] = [];
      for (let index = 0; index < 5; index++) {
        const result = await ask(index, 'sign_start');
        started.push('verdict' in result ? result.verdict : result.outcome);
      }
      expect(started).toEqual(['SUCCESS', 'FAILURE', 'FAILURE', 'FAILURE', 'FAILURE']);
    });

    it('counts for as long as its window does, and once within it', async ({ clock, settle }) => {
      const ask = () => settle({ claims: [windowClaim('10', '10')] });
      await ask();
      clock.nowMs = FREE_AT_MS - 1;
      expect(claimsOf(await ask())).toMatchObject([{ type: 'window', holds: true, reserved: units('10') }]);
      clock.nowMs = FREE_AT_MS;
      expect(claimsOf(await ask())).toMatchObject([
        { type: 'window', holds: true, reserved: units('10'), used: 0n },
      ]);
      clock.advance(FREE_AT_MS - START_MS);
      expect(claimsOf(await ask())).toMatchObject([{ type: 'window', holds: true, reserved: 0n, used: 0n }]);
      expect(claimsOf(await ask())).toMatchObject([{ type: 'window', holds: true, reserved: units('10') }]);
    });
  });

  describe('counters in the long run', () => {
    it('are exact after thousands of expired ones', async ({ store, clock }) => {
      for (let round = 0; round < 20; round++) {
        await settleMany(store, round, 50);
        clock.advance(HOUR_MS / 4);
      }
      clock.advance(-HOUR_MS / 4);
      expect(await usedOf(store)).toBe(units('250'));
      expect(await usedOf(store, { key: keyOf('own 0-0') })).toBe(0n);
      expect(await usedOf(store, { key: keyOf('own 19-49') })).toBe(units('1'));
    });
  });
}

/** Approvals that each count in the shared counter and in one of their own. */
async function settleMany(store: Store, round: number, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      store.settle(
        request({
          subject: `payment:${round}-${index}`,
          claims: [
            windowClaim('1', '1000', { window: rollingHour }),
            windowClaim('1', '1', { key: keyOf(`own ${round}-${index}`) }),
          ],
        }),
      ),
    ),
  );
}
