import { type ArchiveFault, where } from '../../archive/folder.ts';
import { type Verified, type VerifiedSource, verifyArchive } from '../../archive/verify.ts';
import { CountersignError } from '../../errors.ts';
import type { Call, CommandRow } from '../command.ts';
import { counted, isoTime, printable } from '../print.ts';

const PROGRESS_EVERY = 10_000;

export const journalVerify: CommandRow = {
  path: 'journal verify',
  summary: 'Whether an archive of the journal is whole: nothing changed, missing, added or moved.',
  example:
    'journal verify /var/lib/countersign/archive\njournal verify /mnt/cold/2025 /var/lib/countersign/archive --expect 3f9c0a7be1d24865a90c11b7d2f04e6583ab19d0c7e2f4516b8d9a0c3e5f7182',
  define: (command) =>
    command
      .argument('<directory...>', 'what `journal archive --to` wrote to; several are taken for one archive')
      .option(
        '--expect <hashes>',
        'ends that were noted when they were made, with commas between: each must still be one',
      )
      .addHelpText(
        'after',
        `
Prints for each source the hash of its end. Each line of the archive has the hash of the line before, so this hash vouches for
all of it; but whoever can write to all files can make all hashes anew, or take away the last files. Only a hash that was noted
elsewhere, and --expect, tell that.`,
      ),
  async run(session, call) {
    const expected = expectedOf(call);
    let entries = 0;
    const verified = await verifyArchive(call.arguments, () => {
      if (++entries % PROGRESS_EVERY === 0) session.progress(`${entries} entries`);
    });
    session.progress('');
    const faults = [...verified.faults, ...missing(call.arguments, verified), ...unmet(expected, verified)];
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
    `--expect ${wrong}: write the 64 digits of an end, as this command prints it`,
  );
}

/** That there is nothing at all is no archive that is whole. */
function missing(directories: readonly string[], { sources, faults }: Verified): readonly ArchiveFault[] {
  if (faults.length > 0 || sources.some(({ files }) => files > 0)) return [];
  return [{ file: directories.join(', '), line: 0, because: 'there is no file of an archive' }];
}

function unmet(expected: readonly string[], { sources }: Verified): readonly ArchiveFault[] {
  const ends = new Set(sources.flatMap((source) => source.ends));
  return expected
    .filter((hash) => !ends.has(hash))
    .map((hash) => ({
      file: hash,
      line: 0,
      because:
        'no whole file ends with this hash: files from before it was noted are missing or were replaced',
    }));
}

function sourceText({ source, files, entries, firstAtMs, lastAtMs, ends }: VerifiedSource): string {
  const period =
    firstAtMs === undefined || lastAtMs === undefined
      ? ''
      : `, ${isoTime(firstAtMs)} to ${isoTime(lastAtMs)}`;
  const end = ends.at(-1) ?? '';
  return `${printable(source)}  ${counted(entries, 'entry', 'entries')} in ${counted(files, 'file')}${period}${end === '' ? '' : `, ends with ${end}`}`;
}

function sourceJson({ firstAtMs, lastAtMs, ends, ...source }: VerifiedSource): object {
  return {
    ...source,
    firstAt: firstAtMs === undefined ? '' : isoTime(firstAtMs),
    lastAt: lastAtMs === undefined ? '' : isoTime(lastAtMs),
    end: ends.at(-1) ?? '',
  };
}

const faultText = (fault: ArchiveFault): string => printable(`${where(fault)}: ${fault.because}`);
