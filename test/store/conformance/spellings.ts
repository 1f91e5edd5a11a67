import { describe, expect } from 'vitest';
import type { ListClaim } from '../../../src/claims/list.ts';
import {
  HOUR_MS,
  START_MS,
  agedClaim,
  announcement,
  change,
  claimsOf,
  idOf,
  listClaim,
  orderClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeSpellings(open: OpenStore): void {
  const it = testsOn(open);

  describe('a value with other spellings', () => {
    const also = [['A', 'à'], [], ['C c']];
    const values = ['a', 'b', 'c'];
    const list = (must: ListClaim['must'], wanted: readonly string[] = values, others = also) =>
      listClaim('list', must, wanted, { also: others });

    it.for<[held: readonly string[], present: readonly string[]]>([
      [[], []],
      [['x', 'B', 'C'], []],
      [['a'], ['a']],
      [['A'], ['a']],
      [['à', 'A', 'a'], ['a']],
      [
        ['C c', 'à'],
        ['a', 'c'],
      ],
      [
        ['C c', 'b', 'A'],
        ['a', 'b', 'c'],
      ],
    ] as const)('is on a list that holds %j as %j', async ([held, present], { store, settle }) => {
      await store.changeList(change('list', held));
      const claims = [list('hold-all'), list('hold-none'), list('hold-none', ['b', 'a'], [['x'], []])];
      const result = await settle({ approves: false, claims });
      expect(claimsOf(result).slice(0, 2)).toEqual([
        { type: 'list', holds: present.length === 3, missing: false, present },
        { type: 'list', holds: present.length === 0, missing: false, present },
      ]);
      expect(claimsOf(result)[2]).toMatchObject({
        present: [
          ...(held.some((text) => text === 'b' || text === 'x') ? ['b'] : []),
          ...(held.includes('a') ? ['a'] : []),
        ],
      });
      expect((await store.entry('shop', idOf(result)))?.claims).toEqual(claimsOf(result));
    });

    it('is refused or approved by it', async ({ store, settle }) => {
      await store.changeList(change('list', ['A', 'b', 'C c']));
      expect(await settle({ subject: 'payment:1', claims: [list('hold-all')] })).toMatchObject({
        verdict: 'SUCCESS',
      });
      expect(await settle({ subject: 'payment:2', claims: [list('hold-none')] })).toMatchObject({
        verdict: 'FAILURE',
      });
      await store.changeList(change('list', [], ['C c']));
      expect(await settle({ subject: 'payment:3', claims: [list('hold-all')] })).toMatchObject({
        verdict: 'FAILURE',
      });
      expect(
        await settle({ subject: 'payment:4', claims: [list('hold-none', ['c'], [['C c']])] }),
      ).toMatchObject({ verdict: 'SUCCESS' });
    });

    it('fails of a list that does not exist', async ({ settle }) => {
      const result = await settle({ claims: [list('hold-none')] });
      expect(claimsOf(result)).toEqual([{ type: 'list', holds: false, missing: true, present: [] }]);
    });

    it('is on a list since the first of its spellings was added', async ({ store, clock, settle }) => {
      await store.changeList(change('list', ['à']));
      clock.advance(HOUR_MS - 1);
      await store.changeList(change('list', ['a', 'b', 'C c']));
      const aged = (ageMs: number) => agedClaim('list', ageMs, values, { also, retryable: true });
      const settled = async (ageMs: number) =>
        claimsOf(await settle({ approves: false, retryable: true, claims: [aged(ageMs)] }));
      const later = START_MS + HOUR_MS - 1;
      const added = [
        ['a', START_MS],
        ['b', later],
        ['c', later],
      ];
      expect(await settled(0)).toEqual([{ type: 'aged', holds: true, missing: false, added }]);
      expect(await settled(1)).toEqual([{ type: 'aged', holds: false, missing: false, added }]);
      const only = agedClaim('list', HOUR_MS - 1, ['a'], { also: [['à']] });
      expect(await settle({ claims: [only] })).toMatchObject({ verdict: 'SUCCESS' });
    });

    it('may have very many, and so may very many values', async ({ store, settle }) => {
      const many = Array.from({ length: 1500 }, (_, index) => `value ${index}`);
      const others = many.map((value) => [`${value}!`]);
      await store.changeList(change('list', others.flat()));
      const claims = [listClaim('list', 'hold-all', many, { also: others })];
      const result = await settle({ claims });
      expect(result).toMatchObject({ verdict: 'SUCCESS' });
      expect(claimsOf(result)).toEqual([{ type: 'list', holds: true, missing: false, present: many }]);
    });

    it('agrees with an order that has one of them, and with no other', async ({ store, settle }) => {
      const members = { to: 'a', memo: '', amount: '1' };
      const claim = orderClaim(members, { also: { to: ['A', 'à'], from: ['a'] }, retryable: true });
      for (const [index, [to, differs]] of [
        ['a', []],
        ['A', []],
        ['à', []],
        ['À', ['to']],
        ['', ['to']],
      ].entries() as ArrayIterator<[number, [string, string[]]]>) {
        const subject = `payment:${index}`;
        await store.expectOrder(announcement({ subject, members: { ...members, to } }));
        const result = await settle({ subject, claims: [claim] });
        expect(claimsOf(result)).toEqual([
          {
            type: 'order',
            holds: differs.length === 0,
            order: differs.length === 0 ? 'agrees' : 'differs',
            differs,
          },
        ]);
      }
      await store.expectOrder(
        announcement({ subject: 'payment:9', members: { from: 'a', memo: 'a', constructor: 'x' } }),
      );
      const result = await settle({ subject: 'payment:9', claims: [claim] });
      expect(claimsOf(result)).toEqual([
        { type: 'order', holds: false, order: 'differs', differs: ['constructor', 'memo'] },
      ]);
    });
  });
}
