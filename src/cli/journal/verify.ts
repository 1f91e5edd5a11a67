import { type ArchiveFault, formatPlace } from '../../archive/folder.ts';
import { archiveState, recordVerification } from '../../archive/records.ts';
import { type Verified, type VerifiedSource, verifyArchive } from '../../archive/verify.ts';
import { CountersignError } from '../../errors.ts';
import { type Call, type CommandRow, byOption } from '../command.ts';
import { counted, isoTime, printable } from '../print.ts';
import type { Session } from '../session.ts';

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
  throw new CountersignError(
    'USAGE',
    `--expect ${wrong} is not a hash. Write the 64 digits of an end that this command printed`,
  );
}

/** What the journals say of the archive, and where they get the result. */
async function openRecord(session: Session) {
  const store = await session.store('background');
  const sources = session.settings().sources.map(({ name }) => name);
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
