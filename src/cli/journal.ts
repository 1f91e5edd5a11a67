import { type Archived, FILE_ENTRIES_MAX, archiveSource } from '../archive/archive.ts';
import {
  type ArchiveFault,
  archiveFault,
  expectDirectory,
  formatPlace,
  lockDirectory,
} from '../archive/folder.ts';
import { archiveState, recordMove, recordVerification } from '../archive/records.ts';
import { type Verified, type VerifiedSource, verifyArchive } from '../archive/verify.ts';
import { usageError } from '../errors.ts';
import type { JournalEntry } from '../store/store.ts';
import { exportEnd, exportedEntry } from '../journal/exported.ts';
import { printableJson } from '../values/printable.ts';
import { type Call, type CommandRow, byOption } from './command.ts';
import { durationOf, periodOf, periodOptions } from './period.ts';
import { columns, counted, isoTime, printable } from './print.ts';
import type { Session } from './session.ts';
import { chosenSources, sourceNames, sourceOption } from './sources.ts';

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
  const ageMs = durationOf(written);
  if (ageMs === undefined) {
    throw usageError(`--older-than ${written} is not a duration. Write one such as 36h or 90d`);
  }
  if (ageMs < HOUR_MS) {
    throw usageError(
      `--older-than ${written} is too short, because running services still need young entries. ` +
        'Write 1h or more',
    );
  }
  const { journalDays } = session.settings().store.retention;
  if (ageMs >= journalDays * DAY_MS) {
    throw usageError(
      `--older-than ${written} is too long: entries expire after ${journalDays} days ` +
        '(store.retention.journalDays), before they are archived. Write less, or raise that setting',
    );
  }
  return ageMs;
}

const PROGRESS_EVERY = 10_000;

export const journalVerify: CommandRow = {
  path: 'journal verify',
  summary: 'Verify an archive of the journal: that no entry was changed, removed, added or moved.',
  example:
    'journal verify /var/lib/countersign/archive\n' +
    'journal verify /var/lib/countersign/archive --record\n' +
    'journal verify /mnt/cold/2025 /var/lib/countersign/archive --expect 3f9c0a7be1d24865a90c11b7d2f04e6583ab19d0c7e2f4516b8d9a0c3e5f7182',
  define: (command) =>
    byOption(command)
      .argument('<directory...>', 'the directories of one archive')
      .option(
        '--expect <hashes>',
        'hashes of earlier ends, with commas between; the archive must still have each of them',
      )
      .option(
        '--record',
        'write the result to the journal of each source; the ends that the journal has are expected as well',
      )
      .addHelpText(
        'after',
        `
The command prints for each source the hash at the end of its archive. Each line has the hash of the line
before, so this hash covers all lines.

Somebody who can write to all files can also compute all hashes again, or remove the last files. Only hashes
that are kept elsewhere detect that: those that you give to --expect and, with --record, those that \`journal
archive\` wrote to the journal. Without --record, the command needs no store.`,
      ),
  async run(session, call) {
    const expected = expectedOf(call);
    let entries = 0;
    const verified = await verifyArchive(call.arguments, () => {
      if (++entries % PROGRESS_EVERY === 0) session.progress(`${entries} entries`);
    });
    session.progress('');
    const record = call.flag('record') ? await openRecord(session) : undefined;
    const faults = [
      ...verified.faults,
      ...missing(call.arguments, verified),
      ...unmet([...expected, ...(record?.ends ?? [])], verified),
    ];
    await record?.write(verified, { by: session.by, directories: call.arguments, faults });
    const text = [...verified.sources.map(sourceText), ...faults.map(faultText)].join('\n');
    session.print(text, { ok: faults.length === 0, sources: verified.sources.map(sourceJson), faults });
    return faults.length === 0 ? 0 : 1;
  },
};

function expectedOf(call: Call): readonly string[] {
  const hashes = call.option('expect')?.toLowerCase().split(',') ?? [];
  const wrong = hashes.find((hash) => !/^[0-9a-f]{64}$/.test(hash));
  if (wrong === undefined) return hashes;
  throw usageError(
    `--expect ${wrong} is not a hash. Write the 64 digits of an end that this command printed`,
  );
}

/** What the journals say of the archive, and where they get the result. */
async function openRecord(session: Session) {
  const store = await session.store('background');
  const sources = sourceNames(session);
  const states = await Promise.all(sources.map((source) => archiveState(store, source)));
  return {
    ends: states.flatMap(({ ends }) => ends),
    async write(verified: Verified, result: Parameters<typeof recordVerification>[2]): Promise<void> {
      for (const source of sources) {
        const found = verified.sources.find((each) => each.source === source);
        await recordVerification(store, found ?? { source, files: 0, entries: 0, ends: [] }, result);
      }
    },
  };
}

/** An archive without files is a fault. */
function missing(directories: readonly string[], { sources, faults }: Verified): readonly ArchiveFault[] {
  if (faults.length > 0 || sources.some(({ files }) => files > 0)) return [];
  return [{ file: directories.join(', '), line: 0, because: 'there are no files of an archive' }];
}

function unmet(expected: readonly string[], { sources }: Verified): readonly ArchiveFault[] {
  const ends = new Set(sources.flatMap((source) => source.ends));
  return expected
    .filter((hash) => !ends.has(hash))
    .map((hash) => ({
      file: hash,
      line: 0,
      because: 'no undamaged file ends with this hash: files were removed or replaced since then',
    }));
}

function sourceText({ source, files, entries, firstAtMs, lastAtMs, ends }: VerifiedSource): string {
  const period =
    firstAtMs === undefined || lastAtMs === undefined
      ? ''
      : `, ${isoTime(firstAtMs)} to ${isoTime(lastAtMs)}`;
  const end = ends.at(-1) ?? '';
  const ending = end === '' ? '' : `, ends with ${end}`;
  const size = `${counted(entries, 'entry', 'entries')} in ${counted(files, 'file')}`;
  return `${printable(source)}  ${size}${period}${ending}`;
}

function sourceJson({ firstAtMs, lastAtMs, ends, ...source }: VerifiedSource): object {
  return {
    ...source,
    firstAt: firstAtMs === undefined ? '' : isoTime(firstAtMs),
    lastAt: lastAtMs === undefined ? '' : isoTime(lastAtMs),
    end: ends.at(-1) ?? '',
  };
}

const faultText = (fault: ArchiveFault): string => printable(`${formatPlace(fault)}: ${fault.because}`);

const DRAIN_EVERY = 100;

export const journalExport: CommandRow = {
  path: 'journal export',
  summary: 'Write entries of an archive as JSON Lines, like `decisions export`, and verify them.',
  example:
    'journal export /var/lib/countersign/archive --since 2025-03-01 --until 2025-04-01 > march.jsonl\n' +
    'journal export /var/lib/countersign/archive --source shop --subject payment:11321',
  define: (command) =>
    periodOptions(sourceOption(command.argument('<directory...>', 'directory of `journal archive --to`')))
      .option('--id <id>', 'only this entry: SOURCE/ID or ID')
      .option('--subject <subject>', 'only entries about this subject, such as payment:11321')
      .option('--end-line', 'end with a line that says up to when the export is complete, for `reconcile`')
      .addHelpText(
        'after',
        `
\`policy backtest\` and \`replay\` read the output. An archive has no changes of prices. For policies that
use prices, append the lines with "type":"prices" from \`countersign decisions export\` to the file.

The command needs no store. If the archive is damaged, it says so and exits with 2. Don't rely on what it
wrote until then.`,
      ),
  async run(session, call) {
    const period = periodOf(call, session.clock());
    const [source, subject, id] = [call.option('source'), call.option('subject'), call.option('id')];
    if (call.flag('endLine') && (subject ?? id) !== undefined) {
      throw usageError('--end-line is about all entries of a period. Leave --subject and --id out');
    }
    const wanted = (entry: JournalEntry): boolean =>
      (source === undefined || entry.source === source) &&
      (subject === undefined || entry.subject === subject) &&
      (id === undefined || entry.id === id || `${entry.source}/${entry.id}` === id) &&
      entry.atMs >= (period.fromMs ?? 0) &&
      entry.atMs < (period.untilMs ?? Infinity);
    let count = 0;
    const { sources, faults } = await verifyArchive(call.arguments, async (entry) => {
      if (!wanted(entry)) return;
      const json = exportedEntry(entry);
      session.print(printableJson(json), json);
      if (++count % DRAIN_EVERY === 0) await session.drained();
    });
    await session.drained();
    const [first] = faults;
    if (first !== undefined) throw archiveFault(first);
    if (!call.flag('endLine')) return 0;
    const ends = sources
      .filter((each) => source === undefined || each.source === source)
      .map(
        ({ source: name, lastAtMs = 0 }) => [name, Math.min(lastAtMs, period.untilMs ?? Infinity)] as const,
      );
    const end = exportEnd(new Map(ends));
    session.print(printableJson(end), end);
    await session.drained();
    return 0;
  },
};
