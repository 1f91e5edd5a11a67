import type { DatabaseSync } from 'node:sqlite';
import { assertApprovalRequestChange } from '../arguments.ts';
import {
  APPROVAL_REQUESTS_MAX,
  type ApprovalRequestChange,
  type ApprovalRequestRecord,
  type ApprovalRequests,
} from '../store.ts';
import { type Row, integer, text } from './rows.ts';

type OpenRequests = Awaited<ReturnType<ApprovalRequests['openApprovalRequests']>>;
type ChangeResult = Awaited<ReturnType<ApprovalRequests['changeApprovalRequest']>>;

export interface ApprovalRequestTable {
  find(scope: string, id: string, nowMs: number): ApprovalRequestRecord | undefined;
  open(scope: string, newest: number, nowMs: number): OpenRequests;
  /** Throws USAGE. */
  change(change: ApprovalRequestChange, nowMs: number): ChangeResult;
  /** Uses a request for the journal entry, unless it was used before. Returns the entry that used it. */
  use(scope: string, id: string, entry: string, nowMs: number): string;
  /** Deletes at most `limit` unused requests that are no longer kept. */
  expire(nowMs: number, limit: number): void;
  /** Deletes at most `limit` used requests that were kept, or claimed, until before the instant. */
  expireUsed(beforeMs: number, limit: number): void;
}

export function createApprovalRequests(connection: DatabaseSync): ApprovalRequestTable {
  const select = connection.prepare(
    `SELECT * FROM approval_request WHERE scope = ? AND id = ? AND (used_by <> '' OR until_ms > ?)`,
  );
  const selectOpen = connection.prepare(
    'SELECT * FROM approval_request WHERE scope = ? AND place > 0 AND until_ms > ? ORDER BY place DESC LIMIT ?',
  );
  const countOpen = connection.prepare(
    `SELECT count(*) AS requests, coalesce(max(place), 0) AS last FROM approval_request
     WHERE scope = ? AND place > 0 AND until_ms > ?`,
  );
  const endFirst = connection.prepare(
    `UPDATE approval_request SET place = 0, version = version + 1 WHERE scope = ?1 AND id = (
       SELECT id FROM approval_request WHERE scope = ?1 AND place > 0 AND until_ms > ?2 ORDER BY place LIMIT 1)
     RETURNING id`,
  );
  const save = connection.prepare(
    `INSERT OR REPLACE INTO approval_request (scope, id, version, value, place, used_by, until_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const use = connection.prepare(
    `UPDATE approval_request
     SET used_by = iif(used_by = '', ?, used_by), place = 0, until_ms = max(until_ms, ?)
     WHERE scope = ? AND id = ? RETURNING used_by`,
  );
  const expire = connection.prepare(
    `DELETE FROM approval_request WHERE (scope, id) IN (
       SELECT scope, id FROM approval_request WHERE used_by = '' AND until_ms <= ? LIMIT ?)`,
  );
  const expireUsed = connection.prepare(
    `DELETE FROM approval_request WHERE (scope, id) IN (
       SELECT scope, id FROM approval_request WHERE used_by <> '' AND until_ms < ? LIMIT ?)`,
  );

  /** The place of one more open request, and the request that had to make room for it. */
  const openOneMore = (scope: string, nowMs: number): { readonly place: number; readonly ended?: string } => {
    const open = countOpen.get(scope, nowMs) ?? {};
    const place = integer(open, 'last') + 1;
    if (integer(open, 'requests') < APPROVAL_REQUESTS_MAX) return { place };
    return { place, ended: text(endFirst.get(scope, nowMs) ?? {}, 'id') };
  };

  return {
    find(scope, id, nowMs) {
      const row = select.get(scope, id, nowMs);
      return row && recordOf(row);
    },
    open: (scope, newest, nowMs) =>
      selectOpen
        .all(scope, nowMs, newest)
        .map((row) => ({ id: text(row, 'id'), record: recordOf(row) }))
        .toReversed(),
    change(change, nowMs) {
      assertApprovalRequestChange(change);
      const { scope, id, expected, value, isOpen, keepMs } = change;
      const row = select.get(scope, id, nowMs) ?? UNWRITTEN;
      if (integer(row, 'version') !== expected) return { done: false };
      const usedBy = text(row, 'used_by');
      const before = integer(row, 'place');
      const stays = isOpen && usedBy === '';
      const { place, ended } =
        stays && before === 0 ? openOneMore(scope, nowMs) : { place: stays ? before : 0 };
      save.run(scope, id, expected + 1, value, place, usedBy, nowMs + keepMs);
      return { done: true, ...(ended !== undefined && { ended }) };
    },
    use: (scope, id, entry, nowMs) => text(use.get(entry, nowMs, scope, id) ?? {}, 'used_by'),
    expire: (nowMs, limit) => void expire.run(nowMs, limit),
    expireUsed: (beforeMs, limit) => void expireUsed.run(beforeMs, limit),
  };
}

const UNWRITTEN: Row = { version: 0, used_by: '', place: 0 };

const recordOf = (row: Row): ApprovalRequestRecord => ({
  version: integer(row, 'version'),
  value: text(row, 'value'),
  isOpen: integer(row, 'place') > 0,
  usedBy: text(row, 'used_by'),
});
