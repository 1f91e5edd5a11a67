import { describe, expect, it } from 'vitest';
import { groupedKey } from '../../../src/claims/window.ts';
import { releaseApproval } from '../../../src/orders/release.ts';
import { proposalToJson } from '../../../src/policy/proposal.ts';
import type { SettleResult } from '../../../src/store/store.ts';
import { keyOf, push, request, units, usedOf, windowClaim } from '../requests.ts';
import { GROUPS } from './stories.ts';
import { type OpenStore, type StoreUnderTest, opened } from './store-under-test.ts';

const MANY = 120;
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
  });
}
