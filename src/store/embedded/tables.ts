import type { DatabaseSync } from 'node:sqlite';
import { type AccessTable, createAccessTable } from './access.ts';
import { createApprovalRequests } from './approval-requests.ts';
import { createCounters, createMarks } from './counters.ts';
import { createDistinctCounters } from './distinct.ts';
import { type InForce, type SourceTable, createReleases, createSources } from './in-force.ts';
import type { JournalTable } from './journal.ts';
import { createLists } from './lists.ts';
import { createOrders } from './orders.ts';
import { createLockoutTables } from './lockouts.ts';
import { type PriceRows, createPrices } from './prices.ts';
import { type ServiceTables, createServices } from './services.ts';
import type { SettleTables } from './settle.ts';
import { createSubjects } from './subjects.ts';

export interface Tables extends SettleTables {
  readonly sources: SourceTable;
  readonly prices: PriceRows;
  readonly services: ServiceTables;
  readonly access: AccessTable;
}

/** All tables of a database in the current schema. A simulation passes its own journal. */
export function createTables(connection: DatabaseSync, journal: JournalTable): Tables {
  const sources = createSources(connection);
  return {
    sources,
    journal,
    releases: createReleases(connection, journal, sources),
    subjects: createSubjects(connection),
    counters: createCounters(connection),
    distinct: createDistinctCounters(connection),
    lists: createLists(connection, journal),
    lockouts: createLockoutTables(connection, journal),
    marks: createMarks(connection),
    orders: createOrders(connection, journal),
    requests: createApprovalRequests(connection),
    prices: createPrices(connection),
    services: createServices(connection),
    access: createAccessTable(connection),
  };
}

/** Tables that read what is in force once. Call `invalidate` whenever it may have changed. */
export function cacheInForce(tables: Tables): Tables & { readonly invalidate: () => void } {
  let cached: InForce | undefined;
  return {
    ...tables,
    releases: { ...tables.releases, inForce: () => (cached ??= tables.releases.inForce()) },
    invalidate() {
      cached = undefined;
    },
  };
}
