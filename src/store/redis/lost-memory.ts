import { randomInt } from 'node:crypto';
import { compareIds } from './entry.ts';

/**
 * A sentence without its end, and the epoch by which it was found; a loss of an epoch that was declared lost
 * is none any more.
 */
export interface FoundLoss {
  readonly found: string;
  readonly epoch: string | undefined;
}

/** What a look found in force; zeros, and the empty text, before the first. */
export interface Seen {
  readonly sequence: number;
  /** The freezes that stood, as JSON, or the empty text: they stand again if they are lost. */
  readonly freezes: string;
  /** The number of the last id that a freeze was given, and none is given again. */
  readonly ids: number;
}

/** What one process remembers of the store, to notice by it what the store has lost. */
export interface Memory {
  /**
   * Its field in each source's copy. Few, so that they stay few there; a field that is shared is the newest
   * of all who share it.
   */
  readonly witness: string;
  readonly epoch: () => string | undefined;
  /** What was in force at the last look. */
  readonly seen: () => Seen;
  /** The sources that this process registered. */
  readonly sources: () => readonly string[];
  /** The id of the newest approval that it was given; the empty text if there was none. */
  readonly newest: (source: string) => string;
  /**
   * What was found lost and could not be frozen yet: as long as there is something, nothing may be approved.
   */
  readonly loss: () => FoundLoss | undefined;
  readonly serve: (sources: readonly string[]) => void;
  /** Another epoch than before: what was remembered is forgotten. */
  readonly see: (epoch: string, seen: Seen) => void;
  readonly approved: (source: string, id: string) => void;
  readonly bar: (loss: FoundLoss) => void;
  /** Lets one freeze be written at a time; the bar is lifted when it is. */
  readonly freezing: (write: () => Promise<void>) => Promise<void>;
}

const WITNESSES = 1000;

export function createMemory(): Memory {
  const witness = `w:${randomInt(WITNESSES)}`;
  const sources = new Set<string>();
  const newest = new Map<string, string>();
  let epoch: string | undefined;
  let seen: Seen = { sequence: 0, freezes: '', ids: 0 };
  let loss: FoundLoss | undefined;
  let freezing: Promise<void> | undefined;

  async function freeze(write: () => Promise<void>): Promise<void> {
    try {
      await write();
      loss = undefined;
    } finally {
      freezing = undefined;
    }
  }

  return {
    witness,
    epoch: () => epoch,
    seen: () => seen,
    sources: () => [...sources],
    newest: (source) => newest.get(source) ?? '',
    loss: () => loss,
    serve(served) {
      for (const source of served) sources.add(source);
    },
    see(seenEpoch, now) {
      if (epoch !== seenEpoch) newest.clear();
      epoch = seenEpoch;
      seen = { ...now, ids: Math.max(now.ids, seen.ids) };
    },
    approved(source, id) {
      const before = newest.get(source);
      if (before === undefined || compareIds(id, before) > 0) newest.set(source, id);
    },
    bar(found) {
      loss = found;
    },
    freezing: (write) => (freezing ??= freeze(write)),
  };
}
