import { clockJumped } from '../clock-state.ts';
import type { Store } from '../store.ts';
import { notice } from './notice.ts';
import type { PriceTables } from './prices.ts';
import type { ServiceTables } from './services.ts';
import { type SettleTables, settle } from './settle.ts';
import type { SourceTable } from './sources.ts';
import type { Instant } from './time.ts';

/** The store's verbs that write. */
export type WriteVerb =
  | 'settle'
  | 'notice'
  | 'push'
  | 'freeze'
  | 'unfreeze'
  | 'register'
  | 'changeList'
  | 'expectOrder'
  | 'cancelOrder'
  | 'changePrices'
  | 'record'
  | 'dropEntries'
  | 'attend'
  | 'leave'
  | 'callServices';

/** Undefined for a verb without one. */
type ArgumentOf<V extends WriteVerb> = Parameters<Store[V]>[0];
type ResultOf<V extends WriteVerb> = Awaited<ReturnType<Store[V]>>;

/** A verb with its argument: plain data, so that it may go to a thread. */
export type Asked<V extends WriteVerb = WriteVerb> = {
  readonly [K in V]: { readonly verb: K; readonly argument: ArgumentOf<K> };
}[V];

/** Each verb at an instant, to be run inside a transaction. */
type Performers = {
  readonly [V in WriteVerb]: (argument: ArgumentOf<V>, nowMs: number, aheadMs: number) => ResultOf<V>;
};

/**
 * Does what is asked, and returns what the store's verb resolves with. `forget` is called when what is in
 * force changes.
 */
export function createPerform(
  tables: SettleTables & {
    readonly sources: SourceTable;
    readonly prices: PriceTables;
    readonly services: ServiceTables;
    readonly forget: () => void;
  },
): (asked: Asked, at: Instant) => unknown {
  const { releases, sources, lists, orders, prices, journal, services, forget } = tables;
  const moving =
    <A, R>(act: (argument: A, nowMs: number) => R): ((argument: A, nowMs: number) => R) =>
    (argument, nowMs) => {
      const result = act(argument, nowMs);
      forget();
      return result;
    };
  const performers: Performers = {
    settle: (request, nowMs, aheadMs) => settle(tables, request, nowMs, aheadMs),
    notice: (request, nowMs) => notice(tables, request, nowMs),
    push: moving((push, nowMs) => releases.push(push, nowMs)),
    freeze: moving((freeze, nowMs) => releases.freeze(freeze, nowMs)),
    unfreeze: moving((unfreeze, nowMs) => releases.unfreeze(unfreeze, nowMs)),
    register: (names) => sources.register(names),
    changeList(change, nowMs, aheadMs) {
      if (aheadMs > 0 && change.add.length > 0) throw clockJumped(aheadMs);
      return lists.change(change, nowMs);
    },
    expectOrder: (announcement, nowMs) => orders.expect(announcement, nowMs),
    cancelOrder: (cancel, nowMs) => orders.cancel(cancel, nowMs),
    changePrices: moving((change, nowMs) => prices.change(change, nowMs)),
    record: (record, nowMs) => journal.record(record, nowMs),
    dropEntries: (drop) => journal.drop(drop),
    attend: (attendance, nowMs) => services.attend(attendance, nowMs),
    leave: (id) => services.leave(id),
    callServices: () => services.call(),
  };
  return (asked, at) => performed(performers, asked, at);
}

function performed<V extends WriteVerb>(
  performers: Performers,
  { verb, argument }: Asked<V>,
  { nowMs, aheadMs }: Instant,
): unknown {
  return performers[verb](argument, nowMs, aheadMs);
}

/** The store's verbs, which ask `write` and resolve with what comes of it. */
export function createWriteVerbs(write: (asked: Asked) => Promise<unknown>): Pick<Store, WriteVerb> {
  const verb =
    <V extends WriteVerb>(name: V) =>
    (argument: ArgumentOf<V>): Promise<ResultOf<V>> =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a pair, and what createPerform makes of it
      write({ verb: name, argument } as Asked) as Promise<ResultOf<V>>;
  return {
    settle: verb('settle'),
    notice: verb('notice'),
    push: verb('push'),
    freeze: verb('freeze'),
    unfreeze: verb('unfreeze'),
    register: verb('register'),
    changeList: verb('changeList'),
    expectOrder: verb('expectOrder'),
    cancelOrder: verb('cancelOrder'),
    changePrices: verb('changePrices'),
    record: verb('record'),
    dropEntries: verb('dropEntries'),
    attend: verb('attend'),
    leave: verb('leave'),
    callServices: () => verb('callServices')(undefined),
  };
}
