import type { DatabaseSync } from 'node:sqlite';
import type { Heartbeat, ServiceStatus } from '../store.ts';
import { integer, text } from './rows.ts';

export interface ServiceTables {
  attend(attendance: Heartbeat, nowMs: number): void;
  leave(id: string): void;
  /** Counts a call of the services, and returns its number. */
  call(): number;
  /** The number of the last call. */
  calls(): number;
  all(): readonly ServiceStatus[];
}

const DAY_MS = 86_400_000;
/** As large as the largest callback. If the probe fits on the disk, a decision fits too. */
const PROBE = 'x'.repeat(65_536);

export function createServices(connection: DatabaseSync): ServiceTables {
  const put = connection.prepare(
    `INSERT INTO service VALUES (?, ?, ?, (SELECT number FROM service_call), ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, sequence = excluded.sequence,
       answered = excluded.answered, trouble = excluded.trouble, probe = excluded.probe,
       at_ms = excluded.at_ms`,
  );
  const forget = connection.prepare('DELETE FROM service WHERE at_ms < ?');
  const remove = connection.prepare('DELETE FROM service WHERE id = ?');
  const next = connection.prepare('UPDATE service_call SET number = number + 1 RETURNING number');
  const last = connection.prepare('SELECT number FROM service_call');
  const find = connection.prepare("SELECT * FROM service WHERE name <> '' ORDER BY name, id");
  return {
    attend({ id, name, sequence, trouble, probe = false }, nowMs) {
      put.run(id, name, sequence, trouble, probe ? PROBE : '', nowMs);
      forget.run(nowMs - DAY_MS);
    },
    leave: (id) => void remove.run(id),
    call: () => integer(next.get() ?? {}, 'number'),
    calls: () => integer(last.get() ?? {}, 'number'),
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
