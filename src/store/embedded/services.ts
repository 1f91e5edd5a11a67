import type { DatabaseSync } from 'node:sqlite';
import type { Heartbeat, ServiceStatus } from '../store.ts';
import { integer, text } from './rows.ts';

export interface ServiceTables {
  saveHeartbeat(heartbeat: Heartbeat, nowMs: number): void;
  remove(id: string): void;
  /** Counts a request for heartbeats, and returns its number. */
  addRequest(): number;
  /** The number of the last request for heartbeats. */
  lastRequest(): number;
  all(): readonly ServiceStatus[];
}

const DAY_MS = 86_400_000;
/** Larger than most decisions. If it fits on the disk, an ordinary decision fits. */
const PROBE = 'x'.repeat(65_536);

export function createServices(connection: DatabaseSync): ServiceTables {
  const put = connection.prepare(
    `INSERT INTO service VALUES (?, ?, ?, (SELECT number FROM service_call), ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, sequence = excluded.sequence,
       answered = excluded.answered, trouble = excluded.trouble, probe = excluded.probe,
       at_ms = excluded.at_ms`,
  );
  const removeOlder = connection.prepare('DELETE FROM service WHERE at_ms < ?');
  const remove = connection.prepare('DELETE FROM service WHERE id = ?');
  const next = connection.prepare('UPDATE service_call SET number = number + 1 RETURNING number');
  const last = connection.prepare('SELECT number FROM service_call');
  const find = connection.prepare("SELECT * FROM service WHERE name <> '' ORDER BY name, id");
  return {
    saveHeartbeat({ id, name, sequence, trouble, probe = false }, nowMs) {
      put.run(id, name, sequence, trouble, probe ? PROBE : '', nowMs);
      removeOlder.run(nowMs - DAY_MS);
    },
    remove: (id) => void remove.run(id),
    addRequest: () => integer(next.get() ?? {}, 'number'),
    lastRequest: () => integer(last.get() ?? {}, 'number'),
    all: () =>
      find.all().map((row) => ({
        id: text(row, 'id'),
        name: text(row, 'name'),
        sequence: integer(row, 'sequence'),
        answered: integer(row, 'answered'),
        trouble: text(row, 'trouble'),
        atMs: integer(row, 'at_ms'),
      })),
  };
}
