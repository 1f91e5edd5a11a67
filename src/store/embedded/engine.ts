import type { ClockFound } from '../clock-state.ts';
import type { Database } from './database.ts';
import { type Retention, createHousekeeping } from './housekeeping.ts';
import { keepInForce } from './in-force-kept.ts';
import { createJournal } from './journal.ts';
import { createPrices } from './prices.ts';
import { createServices } from './services.ts';
import { createSettleTables } from './tables.ts';
import { type ClockLook, type Instant, createClockTable, createTime } from './time.ts';
import { type Committed, createCommit } from './transaction.ts';
import { type Asked, createPerform } from './write-verbs.ts';

/** Writes that share a commit, and so an instant: what the clock said when they were sent. */
export interface Batch {
  readonly clockMs: number;
  readonly asked: readonly (Asked | ClockAsked)[];
}

type LookAsked = ClockLook & {
  readonly by: string;
};

/** To look at the clock. The verbs of the store that do so know more than they are given. */
export interface ClockAsked {
  readonly verb: 'lookAtClock';
  readonly argument: LookAsked;
}

/**
 * Commits one batch after the other in a database; see createCommit. The time never runs backwards, nor
 * further ahead of what is remembered than `maxStepMs`.
 */
export function createEngine(
  database: Database,
  retention: Retention,
  maxStepMs = Number.POSITIVE_INFINITY,
): (batch: Batch) => Committed {
  const { connection } = database;
  let clockMs = 0;
  let at: Instant = { nowMs: 0, aheadMs: 0 };
  const time = createTime(connection, maxStepMs);
  const clock = createClockTable(connection, maxStepMs);
  const settleTables = keepInForce(createSettleTables(connection, createJournal(connection)));
  const tables = { ...settleTables, prices: createPrices(connection), services: createServices(connection) };
  const perform = createPerform(tables);
  const look = ({ by, ...given }: LookAsked): ClockFound => {
    const fromMs = at.nowMs;
    const found = clock.look(given, clockMs);
    at = time(clockMs);
    if (given.mode !== 'accept') return found;
    const detail = JSON.stringify({ by, fromMs, toMs: at.nowMs });
    for (const source of tables.sources.names()) {
      tables.journal.append({ source, atMs: at.nowMs, type: 'clock', code: 'CLOCK_ACCEPTED', detail });
    }
    return found;
  };
  const commit = createCommit<Asked | ClockAsked>(database, {
    forget() {
      tables.forget();
      at = time(clockMs);
    },
    work: (asked) => (asked.verb === 'lookAtClock' ? look(asked.argument) : perform(asked, at)),
    housekeeping: createHousekeeping(tables, () => at.nowMs, retention),
  });
  return (batch) => {
    ({ clockMs } = batch);
    return commit(batch.asked);
  };
}
