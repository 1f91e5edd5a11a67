import { type Archived, FILE_ENTRIES_MAX, archiveSource } from '../../archive/archive.ts';
import { expectDirectory, lockDirectory } from '../../archive/folder.ts';
import { recordMove } from '../../archive/records.ts';
import { CountersignError } from '../../errors.ts';
import { type Call, type CommandRow, byOption } from '../command.ts';
import { readTime } from '../period.ts';
import { columns, counted } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const journalArchive: CommandRow = {
  path: 'journal archive',
  summary: 'Move old entries of the journal to files in which any change can be detected.',
  example:
    'journal archive --to /var/lib/countersign/archive --older-than 90d\n' +
    'journal archive --to /var/lib/countersign/archive --older-than 30d --source shop --json',
  define: (command) =>
    byOption(sourceOption(command))
      .requiredOption('--to <directory>', 'the directory of the archive, which must exist')
      .requiredOption(
        '--older-than <duration>',
        'the least age of the entries, such as 36h or 90d; at least 1h',
      )
      .addHelpText(
        'after',
        `
The command drops entries from the store once their file is on the disk and was read again. You can kill it
at any point and run it again.

The journal keeps what was moved, and with which hash the archive ends: \`decisions search --type archive\`.

Limits, repeats and orders work as before. \`decisions\` no longer finds the moved entries: use
\`countersign journal export\`.

Keep the printed hashes also where nobody can change them, for \`countersign journal verify --expect\`.`,
      ),
  async run(session, call) {
    const directory = call.option('to') ?? '';
    const ageMs = ageOf(session, call);
    const sources = chosenSources(session, call);
    expectDirectory(directory);
    const lock = lockDirectory(directory);
    try {
      const store = await session.store('background');
      const beforeMs = (await store.health()).nowMs - ageMs;
      const archived: Archived[] = [];
      for (const source of sources) {
        const onStep = (_step: string, entries: number): void =>
          session.progress(`${source}: ${counted(entries, 'entry', 'entries')} moved`);
        const task = { store, directory, source, beforeMs, entriesMax: FILE_ENTRIES_MAX, onStep };
        const moved = await archiveSource(task);
        await recordMove(store, moved, { by: session.by, directory });
        archived.push(moved);
      }
      session.progress('');
      session.print(columns(archived.map(rowOf)), { to: directory, sources: archived.map(jsonOf) });
      return 0;
    } finally {
      lock.release();
    }
  },
};

function rowOf({ source, files, entries, resumed, end }: Archived): readonly string[] {
  const again = resumed === 0 ? '' : `, ${resumed} of an interrupted run dropped`;
  return [
    source,
    `${counted(entries, 'entry', 'entries')} moved to ${counted(files, 'file')}${again}`,
    end === undefined ? 'no archive yet' : `the archive ends with ${end}`,
  ];
}

const jsonOf = ({ end, ...archived }: Archived): object => ({ ...archived, end: end ?? '' });

/** `--older-than` in milliseconds. Throws USAGE if it is too short, or if entries expire before. */
function ageOf(session: Session, call: Call): number {
  const written = call.option('olderThan') ?? '';
  if (!/^\d{1,6}[smhd]$/.test(written)) {
    throw new CountersignError(
      'USAGE',
      `--older-than ${written} is not a duration. Write one such as 36h or 90d`,
    );
  }
  const ageMs = -readTime('older-than', written, 0);
  if (ageMs < HOUR_MS) {
    throw new CountersignError(
      'USAGE',
      `--older-than ${written} is too short, because running services still need young entries. ` +
        'Write 1h or more',
    );
  }
  const { journalDays } = session.settings().store.retention;
  if (ageMs >= journalDays * DAY_MS) {
    throw new CountersignError(
      'USAGE',
      `--older-than ${written} is too long: entries expire after ${journalDays} days ` +
        '(store.retention.journalDays), before they are archived. Write less, or raise that setting',
    );
  }
  return ageMs;
}
