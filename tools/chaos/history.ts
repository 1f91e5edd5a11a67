import type { JournalEntry } from '../../src/store/store.ts';

/*
 * All that an auditor is given of a run: what was sent and what came back, what operators did and when it had
 * returned, when a receiver was down, and the journal read back. Instants are milliseconds since 1970 of the
 * machine's one clock.
 */

/** A callback that was made up, with what is known of its right answer. Its body is no other callback's. */
export interface Planned {
  /** What kind of story it belongs to, for messages and counts. */
  readonly story: string;
  readonly source: 'shop' | 'vault';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether its sender could show who it is. */
  readonly authentic: boolean;
  /** False: no policy that is ever in force lets it through. */
  readonly approvable: boolean;
  /** Nothing but a fault, a freeze or a list can refuse it. */
  readonly plain: boolean;
  readonly subject: string;
  /** All that says what is to be done. */
  readonly terms: string;
  readonly question: 'payment' | 'sign_prepare' | 'sign_start' | 'sign_success';
  /** The value that must not be on the source's list. */
  readonly listed: string;
  readonly charges: readonly Charge[];
}

/** What an approval takes of a window: in units of 10^-36. */
export interface Charge {
  readonly counter: string;
  /** A name in `Limits`. */
  readonly limit: string;
  readonly amount: bigint;
}

export type Limits = Readonly<Record<string, { readonly max: bigint; readonly lengthMs: number }>>;

/** One callback sent once. */
export interface Exchange {
  readonly callback: Planned;
  readonly receiver: string;
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  /** By a clock that nobody sets. */
  readonly tookMs: number;
  /** `SUCCESS`, `FAILURE`, or whatever else was answered; undefined where the connection broke. */
  readonly answer: string | undefined;
}

interface Done {
  readonly begunAtMs: number;
  readonly endedAtMs: number;
  /** False: it was rejected, and may have happened all the same. */
  readonly certain: boolean;
}

/** What an operator did. Acts of one kind never overlap. */
export type Act = Done &
  (
    | { readonly type: 'push'; readonly revision: string; readonly limits: Limits }
    | { readonly type: 'freeze' | 'unfreeze' }
    /** The store has lost its data: as good as a freeze. */
    | { readonly type: 'loss' }
    | {
        readonly type: 'list';
        readonly source: string;
        readonly value: string;
        readonly change: 'add' | 'remove';
      }
  );

export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A receiver that was killed or stopped, until it served again. */
export interface Outage extends Span {
  readonly receiver: string;
}

/** After a fault had ended: when a good callback was approved again. */
export interface Recovery {
  readonly fault: string;
  readonly receiver: string;
  /** Undefined: not within the bound. */
  readonly tookMs: number | undefined;
}

export interface History {
  readonly exchanges: readonly Exchange[];
  readonly acts: readonly Act[];
  readonly outages: readonly Outage[];
  readonly recoveries: readonly Recovery[];
  /** When no fault was there that could refuse anything. */
  readonly calm: readonly Span[];
  /** By source, oldest entry first. */
  readonly journal: ReadonlyMap<string, readonly JournalEntry[]>;
  readonly answerTimeoutMs: number;
  /** By how much an answer may be later than `answerTimeoutMs`. */
  readonly marginMs: number;
  /**
   * By how much an entry's time may lie before its callback was sent: where the store's time stands still.
   */
  readonly journalLagMs: number;
}
