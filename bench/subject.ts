import { startService } from '../src/compose/service.ts';
import { gathered } from '../src/observe/gathered.ts';
import { createLog } from '../src/observe/log.ts';
import { loadSettings } from '../src/settings/load.ts';
import { systemClock } from '../src/values/clock.ts';
import { type FloorParts, startFloor } from './floor.ts';

/** A program under measurement, in a process of its own: it says where it serves, and what it has used when asked. */
export type SubjectParts =
  | { readonly program: 'floor'; readonly floor: FloorParts }
  | { readonly program: 'countersign'; readonly settings: string; readonly log: string };

export type SubjectSays =
  | { readonly says: 'serving'; readonly url: string }
  | { readonly says: 'used'; readonly cpuMicros: number; readonly rssBytes: number };

const parts = JSON.parse(process.argv[2] ?? '') as SubjectParts;
const say = (said: SubjectSays): void => void process.send?.(said);

async function serve(): Promise<string> {
  if (parts.program === 'floor') return startFloor(parts.floor);
  const settings = loadSettings({ file: parts.settings, env: {} });
  const log = createLog({ level: settings.log.level, stream: gathered(process.stdout) });
  const service = await startService({ settings, env: {}, clock: systemClock, log });
  return service.publicUrl;
}

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  say({ says: 'used', cpuMicros: user + system, rssBytes: process.memoryUsage.rss() });
});
process.on('disconnect', () => process.exit(0));
say({ says: 'serving', url: await serve() });
