import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { assertFreeze, assertUnfreeze, lossesIn } from '../freezes.ts';
import type { Control, Releases, Store, Unfreeze } from '../store.ts';
import { type LossDetection, lossError } from './data-loss.ts';
import {
  type InForce,
  type StoreState,
  controlOf,
  freezeRow,
  freezesOf,
  inForce,
  knownSources,
  publishChange,
  registerSources,
} from './in-force.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { readPlaces } from './places.ts';
import { digits, parseJson, parseReply, optionalText, text, texts } from './reply.ts';
import { loadScript, run } from './script.ts';
import { advanceTime } from './time.ts';

const pushScript = loadScript('push-3');
const freezeScript = loadScript('freeze-1');
const unfreezeScript = loadScript('unfreeze-1');
const incrementScript = loadScript('increment-sequence-1');

export function createReleases(parts: RedisParts, losses: LossDetection): Releases & Pick<Store, 'register'> {
  const { connection, keys } = parts;
  return {
    register: (sources) => register(parts, losses, sources),
    async control() {
      const state = await losses.readState({ sequence: true });
      return controlOf((await losses.updateCopies(state)).state);
    },
    async push(push) {
      const reply = await run(
        connection,
        pushScript,
        [keys.inForce, keys.history, keys.documents],
        [
          clockArgument(parts),
          push.expected,
          push.revision,
          push.document,
          push.by,
          push.message,
          push.serial ?? 0,
          ...Object.entries(push.beside ?? {}).flat(),
        ],
      );
      const pushed = z.tuple([z.enum(['in-force', 'conflict']), ...inForce.def.items]);
      const [outcome, ...current] = parseReply(pushed, 'a push', reply);
      return { outcome, control: await completeChange(parts, losses, current) };
    },
    async document(revision) {
      const reply = await connection.call('hget', [keys.documents, revision]);
      return parseReply(optionalText, `the document of ${revision}`, reply);
    },
    async history(limit) {
      if (limit < 1) return [];
      const reply = await connection.call('lrange', [keys.history, 0, limit - 1]);
      return parseReply(texts, 'the history', reply).map((row) => {
        const [sequence, revision, by, message, atMs, serial] = parseJson(historyRow, 'the history', row);
        return { sequence, revision, by, message, atMs, serial };
      });
    },
    async freeze({ reason, by, kind = 'operator' }) {
      assertFreeze({ reason, by });
      const args = [clockArgument(parts), reason, by, losses.seen().lastFreezeNumber, kind];
      const reply = await run(connection, freezeScript, [keys.inForce], args);
      const [row, ...current] = parseReply(z.tuple([text, ...inForce.def.items]), 'a freeze', reply);
      const control = await completeChange(parts, losses, current);
      return { freeze: parseJson(freezeRow, 'a freeze', row), control };
    },
    unfreeze: (request) => unfreeze(parts, losses, request),
  };
}

const historyRow = z.tuple([digits, text, text, text, digits, digits]);

/** How often a change is copied again because another change came in between. */
const ATTEMPTS = 50;

/**
 * Copies a change to every source, until each has it or a later one, and wakes the watchers.
 *
 * A failover can lose a change that some sources already have. Their copies then have a higher sequence than
 * the record, and they reject this change as older: the sequence of the record is increased until they accept
 * it.
 */
export async function completeChange(
  parts: RedisParts,
  losses: LossDetection,
  change: InForce,
): Promise<Control> {
  let own = change;
  let state = await losses.readState();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { state: after, highestOther } = await losses.updateCopies(state);
    if (after !== state || highestOther === 0) {
      await publishChange(parts, after.current[0]);
      const now = controlOf(after);
      // A loss that was found meanwhile is part of the result.
      return after === state
        ? { ...controlOf({ current: own }), frozen: now.frozen, lifted: now.lifted }
        : now;
    }
    const [sequence] = state.current;
    state = await losses.readState();
    if (state.current[0] !== sequence) continue;
    state = await incrementSequence(parts, state, highestOther);
    if (own[0] === sequence) own = state.current;
  }
  throw new CountersignError(
    'STORE_UNREACHABLE',
    `what is in force changed during each of ${ATTEMPTS} attempts to copy it to the sources; ` +
      'check what is in force, and repeat the change if it is not',
  );
}

async function incrementSequence(parts: RedisParts, state: StoreState, above: number): Promise<StoreState> {
  const reply = await run(
    parts.connection,
    incrementScript,
    [parts.keys.inForce],
    [clockArgument(parts), above],
  );
  return { ...state, current: parseReply(inForce, 'what is in force', reply) };
}

const oneAsTrue = z.number().transform((reply) => reply === 1);

/**
 * Registers sources, in this order:
 *
 * 1. New sources get their places.
 * 2. New sources get the epoch. Therefore a known source without an epoch has lost it.
 * 3. All names are added to the known sources. A change from now on updates their copies too.
 * 4. The copies are updated, including every earlier change. Until then, settles are `stale`.
 */
async function register(parts: RedisParts, losses: LossDetection, sources: readonly string[]): Promise<void> {
  if (sources.length === 0) return;
  const { connection, keys } = parts;
  await readPlaces(parts, sources);
  losses.addSources(sources);
  const before = await losses.readState();
  const reply = await connection.call('smismember', [keys.sources, ...sources]);
  const isKnown = parseReply(z.array(oneAsTrue), 'the sources', reply);
  const added = sources.filter((_, index) => !isKnown[index]);
  await registerSources(parts, before, { sources: added, overwrite: false });
  await connection.call('sadd', [keys.sources, ...sources]);
  await losses.updateCopies(await losses.readState(), sources);
  await advanceTime(parts, sources);
}

type UnfreezeReply = Awaited<ReturnType<Releases['unfreeze']>>;

/**
 * Lifts freezes. If this acknowledges every loss, the sources are registered again first, while everything is
 * still frozen.
 */
async function unfreeze(
  parts: RedisParts,
  losses: LossDetection,
  { by, reason = '', ids, acknowledgeLoss = false }: Unfreeze,
): Promise<UnfreezeReply> {
  assertUnfreeze({ reason });
  const state = await losses.readState();
  const lossFreezes = lossesIn(controlOf(state).frozen);
  const acknowledges = acknowledgeLoss && lossFreezes.some(({ id }) => ids.includes(id));
  if (acknowledges && lossFreezes.every(({ id }) => ids.includes(id))) {
    await registerSources(parts, state, { sources: await knownSources(parts), overwrite: true });
  }
  const args = [clockArgument(parts), acknowledges ? (state.epoch ?? '') : '', by, reason, ...ids];
  const reply = await run(parts.connection, unfreezeScript, [parts.keys.inForce], args);
  if (reply === null) throw lossError('more data was lost during the unfreeze');
  const unfrozen = z.tuple([text, ...inForce.def.items]);
  const [lifted, ...current] = parseReply(unfrozen, 'an unfreeze', reply);
  return { lifted: freezesOf(lifted), control: await completeChange(parts, losses, current) };
}
