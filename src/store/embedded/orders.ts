import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { assertAnnouncement, missingOrder } from '../arguments.ts';
import type { Order, OrderAnnouncement, Orders } from '../store.ts';
import type { JournalTable } from './journal.ts';
import { type Row, integer, text } from './rows.ts';

type ExpectResult = Awaited<ReturnType<Orders['expectOrder']>>;
type CancelResult = Awaited<ReturnType<Orders['cancelOrder']>>;

export interface OrderTables {
  find(source: string, subject: string, nowMs: number): Order | undefined;
  /** Throws USAGE. */
  expect(announcement: OrderAnnouncement, nowMs: number): ExpectResult;
  /** Throws NOT_FOUND. */
  cancel(cancel: Parameters<Orders['cancelOrder']>[0], nowMs: number): CancelResult;
  /** Marks an order as used, unless it is used or cancelled already. */
  use(source: string, subject: string, nowMs: number): void;
  /** Deletes at most `limit` orders that expired before the instant. */
  expire(beforeMs: number, limit: number): void;
}

/** Pairs, because a member can have any name, and a schema of an object would drop `__proto__`. */
const membersSchema = z.array(z.tuple([z.string(), z.string()]));
const endedSchema = z.enum(['', 'used', 'cancelled']);

export function createOrders(connection: DatabaseSync, journal: JournalTable): OrderTables {
  const select = connection.prepare('SELECT * FROM expected_order WHERE source = ? AND subject = ?');
  const save = connection.prepare(
    `INSERT OR REPLACE INTO expected_order
       (source, subject, members, expires_ms, by, announced_ms, ended, ended_ms)
     VALUES (?, ?, ?, ?, ?, ?, '', 0)`,
  );
  const cancel = connection.prepare(
    `UPDATE expected_order SET ended = 'cancelled', ended_ms = ? WHERE source = ? AND subject = ?`,
  );
  const use = connection.prepare(
    `UPDATE expected_order SET ended = 'used', ended_ms = ? WHERE source = ? AND subject = ? AND ended = ''`,
  );
  const expired = connection.prepare(
    'SELECT source, subject FROM expected_order WHERE expires_ms < ? LIMIT ?',
  );
  const drop = connection.prepare('DELETE FROM expected_order WHERE source = ? AND subject = ?');

  const find: OrderTables['find'] = (source, subject, nowMs) => {
    const row = select.get(source, subject);
    return row === undefined ? undefined : orderOf(row, nowMs);
  };
  const addToJournal = (
    change: 'expect' | 'cancel',
    { source, subject, members, expiresAtMs }: Order,
    by: string,
    atMs: number,
  ): void => {
    const detail = JSON.stringify({ change, members, expiresAtMs, by });
    journal.append({ source, atMs, type: 'order', subject, detail });
  };

  return {
    find,
    expect(announcement, nowMs) {
      assertAnnouncement(announcement);
      const { source, subject, members, expiresAtMs, by } = announcement;
      const current = find(source, subject, nowMs);
      if (current?.state === 'used') return { outcome: 'conflict', order: current };
      if (current?.state === 'expected') {
        const same = current.expiresAtMs === expiresAtMs && stored(current.members) === stored(members);
        return { outcome: same ? 'unchanged' : 'conflict', order: current };
      }
      save.run(source, subject, stored(members), expiresAtMs, by, nowMs);
      const order = find(source, subject, nowMs) ?? unreadable(source, subject);
      addToJournal('expect', order, by, nowMs);
      return { outcome: 'expected', order };
    },
    cancel({ source, subject, by }, nowMs) {
      const current = find(source, subject, nowMs);
      if (current === undefined) throw missingOrder(source, subject);
      if (current.state !== 'expected') return { outcome: 'ended', order: current };
      cancel.run(nowMs, source, subject);
      addToJournal('cancel', current, by, nowMs);
      return { outcome: 'cancelled', order: { ...current, state: 'cancelled', endedAtMs: nowMs } };
    },
    use(source, subject, nowMs) {
      use.run(nowMs, source, subject);
    },
    expire(beforeMs, limit) {
      for (const row of expired.all(beforeMs, limit)) drop.run(text(row, 'source'), text(row, 'subject'));
    },
  };
}

/** Equal for the same members in any order. */
function stored(members: Order['members']): string {
  return JSON.stringify(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function orderOf(row: Row, nowMs: number): Order {
  const [source, subject] = [text(row, 'source'), text(row, 'subject')];
  const expiresAtMs = integer(row, 'expires_ms');
  try {
    const ended = endedSchema.parse(row['ended']);
    return {
      source,
      subject,
      members: Object.fromEntries(membersSchema.parse(JSON.parse(text(row, 'members')))),
      expiresAtMs,
      by: text(row, 'by'),
      state: ended === '' ? (nowMs < expiresAtMs ? 'expected' : 'expired') : ended,
      announcedAtMs: integer(row, 'announced_ms'),
      endedAtMs: integer(row, 'ended_ms'),
    };
  } catch (thrown) {
    return unreadable(source, subject, thrown);
  }
}

function unreadable(source: string, subject: string, thrown?: unknown): never {
  throw new CountersignError(
    'STORE_CORRUPT',
    `the order that was announced for ${subject} of ${source} can't be read; restore the store from a backup`,
    { source, subject },
    thrown,
  );
}
