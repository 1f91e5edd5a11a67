import { readFileSync } from 'node:fs';

/*
 * Loaded before a receiver by `--import`: moves its wall clock by the milliseconds that the file
 * CHAOS_CLOCK_FILE holds, also while it runs. Timers and `performance` stay as they are, as when somebody
 * sets a machine's clock.
 */

const LOOK_MS = 50;
const file = process.env['CHAOS_CLOCK_FILE'];
const real = Date.now;
let offsetMs = 0;

function look(): void {
  try {
    offsetMs = Number(readFileSync(file ?? '', 'utf8')) || 0;
  } catch {
    // Just being written.
  }
}

if (file !== undefined) {
  look();
  setInterval(look, LOOK_MS).unref();
  Date.now = () => real() + offsetMs;
}
