import { z } from 'zod';
import { KINDS, subjectOf } from '../callback/callback.ts';
import { usageError } from '../errors.ts';
import {
  type OrderSource,
  announceOrder,
  announcedBefore,
  orderJson,
  orderSource,
} from '../orders/orders.ts';
import type { Order, Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { isoTime, printable } from '../values/text.ts';
import type { Act } from './act.ts';

/** What names an order, and a decision about it. */
export const named = {
  source: z.string().describe('The name of a source in the settings.'),
  kind: z.enum(KINDS).describe('The kind of callback.'),
  id: z.string().describe("The callback's appOrderId or request_id."),
};

export const EXPIRES = '24h';

/** Amounts are text only: a JSON number may have lost digits before it arrives. */
const expectInput = z.strictObject({
  ...named,
  members: z.record(z.string(), z.unknown()).describe('The members that the callback must have.'),
  expires: z.string().default(EXPIRES).describe('A duration from now, at most 92d, or an instant.'),
});

export interface OrderParts<V extends keyof Store> {
  readonly store: Pick<Store, V>;
  readonly sources: readonly OrderSource[];
}

export const expectOrder = {
  name: 'orders expect',
  summary: 'Announce an order. The rule `expected-order` only passes a callback that agrees with it.',
  role: 'operate',
  input: expectInput,
  perform: ({ store, sources, clock }, order, by) => announceOrder(store, sources, { ...order, by }, clock()),
  fourEyes: {
    name: 'orders',
    async judge({ store, sources, clock }, order) {
      const announced = await announcedBefore(store, sources, order, clock());
      if (announced === undefined) return { is: 'looser' };
      return { is: 'done', result: { outcome: 'unchanged', order: announced } };
    },
  },
  text: ({ outcome, order }) =>
    `${orderText(order)}.${outcome === 'unchanged' ? ' It was already announced.' : ''}`,
  notice: ({ outcome }) => (outcome === 'expected' ? 'The order is announced.' : 'It was already announced.'),
  json: ({ outcome, order }) => ({ outcome, order: orderJson(order) }),
  followed: () => ({}),
} satisfies Act<
  OrderParts<'expectOrder' | 'order'> & { readonly clock: Clock },
  typeof expectInput,
  Awaited<ReturnType<typeof announceOrder>>
>;

const cancelInput = z.strictObject(named);

export const cancelOrder = {
  name: 'orders cancel',
  summary: 'Cancel an announced order. A used order stays used.',
  role: 'operate',
  input: cancelInput,
  perform({ store, sources }, { source, ...order }, by) {
    const { name } = orderSource(sources, source, order.kind);
    return store.cancelOrder({ source: name, subject: subjectOf(order), by });
  },
  text: ({ outcome, order }) =>
    outcome === 'cancelled' ? orderText(order) : `Nothing to cancel: ${orderText(order)}`,
  notice: ({ outcome, order }) =>
    outcome === 'cancelled' ? 'The order is cancelled.' : `Nothing to cancel: it is ${order.state}.`,
  json: ({ outcome, order }) => ({ outcome, order: orderJson(order) }),
  isDone: ({ outcome }) => outcome === 'cancelled',
  followed: () => ({}),
} satisfies Act<OrderParts<'cancelOrder'>, typeof cancelInput, Awaited<ReturnType<Store['cancelOrder']>>>;

/** The member `outputs` as people write it: `ADDRESS=AMOUNT`, several with commas between. Throws USAGE. */
export function readOutputs(written: string): readonly { readonly to: string; readonly amount: string }[] {
  return written.split(',').map((text) => {
    const [to = '', amount = '', ...more] = text.trim().split('=');
    if (to !== '' && amount !== '' && more.length === 0) return { to, amount };
    throw usageError(`${text} is not an output. Write ADDRESS=AMOUNT, several with commas between`);
  });
}

/** An order as text, such as `shop payment:11321 is expected until …: amount 100, …`. */
export function orderText({ source, subject, state, members, expiresAtMs, endedAtMs }: Order): string {
  const when = {
    expected: `is expected until ${isoTime(expiresAtMs)}`,
    used: `was used at ${isoTime(endedAtMs)}`,
    cancelled: `was cancelled at ${isoTime(endedAtMs)}`,
    expired: `expired unused at ${isoTime(expiresAtMs)}`,
  }[state];
  const shown = Object.entries(members)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `${name} ${text === '' ? '(none)' : text}`);
  return printable(`${source} ${subject} ${when}: ${shown.join(', ').replaceAll('\n', '; ')}`);
}
