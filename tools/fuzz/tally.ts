import type { Finding } from './judge.ts';

/*
 * What a run has counted and found so far.
 */

export interface Found extends Finding {
  readonly round: number;
  readonly labels: readonly string[];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly code: string;
}

export interface Tally {
  answered: number;
  /** How many of them were sent over HTTP as well. */
  overHttp: number;
  /** SUCCESS in either form, by what was answered. */
  readonly answers: Map<string, number>;
  readonly mutations: Map<string, number>;
  readonly codes: Map<string, number>;
  /** What was wrong: at most some of each. */
  readonly wrong: Map<string, Findings>;
  /** What the reference would have let pass, by code. */
  readonly refused: Map<string, Findings>;
  /** Batches that took longer than they should, and whose callbacks did not, alone. */
  slowBatches: number;
}

export interface Findings {
  readonly count: number;
  /** The first few. */
  readonly examples: readonly Found[];
}

const EXAMPLES = 3;

export function emptyTally(): Tally {
  return {
    answered: 0,
    overHttp: 0,
    answers: new Map(),
    mutations: new Map(),
    codes: new Map(),
    wrong: new Map(),
    refused: new Map(),
    slowBatches: 0,
  };
}

/** Counts all, and keeps a few. */
export function note(into: Map<string, Findings>, what: string, found: Found | undefined): void {
  const { count, examples } = into.get(what) ?? { count: 0, examples: [] };
  const kept = found === undefined || examples.length >= EXAMPLES ? examples : [...examples, found];
  into.set(what, { count: count + 1, examples: kept });
}

export function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
