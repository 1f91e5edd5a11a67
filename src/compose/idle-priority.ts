import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';

const LOWEST = 19;

/**
 * From now on, this process runs only while nothing else wants its processor. Linux has `SCHED_IDLE` for this. Node
 * can't ask for it, but `chrt` can, which comes with Debian (util-linux) and Alpine (BusyBox). A process that only has
 * the lowest priority delays whoever wakes up until it rests, or until its time slice of some milliseconds ends. That
 * is what it does where there is no `chrt`.
 */
export function runWhenIdle(): void {
  try {
    setPriority(LOWEST);
  } catch {
    // The system has no priorities, or forbids them: to answer pages a little too eagerly is better than not at all.
  }
  const chrt = spawn('chrt', ['-i', '-p', '0', String(process.pid)], { stdio: 'ignore' });
  chrt.on('error', () => undefined);
}
