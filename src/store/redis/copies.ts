import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type Loss, losses } from './lost.ts';
import type { Seen } from './lost-memory.ts';
import { type RedisParts, clockArgument, journalArguments } from './parts.ts';
import { digits, expectReply, optionalText, text, texts } from './reply.ts';
import { loadScript, run } from './script.ts';

const beginScript = loadScript('begin-1');
const enrolScript = loadScript('enrol-1');
const adoptScript = loadScript('adopt-1');
const journalledScript = loadScript('journalled-1');
const takeScript = loadScript('take-2');

/**
 * What is in force as scripts give and take it: sequence, revision, one of the freezes, the version of the
 * prices, all of the freezes, and those that were lifted last. Freezes are JSON, or the empty text for none.
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

/** What is in force, and what must be known of the store to spread it. */
export interface StoreState {
  readonly current: InForce;
  /** Undefined only for a process that remembers one. */
  readonly epoch: string | undefined;
  /** The epochs that were declared lost. */
  readonly lost: readonly string[];
  /** It is frozen for a loss, until an operator acknowledges that. */
  readonly stopped: boolean;
  /**
   * Freezes and ends of freezes that some source may not have in its journal yet, as JSON, or the empty text.
   */
  readonly acts: string;
  /** The number of the last id that a freeze was given. */
  readonly ids: number;
}

const NAMES = [
  'sequence',
  'revision',
  'frozen',
  'prices',
  'freezes',
  'lifted',
  'epoch',
  'lost',
  'stopped',
  'told',
  'acts',
  'ids',
];
const fields = z.array(optionalText).length(NAMES.length);

/**
 * Reads it. A process that remembers no epoch begins one where there is none; one that remembers never does.
 * What was written by a version that knows of one freeze only is taken over first.
 */
export async function readState(parts: RedisParts): Promise<StoreState> {
  const { state, isOurs } = await readFields(parts);
  if (isOurs) return state;
  await run(parts.connection, adoptScript, [parts.keys.inForce], [clockArgument(parts)]);
  return (await readFields(parts)).state;
}

async function readFields(
  parts: RedisParts,
): Promise<{ readonly state: StoreState; readonly isOurs: boolean }> {
  const { connection, keys, memory } = parts;
  const begun = newEpoch();
  const reply =
    memory.epoch() === undefined
      ? await run(connection, beginScript, [keys.inForce], [begun])
      : await connection.call('hmget', [keys.inForce, ...NAMES]);
  const found = expectReply(fields, 'what is in force', reply);
  const [sequence = '0', revision = '', frozen = '', prices = '0', freezes = '', lifted = '', ...rest] =
    found;
  const [epoch, lost = '', stopped = '', told = '', acts = '', ids = '0'] = rest;
  // Processes that remember another epoch are to look before anything is pushed.
  if (epoch === begun) await publishChange(parts, sequence);
  const current = [sequence, revision, frozen, prices, freezes, lifted] as const;
  const state = { current, epoch, lost: lost.split(' '), stopped: stopped !== '', acts, ids: Number(ids) };
  return { state, isOurs: frozen === told };
}

export function seenIn({ current, ids }: StoreState): Seen {
  return { sequence: Number(current[0]), freezes: current[4], ids };
}

export function newEpoch(): string {
  return randomBytes(8).toString('hex');
}

/** Wakes whoever watches. A notice may be lost: whoever follows polls as well. */
export async function publishChange({ connection, keys }: RedisParts, sequence: string): Promise<void> {
  await connection.call('publish', [keys.changed, sequence]).catch(() => undefined);
}

/** How sources took what is in force. */
export interface Spread {
  /** 0 once every source has it, else the highest sequence of what some keep instead. */
  readonly kept: number;
  readonly lost: readonly (readonly [source: string, loss: Loss])[];
}

/** Gives it to all sources that are known. */
export async function spread(parts: RedisParts, state: StoreState): Promise<Spread> {
  const taken = await spreadTo(parts, state, await knownSources(parts));
  if (state.acts !== '') {
    // What is not forgotten now is given again, and a source journals no act twice.
    await run(parts.connection, journalledScript, [parts.keys.inForce], [state.acts]).catch(() => undefined);
  }
  return taken;
}

export async function spreadTo(
  parts: RedisParts,
  state: StoreState,
  sources: readonly string[],
): Promise<Spread> {
  const taken = await Promise.all(
    sources.map(async (source) => [source, await take(parts, source, state)] as const),
  );
  return {
    kept: Math.max(0, ...taken.map(([, kept]) => (typeof kept === 'number' ? kept : 0))),
    lost: taken.flatMap(([source, kept]) => (typeof kept === 'number' ? [] : [[source, kept] as const])),
  };
}

const takes = z.union([losses, digits]);

async function take(parts: RedisParts, source: string, state: StoreState): Promise<number | Loss> {
  const { connection, keys, memory } = parts;
  const { current, epoch = '', acts } = state;
  const [sequence, revision, frozen, prices] = current;
  const newest = epoch === memory.epoch() ? memory.newest(source) : '';
  const known = [epoch, memory.witness, newest];
  const { control, journal } = keys.of(source);
  const given = [sequence, revision, frozen, prices, ...known, ...journalArguments(parts), acts];
  const reply = await run(connection, takeScript, [control, journal], given);
  return expectReply(takes, `what ${source} takes`, reply);
}

/**
 * Gives sources the epoch: those that never had any or, once an operator said so, `anyhow`. They settle
 * nothing until they take what is in force.
 */
export async function enrol(
  { connection, keys }: RedisParts,
  { epoch = '' }: StoreState,
  { sources, anyhow }: { readonly sources: readonly string[]; readonly anyhow: boolean },
): Promise<void> {
  const given = [epoch, anyhow ? '1' : '0'];
  await Promise.all(sources.map((source) => run(connection, enrolScript, [keys.of(source).control], given)));
}

export async function knownSources({ connection, keys }: RedisParts): Promise<readonly string[]> {
  return expectReply(texts, 'the sources', await connection.call('smembers', [keys.sources]));
}
