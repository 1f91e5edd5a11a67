import type { DatabaseSync } from 'node:sqlite';
import { createCounters } from './counters.ts';
import type { JournalTable } from './journal.ts';
import { createLists } from './lists.ts';
import { createMarks } from './marks.ts';
import { createOrders } from './orders.ts';
import { createReleases } from './releases.ts';
import type { SettleTables } from './settle.ts';
import { createSubjects } from './subjects.ts';

/** All that settle needs of a database in the current schema, with a journal of one's own choice. */
export function createSettleTables(connection: DatabaseSync, journal: JournalTable): SettleTables {
  return {
    releases: createReleases(connection),
    subjects: createSubjects(connection),
    counters: createCounters(connection),
    lists: createLists(connection, journal),
    marks: createMarks(connection),
    orders: createOrders(connection, journal),
    journal,
  };
}
