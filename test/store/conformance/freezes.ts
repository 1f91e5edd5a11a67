import { describe, expect } from 'vitest';
import type { FreezeDetail } from '../../../src/store/freezes.ts';
import type { Freeze, Store } from '../../../src/store/store.ts';
import {
  REVISION,
  START_MS,
  approvalClaim,
  notice,
  push,
  request,
  revisionOf,
  signing,
  thaw,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

/** What the source's journal says of freezes. */
async function told(store: Store, source = 'shop'): Promise<readonly FreezeDetail[]> {
  const entries = await store.entries({ source, limit: 1000 });
  return entries
    .filter(({ type }) => type === 'freeze')
    .map(({ detail }) => JSON.parse(detail) as FreezeDetail);
}

const idsOf = (freezes: readonly Freeze[]): readonly string[] => freezes.map(({ id }) => id);

export function describeFreezes(open: OpenStore): void {
  const it = testsOn(open);

  describe('a freeze', () => {
    it('holds for the next settle of every handle until it is lifted by any', async ({
      store,
      another,
      settle,
    }) => {
      const other = await another();
      const { freeze, control: frozen } = await other.freeze({ reason: 'keys leaked', by: 'bob' });
      expect(freeze).toEqual({
        id: expect.stringMatching(/^f\d+$/) as string,
        kind: 'operator',
        reason: 'keys leaked',
        by: 'bob',
        atMs: START_MS,
      });
      expect(frozen).toMatchObject({ revision: REVISION, frozen: [freeze], lifted: [] });
      expect(await store.control()).toEqual(frozen);
      expect(await settle()).toMatchObject({ verdict: 'FAILURE', code: 'FROZEN' });
      const { lifted, control: thawed } = await store.unfreeze({ by: 'ada', ids: [freeze.id] });
      expect(lifted).toEqual([freeze]);
      expect(thawed).toMatchObject({ revision: REVISION, frozen: [] });
      expect(thawed.lifted).toEqual([{ id: freeze.id, by: 'ada', atMs: START_MS }]);
      expect(thawed.sequence).toBeGreaterThan(frozen.sequence);
      expect(await other.control()).toEqual(thawed);
      expect(await other.settle(request())).toMatchObject({ verdict: 'SUCCESS', code: 'APPROVED' });
    });

    it('stacks on those that stand, and its end ends none of them', async ({
      store,
      clock,
      another,
      settle,
    }) => {
      const other = await another();
      const { freeze: first } = await store.freeze({ reason: 'same', by: 'ada' });
      clock.advance(5);
      const { freeze: second } = await other.freeze({ reason: 'same', by: 'ada' });
      const { freeze: third, control } = await store.freeze({ reason: 'other', by: 'bob' });
      expect(new Set(idsOf([first, second, third])).size).toBe(3);
      expect(control.frozen).toEqual([first, second, third]);
      expect(second.atMs).toBe(START_MS + 5);
      expect((await other.unfreeze({ by: 'carol', ids: [second.id] })).control.frozen).toEqual([
        first,
        third,
      ]);
      expect(await settle()).toMatchObject({ code: 'FROZEN' });
      expect((await store.unfreeze({ by: 'carol', ids: [third.id, first.id] })).control.frozen).toEqual([]);
      expect(await settle()).toMatchObject({ code: 'APPROVED' });
      expect((await store.control()).lifted.map(({ id, by }) => [id, by])).toEqual([
        [second.id, 'carol'],
        [first.id, 'carol'],
        [third.id, 'carol'],
      ]);
    });

    it('never has the id of another, lifted or not', async ({ store }) => {
      const ids = new Set<string>();
      for (let round = 0; round < 30; round++) {
        const { freeze } = await store.freeze({ reason: `round ${round}`, by: 'ada' });
        ids.add(freeze.id);
        if (round % 2 === 0) await thaw(store);
        if (round % 5 === 0) await store.push(push(`round ${round}`, (await store.control()).revision));
      }
      expect(ids.size).toBe(30);
      await thaw(store);
      expect((await store.control()).lifted).toHaveLength(20);
    });

    it('stays if another id is named, or none', async ({ store }) => {
      const { freeze, control } = await store.freeze({ reason: 'drill', by: 'ada' });
      for (const ids of [[], ['f999999'], [''], ['x'], [`${freeze.id}0`]]) {
        expect(await store.unfreeze({ by: 'bob', ids, acknowledgeLoss: true })).toEqual({
          lifted: [],
          control,
        });
      }
      const both = await store.unfreeze({ by: 'bob', ids: ['f999999', freeze.id] });
      expect(both).toMatchObject({ lifted: [freeze], control: { frozen: [] } });
      expect(await store.unfreeze({ by: 'bob', ids: [freeze.id] })).toEqual({
        lifted: [],
        control: both.control,
      });
    });

    it('is never refused because many stand', async ({ store, settle }) => {
      const given: Freeze[] = [];
      for (let round = 0; round < 110; round++) {
        given.push((await store.freeze({ reason: `round ${round}`, by: `by ${round}` })).freeze);
      }
      const { frozen } = await store.control();
      expect(frozen).toHaveLength(100);
      expect(frozen.slice(0, 99)).toEqual(given.slice(0, 99));
      // The hundredth and all that came after it are one, by the words of the latest.
      expect(new Set(idsOf(given.slice(99))).size).toBe(1);
      expect(frozen[99]).toMatchObject({
        id: given[99]?.id,
        by: 'by 109',
        reason: 'round 109 (this id also covers an earlier freeze; see the journal)',
      });
      expect((await told(store)).map(({ by }) => by)).toEqual(given.map(({ by }) => by));
      const last = given.at(-1)?.id ?? '';
      await store.unfreeze({ by: 'ada', ids: idsOf(given).filter((id) => id !== last) });
      expect(await settle()).toMatchObject({ code: 'FROZEN' });
      expect((await store.unfreeze({ by: 'ada', ids: [last] })).control.frozen).toEqual([]);
      expect(await settle()).toMatchObject({ code: 'APPROVED' });
    });

    it('takes any text for a reason and an author, within bounds', async ({ store, settle }) => {
      const odd = [
        { reason: '', by: '' },
        { reason: '"}],{"\\\n\u0000\u001b[31m', by: '\u{1f512}' },
        { reason: 'é'.repeat(1000), by: 'ü'.repeat(200) },
      ];
      for (const each of odd) {
        expect((await store.freeze(each)).freeze).toMatchObject(each);
        expect(await settle()).toMatchObject({ code: 'FROZEN' });
      }
      expect((await store.control()).frozen).toMatchObject(odd);
      expect((await told(store)).flatMap(({ freezes }) => freezes)).toMatchObject(odd);
      await thaw(store);
      const tooLong = [
        { reason: 'x'.repeat(1001), by: 'ada' },
        { reason: 'drill', by: 'x'.repeat(201) },
      ];
      for (const each of tooLong) {
        await expect(store.freeze(each)).rejects.toMatchObject({ code: 'USAGE' });
      }
      expect(await settle()).toMatchObject({ code: 'APPROVED' });
    });

    it('can precede every release', async ({ empty: { store } }) => {
      await store.register(['shop']);
      await store.freeze({ reason: 'drill', by: 'ada' });
      expect(await store.settle(request({ revision: '' }))).toMatchObject({ code: 'FROZEN' });
    });

    it('is kept by a push, and by a change of prices, with its id', async ({ store, settle }) => {
      const { freeze } = await store.freeze({ reason: 'drill', by: 'ada' });
      const { control } = await store.push(push('second', REVISION));
      expect(control).toMatchObject({ revision: revisionOf('second'), frozen: [freeze] });
      await store.changePrices({ set: [], remove: ['BTC'], by: 'ada' });
      expect((await store.control()).frozen).toEqual([freeze]);
      expect(await settle({ revision: revisionOf('second') })).toMatchObject({ code: 'FROZEN' });
    });

    it('stands, with all others, after the store was closed and opened again', async ({ store, reopen }) => {
      await store.freeze({ reason: 'first', by: 'ada' });
      const { freeze } = await store.freeze({ reason: 'second', by: 'bob' });
      const { control } = await store.unfreeze({ by: 'carol', ids: [freeze.id] });
      const again = await reopen();
      expect(await again.control()).toEqual(control);
      expect(await again.settle(request())).toMatchObject({ code: 'FROZEN' });
    });

    it('is told, and so is its end, by the journal of every source that is known', async ({
      store,
      clock,
    }) => {
      const { freeze: first } = await store.freeze({ reason: 'drill', by: 'ada' });
      clock.advance(1);
      const { freeze: second } = await store.freeze({ reason: 'leak', by: 'bob' });
      clock.advance(1);
      await store.unfreeze({ by: 'carol', ids: [first.id] });
      await store.unfreeze({ by: 'carol', ids: [first.id] });
      await store.register(['late']);
      clock.advance(1);
      await store.unfreeze({ by: 'dora', ids: [second.id] });
      const frozenFirst = {
        change: 'freeze',
        by: 'ada',
        atMs: START_MS,
        freezes: [first],
        standing: [first.id],
      };
      const frozenSecond = {
        change: 'freeze',
        by: 'bob',
        atMs: START_MS + 1,
        freezes: [second],
        standing: [first.id, second.id],
      };
      const carol = {
        change: 'unfreeze',
        by: 'carol',
        atMs: START_MS + 2,
        freezes: [first],
        standing: [second.id],
      };
      const dora = { change: 'unfreeze', by: 'dora', atMs: START_MS + 3, freezes: [second], standing: [] };
      for (const source of ['shop', 'vault']) {
        expect(await told(store, source)).toEqual([frozenFirst, frozenSecond, carol, dora]);
      }
      expect(await told(store, 'late')).toEqual([dora]);
      const [entry] = await store.entries({ source: 'shop', limit: 1 });
      expect(entry).toMatchObject({
        type: 'freeze',
        atMs: START_MS,
        subject: '',
        verdict: '',
        code: '',
        revision: '',
        of: '',
        claims: [],
      });
      expect(await store.entry('shop', entry?.id ?? '')).toEqual(entry);
    });

    it('is lifted with a reason, which the journal of every source has, or without one', async ({
      store,
    }) => {
      const lift = async (reason?: string) => {
        const { freeze } = await store.freeze({ reason: 'drill', by: 'ada' });
        const unfreeze = { by: 'carol', ids: [freeze.id], ...(reason !== undefined && { reason }) };
        expect((await store.unfreeze(unfreeze)).lifted).toEqual([freeze]);
      };
      const odd = '"}],{"\\\n\u0000\u001b[31m é';
      for (const reason of ['drill is over', odd, 'é'.repeat(1000), '', undefined]) await lift(reason);
      for (const source of ['shop', 'vault']) {
        const ends = (await told(store, source)).filter(({ change }) => change === 'unfreeze');
        expect(ends.map(({ reason }) => reason)).toEqual([
          'drill is over',
          odd,
          'é'.repeat(1000),
          undefined,
          undefined,
        ]);
        expect(ends.at(-1)).not.toHaveProperty('reason');
      }
    });

    it('stays if the reason to lift it is too long', async ({ store, settle }) => {
      const { freeze, control } = await store.freeze({ reason: 'drill', by: 'ada' });
      const unfreeze = { by: 'carol', ids: [freeze.id], reason: 'x'.repeat(1001) };
      await expect(store.unfreeze(unfreeze)).rejects.toMatchObject({
        code: 'USAGE',
        message: 'the reason of the unfreeze has 1001 characters, and nothing was lifted; give at most 1000',
      });
      expect((await store.control()).frozen).toEqual(control.frozen);
      expect(await settle()).toMatchObject({ code: 'FROZEN' });
    });

    it('is told once by each journal, however many handles look at once', async ({ store, another }) => {
      const handles = [store, await another(), await another()];
      for (let round = 0; round < 10; round++) {
        await Promise.all([
          ...handles.map((each) => each.control()),
          store.freeze({ reason: `round ${round}`, by: 'ada' }),
          ...handles.map((each) => each.control()),
        ]);
        await Promise.all(handles.map((each) => each.control()));
      }
      for (const source of ['shop', 'vault']) expect(await told(store, source)).toHaveLength(10);
    });

    it('that is ordered while others are lifted is not lifted with them', async ({
      store,
      another,
      settle,
    }) => {
      const other = await another();
      for (let round = 0; round < 10; round++) {
        const [{ freeze }] = await Promise.all([
          store.freeze({ reason: `round ${round}`, by: 'ada' }),
          thaw(other),
        ]);
        const stands = (await store.control()).frozen.some(({ id }) => id === freeze.id);
        const wasSeen = (await store.control()).lifted.some(({ id }) => id === freeze.id);
        expect(stands).toBe(!wasSeen);
        const code = (await store.control()).frozen.length === 0 ? 'APPROVED' : 'FROZEN';
        expect(await settle({ subject: `payment:${round}` })).toMatchObject({ code });
      }
    });
  });

  describe('a freeze except what people approve', () => {
    const except = { reason: 'odd withdrawals', by: 'ada', kind: 'except-approved' } as const;
    const full = { reason: 'leak', by: 'bob' };
    const STALE = { outcome: 'stale', inForce: REVISION };
    const APPROVED = { verdict: 'SUCCESS', code: 'APPROVED' };

    it('lets pass only proposals that were evaluated for it, on every handle, until it is lifted', async ({
      store,
      another,
      settle,
    }) => {
      const other = await another();
      // Evaluated before the freeze, settled after it; and the reverse.
      const early = request({ subject: 'payment:early' });
      expect(await settle({ onlyApproved: true })).toMatchObject(STALE);
      const { freeze, control } = await other.freeze(except);
      expect(freeze).toMatchObject(except);
      expect(control.frozen).toEqual([freeze]);
      expect(await store.control()).toEqual(control);
      for (const each of [store, other]) expect(await each.settle(early)).toMatchObject(STALE);
      for (const source of ['shop', 'vault']) expect(await settle({ source })).toMatchObject(STALE);
      // Nothing of it was written.
      expect(await store.entries({ source: 'shop', limit: 10 })).toMatchObject([{ type: 'freeze' }]);
      expect(await settle({ onlyApproved: false })).toMatchObject(STALE);
      expect(await settle({ onlyApproved: true })).toMatchObject(APPROVED);
      expect(await settle({ onlyApproved: true, revision: revisionOf('second') })).toMatchObject(STALE);
      expect((await store.unfreeze({ by: 'carol', ids: [freeze.id] })).control.frozen).toEqual([]);
      for (const each of [store, other]) {
        expect(await each.settle(request({ onlyApproved: true }))).toMatchObject(STALE);
        expect(await each.settle(early)).toMatchObject(APPROVED);
      }
    });

    it('repeats an earlier approval only if the proposal for it approves', async ({ store, settle }) => {
      expect(await settle()).toMatchObject(APPROVED);
      const { freeze } = await store.freeze(except);
      expect(await settle()).toMatchObject(STALE);
      const claims = [approvalClaim('payment:1', undefined, { retryable: true, failed: true })];
      const awaiting = { onlyApproved: true, claims };
      const waits = { outcome: 'decided', verdict: 'FAILURE', code: 'AWAITING_APPROVAL' };
      expect(await settle(awaiting)).toMatchObject(waits);
      expect(await settle(awaiting)).toMatchObject(waits);
      expect(await settle({ onlyApproved: true })).toMatchObject(APPROVED);
      await settle(awaiting);
      await store.unfreeze({ by: 'carol', ids: [freeze.id] });
      expect(await settle()).toMatchObject(APPROVED);
    });

    it.for(['before', 'after'] as const)(
      'weakens no freeze that came %s it, and the end of either leaves the other',
      async (order, { store, settle }) => {
        const both = order === 'before' ? [full, except] : [except, full];
        const given: Freeze[] = [];
        for (const each of both) given.push((await store.freeze(each)).freeze);
        const idOf = (kind: Freeze['kind']) => given.find((each) => each.kind === kind)?.id ?? '';
        for (const onlyApproved of [false, true]) {
          expect(await settle({ onlyApproved })).toMatchObject({ verdict: 'FAILURE', code: 'FROZEN' });
        }
        await store.unfreeze({ by: 'carol', ids: [idOf('operator')] });
        expect(await settle()).toMatchObject(STALE);
        expect(await settle({ onlyApproved: true })).toMatchObject(APPROVED);
        await store.freeze(full);
        expect(await settle({ onlyApproved: true })).toMatchObject({ code: 'FROZEN' });
        const { control } = await store.unfreeze({ by: 'carol', ids: [idOf('except-approved')] });
        expect(control.frozen).toMatchObject([full]);
        for (const onlyApproved of [false, true]) {
          expect(await settle({ onlyApproved })).toMatchObject({ code: 'FROZEN' });
        }
      },
    );

    it('stands until the last of several is lifted', async ({ store, settle }) => {
      const { freeze: first } = await store.freeze(except);
      const { freeze: second } = await store.freeze(except);
      expect(first.id).not.toBe(second.id);
      expect((await store.unfreeze({ by: 'ada', ids: [first.id] })).control.frozen).toEqual([second]);
      expect(await settle()).toMatchObject(STALE);
      expect(await settle({ onlyApproved: true })).toMatchObject(APPROVED);
    });

    it.for([
      [except, full],
      [full, except],
    ] as const)('joins only its own kind: %o', async ([many, other], { store, settle }) => {
      for (let round = 0; round < 100; round++) await store.freeze(many);
      const { freeze } = await store.freeze(other);
      const { freeze: again } = await store.freeze({ ...other, reason: 'again' });
      const { freeze: joined, control } = await store.freeze(many);
      // The first of its kind joins none, and the second joins it.
      expect(again.id).toBe(freeze.id);
      expect(control.frozen).toHaveLength(101);
      const kindOf = (id: string) => control.frozen.filter((each) => each.id === id).map(({ kind }) => kind);
      expect(kindOf(freeze.id)).toEqual([freeze.kind]);
      expect(kindOf(joined.id)).toEqual([joined.kind]);
      expect(freeze.kind).not.toBe(joined.kind);
      expect(await settle({ onlyApproved: true })).toMatchObject({ code: 'FROZEN' });
      const ofExcept = control.frozen.filter(({ kind }) => kind === 'except-approved');
      await store.unfreeze({ by: 'ada', ids: idsOf(ofExcept) });
      expect(await settle({ onlyApproved: true })).toMatchObject({ code: 'FROZEN' });
      expect(await settle()).toMatchObject({ code: 'FROZEN' });
      await thaw(store);
      expect(await settle()).toMatchObject(APPROVED);
    });

    it('changes nothing about notices, which approve nothing', async ({ store }) => {
      await store.settle(signing());
      await store.settle(signing({ subject: 'transfer:2' }));
      await store.freeze(except);
      expect(await store.recordNotification(notice())).toMatchObject({ verdict: 'SUCCESS', code: 'NOTED' });
      expect(await store.recordNotification(notice({ subject: 'transfer:unknown' }))).toMatchObject({
        code: 'SIGNED_WITHOUT_APPROVAL',
      });
      await store.freeze(full);
      const second = notice({ subject: 'transfer:2', txid: '0xbb' });
      expect(await store.recordNotification(second)).toMatchObject({ verdict: 'FAILURE', code: 'FROZEN' });
    });

    it('is kept by a push, and after the store was closed and opened again', async ({ store, reopen }) => {
      const { freeze } = await store.freeze(except);
      await store.push(push('second', REVISION));
      const again = await reopen();
      expect((await again.control()).frozen).toEqual([freeze]);
      const second = { revision: revisionOf('second') };
      expect(await again.settle(request(second))).toMatchObject({ outcome: 'stale' });
      expect(await again.settle(request({ ...second, onlyApproved: true }))).toMatchObject(APPROVED);
    });

    it('is named with its kind by the journal of every source', async ({ store }) => {
      const { freeze } = await store.freeze(except);
      await store.unfreeze({ by: 'carol', ids: [freeze.id] });
      for (const source of ['shop', 'vault']) {
        expect(await told(store, source)).toMatchObject([
          { change: 'freeze', freezes: [freeze], standing: [freeze.id] },
          { change: 'unfreeze', freezes: [freeze], standing: [] },
        ]);
      }
    });

    it('is in effect once it returns, however many settle meanwhile', async ({ store, another }) => {
      const other = await another();
      const settling = Array.from({ length: 40 }, (_, at) =>
        other.settle(request({ subject: `payment:${at}` })),
      );
      await store.freeze(except);
      const after = await Promise.all(
        Array.from({ length: 40 }, (_, at) => other.settle(request({ subject: `payment:after-${at}` }))),
      );
      expect(new Set(after.map(({ outcome }) => outcome))).toEqual(new Set(['stale']));
      const outcomes = (await Promise.all(settling)).map(({ outcome }) => outcome);
      expect(new Set(outcomes).isSubsetOf(new Set(['decided', 'stale']))).toBe(true);
    });
  });
}
