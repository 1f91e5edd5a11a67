import { constants, setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { PAGES, PERSON, pathOf } from './pages.ts';

/*
 * Somebody who clicks through the console, in a process of the lowest priority: a browser is on another machine, and
 * takes nothing from the service, nor from who sends the callbacks. The process says `begun` after one round of all
 * pages. When it is told to stop, it sends the times of the pages since then.
 */

/** As somebody does who looks at a page before the next click. */
const LOOKS_MS = 300;

/** A page and how long it took, in milliseconds, until its last byte. */
export type Click = readonly [page: string, ms: number];

const [ops = '', decisions = '1'] = process.argv.slice(2);
const stopped = new AbortController();
process.once('message', () => stopped.abort());

const clicks: Click[] = [];
setPriority(constants.priority.PRIORITY_LOW);
for (let click = 0; !stopped.signal.aborted; click++) {
  const page = PAGES[click % PAGES.length] ?? '/';
  const path = pathOf(page, click, Number(decisions));
  const startedMs = performance.now();
  const response = await fetch(`${ops}${path}`, { headers: PERSON });
  await response.text();
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  if (click >= PAGES.length) clicks.push([page, performance.now() - startedMs]);
  if (click === PAGES.length - 1) process.send?.('begun');
  await pause(LOOKS_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
}
process.send?.(clicks, undefined, undefined, () => process.disconnect?.());
