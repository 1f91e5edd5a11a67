import type { DatabaseSync } from 'node:sqlite';
import type { ListClaim } from '../../claims/list.ts';
import { missingList } from '../arguments.ts';
import type { ListChange, ListEntry, ListSummary } from '../store.ts';
import type { JournalTable } from './journal.ts';
import { type Row, integer, text } from './rows.ts';

const PAGE_SIZE = 1000;

type Added = readonly [value: string, addedAtMs: number];

export interface ListTables {
  /** The number of changes to a list; 0 for a list that does not exist. */
  version(source: string, list: string): number;
  /**
   * The values that the list holds, each with the time when the first of its texts was added. Undefined for a
   * list that does not exist.
   */
  added(source: string, claim: Pick<ListClaim, 'list' | 'values' | 'also'>): readonly Added[] | undefined;
  change(
    change: ListChange,
    nowMs: number,
  ): { readonly added: number; readonly removed: number; readonly summary: ListSummary };
  summaries(source: string): readonly ListSummary[];
  /** One page of entries after a value. Throws NOT_FOUND. */
  page(source: string, list: string, after: string | undefined): readonly ListEntry[];
}

export function createLists(connection: DatabaseSync, journal: JournalTable): ListTables {
  const columns = 'id, name, entries, version, changed_ms';
  const find = connection.prepare(`SELECT ${columns} FROM list WHERE source = ? AND name = ?`);
  const all = connection.prepare(`SELECT ${columns} FROM list WHERE source = ? ORDER BY name`);
  const holds = connection.prepare('SELECT added_ms FROM list_entry WHERE list = ? AND value = ?');
  const create = connection.prepare(
    `INSERT INTO list (source, name, version, entries, changed_ms) VALUES (?, ?, 0, 0, ?)
     ON CONFLICT DO NOTHING`,
  );
  const recordChange = connection.prepare(
    `UPDATE list SET version = version + 1, entries = entries + ?, changed_ms = ? WHERE id = ?
     RETURNING ${columns}`,
  );
  const add = connection.prepare('INSERT INTO list_entry VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const remove = connection.prepare('DELETE FROM list_entry WHERE list = ? AND value = ?');
  const first = connection.prepare(
    `SELECT value, added_ms FROM list_entry WHERE list = ? ORDER BY value LIMIT ${PAGE_SIZE}`,
  );
  const next = connection.prepare(
    `SELECT value, added_ms FROM list_entry WHERE list = ? AND value > ? ORDER BY value LIMIT ${PAGE_SIZE}`,
  );

  return {
    version(source, list) {
      const row = find.get(source, list);
      return row === undefined ? 0 : integer(row, 'version');
    },
    added(source, { list, values, also }) {
      const row = find.get(source, list);
      if (row === undefined) return undefined;
      const id = integer(row, 'id');
      return values.flatMap((value, index): readonly Added[] => {
        const times = [value, ...(also?.[index] ?? [])].flatMap((each) => {
          const entry = holds.get(id, each);
          return entry === undefined ? [] : integer(entry, 'added_ms');
        });
        return times.length === 0 ? [] : [[value, Math.min(...times)]];
      });
    },
    change({ source, list, add: adding, remove: removing, by, message }, nowMs) {
      // A misspelt name would create an empty list, which passes every rule that denies listed values.
      if (adding.length === 0 && removing.length > 0 && find.get(source, list) === undefined)
        throw missingList(source, list);
      create.run(source, list, nowMs);
      const id = integer(find.get(source, list) ?? {}, 'id');
      const added = adding.reduce((count, value) => count + Number(add.run(id, value, nowMs).changes), 0);
      const removed = removing.reduce((count, value) => count + Number(remove.run(id, value).changes), 0);
      const summary = summaryOf(recordChange.get(added - removed, nowMs, id) ?? {});
      const detail = JSON.stringify({ list, add: adding, remove: removing, by, message });
      journal.append({ source, atMs: nowMs, type: 'list', detail });
      return { added, removed, summary };
    },
    summaries: (source) => all.all(source).map(summaryOf),
    page(source, list, after) {
      const row = find.get(source, list);
      if (row === undefined) throw missingList(source, list);
      const id = integer(row, 'id');
      const rows = after === undefined ? first.all(id) : next.all(id, after);
      return rows.map((each) => ({ value: text(each, 'value'), addedAtMs: integer(each, 'added_ms') }));
    },
  };
}

function summaryOf(row: Row): ListSummary {
  return {
    list: text(row, 'name'),
    entries: integer(row, 'entries'),
    version: integer(row, 'version'),
    changedAtMs: integer(row, 'changed_ms'),
  };
}
