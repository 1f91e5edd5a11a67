import { GCProfiler } from 'node:v8';
import { startService } from '../../src/start/service.ts';
import { openStore } from '../../src/start/store.ts';
import { batchWrites, createLog } from '../../src/observe/log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import type { Settings } from '../../src/settings/schema.ts';
import { systemClock } from '../../src/values/clock.ts';
import { type FloorParts, startFloor } from './floor.ts';

/**
 * A program under measurement, in a process of its own: it says where it serves, and what it has used when
 * asked.
 */
export type SubjectParts =
  | { readonly program: 'floor'; readonly floor: FloorParts }
  | {
      readonly program: 'countersign';
      readonly settings: string;
      readonly log: string;
      /** A list in the store to make before serving. */
      readonly list: { readonly list: string; readonly entries: number } | undefined;
    };

export type SubjectSays =
  | { readonly says: 'serving'; readonly url: string }
  | {
      readonly says: 'used';
      readonly cpuMicros: number;
      readonly rssBytes: number;
      /** Of JavaScript's heap, since the program began to serve. */
      readonly allocatedBytes: number;
    };

const parts = JSON.parse(process.argv[2] ?? '') as SubjectParts;
const say = (said: SubjectSays): void => void process.send?.(said);

async function serve(): Promise<string> {
  if (parts.program === 'floor') return startFloor(parts.floor);
  const settings = loadSettings({ file: parts.settings, env: {} });
  if (parts.list !== undefined) await makeList(settings, parts.list);
  const log = createLog({ level: settings.log.level, stream: batchWrites(process.stdout) });
  const service = await startService({ settings, env: {}, clock: systemClock, log });
  return service.publicUrl;
}

const LIST_STEP = 20_000;

async function makeList(
  { store: address }: Settings,
  { list, entries }: { readonly list: string; readonly entries: number },
): Promise<void> {
  const store = await openStore(address, () => '', systemClock, { as: 'service' });
  for (let from = 0; from < entries; from += LIST_STEP) {
    const add = Array.from(
      { length: Math.min(LIST_STEP, entries - from) },
      (_, at) => `${1_000_000 + from + at}`,
    );
    await store.changeList({ source: 'shop', list, add, remove: [], by: 'bench', message: 'to look into' });
  }
  await store.close();
}

/** What was allocated: what each collection found beyond what the one before had left. */
function createAllocation(): () => number {
  let left = process.memoryUsage().heapUsed;
  let allocated = 0;
  let profiler = new GCProfiler();
  profiler.start();
  return () => {
    for (const { beforeGC, afterGC } of profiler.stop().statistics) {
      allocated += beforeGC.heapStatistics.usedHeapSize - left;
      left = afterGC.heapStatistics.usedHeapSize;
    }
    const now = process.memoryUsage().heapUsed;
    allocated += now - left;
    left = now;
    profiler = new GCProfiler();
    profiler.start();
    return allocated;
  };
}

const url = await serve();
const allocatedBytes = createAllocation();
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const rssBytes = process.memoryUsage.rss();
  say({ says: 'used', cpuMicros: user + system, rssBytes, allocatedBytes: allocatedBytes() });
});
process.on('disconnect', () => process.exit(0));
say({ says: 'serving', url });
