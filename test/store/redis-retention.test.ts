import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { rawClient, readyOn, redisOfItsOwn } from './redis-under-test.ts';
import {
  HOUR_MS,
  MINUTE_MS,
  announcement,
  change,
  distinctClaim,
  keyOf,
  markClaim,
  notice,
  orderClaim,
  refusalsClaim,
  priceChange,
  request,
  requestChange,
  signing,
  windowClaim,
  thaw,
} from './requests.ts';

const RETENTION_MS = 300;
const retention = { subjectsMs: RETENTION_MS, journalMs: RETENTION_MS };
const SLACK_MS = 24 * HOUR_MS;
const SIZING = readFileSync(new URL('../../docs/sizing.md', import.meta.url), 'utf8');

/** What stays for ever, as docs/sizing.md names it: its number does not grow with what is decided. */
const STAY = [
  '{global}:in-force',
  '{global}:history',
  '{global}:documents',
  '{global}:prices',
  '{global}:price-history',
  '{global}:sources',
  '{SOURCE}:control',
  '{SOURCE}:lists',
  '{SOURCE}:list:NAME',
  '{SOURCE}:journal',
  '{SOURCE}:lockouts',
  '{SOURCE}:requests',
  '{global}:shared-requests',
];

/** The kind of a key of the store: `{SOURCE}:subject`. */
const kindOf = (key: string): string =>
  key
    .replace(/^countersign:/, '')
    .replace(/^\{(?!global\})[^}]*\}/, '{SOURCE}')
    .replace(/:list:.*$/, ':list:NAME')
    .replace(/:(subject|window|distinct|mark|order|refusals|request|shared-request):.*$/, ':$1');

/** Every key, with for how long it lives; -1 for ever. */
async function lives(client: Redis): Promise<readonly { readonly kind: string; readonly ms: number }[]> {
  const keys = await client.keys('*');
  return Promise.all(keys.map(async (key) => ({ kind: kindOf(key), ms: await client.pttl(key) })));
}

async function filled() {
  const server = await redisOfItsOwn();
  const store = await readyOn(server, { retention });
  const nowMs = Date.now();
  await store.changeList(change('blocked', ['1', '2']));
  await store.changePrices(priceChange({ BTC: '1' }));
  await store.expectOrder(announcement({ expiresAtMs: nowMs + 60_000 }));
  await store.expectOrder(announcement({ subject: 'payment:2', expiresAtMs: nowMs + 1 }));
  await store.settle(
    request({
      claims: [windowClaim('1', '10'), distinctClaim(['a'], 1), markClaim({ exempt: true }), orderClaim()],
    }),
  );
  for (const scope of ['shop', '']) await store.changeApprovalRequest(requestChange({ scope }));
  const claims = [refusalsClaim(2), refusalsClaim(1, { key: keyOf('locked') })];
  await store.settle(request({ subject: 'payment:3', approves: false, claims }));
  await store.settle(signing());
  await store.recordNotification(notice());
  await store.record({
    source: 'shop',
    type: 'refused',
    subject: '',
    verdict: 'FAILURE',
    code: 'X',
    of: '',
    detail: '',
  });
  await store.freeze({ reason: 'drill', by: 'ada' });
  await thaw(store);
  return { store, client: rawClient(server) };
}

describe('what Redis keeps', () => {
  it('has an end for every key, but for those that docs/sizing.md names', async () => {
    const { client } = await filled();
    const found = await lives(client);
    const forEver = new Set(found.filter(({ ms }) => ms === -1).map(({ kind }) => kind));
    expect([...forEver].sort()).toEqual(STAY.toSorted());
    for (const kind of STAY) expect(SIZING).toContain(`\`${kind}\``);
    const ending = new Set(found.filter(({ ms }) => ms !== -1).map(({ kind }) => kind));
    for (const kind of ['window', 'distinct', 'refusals', 'order', 'request'])
      expect([...ending]).toContain(`{SOURCE}:${kind}`);
    expect([...ending]).toContain('{global}:shared-request');
  });

  it('forgets a counter a day after its window, and an order its retention after its expiry', async () => {
    const { client } = await filled();
    const of = async (kind: string): Promise<readonly number[]> =>
      (await lives(client)).filter((each) => each.kind === kind).map(({ ms }) => ms);
    for (const ms of await of('{SOURCE}:window')) {
      expect(ms).toBeGreaterThan(HOUR_MS + SLACK_MS - MINUTE_MS);
      expect(ms).toBeLessThanOrEqual(HOUR_MS + MINUTE_MS + SLACK_MS);
    }
    expect(Math.max(...(await of('{SOURCE}:order')))).toBeLessThanOrEqual(60_000 + RETENTION_MS);
  });

  it('keeps a counter of 400 days for its window and a day', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server, { retention });
    const window = { type: 'rolling', lengthMs: 400 * SLACK_MS, bucketMs: 576_000_000 } as const;
    await store.settle(request({ claims: [windowClaim('1', '10', { window })] }));
    const counter = (await lives(rawClient(server))).find(({ kind }) => kind === '{SOURCE}:window');
    expect(counter?.ms).toBeGreaterThan(401 * SLACK_MS - MINUTE_MS);
    expect(counter?.ms).toBeLessThanOrEqual(401 * SLACK_MS + window.bucketMs);
  });

  it('expires subjects, marks and orders, and then keeps only the journal entry of a decision', async () => {
    const { client } = await filled();
    const left = await eventually('what has expired is gone', async () => {
      const kinds = (await lives(client)).map(({ kind }) => kind);
      const gone = !kinds.includes('{SOURCE}:subject') && !kinds.includes('{SOURCE}:mark');
      return gone && kinds.filter((kind) => kind === '{SOURCE}:order').length === 1 ? kinds : undefined;
    });
    const others = left.filter((kind) => !STAY.includes(kind));
    expect(others.sort()).toEqual([
      '{SOURCE}:distinct',
      '{SOURCE}:order',
      '{SOURCE}:refusals',
      '{SOURCE}:refusals',
      '{SOURCE}:request',
      '{SOURCE}:window',
      '{global}:shared-request',
    ]);
  });

  it('keeps a subject as long again from each time that it is asked about', async () => {
    const server = await redisOfItsOwn();
    const day = 86_400_000;
    const store = await readyOn(server, { retention: { subjectsMs: day, journalMs: day } });
    const client = rawClient(server);
    await store.settle(request({ claims: [markClaim({ exempt: true })] }));
    for (const key of await client.keys('*:{shop}:*')) {
      if (/:(?:subject|mark):/.test(key)) await client.pexpire(key, 60_000);
    }
    await store.settle(request({ claims: [markClaim({ exempt: true })] }));
    const renewed = (await lives(client)).filter(({ kind }) => /:(?:subject|mark)$/.test(kind));
    expect(renewed).toHaveLength(2);
    for (const { ms } of renewed) expect(ms).toBeGreaterThan(day - 60_000);
  });

  it('drops journal entries past their retention as others come, but for a part of one block', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server, { retention });
    const detail = 'x'.repeat(1000);
    await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        store.settle(request({ subject: `payment:${index}`, detail })),
      ),
    );
    const before = await store.journalSize('shop');
    expect(before).toBeGreaterThan(0);
    // A block holds 4096 bytes, so no more than four of these.
    await eventually('old entries are gone', async () => {
      await store.settle(request({ subject: 'payment:last', detail }));
      const entries = await store.entries({ source: 'shop', limit: 1000 });
      const [first] = entries;
      const last = entries.at(-1);
      const old = entries.filter((each) => each.atMs < (last?.atMs ?? 0) - RETENTION_MS);
      return first !== undefined && first.subject === 'payment:last' && old.length <= 4 ? true : undefined;
    });
  });

  it('drops changes of prices past their retention as others come, and keeps every price', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server, { retention });
    for (const asset of ['A', 'B', 'C', 'D']) await store.changePrices(priceChange({ [asset]: '1' }));
    const [first] = await store.priceHistory({ after: 0, limit: 10 });
    await eventually('the first changes are gone', async () => {
      await store.changePrices(priceChange({ E: '2' }));
      const [oldest] = await store.priceHistory({ after: 0, limit: 10 });
      return oldest !== undefined && oldest.version > (first?.version ?? 0) + 3 ? true : undefined;
    });
    expect([...(await store.prices()).prices.keys()].sort()).toEqual(['A', 'B', 'C', 'D', 'E']);
  });
});
