import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A monotonic count of elapsed time, independent of the clock. */
export interface Elapsed {
  /** Two readings can be compared if they have the same id. */
  readonly id: string;
  readonly elapsedMs: () => number;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const UPTIME = '/proc/uptime';

/**
 * On Linux, the time since the machine booted, including the time for which it was suspended. All processes
 * of one boot share it. On other systems, the time since this process started.
 */
export function systemElapsed(): Elapsed {
  try {
    const id = readFileSync(BOOT_ID, 'utf8').trim();
    uptimeMs();
    if (id !== '') return { id, elapsedMs: uptimeMs };
  } catch {
    // This is not Linux, or /proc is not mounted.
  }
  return { id: `process ${randomUUID()}`, elapsedMs: () => Math.round(performance.now()) };
}

function uptimeMs(): number {
  const seconds = /^\d+\.\d+/.exec(readFileSync(UPTIME, 'latin1'))?.[0];
  if (seconds === undefined) throw new Error(`${UPTIME} does not begin with seconds`);
  return Math.round(Number(seconds) * 1000);
}
