import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { lossesIn } from '../freezes.ts';
import type { Control, Freeze, Releases } from '../store.ts';
import {
  type InForce,
  type Spread,
  type StoreState,
  enrol,
  inForce,
  knownSources,
  spread,
  spreadTo,
  publishChange,
} from './copies.ts';
import { lossError, sourceLost } from './lost.ts';
import { freezeForLoss } from './lost-freeze.ts';
import { look } from './lost-look.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { digits, expectJson, expectReply, text } from './reply.ts';
import { loadScript, run } from './script.ts';
import { keepTime } from './time.ts';

export { type InForce, inForce };

/*
 * What is in force stands in one place, and a copy of it with each source, for settle to read. A change is
 * made in that place and then spread: it resolves once every source has it. Whatever a change that broke off
 * left undone, the next `control` of any process completes. A copy that a source has lost is no such thing:
 * see lost.ts.
 */

const raiseScript = loadScript('raise-1');
const unfreezeScript = loadScript('unfreeze-1');
const isOne = z.number().transform((reply) => reply === 1);
/** How often a change is spread again because another one was made meanwhile. */
const ATTEMPTS = 50;

/**
 * Reads what is in force, and gives it to sources that do not have it yet. Freezes the store if data was
 * lost.
 */
export async function complete(parts: RedisParts): Promise<Control> {
  const state = await look(parts, { changes: true });
  return controlOf((await frozenIfLost(parts, state, await spread(parts, state))).current);
}

/**
 * Spreads a change until every source has it, or a later one, and tells whoever watches. A failover may have
 * lost a change that sources have taken already, and by its sequence they take this one for an older: its
 * sequence is then raised.
 */
export async function bringAbout(parts: RedisParts, changed: InForce): Promise<Control> {
  let own = changed;
  let state = await look(parts);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const taken = await spread(parts, state);
    const after = await frozenIfLost(parts, state, taken);
    if (after !== state || taken.kept === 0) {
      await publishChange(parts, after.current[0]);
      const now = controlOf(after.current);
      // A loss that was found on the way is told of with the change.
      return after === state ? { ...controlOf(own), frozen: now.frozen, lifted: now.lifted } : now;
    }
    const [before] = state.current;
    state = await look(parts);
    if (state.current[0] !== before) continue;
    const above = [clockArgument(parts), taken.kept];
    const raised = await run(parts.connection, raiseScript, [parts.keys.inForce], above);
    state = { ...state, current: expectReply(inForce, 'what is in force', raised) };
    if (own[0] === before) own = state.current;
  }
  throw new CountersignError(
    'STORE_UNREACHABLE',
    `what is in force was changed again each of ${ATTEMPTS} times that it was given to the sources; look whether it is as it should be, and change it again if not`,
  );
}

/**
 * Makes sources known: those that are new get the epoch first, so that one that is known and has none has
 * lost it; then all their names, then what is in force. A change in between finds the names; a change before
 * is what is read. Until a source has its copy, its settles are stale.
 */
export async function register(parts: RedisParts, sources: readonly string[]): Promise<void> {
  if (sources.length === 0) return;
  const { connection, keys, memory } = parts;
  memory.serve(sources);
  const before = await look(parts);
  const known = await connection.call('smismember', [keys.sources, ...sources]);
  const isKnown = expectReply(z.array(isOne), 'the sources', known);
  await enrol(parts, before, { sources: sources.filter((_, index) => !isKnown[index]), anyhow: false });
  await connection.call('sadd', [keys.sources, ...sources]);
  const state = await look(parts);
  await frozenIfLost(parts, state, await spreadTo(parts, state, sources));
  await keepTime(parts, sources);
}

type Unfrozen = Awaited<ReturnType<Releases['unfreeze']>>;

/**
 * Lifts freezes. If that acknowledges what was lost, it is what enrols the sources again, while all is still
 * frozen.
 */
export async function unfreeze(
  parts: RedisParts,
  { by, ids, acknowledgeLoss = false }: Parameters<Releases['unfreeze']>[0],
): Promise<Unfrozen> {
  const state = await look(parts);
  const losses = lossesIn(controlOf(state.current).frozen);
  const acknowledges = acknowledgeLoss && losses.some(({ id }) => ids.includes(id));
  if (acknowledges && losses.every(({ id }) => ids.includes(id))) {
    await enrol(parts, state, { sources: await knownSources(parts), anyhow: true });
  }
  const given = [clockArgument(parts), acknowledges ? (state.epoch ?? '') : '', by, ...ids];
  const reply = await run(parts.connection, unfreezeScript, [parts.keys.inForce], given);
  if (reply === null) throw lossError('more was lost while it was unfrozen');
  const unfrozen = z.tuple([text, ...inForce.def.items]);
  const [lifted, ...changed] = expectReply(unfrozen, 'an unfreeze', reply);
  return { lifted: freezesOf(lifted), control: await bringAbout(parts, changed) };
}

/**
 * What is in force, or after it was frozen for what sources have lost. While it is frozen for a loss, no more
 * is one.
 */
async function frozenIfLost(parts: RedisParts, state: StoreState, { lost }: Spread): Promise<StoreState> {
  if (state.stopped || lost.length === 0) return state;
  const found = lost.map(([source, loss]) => sourceLost(source, loss)).join(', and ');
  await freezeForLoss(parts, { found, epoch: state.epoch });
  return look(parts);
}

function controlOf([sequence, revision, frozen, prices, freezes, lifted]: InForce): Control {
  return {
    sequence: expectReply(digits, 'the sequence in force', sequence),
    revision,
    // Whatever the list of them says, it is frozen if the sources are told so.
    frozen: frozen === '' ? [] : expectReply(oneOrMore, 'the freezes', freezesOf(freezes)),
    lifted: lifted === '' ? [] : expectJson(z.array(liftedRow), 'the freezes that were lifted', lifted),
    prices: expectReply(digits, 'the version of the prices', prices),
  };
}

const kind = z.enum(['operator', 'loss', 'unknown']).catch('unknown');
export const freezeRow = z
  .tuple([text, kind, text, text, digits])
  .transform(([id, of, reason, by, atMs]): Freeze => ({ id, kind: of, reason, by, atMs }));
const liftedRow = z.tuple([text, text, digits]).transform(([id, by, atMs]) => ({ id, by, atMs }));
const oneOrMore = z.array(z.custom<Freeze>()).min(1);

const freezesOf = (json: string): readonly Freeze[] =>
  json === '' ? [] : expectJson(z.array(freezeRow), 'the freezes', json);
