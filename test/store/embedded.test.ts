import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import type { LockWait } from '../../src/store/embedded/lock.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { describeStore } from './conformance.ts';
import { describeConcurrency } from './conformance/concurrency.ts';
import { describeLists } from './conformance/lists.ts';
import { describeReleases } from './conformance/releases.ts';
import { describeReopening } from './conformance/reopening.ts';
import { type StoreUnderTest, createTestClock, underTest } from './conformance/store-under-test.ts';
import { START_MS } from './requests.ts';

/**
 * Two stores on one file take turns, and a busy machine may keep one of them waiting for longer than a
 * service would.
 */
const lockWait: LockWait = { waitMs: 30_000, hasPriority: false };

const openIn = (threadAfterWrites: number) => (): Promise<StoreUnderTest> => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  const path = join(folder, 'data', 'store.db');
  const clock = createTestClock(START_MS);
  return underTest(
    clock,
    () => openEmbeddedStore({ path, clock: () => clock.nowMs, threadAfterWrites, lockWait }),
    () => rmSync(folder, { recursive: true, force: true }),
  );
};

describeStore('embedded', openIn(32));

/**
 * What the way to the thread and back could spoil: order, results and errors. What is done there is the same.
 */
describe('the embedded store that writes in a thread', () => {
  const open = openIn(0);
  describeConcurrency(open);
  describeReleases(open);
  describeLists(open);
  describeReopening(open);
});
