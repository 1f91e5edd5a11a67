import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { POLICIES, TO, transfer, web3 } from '../service.ts';
import { LOOKS, barriers, draw, isTooWide, look, startBrowser } from './browser.ts';
import { ADA, type TestConsole, startTestConsole } from './console.ts';
import { writeRuns } from './runs.ts';

/** Each page that reads: its name, also in docs/console, its path and its heading. */
export const PAGES = [
  { name: 'now', path: '/console/', heading: 'Now' },
  { name: 'inbox', path: '/console/approvals', heading: 'Inbox' },
  { name: 'decisions', path: '/console/decisions', heading: 'Decisions' },
  { name: 'decision', path: '/console/decisions/shop/4', heading: 'Decision payment:order-1002' },
  { name: 'search', path: '/console/decisions?code=RULE_REFUSED', heading: 'Decisions' },
  { name: 'limits', path: '/console/limits', heading: 'Limits' },
  {
    name: 'try',
    path: '/console/try?kind=payment&userId=20345&amount=2500&symbol=USDT1742',
    heading: 'Try',
  },
  { name: 'policies', path: '/console/policies', heading: 'Policies' },
  { name: 'rule', path: '/console/policies/rules/window-limit', heading: 'window-limit' },
  { name: 'candidate', path: '/console/policies/candidate', heading: 'A candidate for the policies' },
  { name: 'lists', path: '/console/lists', heading: 'Lists' },
  { name: 'list', path: '/console/lists/shop/blocked-users', heading: 'shop/blocked-users' },
  { name: 'orders', path: '/console/orders?kind=payment&id=order-2001', heading: 'Orders' },
  { name: 'prices', path: '/console/prices', heading: 'Prices' },
  { name: 'journal', path: '/console/journal', heading: 'Journal and reconciliation' },
];

const EXCHANGE = '0x28C6c06298d514Db089934071355E5743bf21d60';
const TOKEN = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const STORY_POLICIES = {
  ...POLICIES,
  'limits.yaml': `policy: users
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - window-limit: { per: [userId], window: 24h, max: 3000 }
  - window-limit: { window: day, zone: Europe/Berlin, max: 50000 }
  - velocity-limit: { per: [userId], window: 10m, max: 5 }
  - lock-out: { per: [userId], after: 2, within: 1h, for: 24h }
  - deny-list: { of: userId, list: blocked-users }
---
policy: addresses
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - window-limit: { per: [to], window: 7d, max: 20 }
`,
  'web3.yaml': `policy: tokens
callback: web3
when: { source: vault, main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - window-limit: { by: asset, window: 24h, max: { USDT: 50000, ETH: 10 } }
  - allow-list: { of: to, values: ['${TO}', '${EXCHANGE}'] }
`,
  'assets.yaml': `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${TOKEN}' } }
`,
};

/** What the pages show: some hours of a merchant and a custody customer. */
async function tellStory(console: TestConsole): Promise<void> {
  const { revision } = await console.store.control();
  const document = (await console.store.document(revision)) ?? '';
  const message = 'limits as reviewed on Monday';
  await console.store.push({ revision, document, expected: revision, by: 'grace', message });
  const blocked = ['20351', '20388', '20412', '20507'];
  await console.store.changeList({
    source: 'shop',
    list: 'blocked-users',
    add: blocked,
    remove: [],
    by: 'grace',
    message: 'chargebacks',
  });
  await console.store.expectOrder({
    source: 'shop',
    subject: 'payment:order-2001',
    members: { userId: '20344', symbol: 'USDT1742', amount: '120.5', scheme: 'rsa' },
    expiresAtMs: Date.now() + 7_200_000,
    by: 'shop-backend',
  });
  const asOfMs = Date.now() - 240_000;
  const set = [
    ['BTC', 97_012n],
    ['ETH', 3020n],
    ['USDT1742', 1n],
  ] as const;
  await console.store.changePrices({
    set: set.map(([asset, price]) => ({ asset, price: price * 10n ** 36n, asOfMs })),
    remove: [],
    by: 'price-feed',
  });
  const payments: readonly (readonly [order: string, amount: string, user: string])[] = [
    ['order-1001', '120.50', '20344'],
    ['order-1002', '2500', '20345'],
    ['order-1003', '75', '20346'],
    ['order-1004', '999.99', '20344'],
    ['order-1003', '80', '20346'],
    ['order-1005', '10', '20350'],
    ['order-1006', '2600', '20345'],
    ['order-1007', '640.25', '20344'],
    ['order-1008', '900', '20344'],
  ];
  for (const [appOrderId, orderAmount, userId] of payments) {
    await console.pay({ appOrderId, orderAmount, userId }, 'rsa');
  }
  await console.cosign('/cosigner/withdraw', transfer({ request_id: 'w-501', amount: '1.25' }));
  await console.cosign('/cosigner/withdraw', transfer({ request_id: 'w-502', amount: '25' }));
  const amount = 12_500_750_000n;
  const data = `0xa9059cbb${EXCHANGE.slice(2).padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`;
  const call = { to: TOKEN, interactive_contract: TOKEN, amount: '0', input_data: data };
  await console.cosign('/cosigner/web3', web3({ request_id: 'x-77', ...call }));
}

/** A console that has something to show, and a browser. */
export interface Pages {
  readonly console: TestConsole;
  readonly browser: Browser;
  readonly stop: () => Promise<void>;
}

export async function startPages(): Promise<Pages> {
  const runs = mkdtempSync(join(tmpdir(), 'countersign-runs-'));
  // Up to yesterday, so that the service has no day to reconcile.
  writeRuns(runs, 3, 2, Date.now() - 3 * 86_400_000);
  const settings = { reconcile: { directory: runs }, platform: { url: 'http://127.0.0.1:9' } };
  const [console, browser] = await Promise.all([
    startTestConsole({ policies: STORY_POLICIES, settings }),
    startBrowser(),
  ]);
  await tellStory(console);
  return {
    console,
    browser,
    async stop() {
      await browser.close();
      await console.stop();
      rmSync(runs, { recursive: true });
    },
  };
}

/** Fields that are wider than their label, so that they lie over what is beside them. */
const overlapping = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`[...document.querySelectorAll('label')].flatMap((label) => {
    const right = label.getBoundingClientRect().right;
    const fields = [...label.querySelectorAll('input, select, textarea')];
    return fields.filter((field) => field.getBoundingClientRect().right > right + 0.5).map(({ name }) => name);
  })`);

const openAll = (page: Page): Promise<void> =>
  page.evaluate(`for (const details of document.querySelectorAll('details')) details.open = true`);

/** The tests of how each page looks, in the light, the dark or on a phone. */
export function looksAtPages(pages: () => Pages, looks: readonly (typeof LOOKS)[number][]): void {
  describe.each(PAGES)('the page $name', ({ name, path, heading }) => {
    it.each(looks)('has no barrier, and fits: $name', async ({ name: kind, ...how }) => {
      const { page, complaints, close } = await look(pages().browser, { as: ADA, ...how });
      await page.goto(`${pages().console.ops}${path}`);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(heading);
      expect(await isTooWide(page)).toBe(false);
      await draw(page, name, kind);
      await openAll(page);
      expect(await barriers(page)).toEqual([]);
      expect(await isTooWide(page)).toBe(false);
      expect(await overlapping(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    });
  });

  it.each(looks)('pages below others have no barrier, and fit: $name', async ({ name: _name, ...how }) => {
    const [newest, before] = await pages().console.store.history(2);
    const [transaction] = await pages().console.store.entries({
      source: 'vault',
      newestFirst: true,
      limit: 1,
    });
    const { page, complaints, close } = await look(pages().browser, { as: ADA, ...how });
    const paths = [
      'policies/history',
      'policies/rules',
      'policies/backtest',
      `policies/revisions/${newest?.revision}`,
      `policies/diff?from=${before?.revision}&to=${newest?.revision}`,
      `decisions/vault/${transaction?.id}`,
      'orders?kind=web3',
      'orders/cancel?kind=payment&id=order-2001',
      'prices/remove?asset=BTC',
      'journal/runs/3',
    ];
    for (const path of paths) {
      await page.goto(`${pages().console.ops}/console/${path}`);
      await openAll(page);
      const found = [await barriers(page), await isTooWide(page), await overlapping(page)];
      expect([path, ...found]).toEqual([path, [], false, []]);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it.each(looks)('a candidate and its backtest have no barrier, and fit: $name', async (shown) => {
    const { name: kind, ...how } = shown;
    const { page, complaints, close } = await look(pages().browser, { as: ADA, ...how });
    await page.goto(`${pages().console.ops}/console/policies/candidate`);
    const text = page.locator('textarea[name=text]').filter({ hasText: 'max: 3000' });
    await text.fill((await text.inputValue()).replace('max: 3000', 'max: 2500'));
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByRole('button', { name: 'Start the backtest' }).waitFor();
    await draw(page, 'checked', kind);
    expect([await barriers(page), await isTooWide(page), await overlapping(page)]).toEqual([[], false, []]);
    await page.getByRole('button', { name: 'Start the backtest' }).click();
    await page.getByRole('button', { name: 'Go on with this candidate' }).waitFor();
    await draw(page, 'backtest', kind);
    expect([await barriers(page), await isTooWide(page)]).toEqual([[], false]);
    expect(complaints).toEqual([]);
    await close();
  });
}
