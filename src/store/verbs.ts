import type { Store } from './store.ts';

/** The verbs that each process has for itself: they read or write no data of the store, or only its clock. */
type ProcessVerb =
  | 'name'
  | 'health'
  | 'checkSafety'
  | 'pendingLoss'
  | 'watch'
  | 'close'
  | 'clock'
  | 'readClock'
  | 'acceptClock';

export type DataVerb = Exclude<keyof Store, ProcessVerb>;

interface VerbRow {
  /** It writes. The embedded store sends it to its write queue with its argument. */
  readonly writes?: true;
  /**
   * On Redis, it resolves only when enough replicas have what it wrote: see redis/replication.ts. An approval of
   * `settle` waits as well, but before this process remembers it.
   */
  readonly replicated?: true;
  /** It is on the path of a callback. The metrics count its failures under this name. */
  readonly counted?: string;
}

/** Each verb for the store's data. */
export const VERBS = {
  register: { writes: true },
  settle: { writes: true, counted: 'settle' },
  preview: {},
  recordNotification: { writes: true, replicated: true, counted: 'notice' },
  subject: {},
  releaseApproval: { writes: true, replicated: true },
  control: { counted: 'control' },
  push: { writes: true, replicated: true },
  document: { counted: 'document' },
  history: {},
  freeze: { writes: true, replicated: true },
  unfreeze: { writes: true, replicated: true },
  changeList: { writes: true, replicated: true },
  lists: {},
  listEntries: {},
  expectOrder: { writes: true },
  order: {},
  cancelOrder: { writes: true, replicated: true },
  openApprovalRequests: {},
  approvalRequest: {},
  changeApprovalRequest: { writes: true, replicated: true },
  lockouts: {},
  liftLockout: { writes: true },
  buckets: {},
  prices: {},
  changePrices: { writes: true, replicated: true },
  priceHistory: {},
  heartbeat: { writes: true },
  removeService: { writes: true },
  requestHeartbeats: { writes: true },
  services: {},
  access: {},
  changeAccess: { writes: true },
  record: { writes: true, replicated: true, counted: 'record' },
  entry: {},
  entries: {},
  journalSize: {},
  dropEntries: { writes: true },
} as const satisfies Readonly<Record<DataVerb, VerbRow>>;

type VerbsWith<P extends keyof VerbRow> = {
  readonly [V in DataVerb]: (typeof VERBS)[V] extends Readonly<Record<P, unknown>> ? V : never;
}[DataVerb];

export type CountedVerb = VerbsWith<'counted'>;
export type WriteVerb = VerbsWith<'writes'>;
export type ReplicatedVerb = VerbsWith<'replicated'>;

/** Undefined for a verb without an argument. */
export type ArgumentOf<S, V extends keyof S> = S[V] extends (argument: infer A) => unknown ? A : undefined;
export type ResultOf<S, V extends keyof S> = S[V] extends (argument: never) => Promise<infer R> ? R : never;

export type VerbOf<V extends DataVerb> = (argument: ArgumentOf<Store, V>) => Promise<ResultOf<Store, V>>;

/** Verbs with at most one argument, in a form in which each can be called by its name. */
export type Verbs<V extends DataVerb> = { readonly [K in V]: VerbOf<K> };

/** Makes all verbs whose row has the property. */
export function makeVerbs<P extends keyof VerbRow>(
  property: P,
  make: <V extends VerbsWith<P>>(verb: V) => VerbOf<V>,
): Pick<Store, VerbsWith<P>> {
  const verbs = Object.entries(VERBS).filter(([, row]) => property in row);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table has the verb, and its row the property
  return Object.fromEntries(verbs.map(([verb]) => [verb, make(verb as VerbsWith<P>)])) as never;
}
