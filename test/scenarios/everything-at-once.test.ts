import { expect, it } from 'vitest';
import type { JournalEntry, PriceHistoryEntry, Store } from '../../src/store/store.ts';
import { eventually } from '../eventually.ts';
import type { Payment, TestService } from '../service.ts';
import { journalOf } from './audit.ts';
import { faultsOf } from './audit-claims.ts';
import { type Sent, send, successesOf } from './load.ts';
import { amountOf } from '../reference/policy.ts';
import { describeOnBothStores } from './on-both-stores.ts';

/** All that is shared: an order, the mark of a user, and one window for what all users pay, by its value. */
const POLICIES = {
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - expected-order: {}
  - deny-list: { of: userId, list: blocked }
  - cooling-period: { of: userId, list: known, for: 1s }
  - first-use-limit: { of: userId, max: 10 }
  - value-limit: { max: 40, maxAge: 10m }
  - value-limit: { max: 400, maxAge: 10m, window: 24h }
`,
};
const CALLBACKS = 200;
const ORDERS = 70;
/** A change is made each time that so many more are answered. */
const PACE = 5;
const ALWAYS_MS = 86_400_000;
const by = 'the scenario';
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

type Order = Omit<Payment, 'payCoinSymbol'>;
const orderOf = (index: number): Order => ({
  appOrderId: `o-${index}`,
  userId: index % 3 === 0 ? '2' : '1',
  orderAmount: index % 4 === 0 ? '10' : '25',
});
const contended: Order = { appOrderId: 'contended', userId: '1', orderAmount: '20' };

async function announce(store: Store, { appOrderId, userId, orderAmount }: Order): Promise<void> {
  await store.expectOrder({
    source: 'shop',
    subject: `payment:${appOrderId}`,
    members: { userId, symbol: 'USDT1742', amount: orderAmount, scheme: 'md5' },
    expiresAtMs: (await store.health()).nowMs + ALWAYS_MS,
    by,
  });
}

async function setPrice(store: Store, price: string): Promise<void> {
  const { nowMs } = await store.health();
  await store.changePrices({
    set: [{ asset: 'USDT1742', price: amountOf(price), asOfMs: nowMs }],
    remove: [],
    by,
  });
}

async function toggle(store: Store, list: string, value: string, on: boolean): Promise<void> {
  const [add, remove] = on ? [[value], []] : [[], [value]];
  await store.changeList({ source: 'shop', list, add, remove, by, message: '' });
}

/** Two replicas, everybody known for long enough, and orders: some for another amount, some missing. */
async function ready(start: (like?: TestService) => Promise<TestService>): Promise<readonly TestService[]> {
  const one = await start();
  const replicas = [one, await start(one)];
  const { store } = one;
  await store.changeList({ source: 'shop', list: 'known', add: ['1', '2'], remove: [], by, message: '' });
  await store.changeList({ source: 'shop', list: 'blocked', add: [], remove: [], by, message: '' });
  await setPrice(store, '1');
  await announce(store, contended);
  for (const index of range(ORDERS)) {
    const order = orderOf(index);
    if (index % 7 !== 6) await announce(store, index % 7 === 5 ? { ...order, orderAmount: '11' } : order);
  }
  for (const [index, replica] of replicas.entries()) {
    const probe = { appOrderId: `probe-${index}`, userId: '3', orderAmount: '1' };
    await toggle(store, 'known', '3', true);
    await announce(store, probe);
    await eventually('who is known for a second may pay', async () =>
      (await replica.pay(probe)) === 'SUCCESS' ? true : undefined,
    );
  }
  return replicas;
}

/**
 * Each order twice, and in between the contended one: as it was announced, for more, and by somebody else.
 */
const callbacks: readonly Order[] = range(CALLBACKS).map((index) => {
  if (index % 10 >= 7)
    return (
      [contended, { ...contended, orderAmount: '21' }, { ...contended, userId: '2' }][index % 3] ?? contended
    );
  const turn = Math.floor(index / 10) * 7 + (index % 10);
  return orderOf(turn % ORDERS);
});

/** One change after the other: of the price, of an order, of a list. */
async function makeChange(store: Store, turn: number): Promise<void> {
  const order = orderOf((turn * 4) % ORDERS);
  const subject = `payment:${order.appOrderId}`;
  const prices = ['2', '0.5', '1.25', '1'];
  if (turn % 4 === 0) await setPrice(store, prices[(turn / 4) % prices.length] ?? '1');
  if (turn % 4 === 1) await store.cancelOrder({ source: 'shop', subject, by }).catch(() => undefined);
  if (turn % 4 === 2) await announce(store, orderOf(((turn - 1) * 4) % ORDERS));
  if (turn % 8 === 3) await toggle(store, 'blocked', '2', turn % 16 === 3);
  if (turn % 8 === 7) await toggle(store, 'known', '2', turn % 16 !== 7);
}

/** All callbacks at once over both replicas, and changes while they are answered. */
async function storm(replicas: readonly TestService[]): Promise<readonly Sent[]> {
  let answered = 0;
  let changes: Promise<void> = Promise.resolve();
  const sent = callbacks.map(async (payment, index) => {
    const came = await send(replicas[index % replicas.length]?.url ?? '', payment);
    if (++answered % PACE === 0) {
      const turn = answered / PACE - 1;
      const store = replicas[turn % replicas.length]?.store;
      changes = changes.then(() => (store === undefined ? undefined : makeChange(store, turn)));
    }
    return came;
  });
  const all = await Promise.all(sent);
  await changes;
  return all;
}

const bodyOf = ({ detail }: JournalEntry): string => (JSON.parse(detail) as { readonly body: string }).body;

/** The answers to each body, and what the journal says of it, sorted. */
function tallied(
  entries: readonly (readonly [body: string, verdict: string])[],
): ReadonlyMap<string, string> {
  const groups = Map.groupBy(entries, ([body]) => body);
  return new Map(
    [...groups].map(([body, all]) => [
      body,
      all
        .map(([, verdict]) => verdict)
        .sort()
        .join(),
    ]),
  );
}

const successIn = (journal: readonly JournalEntry[]): readonly JournalEntry[] =>
  journal.filter(({ type, verdict }) => verdict === 'SUCCESS' && (type === 'decision' || type === 'repeat'));

async function booksOf(store: Store): Promise<{
  readonly journal: readonly JournalEntry[];
  readonly prices: readonly PriceHistoryEntry[];
}> {
  return { journal: await journalOf(store), prices: await store.priceHistory({ after: 0, limit: 1000 }) };
}

describeOnBothStores(
  'while prices, orders and lists change',
  (host) => {
    it(`${CALLBACKS} callbacks at once about one order, one mark and one window: each approval was right`, async () => {
      const replicas = await ready((like) => host.start({ policies: POLICIES }, like));
      const [{ store }] = replicas as readonly [TestService];
      const sent = await storm(replicas);
      const { journal, prices } = await booksOf(store);

      expect(faultsOf(journal, prices)).toEqual([]);
      const approved = successIn(journal);
      const bodies = approved.map((entry) => [bodyOf(entry), 'SUCCESS'] as const);
      const answers = tallied(successesOf(sent).map(({ body }) => [body, 'SUCCESS'] as const));
      const written = tallied(bodies.filter(([body]) => answers.has(body)));
      expect(answers).toEqual(written);

      const won = approved.filter(({ subject }) => subject === 'payment:contended');
      expect(new Set(won.map(bodyOf)).size).toBeLessThanOrEqual(1);
      expect(journal.length).toBeGreaterThan(CALLBACKS);
      expect(approved.length).toBeGreaterThan(5);
      expect(prices.length).toBeGreaterThan(5);
    });

    it('and whoever audits the journal would see one that was not', async () => {
      const [service] = (await ready((like) => host.start({ policies: POLICIES }, like))) as readonly [
        TestService,
      ];
      for (const index of [4, 1, 2, 7, 1]) expect(await service.pay(orderOf(index))).toBe('SUCCESS');
      const { journal, prices } = await booksOf(service.store);
      expect(faultsOf(journal, prices)).toEqual([]);
      const tampered = (change: (entry: JournalEntry) => JournalEntry | undefined): string =>
        faultsOf(
          journal.map(change).filter((entry) => entry !== undefined),
          prices,
        ).join('\n');
      const detailed = (from: string, to: string) =>
        tampered((entry) => ({ ...entry, detail: entry.detail.replaceAll(from, to) }));

      expect(tampered((entry) => (entry.type === 'order' ? undefined : entry))).toContain('no such order');
      expect(tampered((entry) => (entry.type === 'list' ? undefined : entry))).toContain('there was no list');
      const late = (entry: JournalEntry): JournalEntry => ({ ...entry, atMs: entry.atMs + 3_600_000 });
      expect(tampered((entry) => (entry.type === 'list' ? late(entry) : entry))).toContain(
        'was on known since',
      );
      expect(tampered((entry) => (entry.type === 'order' ? entry : late(late(entry))))).toBe('');
      const muchLater = (entry: JournalEntry): JournalEntry => ({ ...entry, atMs: entry.atMs + ALWAYS_MS });
      expect(tampered((entry) => (entry.type === 'order' ? entry : muchLater(entry)))).toContain(
        'had expired',
      );
      expect(tampered((entry) => (entry.subject === 'payment:o-4' ? undefined : entry))).toContain(
        'above 10 for who is known since never only',
      );
      expect(detailed('"amount":"25","scheme"', '"amount":"26","scheme"')).toContain('differs in amount');
      expect(detailed('"max":"40"', '"max":"24"')).toContain('it was worth 25, of at most 24');
      expect(detailed('"max":"400"', '"max":"80"')).toContain('87 was approved until');
      expect(faultsOf(journal, []).join()).toContain('1 was not the price of USDT1742');
      const other = ({ detail }: JournalEntry): string => detail.replace('"userId":"1"', '"userId":"9"');
      expect(
        tampered((entry) => (entry.type === 'repeat' ? { ...entry, detail: other(entry) } : entry)),
      ).toContain('approved with the terms');
    });
  },
  { timeoutMs: 60_000 },
);
