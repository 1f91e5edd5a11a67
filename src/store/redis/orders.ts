import { z } from 'zod';
import { assertAnnouncement, missingOrder } from '../arguments.ts';
import type { Order, OrderAnnouncement, Orders } from '../store.ts';
import { type RedisParts, clockArgument, journalArguments } from './parts.ts';
import { digits, parseReply, pairs, text } from './reply.ts';
import { loadScript, run } from './script.ts';

const expectScript = loadScript('expect-order-4');
const cancelScript = loadScript('cancel-order-4');
const lookUpScript = loadScript('order-2');

/** An order is in the slot of its source, so that `settle` can use it in the same step. */
export function createOrders(parts: RedisParts): Orders {
  return {
    expectOrder: (announcement) => expectOrder(parts, announcement),
    async order(source, subject) {
      const keys = parts.keys.of(source);
      const names = [keys.control, keys.order(subject)];
      const reply = await run(parts.connection, lookUpScript, names, [clockArgument(parts)]);
      if (reply === null) return undefined;
      const [state, fields] = parseReply(z.tuple([states, pairs]), nameOf(source, subject), reply);
      return orderOf(source, subject, state, fields);
    },
    async cancelOrder({ source, subject, by }) {
      const reply = await change(parts, cancelScript, { source, subject }, [by]);
      if (reply === null) throw missingOrder(source, subject);
      const cancelled = z.tuple([z.enum(['cancelled', 'ended']), states, pairs]);
      const [outcome, state, fields] = parseReply(cancelled, nameOf(source, subject), reply);
      return { outcome, order: orderOf(source, subject, state, fields) };
    },
  };
}

const states = z.enum(['expected', 'used', 'cancelled', 'expired']);

async function expectOrder(
  parts: RedisParts,
  announcement: OrderAnnouncement,
): ReturnType<Orders['expectOrder']> {
  assertAnnouncement(announcement);
  const { source, subject, members, expiresAtMs, by } = announcement;
  const detail = JSON.stringify({ change: 'expect', members, expiresAtMs, by });
  const args = [expiresAtMs, by, detail, ...Object.entries(members).flat()];
  const reply = await change(parts, expectScript, { source, subject }, args);
  const expected = z.tuple([z.enum(['expected', 'unchanged', 'conflict']), states, pairs]);
  const [outcome, state, fields] = parseReply(expected, nameOf(source, subject), reply);
  return { outcome, order: orderOf(source, subject, state, fields) };
}

function change(
  parts: RedisParts,
  script: typeof expectScript,
  { source, subject }: Pick<Order, 'source' | 'subject'>,
  args: readonly (string | number)[],
): Promise<unknown> {
  const keys = parts.keys.of(source);
  return run(
    parts.connection,
    script,
    [keys.control, keys.order(subject), keys.subject(subject), keys.journal],
    [...journalArguments(parts), parts.retention.subjectsMs, subject, ...args],
  );
}

function orderOf(
  source: string,
  subject: string,
  state: Order['state'],
  fields: ReadonlyMap<string, string>,
): Order {
  const what = nameOf(source, subject);
  const members = [...fields].flatMap(([field, value]) =>
    field.startsWith('m:') ? [[field.slice(2), value] as const] : [],
  );
  return {
    source,
    subject,
    members: Object.fromEntries(members),
    expiresAtMs: parseReply(digits, what, fields.get('expires')),
    by: parseReply(text, what, fields.get('by')),
    state,
    announcedAtMs: parseReply(digits, what, fields.get('announced')),
    endedAtMs: parseReply(digits, what, fields.get('ended')),
  };
}

const nameOf = (source: string, subject: string): string => `the order of ${source} for ${subject}`;
