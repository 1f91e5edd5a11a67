import { acceptClock, clockJson, clockText } from '../act/clock.ts';
import { usageError } from '../errors.ts';
import { storeAddress } from '../settings/store.ts';
import type { Copied } from '../store/embedded/backup.ts';
import { actCommand } from './act.ts';
import { type CommandRow, byOption } from './command.ts';
import { counted, isoTime } from './print.ts';
import type { Session } from './session.ts';

export const storeBackup: CommandRow = {
  path: 'store backup',
  summary: 'Copy the embedded store to a new file, while services use it.',
  example: 'store backup --to /backup/countersign-2026-11-28.db',
  define: (command) => command.requiredOption('--to <file>', 'a new file, best on another disk'),
  async run(session, call) {
    const path = embeddedPath(session, 'back it up');
    const { backUp } = await import('../store/embedded/backup.ts');
    const made = await backUp(path, call.option('to') ?? '');
    session.print(`Backed up to ${made.file}: ${contentText(made)}.`, copiedJson(made));
    return 0;
  },
};

export const storeRestore: CommandRow = {
  path: 'store restore',
  summary: 'Make the embedded store from a backup, with approvals frozen.',
  example: 'store restore /backup/countersign-2026-11-28.db',
  define: (command) =>
    byOption(command.argument('<file>', 'a backup, or a store whose log is lost')).addHelpText(
      'after',
      FROZEN,
    ),
  async run(session, call) {
    const [from = ''] = call.arguments;
    const path = embeddedPath(session, 'restore it');
    const { restore } = await import('../store/embedded/backup.ts');
    const made = await restore(from, path, { by: session.by, nowMs: session.clock() });
    session.print(
      `Restored to ${made.file}: ${contentText(made)}.\n` +
        'Approvals are frozen. Find out what was approved after that, then run `unfreeze --acknowledge-loss`.',
      copiedJson(made),
    );
    return 0;
  },
};

const FROZEN = `
The store must not exist: stop the services, and move the file away with its -wal and -shm files.

A restored store does not know what was decided after the backup. It would approve those callbacks again,
and limits would start from their older amounts. So approvals stay frozen until somebody has looked after
this and runs \`unfreeze --acknowledge-loss\`. docs/runbook.md says how, under "Redis lost its data".`;

/** Throws USAGE for a store on Redis, which is backed up with the tools of Redis. */
function embeddedPath(session: Session, what: string): string {
  const address = storeAddress(session.settings().store.url);
  if (address?.kind === 'embedded') return address.path;
  throw usageError(`the store is on Redis; ${what} as docs/redis.md says under Backup and restore`);
}

const contentText = ({ entries, newestMs, bytes }: Copied): string =>
  `${counted(entries, 'journal entry', 'journal entries')}${newestMs === undefined ? '' : `, the newest of ${isoTime(newestMs)}`}, ` +
  `${Math.ceil(bytes / 1024)} KiB`;

const copiedJson = ({ file, bytes, entries, newestMs }: Copied) => ({
  file,
  bytes,
  entries,
  newest: newestMs === undefined ? null : isoTime(newestMs),
});

export const clockShow: CommandRow = {
  path: 'clock show',
  summary: "Show the store's clock and its time, and whether a difference stops approvals.",
  example: 'clock show',
  async run(session) {
    const store = await session.store();
    const state = await store.clock();
    session.print(clockText(state), clockJson(state));
    return state.state === 'right' ? 0 : 1;
  },
};

export const clockAccept = actCommand(acceptClock, {
  example: 'clock accept',
  define: (command) => command.addHelpText('after', CAN_NOT_BE_UNDONE),
  input: () => ({}),
});

const CAN_NOT_BE_UNDONE = `
This can't be undone, because the store's time never runs backwards. Accept a clock only if it is right:
compare it with another one, for example with \`date --utc\`.

If you accept a wrong clock, limits can be used once more. When the clock is corrected later, the store's
time stands still until the clock reaches it. If the clock is wrong, correct it instead. Approvals then
continue without this command.`;
