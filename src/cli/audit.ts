import { exportAudit } from '../audit/export.ts';
import { expectDirectory } from '../archive/folder.ts';
import { usageError } from '../errors.ts';
import type { CommandRow } from './command.ts';
import { checkEmpty } from './empty-directory.ts';
import { readTime } from './period.ts';
import { counted, isoTime, printable } from './print.ts';
import { sourceNames } from './sources.ts';

const DAY_MS = 86_400_000;
const PROGRESS_EVERY = 1000;

export const auditExport: CommandRow = {
  path: 'audit export',
  summary: 'Write all that an auditor needs of a period to a directory, with a program that verifies it.',
  example:
    'audit export --from 2025-01-01 --to 2025-04-01\n' +
    'audit export --from 2025-01-01 --to 2025-04-01 --archive /var/lib/countersign/archive --out audit-2025-q1',
  define: (command) =>
    command
      .requiredOption('--from <time>', 'from this time on: 30s, 15m, 2h or 7d ago, or an ISO time in UTC')
      .requiredOption('--to <time>', 'before this time, in the same form')
      .option('--archive <directory...>', 'the directories of the archive of `journal archive --to`')
      .option('--out <directory>', 'a new or empty directory (default: audit-FROM-TO)')
      .addHelpText(
        'after',
        `
The auditor runs \`node verify.mjs\` in the directory, with Node 20 or newer. Send the printed SHA-256 of the
manifest on another way: \`node verify.mjs SHA-256\` proves that nothing was changed since.

The bundle has the bodies of callbacks. Exit code 1: the bundle was written, but something is missing.`,
      ),
  async run(session, call) {
    const timeOf = (name: string): number => readTime(name, call.option(name) ?? '', session.clock());
    const [fromMs, untilMs] = [timeOf('from'), timeOf('to')];
    if (fromMs >= untilMs) {
      throw usageError(`--from ${call.option('from')} is not before --to ${call.option('to')}. Correct one`);
    }
    const directory = call.option('out') ?? `audit-${dayText(fromMs)}-${dayText(untilMs)}`;
    await checkEmpty(directory);
    const archives = call.options('archive');
    archives.forEach(expectDirectory);
    const store = await session.store('background');
    const { nowMs } = await store.health();
    if (untilMs > nowMs) {
      throw usageError(
        `--to ${call.option('to')} is after the store's time, ${isoTime(nowMs)}. Give a period that has ended`,
      );
    }
    const { journalDays } = session.settings().store.retention;
    let read = 0;
    const { sha256, entries, missing } = await exportAudit({
      store,
      sources: sourceNames(session),
      archives,
      directory,
      fromMs,
      untilMs,
      keptFromMs: nowMs - journalDays * DAY_MS,
      by: session.by,
      onEntry() {
        if (++read % PROGRESS_EVERY === 0) session.progress(`${read} entries read`);
      },
    });
    session.progress('');
    const text = [
      `${printable(directory)}: ${counted(entries, 'entry', 'entries')}, ${isoTime(fromMs)} to ${isoTime(untilMs)}`,
      `manifest ${sha256}`,
      ...missing.map((because) => `missing: ${printable(because)}`),
    ];
    session.print(text.join('\n'), { directory, sha256, entries, complete: missing.length === 0, missing });
    return missing.length === 0 ? 0 : 1;
  },
};

/** `20250301`, or `20250301T103000Z` if it is not a midnight. */
const dayText = (atMs: number): string => isoTime(atMs).replaceAll(/[-:]|\.000|T00:00:00\.000Z/g, '');
