import { describe, expect } from 'vitest';
import { type OpenStore, testsOn } from './store-under-test.ts';

const HOUR_MS = 3_600_000;

export function describeAccess(open: OpenStore): void {
  const it = testsOn(open);

  describe('a record of access', () => {
    it('is there once it is written, for every process, and after a restart', async ({
      empty: { store, another, reopen },
    }) => {
      expect(await store.access('person:ada')).toBeUndefined();
      const value = '{"name":"ada ö\\n \u0000"}';
      expect(await store.changeAccess({ id: 'person:ada', expected: 0, value, keepMs: 0 })).toBe(true);
      expect(await (await another()).access('person:ada')).toEqual({ version: 1, value });
      expect(await (await reopen()).access('person:ada')).toEqual({ version: 1, value });
    });

    it('changes only at the version that was read', async ({ empty: { store } }) => {
      const change = (expected: number, value?: string): Promise<boolean> =>
        store.changeAccess({ id: 'a', expected, keepMs: 0, ...(value !== undefined && { value }) });
      expect(await change(1, 'early')).toBe(false);
      expect(await change(0)).toBe(true);
      expect(await change(0, 'first')).toBe(true);
      expect(await change(0, 'again')).toBe(false);
      expect(await change(1, 'second')).toBe(true);
      expect(await change(1, 'late')).toBe(false);
      expect(await change(1)).toBe(false);
      expect(await store.access('a')).toEqual({ version: 2, value: 'second' });
      expect(await change(2)).toBe(true);
      expect(await change(2)).toBe(false);
      expect(await store.access('a')).toBeUndefined();
    });

    it('is taken by one of many who come at once', async ({ empty: { store, another } }) => {
      const other = await another();
      await store.changeAccess({ id: 'challenge', expected: 0, value: 'x', keepMs: HOUR_MS });
      const takes = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 === 0 ? store : other).changeAccess({ id: 'challenge', expected: 1, keepMs: 0 }),
        ),
      );
      expect(takes.filter(Boolean)).toHaveLength(1);
    });

    it('is no other record', async ({ empty: { store } }) => {
      for (const id of ['a', 'A', 'a:b', '__proto__', '%', '{x}'])
        expect(await store.changeAccess({ id, expected: 0, value: `of ${id}`, keepMs: 0 })).toBe(true);
      for (const id of ['a', 'A', 'a:b', '__proto__', '%', '{x}'])
        expect(await store.access(id)).toEqual({ version: 1, value: `of ${id}` });
    });
  });
}
