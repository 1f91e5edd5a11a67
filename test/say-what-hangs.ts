import { beforeEach } from 'vitest';

/*
 * Runs before each test: one that times out says what its process still waits for, such as a read of a file,
 * a timer or a connection. Without anything, an event was lost.
 */

beforeEach(({ onTestFailed }) => {
  onTestFailed(({ task }) => {
    const timedOut = task.result?.errors?.some(({ message }) => message.includes('timed out'));
    if (timedOut !== true) return;
    const counts = new Map<string, number>();
    for (const resource of process.getActiveResourcesInfo())
      counts.set(resource, (counts.get(resource) ?? 0) + 1);
    console.error(`${task.name} timed out; active: ${JSON.stringify(Object.fromEntries(counts))}`);
  });
});
