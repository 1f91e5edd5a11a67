import { describe, expect, it } from 'vitest';
import { type OpenInspected, openInspectedEmbedded, redisForInspection } from './inspected-stores.ts';
import { comparePreviews, notSeen } from './previews.ts';

const STATES = 100_000;
const SEED = Number(process.env['PREVIEWS_SEED'] ?? 2);
const TWENTY_MINUTES_MS = 1_200_000;
const REPORT_EVERY_MS = 10_000;

describe('in a hundred thousand random states, a preview is what a settle then does, and writes nothing', () => {
  const openRedis = redisForInspection();
  const stores: readonly (readonly [string, () => OpenInspected])[] = [
    ['embedded', openInspectedEmbedded],
    ['redis', () => openRedis],
  ];
  it.each(stores)('on %s', { timeout: TWENTY_MINUTES_MS }, async (name, open) => {
    const sinceMs = performance.now();
    let reportedMs = sinceMs;
    const onRound = (states: number): void => {
      const nowMs = performance.now();
      if (nowMs - reportedMs < REPORT_EVERY_MS && states < STATES) return;
      reportedMs = nowMs;
      process.stderr.write(
        `${name}: ${states} of ${STATES} states, ${Math.round((nowMs - sinceMs) / 1000)} s\n`,
      );
    };
    const seen = await comparePreviews({
      seed: SEED,
      states: STATES,
      compareOneIn: 100,
      open: open(),
      onRound,
    });
    expect(notSeen(seen)).toEqual([]);
  });
});
