import { expect, it } from 'vitest';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { formatAmount } from '../../src/values/amount.ts';
import { changeList } from '../../src/act/lists.ts';
import { setPrices } from '../../src/act/prices.ts';
import { type Form, formOf } from '../../src/console/page.ts';
import type { Store } from '../../src/store/store.ts';
import { ADA, READER, type TestConsole, startTestConsole } from './console.ts';

const policies = {
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - expected-order: {}
  - deny-list: { of: userId, list: blocked }
  - value-limit: { max: 1000, maxAge: 24h }
`,
};
const HOSTILE = `"'<b>x</b>&\u202e`;

describeOnBothStores('the state that operators keep', (host) => {
  const started = (): Promise<TestConsole> =>
    startTestConsole({ policies }, (options) => host.start(options));
  const valuesOf = async ({ store }: TestConsole, list: string): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const { value } of store.listEntries('shop', list)) found.push(value);
    return found.sort();
  };
  const BLOCKED = '/console/lists/shop/blocked';
  /** Sends what the preview has in its form. */
  async function changed(console: TestConsole, form: Readonly<Record<string, string>>) {
    const preview = await console.send(BLOCKED, { ...form, do: 'preview' });
    const [, version = ''] = /name="version" value="(\d+)"/.exec(preview.text) ?? [];
    const result = await console.send(BLOCKED, { ...form, version, message: 'case 12', do: 'change' });
    return { preview: preview.text, result };
  }

  it('a list is made, searched, and changed as its preview says', async () => {
    const console = await started();
    expect((await console.get('/console/lists')).text).toContain('There are no lists');
    expect((await console.get(BLOCKED)).text).toContain('the first change makes it');
    const made = await changed(console, { how: 'add', values: '99999 # fraud\n88888\n99999\n' });
    expect(made.preview).toMatch(/<dt>Added<\/dt>\s*<dd>2<\/dd>/);
    expect(made.preview).toContain('>99999\n88888<');
    expect(made.result.notice).toBe('2 added, 2 entries now (version 1).');
    const again = await changed(console, { how: 'add', values: '88888\n77777' });
    expect(again.preview).toMatch(/<dt>Without effect<\/dt>\s*<dd>1<\/dd>/);
    expect(await valuesOf(console, 'blocked')).toEqual(['77777', '88888', '99999']);
    const found = await console.get(`${BLOCKED}?search=777`);
    expect(found.text).toContain('>77777<');
    expect(found.text).not.toContain('>88888<');
    const replaced = await changed(console, { how: 'replace', values: '88888\n66666' });
    expect(replaced.preview).toMatch(/<dt>Removed<\/dt>\s*<dd>2<\/dd>/);
    expect(await valuesOf(console, 'blocked')).toEqual(['66666', '88888']);
    await changed(console, { how: 'remove', values: '"66666"' });
    expect(await valuesOf(console, 'blocked')).toEqual(['88888']);
    const entries = await console.store.entries({ source: 'shop', limit: 100 });
    const changes = entries
      .filter(({ type }) => type === 'list')
      .map(({ detail }) => JSON.parse(detail) as object);
    expect(changes).toHaveLength(4);
    for (const change of changes) expect(change).toMatchObject({ by: 'console:ada', message: 'case 12' });
    const all = await console.get('/console/lists');
    expect(all.text).toContain('shop/blocked');
    expect(all.text).not.toContain('no rule uses it');
  });

  it('a list is not changed without a reason, after another change, or by values that match nothing', async () => {
    const console = await started();
    await changed(console, { how: 'add', values: '99999' });
    for (const [fields, because] of [
      [{ message: '' }, 'The reason is empty'],
      [{ message: 'x'.repeat(1001) }, 'at most 1000'],
      [{ how: 'replace', version: '0' }, 'changed meanwhile'],
      [{ values: '"not closed<b>' }, 'role="alert"'],
      [{ values: '9\u202e9', do: 'preview' }, 'role="alert"'],
    ] as const) {
      const form = { how: 'add', values: '1', version: '1', message: 'x', do: 'change', ...fields };
      const { status, text } = await console.send(BLOCKED, form);
      expect([because, status, text]).toEqual([because, 422, expect.stringContaining(because)]);
      expect(text).not.toContain('<b>');
    }
    const form = { how: 'remove', values: '1', do: 'preview' };
    expect((await console.send('/console/lists/shop/none', form)).status).toBe(404);
    for (const path of ['/console/lists/shop/Not%20A%20Name', '/console/lists/nobody/blocked']) {
      expect((await console.get(path)).status).toBeGreaterThanOrEqual(400);
    }
    expect(await valuesOf(console, 'blocked')).toEqual(['99999']);
  });

  it('a list that no rule in force looks into is made only where somebody confirms it', async () => {
    const console = await started();
    const path = '/console/lists/shop/blokced';
    const form = { how: 'add', values: '99999', version: '0', message: 'case 12' };
    const preview = await console.send(path, { ...form, do: 'preview' });
    expect(preview.text).toContain('name="create" value="yes" required');
    const refused = await console.send(path, { ...form, do: 'change' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('Did you mean blocked?');
    expect(await console.store.lists('shop')).toEqual([]);
    const made = await console.send(path, { ...form, do: 'change', create: 'yes' });
    expect(made.notice).toBe('1 added, 1 entry now (version 1).');
    expect((await console.send(BLOCKED, { ...form, do: 'preview' })).text).not.toContain('name="create"');
  });

  it('a change of more lines than a change may have is refused before any value is read', async () => {
    const console = await started();
    await changed(console, { how: 'add', values: '99999' });
    // A value that no list can hold: it would be named if values were read first.
    const values = `${'x'.repeat(1025)}\n${'1\n'.repeat(10_000)}`;
    for (const how of ['add', 'remove', 'replace']) {
      const { status, text } = await console.send(BLOCKED, { how, values, do: 'preview' });
      expect([how, status]).toEqual([how, 422]);
      expect(text).toContain('has 10001 lines, more than 10000');
      expect(text.length).toBeLessThan(20_000);
    }
    const most = Array.from({ length: 10_000 }, (_, at) => `${10_000 + at}\n`).join('');
    expect((await console.send(BLOCKED, { how: 'add', values: most, do: 'preview' })).text).toMatch(
      /<dt>Added<\/dt>\s*<dd>10000<\/dd>/,
    );
    const prices = await console.send('/console/prices', { prices: 'x\n'.repeat(1001), do: 'preview' });
    expect([prices.status, prices.text]).toEqual([422, expect.stringContaining('There are 1001 lines')]);
  });

  it('an order is announced, used by a payment, and another one is cancelled', async () => {
    const console = await started();
    await console.store.changePrices({
      set: [{ asset: 'USDT1742', price: 10n ** 36n, asOfMs: Date.now() }],
      remove: [],
      by: 'test',
    });
    await changed(console, { how: 'add', values: '5' });
    const order = {
      kind: 'payment',
      id: 'A-1',
      userId: '12345',
      symbol: 'USDT1742',
      amount: '100',
      scheme: 'md5',
    };
    const announced = await console.send('/console/orders', order);
    expect(announced.notice).toBe('The order is announced.');
    const shown = await console.get(announced.to ?? '');
    expect(shown.text).toContain('expected');
    expect(shown.text).toContain('console:ada');
    // The service hears of the first prices a moment later.
    await expect
      .poll(() => console.pay({ appOrderId: 'A-1', orderAmount: '100' }), { timeout: 10_000 })
      .toBe('SUCCESS');
    const used = await console.get('/console/orders?kind=payment&id=A-1');
    expect(used.text).toMatch(/<span class="pill ">used<\/span>/);
    expect((await console.send('/console/orders', { ...order, id: 'A-2' })).status).toBe(303);
    const asks = await console.get('/console/orders/cancel?kind=payment&source=shop&id=A-2');
    expect(asks.text).toContain('Cancel this order?');
    expect(asks.text).toContain('Yes, cancel it');
    expect((await console.get('/console/orders/cancel?kind=payment&id=A-2', READER)).text).not.toContain(
      'Yes,',
    );
    expect((await console.get('/console/orders?kind=payment&id=A-2')).text).toMatch(/pill yes">expected/);
    const cancelled = await console.send('/console/orders/cancel', { kind: 'payment', id: 'A-2' });
    expect(cancelled.notice).toBe('The order is cancelled.');
    expect((await console.get('/console/orders/cancel?kind=payment&id=A-2')).text).toMatch(
      /pill no">cancelled/,
    );
    expect(await console.pay({ appOrderId: 'A-2', orderAmount: '100' })).toBe('FAILURE');
    const faulty = await console.send('/console/orders', { ...order, id: HOSTILE, amount: '1e5' });
    expect(faulty.status).toBe(422);
    expect(faulty.text).toContain('amount');
    expect(faulty.text).toContain('value="1e5"');
    expect(faulty.text).not.toContain('<b>');
  });

  it('prices are set after a preview, to the last digit, and removed', async () => {
    const console = await started();
    const form = {
      prices: 'BTC 97000\nETH, 3020.000000000000000000000000000000000001 2026-01-02T03:04:05Z # late\n',
    };
    const preview = await console.send('/console/prices', { ...form, do: 'preview' });
    expect(preview.text).toContain('3020.000000000000000000000000000000000001');
    expect((await console.store.prices()).version).toBe(0);
    const set = await console.send('/console/prices', { ...form, version: '0', do: 'change' });
    expect(set.notice).toBe('2 prices set. Version 1.');
    const { prices } = await console.store.prices();
    expect(formatAmount(prices.get('ETH')?.price ?? 0n)).toBe('3020.000000000000000000000000000000000001');
    const lower = await console.send('/console/prices', { prices: 'BTC 48500', do: 'preview' });
    expect(lower.text).toContain('−50.0 %');
    for (const wrong of ['', 'BTC', 'BTC 0', `${HOSTILE} 1`]) {
      const refused = await console.send('/console/prices', { prices: wrong, do: 'preview' });
      expect([wrong, refused.status]).toEqual([wrong, 422]);
      expect(refused.text).not.toContain('<b>');
    }
    const search = await console.get('/console/prices?asset=bt');
    expect(search.text.match(/Remove the price of \w+/g)).toEqual(['Remove the price of BTC']);
    expect((await console.get('/console/prices?asset=DOGE')).text).toContain(
      'None of the 2 prices is of DOGE.',
    );
    const asks = await console.get('/console/prices/remove?asset=BTC');
    expect(asks.text).toContain('until it has a price again');
    expect(asks.text).toContain('97000');
    const removal = { asset: 'BTC', version: '0' };
    expect((await console.send('/console/prices/remove', removal)).status).toBe(422);
    expect((await console.store.prices()).prices.has('BTC')).toBe(true);
    const removed = await console.send('/console/prices/remove', { ...removal, version: '1' });
    expect(removed.notice).toContain('Removed the price');
    expect([...(await console.store.prices()).prices.keys()]).toEqual(['ETH']);
  });

  it('the page of prices has who changed which price from what to what, and the log has it too', async () => {
    const console = await started();
    await console.store.changePrices({
      set: [{ asset: 'ETH', price: 3n * 10n ** 36n, asOfMs: 0 }],
      remove: [],
      by: HOSTILE,
    });
    const set = (prices: string, version: string) =>
      console.send('/console/prices', { prices, version, do: 'change' });
    const many = Array.from({ length: 30 }, (_, at) => `A${at} 1`).join('\n');
    expect((await set('BTC 97000\nETH 3020.5', '1')).status).toBe(303);
    expect((await set(`BTC 48500\n${many}`, '2')).status).toBe(303);
    expect((await console.send('/console/prices/remove', { asset: 'ETH', version: '3' })).status).toBe(303);
    const { text } = await console.get('/console/prices', READER);
    const [, changes = ''] = /Changes of prices(.*)<\/table>/s.exec(text) ?? [];
    const rows = [...changes.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)]
      .slice(1)
      .map(([, row = '']) =>
        [...row.matchAll(/<td[^>]*>(?:<div>(.*?)<\/div>)?<\/td>/gs)].map(([, cell = '']) => cell),
      );
    expect(rows).toHaveLength(35);
    expect(
      rows.map((row) => row.toSpliced(5, 1).slice(1)).filter(([, asset]) => !/^A\d/.test(asset ?? '')),
    ).toEqual([
      ['console:ada', 'ETH', '3020.5', 'removed', '4'],
      ['console:ada', 'BTC', '97000', '48500', '3'],
      ['console:ada', 'BTC', 'none', '97000', '2'],
      ['console:ada', 'ETH', '3', '3020.5', '2'],
      [expect.stringContaining('&lt;b&gt;x'), 'ETH', 'none', '3', '1'],
    ]);
    expect(text).not.toContain('<b>');
    const logged = console.log.filter(({ event }) => event === 'console-prices');
    expect(logged).toMatchObject([
      { authenticatedBy: 'console:ada', count: 2, because: 'version 2: BTC, ETH' },
      { count: 31, because: 'version 3: BTC, A0, A1, A2, A3, A4, A5, A6, A7, A8 and 21 more' },
      { count: 1, because: 'version 4: ETH' },
    ]);
  });

  it('what somebody else changes at the same moment is said after a change', async () => {
    const { store } = await host.start();
    let between = async (): Promise<void> => undefined;
    const slow: Store = {
      ...store,
      changeList: async (change) => between().then(() => store.changeList(change)),
      changePrices: async (change) => between().then(() => store.changePrices(change)),
    };
    const list = { source: 'shop', list: 'blocked', remove: [], message: '' };
    const prices = [{ asset: 'ETH', price: '1' }];
    const to = () => '/';
    const lists = { store: slow, release: undefined };
    const listed = { path: '/', parts: () => lists, to, read: () => ({ ...list, add: ['5'], create: true }) };
    const pricedIn = (own: Store) => ({
      path: '/',
      parts: () => ({ store: own, clock: Date.now }),
      to,
      read: () => ({ prices }),
    });
    const forms = [formOf(changeList, listed), formOf(setPrices, pricedIn(slow))] as const;
    const noticeOf = async (of: Form, version: string): Promise<string> => {
      const form = new URLSearchParams({ version, do: 'change' });
      const request = {
        person: ADA,
        parameters: {},
        query: new URLSearchParams(),
        form,
        fourEyes: undefined,
      };
      const done = await of.submit(request);
      return 'notice' in done ? (done.notice ?? '') : '';
    };
    for (const form of forms) expect(await noticeOf(form, '0')).toMatch(/ersion 1\)?\.$/);
    between = async () => {
      await store.changeList({ ...list, add: ['77777'], by: 'bob' });
      await store.changePrices({ set: [{ asset: 'BTC', price: 1n, asOfMs: 0 }], remove: [], by: 'bob' });
    };
    expect(await noticeOf(forms[0], '1')).toContain('Somebody else ');
    expect(await noticeOf(forms[1], '2')).toContain('Somebody else ');
    // Versions may leave numbers out, which is nobody's change.
    const changePrices: Store['changePrices'] = async (change) => ({
      ...(await store.changePrices(change)),
      version: 1e15,
    });
    expect(await noticeOf(formOf(setPrices, pricedIn({ ...store, changePrices })), '4')).toMatch(
      /ersion 1000000000000000\.$/,
    );
  });

  it('somebody who only reads sees all of it, and no form', async () => {
    const console = await started();
    for (const path of ['/console/lists', BLOCKED, '/console/orders', '/console/prices', '/console/limits']) {
      const { status, text } = await console.get(path, READER);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toContain('method="post"');
    }
  });
});
