import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TO, transfer } from '../service.ts';
import { isTooWide, look, startBrowser } from './browser.ts';
import { type TestConsole, type Visitor, startTestConsole } from './console.ts';

/*
 * Texts that others choose, wherever a page shows one, in a real browser: nothing runs, and no layout breaks.
 */

/** Sets `document.title` if any of it runs. */
const RUNS = `document.title='hacked'`;
const HOSTILE = [
  `<script>${RUNS}</script>`,
  `<img src=x onerror=${RUNS}>`,
  `"><svg onload=${RUNS}>`,
  `' onmouseover='${RUNS}' x='`,
  `</textarea></pre></select></title><script>${RUNS}</script>`,
  `javascript:${RUNS}`,
  `\u202e\u2066evil\u200f`,
  `{{7*7}}\${7*7}<%=7*7%>`,
  `a b\tc\u00a0d\ufeff`,
];
const LONG = 'W'.repeat(4096);
const ADA: Visitor = { name: `<b>ada</b>"'${'A'.repeat(100)}`, roles: ['read', 'operate'] };

const policies = {
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop }
rules:
  - deny-list: { of: userId, list: blocked }
  - window-limit: { per: [userId, symbol], window: 24h, max: 1000000 }
`,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault }
rules:
  - allow-list: { of: to, values: ['${TO}'] }
  - window-limit: { per: [memo, symbol], window: 24h, max: 1000000 }
  - lock-out: { per: [memo], after: 1, within: 24h, for: 24h }
`,
};

/** Each text as what senders, operators and other programs write. */
async function fill(console: TestConsole): Promise<void> {
  const texts = [...HOSTILE, LONG];
  const by = HOSTILE.join(' ');
  await console.store.changeList({
    source: 'shop',
    list: 'blocked',
    add: texts.map((text) => text.toLowerCase().slice(0, 1024)),
    remove: [],
    by,
    message: by,
  });
  for (const [at, memo] of texts.entries()) {
    await console.cosign('/cosigner/withdraw', transfer({ request_id: `w-${at}`, memo: memo.slice(0, 256) }));
    await console.cosign(
      '/cosigner/withdraw',
      transfer({ request_id: `x-${at}`, memo, [memo]: memo, to: memo }),
    );
  }
  await console.pay({ appOrderId: 'order', orderAmount: '1', [HOSTILE[0] ?? '']: LONG });
  for (const [at, text] of texts.entries()) {
    await console.store.expectOrder({
      source: 'vault',
      subject: `transfer:w-${at}`,
      members: { to: TO.toLowerCase(), memo: text, amount: '1', symbol: 'ETH', [text.slice(0, 60)]: text },
      expiresAtMs: Date.now() + 3_600_000,
      by: text,
    });
  }
  const { revision } = await console.store.control();
  const document = (await console.store.document(revision)) ?? '';
  await console.store.push({ revision, document, expected: revision, by, message: `${by} ${LONG}` });
  await console.store.freeze({ reason: `${by} ${LONG.slice(0, 500)}`, by: by.slice(0, 200) });
}

describe('hostile texts', () => {
  let console: TestConsole;
  let browser: Browser;
  const paths: string[] = [];
  beforeAll(async () => {
    [console, browser] = await Promise.all([startTestConsole({ policies }), startBrowser()]);
    await fill(console);
    for (const source of ['shop', 'vault']) {
      const entries = await console.store.entries({ source, limit: 1000 });
      paths.push(...entries.map(({ id }) => `decisions/${source}/${id}`));
    }
    paths.push(
      '',
      'decisions',
      'limits',
      'policies',
      'policies/history',
      'lists',
      'lists/shop/blocked',
      'prices',
    );
    paths.push(...HOSTILE.map((_, at) => `orders?kind=transfer&id=w-${at}`), 'journal');
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await console.stop();
  });

  it('in what is stored: on every page, on a phone', { timeout: 120_000 }, async () => {
    const { page, complaints, close } = await look(browser, { as: ADA, width: 390 });
    expect(paths.length).toBeGreaterThan(40);
    for (const path of paths) {
      await page.goto(`${console.ops}/console/${path}`);
      const title = await page.title();
      expect([path, title.endsWith(' · Countersign'), await isTooWide(page)]).toEqual([path, true, false]);
      expect(await page.locator('main script, main img, main iframe, main [onload], main b').count()).toBe(0);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it.each([
    ['decisions', ['id', 'user', 'address', 'asset', 'code', 'rule', 'after']],
    ['limits', ['rule', 'value']],
    ['lists/shop/blocked', ['search']],
    ['orders', ['id']],
    ['try', ['userId', 'amount', 'symbol', 'body']],
  ])('in a link to %s', { timeout: 60_000 }, async (path, fields) => {
    const { page, complaints, close } = await look(browser, { as: ADA, width: 390 });
    for (const text of [...HOSTILE, LONG]) {
      for (const field of fields) {
        await page.goto(
          `${console.ops}/console/${path}?${new URLSearchParams({ [field]: text }).toString()}`,
        );
        expect([field, await page.title()]).not.toEqual([field, 'hacked']);
        expect(await isTooWide(page)).toBe(false);
      }
    }
    // The browser reports a page with a fault as a failed request.
    expect(complaints.filter((each) => !each.startsWith('Failed to load resource'))).toEqual([]);
    await close();
  });

  it.each([
    ['freeze', ['reason', 'confirmation']],
    ['unfreeze', ['id', 'reason', 'confirmation']],
    ['try', ['kind', 'source', 'scheme', 'body', 'userId']],
    ['lists', ['source', 'list']],
    ['lists/shop/blocked', ['how', 'values', 'message', 'version', 'do']],
    ['orders', ['kind', 'source', 'id', 'userId', 'amount', 'expires']],
    ['orders/cancel', ['kind', 'source', 'id']],
    ['prices', ['prices', 'version']],
    ['prices/remove', ['asset', 'version']],
    ['limits/lift', ['source', 'id', 'message']],
    ['policies/candidate', ['name', 'text', 'message', 'days']],
  ])('in the form of %s', { timeout: 60_000 }, async (path, fields) => {
    for (const text of [...HOSTILE, LONG]) {
      for (const field of fields) {
        const { status, text: page } = await console.send(`/console/${path}`, { [field]: text }, ADA);
        expect([path, field, status < 500]).toEqual([path, field, true]);
        // A field keeps what was typed, also signs that change the direction of text.
        const markup = /<script>|<img|<svg onload|onmouseover='|<b>/;
        expect(page).not.toMatch(markup);
      }
    }
  });
});
