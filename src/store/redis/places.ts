import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import { optionalText, parseJson, parseReply, text } from './reply.ts';
import { loadScript, run } from './script.ts';

/*
 * Where the keys of a source are. One settle counts for a source and for its group, and on a Cluster all its
 * keys must be in one slot. So there, the keys of a source are in the slot of the group that it had when it
 * was first registered, or in a slot of its own if it had none. They stay there for ever: with its keys, the
 * store would lose the approvals of the source, and approve each of them again. The record of what is in force
 * has the place of each source.
 */

const placeScript = loadScript('place-sources-2');
const recorded = z.record(z.string(), z.string());

export interface Places {
  /**
   * The group in whose slot the keys of the source are; undefined for a slot of its own. Throws
   * STORE_UNREACHABLE on a Cluster whose places were not read yet.
   */
  readonly groupOf: (source: string) => string | undefined;
  /** The groups in the settings, by source. */
  readonly wanted: ReadonlyMap<string, string>;
  readonly known: () => ReadonlyMap<string, string> | undefined;
  readonly learn: (places: Readonly<Record<string, string>>) => void;
}

export function createPlaces(isCluster: boolean, wanted: ReadonlyMap<string, string>): Places {
  let known: ReadonlyMap<string, string> | undefined;
  return {
    groupOf(source) {
      if (!isCluster) return undefined;
      if (known === undefined) {
        const fix = 'repeat it once Redis can be reached';
        throw new CountersignError('STORE_UNREACHABLE', `the places of sources were not read yet; ${fix}`);
      }
      return (known.get(source) ?? wanted.get(source)) || undefined;
    },
    wanted,
    known: () => known,
    learn(places) {
      known = new Map([...(known ?? []), ...Object.entries(places)]);
    },
  };
}

interface PlaceParts {
  readonly connection: Connection;
  readonly keys: Keys;
  readonly places: Places;
}

/** Reads the places of the sources of a Cluster, and chooses those of new sources among `added`. */
export async function readPlaces(
  { connection, keys, places }: PlaceParts,
  added: readonly string[] = [],
): Promise<void> {
  if (!connection.isCluster) return;
  const sources = added.length > 0 ? added : [...places.wanted.keys()];
  const groupOf = (source: string): string => places.known()?.get(source) ?? places.wanted.get(source) ?? '';
  const reply = await run(
    connection,
    placeScript,
    [keys.inForce, keys.sources],
    [added.length > 0 ? '1' : '0', ...sources.flatMap((source) => [source, groupOf(source)])],
  );
  places.learn(
    parseJson(recorded, 'the places of sources', parseReply(text, 'the places of sources', reply)),
  );
}

/**
 * For the start of a service. A command does not need it: it finds the keys of a source wherever they are.
 *
 * Throws STORE_UNSAFE if a group could not count for one of its sources, because its keys are in another slot,
 * or if the keys of a source are in the slot of a group and there are no slots.
 */
export async function assertPlaced(parts: PlaceParts): Promise<void> {
  const { connection, keys, places } = parts;
  if (connection.isCluster) {
    await readPlaces(parts);
    for (const [source, group] of places.wanted) {
      const place = places.groupOf(source);
      if (place !== group) throw new CountersignError('STORE_UNSAFE', misplaced(source, group, place));
    }
    return;
  }
  const reply = await connection.call('hget', [keys.inForce, 'groups']);
  const json = parseReply(optionalText, 'the places of sources', reply);
  const found = Object.entries(json === undefined ? {} : parseJson(recorded, 'the places of sources', json));
  const [source, group] = found.find(([, place]) => place !== '') ?? [];
  if (source === undefined) return;
  throw new CountersignError(
    'STORE_UNSAFE',
    `the data of the source ${source} comes from a Redis Cluster, where it is with that of the group ${group}; ` +
      'use a Cluster (redis-cluster://) for this data, or an empty Redis',
  );
}

function misplaced(source: string, group: string, place: string | undefined): string {
  const where = place === undefined ? 'in a slot of its own' : `in the slot of the group ${place}`;
  const fix = place === undefined ? 'delete its group' : `write the group ${place}, or none`;
  return (
    `the source ${source} has the group ${group} in the settings, and its data is ${where}, so the group can't ` +
    `count for it on a Redis Cluster; ${fix}, or give the source a new name, under which it is a new source`
  );
}
