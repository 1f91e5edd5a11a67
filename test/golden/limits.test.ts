import { afterEach, describe, expect, it } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { createMask } from './masked.ts';
import { playLimits } from './story-of-limits.ts';
import { type World, createWorld } from './world.ts';

/*
 * What is decided and journalled by limits over sources, values, refusals, alternatives and movements, as it was
 * written down in expected/: see outside.test.ts.
 */

describe.each(['embedded', 'redis'] as const)('on the %s store', { timeout: 600_000 }, (store) => {
  let redis: RedisServerProcess | undefined;
  let world: World | undefined;
  afterEach(async () => {
    await world?.remove();
    await redis?.stop();
  });

  it('the answers, and the journal with an entry on each line', async () => {
    redis = store === 'redis' ? await startRedisServer({ durable: true }) : undefined;
    world = createWorld(redis?.url, 'limits');
    const serving = await world.serve();
    const answers = await playLimits(world, serving);
    await serving.stop();
    await expect(`${JSON.stringify(answers, undefined, 1)}\n`).toMatchFileSnapshot(
      `expected/${store}/limits-answers.json`,
    );

    const mask = createMask({ [world.folder]: '<folder>' });
    const lines: string[] = [];
    // Those of several sources within one millisecond have no order.
    for (const source of ['shop', 'stall', 'vault']) {
      const { out } = await world.run(['decisions', 'export', '--source', source]);
      lines.push(
        ...out
          .trim()
          .split('\n')
          .map((line) => `${JSON.stringify(mask.value(JSON.parse(line)))}\n`),
      );
    }
    await expect(lines.join('')).toMatchFileSnapshot(`expected/${store}/limits-journal.jsonl`);
  });
});
