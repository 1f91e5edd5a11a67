import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../../src/store/embedded/open.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import { startRedisServer } from '../../../test/redis-server.ts';
import type { OpenStore, RunOptions } from './run.ts';

/** A store of each kind for each round. */
export interface BothStores {
  readonly open: RunOptions['open'];
  readonly close: () => Promise<void>;
}

/** A busy machine is no fault. */
const UNHURRIED = { commandTimeoutMs: 60_000, connectTimeoutMs: 60_000 };

/** Starts a Redis server, and makes a folder for the embedded stores. */
export async function startBothStores(): Promise<BothStores> {
  const redis = await startRedisServer();
  const folder = mkdtempSync(join(tmpdir(), 'countersign-fuzz-'));
  return {
    async open(clock) {
      const name = randomUUID();
      const path = join(folder, `${name}.db`);
      const [embedded, other] = await Promise.all([
        openEmbeddedStore({ path, clock }),
        openRedisStore({ url: redis.url, prefix: name, clock, ...UNHURRIED }),
      ]);
      const closeEmbedded = async (): Promise<void> => {
        await embedded.close();
        for (const suffix of ['', '-wal', '-shm', '.lock']) rmSync(`${path}${suffix}`, { force: true });
      };
      return [
        { name: 'embedded', store: embedded, close: closeEmbedded },
        { name: 'redis', store: other, close: () => other.close() },
      ] satisfies readonly OpenStore[];
    },
    async close() {
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
