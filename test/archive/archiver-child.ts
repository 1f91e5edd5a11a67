import { archiveSource } from '../../src/archive/archive.ts';
import { lockDirectory } from '../../src/archive/folder.ts';
import { type StorePlace, openPlace } from './place.ts';

/**
 * Archives `shop`, and kills itself with SIGKILL at the point of the number given: after each step, and
 * before and after entries are dropped.
 */
const [place = '', directory = '', killAt = '0', nowMs = ''] = process.argv.slice(2);
let points = 0;

function point(): void {
  if (++points === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}

const lock = lockDirectory(directory);
const store = await openPlace(JSON.parse(place) as StorePlace, () => Number(nowMs));
await archiveSource({
  store: {
    entries: (query) => store.entries(query),
    async dropEntries(drop) {
      point();
      const dropped = await store.dropEntries(drop);
      point();
      return dropped;
    },
  },
  directory,
  source: 'shop',
  beforeMs: Number.MAX_SAFE_INTEGER,
  entriesMax: 100,
  onStep: point,
});
await store.close();
lock.release();
