import { describe, expect, it } from 'vitest';
import { type Store, filesOf } from '../../../src/store/store.ts';
import { REVISION, START_MS, push, request, revisionOf, thaw } from '../requests.ts';
import { type OpenStore, opened, ready } from './store-under-test.ts';

export function describeReleases(open: OpenStore): void {
  describe('what is in force', () => {
    it('is nothing at first', async () => {
      const { store } = await opened(open);
      expect(await store.control()).toMatchObject({ revision: '', frozen: [] });
      expect(await store.history(10)).toEqual([]);
      expect(await store.document(REVISION)).toBeUndefined();
      expect(await store.document('')).toBeUndefined();
    });

    it('is what was pushed last, for every handle, and its document is kept byte for byte', async () => {
      const { store, clock, another } = await ready(open);
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

    it.each([
      ['another revision', revisionOf('third')],
      ['the empty text', ''],
    ])('stays if the push was compared against %s', async (_name, expected) => {
      const { store } = await ready(open);
      const before = await store.control();
      expect(await store.push(push('second', expected))).toEqual({ outcome: 'conflict', control: before });
      expect(await store.control()).toEqual(before);
      expect(await store.history(10)).toHaveLength(1);
      expect(await store.settle(request())).toMatchObject({ outcome: 'decided' });
    });

    it('can go back to an old revision, as a new entry of the history', async () => {
      const { store } = await ready(open);
      await store.push(push('second', REVISION));
      await store.push(push('first', revisionOf('second'), { message: 'rollback' }));
      expect(await store.settle(request())).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      const history = await store.history(10);
      expect(history.map((entry) => entry.revision)).toEqual([REVISION, revisionOf('second'), REVISION]);
      expect(history[0]).toMatchObject({ message: 'rollback' });
      const sequences = history.map((entry) => entry.sequence);
      expect(sequences).toEqual(sequences.toSorted((a, b) => b - a));
      expect(new Set(sequences).size).toBe(3);
    });

    it('keeps the files of its latest push that had some', async () => {
      const { store, another } = await ready(open);
      const other = await another();
      expect(await store.document(filesOf(REVISION))).toBeUndefined();
      await store.push(push('second', REVISION, { files: '[1]' }));
      await store.push(push('first', revisionOf('second')));
      expect(await other.document(filesOf(revisionOf('second')))).toBe('[1]');
      await store.push(push('second', REVISION, { files: '[2]' }));
      expect(await other.document(filesOf(revisionOf('second')))).toBe('[2]');
      expect(await other.document(revisionOf('second'))).toBe(push('second', '').document);
      await store.push(push('first', 'no', { files: '[3]' }));
      expect(await other.document(filesOf(REVISION))).toBeUndefined();
    });

    it('can be pushed while frozen, and stays frozen', async () => {
      const { store } = await ready(open);
      await store.freeze({ reason: 'drill', by: 'ada' });
      const { control } = await store.push(push('second', REVISION));
      expect(control).toMatchObject({ revision: revisionOf('second'), frozen: [{ reason: 'drill' }] });
      expect(await store.settle(request({ revision: revisionOf('second') }))).toMatchObject({
        code: 'FROZEN',
      });
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

    it('calls back after a push, a freeze and an unfreeze by another handle', async () => {
      const { store, another } = await ready(open);
      const other = await another();
      expect(await changeOf(store, () => other.push(push('second', REVISION)))).toBe('changed');
      expect(await changeOf(store, () => other.freeze({ reason: 'drill', by: 'ada' }))).toBe('changed');
      expect(await changeOf(store, () => thaw(other))).toBe('changed');
    });

    it('calls back after a change by the same handle', async () => {
      const { store } = await ready(open);
      expect(await changeOf(store, () => store.freeze({ reason: 'drill', by: 'ada' }))).toBe('changed');
    });
  });
}
