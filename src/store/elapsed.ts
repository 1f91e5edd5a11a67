import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Time that passes, whatever the clock is set to. */
export interface Elapsed {
  /** Two readings can be compared if they are of one id. */
  readonly id: string;
  readonly elapsedMs: () => number;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const UPTIME = '/proc/uptime';

/**
 * On Linux since the machine was booted, times in which it was suspended included; so each process of one
 * boot counts alike. Elsewhere since this process began.
 */
export function systemElapsed(): Elapsed {
  try {
    const id = readFileSync(BOOT_ID, 'utf8').trim();
    uptimeMs();
    if (id !== '') return { id, elapsedMs: uptimeMs };
  } catch {
    // This is no Linux, or /proc is not there.
  }
  return { id: `process ${randomUUID()}`, elapsedMs: () => Math.round(performance.now()) };
}

function uptimeMs(): number {
  const seconds = /^\d+\.\d+/.exec(readFileSync(UPTIME, 'latin1'))?.[0];
  if (seconds === undefined) throw new Error(`${UPTIME} does not begin with seconds`);
  return Math.round(Number(seconds) * 1000);
}
