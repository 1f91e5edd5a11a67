import { constants, setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

/*
 * Somebody who clicks through the console, in a process of the lowest priority: a browser is on another machine, and
 * takes nothing from the service, nor from who sends the callbacks. The process says `begun` after one round of all
 * pages. When it is told to stop, it sends the times of the pages since then.
 */

/** As somebody does who looks at a page before the next click. */
const LOOKS_MS = 300;
const PERSON = { 'x-person': 'ada' };

/** `ORDER` and `USER` change from click to click. */
const PAGES = [
  '/',
  '/decisions',
  '/decisions?verdict=FAILURE',
  '/decisions?id=ORDER',
  '/decisions?user=USER',
  '/decisions?user=nobody',
  '/decisions?least=97&most=97.5',
  '/decisions?rule=payments',
  '/decisions?from=2020-01-01T00:00&until=2020-01-02T00:00',
  '/limits',
  '/try?kind=payment&userId=USER&amount=5&symbol=USDT1742',
  '/policies',
  '/lists',
  '/prices',
  '/journal',
] as const;

/** A page and how long it took, in milliseconds, until its last byte. */
export type Click = readonly [page: string, ms: number];

const [ops = '', decisions = '1'] = process.argv.slice(2);
const stopped = new AbortController();
process.once('message', () => stopped.abort());

const clicks: Click[] = [];
setPriority(constants.priority.PRIORITY_LOW);
for (let click = 0; !stopped.signal.aborted; click++) {
  const page = PAGES[click % PAGES.length] ?? '/';
  const order = Math.floor((Number(decisions) * ((click * 7) % 100)) / 100);
  const path = page
    .replace('ORDER', `order-${order}`)
    .replace('USER', String(10_000 + ((click * 37) % 1000)));
  const startedMs = performance.now();
  const response = await fetch(`${ops}/console${path}`, { headers: PERSON });
  await response.text();
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  if (click >= PAGES.length) clicks.push([page, performance.now() - startedMs]);
  if (click === PAGES.length - 1) process.send?.('begun');
  await pause(LOOKS_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
}
process.send?.(clicks, undefined, undefined, () => process.disconnect?.());
