import { setTimeout as pause } from 'node:timers/promises';

/**
 * The first value that is not undefined; asks again until then. A returned Error ends it at once; after
 * `withinMs` it rejects, naming what was waited for.
 */
export async function eventually<T>(
  what: string,
  ask: () => T | Error | undefined | Promise<T | Error | undefined>,
  withinMs = 60_000,
): Promise<T> {
  const givenUpAtMs = performance.now() + withinMs;
  for (;;) {
    const value = await ask();
    if (value instanceof Error) throw value;
    if (value !== undefined) return value;
    if (performance.now() > givenUpAtMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await pause(10);
  }
}
