import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Window, type WindowClaim, groupOfKey } from '../../claims/window.ts';
import type { Amount } from '../../values/amount.ts';
import type { CountedBucket } from '../store.ts';
import { amount, integer, text } from './rows.ts';
import type { Reservation } from './subjects.ts';

type Counted = Pick<WindowClaim, 'key' | 'window'>;

export interface Counters {
  /** The sum of the amounts in a counter's window. Evicts buckets that no longer count. */
  used(source: string, claim: Counted, nowMs: number): Amount;
  /** What {@link used} would return. Reads only. */
  look(source: string, claim: Counted, nowMs: number): Amount;
  /**
   * Reserves an amount now, in place of what the subject has reserved before, if the window still counts
   * that. `others` is the result of {@link used} in this transaction, without it. Returns the reservation.
   */
  move(
    source: string,
    claim: Counted,
    nowMs: number,
    change: { readonly others: Amount; readonly amount: Amount; readonly before: Reservation | undefined },
  ): Reservation;
  /** Oldest first; also those that no longer count. */
  buckets(source: string, key: string): readonly CountedBucket[];
  /**
   * Whether the counter's bucket holds at least the amount. A bucket that was evicted, because it no longer
   * counts, holds nothing, and none begins at its end again: the store's time never runs backwards.
   */
  has(source: string, reservation: Reservation): boolean;
  /** Takes the amount out of its bucket, which must hold it. */
  giveBack(source: string, reservation: Reservation): void;
  /** Deletes at most `limit` counters whose last bucket has expired. */
  expire(nowMs: number, limit: number): void;
}

/** Counters of approved amounts. Each has a running total, so that a check does not sum the whole window. */
export function createCounters(connection: DatabaseSync): Counters {
  const { find, retotal, used, look } = createSums(connection);
  const save = connection.prepare(
    `INSERT INTO counter (source, key, total, expires_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET total = excluded.total, expires_ms = max(expires_ms, excluded.expires_ms)`,
  );
  const all = connection.prepare(
    'SELECT end_ms, amount FROM bucket WHERE source = ? AND key = ? ORDER BY end_ms',
  );
  const findBucket = connection.prepare(
    'SELECT amount FROM bucket WHERE source = ? AND key = ? AND end_ms = ?',
  );
  const saveBucket = connection.prepare(
    `INSERT INTO bucket (source, key, end_ms, amount) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET amount = excluded.amount`,
  );
  const expired = connection.prepare('SELECT source, key FROM counter WHERE expires_ms <= ? LIMIT ?');
  const dropBuckets = connection.prepare('DELETE FROM bucket WHERE source = ? AND key = ?');
  const drop = connection.prepare('DELETE FROM counter WHERE source = ? AND key = ?');

  const inBucket = (
    source: string,
    { key, bucketEndMs }: Pick<Reservation, 'key' | 'bucketEndMs'>,
  ): Amount => {
    const bucket = findBucket.get(ownerOf(source, key), key, bucketEndMs);
    return bucket === undefined ? 0n : amount(bucket, 'amount');
  };

  return {
    used,
    look,
    buckets: (source, key) =>
      all.all(ownerOf(source, key), key).map((row) => ({
        endMs: integer(row, 'end_ms'),
        amount: amount(row, 'amount'),
      })),
    has: (source, reservation) => inBucket(source, reservation) >= reservation.amount,
    giveBack(of, reservation) {
      const { key, bucketEndMs } = reservation;
      const source = ownerOf(of, key);
      const counter = find.get(source, key);
      if (counter === undefined) throw new Error(`the counter ${key} has a bucket and no total`);
      retotal.run(String(amount(counter, 'total') - reservation.amount), source, key);
      saveBucket.run(source, key, bucketEndMs, String(inBucket(source, reservation) - reservation.amount));
    },
    move(of, { key, window }, nowMs, { others, amount: moved, before }) {
      const source = ownerOf(of, key);
      const { endMs, expiresMs } = bucketOf(window, nowMs);
      const reservation = { key, amount: moved, bucketEndMs: endMs, untilMs: expiresMs };
      if (before?.bucketEndMs === endMs && before.amount === moved) return reservation;
      if (before !== undefined) {
        saveBucket.run(source, key, before.bucketEndMs, String(inBucket(source, before) - before.amount));
      }
      save.run(source, key, String(others + moved), expiresMs);
      saveBucket.run(source, key, endMs, String(inBucket(source, reservation) + moved));
      return reservation;
    },
    expire(nowMs, limit) {
      for (const row of expired.all(nowMs, limit)) {
        dropBuckets.run(text(row, 'source'), text(row, 'key'));
        drop.run(text(row, 'source'), text(row, 'key'));
      }
    },
  };
}

function createSums(connection: DatabaseSync) {
  // The end of the first bucket shows, without a second query, whether a bucket must be evicted.
  const find = connection.prepare(
    `SELECT total,
       (SELECT end_ms FROM bucket WHERE bucket.source = counter.source AND bucket.key = counter.key
        ORDER BY end_ms LIMIT 1) AS first_ms
     FROM counter WHERE source = ? AND key = ?`,
  );
  const past = connection.prepare('SELECT amount FROM bucket WHERE source = ? AND key = ? AND end_ms <= ?');
  const evict = connection.prepare(
    'DELETE FROM bucket WHERE source = ? AND key = ? AND end_ms <= ? RETURNING amount',
  );
  const retotal = connection.prepare('UPDATE counter SET total = ? WHERE source = ? AND key = ?');
  /** `take` returns the buckets that no longer count, and `save` gets the total without them. */
  const sum = (
    of: string,
    { key, window }: Counted,
    nowMs: number,
    { take, save: saveTotal }: { readonly take: StatementSync; readonly save?: StatementSync },
  ): Amount => {
    const source = ownerOf(of, key);
    const row = find.get(source, key);
    if (row === undefined) return 0n;
    const { horizonMs } = bucketOf(window, nowMs);
    if (row['first_ms'] === null || integer(row, 'first_ms') > horizonMs) return amount(row, 'total');
    const buckets = take.all(source, key, horizonMs);
    const total = buckets.reduce((rest, bucket) => rest - amount(bucket, 'amount'), amount(row, 'total'));
    saveTotal?.run(String(total), source, key);
    return total;
  };
  const evicting = { take: evict, save: retotal };
  const looking = { take: past };
  return {
    find,
    retotal,
    used: (source: string, claim: Counted, nowMs: number) => sum(source, claim, nowMs, evicting),
    look: (source: string, claim: Counted, nowMs: number) => sum(source, claim, nowMs, looking),
  };
}

/** The rows of what a group shares belong to no source, so each source of the group finds them. */
export const ownerOf = (source: string, key: string): string => (groupOfKey(key) === undefined ? source : '');

/** The bucket for an amount that is reserved now. A calendar period is one bucket. */
interface Bucket {
  /** The end of the bucket, which identifies it within the counter. */
  readonly endMs: number;
  /** Buckets that end at or before this instant no longer count. */
  readonly horizonMs: number;
  /** From this instant the bucket no longer counts. */
  readonly expiresMs: number;
}

function bucketOf(window: Window, nowMs: number): Bucket {
  if (window.type === 'calendar') {
    const { startMs, endMs } = window;
    return { endMs, horizonMs: nowMs < endMs ? startMs : endMs, expiresMs: endMs };
  }
  const endMs = (Math.floor(nowMs / window.bucketMs) + 1) * window.bucketMs;
  return { endMs, horizonMs: nowMs - window.lengthMs, expiresMs: endMs + window.lengthMs };
}

// ---- marks ----

export interface Marks {
  /** When the mark was made; 0 if it never was. */
  markedAtMs(source: string, key: string): number;
  /** Makes the mark, or extends the retention of an existing one. */
  make(source: string, key: string, nowMs: number): void;
  /** Deletes at most `limit` marks that no approval has claimed since the instant. */
  expire(beforeMs: number, limit: number): void;
}

/** When each value, such as a recipient, was first approved: by the keys that mark claims name. */
export function createMarks(connection: DatabaseSync): Marks {
  const find = connection.prepare('SELECT made_ms FROM mark WHERE source = ? AND key = ?');
  const save = connection.prepare(
    `INSERT INTO mark (source, key, made_ms, claimed_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET claimed_ms = excluded.claimed_ms`,
  );
  const expired = connection.prepare('SELECT source, key FROM mark WHERE claimed_ms < ? LIMIT ?');
  const drop = connection.prepare('DELETE FROM mark WHERE source = ? AND key = ?');
  return {
    markedAtMs(source, key) {
      const row = find.get(ownerOf(source, key), key);
      return row === undefined ? 0 : integer(row, 'made_ms');
    },
    make(source, key, nowMs) {
      save.run(ownerOf(source, key), key, nowMs, nowMs);
    },
    expire(beforeMs, limit) {
      for (const row of expired.all(beforeMs, limit)) drop.run(text(row, 'source'), text(row, 'key'));
    },
  };
}
