import { type Archived, FILE_ENTRIES_MAX, archiveSource } from '../../archive/archive.ts';
import { expectDirectory, lockDirectory } from '../../archive/folder.ts';
import { CountersignError } from '../../errors.ts';
import type { Call, CommandRow } from '../command.ts';
import { readTime } from '../period.ts';
import { columns, counted } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const journalArchive: CommandRow = {
  path: 'journal archive',
  summary: 'Move old entries of the journal to files that show whether anybody has changed them.',
  example:
    'journal archive --to /var/lib/countersign/archive --older-than 90d\njournal archive --to /var/lib/countersign/archive --older-than 30d --source shop --json',
  define: (command) =>
    sourceOption(command)
      .requiredOption('--to <directory>', 'where the archive is; it must be there')
      .requiredOption('--older-than <duration>', 'entries at least so old: 36h or 90d; 1h or more')
      .addHelpText(
        'after',
        `
An entry is dropped from the store once a file that has it is on the disk and was read again. The command can be killed at any
point, and run again. Limits, repeats and orders need no journal, and go on as before; \`decisions\` no longer finds what was moved: use
\`countersign journal export\`. Note the hashes that are printed where nobody can change them, for \`countersign journal verify --expect\`.`,
      ),
  async run(session, call) {
    const directory = call.option('to') ?? '';
    const ageMs = ageOf(session, call);
    const sources = chosenSources(session, call);
    expectDirectory(directory);
    const lock = lockDirectory(directory);
    try {
      const store = await session.store();
      const beforeMs = (await store.health()).nowMs - ageMs;
      const archived: Archived[] = [];
      for (const source of sources) {
        const stepped = (_step: string, entries: number): void =>
          session.progress(`${source}: ${counted(entries, 'entry', 'entries')} moved`);
        const task = { store, directory, source, beforeMs, entriesMax: FILE_ENTRIES_MAX, stepped };
        archived.push(await archiveSource(task));
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
  const again = resumed === 0 ? '' : `, ${resumed} dropped that an earlier run had written`;
  return [
    source,
    `${counted(entries, 'entry', 'entries')} moved to ${counted(files, 'file')}${again}`,
    end === undefined ? 'nothing archived yet' : `the archive ends with ${end}`,
  ];
}

const jsonOf = ({ end, ...archived }: Archived): object => ({ ...archived, end: end ?? '' });

/** `--older-than` in milliseconds. Throws USAGE for what is too young, or would have expired by then. */
function ageOf(session: Session, call: Call): number {
  const written = call.option('olderThan') ?? '';
  if (!/^\d{1,6}[smhd]$/.test(written)) {
    throw new CountersignError('USAGE', `--older-than ${written}: write a duration such as 36h or 90d`);
  }
  const ageMs = -readTime('older-than', written, 0);
  if (ageMs < HOUR_MS) {
    throw new CountersignError(
      'USAGE',
      `--older-than ${written}: write 1h or more; running services still look young entries up, to be certain that replicas have an approval and to tell of late answers`,
    );
  }
  const { journalDays } = session.settings().store.retention;
  if (ageMs >= journalDays * DAY_MS) {
    throw new CountersignError(
      'USAGE',
      `--older-than ${written}: entries expire after ${journalDays} days (store.retention.journalDays), before they would be archived; write less, or raise that setting`,
    );
  }
  return ageMs;
}
