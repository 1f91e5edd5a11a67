import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Claim } from '../../../src/claims/claims.ts';
import type { Window } from '../../../src/claims/window.ts';
import type { SettleResult, Store } from '../../../src/store/store.ts';
import type { Amount } from '../../../src/values/amount.ts';
import {
  HOUR_MS,
  MINUTE_MS,
  START_MS,
  countedOf,
  distinctClaim,
  keyOf,
  request,
  units,
  usedOf,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, ready, testsOn } from './store-under-test.ts';

const verdictOf = (result: SettleResult): string => ('verdict' in result ? result.verdict : result.outcome);

const WINDOW: Window = { type: 'rolling', lengthMs: 20_000, bucketMs: 334 };

/** Every kind of claim that has room for one operation alone, which is about `name`. */
const KINDS: readonly (readonly [kind: string, claim: (name: string) => Claim])[] = [
  ['an amount', () => windowClaim('100', '100', { window: WINDOW })],
  ['a different value', (name) => distinctClaim([name], 1, { window: WINDOW })],
  ['a new value', (name) => distinctClaim([name], 1, { window: WINDOW, onlyNew: true })],
];

/**
 * Every SUCCESS counts in the windows in which it is given; a subject counts once in each, at its latest one.
 */
export function describeLaterQuestions(open: OpenStore): void {
  const it = testsOn(open);

  type Question = 'sign_prepare' | 'sign_start' | 'payment';

  /** Asks about an operation, with the claim that is about it. */
  const asking = async (claimFor: (name: string) => Claim) => {
    const { store, clock } = await ready(open);
    const ask = async (name: string, question: Question, speedUp = false) => {
      const subject = question === 'payment' ? `payment:${name}` : `transfer:${name}`;
      const claims = [{ ...claimFor(name), retryable: true }];
      return verdictOf(await store.settle(request({ subject, question, speedUp, claims })));
    };
    return { store, clock, ask };
  };

  describe.each(KINDS)('%s of a later question', (_, claimFor) => {
    it.each([
      ['a start after its prepare', 'sign_prepare', 'sign_start', false],
      ['a repeat of a payment', 'payment', 'payment', false],
      ['a speed-up', 'sign_start', 'sign_start', true],
    ] as const)('counts from then on: %s', async (__, first, later, speedUp) => {
      const { clock, ask } = await asking(claimFor);
      expect(await ask('a', first)).toBe('SUCCESS');
      clock.nowMs = START_MS + 18_600;
      expect(await ask('a', later, speedUp)).toBe('SUCCESS');
      clock.nowMs = START_MS + 20_800;
      expect(await ask('b', later)).toBe('FAILURE');
      clock.nowMs = START_MS + 18_600 + 19_999;
      expect(await ask('b', later)).toBe('FAILURE');
      clock.nowMs = START_MS + 18_600 + 20_334;
      expect(await ask('b', later)).toBe('SUCCESS');
    });

    it('needs room once what was counted has left the window', async () => {
      const { clock, ask } = await asking(claimFor);
      expect(await ask('a', 'sign_prepare')).toBe('SUCCESS');
      clock.nowMs = START_MS + 20_334;
      expect(await ask('b', 'sign_start')).toBe('SUCCESS');
      expect(await ask('a', 'sign_start')).toBe('FAILURE');
      expect(await ask('a', 'sign_prepare')).toBe('FAILURE');
    });
  });

  describe('what a later question moves', () => {
    it('counts in a new calendar period too, and the old one keeps it', async ({ store, clock, settle }) => {
      const day = (startMs: number): Window => ({ type: 'calendar', startMs, endMs: startMs + 24 * HOUR_MS });
      const [today, tomorrow] = [day(START_MS - 23 * HOUR_MS), day(START_MS + HOUR_MS)];
      const ask = async (name: string, window: Window) =>
        verdictOf(
          await settle({ subject: `payment:${name}`, claims: [windowClaim('10', '10', { window })] }),
        );
      expect(await ask('a', today)).toBe('SUCCESS');
      clock.advance(30 * MINUTE_MS);
      expect(await ask('a', today)).toBe('SUCCESS');
      expect(await usedOf(store, { window: today })).toBe(units('10'));
      clock.nowMs = START_MS + HOUR_MS;
      expect(await ask('a', tomorrow)).toBe('SUCCESS');
      expect(await ask('b', tomorrow)).toBe('FAILURE');
      expect(await usedOf(store, { window: tomorrow })).toBe(units('10'));
      const buckets = await store.buckets('shop', [keyOf('counter')]);
      expect(buckets.flat().findLast(({ amount }) => amount > 0n)?.endMs).toBe(START_MS + 25 * HOUR_MS);
      // A clock that is put right does not bring back the room of the old period.
      clock.nowMs = START_MS;
      expect(await ask('c', tomorrow)).toBe('FAILURE');
    });

    it('stays in the counter of another alternative, which another question took', async ({
      store,
      clock,
      settle,
    }) => {
      const ask = async (question: Question, max: string) =>
        verdictOf(
          await settle({
            subject: 'transfer:1',
            question,
            claims: [
              windowClaim('10', max, { result: 0, decides: false, key: keyOf('one') }),
              windowClaim('10', '10', { result: 1, decides: false, key: keyOf('other') }),
            ],
            choices: [
              {
                result: 2,
                decides: true,
                retryable: false,
                alternatives: [0, 1].map((at) => ({ from: at, to: at + 1, requires: [at] })),
              },
            ],
          }),
        );
      expect(await ask('sign_prepare', '10')).toBe('SUCCESS');
      clock.advance(MINUTE_MS);
      expect(await ask('sign_start', '9')).toBe('SUCCESS');
      expect(await usedOf(store, { key: keyOf('one') })).toBe(units('10'));
      expect(await usedOf(store, { key: keyOf('other') })).toBe(units('10'));
    });

    it('is given back once by a release, whichever bucket it is in', async ({ store, clock, settle }) => {
      const claims = [windowClaim('10', '30'), distinctClaim(['a'], 3)];
      await settle({ claims });
      await settle({ subject: 'payment:2', claims });
      clock.advance(30 * MINUTE_MS);
      await settle({ claims });
      const state = await store.subject('shop', 'payment:1');
      const [of = ''] = state?.approvals ?? [];
      const release = {
        source: 'shop',
        subject: 'payment:1',
        of,
        by: 'ada',
        message: 'failed',
        keys: [keyOf('counter')],
        detail: '{}',
      };
      expect(await store.releaseApproval({ ...release, version: state?.version ?? '' })).toMatchObject({
        outcome: 'released',
      });
      expect(await usedOf(store)).toBe(units('10'));
      expect(await countedOf(store)).toBe(1);
      const after = await store.subject('shop', 'payment:1');
      expect(await store.releaseApproval({ ...release, version: after?.version ?? '' })).toMatchObject({
        outcome: 'before',
      });
      expect(await usedOf(store)).toBe(units('10'));
      clock.nowMs = START_MS + HOUR_MS + MINUTE_MS;
      expect(await usedOf(store)).toBe(0n);
    });
  });

  describe('however often and whenever operations are asked about', () => {
    const step = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      waitMs: fc.oneof(
        fc.nat(700),
        fc.nat(25_000),
        fc.constantFrom(333, 334, 19_999, 20_000, 20_001, 20_334),
      ),
      amount: fc.bigInt({ min: 0n, max: 6n }),
      question: fc.constantFrom<Question>('sign_prepare', 'sign_start'),
    });

    it('an amount is within its limit in every window, and errs by one bucket at most', async ({
      store,
      clock,
    }) => {
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
          run++;
          const latest = new Map<string, { readonly atMs: number; readonly amount: Amount }>();
          const sumOfOthers = (name: string, spanMs: number): Amount =>
            [...latest]
              .filter(([other, { atMs }]) => other !== name && atMs > clock.nowMs - spanMs)
              .reduce((sum, [, { amount }]) => sum + amount, 0n);
          for (const { name, waitMs, amount, question } of steps) {
            clock.advance(waitMs);
            const claim = {
              ...windowClaim('0', '0', { key: keyOf(`run ${run}`), window: WINDOW }),
              amount,
              max: 10n,
            };
            const approves = await isApproved(store, `${run}-${name}`, question, [claim]);
            const within = sumOfOthers(name, 20_000) + amount <= 10n;
            const hadRoom = sumOfOthers(name, 20_334) + amount <= 10n;
            expect(approves ? within : !hadRoom).toBe(true);
            if (approves) latest.set(name, { atMs: clock.nowMs, amount });
          }
        }),
        { numRuns: 40 },
      );
    });

    it('different and new values are within their limits, to the millisecond', async ({ store, clock }) => {
      let run = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ ...stepShape(step), value: fc.constantFrom('p', 'q', 'r', 's') }), {
            minLength: 4,
            maxLength: 25,
          }),
          fc.boolean(),
          async (steps, onlyNew) => {
            run++;
            const counted = new Map<string, number>();
            const valueOf = new Map<string, string>();
            const firstBy = new Map<string, string>();
            for (const {
              step: { name, waitMs, question },
              value,
            } of steps) {
              clock.advance(waitMs);
              // The terms of an operation name its value.
              const own = valueOf.get(name) ?? value;
              valueOf.set(name, own);
              const max = 2;
              const claim = distinctClaim([`${run} ${own}`], max, {
                key: keyOf(`run ${run}`),
                window: WINDOW,
                onlyNew,
              });
              const approves = await isApproved(store, `v${run}-${name}`, question, [claim]);
              const isNew = !onlyNew || (firstBy.get(own) ?? name) === name;
              const others = [...counted].filter(
                ([other, atMs]) => other !== own && atMs > clock.nowMs - 20_000,
              );
              expect(approves).toBe(!isNew || others.length + 1 <= max);
              if (!approves) continue;
              if (isNew) counted.set(own, clock.nowMs);
              if (!firstBy.has(own)) firstBy.set(own, name);
            }
          },
        ),
        { numRuns: 40 },
      );
    });
  });
}

const stepShape = <T>(step: fc.Arbitrary<T>): { readonly step: fc.Arbitrary<T> } => ({ step });

async function isApproved(
  store: Store,
  name: string,
  question: 'sign_prepare' | 'sign_start' | 'payment',
  claims: readonly Claim[],
): Promise<boolean> {
  const retryable = claims.map((claim) => ({ ...claim, retryable: true }));
  const asked = request({ subject: `transfer:${name}`, question, claims: retryable });
  return verdictOf(await store.settle(asked)) === 'SUCCESS';
}
