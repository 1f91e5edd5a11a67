import { describe, expect } from 'vitest';
import { type Store, filesOf } from '../../../src/store/store.ts';
import { REVISION, START_MS, push, revisionOf, thaw } from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeReleases(open: OpenStore): void {
  const it = testsOn(open);

  describe('what is in force', () => {
    it('is nothing at first', async ({ empty: { store } }) => {
      expect(await store.control()).toMatchObject({ revision: '', frozen: [] });
      expect(await store.history(10)).toEqual([]);
      expect(await store.document(REVISION)).toBeUndefined();
      expect(await store.document('')).toBeUndefined();
    });

    it('is what was pushed last, for every handle, and its document is kept byte for byte', async ({
      store,
      clock,
      another,
    }) => {
      const other = await another();
      const before = await store.control();
      clock.advance(5);
      const document = '{"é":"\u{1f512}\\u0000 \\"","n":1.50}';
      const pushed = await store.push(push('second', REVISION, { document }));
      expect(pushed).toEqual({ outcome: 'in-force', control: await other.control() });
      expect(pushed.control).toMatchObject({ revision: revisionOf('second'), frozen: [] });
      expect(pushed.control.sequence).toBeGreaterThan(before.sequence);
      expect(await other.document(revisionOf('second'))).toBe(document);
      expect(await other.document(REVISION)).toBe(push('first', '').document);
      expect(await other.history(10)).toMatchObject([
        { revision: revisionOf('second'), by: 'ada', message: 'puts second in force', atMs: START_MS + 5 },
        { revision: REVISION, by: 'ada', message: 'puts first in force', atMs: START_MS },
      ]);
      expect(await other.history(1)).toMatchObject([{ revision: revisionOf('second') }]);
    });

    it.for([
      ['another revision', revisionOf('third')],
      ['the empty text', ''],
    ] as const)('stays if the push was compared against %s', async ([, expected], { store, settle }) => {
      const before = await store.control();
      expect(await store.push(push('second', expected))).toEqual({ outcome: 'conflict', control: before });
      expect(await store.control()).toEqual(before);
      expect(await store.history(10)).toHaveLength(1);
      expect(await settle()).toMatchObject({ outcome: 'decided' });
    });

    it('can go back to an old revision, as a new entry of the history', async ({ store, settle }) => {
      await store.push(push('second', REVISION));
      await store.push(push('first', revisionOf('second'), { message: 'rollback' }));
      expect(await settle()).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      const history = await store.history(10);
      expect(history.map((entry) => entry.revision)).toEqual([REVISION, revisionOf('second'), REVISION]);
      expect(history[0]).toMatchObject({ message: 'rollback' });
      const sequences = history.map((entry) => entry.sequence);
      expect(sequences).toEqual(sequences.toSorted((a, b) => b - a));
      expect(new Set(sequences).size).toBe(3);
    });

    it('keeps the serial of each push in the history', async ({ store, another }) => {
      await store.push(push('second', REVISION, { serial: 41 }));
      await store.push(push('first', revisionOf('second'), { serial: 123_456_789_012_345 }));
      const history = await (await another()).history(3);
      expect(history.map(({ serial }) => serial)).toEqual([123_456_789_012_345, 41, 0]);
    });

    it('keeps further documents beside a revision, those of its latest push that had some', async ({
      store,
      another,
    }) => {
      const other = await another();
      expect(await store.document(filesOf(REVISION))).toBeUndefined();
      await store.push(push('second', REVISION, { beside: { [filesOf(revisionOf('second'))]: '[1]' } }));
      await store.push(push('first', revisionOf('second')));
      expect(await other.document(filesOf(revisionOf('second')))).toBe('[1]');
      await store.push(
        push('second', REVISION, { beside: { [filesOf(revisionOf('second'))]: '[2]', other: 'text' } }),
      );
      expect(await other.document(filesOf(revisionOf('second')))).toBe('[2]');
      expect(await other.document('other')).toBe('text');
      expect(await other.document(revisionOf('second'))).toBe(push('second', '').document);
      await store.push(push('first', 'no', { beside: { [filesOf(REVISION)]: '[3]' }, serial: 9 }));
      expect(await other.document(filesOf(REVISION))).toBeUndefined();
    });

    it('can be pushed while frozen, and stays frozen', async ({ store, settle }) => {
      await store.freeze({ reason: 'drill', by: 'ada' });
      const { control } = await store.push(push('second', REVISION));
      expect(control).toMatchObject({ revision: revisionOf('second'), frozen: [{ reason: 'drill' }] });
      expect(await settle({ revision: revisionOf('second') })).toMatchObject({ code: 'FROZEN' });
    });
  });

  describe('watching', () => {
    const changeOf = (store: Store, act: () => Promise<unknown>): Promise<'changed'> =>
      new Promise((resolve, reject) => {
        const stop = store.watch(() => {
          stop();
          resolve('changed');
        });
        act().catch(reject);
      });

    it('calls back after a push, a freeze and an unfreeze by another handle', async ({ store, another }) => {
      const other = await another();
      expect(await changeOf(store, () => other.push(push('second', REVISION)))).toBe('changed');
      expect(await changeOf(store, () => other.freeze({ reason: 'drill', by: 'ada' }))).toBe('changed');
      expect(await changeOf(store, () => thaw(other))).toBe('changed');
    });

    it('calls back after a change by the same handle', async ({ store }) => {
      expect(await changeOf(store, () => store.freeze({ reason: 'drill', by: 'ada' }))).toBe('changed');
    });
  });
}
