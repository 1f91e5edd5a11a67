import type { Clock } from '../../src/values/clock.ts';
import type { Credentials } from './credentials.ts';
import type { FaultRates, Faults } from './faults.ts';
import type { Entry, SandboxLog } from './log.ts';
import type { State } from './state.ts';
import type { SandboxClock, Zone } from './time.ts';

/**
 * How the co-signer proves who it is: with the token in a header, as the last segment of the path, or not.
 */
export type CosignerCredential =
  { readonly in: 'header'; readonly name: string } | { readonly in: 'path' } | { readonly in: 'nothing' };

export interface SandboxOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly controlPort: number;
  readonly seed: string;
  /** Multiplies the numbers of seeded records. */
  readonly scale: number;
  readonly clock: Clock;
  /** The instant at which the clock of the sandbox stands; undefined for one that goes with `clock`. */
  readonly standsAtMs: number | undefined;
  /** The platform's time zone, such as Asia/Shanghai. */
  readonly zone: string;
  /** The path segment before `open` (section 1). */
  readonly segment: string;
  /** Operations that this merchant may not use. */
  readonly denied: readonly string[];
  /** Requests in a day of the platform's time zone; 0 for any number. */
  readonly dailyLimit: number;
  readonly credentials: Credentials;
  /** The address of the receiver of confirmations, without a path. */
  readonly receiver: string;
  /** The custom URLs, without the secret segment. */
  readonly withdrawUrl: string;
  readonly web3Url: string;
  readonly cosignerCredential: CosignerCredential;
  readonly timeoutMs: number;
  /** 0 for polls by command only. */
  readonly pollMs: number;
  /** A withdrawal or transaction that was refused in this many polls is given up. */
  readonly refusalsMax: number;
  readonly faults: FaultRates;
  readonly lateMs: number;
  readonly onEntry: (entry: Entry) => void;
}

/** A sandbox that runs: its options, and what they are made into. */
export interface Running extends Omit<SandboxOptions, 'clock' | 'zone' | 'faults'> {
  readonly state: State;
  readonly clock: SandboxClock;
  readonly zone: Zone;
  readonly faults: Faults;
  readonly log: SandboxLog;
}
