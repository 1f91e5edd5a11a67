import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { request } from './requests.ts';

/**
 * Opens the store with its writer in a thread, settles, prints what came of it, and ends without closing
 * anything.
 */
const [path = ''] = process.argv.slice(2);
const store = await openEmbeddedStore({ path, writeIn: 'thread' });
const result = await store.settle(request());
process.stdout.write(`${result.outcome}\n`);
