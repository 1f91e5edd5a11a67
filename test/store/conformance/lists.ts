import { describe, expect } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { START_MS, change, claimsOf, listClaim, idOf, request } from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeLists(open: OpenStore): void {
  const it = testsOn(open);

  const valuesOf = async (store: Store, list: string, source = 'shop'): Promise<string[]> => {
    const values: string[] = [];
    for await (const entry of store.listEntries(source, list)) values.push(entry.value);
    return values.sort();
  };

  describe('lists', () => {
    it('count what was really added and removed', async ({ store, clock }) => {
      expect(await store.changeList(change('list', ['a', 'b', 'b']))).toEqual({
        added: 2,
        removed: 0,
        summary: { list: 'list', entries: 2, version: 1, changedAtMs: START_MS },
      });
      clock.advance(10);
      expect(await store.changeList(change('list', ['b', 'c'], ['a', 'x']))).toEqual({
        added: 1,
        removed: 1,
        summary: { list: 'list', entries: 2, version: 2, changedAtMs: START_MS + 10 },
      });
      expect(await valuesOf(store, 'list')).toEqual(['b', 'c']);
    });

    it('are not made by removing from one that does not exist', async ({ store }) => {
      await expect(store.changeList(change('blocked-user', [], ['a']))).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
      expect(await store.lists('shop')).toEqual([]);
      expect(await store.entries({ source: 'shop', limit: 10 })).toEqual([]);
    });

    it('keep when an entry was first added', async ({ store, clock }) => {
      await store.changeList(change('list', ['a']));
      clock.advance(10);
      await store.changeList(change('list', ['a', 'b']));
      const added = new Map<string, number>();
      for await (const entry of store.listEntries('shop', 'list')) added.set(entry.value, entry.addedAtMs);
      expect(added).toEqual(
        new Map([
          ['a', START_MS],
          ['b', START_MS + 10],
        ]),
      );
    });

    it('belong to their source, and are seen by every handle', async ({ store, another }) => {
      await store.changeList(change('one', ['a']));
      await store.changeList(change('two', []));
      await store.changeList(change('one', ['z', 'y'], [], { source: 'vault' }));
      const other = await another();
      const summaries = await other.lists('shop');
      expect(summaries.toSorted((a, b) => (a.list < b.list ? -1 : 1))).toEqual([
        { list: 'one', entries: 1, version: 1, changedAtMs: START_MS },
        { list: 'two', entries: 0, version: 1, changedAtMs: START_MS },
      ]);
      expect(await other.lists('vault')).toMatchObject([{ list: 'one', entries: 2 }]);
      expect(await valuesOf(other, 'one', 'vault')).toEqual(['y', 'z']);
      expect(await valuesOf(other, 'two')).toEqual([]);
    });

    it('reject a look into a list that does not exist', async ({ store }) => {
      await store.changeList(change('list', ['a'], [], { source: 'vault' }));
      await expect(valuesOf(store, 'list')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('journal each change with who, why and what', async ({ store }) => {
      await store.changeList(change('list', ['a'], ['b']));
      const [entry, ...others] = await store.entries({ source: 'shop', limit: 10 });
      expect(others).toEqual([]);
      expect(entry).toMatchObject({
        type: 'list',
        atMs: START_MS,
        subject: '',
        verdict: '',
        of: '',
        claims: [],
      });
      expect(JSON.parse(entry?.detail ?? '')).toEqual({
        list: 'list',
        add: ['a'],
        remove: ['b'],
        by: 'ada',
        message: 'as agreed',
      });
    });

    it('keep values apart that differ in any character', async ({ store }) => {
      const values = ['a', 'A', ' a', 'a ', '', 'é', 'e\u0301', '__proto__', '1', '01', '1.0', "' or 1=1 --"];
      expect(await store.changeList(change('list', values))).toMatchObject({ added: values.length });
      expect(await valuesOf(store, 'list')).toEqual(values.toSorted());
    });

    it('hold very many entries, given and read at once', async ({ store, settle }) => {
      const many = Array.from({ length: 25_000 }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`);
      expect(await store.changeList(change('list', many))).toMatchObject({
        added: 25_000,
        summary: { entries: 25_000 },
      });
      expect(await valuesOf(store, 'list')).toEqual(many);
      const last = many.slice(-1);
      const result = await settle({
        claims: [listClaim('list', 'hold-all', last), listClaim('list', 'hold-none', ['0x'])],
      });
      expect(claimsOf(result)).toEqual([
        { type: 'list', holds: true, missing: false, present: last },
        { type: 'list', holds: true, missing: false, present: [] },
      ]);
      expect(await store.changeList(change('list', [], many.slice(1)))).toMatchObject({
        removed: 24_999,
        summary: { entries: 1, version: 2 },
      });
    });

    it('can be changed while they are read', async ({ store }) => {
      const many = Array.from({ length: 3000 }, (_, index) => `value ${index}`);
      await store.changeList(change('list', many));
      const seen = new Set<string>();
      for await (const { value } of store.listEntries('shop', 'list')) {
        if (seen.size === 0) await store.changeList(change('list', ['new'], []));
        seen.add(value);
      }
      expect(many.filter((value) => !seen.has(value))).toEqual([]);
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
  });
}
