import { describe, expect, it } from 'vitest';
import { groupedKey } from '../../../src/claims/window.ts';
import { releaseApproval } from '../../../src/orders/release.ts';
import { proposalToJson } from '../../../src/policy/proposal.ts';
import type { SettleResult } from '../../../src/store/store.ts';
import {
  HOUR_MS,
  MINUTE_MS,
  START_MS,
  claimsOf,
  distinctClaim,
  keyOf,
  push,
  request,
  units,
  usedOf,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, type StoreUnderTest, opened } from './store-under-test.ts';

const MANY = 120;
/** A group may have the name of a source. */
const GROUPS = new Map([
  ['shop', 'sales'],
  ['kiosk', 'sales'],
  ['vault', 'shop'],
]);
const KEY = keyOf('counter');
const SALES = groupedKey('sales', KEY);

/** A store that knows the sources and their groups, and `alone`, which has none. */
async function readyWithGroups(open: OpenStore): Promise<StoreUnderTest> {
  const under = await opened(() => open(GROUPS));
  await under.store.register([...GROUPS.keys(), 'alone']);
  await under.store.push(push('first', ''));
  return under;
}

const codeOf = (result: SettleResult): string => ('code' in result ? result.code : result.outcome);

export function describeGroups(open: OpenStore): void {
  describe('a counter of a group', () => {
    it('counts for all sources of the group together', async () => {
      const { store } = await readyWithGroups(open);
      const ask = (source: string, amount: string) =>
        store.settle(request({ source, claims: [windowClaim(amount, '10', { key: SALES })] }));
      expect(await ask('shop', '6')).toMatchObject({ verdict: 'SUCCESS' });
      const over = await ask('kiosk', '4.1');
      expect(over).toMatchObject({ verdict: 'FAILURE' });
      expect(claimsOf(over)).toEqual([{ type: 'window', holds: false, reserved: 0n, used: units('6') }]);
      const within = request({
        source: 'kiosk',
        subject: 'payment:2',
        claims: [windowClaim('4', '10', { key: SALES })],
      });
      expect(await store.settle(within)).toMatchObject({ verdict: 'SUCCESS' });
      for (const source of ['shop', 'kiosk']) {
        expect(await usedOf(store, { source, key: SALES })).toBe(units('10'));
      }
    });

    it('is another than that of a source, of another group, and of a source with the name of the group', async () => {
      const { store } = await readyWithGroups(open);
      const full = (key: string) => [windowClaim('10', '10', { key })];
      const ofShopGroup = groupedKey('shop', KEY);
      await store.settle(request({ source: 'shop', claims: full(SALES) }));
      expect(await usedOf(store, { source: 'shop', key: KEY })).toBe(0n);
      expect(await usedOf(store, { source: 'vault', key: ofShopGroup })).toBe(0n);
      expect(await store.settle(request({ source: 'vault', claims: full(ofShopGroup) }))).toMatchObject({
        verdict: 'SUCCESS',
      });
      expect(await usedOf(store, { source: 'shop', key: KEY })).toBe(0n);
      expect(await usedOf(store, { source: 'kiosk', key: SALES })).toBe(units('10'));
    });

    it('is claimed together with counters of the source, and neither reserves if one has no room', async () => {
      const { store } = await readyWithGroups(open);
      const claims = (amount: string, max: string) => [
        windowClaim(amount, max),
        windowClaim(amount, '10', { key: SALES }),
      ];
      expect(await store.settle(request({ source: 'shop', claims: claims('4', '3') }))).toMatchObject({
        verdict: 'FAILURE',
      });
      expect(await usedOf(store, { source: 'shop', key: SALES })).toBe(0n);
      const subject = 'payment:2';
      await store.settle(request({ source: 'shop', subject, claims: claims('4', '100') }));
      await store.settle(request({ source: 'kiosk', claims: claims('7', '100') }));
      expect(await usedOf(store, { source: 'shop' })).toBe(units('4'));
      expect(await usedOf(store, { source: 'kiosk' })).toBe(0n);
      expect(await usedOf(store, { source: 'kiosk', key: SALES })).toBe(units('4'));
    });

    it('counts a repeat once, and the same id of another source as another callback', async () => {
      const { store, clock } = await readyWithGroups(open);
      const ask = (source: string) =>
        store.settle(request({ source, claims: [windowClaim('3', '10', { key: SALES })] }));
      await ask('shop');
      expect(await ask('shop')).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
      expect(await ask('kiosk')).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(await usedOf(store, { source: 'shop', key: SALES })).toBe(units('6'));
      clock.nowMs = START_MS + HOUR_MS + MINUTE_MS;
      expect(await usedOf(store, { source: 'kiosk', key: SALES })).toBe(0n);
      expect(claimsOf(await ask('shop'))).toEqual([{ type: 'window', holds: true, reserved: 0n, used: 0n }]);
    });

    it('does not take what was reserved in another group for its own', async () => {
      const { store } = await readyWithGroups(open);
      const claim = (key: string) => request({ source: 'alone', claims: [windowClaim('3', '10', { key })] });
      await store.settle(claim(KEY));
      const again = await store.settle(
        request({ source: 'shop', claims: [windowClaim('3', '10', { key: SALES })] }),
      );
      expect(claimsOf(again)).toEqual([{ type: 'window', holds: true, reserved: 0n, used: 0n }]);
    });

    it('counts the different values of all its sources, and knows a value in all of them', async () => {
      const { store } = await readyWithGroups(open);
      const value = (name: string): string => groupedKey('sales', keyOf(name));
      const ask = (source: string, subject: string, values: readonly string[]) =>
        store.settle(
          request({
            source,
            subject,
            claims: [distinctClaim([], 2, { values: values.map(value), key: SALES, onlyNew: true })],
          }),
        );
      expect(await ask('shop', 'payment:1', ['a'])).toMatchObject({ verdict: 'SUCCESS' });
      expect(await ask('kiosk', 'payment:1', ['a', 'b'])).toMatchObject({ verdict: 'SUCCESS' });
      const third = await ask('shop', 'payment:2', ['c']);
      expect(third).toMatchObject({ verdict: 'FAILURE' });
      expect(claimsOf(third)).toMatchObject([{ counted: 2, further: 1 }]);
      expect(await ask('shop', 'payment:3', ['b'])).toMatchObject({ verdict: 'SUCCESS' });
      const ofSource = distinctClaim(['c'], 2, { key: KEY, onlyNew: true });
      expect(
        await store.settle(request({ source: 'shop', subject: 'payment:4', claims: [ofSource] })),
      ).toMatchObject({ verdict: 'SUCCESS', claims: [{ counted: 0, further: 1 }] });
    });

    it('gets back what was released, and keeps what the other sources reserved', async () => {
      const { store } = await readyWithGroups(open);
      const paid = (source: string, amount: string) => {
        const asked = request({ source, claims: [windowClaim(amount, '10', { key: SALES })] });
        const detail = JSON.stringify({
          terms: asked.callback.terms,
          proposal: proposalToJson(asked.proposal),
        });
        return { ...asked, detail };
      };
      await store.settle(paid('shop', '6'));
      await store.settle(paid('kiosk', '4'));
      const sources = ['shop', 'kiosk'].map((name) => ({ name, kinds: ['payment'] as const, schemes: [] }));
      const [source, kind, id, by] = ['shop', 'payment', '1', 'ada'] as const;
      const released = await releaseApproval(store, sources, {
        source,
        kind,
        id,
        members: {},
        message: 'failed',
        by,
      });
      expect(released).toMatchObject({ given: { amounts: [{ key: SALES, amount: '6' }] } });
      for (const each of ['shop', 'kiosk']) {
        expect(await usedOf(store, { source: each, key: SALES })).toBe(units('4'));
      }
    });

    it('keeps what it held when the store is opened again', async () => {
      const { store, reopen } = await readyWithGroups(open);
      const claims = [windowClaim('3', '10', { key: SALES })];
      await store.settle(request({ source: 'shop', claims }));
      const again = await reopen();
      await again.register([...GROUPS.keys(), 'alone']);
      expect(await usedOf(again, { source: 'kiosk', key: SALES })).toBe(units('3'));
      expect(await again.settle(request({ source: 'shop', claims }))).toMatchObject({ outcome: 'repeated' });
    });

    it.each([1, 2])('never lets the sources pass it together, over %i handle(s)', async (handles) => {
      const { store, another } = await readyWithGroups(open);
      const stores = handles === 1 ? [store] : [store, await another()];
      const claims = [windowClaim('1', '37', { key: SALES }), windowClaim('1', '25')];
      const results = await Promise.all(
        Array.from({ length: MANY }, (_, index) =>
          (stores[(index >> 1) % handles] ?? store).settle(
            request({ source: index % 2 === 0 ? 'shop' : 'kiosk', subject: `payment:${index}`, claims }),
          ),
        ),
      );
      const approved = results.filter((result) => codeOf(result) === 'APPROVED');
      expect(approved).toHaveLength(37);
      expect(await usedOf(store, { source: 'shop', key: SALES })).toBe(units('37'));
      for (const source of ['shop', 'kiosk']) {
        expect(await usedOf(store, { source })).toBeLessThanOrEqual(units('25'));
      }
    });

    it('stops all its sources while the store is frozen', async () => {
      const { store } = await readyWithGroups(open);
      await store.freeze({ reason: 'drill', by: 'ada' });
      for (const source of ['shop', 'kiosk', 'vault', 'alone']) {
        expect(await store.settle(request({ source }))).toMatchObject({ code: 'FROZEN' });
      }
    });
  });
}
