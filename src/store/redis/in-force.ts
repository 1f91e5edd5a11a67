import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Control, Freeze } from '../store.ts';
import { type RedisParts, journalArguments } from './parts.ts';
import { readPlaces } from './places.ts';
import { digits, parseJson, parseReply, optionalText, text, texts } from './reply.ts';
import { loadScript, run } from './script.ts';

/*
 * The store keeps what is in force as one record under one key: the sequence, the revision, the freezes and
 * the version of the prices. Each source has a copy of it in its own slot, because `settle` reads it in the
 * same atomic step. A change updates the record and then every copy, and resolves once every source has it.
 * If a change is interrupted, the next `control` of any process completes it. The sequence increases with
 * each change, so no copy goes back to an older record.
 *
 * A copy also has the epoch of the store and the high-water marks of the processes: see data-loss.ts.
 */

const startScript = loadScript('start-epoch-1');
const registerScript = loadScript('register-source-1');
const removeEventsScript = loadScript('remove-freeze-events-1');
const updateCopyScript = loadScript('update-copy-2');

/**
 * The record as scripts pass it. `frozen` says what the freezes in effect stop: see include/frozen.lua.
 * `freezes` are JSON; no freezes are the empty text.
 */
export type InForce = readonly [
  sequence: string,
  revision: string,
  frozen: string,
  prices: string,
  freezes: string,
  lifted: string,
];
export const inForce = z.tuple([text, text, text, text, text, text]);

/** The record, and what else a process must know to update the copies. */
export interface StoreState {
  readonly current: InForce;
  /** Undefined if the store lost its epoch. Only a process that remembers one can see that. */
  readonly epoch: string | undefined;
  /** The epochs that were declared lost. */
  readonly lostEpochs: readonly string[];
  /** The store is frozen for a loss, until an operator acknowledges it. */
  readonly isFrozenForLoss: boolean;
  /** Freezes and unfreezes that some source may not have in its journal yet, as JSON, or the empty text. */
  readonly freezeEvents: string;
  /** The number in the newest id of a freeze. */
  readonly lastFreezeNumber: number;
}

/** The fields of the hash that keeps the record. They also have the store's time: see clock-1.lua. */
const FIELDS = [
  'sequence',
  'revision',
  // What the freezes in effect stop: see include/frozen.lua. Sources read it with each decision.
  'frozen',
  // The version of the price table.
  'prices',
  // All freezes in effect, and the last ones that were lifted: JSON, or empty.
  'freezes',
  'lifted',
  'epoch',
  // The epochs that were declared lost, with blanks between.
  'lost',
  // '1' while a freeze for lost data is in effect; otherwise missing.
  'stopped',
  // The freeze events that some source may not have in its journal yet: JSON, or empty.
  'acts',
  // The number in the newest id of a freeze.
  'ids',
];
const fields = z.array(optionalText).length(FIELDS.length);

/** Reads the record. With `start` it starts an epoch unless the store has one. */
export async function readState(
  parts: RedisParts,
  { start }: { readonly start: boolean },
): Promise<StoreState> {
  const { connection, keys } = parts;
  const newest = newEpoch();
  const reply = start
    ? await run(connection, startScript, [keys.inForce], [newest])
    : await connection.call('hmget', [keys.inForce, ...FIELDS]);
  const found = parseReply(fields, 'what is in force', reply);
  const [sequence = '0', revision = '', frozen = '', prices = '0', freezes = '', lifted = '', ...rest] =
    found;
  const [epoch, lost = '', stopped = '', freezeEvents = '', ids = '0'] = rest;
  // Processes that remember another epoch must read the record before anything is pushed.
  if (epoch === newest) await publishChange(parts, sequence);
  return {
    current: [sequence, revision, frozen, prices, freezes, lifted],
    epoch,
    lostEpochs: lost.split(' '),
    isFrozenForLoss: stopped !== '',
    freezeEvents,
    lastFreezeNumber: Number(ids),
  };
}

export function newEpoch(): string {
  return randomBytes(8).toString('hex');
}

/** Wakes the watchers of all processes. A message can be lost, so watchers poll as well. */
export async function publishChange({ connection, keys }: RedisParts, sequence: string): Promise<void> {
  await connection.call('publish', [keys.changed, sequence]).catch(() => undefined);
}

// ---- the copies ----

/**
 * A loss of a source. `gone`: its copy. `other`: its copy is of another epoch. `behind`: an approval that
 * a process was given.
 */
export type LossKind = 'gone' | 'other' | 'behind';
export const lossKinds = z.enum(['gone', 'other', 'behind']);

/** What a process expects of a source's copy; each is the empty text if the process does not know it. */
export interface ExpectedCopy {
  readonly epoch: string;
  /** The field of the copy that has this process's high-water mark. */
  readonly field: string;
  /** The id of the newest approval that this process was given. */
  readonly highWaterMark: string;
}

export interface CopyResults {
  /** 0 if every source has the record; otherwise the highest sequence that a source has instead. */
  readonly highestOther: number;
  readonly lost: readonly (readonly [source: string, loss: LossKind])[];
}

/**
 * Updates the copies of some sources, by default of all, except those of sources that have lost data. Once
 * all sources have the freeze events in their journals, the events are removed.
 */
export async function updateCopies(
  parts: RedisParts,
  state: StoreState,
  expectedOf: (source: string) => ExpectedCopy,
  sources?: readonly string[],
): Promise<CopyResults> {
  const names = sources ?? (await knownSources(parts));
  const results = await Promise.all(
    names.map(async (source) => ({
      source,
      ...(await updateCopy(parts, source, state, expectedOf(source))),
    })),
  );
  if (sources === undefined && state.freezeEvents !== '') {
    // If this fails, the sources get the events again, and journal none of them twice.
    const { connection, keys } = parts;
    await run(connection, removeEventsScript, [keys.inForce], [state.freezeEvents]).catch(() => undefined);
  }
  return {
    highestOther: Math.max(0, ...results.map(({ other = 0 }) => other)),
    lost: results.flatMap(({ source, loss }) => (loss === undefined ? [] : [[source, loss] as const])),
  };
}

/** The sequence that the source has instead of the record's, or its loss. */
interface CopyResult {
  readonly other?: number;
  readonly loss?: LossKind;
}
const copyResult = z.union([
  lossKinds.transform((loss): CopyResult => ({ loss })),
  digits.transform((other): CopyResult => ({ other })),
]);

async function updateCopy(
  parts: RedisParts,
  source: string,
  { current, freezeEvents }: StoreState,
  { epoch, field, highWaterMark }: ExpectedCopy,
): Promise<CopyResult> {
  const [sequence, revision, frozen, prices] = current;
  const { control, journal } = parts.keys.of(source);
  const expected = [epoch, field, highWaterMark];
  const args = [sequence, revision, frozen, prices, ...expected, ...journalArguments(parts), freezeEvents];
  const reply = await run(parts.connection, updateCopyScript, [control, journal], args);
  return parseReply(copyResult, `the copy of ${source}`, reply);
}

/**
 * Gives sources the epoch. Without `overwrite`, only sources that never had one get it. A source settles
 * nothing until its copy is updated.
 */
export async function registerSources(
  { connection, keys }: RedisParts,
  { epoch = '' }: StoreState,
  { sources, overwrite }: { readonly sources: readonly string[]; readonly overwrite: boolean },
): Promise<void> {
  const args = [epoch, overwrite ? '1' : '0'];
  await Promise.all(
    sources.map((source) => run(connection, registerScript, [keys.of(source).control], args)),
  );
}

export async function knownSources(parts: RedisParts): Promise<readonly string[]> {
  const { connection, keys } = parts;
  const known = parseReply(texts, 'the sources', await connection.call('smembers', [keys.sources]));
  // A source is placed before it is known, so now all of these are.
  await readPlaces(parts);
  return known;
}

// ---- reading the record ----

export function controlOf({ current }: Pick<StoreState, 'current'>): Control {
  const [sequence, revision, frozen, prices, freezes, lifted] = current;
  return {
    sequence: parseReply(digits, 'the sequence in force', sequence),
    revision,
    // If `frozen` says so, the sources are frozen, and the list must have at least one freeze.
    frozen: frozen === '' ? [] : parseReply(oneOrMore, 'the freezes', freezesOf(freezes)),
    lifted: lifted === '' ? [] : parseJson(z.array(liftedRow), 'the freezes that were lifted', lifted),
    prices: parseReply(digits, 'the version of the prices', prices),
  };
}

const kind = z.enum(['operator', 'except-approved', 'loss']);
export const freezeRow = z
  .tuple([text, kind, text, text, digits])
  .transform(([id, of, reason, by, atMs]): Freeze => ({ id, kind: of, reason, by, atMs }));
const liftedRow = z.tuple([text, text, digits]).transform(([id, by, atMs]) => ({ id, by, atMs }));
const oneOrMore = z.array(z.custom<Freeze>()).min(1);

export const freezesOf = (json: string): readonly Freeze[] =>
  json === '' ? [] : parseJson(z.array(freezeRow), 'the freezes', json);
