import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';

/**
 * Runs a start, which pushes what it opens on the stack at once. If it fails, what was opened is closed, the
 * last first. A fault of that is only logged: it must not hide the fault of the start.
 */
export async function closeIfFailed<T>(
  log: Log,
  start: (opened: AsyncDisposableStack) => Promise<T>,
): Promise<T> {
  const opened = new AsyncDisposableStack();
  try {
    return await start(opened);
  } catch (thrown) {
    await opened.disposeAsync().catch((fault: unknown) => logFaults(log, fault));
    throw thrown;
  }
}

function logFaults(log: Log, fault: unknown): void {
  if (fault instanceof SuppressedError) {
    logFaults(log, fault.suppressed);
    logFaults(log, fault.error);
  } else log.error('not-closed', { because: messageOf(fault) });
}
