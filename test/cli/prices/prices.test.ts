import { describe, expect, it } from 'vitest';
import { NOBODY_NOTED, place, reports } from '../terminal.ts';

describe('prices set', () => {
  it('sets one price as of an instant, or several as of now', async () => {
    const { run } = place();
    const one = await run`prices set BTC 97000.10 --as-of 2025-06-15T11:00:00Z`;
    expect(one).toMatchObject({ code: 0, err: NOBODY_NOTED });
    expect(one.out).toMatch(/BTC +97000\.1 +as of 2025-06-15T11:00:00\.000Z +60 min ago/);
    expect((await run`prices set ETH=3020.55 USDT1742=1`).code).toBe(0);
    expect((await run`prices show --json`).json()).toEqual({
      version: 2,
      prices: {
        BTC: { price: '97000.1', asOf: '2025-06-15T11:00:00.000Z' },
        ETH: { price: '3020.55', asOf: '2025-06-15T12:00:00.000Z' },
        USDT1742: { price: '1', asOf: '2025-06-15T12:00:00.000Z' },
      },
    });
  });
});

describe('prices remove', () => {
  it('forgets prices that there are, and no others', async () => {
    const { run } = place();
    await run`prices set BTC=1 ETH=2`;
    expect(await run`prices remove BTC DOGE`).toMatchObject(reports(1, 'no price of DOGE'));
    expect((await run`prices remove BTC`).out).not.toContain('BTC');
    expect((await run`prices show --json`).json()).toMatchObject({ prices: { ETH: { price: '2' } } });
  });
});

describe('prices history', () => {
  it('has who changed which price, when, and from what to what, newest first', async () => {
    const { run } = place();
    expect((await run`prices history`).out).toContain('No price was changed');
    await run`prices set BTC=97000 ETH=3020.55 --by ada`;
    await run`prices set BTC 48500 --by bob`;
    await run`prices remove ETH --by eve`;
    const at = '2025-06-15T12:00:00.000Z';
    expect((await run`prices history --limit 2 --json`).json()).toEqual([
      { version: 3, at, by: 'eve', asset: 'ETH', before: '3020.55', after: null },
      { version: 2, at, by: 'bob', asset: 'BTC', before: '97000', after: '48500', asOf: at },
    ]);
  });
});
