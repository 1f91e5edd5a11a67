import { z } from 'zod';
import { askAboutOrder, endOrderRequest } from '../approvals/callbacks.ts';
import type { ApprovalRequest } from '../approvals/requests.ts';
import { KINDS, subjectOf } from '../callback/callback.ts';
import { usageError } from '../errors.ts';
import {
  type OrderSource,
  announceOrder,
  announcedBefore,
  orderJson,
  orderSource,
} from '../orders/orders.ts';
import { approvalRulesOfOrder } from '../policy/evaluate.ts';
import { releaseInForce } from '../release/stored.ts';
import type { ApprovalRequests, Order, Store } from '../store/store.ts';
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
  ask: z.boolean().default(false).describe('Whether to ask people now to approve the callback of the order.'),
});

export interface OrderParts<V extends keyof Store> {
  readonly store: Pick<Store, V>;
  readonly sources: readonly OrderSource[];
}

interface ExpectParts extends OrderParts<
  'expectOrder' | 'order' | 'control' | 'document' | keyof ApprovalRequests
> {
  readonly clock: Clock;
  /** Of the settings: without it nobody can approve. */
  readonly deployment?: string | undefined;
}

interface Expected {
  readonly outcome: 'expected' | 'unchanged';
  readonly order: Order;
  /** The request that people approve the order by. Absent unless they are to be asked. */
  readonly asked?: ApprovalRequest;
}

type Ask = ((order: Order) => Promise<ApprovalRequest>) | undefined;

/** Asks people about an order. Throws USAGE if nobody could approve it, before it is announced. */
async function askingFor(
  { store, clock, deployment }: ExpectParts,
  { ask, source, kind, id, members }: z.output<typeof expectInput>,
): Promise<Ask> {
  if (!ask) return undefined;
  if (deployment === undefined)
    throw usageError('nobody can be asked: the settings have no `deployment`, which people sign; set it');
  const { symbol } = members;
  const about = { source, kind, symbol: typeof symbol === 'string' ? symbol : '' };
  const needs = approvalRulesOfOrder(await releaseInForce(store), about);
  if (needs.length === 0) {
    const of = `${about.symbol} in ${kind} callbacks of ${source}`;
    throw usageError(
      `nobody is to be asked: no policy in force has the rule approval for ${of}; leave ask out`,
    );
  }
  return ({ members: announced, expiresAtMs, by }) =>
    askAboutOrder(
      { store, clock },
      { source, kind, id, members: announced, expiresAtMs, by },
      { deployment, needs },
    );
}

async function expected(ask: Ask, result: Expected): Promise<Expected> {
  return ask === undefined ? result : { ...result, asked: await ask(result.order) };
}

export const expectOrder = {
  name: 'orders expect',
  summary: 'Announce an order. The rule `expected-order` only passes a callback that agrees with it.',
  role: 'operate',
  input: expectInput,
  async perform(parts, order, by) {
    const ask = await askingFor(parts, order);
    const { store, sources, clock } = parts;
    return expected(ask, await announceOrder(store, sources, { ...order, by }, clock()));
  },
  fourEyes: {
    name: 'orders',
    async judge(parts, order) {
      const ask = await askingFor(parts, order);
      const { store, sources, clock } = parts;
      const announced = await announcedBefore(store, sources, order, clock());
      if (announced === undefined) return { is: 'looser' };
      return { is: 'done', result: () => expected(ask, { outcome: 'unchanged', order: announced }) };
    },
  },
  text({ outcome, order, asked }) {
    const before = outcome === 'unchanged' ? ' It was already announced.' : '';
    return `${orderText(order)}.${before}${askedText(asked, order)}`;
  },
  notice({ outcome, order, asked }) {
    const announced = outcome === 'expected' ? 'The order is announced.' : 'It was already announced.';
    return `${announced}${askedText(asked, order)}`;
  },
  json: ({ outcome, order, asked }) => ({
    outcome,
    order: orderJson(order),
    ...(asked && { request: { id: asked.id, state: asked.state, expires: isoTime(asked.expiresAtMs) } }),
  }),
  followed: () => ({}),
} satisfies Act<ExpectParts, typeof expectInput, Expected>;

function askedText(asked: ApprovalRequest | undefined, { source }: Order): string {
  if (asked === undefined) return '';
  const { id, state, expiresAtMs } = asked;
  if (state !== 'pending') return ` Nobody is asked: the request ${id} is ${state}.`;
  const command = `countersign approvals approve ${id} --source ${source} --key FILE`;
  return ` People approve it until ${isoTime(expiresAtMs)}, with \`${command}\`.`;
}

const cancelInput = z.strictObject(named);

export const cancelOrder = {
  name: 'orders cancel',
  summary: 'Cancel an announced order, and what people approved about it. A used order stays used.',
  role: 'operate',
  input: cancelInput,
  async perform({ store, sources, clock }, { source, ...order }, by) {
    const { name } = orderSource(sources, source, order.kind);
    const cancelled = await store.cancelOrder({ source: name, subject: subjectOf(order), by });
    // If this is not reached, the approval still counts for nothing: the store compares the order.
    await endOrderRequest({ store, clock }, { source: name, id: subjectOf(order), by });
    return cancelled;
  },
  text: ({ outcome, order }) =>
    outcome === 'cancelled' ? orderText(order) : `Nothing to cancel: ${orderText(order)}`,
  notice: ({ outcome, order }) =>
    outcome === 'cancelled' ? 'The order is cancelled.' : `Nothing to cancel: it is ${order.state}.`,
  json: ({ outcome, order }) => ({ outcome, order: orderJson(order) }),
  isDone: ({ outcome }) => outcome === 'cancelled',
  followed: () => ({}),
} satisfies Act<
  OrderParts<'cancelOrder' | keyof ApprovalRequests> & { readonly clock: Clock },
  typeof cancelInput,
  Awaited<ReturnType<Store['cancelOrder']>>
>;

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
