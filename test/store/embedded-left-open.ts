import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { request } from './requests.ts';

/** Opens the store with a writer thread, settles, prints the outcome, and ends without closing anything. */
const [path = ''] = process.argv.slice(2);
const store = await openEmbeddedStore({ path, threadAfterWrites: 0 });
const result = await store.settle(request());
process.stdout.write(`${result.outcome}\n`);
