import { describe, expect } from 'vitest';
import type { JournalEntry, JournalQuery, Store } from '../../../src/store/store.ts';
import {
  OTHER_TERMS,
  REVISION,
  START_MS,
  idOf,
  listClaim,
  notice,
  request,
  signing,
  units,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, ready, testsOn } from './store-under-test.ts';

const ODD_DETAIL = '{ "é": "\u{1f512}\\u0000",\t"amount": 1.50,\r\n "quote": "\\"\'", "x":"\u2028\uFFFD" }';

export function describeJournal(open: OpenStore): void {
  const it = testsOn(open);

  const detailsOf = async (store: Store, over: Partial<JournalQuery> = {}): Promise<string[]> =>
    (await store.entries({ source: 'shop', limit: 1000, ...over })).map((entry) => entry.detail);

  /** Ten decisions a second apart, each with its number as detail. */
  const tenEntries = async () => {
    const under = await ready(open);
    const ids: string[] = [];
    for (let index = 0; index < 10; index++) {
      const subject = `payment:${index % 3}`;
      ids.push(idOf(await under.store.settle(request({ subject, detail: String(index) }))));
      under.clock.advance(1000);
    }
    return { ...under, ids };
  };

  describe('the journal', () => {
    it('has an entry of every decision, as it was decided', async ({ store, settle }) => {
      const claims = [
        windowClaim('4.000000000000000000000000000000000001', '10'),
        listClaim('missing', 'hold-all', ['a'], { decides: false }),
      ];
      const result = await settle({ claims, detail: ODD_DETAIL });
      const expected: JournalEntry = {
        id: idOf(result),
        source: 'shop',
        atMs: START_MS,
        type: 'decision',
        subject: 'payment:1',
        verdict: 'SUCCESS',
        code: 'APPROVED',
        revision: REVISION,
        of: '',
        claims: [
          { type: 'window', holds: true, reserved: 0n, used: 0n },
          { type: 'list', holds: false, missing: true, present: [] },
        ],
        detail: ODD_DETAIL,
      };
      expect(await store.entry('shop', idOf(result))).toEqual(expected);
      expect(await store.entries({ source: 'shop', limit: 1 })).toEqual([expected]);
      const repeat = await settle({ claims, detail: 'again' });
      expect(await store.entry('shop', idOf(repeat))).toEqual({
        ...expected,
        id: idOf(repeat),
        type: 'repeat',
        of: idOf(result),
        claims: [
          {
            type: 'window',
            holds: true,
            reserved: units('4.000000000000000000000000000000000001'),
            used: 0n,
          },
          { type: 'list', holds: false, missing: true, present: [] },
        ],
        detail: 'again',
      });
    });

    it('has one entry for every answer, in order, and counts them by source', async ({ store, settle }) => {
      await settle({ detail: 'decided' });
      await settle({ detail: 'repeated' });
      await settle({ terms: OTHER_TERMS, detail: 'terms' });
      await settle({ revision: 'stale', detail: 'stale' });
      await settle({ validUntilMs: 0, detail: 'expired' });
      await store.freeze({ reason: 'drill', by: 'ada' });
      const frozen: unknown = expect.stringContaining('"change":"freeze"');
      await settle({ detail: 'frozen' });
      await store.recordNotification(notice({ source: 'shop', detail: 'notice' }));
      await store.settle(signing({ detail: 'vault' }));
      expect(await detailsOf(store)).toEqual(['decided', 'repeated', 'terms', frozen, 'frozen', 'notice']);
      expect(await store.journalSize('shop')).toBe(6);
      expect(await store.journalSize('vault')).toBe(2);
      expect(await store.journalSize('unheard of')).toBe(0);
    });

    it.for(['refused', 'self-check', 'late', 'reconciliation', 'archive'] as const)(
      'records what decides nothing: %s',
      async (type, { store, clock, settle }) => {
        clock.advance(7);
        const id = await store.record({
          source: 'shop',
          type,
          subject: 'payment:1',
          verdict: 'FAILURE',
          code: 'MEMBER_MISSING',
          of: 'an id',
          detail: ODD_DETAIL,
        });
        expect(await store.entry('shop', id)).toEqual({
          id,
          source: 'shop',
          atMs: START_MS + 7,
          type,
          subject: 'payment:1',
          verdict: 'FAILURE',
          code: 'MEMBER_MISSING',
          revision: '',
          of: 'an id',
          claims: [],
          detail: ODD_DETAIL,
        });
        expect(await settle({ terms: OTHER_TERMS })).toMatchObject({ code: 'APPROVED' });
      },
    );

    it('keeps the empty text where a record has none', async ({ store }) => {
      const id = await store.record({
        source: 'shop',
        type: 'self-check',
        subject: '',
        verdict: '',
        code: '',
        of: '',
        detail: '',
      });
      expect(await store.entry('shop', id)).toMatchObject({ subject: '', verdict: '', code: '', detail: '' });
    });

    it('keeps a detail of 300,000 characters', async ({ store, settle }) => {
      const detail = `"${'é'.repeat(300_000)}"`;
      const result = await settle({ detail });
      expect((await store.entry('shop', idOf(result)))?.detail).toBe(detail);
    });

    it('has no entry for another source, nor for what is no id', async () => {
      const { store, ids } = await tenEntries();
      expect(await store.entry('vault', ids[0] ?? '')).toBeUndefined();
      for (const id of ['', 'x', '-1', '1.5', '999999999999', '0', '__proto__', `${ids[0]} `, `0${ids[0]}`]) {
        expect(await store.entry('shop', id)).toBeUndefined();
      }
    });

    /** The ids of all pages, one after the other. */
    const paged = async (store: Store, over: Omit<JournalQuery, 'source' | 'after'>): Promise<string[]> => {
      const found: string[] = [];
      for (;;) {
        const page = await store.entries({ source: 'shop', after: found.at(-1) ?? '', ...over });
        if (page.length === 0) return found;
        found.push(...page.map((entry) => entry.id));
      }
    };

    it('pages forwards and backwards without gap or repeat', async () => {
      const { store, ids } = await tenEntries();
      expect(await paged(store, { limit: 3 })).toEqual(ids);
      expect(await paged(store, { limit: 3, newestFirst: true })).toEqual(ids.toReversed());
    });

    it('pages forwards and backwards through entries of one millisecond', async ({ store, settle }) => {
      const settles = Array.from({ length: 25 }, (_, index) => settle({ subject: `payment:${index}` }));
      const ids = new Set((await Promise.all(settles)).map(idOf));
      const found = await paged(store, { fromMs: START_MS, limit: 4 });
      expect(new Set(found)).toEqual(ids);
      expect(found).toHaveLength(25);
      const untilMs = START_MS + 1;
      expect(await paged(store, { untilMs, limit: 4, newestFirst: true })).toEqual(found.toReversed());
    });

    it('finds entries by time, from the first instant to before the last', async () => {
      const { store } = await tenEntries();
      const [fromMs, untilMs] = [START_MS + 3000, START_MS + 6000];
      expect(await detailsOf(store, { fromMs, untilMs })).toEqual(['3', '4', '5']);
      expect(await detailsOf(store, { fromMs: fromMs - 999, untilMs: untilMs + 1 })).toEqual([
        '3',
        '4',
        '5',
        '6',
      ]);
      expect(await detailsOf(store, { fromMs: START_MS + 8000 })).toEqual(['8', '9']);
      expect(await detailsOf(store, { untilMs: START_MS + 1000 })).toEqual(['0']);
      expect(await detailsOf(store, { fromMs, untilMs, newestFirst: true })).toEqual(['5', '4', '3']);
      expect(await detailsOf(store, { fromMs: untilMs, untilMs: fromMs })).toEqual([]);
      expect(await detailsOf(store, { fromMs: START_MS + 10_000 })).toEqual([]);
    });

    it('finds entries by time after an id, in both directions', async () => {
      const { store, ids } = await tenEntries();
      const bounds = { fromMs: START_MS + 2000, untilMs: START_MS + 8000 };
      expect(await detailsOf(store, { ...bounds, after: ids[4] ?? '' })).toEqual(['5', '6', '7']);
      expect(await detailsOf(store, { ...bounds, after: ids[0] ?? '' })).toHaveLength(6);
      expect(await detailsOf(store, { ...bounds, after: ids[9] ?? '' })).toEqual([]);
      expect(await detailsOf(store, { ...bounds, after: ids[4] ?? '', newestFirst: true })).toEqual([
        '3',
        '2',
      ]);
    });

    it('finds entries by subject, with paging and time as well', async () => {
      const { store, ids } = await tenEntries();
      const subject = 'payment:1';
      expect(await detailsOf(store, { subject })).toEqual(['1', '4', '7']);
      expect(await detailsOf(store, { subject, newestFirst: true })).toEqual(['7', '4', '1']);
      expect(await detailsOf(store, { subject, limit: 2 })).toEqual(['1', '4']);
      expect(await detailsOf(store, { subject, after: ids[1] ?? '' })).toEqual(['4', '7']);
      expect(await detailsOf(store, { subject, after: ids[2] ?? '' })).toEqual(['4', '7']);
      expect(await detailsOf(store, { subject, after: ids[7] ?? '', newestFirst: true })).toEqual(['4', '1']);
      expect(await detailsOf(store, { subject, fromMs: START_MS + 1001 })).toEqual(['4', '7']);
      expect(await detailsOf(store, { subject, untilMs: START_MS + 7000 })).toEqual(['1', '4']);
      expect(await detailsOf(store, { subject: 'payment:9' })).toEqual([]);
      expect(await detailsOf(store, { subject, source: 'vault' })).toEqual([]);
    });

    it('finds every type of entry by its subject', async ({ store }) => {
      const vault = { source: 'vault', subject: 'transfer:1' };
      await store.settle(signing());
      await store.settle(signing());
      await store.recordNotification(notice());
      await store.settle(signing({ terms: OTHER_TERMS }));
      await store.record({
        ...vault,
        type: 'late',
        verdict: 'FAILURE',
        code: 'TIMED_OUT',
        of: '',
        detail: '',
      });
      const types = (await store.entries({ ...vault, limit: 10 })).map((entry) => entry.type);
      expect(types).toEqual(['decision', 'repeat', 'notice', 'decision', 'late']);
    });

    /** Drops up to the entry until none is left; how many went. */
    const dropped = async (store: Store, upTo: string): Promise<number> => {
      for (let count = 0; ;) {
        const step = await store.dropEntries({ source: 'shop', upTo });
        if (step === 0) return count;
        count += step;
      }
    };

    it('drops the oldest entries up to one, and no other', async () => {
      const { store, ids } = await tenEntries();
      await store.settle(signing());
      expect(await dropped(store, ids[3] ?? '')).toBe(4);
      expect(await detailsOf(store)).toEqual(['4', '5', '6', '7', '8', '9']);
      expect(await store.journalSize('shop')).toBe(6);
      expect(await store.journalSize('vault')).toBe(1);
      expect(await store.entry('shop', ids[3] ?? '')).toBeUndefined();
      expect(await store.entry('shop', ids[4] ?? '')).toMatchObject({ detail: '4' });
      expect(await detailsOf(store, { after: ids[1] ?? '', limit: 2 })).toEqual(['4', '5']);
    });

    it('drops of entries of one millisecond no more than those up to the one that is named', async ({
      store,
      settle,
    }) => {
      for (let index = 0; index < 5; index++) {
        await settle({ subject: `payment:${index}`, detail: String(index) });
      }
      const third = (await store.entries({ source: 'shop', limit: 5 }))[2]?.id ?? '';
      expect(await dropped(store, third)).toBe(3);
      expect(await detailsOf(store)).toEqual(['3', '4']);
    });

    it('drops many in steps, each bounded, the one that is named in the last of them', async ({
      store,
      settle,
    }) => {
      const settles = Array.from({ length: 1301 }, (_, index) => settle({ subject: `payment:${index}` }));
      await Promise.all(settles);
      const [upTo] = (await store.entries({ source: 'shop', limit: 2, newestFirst: true })).slice(1);
      const steps: number[] = [];
      while (steps.at(-1) !== 0) {
        expect((await store.entry('shop', upTo?.id ?? '')) === undefined).toBe(
          steps.reduce((sum, step) => sum + step, 0) === 1300,
        );
        steps.push(await store.dropEntries({ source: 'shop', upTo: upTo?.id ?? '' }));
      }
      expect(Math.max(...steps)).toBeLessThanOrEqual(1000);
      expect(steps.reduce((sum, step) => sum + step, 0)).toBe(1300);
      expect(await store.journalSize('shop')).toBe(1);
    });

    it('never drops the newest entry', async () => {
      const { store, ids } = await tenEntries();
      expect(await dropped(store, ids[9] ?? '')).toBe(9);
      expect(await detailsOf(store)).toEqual(['9']);
      expect(await store.dropEntries({ source: 'shop', upTo: ids[9] ?? '' })).toBe(0);
    });

    it('drops nothing up to an entry that is not there', async () => {
      const { store, ids } = await tenEntries();
      await store.settle(signing());
      const [vaults] = await store.entries({ source: 'vault', limit: 1 });
      const foreign = ['', 'x', '-', '+', '~', '999999999999', '9999999999999-0', `${ids[9]} `, `0${ids[9]}`];
      for (const upTo of [...foreign, vaults?.id ?? '']) {
        expect(await store.dropEntries({ source: 'shop', upTo })).toBe(0);
      }
      expect(await store.dropEntries({ source: 'unheard of', upTo: ids[9] ?? '' })).toBe(0);
      await dropped(store, ids[2] ?? '');
      expect(await store.dropEntries({ source: 'shop', upTo: ids[1] ?? '' })).toBe(0);
      expect(await store.journalSize('shop')).toBe(7);
    });

    it('decides about a subject whose entries were dropped as if they were there', async () => {
      const { store, ids, clock } = await tenEntries();
      const claims = [windowClaim('4', '10')];
      const first = await store.settle(request({ subject: 'payment:x', claims }));
      clock.advance(1000);
      await store.settle(request({ subject: 'payment:y' }));
      await dropped(store, idOf(first));
      expect(await store.entry('shop', idOf(first))).toBeUndefined();
      expect(await store.settle(request({ subject: 'payment:x', claims }))).toMatchObject({
        outcome: 'repeated',
        verdict: 'SUCCESS',
        of: idOf(first),
      });
      expect(await store.settle(request({ subject: 'payment:x', terms: OTHER_TERMS }))).toMatchObject({
        code: 'TERMS_CHANGED',
      });
      expect(
        await store.settle(request({ subject: 'payment:z', claims: [windowClaim('7', '10')] })),
      ).toMatchObject({ code: 'RULE_REFUSED' });
      const repeats = await store.settle(request({ subject: 'payment:0' }));
      expect(repeats).toMatchObject({ outcome: 'repeated', of: ids[0] });
    });

    it('finds by subject what was not dropped, however much of it was', async () => {
      const { store, ids } = await tenEntries();
      await dropped(store, ids[6] ?? '');
      expect(await detailsOf(store, { subject: 'payment:1', limit: 1 })).toEqual(['7']);
      expect(await detailsOf(store, { subject: 'payment:0', limit: 1 })).toEqual(['9']);
      expect(await detailsOf(store, { subject: 'payment:1', limit: 1, newestFirst: true })).toEqual(['7']);
      expect(await detailsOf(store, { subject: 'payment:1', after: ids[7] ?? '' })).toEqual([]);
    });

    it.for([0, 1001, -1, 1.5, Number.NaN])('rejects a limit of %d', async (limit, { store }) => {
      await expect(store.entries({ source: 'shop', limit })).rejects.toMatchObject({ code: 'USAGE' });
    });

    it('rejects an `after` that is no id', async ({ store }) => {
      await expect(store.entries({ source: 'shop', after: 'x', limit: 1 })).rejects.toMatchObject({
        code: 'USAGE',
      });
    });
  });
}
