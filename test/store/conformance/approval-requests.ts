import { describe, expect } from 'vitest';
import { APPROVAL_REQUESTS_MAX, type ApprovalRequestChange, type Store } from '../../../src/store/store.ts';
import { HOUR_MS, MINUTE_MS, approvalClaim, idOf, request, requestChange } from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

const idsOf = async (store: Store, scope = 'shop'): Promise<readonly string[]> =>
  (await store.openApprovalRequests(scope)).map(({ id }) => id);

const open = (store: Store, ...ids: readonly string[]): Promise<unknown> =>
  Promise.all(ids.map((id) => store.changeApprovalRequest(requestChange({ id }))));

export function describeApprovalRequests(opening: OpenStore): void {
  const it = testsOn(opening);

  describe('an approval request', () => {
    it('is kept as it was written, for every process, and after a restart', async ({
      store,
      another,
      reopen,
    }) => {
      expect(await store.approvalRequest('shop', 'payment:1')).toBeUndefined();
      const value = '{"for":"ada ö\\n \u0000 \u{1f512}"}';
      expect(await store.changeApprovalRequest(requestChange({ value }))).toEqual({ done: true });
      const record = { version: 1, value, isOpen: true, usedBy: '' };
      expect(await (await another()).approvalRequest('shop', 'payment:1')).toEqual(record);
      const again = await reopen();
      expect(await again.approvalRequest('shop', 'payment:1')).toEqual(record);
      expect(await again.openApprovalRequests('shop')).toEqual([{ id: 'payment:1', record }]);
    });

    it('is none of another scope or id', async ({ store }) => {
      const scopes = ['', 'shop', 'Shop', 'global', '%', '{x}'];
      const ids = ['r1', 'R1', 'r1:', '__proto__', '%', '{x}', 'requests', 'é "\\ '];
      const each = scopes.flatMap((scope) => ids.map((id) => ({ scope, id, value: `${scope} ${id}` })));
      for (const over of each)
        expect(await store.changeApprovalRequest(requestChange(over))).toEqual({ done: true });
      for (const { scope, id, value } of each)
        expect(await store.approvalRequest(scope, id)).toEqual({
          version: 1,
          value,
          isOpen: true,
          usedBy: '',
        });
      for (const scope of scopes) expect(await idsOf(store, scope)).toEqual(ids);
    });

    it('has the value of its latest change, and leaves no journal entry', async ({ store }) => {
      for (const [expected, value] of ['first', 'second', 'third'].entries()) {
        await store.changeApprovalRequest(requestChange({ expected, value }));
        expect(await store.approvalRequest('shop', 'payment:1')).toMatchObject({
          version: expected + 1,
          value,
        });
      }
      expect(await store.changeApprovalRequest(requestChange({ expected: 1, value: 'late' }))).toEqual({
        done: false,
      });
      expect(await store.approvalRequest('shop', 'payment:1')).toMatchObject({ version: 3, value: 'third' });
      expect(await store.journalSize('shop')).toBe(0);
    });

    it.for([0, -1, 0.5, Number.NaN, Infinity, 3651 * 24 * HOUR_MS])(
      'is not written if it is to be kept for %d ms',
      async (keepMs, { store }) => {
        const change = store.changeApprovalRequest(requestChange({ keepMs }));
        await expect(change).rejects.toMatchObject({ code: 'USAGE' });
        expect(await store.approvalRequest('shop', 'payment:1')).toBeUndefined();
      },
    );

    it('can be kept for ten years', async ({ store, clock }) => {
      await store.changeApprovalRequest(requestChange({ keepMs: 3650 * 24 * HOUR_MS }));
      clock.advance(3650 * 24 * HOUR_MS - 1);
      expect(await store.approvalRequest('shop', 'payment:1')).toMatchObject({ version: 1 });
    });

    it('is changed by one of many that come at once', async ({ store, another }) => {
      const stores = [store, await another()] as const;
      for (let expected = 0; expected < 5; expected++) {
        const changes = await Promise.all(
          Array.from({ length: 20 }, (_, at) =>
            stores[at % 2 === 0 ? 0 : 1].changeApprovalRequest(
              requestChange({ expected, value: String(at) }),
            ),
          ),
        );
        const done = [...changes.entries()].filter(([, change]) => change.done).map(([at]) => String(at));
        expect(done).toHaveLength(1);
        expect(await store.approvalRequest('shop', 'payment:1')).toEqual({
          version: expected + 1,
          value: done[0],
          isOpen: true,
          usedBy: '',
        });
      }
    });

    it('is used by one of many subjects that come at once', async ({ store, another }) => {
      const stores = [store, await another()] as const;
      await open(store, 'r1');
      const claims = [approvalClaim('r1', 1)];
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, at) =>
          stores[at % 2 === 0 ? 0 : 1].settle(request({ subject: `payment:${at}`, claims })),
        ),
      );
      const approved = results.filter((result) => 'verdict' in result && result.verdict === 'SUCCESS');
      expect(approved.map(idOf)).toEqual([(await store.approvalRequest('shop', 'r1'))?.usedBy]);
    });

    it('is either used or changed first, never used at a version that it no longer had', async ({
      store,
      another,
    }) => {
      // Neither is compared with a preview, between which and the decision the other may come.
      const [one, other] = [await another(), await another()];
      const seen = new Set<string>();
      for (let round = 0; round < 30; round++) {
        const id = `payment:${round}`;
        await open(store, id);
        const settling = () => one.settle(request({ subject: id, claims: [approvalClaim(id, 1)] }));
        const rejecting = () =>
          other.changeApprovalRequest(requestChange({ id, expected: 1, value: 'rejected', isOpen: false }));
        const [settled] =
          round % 2 === 0
            ? await Promise.all([settling(), rejecting()])
            : (await Promise.all([rejecting(), settling()])).toReversed();
        const record = await store.approvalRequest('shop', id);
        expect(record).toMatchObject({ version: 2, value: 'rejected', isOpen: false });
        const verdict = settled !== undefined && 'verdict' in settled ? settled.verdict : 'none';
        expect(verdict).toBe(record?.usedBy === '' ? 'FAILURE' : 'SUCCESS');
        seen.add(verdict);
        // Whichever came first, nothing is approved by the version that people have rejected.
        const again = await store.settle(request({ subject: id, claims: [approvalClaim(id, 1)] }));
        expect(again).toMatchObject({ verdict: 'FAILURE' });
      }
      expect(seen.size).toBeGreaterThan(0);
    });

    it('stays used when the approval that used it is released', async ({ store }) => {
      await open(store, 'payment:1');
      const claims = [approvalClaim('payment:1', 1)];
      const of = idOf(await store.settle(request({ claims })));
      const version = (await store.subject('shop', 'payment:1'))?.version ?? '';
      const named = { source: 'shop', subject: 'payment:1', version, of, by: 'ada', message: 'never sent' };
      expect(await store.releaseApproval({ ...named, keys: [], detail: '{}' })).toMatchObject({
        outcome: 'released',
      });
      expect(await store.approvalRequest('shop', 'payment:1')).toMatchObject({ usedBy: of });
      expect(await store.settle(request({ claims }))).toMatchObject({ code: 'RELEASED' });
      expect(await store.settle(request({ subject: 'payment:2', claims }))).toMatchObject({
        verdict: 'FAILURE',
        claims: [{ type: 'approval', holds: false, approval: 'used' }],
      });
    });

    it('is not used by a preview', async ({ store }) => {
      await open(store, 'payment:1');
      const before = await store.openApprovalRequests('shop');
      const asked = request({ claims: [approvalClaim('payment:1', 1)] });
      for (let time = 0; time < 2; time++) {
        expect(await store.preview(asked)).toMatchObject({
          verdict: 'SUCCESS',
          claims: [{ type: 'approval', holds: true, approval: 'current' }],
        });
      }
      expect(await store.openApprovalRequests('shop')).toEqual(before);
      expect(await store.subject('shop', 'payment:1')).toBeUndefined();
      expect(await store.journalSize('shop')).toBe(0);
    });
  });

  describe('open approval requests', () => {
    const close = (store: Store, id: string, over: Partial<ApprovalRequestChange> = {}) =>
      store.changeApprovalRequest(requestChange({ id, expected: 1, isOpen: false, ...over }));

    it('are there in the order in which they were opened, as long as they are open', async ({ store }) => {
      for (const id of ['c', 'a', 'b', 'd', 'e']) await open(store, id);
      await close(store, 'a');
      await close(store, 'd', { isOpen: true, value: 'signed once' });
      await store.settle(request({ claims: [approvalClaim('b', 1)] }));
      expect(await idsOf(store)).toEqual(['c', 'd', 'e']);
      expect((await store.openApprovalRequests('shop'))[1]).toEqual({
        id: 'd',
        record: { version: 2, value: 'signed once', isOpen: true, usedBy: '' },
      });
      await close(store, 'a', { expected: 2, isOpen: true });
      expect(await idsOf(store)).toEqual(['c', 'd', 'e', 'a']);
      expect(await idsOf(store, 'vault')).toEqual([]);
      expect(await idsOf(store, '')).toEqual([]);
      const newest = async (count: number): Promise<readonly string[]> =>
        (await store.openApprovalRequests('shop', count)).map(({ id }) => id);
      expect(await newest(1)).toEqual(['a']);
      expect(await newest(3)).toEqual(['d', 'e', 'a']);
      expect(await newest(5)).toEqual(['c', 'd', 'e', 'a']);
    });

    it('are there only as long as they are kept', async ({ store, clock }) => {
      await open(store, 'a');
      await store.changeApprovalRequest(requestChange({ id: 'b', keepMs: MINUTE_MS }));
      await open(store, 'c');
      clock.advance(MINUTE_MS);
      expect(await idsOf(store)).toEqual(['a', 'c']);
      await open(store, 'b');
      expect(await idsOf(store)).toEqual(['a', 'c', 'b']);
      clock.advance(HOUR_MS);
      expect(await idsOf(store)).toEqual([]);
    });

    const full = async (store: Store, scope = 'shop', keepMs = HOUR_MS): Promise<void> => {
      const ids = Array.from({ length: APPROVAL_REQUESTS_MAX }, (_, at) => `r${at}`);
      for (const id of ids.slice(0, 2))
        await store.changeApprovalRequest(requestChange({ scope, id, keepMs }));
      await Promise.all(
        ids.slice(2).map((id) => store.changeApprovalRequest(requestChange({ scope, id, keepMs }))),
      );
    };

    it('are a thousand: a further one ends the one that was opened first, which is a change', async ({
      store,
      another,
      reopen,
    }) => {
      await full(store);
      const other = await another();
      expect(await other.changeApprovalRequest(requestChange({ id: 'one more' }))).toEqual({
        done: true,
        ended: 'r0',
      });
      const ids = await idsOf(store);
      expect(ids).toHaveLength(APPROVAL_REQUESTS_MAX);
      expect([ids[0], ids.at(-1)]).toEqual(['r1', 'one more']);
      const { value } = requestChange();
      expect(await store.approvalRequest('shop', 'r0')).toEqual({
        version: 2,
        value,
        isOpen: false,
        usedBy: '',
      });
      const claiming = (version: number) =>
        store.settle(
          request({ subject: 'payment:0', claims: [approvalClaim('r0', version, { retryable: true })] }),
        );
      expect(await claiming(1)).toMatchObject({ claims: [{ approval: 'changed' }] });
      expect(await close(store, 'r0', { isOpen: true })).toEqual({ done: false });
      expect(await close(store, 'r0', { expected: 2, value: 'ended' })).toEqual({ done: true });
      expect(await claiming(2)).toMatchObject({ claims: [{ approval: 'changed' }] });
      expect(await claiming(3)).toMatchObject({ verdict: 'SUCCESS' });
      const again = await reopen();
      expect(await again.approvalRequest('shop', 'r0')).toMatchObject({ version: 3, value: 'ended' });
      expect(await idsOf(again)).toEqual(ids);
    });

    it('are ended at a version that holds, and that stays when they are used', async ({ store }) => {
      await full(store);
      await open(store, 'one more');
      const claims = [approvalClaim('r0', 2)];
      const settled = await store.settle(request({ claims }));
      expect(settled).toMatchObject({ verdict: 'SUCCESS', claims: [{ approval: 'current' }] });
      const used = { version: 2, isOpen: false, usedBy: idOf(settled) };
      expect(await store.approvalRequest('shop', 'r0')).toMatchObject(used);
      expect(await store.settle(request({ claims }))).toMatchObject({
        outcome: 'repeated',
        verdict: 'SUCCESS',
      });
      expect(await store.approvalRequest('shop', 'r0')).toMatchObject(used);
    });

    it('end none if the change opens none more, or fails', async ({ store }) => {
      await full(store);
      expect(await close(store, 'r5', { isOpen: true })).toEqual({ done: true });
      expect(await close(store, 'closed', { expected: 0 })).toEqual({ done: true });
      expect(await close(store, 'late', { isOpen: true })).toEqual({ done: false });
      expect(await store.changeApprovalRequest(requestChange({ id: 'r6' }))).toEqual({ done: false });
      expect(await store.changeApprovalRequest(requestChange({ scope: 'vault' }))).toEqual({ done: true });
      expect(await store.changeApprovalRequest(requestChange({ scope: '' }))).toEqual({ done: true });
      expect(await idsOf(store)).toHaveLength(APPROVAL_REQUESTS_MAX);
      expect((await idsOf(store))[0]).toBe('r0');
    });

    it.for(['closed', 'used'] as const)('make room when one was %s', async (how, { store }) => {
      await full(store, 'shop');
      if (how === 'closed') await close(store, 'r7');
      else await store.settle(request({ claims: [approvalClaim('r7', 1)] }));
      expect(await store.changeApprovalRequest(requestChange({ id: 'x' }))).toEqual({ done: true });
      expect(await store.changeApprovalRequest(requestChange({ id: 'y' }))).toEqual({
        done: true,
        ended: 'r0',
      });
    });

    it('make room when they are no longer kept', async ({ store, clock }) => {
      await full(store, '', MINUTE_MS);
      clock.advance(MINUTE_MS);
      expect(await store.changeApprovalRequest(requestChange({ scope: '', id: 'x' }))).toEqual({
        done: true,
      });
      expect(await idsOf(store, '')).toEqual(['x']);
    });
  });
}
