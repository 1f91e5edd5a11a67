import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { request, windowClaim } from './requests.ts';

/**
 * Settles for ever, so many at a time that its writer always has the next group at hand. Refusals do: they
 * are written as well.
 */
const [path = ''] = process.argv.slice(2);
const store = await openEmbeddedStore({ path, threadAfterWrites: 0 });
const detail = 'x'.repeat(8000);
let next = 0;

async function settleForEver(): Promise<never> {
  for (;;) {
    const { revision, prices } = await store.control();
    const subject = `payment:saturating-${process.pid}-${next++}`;
    await store
      .settle(request({ subject, revision, prices, detail, claims: [windowClaim('1', '1000000')] }))
      // The others may keep the file for too long; then nothing was acknowledged.
      .catch(() => undefined);
  }
}

await Promise.all(Array.from({ length: 600 }, settleForEver));
