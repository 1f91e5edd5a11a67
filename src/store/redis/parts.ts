import type { Clock } from '../../values/clock.ts';
import type { ClockBounds } from '../clock-state.ts';
import type { Elapsed } from '../elapsed.ts';
import type { Retention } from '../retention.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Places } from './places.ts';

/** What every verb of the store uses. */
export interface RedisParts {
  readonly connection: Connection;
  readonly keys: Keys;
  readonly places: Places;
  readonly retention: Retention;
  /** A test's clock. Undefined otherwise: the time is that of Redis. */
  readonly clock: Clock | undefined;
  /** Undefined for tests and simulations: the store then accepts every step of the clock. */
  readonly clockBounds: ClockBounds | undefined;
  readonly elapsed: Elapsed;
  /** When this process last found the clock right, by the key that keeps the time: see time.ts. */
  readonly lastPlausibleClock: Map<string, { readonly clockMs: number; readonly elapsedMs: number }>;
}

/** The clock as `time_clock` of include/time.lua reads it. */
export function clockArgument({ clock, clockBounds }: RedisParts): string {
  const at = clock === undefined ? '' : String(clock());
  return clockBounds === undefined ? at : `${at}+${clockBounds.maxStepMs}`;
}

/** The first arguments of each script that writes to the journal. */
export function journalArguments(parts: RedisParts): string[] {
  return [clockArgument(parts), String(parts.retention.journalMs)];
}
