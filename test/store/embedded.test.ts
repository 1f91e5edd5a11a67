import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { describeStore } from './conformance.ts';
import { createTestClock } from './conformance/store-under-test.ts';
import { START_MS } from './requests.ts';

describeStore('embedded', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  const path = join(folder, 'data', 'store.db');
  const clock = createTestClock(START_MS);
  const handles: Store[] = [];
  const another = async (): Promise<Store> => {
    const store = await openEmbeddedStore({ path, clock: () => clock.nowMs });
    handles.push(store);
    return store;
  };
  const closeAll = async (): Promise<void> => {
    await Promise.all(handles.splice(0).map((store) => store.close()));
  };
  return {
    store: await another(),
    clock,
    another,
    async reopen() {
      await closeAll();
      return another();
    },
    async close() {
      await closeAll();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});
