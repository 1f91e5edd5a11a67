import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { freshPrefix } from '../store/redis-under-test.ts';
import { START_MS, push, request } from '../store/requests.ts';
import { type StorePlace, openPlace } from './place.ts';

export interface ArchiveUnderTest {
  readonly store: Store;
  readonly place: StorePlace;
  readonly clock: { nowMs: number };
  /** For the archive; gone when the test is over. */
  readonly directory: string;
  /** Decides so many payments, a millisecond apart; their ids. */
  readonly settle: (count: number, source?: string) => Promise<readonly string[]>;
}

/** Each suite on both stores. */
export function onBothStores(suite: (open: () => Promise<ArchiveUnderTest>) => void): void {
  let redis: RedisServerProcess;
  describe('on the embedded store', () => {
    suite(() => opened((folder) => ({ embedded: join(folder, 'store.db') })));
  });
  describe('on Redis', () => {
    beforeAll(async () => {
      redis = await startRedisServer();
    });
    afterAll(() => redis.stop());
    suite(() => opened(() => ({ redis: redis.url, prefix: freshPrefix() })));
  });
}

/** For whoever removes it by itself. */
export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'countersign-archive-'));

async function opened(placeIn: (folder: string) => StorePlace): Promise<ArchiveUnderTest> {
  const clock = { nowMs: START_MS };
  const place = placeIn(temporaryFolder());
  const store = await openPlace(place, () => clock.nowMs);
  onTestFinished(() => store.close());
  await store.register(['shop', 'vault']);
  await store.push(push('first', ''));
  let next = 0;
  return {
    store,
    place,
    clock,
    directory: temporaryFolder(),
    async settle(count, source = 'shop') {
      const ids: string[] = [];
      for (let index = 0; index < count; index++) {
        clock.nowMs++;
        const number = next++;
        const result = await store.settle(
          request({ source, subject: `payment:${number}`, detail: `{"number":${number}}` }),
        );
        if (!('id' in result)) throw new Error(`expected a decision, not ${result.outcome}`);
        ids.push(result.id);
      }
      return ids;
    },
  };
}

export async function journalOf(store: Store, source = 'shop'): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  for (;;) {
    const page = await store.entries({ source, after: found.at(-1)?.id ?? '', limit: 1000 });
    if (page.length === 0) return found;
    found.push(...page);
  }
}
