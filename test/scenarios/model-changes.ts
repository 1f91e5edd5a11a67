import { KINDS } from '../../src/callback/callback.ts';
import { CountersignError } from '../../src/errors.ts';
import type { OrderSource } from '../../src/orders/orders.ts';
import { releaseApproval } from '../../src/orders/release.ts';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { amountOf } from '../reference/policy.ts';
import type { SourceModel } from '../reference/settle.ts';
import type { OrderChange, OrderOutcome } from '../reference/store.ts';
import type { Change } from './model-script.ts';
import { revisionAt } from './model-policies.ts';
import { thaw } from '../store/requests.ts';

export type Source = 'shop' | 'vault';
export type Models = Readonly<Record<Source, SourceModel>>;

const by = 'the model';

/** A change that was made, with what only the making could tell. */
export type Made =
  | Extract<Change, { readonly type: 'push' | 'freeze' | 'unfreeze' | 'toggle' | 'release' }>
  | {
      readonly type: 'price';
      readonly version: number;
      readonly asset: string;
      readonly price: { readonly price: bigint; readonly asOfMs: number } | undefined;
    }
  | {
      readonly type: 'orders';
      readonly atMs: number;
      readonly changes: readonly (OrderChange & {
        readonly source: Source;
        readonly outcome: OrderOutcome;
      })[];
    };

/** Makes a change in the store as whoever operates it would. */
export async function make(store: Store, models: Models, change: Change): Promise<Made> {
  if (change.type === 'price') return makePrice(store, change);
  if (change.type === 'orders') return makeOrders(store, change);
  if (change.type === 'release') await tryToRelease(store, change);
  else if (change.type === 'freeze') await store.freeze({ reason: 'chance', by, kind: change.kind });
  else if (change.type === 'unfreeze') await thaw(store);
  else if (change.type === 'push') {
    const { revision, document } = revisionAt(change.revision).release;
    const expected = (await store.control()).revision;
    const { outcome } = await store.push({ revision, document, expected, by, message: 'chance' });
    if (outcome !== 'in-force') throw new Error('nobody else pushes, and yet there was a conflict');
  } else {
    const { source, list, value } = change;
    const isOn = models[source].state.addedAtMs(list, value) !== undefined;
    const [add, remove] = isOn ? [[], [value]] : [[value], []];
    await store.changeList({ source, list, add, remove, by, message: 'chance' });
  }
  return change;
}

const SOURCES: readonly OrderSource[] = [
  { name: 'shop', kinds: ['payment'], schemes: [] },
  { name: 'vault', kinds: ['transfer', 'web3'], schemes: [] },
];

/** Whether there was something to release, the journal says. */
async function tryToRelease(
  store: Store,
  { source, subject }: Extract<Change, { readonly type: 'release' }>,
): Promise<void> {
  const kind = KINDS.find((each) => subject.startsWith(`${each}:`)) ?? 'payment';
  const id = subject.slice(kind.length + 1);
  await releaseApproval(store, SOURCES, { source, kind, id, members: {}, message: 'chance', by }).catch(
    (thrown: unknown) => {
      const isNo =
        thrown instanceof CountersignError && ['NOT_FOUND', 'RELEASE_REFUSED'].includes(thrown.code);
      if (!isNo) throw thrown;
    },
  );
}

async function makePrice(
  store: Store,
  { asset, price: text, ageMs }: Extract<Change, { readonly type: 'price' }>,
): Promise<Made> {
  const { nowMs } = await store.health();
  const price = text === undefined ? undefined : { price: amountOf(text), asOfMs: nowMs - ageMs };
  const [set, remove] = price === undefined ? [[], [asset]] : [[{ asset, ...price }], []];
  const { version } = await store.changePrices({ set, remove, by });
  return { type: 'price', asset, price, version };
}

async function makeOrders(
  store: Store,
  { changes }: Extract<Change, { readonly type: 'orders' }>,
): Promise<Made> {
  const { nowMs } = await store.health();
  const made: Extract<Made, { readonly type: 'orders' }>['changes'][number][] = [];
  for (const { source, subject, announce } of changes) {
    if (announce === undefined) {
      const outcome = await store.cancelOrder({ source, subject, by }).then(
        (cancelled): OrderOutcome => cancelled.outcome,
        (thrown: unknown): OrderOutcome => {
          if (thrown instanceof CountersignError && thrown.code === 'NOT_FOUND') return 'NOT_FOUND';
          throw thrown;
        },
      );
      made.push({ source, subject, outcome });
    } else {
      const { members } = announce;
      const expiresAtMs = nowMs + announce.expiresInMs;
      const { outcome } = await store.expectOrder({ source, subject, members, expiresAtMs, by });
      made.push({ source, subject, announce: { members, expiresAtMs }, outcome });
    }
  }
  return { type: 'orders', atMs: nowMs, changes: made };
}

export interface Pending {
  /** To be told of each entry of the source's journal, in order, before the model follows it. */
  showsIn(entry: JournalEntry): void;
  /** To be told when there are no more. */
  end(): void;
}

/**
 * A change that was made among callbacks takes effect for the model where the journal first shows it, at the
 * latest after all.
 */
export function pendingFor(model: SourceModel, source: Source, made: Made | undefined): Pending {
  if (made?.type === 'orders') return pendingOrders(model, source, made);
  if (made?.type === 'release') {
    return {
      showsIn: (entry) => (entry.type === 'release' ? model.release(entry.subject, entry.id) : undefined),
      end: () => undefined,
    };
  }
  let open = made;
  const apply = (atMs: number): void => {
    if (open?.type === 'push') model.inForce = revisionAt(open.revision);
    else if (open?.type === 'price') model.setPrice(open.version, open.asset, open.price);
    else if (open?.type === 'toggle') {
      if (open.source === source) model.state.toggle(open.list, open.value, atMs);
    } else if (open?.type === 'freeze') {
      if (open.kind === 'operator') model.frozen = true;
      else model.onlyApproved = true;
    } else if (open !== undefined) [model.frozen, model.onlyApproved] = [false, false];
    open = undefined;
  };
  const shows = ({ type, code, revision, detail }: JournalEntry): boolean => {
    if (open?.type === 'toggle') return type === 'list';
    if (open?.type === 'freeze' || open?.type === 'unfreeze') return type === 'freeze';
    if (open === undefined || type === 'notice' || type === 'list' || type === 'freeze') return false;
    if (code === 'FROZEN') return false;
    if (open.type === 'price') return pricesOf(detail) === open.version;
    return revision === revisionAt(open.revision).release.revision;
  };
  return {
    showsIn: (entry) => (shows(entry) ? apply(entry.atMs) : undefined),
    end() {
      if (open?.type === 'toggle' && open.source === source) throw new Error('a list changed unseen');
      apply(0);
    },
  };
}

/**
 * Each that changed something has an entry; one that did not must have been right to at some time among the
 * callbacks.
 */
function pendingOrders(
  model: SourceModel,
  source: Source,
  { changes, atMs }: Extract<Made, { readonly type: 'orders' }>,
): Pending {
  const own = changes.filter((each) => each.source === source);
  const open = new Set(own.filter(({ outcome }) => outcome === 'expected' || outcome === 'cancelled'));
  const idle = own.filter((each) => !open.has(each));
  const explained = new Set<OrderChange>();
  const explain = (): void => {
    for (const each of idle) if (model.state.foretellOrder(each, atMs) === each.outcome) explained.add(each);
  };
  return {
    showsIn(entry) {
      explain();
      if (entry.type !== 'order') return;
      const shown = [...open].find(({ subject }) => subject === entry.subject);
      if (shown === undefined) throw new Error(`the journal has another change of ${entry.subject}`);
      const foretold = model.state.foretellOrder(shown, entry.atMs);
      if (foretold !== shown.outcome)
        throw new Error(`${entry.subject} was ${shown.outcome}, foretold ${foretold}`);
      model.state.changeOrder(shown, entry.atMs);
      open.delete(shown);
    },
    end() {
      explain();
      if (open.size > 0) throw new Error('an order changed unseen');
      const wrong = idle.find((each) => !explained.has(each));
      if (wrong !== undefined)
        throw new Error(`${wrong.subject} was ${wrong.outcome}, which it never had to be`);
    },
  };
}

/** The version of the prices that a question was evaluated with. */
export function pricesOf(detail: string): number {
  const { proposal } = JSON.parse(detail) as { readonly proposal?: { readonly prices: number } };
  return proposal?.prices ?? 0;
}
