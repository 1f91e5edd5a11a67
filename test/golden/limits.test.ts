import { expect, it } from 'vitest';
import { startRedisServer } from '../redis-server.ts';
import { type StoreName, writtenOfBoth } from './both.ts';
import { createMask } from './masked.ts';
import { playLimits } from './story-of-limits.ts';
import { createWorld, journalOf } from './world.ts';

/*
 * What is decided and journalled by limits over sources, values, refusals, alternatives and movements, as it was
 * written down in expected/: see outside.test.ts.
 */

it('the answers and the journal of limits, on both stores', { timeout: 600_000 }, async () => {
  const [embedded, redis] = await Promise.all([play('embedded'), play('redis')]);
  await expect(writtenOfBoth({ embedded, redis })).toMatchFileSnapshot('expected/limits.json');
});

async function play(store: StoreName): Promise<unknown> {
  const redis = store === 'redis' ? await startRedisServer({ durable: true }) : undefined;
  const world = createWorld(redis?.url, 'limits');
  try {
    const serving = await world.serve();
    const answers = await playLimits(world, serving);
    await serving.stop();
    return { answers, journal: await journalOf(world, createMask({ [world.folder]: '<folder>' })) };
  } finally {
    await world.remove();
    await redis?.stop();
  }
}
