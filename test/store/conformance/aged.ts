import { describe, expect } from 'vitest';
import { HOUR_MS, START_MS, agedClaim, change, claimsOf, idOf, request } from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeAged(open: OpenStore): void {
  const it = testsOn(open);

  describe('a claim that list entries are old enough', () => {
    const held = (holds: boolean, ...added: readonly (readonly [string, number])[]) => ({
      type: 'aged',
      holds,
      missing: false,
      added,
    });

    it('holds from the very millisecond on, and not before', async ({ store, clock, settle }) => {
      await store.changeList(change('partners', ['a']));
      const claims = [agedClaim('partners', HOUR_MS, ['a'])];
      for (const [subject, afterMs] of [
        ['payment:1', 0],
        ['payment:2', HOUR_MS - 1],
      ] as const) {
        clock.nowMs = START_MS + afterMs;
        const early = await settle({ subject, claims });
        expect(early).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'RULE_REFUSED' });
        expect(claimsOf(early)).toEqual([held(false, ['a', START_MS])]);
      }
      clock.nowMs = START_MS + HOUR_MS;
      const late = await settle({ subject: 'payment:3', claims });
      expect(late).toMatchObject({ verdict: 'SUCCESS', code: 'APPROVED' });
      expect(claimsOf(late)).toEqual([held(true, ['a', START_MS])]);
    });

    it('holds only if every value is old enough, and names those that are listed in its own order', async ({
      store,
      clock,
      settle,
    }) => {
      await store.changeList(change('partners', ['a', 'c']));
      clock.advance(1000);
      await store.changeList(change('partners', ['b']));
      const found = async (ageMs: number, values: readonly string[]) =>
        claimsOf(
          await settle({ approves: false, retryable: true, claims: [agedClaim('partners', ageMs, values)] }),
        );
      expect(await found(0, ['c', 'b', 'a'])).toEqual([
        held(true, ['c', START_MS], ['b', START_MS + 1000], ['a', START_MS]),
      ]);
      expect(await found(1, ['c', 'b', 'a'])).toEqual([
        held(false, ['c', START_MS], ['b', START_MS + 1000], ['a', START_MS]),
      ]);
      expect(await found(1000, ['c', 'a'])).toEqual([held(true, ['c', START_MS], ['a', START_MS])]);
      expect(await found(1001, ['c', 'a'])).toEqual([held(false, ['c', START_MS], ['a', START_MS])]);
      expect(await found(0, ['c', 'x', 'a'])).toEqual([held(false, ['c', START_MS], ['a', START_MS])]);
      expect(await found(0, ['a', 'a'])).toEqual([held(true, ['a', START_MS], ['a', START_MS])]);
    });

    it.for(['A', 'a ', '__proto__', 'constructor', ''])(
      'takes no other text for it: "%s"',
      async (value, { store, settle }) => {
        await store.changeList(change('partners', ['a']));
        const result = await settle({ claims: [agedClaim('partners', 0, [value])] });
        expect(result).toMatchObject({ verdict: 'FAILURE' });
        expect(claimsOf(result)).toEqual([held(false)]);
      },
    );

    it('counts from when a value was first added, unless it was removed in between', async ({
      store,
      clock,
      settle,
    }) => {
      const claims = [agedClaim('partners', HOUR_MS, ['a'], { retryable: true })];
      await store.changeList(change('partners', ['a']));
      clock.advance(HOUR_MS - 1);
      await store.changeList(change('partners', ['a', 'b']));
      expect(claimsOf(await settle({ claims }))).toEqual([held(false, ['a', START_MS])]);
      clock.advance(1);
      expect(await settle({ claims })).toMatchObject({ verdict: 'SUCCESS' });
      await store.changeList(change('partners', [], ['a']));
      await store.changeList(change('partners', ['a']));
      const again = await settle({ claims });
      expect(again).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      expect(claimsOf(again)).toEqual([held(false, ['a', START_MS + HOUR_MS])]);
    });

    it('fails of a list that does not exist, also if another source has it', async ({ store, settle }) => {
      await store.changeList(change('partners', ['a'], [], { source: 'vault' }));
      const result = await settle({ claims: [agedClaim('partners', 0, ['a'])] });
      expect(result).toMatchObject({ verdict: 'FAILURE', code: 'RULE_REFUSED' });
      expect(claimsOf(result)).toEqual([{ type: 'aged', holds: false, missing: true, added: [] }]);
    });

    it('knows an empty list from a missing one', async ({ store, settle }) => {
      await store.changeList(change('partners', []));
      const result = await settle({ claims: [agedClaim('partners', 0, ['a'])] });
      expect(claimsOf(result)).toEqual([held(false)]);
    });

    it('decides nothing if it only observes', async ({ settle }) => {
      const claims = [agedClaim('partners', 0, ['a'], { decides: false })];
      const result = await settle({ claims });
      expect(result).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(result)).toMatchObject([{ holds: false, missing: true }]);
    });

    it('stays with its refusal once it is old enough, until the list changes', async ({ store, clock }) => {
      await store.changeList(change('partners', ['a']));
      const asked = request({ claims: [agedClaim('partners', HOUR_MS, ['a'])] });
      const refused = await store.settle(asked);
      clock.advance(HOUR_MS);
      const repeated = await store.settle(asked);
      expect(repeated).toMatchObject({ outcome: 'repeated', verdict: 'FAILURE', of: idOf(refused) });
      expect(claimsOf(repeated)).toEqual([held(true, ['a', START_MS])]);
      await store.changeList(change('partners', ['b']));
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
    });

    it('decides its refusal again where it asks for that', async ({ store, clock }) => {
      await store.changeList(change('partners', ['a']));
      const asked = request({ claims: [agedClaim('partners', HOUR_MS, ['a'], { retryable: true })] });
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      clock.advance(HOUR_MS - 1);
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      clock.advance(1);
      const approved = await store.settle(asked);
      expect(approved).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', of: idOf(approved) });
    });

    it('is journalled as it was found', async ({ store, settle }) => {
      await store.changeList(change('partners', ['a"\\é']));
      const claims = [agedClaim('partners', 1, ['x', 'a"\\é']), agedClaim('none', 1, ['a'])];
      const result = await settle({ claims });
      const entry = await store.entry('shop', idOf(result));
      expect(entry?.claims).toEqual([
        held(false, ['a"\\é', START_MS]),
        { type: 'aged', holds: false, missing: true, added: [] },
      ]);
      expect(entry?.claims).toEqual(claimsOf(result));
    });
  });
}
