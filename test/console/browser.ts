import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import type { Visitor } from './console.ts';

/** Without its traffic in the background, which a closed network refuses. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The browser that test/install-programs.ts has found. */
export async function startBrowser(): Promise<Browser> {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const paths = names.map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim());
  const executablePath = paths.find((path) => path !== '');
  if (executablePath === undefined)
    throw new Error('there is no Chromium: run node test/install-programs.ts');
  return chromium.launch({ executablePath, args: QUIET });
}

/** Longer than a busy machine takes. */
const WAITS_MS = 20_000;

export interface Looking extends Pick<BrowserContextOptions, 'colorScheme' | 'javaScriptEnabled'> {
  /** Who looks, as test/console/console.ts tells it; nobody for a sign-in. */
  readonly as?: Visitor;
  readonly width?: number;
}

export interface Look {
  readonly page: Page;
  /** What the browser complained about: faults of scripts, and what the content security policy stopped. */
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
}

/** A window of its own, without cookies. */
export async function look(browser: Browser, { as, width = 1280, ...options }: Looking = {}): Promise<Look> {
  const context = await browser.newContext({
    ...options,
    viewport: { width, height: 800 },
    reducedMotion: 'reduce',
    extraHTTPHeaders: as === undefined ? {} : { 'x-test-person': encodeURIComponent(JSON.stringify(as)) },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAITS_MS);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, complaints, close: () => context.close() };
}

/** What axe finds, a line each; colours, names, roles, headings, and so on. */
export async function barriers(page: Page): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) => `${id}: ${help} at ${target.join(' ')}: ${failureSummary ?? ''}`,
    ),
  );
}

/** Whether the page itself scrolls sideways, which a phone shows badly. */
export const isTooWide = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');

/** How each page is looked at. */
export const LOOKS = [
  { name: 'light', colorScheme: 'light', width: 1280 },
  { name: 'dark', colorScheme: 'dark', width: 1280 },
  { name: 'phone', colorScheme: 'light', width: 390 },
] as const;

/** `npm run screenshots` sets it. */
const draws = process.env['COUNTERSIGN_SCREENSHOTS'] === '1';
const SCREENSHOTS = join(import.meta.dirname, '../../docs/console');

/** The rest of a longer page looks like what is above it. */
const DRAWN_HEIGHT = 1600;

/** The pages that docs/console.md shows. */
const DRAWN = new Set([
  'now',
  'decisions',
  'decision',
  'limits',
  'try',
  'policies',
  'checked',
  'backtest',
  'list',
  'orders',
  'prices',
  'journal',
]);

/** Draws a page for docs/console, if pages are to be drawn. */
export async function draw(page: Page, name: string, kind: (typeof LOOKS)[number]['name']): Promise<void> {
  if (!draws || kind !== 'light' || !DRAWN.has(name)) return;
  const { width = 0 } = page.viewportSize() ?? {};
  const pageHeight = Number(await page.evaluate('document.documentElement.scrollHeight'));
  const height = Math.min(pageHeight, DRAWN_HEIGHT);
  const devtools = await page.context().newCDPSession(page);
  // The screenshots of Playwright are PNG or JPEG, which are several times larger.
  const { data } = await devtools.send('Page.captureScreenshot', {
    format: 'webp',
    quality: 40,
    clip: { x: 0, y: 0, width, height, scale: 1 },
    captureBeyondViewport: true,
  });
  writeFileSync(join(SCREENSHOTS, `${name}.webp`), data, 'base64');
}
