import { describe, expect, it, onTestFinished } from 'vitest';
import { run } from '../../tools/fuzz/policies/run.ts';
import { startBothStores } from '../../tools/fuzz/policies/stores.ts';

/*
 * The first steps of what `npm run fuzz:policies` does by the million. A difference says what repeats it.
 */

const STEPS = 4000;
const MINUTE_MS = 60_000;

describe('random policies on both stores', { timeout: 4 * MINUTE_MS }, () => {
  it('decide random callbacks as the second reading does', async () => {
    const stores = await startBothStores();
    onTestFinished(() => stores.close());
    const options = { seed: 1, firstRound: 0, steps: STEPS, untilMs: Infinity, open: stores.open };
    const { differences, steps, approved, again } = await run(options);
    expect(differences).toEqual([]);
    expect(steps).toBeGreaterThanOrEqual(STEPS);
    expect(approved).toBeGreaterThan(STEPS / 10);
    expect(again).toBeGreaterThan(STEPS / 10);
  });
});
