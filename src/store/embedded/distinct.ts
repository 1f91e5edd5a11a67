import type { DatabaseSync } from 'node:sqlite';
import { type DistinctClaim, type DistinctResult, DISTINCT_MAX } from '../../claims/distinct.ts';
import { type Marks, ownerOf } from './counters.ts';
import { integer } from './rows.ts';

/** Counters of different values: see DistinctClaim. */
export interface DistinctCounters {
  /** How many values a counter counts. */
  count(source: string, key: string, nowMs: number): number;
  has(source: string, key: string, value: string, nowMs: number): boolean;
  /** Counts the values from now on, none shorter than before, and returns until when. */
  add(
    source: string,
    claim: Pick<DistinctClaim, 'key' | 'window'>,
    values: readonly string[],
    nowMs: number,
  ): number;
  /** Deletes at most `limit` values that no longer count. */
  expire(nowMs: number, limit: number): void;
}

export function createDistinctCounters(connection: DatabaseSync): DistinctCounters {
  const count = connection.prepare(
    'SELECT count(*) AS values_counted FROM distinct_value WHERE source = ? AND key = ? AND until_ms > ?',
  );
  const find = connection.prepare(
    'SELECT until_ms FROM distinct_value WHERE source = ? AND key = ? AND value = ?',
  );
  const save = connection.prepare(
    `INSERT INTO distinct_value (source, key, value, until_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET until_ms = max(until_ms, excluded.until_ms)`,
  );
  const dropExpired = connection.prepare(
    'DELETE FROM distinct_value WHERE source = ? AND key = ? AND until_ms <= ?',
  );
  const dropExcess = connection.prepare(
    `DELETE FROM distinct_value WHERE source = ?1 AND key = ?2 AND value IN (
       SELECT value FROM distinct_value WHERE source = ?1 AND key = ?2
       ORDER BY until_ms DESC, value DESC LIMIT -1 OFFSET ?3)`,
  );
  const expire = connection.prepare(
    `DELETE FROM distinct_value WHERE (source, key, value) IN (
       SELECT source, key, value FROM distinct_value WHERE until_ms <= ? LIMIT ?)`,
  );
  return {
    count(source, key, nowMs) {
      const row = count.get(ownerOf(source, key), key, nowMs);
      return row === undefined ? 0 : integer(row, 'values_counted');
    },
    has(source, key, value, nowMs) {
      const row = find.get(ownerOf(source, key), key, value);
      return row !== undefined && integer(row, 'until_ms') > nowMs;
    },
    add(of, { key, window }, values, nowMs) {
      const source = ownerOf(of, key);
      const untilMs = window.type === 'calendar' ? window.endMs : nowMs + window.lengthMs;
      for (const value of values) save.run(source, key, value, untilMs);
      dropExpired.run(source, key, nowMs);
      dropExcess.run(source, key, DISTINCT_MAX + 1);
      return untilMs;
    },
    expire(nowMs, limit) {
      expire.run(nowMs, limit);
    },
  };
}

interface Asked {
  /** What the counter counts, with what earlier claims of the request asked for. */
  count: number;
  /** These values, with the number of claims that asked for each. */
  readonly values: Map<string, number>;
}

/**
 * Checks the distinct claims of one request in turn. Several claims on one counter share its room. `undo`
 * takes back what a claim asked for whose alternative is not taken.
 */
export interface DistinctCheck {
  check(claim: DistinctClaim): DistinctResult;
  undo(claim: DistinctClaim): void;
  /** The values of a claim that count. */
  counting(claim: DistinctClaim): readonly string[];
}

/** `firsts`: the values that this subject was the first to have. */
export function createDistinctCheck(
  { distinct, marks }: { readonly distinct: DistinctCounters; readonly marks: Marks },
  source: string,
  firsts: readonly string[],
  nowMs: number,
): DistinctCheck {
  const ownFirsts = new Set(firsts);
  const counting = ({ values, onlyNew }: DistinctClaim): readonly string[] =>
    onlyNew
      ? values.filter((value) => ownFirsts.has(value) || marks.markedAtMs(source, value) === 0)
      : values;
  const asked = new Map<string, Asked>();
  const askedIn = (key: string): Asked => {
    const found = asked.get(key) ?? { count: distinct.count(source, key, nowMs), values: new Map() };
    asked.set(key, found);
    return found;
  };
  /** By claim, the values for which it asked for room. */
  const further = new Map<DistinctClaim, readonly string[]>();
  return {
    counting,
    check(claim) {
      const { key, values, max, onlyNew } = claim;
      const own = counting(claim);
      const uncounted = own.filter((value) => !distinct.has(source, key, value, nowMs));
      further.set(claim, uncounted);
      const counter = askedIn(key);
      const counted = counter.count;
      for (const value of uncounted) {
        const requests = counter.values.get(value) ?? 0;
        counter.values.set(value, requests + 1);
        if (requests === 0) counter.count += 1;
      }
      const isFree = onlyNew && own.length === 0;
      const holds = values.length > 0 && (counter.count <= max || isFree);
      return { type: 'distinct', holds, counted, further: counter.count - counted };
    },
    undo(claim) {
      const counter = askedIn(claim.key);
      for (const value of further.get(claim) ?? []) {
        const requests = counter.values.get(value) ?? 0;
        counter.values.set(value, requests - 1);
        if (requests === 1) counter.count -= 1;
      }
    },
  };
}
