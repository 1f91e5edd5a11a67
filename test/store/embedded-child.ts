import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { request, windowClaim } from './requests.ts';

/** Settles for ever, 16 at a time, and prints the id and subject of each decision once it is acknowledged. */
const [path = '', name = '', max = ''] = process.argv.slice(2);
const store = await openEmbeddedStore({ path });
let next = 0;

async function settleForEver(): Promise<never> {
  for (;;) {
    const subject = `payment:${name}-${next++}`;
    try {
      const result = await store.settle(request({ subject, claims: [windowClaim('1', max)] }));
      if (result.outcome !== 'decided') throw new Error(`expected a decision, not ${result.outcome}`);
      process.stdout.write(`${result.id} ${subject} ${result.verdict}\n`);
    } catch (thrown) {
      // The other child may hold the file for too long; then nothing was acknowledged.
      process.stderr.write(`${String(thrown)}\n`);
    }
  }
}

await Promise.all(Array.from({ length: 16 }, settleForEver));
