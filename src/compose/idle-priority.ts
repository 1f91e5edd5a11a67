import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';

const LOWEST = 19;

/**
 * From now on, this process runs only while nothing else wants its processor. On Linux this is the scheduling policy
 * `SCHED_IDLE`. Node can't set it, but `chrt` can, which Debian (util-linux) and Alpine (BusyBox) have. Without `chrt`,
 * the process has the lowest priority, and may keep its processor for some milliseconds when another process wakes up.
 */
export function runWhenIdle(): void {
  try {
    setPriority(LOWEST);
    const env = { PATH: process.env['PATH'] };
    const chrt = spawn('chrt', ['-i', '-p', '0', String(process.pid)], { env, stdio: 'ignore' });
    chrt.on('error', () => undefined);
  } catch {
    // The system has no priorities, or forbids them: pages that delay callbacks a little are better than none.
  }
}
