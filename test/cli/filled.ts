import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { type Place, place } from './terminal.ts';

export const DAY_MS = 86_400_000;
/** Where the clock of the calls stands. */
export const NOW_MS = Date.UTC(2025, 5, 15, 12);

export interface Filled extends Place {
  readonly store: Store;
  /** Sets the store's clock to so many days before now. */
  readonly at: (daysAgo: number) => void;
  /** Records a refusal with this detail. */
  readonly refuse: (source: string, detail: object, subject?: string) => Promise<string>;
}

/** A folder whose store has a clock of the test's own. */
export async function filled(): Promise<Filled> {
  const here = place();
  let nowMs = NOW_MS;
  const store = await openEmbeddedStore({ path: join(here.folder, 'store.db'), clock: () => nowMs });
  onTestFinished(() => store.close());
  const refused = { type: 'refused', verdict: 'FAILURE', code: 'MEMBER_MISSING', of: '' } as const;
  return {
    ...here,
    store,
    at(daysAgo) {
      nowMs = NOW_MS - daysAgo * DAY_MS;
    },
    refuse: (source, detail, subject = '') =>
      store.record({ ...refused, source, subject, detail: JSON.stringify(detail) }),
  };
}
