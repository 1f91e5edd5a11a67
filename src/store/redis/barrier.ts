import { z } from 'zod';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import { count, expectReply } from './reply.ts';
import { loadScript } from './script.ts';

/** What a step in the store brought about, by which it is known again. */
export interface Effect {
  /** In whose slot it lies; undefined for what holds for all sources. */
  readonly source: string | undefined;
  readonly keys: readonly string[];
  /** As `barrier.lua` reads it. */
  readonly args: readonly [kind: 'entry' | 'least' | 'same', ...rest: string[]];
}

export interface Standing {
  /** False if the primary that answers now does not have it: a failover lost it. */
  readonly stands: boolean;
  /** How many replicas had it in time. */
  readonly replicas: number;
}

/** How many replicas to wait for, and for how long, in milliseconds. */
export interface Durability {
  readonly replicas: number;
  readonly timeoutMs: number;
}

export interface Barrier {
  /**
   * Resolves with how an effect stands, once `replicas` have it, or after `timeoutMs`; rejects with
   * STORE_UNREACHABLE if that can't be found out within `waitMs`. Never asks while another barrier is under
   * way: all that comes meanwhile shares the next one.
   */
  reached(effect: Effect): Promise<Standing>;
}

/** How many effects share one barrier at most: to look at so many takes Redis a millisecond or so. */
const EFFECTS_MAX = 100;
/** The key that is written is of no use afterwards. */
const LIFETIME_MS = '60000';

// Sent as text each time: one barrier serves many effects, and a second round trip would cost more than the
// text.
const barrierScript = loadScript('barrier');

/**
 * The connection must be one of its own, for a WAIT holds up all that comes after it. On a Cluster each
 * source has barriers of its own, since its slot has replicas of its own.
 */
export function createBarrier(
  connection: Connection,
  keys: Keys,
  durability: Durability,
  waitMs: number,
): Barrier {
  const lanes = new Map<string, Lane>();
  const raise: Raise = (effects) => raiseBarrier(connection, keys, durability, effects);
  return {
    reached(effect) {
      const slot = connection.spreads ? JSON.stringify(effect.source ?? null) : '';
      const lane = lanes.get(slot) ?? createLane(raise, waitMs);
      lanes.set(slot, lane);
      return lane(effect);
    },
  };
}

/** One round trip: the script looks and writes, and WAIT waits for all that was written before it. */
async function raiseBarrier(
  connection: Connection,
  keys: Keys,
  { replicas, timeoutMs }: Durability,
  effects: readonly Effect[],
): Promise<readonly Standing[]> {
  const source = effects[0]?.source;
  const { barrier } = source === undefined ? keys : keys.of(source);
  const names = [barrier, ...effects.flatMap((effect) => effect.keys)];
  const args = [LIFETIME_MS, ...effects.flatMap((effect) => effect.args)];
  const [looked, had] = await connection.together([
    ['eval', barrierScript.source, names.length, ...names, ...args],
    ['wait', replicas, timeoutMs],
  ]);
  const stands = expectReply(z.array(count).length(effects.length), 'a barrier', looked);
  const acknowledged = expectReply(count, 'the replicas that have it', had);
  return stands.map((each) => ({ stands: each === 1, replicas: acknowledged }));
}

type Raise = (effects: readonly Effect[]) => Promise<readonly Standing[]>;
type Lane = (effect: Effect) => Promise<Standing>;

interface Waiting {
  readonly effect: Effect;
  readonly resolve: (standing: Standing) => void;
  readonly reject: (reason: unknown) => void;
  readonly timer: NodeJS.Timeout;
  over: boolean;
}

async function settleGroup(group: readonly Waiting[], raise: Raise): Promise<void> {
  if (group.length === 0) return;
  try {
    const standings = await raise(group.map(({ effect }) => effect));
    for (const [at, each] of group.entries()) {
      const standing = standings[at];
      if (standing === undefined) each.reject(new Error('the barrier says nothing of it'));
      else each.resolve(standing);
    }
  } catch (thrown) {
    for (const each of group) each.reject(thrown);
  }
}

/** One barrier at a time; whatever comes meanwhile waits for the next one, and no longer than `waitMs`. */
function createLane(raise: Raise, waitMs: number): Lane {
  let waiting: Waiting[] = [];
  let running = false;

  async function serve(): Promise<void> {
    while (waiting.length > 0) {
      const live = waiting.filter(({ over }) => !over);
      waiting = live.slice(EFFECTS_MAX);
      await settleGroup(live.slice(0, EFFECTS_MAX), raise);
    }
    running = false;
  }

  return (effect) =>
    new Promise((resolve, reject) => {
      const end = (): void => {
        entry.over = true;
        clearTimeout(entry.timer);
      };
      const entry: Waiting = {
        effect,
        over: false,
        resolve: (standing) => (end(), resolve(standing)),
        reject: (reason) => (end(), reject(reason)),
        timer: setTimeout(() => entry.reject(new Error(`not within ${waitMs} ms`)), waitMs),
      };
      waiting.push(entry);
      if (running) return;
      running = true;
      // All that was answered in this turn of the event loop shares the first barrier as well.
      setImmediate(() => void serve());
    });
}
