import { describe, expect } from 'vitest';
import { START_MS, agedClaim, change, claimsOf, idOf } from '../requests.ts';
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

    it.for(['A', 'a ', '__proto__', 'constructor', ''])(
      'takes no other text for it: "%s"',
      async (value, { store, settle }) => {
        await store.changeList(change('partners', ['a']));
        const result = await settle({ claims: [agedClaim('partners', 0, [value])] });
        expect(result).toMatchObject({ verdict: 'FAILURE' });
        expect(claimsOf(result)).toEqual([held(false)]);
      },
    );

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
