import type { DatabaseSync } from 'node:sqlite';
import { createCounters } from './counters.ts';
import { createFreezes } from './freezes.ts';
import type { JournalTable } from './journal.ts';
import { createLists } from './lists.ts';
import { createMarks } from './marks.ts';
import { createOrders } from './orders.ts';
import { createReleases } from './releases.ts';
import type { SettleTables } from './settle.ts';
import { type SourceTable, createSources } from './sources.ts';
import { createSubjects } from './subjects.ts';

/** All that settle needs of a database in the current schema, with a journal of one's own choice. */
export function createSettleTables(
  connection: DatabaseSync,
  journal: JournalTable,
): SettleTables & { readonly sources: SourceTable } {
  const sources = createSources(connection);
  return {
    sources,
    releases: createReleases(connection, createFreezes(connection, journal, sources)),
    subjects: createSubjects(connection),
    counters: createCounters(connection),
    lists: createLists(connection, journal),
    marks: createMarks(connection),
    orders: createOrders(connection, journal),
    journal,
  };
}
