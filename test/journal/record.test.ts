import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mergedEntries, pagedEntries } from '../../src/journal/record.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { place } from '../cli/terminal.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const ENTRIES = 450;

/** Entries of two sources in turn, two in each millisecond; and how many each query asked for. */
async function filled(path: string): Promise<Store> {
  let count = 0;
  const store = await openEmbeddedStore({ path, clock: () => 1_750_000_000_000 + Math.floor(count / 2) });
  onTestFinished(() => store.close());
  const record = {
    type: 'refused',
    subject: '',
    verdict: 'FAILURE',
    code: 'MEMBER_MISSING',
    of: '',
  } as const;
  for (; count < ENTRIES; count++) {
    const source = count % 3 === 0 ? 'vault' : 'shop';
    await store.record({ ...record, source, detail: JSON.stringify({ count }) });
  }
  return store;
}

function storePath(): string {
  const folder = temporaryFolder();
  return join(folder, 'store.db');
}

async function counts(entries: AsyncIterable<JournalEntry>): Promise<readonly number[]> {
  const found: number[] = [];
  for await (const { detail } of entries) found.push(Number(/\d+/.exec(detail)?.[0]));
  return found;
}

const numbers = Array.from({ length: ENTRIES }, (_, n) => n);

describe('the journal, page by page', () => {
  it('is whole, each entry once, in pages that are bounded', async () => {
    const store = await filled(storePath());
    const limits: number[] = [];
    const watched: Store = {
      ...store,
      entries: (query) => {
        limits.push(query.limit);
        return store.entries(query);
      },
    };
    expect(await counts(pagedEntries(watched, { source: 'shop' }))).toEqual(
      numbers.filter((n) => n % 3 !== 0),
    );
    expect(new Set(limits)).toEqual(new Set([50]));
    expect(await counts(pagedEntries(store, { source: 'shop', newestFirst: true }))).toEqual(
      numbers.filter((n) => n % 3 !== 0).toReversed(),
    );
  });

  it.each([false, true])('of several sources is merged by time, newest first: %s', async (newestFirst) => {
    const store = await filled(storePath());
    const found: number[] = [];
    for await (const entry of mergedEntries(store, [{ source: 'shop' }, { source: 'vault' }], newestFirst)) {
      found.push(entry.atMs);
    }
    expect(found).toHaveLength(ENTRIES);
    const order = newestFirst ? (a: number, b: number) => b - a : (a: number, b: number) => a - b;
    expect(found).toEqual(found.toSorted(order));
  });

  it('of nothing is nothing', async () => {
    const store = await openEmbeddedStore({ path: storePath() });
    onTestFinished(() => store.close());
    expect(await counts(mergedEntries(store, [], false))).toEqual([]);
    expect(await counts(mergedEntries(store, [{ source: 'shop' }], true))).toEqual([]);
  });
});

describe('a long export', () => {
  it('waits for its reader', async () => {
    const { folder, runWith } = place();
    await filled(join(folder, 'store.db'));
    let waiting = 0;
    let printed = 0;
    const printedAtDrain: number[] = [];
    const run = runWith({
      out: () => {
        if (waiting > 0) throw new Error('printed while the reader was not ready');
        printed += 1;
      },
      drained: async () => {
        waiting += 1;
        printedAtDrain.push(printed);
        await new Promise(setImmediate);
        waiting -= 1;
      },
    });
    expect((await run('decisions', 'export')).code).toBe(0);
    expect(printed).toBe(ENTRIES);
    expect(printedAtDrain).toEqual([100, 200, 300, 400, ENTRIES]);
  });
});
