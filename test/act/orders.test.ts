import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type OrderRequest, announceOrder, orderJson, orderSource } from '../../src/orders/orders.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';

const NOON = Date.parse('2026-03-02T12:00:00Z');
const DAY_MS = 86_400_000;

const SOURCES = [
  { name: 'shop', kinds: ['payment'], schemes: ['md5'] },
  { name: 'mall', kinds: ['payment'], schemes: ['md5', 'rsa'] },
  { name: 'vault', kinds: ['transfer', 'web3'], schemes: [] },
] as const;

const PAYMENT: OrderRequest = {
  source: 'shop',
  kind: 'payment',
  id: '11321',
  members: { userId: '12345', symbol: 'USDT1742', amount: '100' },
  expires: '2h',
  by: 'ana',
};

async function openStore(): Promise<Store> {
  const path = join(mkdtempSync(join(tmpdir(), 'countersign-orders-')), 'store.db');
  const store = await openEmbeddedStore({ path, clock: () => NOON });
  onTestFinished(() => store.close());
  return store;
}

describe('announcing an order', () => {
  it('takes the only scheme of the source, and answers the same to a repeat', async () => {
    const store = await openStore();
    const first = await announceOrder(store, SOURCES, PAYMENT, NOON);
    expect(first.outcome).toBe('expected');
    expect(orderJson(first.order)).toMatchObject({
      source: 'shop',
      subject: 'payment:11321',
      members: { ...PAYMENT.members, scheme: 'md5' },
      expires: '2026-03-02T14:00:00.000Z',
      by: 'ana',
    });
    // Two hours from a later instant are another expiry.
    const repeat = await announceOrder(store, SOURCES, PAYMENT, NOON + 1000);
    expect(repeat).toMatchObject({ outcome: 'unchanged', order: { expiresAtMs: NOON + 7_200_000 } });
  });

  it('refuses other members under the same id, until the order is cancelled', async () => {
    const store = await openStore();
    await announceOrder(store, SOURCES, PAYMENT, NOON);
    const other = { ...PAYMENT, members: { ...PAYMENT.members, amount: '101' } };
    await expect(announceOrder(store, SOURCES, other, NOON)).rejects.toMatchObject({
      code: 'ORDER_CONFLICT',
      data: { subject: 'payment:11321', state: 'expected' },
    });
  });

  it('refuses another instant of expiry under the same id', async () => {
    const store = await openStore();
    const at = (expires: string) => announceOrder(store, SOURCES, { ...PAYMENT, expires }, NOON);
    await at('2026-03-02T14:00:00Z');
    await expect(at('2026-03-02T14:00:01Z')).rejects.toMatchObject({ code: 'ORDER_CONFLICT' });
  });

  it.each<[string, Partial<OrderRequest>, string]>([
    ['no scheme, from a source with several', { source: 'mall' }, 'scheme is missing'],
    [
      'a scheme that the source does not accept',
      { members: { ...PAYMENT.members, scheme: 'rsa' } },
      'shop does not accept the scheme rsa',
    ],
    ['an id with a blank', { id: '11 321' }, 'is not an id'],
    ['an id of 129 characters', { id: '1'.repeat(129) }, 'is not an id'],
    [
      'an expiry now',
      { expires: '2026-03-02T12:00:00Z' },
      'is not in the future; write a time in the future',
    ],
    ['an expiry more than 92 days ahead', { expires: '2026-06-03T12:00:01Z' }, 'more than 92 days ahead'],
    ['an expiry that is no time', { expires: 'soon' }, 'expires "soon"'],
    ['a source that there is not', { source: 'shp' }, 'did you mean shop?'],
    ['a kind that the source does not send', { source: 'vault' }, 'takes no payment callbacks'],
  ])('refuses %s', async (_, change, message) => {
    const store = await openStore();
    await expect(announceOrder(store, SOURCES, { ...PAYMENT, ...change }, NOON)).rejects.toMatchObject({
      code: 'ORDER_INVALID',
      message: expect.stringMatching(/^the order can't be announced: /) as string,
    });
    await expect(announceOrder(store, SOURCES, { ...PAYMENT, ...change }, NOON)).rejects.toMatchObject({
      message: expect.stringContaining(message) as string,
    });
  });

  it('accepts an expiry of exactly 92 days', async () => {
    const store = await openStore();
    const { order } = await announceOrder(store, SOURCES, { ...PAYMENT, expires: '92d' }, NOON);
    expect(order.expiresAtMs).toBe(NOON + 92 * DAY_MS);
  });

  it('reports all faults at once', async () => {
    const store = await openStore();
    const request = { ...PAYMENT, id: '', expires: 'soon', members: {} };
    await expect(announceOrder(store, SOURCES, request, NOON)).rejects.toMatchObject({
      data: {
        faults: [
          expect.stringContaining('userId is missing') as string,
          expect.stringContaining('symbol is missing') as string,
          expect.stringContaining('amount is missing') as string,
          expect.stringContaining('expires') as string,
          expect.stringContaining('is not an id') as string,
        ],
      },
    });
  });
});

it('a source is found by its name and the kinds that it sends', () => {
  expect(orderSource(SOURCES, 'vault', 'web3').name).toBe('vault');
  expect(() => orderSource(SOURCES, 'shop', 'web3')).toThrow(
    expect.objectContaining({ code: 'ORDER_INVALID' }),
  );
  expect(() => orderSource(SOURCES, 'shp', 'payment')).toThrow(
    /^there is no source "shp"; did you mean shop\?/,
  );
});
