import { z } from 'zod';
import { CountersignError } from '../../errors.ts';

/*
 * How it is noticed that Redis has lost data, because of which approvals were forgotten and limits count too
 * little.
 *
 * The store has an epoch, a random id, and each source has a copy of it, made when the source is first
 * enrolled and never again by itself. With its copy each source keeps witnesses: the newest approval that
 * each process was given. A process remembers the epoch and its newest approvals. Whatever it finds gone or
 * older than it remembers is a loss: it begins another epoch and freezes the store, with a reason. No source
 * takes anything but a freeze then, until an operator unfreezes, which enrols all sources in the new epoch.
 * Who remembers an epoch that was declared lost forgets what it remembered of it.
 *
 * Beyond this: a process that starts after the loss, while no other one runs, remembers nothing, and begins
 * an emptied Redis anew. If others run they freeze it as soon as they look, and until then the new one may
 * approve what was approved before.
 */

/**
 * What a source has lost: its copy of what is in force, or an approval; `other` is a copy of another epoch.
 */
export type Loss = 'gone' | 'other' | 'behind';
export const losses = z.enum(['gone', 'other', 'behind']);

/** What a process knows of a source, each the empty text if it knows nothing. */
export interface Known {
  readonly epoch: string;
  /** The field of the source's copy that keeps the newest approval that this process was given. */
  readonly witness: string;
  readonly newest: string;
}

const SOURCE: Readonly<Record<Loss, (source: string) => string>> = {
  gone: (source) => `Redis has lost what it kept for the source ${source}`,
  other: (source) => `what Redis keeps for the source ${source} is not what it kept before`,
  behind: (source) => `Redis no longer has an approval of the source ${source} that was answered`,
};

export function sourceLost(source: string, loss: Loss): string {
  return SOURCE[loss](source);
}

/**
 * Who freezes for a loss, and how the reason begins. Older versions know a loss by these: see
 * scripts/include/in_force.lua.
 */
const BY = 'countersign';
const BEGINNING = 'data was lost: ';
const CURE =
  'What was approved and what limits have used may be forgotten. Find out why, push the policies again if none are in force, enter lists, prices and orders again if they are gone, compare with the platform what was approved, then `countersign unfreeze --acknowledge-loss`: repeats and limits begin from what Redis still has';

export function freezeFor(found: string): { readonly reason: string; readonly by: string } {
  const short = found.length > FOUND_MAX ? `${found.slice(0, FOUND_MAX)}…` : found;
  return { reason: `${BEGINNING}${short}. ${CURE}`, by: BY };
}

/** Characters of what is said to be lost: a sentence a source, and there may be many. */
const FOUND_MAX = 1000;

/** For whoever asks meanwhile. */
export function lossError(found: string): CountersignError {
  return new CountersignError('STORE_LOST', freezeFor(found).reason, { found });
}
