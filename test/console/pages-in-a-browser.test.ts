import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transfer } from '../service.ts';
import { LOOKS, barriers, look } from './browser.ts';
import { ADA } from './console.ts';
import { type Pages, looksAtPages, startPages } from './pages.ts';

describe('in a browser', () => {
  let pages: Pages;
  beforeAll(async () => void (pages = await startPages()));
  afterAll(() => pages.stop());

  looksAtPages(
    () => pages,
    LOOKS.filter(({ name }) => name === 'light'),
  );

  it('on a phone, the rows of a table are stacked, and no cell is out of sight', async () => {
    const { console, browser } = pages;
    const { page, close } = await look(browser, { as: ADA, width: 375 });
    await page.goto(`${console.ops}/console/decisions`);
    const [first, second] = await page.locator('tbody tr').first().getByRole('cell').all();
    const [above, below] = [await first?.boundingBox(), await second?.boundingBox()];
    expect(below?.y).toBeGreaterThanOrEqual((above?.y ?? 0) + (above?.height ?? 0) - 1);
    expect(
      await page.evaluate(`[...document.querySelectorAll('td > div')].filter((cell) => {
        const { left, right } = cell.getBoundingClientRect();
        return left < 0 || right > innerWidth;
      }).length`),
    ).toBe(0);
    await close();
  });

  it('one long text makes no table wider than its card', async () => {
    const { console, browser } = pages;
    const long = 'L'.repeat(120);
    await console.cosign('/cosigner/withdraw', transfer({ request_id: `w-${long}`, amount: '1' }));
    for (const width of [1280, 1920]) {
      const { page, close } = await look(browser, { as: ADA, width });
      await page.goto(`${console.ops}/console/decisions`);
      expect(
        await page.evaluate(
          `[...document.querySelectorAll('.scroll')].some((each) => each.scrollWidth > each.clientWidth)`,
        ),
      ).toBe(false);
      await close();
    }
  });

  it('a list is changed after a preview, with the keyboard alone', async () => {
    const { console, browser } = pages;
    const { page, complaints, close } = await look(browser, { as: ADA });
    await page.goto(`${console.ops}/console/lists/shop/blocked-users`);
    await page.getByLabel('Values, one on each line').focus();
    await page.keyboard.type('20900\n20351');
    await page.getByRole('button', { name: 'Show what would change' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What would change' }).waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByLabel('Reason, for the journal').first().focus();
    await page.keyboard.type('chargeback');
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    expect(await page.getByRole('status').textContent()).toBe('1 added, 5 entries now (version 2).');
    await page.goto(`${console.ops}/console/prices`);
    await page.getByLabel('A price on each line').fill('BTC 96000');
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByText('−1.0 %').waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it('a person freezes and unfreezes with the keyboard alone', async () => {
    const { console, browser } = pages;
    const { page, complaints, close } = await look(browser, { as: ADA });
    await page.goto(`${console.ops}/console/`);
    await page.getByText('Freeze approvals', { exact: true }).focus();
    await page.keyboard.press('Enter');
    // Past the choice of what is frozen: all approvals, unless somebody chooses otherwise.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('drill');
    await page.keyboard.press('Tab');
    await page.keyboard.type('freeze');
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    expect(await page.getByRole('status').textContent()).toMatch(/^Frozen as f\d+\./);
    expect(await page.getByRole('alert').textContent()).toContain('by console:ada: drill');
    expect(await console.pay({ appOrderId: 'while-frozen' })).toBe('FAILURE');
    await page
      .getByText(/^Lift f\d+$/)
      .first()
      .focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('the drill is over');
    await page.keyboard.press('Tab');
    await page.keyboard.type('unfreeze');
    await page.keyboard.press('Enter');
    await page.getByText('Approvals continue.').waitFor();
    expect(await console.pay({ appOrderId: 'afterwards' })).toBe('SUCCESS');
    expect(complaints).toEqual([]);
    await close();
  });
});
