import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { type TestService, type TestServiceOptions, startTestService } from '../service.ts';

/** Where a scenario's services keep their decisions. */
export interface StoreHost {
  readonly kind: 'embedded' | 'redis';
  /**
   * A service on a store of its own, or on that of `like`: as another replica while that one runs, or as
   * itself after `stop({ keep: true })`. It has more time than a busy machine takes, and is stopped when the
   * test is over.
   */
  start(options?: TestServiceOptions, like?: TestService): Promise<TestService>;
  /** The one Redis of the file. */
  redis(): RedisServerProcess;
  /** What the service's keys in Redis begin with. */
  prefixOf(service: TestService): string;
}

/** The same scenarios on the embedded store and on a Redis of the file's own. */
export function describeOnBothStores(
  promise: string,
  scenarios: (host: StoreHost) => void,
  { timeoutMs = 30_000 } = {},
): void {
  describe.each(['embedded', 'redis'] as const)(`${promise}, on %s`, { timeout: timeoutMs }, (kind) => {
    let redis: RedisServerProcess | undefined;
    const prefixes = new Map<string, string>();
    beforeAll(async () => {
      redis = kind === 'redis' ? await startRedisServer() : undefined;
    }, timeoutMs);
    afterAll(() => redis?.stop());

    const running = (): RedisServerProcess => {
      if (redis === undefined) throw new Error('there is no Redis: the store is embedded');
      return redis;
    };
    scenarios({
      kind,
      redis: running,
      prefixOf: ({ folder }) => prefixes.get(folder) ?? '',
      async start(options: TestServiceOptions = {}, like?: TestService) {
        const folder = like?.folder ?? mkdtempSync(join(tmpdir(), 'countersign-service-'));
        const prefix = prefixes.get(folder) ?? `test-${prefixes.size}`;
        prefixes.set(folder, prefix);
        const store =
          kind === 'redis' ? { store: { url: running().url, prefix, commandTimeoutMs: 5000 } } : {};
        const unhurried = { ...store, answerTimeoutMs: 10_000 };
        return stoppedAtTheEnd(
          await startTestService({ ...options, folder, settings: { ...unhurried, ...options.settings } }),
        );
      },
    });
  });
}

function stoppedAtTheEnd(service: TestService): TestService {
  let stopped = false;
  const stop: TestService['stop'] = async (options) => {
    if (stopped) return;
    stopped = true;
    await service.stop(options);
  };
  onTestFinished(() => stop());
  return { ...service, stop };
}
