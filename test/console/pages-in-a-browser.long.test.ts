import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOOKS, look } from './browser.ts';
import { ADA } from './console.ts';
import { PAGES, type Pages, looksAtPages, startPages } from './pages.ts';

/* pages-in-a-browser.test.ts looks at them in the light. */

describe('in the dark, on a phone, without JavaScript and by the keyboard', () => {
  let pages: Pages;
  beforeAll(async () => void (pages = await startPages()));
  afterAll(() => pages.stop());

  looksAtPages(
    () => pages,
    LOOKS.filter(({ name }) => name !== 'light'),
  );

  describe.each(PAGES)('the page $name', ({ path }) => {
    it('reads the same without JavaScript', async () => {
      const shown = async (javaScriptEnabled: boolean): Promise<string> => {
        const { page, close } = await look(pages.browser, { as: ADA, javaScriptEnabled });
        await page.goto(`${pages.console.ops}${path}`);
        const text = await page.locator('main').innerText();
        await close();
        // A file is chosen by the script, which also shows the field for it.
        return text.replaceAll(/\d/g, '0').replaceAll(/^Choose a file\n+/gm, '');
      };
      expect(await shown(false)).toBe(await shown(true));
    });

    it('is reached and left by the keyboard', async () => {
      const { page, close } = await look(pages.browser, { as: ADA });
      await page.goto(`${pages.console.ops}${path}`);
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement.id')).toBe('content');
      await close();
    });
  });
});
