import { expect, it } from 'vitest';
import type { RecordItem } from '../../src/journal/record.ts';
import { inSettledOrder } from '../../src/simulation/settled-order.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { entryOf } from '../journal/entries.ts';

type Given = Partial<JournalEntry>;
const approved = (id: string, source: string, over: Given = {}) => entryOf({ id, source, ...over });
const refused = (id: string, source: string, over: Given = {}) =>
  entryOf({ id, source, verdict: 'FAILURE', ...over });

async function orderOf(...items: readonly RecordItem[]): Promise<string> {
  const ids: string[] = [];
  for await (const item of inSettledOrder(items)) ids.push('id' in item ? item.id : `p${item.version}`);
  return ids.join(' ');
}

it('approvals come before the refusals of other sources in the same millisecond', async () => {
  const shop = [refused('1', 'shop'), approved('2', 'shop')];
  const kiosk = [approved('3', 'kiosk'), refused('4', 'kiosk'), approved('5', 'kiosk', { type: 'repeat' })];
  expect(await orderOf(...shop, ...kiosk)).toBe('2 3 5 1 4');
});

it('the order of one source, and that of different milliseconds, is the recorded one', async () => {
  expect(await orderOf(refused('1', 'shop'), approved('2', 'shop'))).toBe('1 2');
  expect(await orderOf(refused('1', 'shop'), approved('2', 'kiosk', { atMs: 2 }))).toBe('1 2');
});

it.each(['list', 'order', 'release', 'lockout', 'notice'] as const)(
  'an entry of type %s stays where it is',
  async (type) => {
    const change = entryOf({ id: 'change', type });
    expect(await orderOf(refused('1', 'shop'), change, refused('2', 'shop'), approved('3', 'kiosk'))).toBe(
      '1 change 3 2',
    );
  },
);

it('a callback decided with newer prices stays behind those decided with older ones', async () => {
  const prices = { version: 2, atMs: 1, set: [], remove: [], by: 'feed' };
  const using = (version: number) => ({ detail: JSON.stringify({ proposal: { prices: version } }) });
  const before = [refused('1', 'shop', using(1)), approved('2', 'kiosk', using(1))];
  expect(await orderOf(prices, ...before, approved('3', 'kiosk', using(2)))).toBe('p2 2 1 3');
});
