import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { Store } from '../../src/store/store.ts';

/** How another process opens the same store. */
export type StorePlace = { readonly embedded: string } | { readonly redis: string; readonly prefix: string };

export async function openPlace(place: StorePlace, clock?: () => number): Promise<Store> {
  const timed = clock === undefined ? {} : { clock };
  return 'embedded' in place
    ? openEmbeddedStore({ path: place.embedded, ...timed })
    : openRedisStore({ url: place.redis, prefix: place.prefix, commandTimeoutMs: 5000, ...timed });
}
