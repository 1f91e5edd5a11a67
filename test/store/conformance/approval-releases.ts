import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Window } from '../../../src/claims/window.ts';
import { type ReleaseRequest, type ReleaseResult, releaseApproval } from '../../../src/orders/release.ts';
import { proposalToJson } from '../../../src/policy/proposal.ts';
import type { ApprovalRelease, SettleRequest, Store } from '../../../src/store/store.ts';
import {
  type Asked,
  HOUR_MS,
  MINUTE_MS,
  OTHER_TERMS,
  REVISION,
  START_MS,
  announcement,
  distinctClaim,
  idOf,
  keyOf,
  markClaim,
  markedAtOf,
  notice,
  orderClaim,
  push,
  request,
  revisionOf,
  rollingHour,
  signing,
  thaw,
  units,
  usedOf,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

const SOURCES = [
  { name: 'shop', kinds: ['payment'], schemes: ['md5'] },
  { name: 'vault', kinds: ['transfer', 'payment'], schemes: [] },
] as const;

/** A request whose journal entry says what it claims, as that of the pipeline does. */
function recorded(asked: SettleRequest): SettleRequest {
  const { callback, proposal } = asked;
  return { ...asked, detail: JSON.stringify({ terms: callback.terms, proposal: proposalToJson(proposal) }) };
}

const paid = (over: Partial<Asked> = {}): SettleRequest => recorded(request(over));

const release = (store: Store, over: Partial<ReleaseRequest> = {}): Promise<ReleaseResult> =>
  releaseApproval(store, SOURCES, {
    source: 'shop',
    kind: 'payment',
    id: '1',
    members: {},
    message: 'never debited',
    by: 'ada',
    ...over,
  });

const refusedRelease = (because: string) => ({
  name: 'CountersignError',
  code: 'RELEASE_REFUSED',
  message: expect.stringContaining(because) as string,
});

const hourlyUntil = START_MS + MINUTE_MS + HOUR_MS;
const today: Window = { type: 'calendar', startMs: START_MS - HOUR_MS, endMs: START_MS + HOUR_MS };

export function describeApprovalReleases(open: OpenStore): void {
  const it = testsOn(open);

  describe('a released approval', () => {
    it('gives back what it reserved, once, and journals who, why and what', async ({ store, clock }) => {
      const approved = await store.settle(paid({ claims: [windowClaim('30', '100')] }));
      await store.settle(paid({ subject: 'payment:2', claims: [windowClaim('40', '100')] }));
      clock.advance(MINUTE_MS);
      const first = await release(store);
      expect(first).toMatchObject({
        outcome: 'released',
        released: { atMs: START_MS + MINUTE_MS, by: 'ada', message: 'never debited' },
        given: {
          amounts: [{ key: keyOf('counter'), amount: '30', until: new Date(hourlyUntil).toISOString() }],
          kept: [],
        },
      });
      expect(await usedOf(store)).toBe(units('40'));
      const again = await release(store, { by: 'bob', message: 'again' });
      expect(again).toEqual({ ...first, outcome: 'before' });
      expect(await usedOf(store)).toBe(units('40'));
      const entries = await store.entries({ source: 'shop', subject: 'payment:1', limit: 10 });
      expect(entries.map(({ type }) => type)).toEqual(['decision', 'release']);
      expect(entries[1]).toMatchObject({
        id: first.released.id,
        atMs: START_MS + MINUTE_MS,
        verdict: '',
        code: 'RELEASED',
        of: idOf(approved),
      });
      expect(JSON.parse(entries[1]?.detail ?? '')).toEqual({
        by: 'ada',
        message: 'never debited',
        ...first.given,
      });
    });

    it('is refused from then on, under any policy, and the refusal names the release', async ({ store }) => {
      await store.settle(paid({ claims: [windowClaim('30', '100')] }));
      const { released } = await release(store);
      for (const revision of [REVISION, revisionOf('second')]) {
        if (revision !== REVISION) await store.push(push('second', REVISION));
        const result = await store.settle(paid({ revision, claims: [windowClaim('30', '100')] }));
        expect(result).toMatchObject({
          outcome: 'decided',
          verdict: 'FAILURE',
          code: 'RELEASED',
          claims: [],
        });
        expect(await store.entry('shop', idOf(result))).toMatchObject({ of: released.id });
      }
      expect(await usedOf(store, { revision: revisionOf('second') })).toBe(0n);
      const other = await store.settle(paid({ revision: revisionOf('second'), terms: OTHER_TERMS }));
      expect(other).toMatchObject({ code: 'TERMS_CHANGED' });
    });

    it('stays released in another process and after a restart', async ({ store, another, reopen }) => {
      await store.settle(paid());
      const { released } = await release(store);
      expect(await release(await another())).toMatchObject({ outcome: 'before', released });
      const reopened = await reopen();
      expect(await reopened.subject('shop', 'payment:1')).toMatchObject({ released, reserved: [] });
      expect(await reopened.settle(paid())).toMatchObject({ code: 'RELEASED' });
    });

    it('can be released while frozen, when nothing is approved', async ({ store }) => {
      await store.settle(paid({ claims: [windowClaim('30', '100')] }));
      await store.freeze({ reason: 'drill', by: 'ada' });
      expect(await release(store)).toMatchObject({ outcome: 'released' });
      await thaw(store);
      expect(await usedOf(store)).toBe(0n);
    });

    it('gives back each counter, summed, those that only observe as well', async ({ store }) => {
      const [a, b] = [keyOf('a'), keyOf('b')];
      const claims = [
        windowClaim('1', '100', { key: a }),
        windowClaim('2', '100', { key: a }),
        windowClaim('7', '0', { key: b, decides: false, window: today }),
      ];
      await store.settle(paid({ subject: 'payment:2', claims }));
      await store.settle(paid({ claims }));
      const { given } = await release(store);
      expect(given.amounts.map(({ key, amount }) => [key, amount])).toEqual(
        expect.arrayContaining([
          [a, '3'],
          [b, '7'],
        ]),
      );
      expect(await usedOf(store, { key: a })).toBe(units('3'));
      expect(await usedOf(store, { key: b, window: today })).toBe(units('7'));
    });

    it('gives back only the alternative that was taken', async ({ store }) => {
      const [full, first, second] = [keyOf('full'), keyOf('first'), keyOf('second')];
      const claims = [
        windowClaim('5', '100', { key: first, result: 0, decides: false }),
        windowClaim('5', '4', { key: full, result: 1, decides: false }),
        windowClaim('5', '100', { key: second, result: 2, decides: false }),
      ];
      const choices = [
        {
          result: 3,
          decides: true,
          retryable: false,
          alternatives: [
            { from: 0, to: 2, requires: [0, 1] },
            { from: 2, to: 3, requires: [2] },
          ],
        },
      ];
      await store.settle(paid({ claims: claims.map((claim) => ({ ...claim, max: units('100') })) }));
      await store.settle(paid({ subject: 'payment:2', claims, choices }));
      const { given } = await release(store, { id: '2' });
      expect(given).toMatchObject({ amounts: [{ key: second, amount: '5' }], kept: [] });
      for (const key of [full, first, second]) expect(await usedOf(store, { key })).toBe(units('5'));
    });

    it('gives back what a repeat reserved again, and nothing of what has expired', async ({
      store,
      clock,
    }) => {
      const claims = [
        windowClaim('30', '100'),
        windowClaim('30', '100', { key: keyOf('day'), window: today }),
      ];
      await store.settle(paid({ claims }));
      clock.advance(2 * HOUR_MS);
      expect(await store.settle(paid({ claims: claims.slice(0, 1) }))).toMatchObject({ outcome: 'repeated' });
      const { given } = await release(store);
      expect(given).toMatchObject({ amounts: [{ key: keyOf('counter'), amount: '30' }], kept: [] });
      expect(await usedOf(store)).toBe(0n);
    });

    it.for([
      ['before its bucket ends', HOUR_MS + MINUTE_MS - 1, 1],
      ['at the end', HOUR_MS + MINUTE_MS, 0],
    ] as const)(
      'gives back until the window counts it no more: %s',
      async ([, ms, amounts], { store, clock }) => {
        await store.settle(paid({ claims: [windowClaim('30', '100')] }));
        clock.advance(ms);
        expect((await release(store)).given.amounts).toHaveLength(amounts);
        expect(await usedOf(store)).toBe(0n);
      },
    );

    it('leaves values counted, because other approvals may count them as well', async ({ store }) => {
      const claims = [windowClaim('30', '100'), distinctClaim(['a'], 1)];
      await store.settle(paid({ claims }));
      const { given } = await release(store);
      expect(given).toMatchObject({ amounts: [{ amount: '30' }], kept: [{ key: keyOf('distinct') }] });
      const other = await store.settle(paid({ subject: 'payment:2', claims: [distinctClaim(['b'], 1)] }));
      expect(other).toMatchObject({ verdict: 'FAILURE' });
    });

    it('leaves marks and the used order as they are', async ({ store }) => {
      await store.expectOrder(announcement());
      await store.settle(paid({ claims: [markClaim({ exempt: true }), orderClaim()] }));
      await release(store);
      expect(await markedAtOf(store)).toBe(START_MS);
      expect(await store.order('shop', 'payment:1')).toMatchObject({ state: 'used' });
    });

    it('gives back without the names of the rules where this version can not explain the approval', async ({
      store,
    }) => {
      const claims = [windowClaim('30', '100')];
      await store.settle({ ...paid({ claims }), detail: '{"proposal":{"note":"of a version long gone"}}' });
      const { given } = await release(store);
      const until = new Date(hourlyUntil).toISOString();
      expect(given).toEqual({
        amounts: [{ policy: '', rule: '', key: keyOf('counter'), amount: '30', until }],
        kept: [],
      });
      expect(await usedOf(store)).toBe(0n);
      expect(await store.settle(paid({ claims }))).toMatchObject({ code: 'RELEASED' });
    });
  });

  describe('what can not be released', () => {
    it('is a subject that was never decided, even with an order', async ({ store }) => {
      await store.expectOrder(announcement());
      expect(await store.subject('shop', 'payment:1')).toBeUndefined();
      await expect(release(store)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('is a refused payment', async ({ store }) => {
      await store.settle(paid({ approves: false }));
      await expect(release(store)).rejects.toMatchObject(refusedRelease('it is not approved'));
    });

    it('is what does not have the members that were stated', async ({ store }) => {
      const terms = { userId: '12345', symbol: 'USDT1742', amount: '100' };
      const asked = paid({ claims: [windowClaim('100', '100')] });
      const detail = JSON.stringify({ ...JSON.parse(asked.detail), terms });
      await store.settle({ ...asked, detail });
      await expect(release(store, { members: { amount: '10' } })).rejects.toMatchObject(
        refusedRelease('amount "10" was stated, and 100 was approved'),
      );
      await expect(release(store, { members: { userId: '12346' } })).rejects.toMatchObject(
        refusedRelease('userId'),
      );
      expect(await usedOf(store)).toBe(units('100'));
      const stated = { userId: '12345', symbol: 'USDT1742', amount: '100.0' };
      expect(await release(store, { members: stated })).toMatchObject({ outcome: 'released' });
    });

    it.for(['0xaa', ''])('is what was signed, with the txid %j', async (txid, { store }) => {
      await store.settle(recorded(signing()));
      await store.recordNotification(notice({ txid }));
      await expect(release(store, { source: 'vault', kind: 'transfer' })).rejects.toMatchObject(
        refusedRelease('has reported its signature'),
      );
    });

    it('is what the journal no longer has', async ({ store }) => {
      const upTo = idOf(await store.settle(paid()));
      await store.settle(paid({ subject: 'payment:2' }));
      while ((await store.dropEntries({ source: 'shop', upTo })) > 0);
      await expect(release(store)).rejects.toMatchObject(
        refusedRelease('the journal no longer has its approval'),
      );
    });

    it.for([
      ['', 'message'],
      ['x'.repeat(1001), 'message'],
    ] as const)('is anything without a reason of a bounded length', async ([message, what], { store }) => {
      await store.settle(paid());
      await expect(release(store, { message })).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringContaining(`the ${what} of the release`) as string,
      });
    });
  });

  it('raises an alarm for a signature after the release', async ({ store }) => {
    await store.settle(recorded(signing({ claims: [windowClaim('30', '100')] })));
    expect(await release(store, { source: 'vault', kind: 'transfer' })).toMatchObject({
      outcome: 'released',
    });
    expect(await store.settle(recorded(signing()))).toMatchObject({ code: 'RELEASED' });
    expect(await store.recordNotification(notice())).toMatchObject({
      verdict: 'FAILURE',
      code: 'SIGNED_AFTER_RELEASE',
    });
  });

  describe('the step of a release', () => {
    async function prepared(store: Store, over: Partial<ApprovalRelease> = {}): Promise<ApprovalRelease> {
      const of = idOf(await store.settle(paid({ claims: [windowClaim('30', '100')] })));
      const version = (await store.subject('shop', 'payment:1'))?.version ?? '';
      const named = { source: 'shop', subject: 'payment:1', version, of, by: 'ada', message: 'm' };
      return { ...named, keys: [keyOf('counter')], detail: '{}', ...over };
    }

    it('writes nothing if the subject has changed since it was read', async ({ store }) => {
      const step = await prepared(store);
      await store.settle(paid({ claims: [windowClaim('30', '100')] }));
      expect(await store.releaseApproval(step)).toEqual({ outcome: 'changed' });
      expect(await store.releaseApproval({ ...step, subject: 'payment:9' })).toEqual({ outcome: 'unknown' });
      expect(await usedOf(store)).toBe(units('30'));
    });

    it('writes nothing if an amount no longer counts, or was never reserved', async ({ store, clock }) => {
      const step = await prepared(store);
      const other = { ...step, keys: [keyOf('counter'), keyOf('other')] };
      expect(await store.releaseApproval(other)).toEqual({ outcome: 'changed' });
      expect(await usedOf(store)).toBe(units('30'));
      clock.advance(HOUR_MS + MINUTE_MS);
      expect(await store.releaseApproval(step)).toEqual({ outcome: 'changed' });
    });
  });

  it(
    'is released once among repeats, other payments and releases at the same time',
    { timeout: 60_000 },
    async ({ store, another }) => {
      const handles = [store, await another(), await another()];
      const claims = [windowClaim('10', '20')];
      const names: string[] = [];
      for (let round = 0; round < 20; round++) {
        const subject = `payment:${round}`;
        const first = await store.settle(paid({ subject, claims }));
        expect(first).toMatchObject({ verdict: 'SUCCESS' });
        const results = await Promise.all(
          handles.flatMap((handle, at) => [
            handle.settle(paid({ subject, claims })).then((result) => ('code' in result ? result.code : '')),
            release(handle, { id: String(round), by: `by ${at}` }).then(({ outcome }) => outcome),
            handle.settle(paid({ subject: `${subject}-${at}`, claims })).then(({ outcome }) => outcome),
            handle.settle(paid({ subject, claims })).then((result) => ('code' in result ? result.code : '')),
          ]),
        );
        names.push(...results);
        expect(results.filter((outcome) => outcome === 'released')).toHaveLength(1);
        const entries = await store.entries({ source: 'shop', subject, limit: 100 });
        const at = entries.findIndex(({ type }) => type === 'release');
        expect(entries.filter(({ type }) => type === 'release')).toHaveLength(1);
        expect(entries.slice(0, at).every(({ verdict }) => verdict === 'SUCCESS')).toBe(true);
        expect(entries.slice(at + 1).every(({ code }) => code === 'RELEASED')).toBe(true);
        // Whatever the order was, two others have room at the end: the one that is released left it to them.
        const used = await usedOf(store);
        const others = await Promise.all(
          handles.map((_, index) => store.subject('shop', `${subject}-${index}`)),
        );
        const approved = others.filter((state) => state !== undefined && state.approvals.length > 0).length;
        expect(used).toBe(units(String(10 * approved)));
        expect(approved).toBeLessThanOrEqual(2);
        for (const index of handles.keys()) {
          const state = others[index];
          if (state !== undefined && state.approvals.length > 0)
            await release(store, { id: `${round}-${index}` });
        }
        expect(await usedOf(store)).toBe(0n);
      }
      // What else happens depends on who comes first.
      expect(new Set(names)).toEqual(new Set([...names, 'released', 'before', 'decided']));
    },
  );

  it(
    'leaves every counter as if the approval had never been',
    { timeout: 120_000 },
    async ({ store, clock }) => {
      const claim = fc.record({
        window: fc.nat(3),
        counter: fc.nat(1),
        amount: fc.constantFrom('1', '30', '0.000000000000000000000000000000000001', '9007199254740993.5'),
      });
      const step = fc.record({
        subject: fc.nat(3),
        claims: fc.array(claim, { minLength: 1, maxLength: 4 }),
        // Within the calendar period and beyond it, within a bucket and beyond all of a window.
        ms: fc.constantFrom(0, 1, 400, 1100, 20_000, MINUTE_MS, HOUR_MS - 1, 2 * HOUR_MS),
      });
      const releasedAsItsPeriodEnds = [
        { subject: 0, claims: [{ window: 3, counter: 0, amount: '1' }], ms: 0 },
        { subject: 0, claims: [], ms: HOUR_MS - 1 },
        { subject: 0, claims: [], ms: 1 },
      ];
      let [given, kept, runs] = [0, 0, 0];
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(11), async (steps, at) => {
          const run = ++runs;
          const endMs = clock.nowMs + HOUR_MS;
          const windows: readonly Window[] = [
            rollingHour,
            { type: 'rolling', lengthMs: 90_000, bucketMs: 1500 },
            { type: 'rolling', lengthMs: 1000, bucketMs: 17 },
            { type: 'calendar', startMs: clock.nowMs, endMs },
          ];
          const counterOf = (window: number, counter: number) => ({
            key: keyOf(`${run} ${window} ${counter}`),
            window: windows[window] ?? rollingHour,
          });
          const last = at % steps.length;
          // `vault` sees all that `shop` does, but for the payment that is released after the step `last`.
          const gone = `payment:${run}-${steps[last]?.subject}`;
          for (const [index, { subject, claims, ms }] of steps.entries()) {
            const asked = {
              subject: `payment:${run}-${subject}`,
              claims: claims
                .filter(({ window }) => windows[window]?.type === 'rolling' || clock.nowMs < endMs)
                .map(({ window, counter, amount }) =>
                  windowClaim(amount, '0', { ...counterOf(window, counter), decides: false }),
                ),
            };
            const isGone = asked.subject === gone;
            const code = isGone && index > last ? 'RELEASED' : 'APPROVED';
            expect(await store.settle(paid(asked))).toMatchObject({ code });
            if (!isGone) await store.settle(paid({ ...asked, source: 'vault' }));
            clock.advance(ms);
            if (index !== last) continue;
            const released = await release(store, { id: gone.slice('payment:'.length) });
            kept += released.given.kept.length;
            given += released.given.amounts.length;
          }
          for (const ms of [0, 17, 1500, MINUTE_MS, HOUR_MS / 2, HOUR_MS]) {
            clock.advance(ms);
            for (const window of windows.keys()) {
              for (const counter of [0, 1]) {
                const found = counterOf(window, counter);
                expect(await usedOf(store, found)).toBe(await usedOf(store, { ...found, source: 'vault' }));
              }
            }
          }
        }),
        { numRuns: 25, examples: [[releasedAsItsPeriodEnds, 2]] },
      );
      expect(kept).toBe(0);
      expect(given).toBeGreaterThan(10);
    },
  );
}
