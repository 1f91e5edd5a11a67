import { describe, expect, it } from 'vitest';
import { everySuite } from './rule-cases.ts';
import { type Staging, runOn, stagingOn } from './staged.ts';

const valueLimit = (await everySuite()).find(({ of }) => of.includes('value-limit'));
const priced = valueLimit?.tests[0];
if (valueLimit === undefined || priced === undefined) throw new Error('value-limit has no example');
const { release } = valueLimit;
const { prices } = priced.given;

describe.each(['embedded', 'redis'] as const)('while prices change again and again, on %s', (kind) => {
  const staged = stagingOn(kind);

  /** A store in which prices change just before each of the first `times` settles. */
  async function changing(times: number): Promise<{ staging: Staging; settled: () => number }> {
    let settled = 0;
    const { store, ...time } = await staged();
    const staging: Staging = {
      ...time,
      store: {
        ...store,
        async settle(request) {
          settled += 1;
          if (settled <= times) await store.changePrices({ set: prices, remove: [], by: 'ada' });
          return store.settle(request);
        },
      },
    };
    return { staging, settled: () => settled };
  }

  it.each([1, 2, 3, 10, 19])('a callback is decided, after %i proposals were overtaken', async (times) => {
    const { staging, settled } = await changing(times);
    const found = await runOn(staging, release, { ...priced, callbacks: priced.callbacks.slice(0, 1) });
    expect(found).toMatchObject([{ verdict: 'SUCCESS', code: 'APPROVED' }]);
    expect(settled()).toBe(times + 1);
  });

  it('a callback is given up in the end, and that is FAILURE without a decision', async () => {
    const { staging, settled } = await changing(Number.POSITIVE_INFINITY);
    const asked = runOn(staging, release, { ...priced, callbacks: priced.callbacks.slice(0, 1) });
    await expect(asked).rejects.toThrow('the journal does not say that payment:1 got FAILURE');
    expect(settled()).toBe(20);
    expect(await staging.store.journalSize('shop')).toBe(0);
  });
});
