import { describe, expect, it } from 'vitest';
import { type OpenInspected, openInspectedEmbedded, redisForInspection } from './inspected-stores.ts';
import { comparePreviews, notSeen } from './previews.ts';

/* The first states of what the previews-agree-*.long tests do by the hundred thousand. */

const STATES = 3000;

describe('in random states, a preview is what a settle then does, and writes nothing', () => {
  const openRedis = redisForInspection();
  const stores: readonly (readonly [string, () => OpenInspected])[] = [
    ['embedded', openInspectedEmbedded],
    ['redis', () => openRedis],
  ];
  it.each(stores)('on %s', async (_name, open) => {
    const seen = await comparePreviews({ seed: 1, states: STATES, compareOneIn: 10, open: open() });
    expect(notSeen(seen)).toEqual([]);
  });
});
