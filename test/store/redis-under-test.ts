import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { RedisServer } from '../../src/store/redis/connection.ts';
import { type RedisStore, type RedisStoreOptions, openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServerOptions, type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { type OpenStore, createTestClock, underTest } from './conformance/store-under-test.ts';
import { START_MS, push } from './requests.ts';

/** A Redis of the test's own, gone when the test is over. */
export async function redisOfItsOwn(options: RedisServerOptions = {}): Promise<RedisServerProcess> {
  const server = await startRedisServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/**
 * A command takes much less, also on a busy machine. Tests of what takes too long give times of their own.
 */
export const UNHURRIED = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 };

/** A store on it, closed when the test is over. */
export async function storeOn(
  { url }: { readonly url: string },
  options: Partial<RedisStoreOptions> = {},
): Promise<RedisStore> {
  const store = await openRedisStore({ url, ...UNHURRIED, ...options });
  onTestFinished(() => store.close());
  return store;
}

/** One that knows `shop` and `vault`, with REVISION in force. */
export async function readyOn(
  server: { readonly url: string },
  options: Partial<RedisStoreOptions> = {},
): Promise<RedisStore> {
  const store = await storeOn(server, options);
  await store.register(['shop', 'vault']);
  await store.push(push('first', ''));
  return store;
}

/** A client to look behind the store's back. */
export function rawClient({ url }: { readonly url: string }): Redis {
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());
  return client;
}

export const freshPrefix = (): string => `countersign-test-${randomUUID()}`;

/** Asks again until it is answered without a rejection; gives up with the last one. */
export async function untilAnswered<T>(ask: () => Promise<T>, withinMs = 60_000): Promise<T> {
  const givenUpAtMs = performance.now() + withinMs;
  for (;;) {
    try {
      return await ask();
    } catch (thrown) {
      if (performance.now() > givenUpAtMs) throw thrown;
      await pause(10);
    }
  }
}

/** Opens stores for the conformance suite, each with a prefix of its own. */
export function openOn(server: () => RedisServer): OpenStore {
  return (groups) => {
    const clock = createTestClock(START_MS);
    const prefix = freshPrefix();
    return underTest(clock, () =>
      openRedisStore({
        ...server(),
        prefix,
        clock: () => clock.nowMs,
        ...(groups && { groups }),
        ...UNHURRIED,
      }),
    );
  };
}
