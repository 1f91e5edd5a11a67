import { describe, expect, it, onTestFinished } from 'vitest';
import { START } from '../../src/journal/cursor.ts';
import { type EntryFilter, searchJournal } from '../../src/journal/search.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { parseAmount } from '../../src/values/amount.ts';
import { place } from '../cli/terminal.ts';

/** Entries as versions without kept decisions wrote them, about the bodies in turn. */
async function journalOf(bodies: readonly string[]): Promise<Store> {
  const store = await openEmbeddedStore({ path: `${place().folder}/store.db` });
  onTestFinished(() => store.close());
  for (const [at, body] of bodies.entries()) {
    const detail = JSON.stringify({ body });
    const [subject, code] = [`payment:${at}`, 'MEMBER_MISSING'];
    await store.record({
      source: 'shop',
      type: 'refused',
      subject,
      verdict: 'FAILURE',
      code,
      of: '',
      detail,
    });
  }
  return store;
}

async function found(store: Store, filter: EntryFilter): Promise<readonly string[]> {
  const search = { streams: [{ source: 'shop' }], newestFirst: false, period: {}, cursor: START, limit: 50 };
  const { entries } = await searchJournal(store, { ...search, filter });
  return entries.map(({ subject }) => subject);
}

describe('a value is found however its JSON is written', () => {
  it.each([
    ['as it is', `{"userId":"ada","payCoinSymbol":"USDT"}`],
    ['as a number', `{"userId":4711,"payCoinSymbol":"USDT"}`],
    ['with escapes', String.raw`{"userId":"\u0061d\u0061","payCoinSymbol":"\u0055SDT"}`],
    ['with a quote', String.raw`{"userId":"a\"da","payCoinSymbol":"US\/DT"}`],
    [
      'beside a deep array',
      `{"userId":"ada","payCoinSymbol":"USDT","x":${'['.repeat(9999)}${']'.repeat(9999)}}`,
    ],
    ['with letters outside of ASCII', `{"userId":"Zoë","payCoinSymbol":"₮"}`],
  ])('%s', async (_, body) => {
    const store = await journalOf([body, `{"userId":"other","payCoinSymbol":"other"}`]);
    const { userId, payCoinSymbol } = JSON.parse(body) as Record<string, string | number>;
    expect(await found(store, { user: String(userId) })).toEqual(['payment:0']);
    expect(await found(store, { asset: String(payCoinSymbol) })).toEqual(['payment:0']);
    expect(await found(store, { user: 'nobody' })).toEqual([]);
  });
});

it('a value that another member has is not found', async () => {
  const store = await journalOf([`{"userId":"1","payCoinSymbol":"ada"}`]);
  expect(await found(store, { user: 'ada' })).toEqual([]);
  expect(await found(store, { asset: '1' })).toEqual([]);
});

describe('numbers that a double cannot hold are found by all of their digits', () => {
  const body = (userId: string, amount: string): string =>
    `{"userId":${userId},"note":{"orderAmount":9007199254740992.9},"orderAmount":${amount}}`;

  it('a user', async () => {
    const store = await journalOf([body('12345678901234567891', '1'), body('12345678901234567890', '1')]);
    expect(await found(store, { user: '12345678901234567890' })).toEqual(['payment:1']);
  });

  it.each(['9007199254740993', '0.1000000000000000055511151231257827', '1e-30'])('%s', async (amount) => {
    const store = await journalOf([body('1', amount), body('1', '7')]);
    const exact = parseAmount(amount);
    expect(await found(store, { fromAmount: exact, toAmount: exact })).toEqual(['payment:0']);
    const search = { streams: [{ source: 'shop' }], newestFirst: false, period: {}, cursor: START };
    const { members } = await searchJournal(store, { ...search, limit: 1, filter: {}, withMembers: true });
    expect(members.map((each) => each.amount)).toEqual([amount]);
  });
});
