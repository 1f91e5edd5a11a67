import { describe, expect, it } from 'vitest';
import { NOBODY_NOTED, place } from '../terminal.ts';

describe('prices set', () => {
  it('sets one price as of an instant, or several as of now', async () => {
    const { run } = place();
    const one = await run('prices', 'set', 'BTC', '97000.10', '--as-of', '2025-06-15T11:00:00Z');
    expect(one).toMatchObject({ code: 0, err: NOBODY_NOTED });
    expect(one.out).toMatch(/BTC +97000\.1 +as of 2025-06-15T11:00:00\.000Z +60 min ago/);
    expect((await run('prices', 'set', 'ETH=3020.55', 'USDT1742=1')).code).toBe(0);
    expect((await run('prices', 'show', '--json')).json()).toEqual({
      version: 2,
      prices: {
        BTC: { price: '97000.1', asOf: '2025-06-15T11:00:00.000Z' },
        ETH: { price: '3020.55', asOf: '2025-06-15T12:00:00.000Z' },
        USDT1742: { price: '1', asOf: '2025-06-15T12:00:00.000Z' },
      },
    });
  });

  it.each([
    [['BTC', '0'], 'decimal above zero'],
    [['BTC', '-1'], 'decimal above zero'],
    [['BTC', '1,5'], 'decimal above zero'],
    [['BTC=1', 'ETH=x'], 'the price of ETH'],
    [['BTC=1', 'BTC=2'], 'BTC appears twice'],
    [['BTC=1', 'ETH'], 'Write ASSET PRICE'],
    [['BTC', '1', '--as-of', 'yesterday'], 'write an instant like'],
    [['BTC', '1', '--as-of', '2025-06-15T12:02:00Z'], 'is in the future'],
  ])('refuses %j, and sets none', async (words, why) => {
    const { run } = place();
    expect(await run('prices', 'set', ...words)).toMatchObject({
      code: 2,
      err: expect.stringContaining(why) as string,
    });
    expect((await run('prices', 'show')).out).toContain('There are no prices');
  });
});

describe('prices remove', () => {
  it('forgets prices that there are, and no others', async () => {
    const { run } = place();
    await run('prices', 'set', 'BTC=1', 'ETH=2');
    expect(await run('prices', 'remove', 'BTC', 'DOGE')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no price of DOGE') as string,
    });
    expect((await run('prices', 'remove', 'BTC')).out).not.toContain('BTC');
    expect((await run('prices', 'show', '--json')).json()).toMatchObject({ prices: { ETH: { price: '2' } } });
  });
});
