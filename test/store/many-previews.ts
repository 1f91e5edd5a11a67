import { expect, it } from 'vitest';
import type { OpenInspected } from './inspected-stores.ts';
import { comparePreviews, notSeen } from './previews.ts';

/** Enough to have seen each case. More for a change of settle: PREVIEWS_STATES=100000. */
const STATES = Number(process.env['PREVIEWS_STATES'] ?? 40_000);
const SEED = Number(process.env['PREVIEWS_SEED'] ?? 2);
const TWENTY_MINUTES_MS = 1_200_000;
const REPORT_EVERY_MS = 10_000;

/** A file for each store calls it, so that they run side by side. */
export function testManyPreviews(name: string, open: () => OpenInspected): void {
  it(
    `on ${name}`,
    {
      timeout: TWENTY_MINUTES_MS,
    },
    async () => {
      const sinceMs = performance.now();
      let reportedMs = sinceMs;
      const onRound = (states: number): void => {
        const nowMs = performance.now();
        if (nowMs - reportedMs < REPORT_EVERY_MS && states < STATES) return;
        reportedMs = nowMs;
        const seconds = Math.round((nowMs - sinceMs) / 1000);
        process.stderr.write(`${name}: ${states} of ${STATES} states, ${seconds} s\n`);
      };
      const seen = await comparePreviews({
        seed: SEED,
        states: STATES,
        compareOneIn: 100,
        open: open(),
        onRound,
      });
      expect(notSeen(seen)).toEqual([]);
    },
  );
}
