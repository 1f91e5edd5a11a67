import { CountersignError, messageOf } from '../../errors.ts';
import type { Store } from '../store.ts';
import type { Barrier, Durability, Effect, Standing } from './barrier.ts';

/** What must be on replicas: its effects, and words for whoever is told that it is not. */
export interface Thing {
  readonly name: string;
  readonly repeat: string;
  readonly effects: readonly Effect[];
  /** The journal entry of a SUCCESS. */
  readonly approval?: { readonly source: string; readonly id: string; readonly subject: string };
}

export type Assured = (thing: Thing) => Promise<void>;

/**
 * Resolves once all effects stand on so many replicas; rejects with STORE_UNREACHABLE, after `late` was told
 * of it.
 */
export function createAssurance(
  barrier: Barrier,
  durability: Durability,
  late: (thing: Thing, because: string) => void = () => {},
): Assured {
  return async (thing) => {
    const shortfall = await shortfallOf(barrier, durability, thing);
    if (shortfall === undefined) return;
    if (!shortfall.lost) late(thing, shortfall.because);
    throw notDurable(thing, shortfall, durability);
  };
}

interface Shortfall {
  /** The primary that answers now does not have it. */
  readonly lost: boolean;
  readonly because: string;
  /** How many replicas had it, where that is known. */
  readonly had?: number;
}

async function shortfallOf(
  barrier: Barrier,
  durability: Durability,
  thing: Thing,
): Promise<Shortfall | undefined> {
  let standings: readonly Standing[];
  try {
    standings = await Promise.all(thing.effects.map((effect) => barrier.reached(effect)));
  } catch (thrown) {
    const because = `it is not known whether ${replicasOf(durability)} have it: ${messageOf(thrown)}`;
    return { lost: false, because };
  }
  const had = Math.min(...standings.map(({ replicas }) => replicas));
  if (!standings.every(({ stands }) => stands)) {
    const because = 'the primary that answers now does not have it, for a failover came in between';
    return { lost: true, because, had };
  }
  return had >= durability.replicas ? undefined : { lost: false, because: tooFew(had, durability), had };
}

function tooFew(had: number, durability: Durability): string {
  return `${had} of ${replicasOf(durability)} had it within ${durability.timeoutMs} ms (store.durability.timeoutMs); look at \`INFO replication\` of the primary, and start or mend its replicas`;
}

const replicasOf = ({ replicas }: Durability): string =>
  `the ${replicas} replica${replicas === 1 ? '' : 's'} that store.durability.replicas asks for`;

function notDurable(
  { name, repeat }: Thing,
  { lost, because, had }: Shortfall,
  { replicas }: Durability,
): CountersignError {
  const where = lost ? 'is lost' : 'stands on the primary, but not certainly on its replicas';
  return new CountersignError('STORE_UNREACHABLE', `${name} ${where}: ${because}; ${repeat}`, {
    replicas,
    ...(had !== undefined && { had }),
  });
}

/** Says in the journal, as well as that goes, that a SUCCESS which stands there was not given. */
export function lateIn(verbs: Pick<Store, 'record'>): (thing: Thing, because: string) => void {
  return ({ approval }, because) => {
    if (approval === undefined) return;
    const { source, subject, id } = approval;
    const detail = JSON.stringify({ because });
    verbs
      .record({ source, type: 'late', subject, verdict: 'FAILURE', code: 'NOT_DURABLE', of: id, detail })
      .catch(() => undefined);
  };
}
