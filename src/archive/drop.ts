import { setTimeout as pause } from 'node:timers/promises';
import type { Journal } from '../store/store.ts';

/**
 * A step keeps decisions waiting; after each they have the store to themselves for at least so many times as
 * long.
 */
const RESTS = 3;

/** Drops entries step by step until none is left up to `upTo`; resolves with how many. */
export async function dropUpTo(
  store: Pick<Journal, 'dropEntries'>,
  source: string,
  upTo: string,
): Promise<number> {
  for (let dropped = 0; ;) {
    const begunMs = performance.now();
    const step = await store.dropEntries({ source, upTo });
    if (step === 0) return dropped;
    dropped += step;
    await pause(Math.ceil(RESTS * (performance.now() - begunMs)));
  }
}
