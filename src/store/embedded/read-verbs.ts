import type { Clock } from '../../values/clock.ts';
import type { Store } from '../store.ts';
import type { JournalTable } from './journal.ts';
import type { ListTables } from './lists.ts';
import type { OrderTables } from './orders.ts';
import type { PriceTables } from './prices.ts';
import type { ReleaseTables } from './releases.ts';
import type { ServiceTables } from './services.ts';
import type { WriteVerb } from './write-verbs.ts';

interface ReadTables {
  readonly releases: ReleaseTables;
  readonly lists: ListTables;
  readonly orders: OrderTables;
  readonly prices: PriceTables;
  readonly services: ServiceTables;
  readonly journal: JournalTable;
  readonly now: Clock;
}

type ReadVerb = Exclude<
  keyof Store,
  WriteVerb | 'name' | 'clock' | 'lookAtClock' | 'acceptClock' | 'health' | 'loss' | 'watch' | 'close'
>;

/** Does what reads, and rejects with what is wrong with the store. */
export type Read = <T>(work: () => T) => Promise<T>;

/** The store's verbs that read. */
export function createReadVerbs(
  read: Read,
  { releases, lists, orders, prices, services, journal, now }: ReadTables,
): Pick<Store, ReadVerb> {
  return {
    control: () => read(() => releases.control()),
    document: (revision) => read(() => releases.document(revision)),
    history: (limit) => read(() => releases.history(limit)),

    lists: (source) => read(() => lists.summaries(source)),
    async *listEntries(source, list) {
      let last: string | undefined;
      for (;;) {
        const page = await read(() => lists.page(source, list, last));
        if (page.length === 0) return;
        yield* page;
        last = page.at(-1)?.value;
      }
    },

    order: (source, subject) => read(() => orders.find(source, subject, now())),

    prices: () => read(() => prices.table()),
    priceHistory: (query) => read(() => prices.history(query)),

    services: () => read(() => ({ nowMs: now(), services: services.all() })),

    entry: (source, id) => read(() => journal.entry(source, id)),
    entries: (query) => read(() => journal.entries(query)),
    journalSize: (source) => read(() => journal.size(source)),
  };
}
