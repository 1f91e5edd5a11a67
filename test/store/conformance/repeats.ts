import { describe, expect } from 'vitest';
import {
  HOUR_MS,
  OTHER_TERMS,
  REVISION,
  change,
  claimsOf,
  idOf,
  keyOf,
  listClaim,
  notice,
  push,
  request,
  revisionOf,
  signing,
  units,
  usedOf,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

const second = revisionOf('second');
const third = revisionOf('third');

export function describeRepeats(open: OpenStore): void {
  const it = testsOn(open);

  describe('the same question about the same subject', () => {
    it('repeats an approval, names the first, and reserves nothing again', async ({ store, clock }) => {
      const asked = request({ claims: [windowClaim('10', '10')] });
      const first = await store.settle(asked);
      for (let repeat = 0; repeat < 3; repeat++) {
        clock.advance(1000);
        const result = await store.settle(asked);
        expect(result).toMatchObject({
          outcome: 'repeated',
          verdict: 'SUCCESS',
          code: 'APPROVED',
          of: idOf(first),
          atMs: clock.nowMs,
        });
        expect(idOf(result)).not.toBe(idOf(first));
        expect(claimsOf(result)).toEqual([{ type: 'window', holds: true, reserved: units('10'), used: 0n }]);
        expect(await store.entry('shop', idOf(result))).toMatchObject({ type: 'repeat', of: idOf(first) });
      }
      expect(await usedOf(store)).toBe(units('10'));
    });

    it('repeats an approval under a new revision that approves as well', async ({ store, settle }) => {
      const first = await settle();
      await store.push(push('second', REVISION));
      expect(await settle({ revision: second })).toMatchObject({
        outcome: 'repeated',
        verdict: 'SUCCESS',
        of: idOf(first),
      });
    });

    it('refuses what it approved if the proposal refuses by now, and reserves once if it approves later', async ({
      store,
      settle,
    }) => {
      const claims = [windowClaim('10', '10')];
      const first = await settle({ claims });
      await store.push(push('second', REVISION));
      const tightened = request({ revision: second, approves: false, refusal: 'NO_POLICY', claims });
      const refused = await store.settle(tightened);
      expect(refused).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'NO_POLICY' });
      expect(await settle({ revision: second, claims })).toMatchObject({
        outcome: 'repeated',
        verdict: 'FAILURE',
        code: 'NO_POLICY',
        of: idOf(refused),
      });
      await store.push(push('third', second));
      const again = await settle({ revision: third, claims });
      expect(again).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS', code: 'APPROVED' });
      expect(idOf(again)).not.toBe(idOf(first));
      expect(claimsOf(again)).toEqual([{ type: 'window', holds: true, reserved: units('10'), used: 0n }]);
      expect(await usedOf(store, { revision: third })).toBe(units('10'));
    });

    it('refuses what it approved if a list refuses by now, until that list changes again', async ({
      store,
    }) => {
      await store.changeList(change('blocked', []));
      const asked = request({
        claims: [listClaim('blocked', 'hold-none', ['mallory']), windowClaim('10', '10')],
      });
      expect(await store.settle(asked)).toMatchObject({ verdict: 'SUCCESS' });
      await store.changeList(change('blocked', ['mallory']));
      const refused = await store.settle(asked);
      expect(refused).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'RULE_REFUSED' });
      expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', of: idOf(refused) });
      await store.changeList(change('blocked', [], ['mallory']));
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(await usedOf(store)).toBe(units('10'));
    });

    it('stays with a refusal while the revision is the same, even if the proposal approves by now', async ({
      store,
      clock,
      settle,
    }) => {
      const refused = await settle({ approves: false });
      clock.advance(HOUR_MS);
      const result = await settle({ claims: [windowClaim('1', '10')] });
      expect(result).toMatchObject({
        outcome: 'repeated',
        verdict: 'FAILURE',
        code: 'RULE_REFUSED',
        of: idOf(refused),
      });
      expect(claimsOf(result)).toEqual([{ type: 'window', holds: true, reserved: 0n, used: 0n }]);
      expect(await usedOf(store)).toBe(0n);
    });

    it('stays with a refusal by a window after the window has room again', async ({
      store,
      clock,
      settle,
    }) => {
      await settle({ claims: [windowClaim('10', '10')] });
      const late = request({ subject: 'payment:2', claims: [windowClaim('1', '10')] });
      const refused = await store.settle(late);
      expect(refused).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      clock.advance(2 * HOUR_MS);
      expect(await usedOf(store)).toBe(0n);
      expect(await store.settle(late)).toMatchObject({ outcome: 'repeated', of: idOf(refused) });
      expect(await usedOf(store)).toBe(0n);
      await store.push(push('second', REVISION));
      expect(await store.settle({ ...late, proposal: { ...late.proposal, revision: second } })).toMatchObject(
        { outcome: 'decided', verdict: 'SUCCESS' },
      );
    });

    it('decides a refusal again after a new revision, which may refuse again', async ({ store, settle }) => {
      await settle({ approves: false, refusal: 'NO_POLICY' });
      await store.push(push('second', REVISION));
      const again = await settle({ revision: second, approves: false });
      expect(again).toMatchObject({ outcome: 'decided', code: 'RULE_REFUSED' });
      expect(await settle({ revision: second })).toMatchObject({ outcome: 'repeated', of: idOf(again) });
    });

    it('stays with a refusal whatever happens to lists that it does not depend on', async ({ store }) => {
      await store.changeList(change('allowed', ['alice']));
      const asked = request({ claims: [listClaim('allowed', 'hold-all', ['bob'])] });
      const refused = await store.settle(asked);
      await store.changeList(change('another', ['bob']));
      await store.changeList(change('allowed', ['bob'], [], { source: 'vault' }));
      expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', of: idOf(refused) });
      await store.changeList(change('allowed', ['carol']));
      const retryable = await store.settle(asked);
      expect(retryable).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      await store.changeList(change('allowed', ['bob']));
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
    });

    it('depends on every list that its claims name, also those that held or only observed', async ({
      store,
    }) => {
      await store.changeList(change('held', ['alice']));
      await store.changeList(change('observed', ['alice']));
      const asked = request({
        approves: false,
        claims: [
          listClaim('held', 'hold-all', ['alice']),
          listClaim('observed', 'hold-all', ['alice'], { decides: false }),
        ],
      });
      await store.settle(asked);
      await store.changeList(change('held', ['bob']));
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided' });
      await store.changeList(change('observed', ['bob']));
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided' });
      expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated' });
    });

    it.for(['__proto__', 'constructor', 'a "list"\\ {of} é'])(
      'decides a refusal again once the missing list exists: %s',
      async (list, { store }) => {
        const asked = request({ claims: [listClaim(list, 'hold-none', ['mallory'])] });
        const refused = await store.settle(asked);
        expect(refused).toMatchObject({ verdict: 'FAILURE' });
        expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', of: idOf(refused) });
        await store.changeList(change(list, []));
        expect(await store.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      },
    );

    it('gives way to frozen, stale and changed terms, though a refusal stands', async ({ store, settle }) => {
      await settle({ approves: false });
      expect(await settle({ terms: OTHER_TERMS })).toMatchObject({ code: 'TERMS_CHANGED' });
      expect(await settle({ revision: second })).toMatchObject({ outcome: 'stale' });
      await store.freeze({ reason: 'drill', by: 'ada' });
      expect(await settle()).toMatchObject({ code: 'FROZEN' });
    });
  });

  describe('another question about the same subject', () => {
    it('is decided again, and what is reserved holds and is not reserved again', async ({ store }) => {
      const claims = [windowClaim('10', '10')];
      const prepared = await store.settle(signing({ question: 'sign_prepare', claims }));
      const started = await store.settle(signing({ claims }));
      expect(prepared).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(started).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(claimsOf(started)).toEqual([{ type: 'window', holds: true, reserved: units('10'), used: 0n }]);
      expect(await store.settle(signing({ claims }))).toMatchObject({
        outcome: 'repeated',
        of: idOf(started),
      });
      expect(await store.settle(signing({ question: 'sign_prepare', claims }))).toMatchObject({
        outcome: 'repeated',
        of: idOf(prepared),
      });
      expect(await usedOf(store, { source: 'vault' })).toBe(units('10'));
    });

    it('does not inherit an approval or a refusal', async ({ store }) => {
      await store.settle(signing({ question: 'sign_prepare' }));
      expect(await store.settle(signing({ approves: false }))).toMatchObject({
        outcome: 'decided',
        verdict: 'FAILURE',
      });
      expect(await store.settle(signing({ speedUp: true }))).toMatchObject({
        outcome: 'decided',
        verdict: 'SUCCESS',
      });
    });

    it('tells one speed-up from the next by the txids in between', async ({ store }) => {
      const claims = [windowClaim('10', '10')];
      const speedUp = signing({ speedUp: true, claims });
      await store.settle(signing({ claims }));
      await store.recordNotification(notice({ txid: '0x1' }));
      const first = await store.settle(speedUp);
      expect(first).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(await store.settle(speedUp)).toMatchObject({ outcome: 'repeated', of: idOf(first) });
      await store.recordNotification(notice({ txid: '0x1' }));
      expect(await store.settle(speedUp)).toMatchObject({ outcome: 'repeated', of: idOf(first) });
      await store.recordNotification(notice({ txid: '0x2' }));
      const next = await store.settle(speedUp);
      expect(next).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(await usedOf(store, { source: 'vault' })).toBe(units('10'));
    });
  });

  describe('a window that a policy in between has added', () => {
    const old = windowClaim('10', '10', { key: keyOf('old') });
    const added = windowClaim('10', '12', { key: keyOf('added') });

    it('is reserved when the approval is repeated, once', async ({ store, settle }) => {
      await settle({ claims: [old] });
      await store.push(push('second', REVISION));
      const asked = request({ revision: second, claims: [old, added] });
      const result = await store.settle(asked);
      expect(result).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
      expect(claimsOf(result)).toMatchObject([{ reserved: units('10') }, { reserved: 0n, used: 0n }]);
      expect(claimsOf(await store.settle(asked))).toMatchObject([
        { reserved: units('10') },
        { reserved: units('10') },
      ]);
      expect(await usedOf(store, { revision: second, key: keyOf('old') })).toBe(units('10'));
      expect(await usedOf(store, { revision: second, key: keyOf('added') })).toBe(units('10'));
    });

    it('refuses the repeat if it has no room', async ({ store, settle }) => {
      await settle({ claims: [old] });
      await settle({ subject: 'payment:2', claims: [{ ...added, amount: units('3') }] });
      await store.push(push('second', REVISION));
      expect(await settle({ revision: second, claims: [old, added] })).toMatchObject({
        outcome: 'decided',
        verdict: 'FAILURE',
        code: 'RULE_REFUSED',
      });
      expect(await usedOf(store, { revision: second, key: keyOf('added') })).toBe(units('3'));
    });

    it('refuses what is reserved if its limit has been lowered below it', async ({ store, settle }) => {
      await settle({ claims: [old] });
      await store.push(push('second', REVISION));
      const lowered = { ...old, max: units('1') };
      const result = await settle({ revision: second, claims: [lowered] });
      expect(result).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      expect(claimsOf(result)).toEqual([{ type: 'window', holds: false, reserved: units('10'), used: 0n }]);
    });
  });
}
