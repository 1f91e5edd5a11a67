import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { DistinctClaim } from '../../../src/claims/distinct.ts';
import type { Window } from '../../../src/claims/window.ts';
import type { SettleResult } from '../../../src/store/store.ts';
import {
  HOUR_MS,
  OTHER_TERMS,
  REVISION,
  START_MS,
  claimsOf,
  countedOf,
  distinctClaim,
  idOf,
  keyOf,
  markClaim,
  push,
  request,
  revisionOf,
  thaw,
  windowClaim,
} from '../requests.ts';
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
    it('holds up to the maximum, and for what is counted already', async () => {
      const { ask, store } = await asking();
      const verdicts: string[] = [];
      for (const value of ['a', 'b', 'a', 'c', 'b', 'a']) verdicts.push(verdictOf(await ask([value], 2)));
      expect(verdicts).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS', 'FAILURE', 'SUCCESS', 'SUCCESS']);
      expect(await countedOf(store)).toBe(2);
    });

    it('says what was counted, and what comes in addition', async () => {
      const { ask } = await asking();
      await ask(['a'], 3);
      const holding = await ask(['a', 'b', 'c'], 3);
      expect(claimsOf(holding)).toEqual([{ type: 'distinct', holds: true, counted: 1, further: 2 }]);
      const failing = await ask(['a', 'd'], 3);
      expect(claimsOf(failing)).toEqual([{ type: 'distinct', holds: false, counted: 3, further: 1 }]);
    });

    it('counts all values of a callback, or none', async () => {
      const { ask, store } = await asking();
      expect(verdictOf(await ask(['a', 'b', 'c'], 2))).toBe('FAILURE');
      expect(await countedOf(store)).toBe(0);
      expect(verdictOf(await ask(['a', 'b'], 2))).toBe('SUCCESS');
      expect(await countedOf(store)).toBe(2);
    });

    it('without values never holds', async () => {
      const { ask } = await asking();
      expect(verdictOf(await ask([], 2))).toBe('FAILURE');
      expect(verdictOf(await ask([], 2, { onlyNew: true }))).toBe('FAILURE');
    });

    it('counts a value until the window no longer has an approval of it, to the millisecond', async () => {
      const { ask, clock, store } = await asking();
      await ask(['a'], 1);
      clock.advance(HOUR_MS - 1);
      expect(verdictOf(await ask(['b'], 1))).toBe('FAILURE');
      expect(verdictOf(await ask(['a'], 1))).toBe('SUCCESS');
      clock.advance(HOUR_MS - 1);
      expect(verdictOf(await ask(['b'], 1))).toBe('FAILURE');
      clock.advance(1);
      expect(await countedOf(store)).toBe(0);
      expect(verdictOf(await ask(['b'], 1))).toBe('SUCCESS');
    });

    it('counts in a calendar period from its beginning to its end', async () => {
      const { ask, clock } = await asking();
      const day = (startMs: number): Window => ({ type: 'calendar', startMs, endMs: startMs + 24 * HOUR_MS });
      const today = day(START_MS - HOUR_MS);
      await ask(['a'], 1, { window: today });
      clock.nowMs = START_MS + 23 * HOUR_MS - 1;
      expect(verdictOf(await ask(['b'], 1, { window: today }))).toBe('FAILURE');
      clock.advance(1);
      expect(verdictOf(await ask(['b'], 1, { window: day(clock.nowMs) }))).toBe('SUCCESS');
    });

    it('is not shared by keys or by sources', async () => {
      const { ask, store } = await asking();
      await ask(['a'], 1);
      expect(verdictOf(await ask(['b'], 1, { key: keyOf('other') }))).toBe('SUCCESS');
      const elsewhere = request({ source: 'vault', claims: [distinctClaim(['b'], 1)] });
      expect(verdictOf(await store.settle(elsewhere))).toBe('SUCCESS');
    });

    it('has nothing to do with a sum or a mark of the same key', async () => {
      const { store, ask } = await asking();
      const key = keyOf('shared');
      const claims = [windowClaim('1', '10', { key }), markClaim({ key, exempt: true })];
      await store.settle(request({ claims }));
      expect(claimsOf(await ask(['a'], 1, { key }))).toMatchObject([
        { type: 'distinct', holds: true, counted: 0 },
      ]);
    });

    it('shares the room of a counter with the other claims of its request', async ({ settle }) => {
      const claims = [
        distinctClaim(['a', 'b'], 3),
        distinctClaim(['b', 'c'], 3),
        distinctClaim(['d'], 3, { decides: false }),
      ];
      const result = await settle({ claims });
      expect(claimsOf(result)).toEqual([
        { type: 'distinct', holds: true, counted: 0, further: 2 },
        { type: 'distinct', holds: true, counted: 2, further: 1 },
        { type: 'distinct', holds: false, counted: 3, further: 1 },
      ]);
    });

    it('compares with a maximum that was lowered', async () => {
      const { ask } = await asking();
      await ask(['a', 'b', 'c'], 3);
      expect(verdictOf(await ask(['a'], 2))).toBe('FAILURE');
      expect(verdictOf(await ask(['d'], 4))).toBe('SUCCESS');
    });

    it.for([
      ['the proposal refuses', { approves: false }],
      ['another claim fails', { claims: [distinctClaim(['a'], 1), windowClaim('11', '10')] }],
      ['the proposal is stale', { revision: revisionOf('older') }],
      ['the proposal is not valid now', { validUntilMs: START_MS }],
    ] as const)('counts nothing if %s', async ([, over], { store, settle }) => {
      await settle({ claims: [distinctClaim(['a'], 1)], ...over });
      expect(await countedOf(store)).toBe(0);
    });

    it('counts nothing while frozen, or for a subject with other terms', async ({ store, settle }) => {
      const claims = [distinctClaim(['a'], 1)];
      await settle();
      await settle({ terms: OTHER_TERMS, claims });
      await store.freeze({ reason: 'drill', by: 'ada' });
      await settle({ subject: 'payment:2', claims });
      await thaw(store);
      expect(await countedOf(store)).toBe(0);
    });

    it('counts where it only observes, if it holds or not, and refuses nothing', async () => {
      const { ask, store } = await asking();
      for (const value of ['a', 'b', 'c'])
        expect(verdictOf(await ask([value], 1, { decides: false }))).toBe('SUCCESS');
      expect(await countedOf(store)).toBe(3);
      expect(verdictOf(await ask(['d'], 3))).toBe('FAILURE');
    });

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

  describe('what a subject reserved for different values', () => {
    const claims = [distinctClaim(['a'], 1)];

    it('needs no room in a repeat, and counts from then on', async ({ store, clock, settle }) => {
      const first = await settle({ claims });
      clock.advance(HOUR_MS - 1);
      const repeat = await settle({ claims });
      expect(repeat).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS', of: idOf(first) });
      expect(claimsOf(repeat)).toEqual([{ type: 'distinct', holds: true, counted: 1, further: 0 }]);
      clock.advance(HOUR_MS - 1);
      expect(await countedOf(store)).toBe(1);
      clock.advance(1);
      expect(await countedOf(store)).toBe(0);
    });

    it('is reserved again by a repeat after the window, and refused without room', async ({
      clock,
      settle,
    }) => {
      await settle({ claims });
      clock.advance(HOUR_MS);
      const again = await settle({ claims });
      expect(again).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
      expect(claimsOf(again)).toEqual([{ type: 'distinct', holds: true, counted: 0, further: 1 }]);
      clock.advance(HOUR_MS);
      await settle({ subject: 'payment:2', claims: [distinctClaim(['b'], 1)] });
      const refused = await settle({ claims });
      expect(refused).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'RULE_REFUSED' });
    });

    it('does not cover another value of the same subject', async ({ settle }) => {
      await settle({ source: 'vault', subject: 'transfer:1', question: 'sign_prepare', claims });
      const other = await settle({
        source: 'vault',
        subject: 'transfer:1',
        question: 'sign_start',
        claims: [distinctClaim(['b'], 1)],
      });
      expect(other).toMatchObject({ verdict: 'FAILURE' });
    });

    it('is reserved by a repeat under a policy that came in between', async ({ store, settle }) => {
      await settle();
      await store.push(push('second', REVISION));
      const asked = request({ revision: revisionOf('second'), claims });
      expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
      const other = { subject: 'payment:2', claims: [distinctClaim(['b'], 1)] };
      const result = await settle({ ...other, revision: revisionOf('second') });
      expect(result).toMatchObject({ verdict: 'FAILURE' });
    });
  });

  describe('a claim for new values', () => {
    const onlyNew = { onlyNew: true };

    it('counts a value by its first approval only', async () => {
      const { ask, clock, store } = await asking();
      expect(claimsOf(await ask(['a'], 1, onlyNew))).toMatchObject([{ counted: 0, further: 1 }]);
      expect(verdictOf(await ask(['b'], 1, onlyNew))).toBe('FAILURE');
      clock.advance(HOUR_MS - 1);
      expect(claimsOf(await ask(['a'], 1, onlyNew))).toMatchObject([
        { type: 'distinct', holds: true, counted: 1, further: 0 },
      ]);
      expect(verdictOf(await ask(['b'], 1, onlyNew))).toBe('FAILURE');
      clock.advance(1);
      expect(await countedOf(store)).toBe(0);
      expect(verdictOf(await ask(['b'], 1, onlyNew))).toBe('SUCCESS');
      expect(claimsOf(await ask(['a'], 1, onlyNew))).toMatchObject([
        { type: 'distinct', holds: true, counted: 1, further: 0 },
      ]);
    });

    it('holds for known values, even above a maximum that was lowered', async () => {
      const { ask } = await asking();
      await ask(['a', 'b', 'c'], 3, onlyNew);
      expect(verdictOf(await ask(['a'], 1, onlyNew))).toBe('SUCCESS');
      expect(verdictOf(await ask(['a', 'd'], 3, onlyNew))).toBe('FAILURE');
    });

    it('counts a new value in each counter of its request', async () => {
      const { store, ask } = await asking();
      const week = { ...onlyNew, key: keyOf('week') };
      const claims = [distinctClaim(['a'], 1, onlyNew), distinctClaim(['a'], 1, week)];
      await store.settle(request({ claims }));
      expect(verdictOf(await ask(['b'], 1, onlyNew))).toBe('FAILURE');
      expect(verdictOf(await ask(['b'], 1, week))).toBe('FAILURE');
      expect(verdictOf(await ask(['a'], 1, { ...onlyNew, key: keyOf('later') }))).toBe('SUCCESS');
      expect(await countedOf(store, keyOf('later'))).toBe(0);
    });

    it('makes the marks of its values', async () => {
      const { store, ask } = await asking();
      await ask(['a'], 1, onlyNew);
      const result = await store.settle(request({ claims: [markClaim({ key: keyOf('a') })] }));
      expect(claimsOf(result)).toEqual([{ type: 'mark', holds: true, markedAtMs: START_MS }]);
    });

    it('makes no mark, and counts nothing, if the callback is refused', async ({ store, settle }) => {
      const claims = [distinctClaim(['a'], 1, onlyNew), windowClaim('2', '1')];
      await settle({ claims });
      const mark = await settle({ subject: 'payment:2', claims: [markClaim({ key: keyOf('a') })] });
      expect(claimsOf(mark)).toEqual([{ type: 'mark', holds: false, markedAtMs: 0 }]);
      expect(await countedOf(store)).toBe(0);
    });

    it('knows a repeat', async ({ clock, settle }) => {
      const claims = [distinctClaim(['a'], 1, onlyNew)];
      await settle({ claims });
      expect(claimsOf(await settle({ claims }))).toEqual([
        { type: 'distinct', holds: true, counted: 1, further: 0 },
      ]);
      clock.advance(HOUR_MS);
      expect(claimsOf(await settle({ claims }))).toEqual([
        { type: 'distinct', holds: true, counted: 0, further: 1 },
      ]);
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

  it('is journalled as it was found', async ({ store, settle }) => {
    const result = await settle({ claims: [distinctClaim(['a', 'b'], 1)] });
    expect((await store.entry('shop', idOf(result)))?.claims).toEqual([
      { type: 'distinct', holds: false, counted: 0, further: 2 },
    ]);
  });
}
