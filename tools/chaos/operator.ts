import { setTimeout as pause } from 'node:timers/promises';
import { pushRelease } from '../../src/release/push.ts';
import type { Store } from '../../src/store/store.ts';
import type { Act } from './history.ts';
import { LISTABLE } from './plan.ts';
import { LISTS, revisionOf } from './policies.ts';
import type { Random } from './random.ts';

/**
 * An operator who pushes, changes lists, freezes and unfreezes throughout, one act after the other, and
 * writes down when each was begun and had returned. What was rejected is tried again, so that in the end it
 * is certain what holds.
 */
export interface Operator {
  readonly acts: readonly Act[];
  /** What must be there before anything can be approved: the lists, and a first revision. */
  readonly begin: () => Promise<void>;
  readonly start: () => void;
  /**
   * Begins nothing more that would refuse what is in order; resolves once nothing is frozen, with false if
   * that does not come about.
   */
  readonly quiet: () => Promise<boolean>;
  readonly resume: () => void;
  readonly stop: () => Promise<void>;
  readonly unfreeze: () => Promise<boolean>;
}

type What = Act extends infer Each
  ? Each extends Act
    ? Omit<Each, 'begunAtMs' | 'endedAtMs' | 'certain'>
    : never
  : never;

const BY = 'chaos';
const AGAIN_MS = 100;
const REST_MS = [100, 400] as const;
const FROZEN_MS = [50, 250] as const;
const LISTED_MS = [200, 800] as const;
/** How long something may be rejected before it is given up, as if nothing came back by itself. */
const GIVEN_UP_MS = 20_000;

export function createOperator(store: Store, random: Random): Operator {
  const acts: Act[] = [];
  let revisions = 0;
  let isQuiet = false;
  let working: Promise<void> | undefined;
  let stopped = new AbortController();

  /** Does it once, and writes it down; false if it was rejected. */
  async function act(what: What, does: () => Promise<unknown>): Promise<boolean> {
    const begunAtMs = Date.now();
    const certain = await succeeds(does());
    acts.push({ ...what, begunAtMs, endedAtMs: Date.now(), certain });
    return certain;
  }

  /** False: it was rejected for so long that it is given up. */
  async function insist(does: () => Promise<boolean>): Promise<boolean> {
    const givenUpAtMs = performance.now() + GIVEN_UP_MS;
    while (!(await does())) {
      if (performance.now() > givenUpAtMs) return false;
      await pause(AGAIN_MS);
    }
    return true;
  }

  const freeze = (): Promise<boolean> =>
    insist(() => act({ type: 'freeze' }, () => store.freeze({ reason: 'chaos', by: BY })));
  const unfreeze = (): Promise<boolean> =>
    insist(() =>
      act({ type: 'unfreeze' }, async () => {
        const { frozen } = await store.control();
        await store.unfreeze({ by: BY, ids: frozen.map(({ id }) => id), acknowledgeLoss: true });
      }),
    );
  /**
   * A new revision each time: one that was rejected may still come into force, and is then not the next one.
   */
  const push = (): Promise<boolean> =>
    insist(() => {
      const { release, limits } = revisionOf(revisions++);
      return act({ type: 'push', revision: release.revision, limits }, async () => {
        const { revision: expected } = await store.control();
        await pushRelease(store, { release, expected, by: BY, message: 'chaos' });
      });
    });
  const change = (source: 'shop' | 'vault', value: string, how: 'add' | 'remove'): Promise<boolean> =>
    insist(() =>
      act({ type: 'list', source, value, change: how }, () =>
        store.changeList({
          source,
          list: LISTS[source],
          add: [],
          remove: [],
          by: BY,
          message: '',
          [how]: [value],
        }),
      ),
    );

  async function freezeForAMoment(): Promise<void> {
    await freeze();
    await pause(random.whole(...FROZEN_MS));
    await unfreeze();
  }
  async function listForAMoment(): Promise<void> {
    const source = random.oneOf(['shop', 'vault']);
    const value = random.oneOf(LISTABLE[source]);
    await change(source, value, 'add');
    await pause(random.whole(...LISTED_MS));
    await change(source, value, 'remove');
  }

  async function work(): Promise<void> {
    // Each once, so that also a short run has all of them.
    const firstOfAll = [freezeForAMoment, listForAMoment, push];
    while (!stopped.signal.aborted) {
      await pause(random.whole(...REST_MS));
      if (isQuiet) continue;
      const next =
        firstOfAll.shift() ?? random.oneOf([freezeForAMoment, listForAMoment, listForAMoment, push]);
      await next();
    }
  }

  return {
    acts,
    unfreeze,
    async begin() {
      for (const source of ['shop', 'vault'] as const) {
        const empty = { source, list: LISTS[source], add: [], remove: [], by: BY, message: 'chaos' };
        await insist(() => succeeds(store.changeList(empty)));
      }
      if (!(await push()))
        throw new Error('the first policies could not be pushed; see whether the store runs');
    },
    start() {
      stopped = new AbortController();
      working = work();
      // Told of at the end, where it is awaited.
      working.catch(() => undefined);
    },
    quiet() {
      isQuiet = true;
      return insist(() =>
        store.control().then(
          ({ frozen }) => frozen.length === 0,
          () => false,
        ),
      );
    },
    resume() {
      isQuiet = false;
    },
    async stop() {
      stopped.abort();
      await working;
      working = undefined;
    },
  };
}

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );
