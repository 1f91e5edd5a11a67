import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { type ArchiveFault, type ArchiveFile, expectDirectory, faultOf, filesIn } from './folder.ts';
import { FIRST_PREVIOUS, isBefore } from './line.ts';
import { type OnEdge, type OnEntry, type VerifiedFile, readFileOf } from './read.ts';

/** The content of an archive, and its faults. */
export interface Verified {
  readonly sources: readonly VerifiedSource[];
  readonly faults: readonly ArchiveFault[];
}

export interface VerifiedSource {
  readonly source: string;
  readonly files: number;
  readonly entries: number;
  /** The first instant in its undamaged files. Undefined if it has no undamaged file. */
  readonly firstAtMs: number | undefined;
  readonly lastAtMs: number | undefined;
  /**
   * The hash at the end of each file, in order; the empty text for a damaged file. The last hash covers all
   * lines before it.
   */
  readonly ends: readonly string[];
}

/** A damaged file is one fault. After this many faults, of all sources together, no further file is read. */
const FAULTS_MAX = 1000;

/**
 * Reads all files of the directories, which together are one archive, since older files may have been moved.
 * `onEntry` gets each entry, and `onEdge` each header and footer, before the rest of its file is verified.
 * Rejects with USAGE for a path that is not a directory, and with the errors of `onEntry`.
 */
export async function verifyArchive(
  directories: readonly string[],
  onEntry?: OnEntry,
  onEdge?: OnEdge,
): Promise<Verified> {
  const { bySource, faults } = findFiles(directories);
  const sources: VerifiedSource[] = [];
  for (const [source, files] of bySource) {
    const verified = await verifySource(source, files, faults, (file) =>
      readFileOf(source, file, onEntry, onEdge),
    );
    sources.push(verified);
  }
  return { sources, faults };
}

function findFiles(directories: readonly string[]): {
  readonly bySource: ReadonlyMap<string, readonly ArchiveFile[]>;
  readonly faults: ArchiveFault[];
} {
  const bySource = new Map<string, ArchiveFile[]>();
  const faults: ArchiveFault[] = [];
  const reportUnknownFile = (file: string): void =>
    void faults.push({ file, line: 0, because: 'it is not a file of an archive. Remove it' });
  for (const directory of withoutDuplicates(directories)) {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      // The lock file, and names that file systems use.
      if (entry.name.startsWith('.') || entry.name === 'lost+found') continue;
      if (!entry.isDirectory()) {
        reportUnknownFile(path);
        continue;
      }
      const { files, others } = filesOrFault(path, faults);
      others.forEach(reportUnknownFile);
      bySource.set(entry.name, [...(bySource.get(entry.name) ?? []), ...files]);
    }
  }
  for (const files of bySource.values()) files.sort((a, b) => a.number - b.number);
  return { bySource: new Map([...bySource].sort(([a], [b]) => (a < b ? -1 : 1))), faults };
}

/**
 * Each directory once, by the spelling that was given first. Links and other spellings are the same
 * directory.
 */
function withoutDuplicates(directories: readonly string[]): Iterable<string> {
  const byPlace = new Map<string, string>();
  for (const directory of directories) {
    expectDirectory(directory);
    const place = realpathSync(directory);
    if (!byPlace.has(place)) byPlace.set(place, directory);
  }
  return byPlace.values();
}

function filesOrFault(folder: string, faults: ArchiveFault[]): ReturnType<typeof filesIn> {
  try {
    return filesIn(folder);
  } catch (thrown) {
    faults.push({ file: folder, line: 0, because: `it can't be read: ${messageOf(thrown)}` });
    return { files: [], others: [] };
  }
}

async function verifySource(
  source: string,
  files: readonly ArchiveFile[],
  faults: ArchiveFault[],
  read: (file: ArchiveFile) => Promise<VerifiedFile>,
): Promise<VerifiedSource> {
  const verifiedFiles: (VerifiedFile | undefined)[] = [];
  let before: { readonly number: number; readonly end: VerifiedFile | undefined } = {
    number: 0,
    end: undefined,
  };
  for (const file of files) {
    if (faults.length >= FAULTS_MAX) break;
    const gap = gapBetween(before.number, file, source);
    if (gap !== undefined) faults.push(gap);
    const end = await readOrFault(file, faults, read);
    const wrong = end && gap === undefined ? brokenLink(file, before, end) : undefined;
    if (wrong !== undefined) faults.push(wrong);
    verifiedFiles.push(end);
    before = { number: file.number, end };
  }
  const intact = verifiedFiles.filter((each) => each !== undefined);
  return {
    source,
    files: files.length,
    entries: intact.reduce((sum, { entries }) => sum + entries, 0),
    firstAtMs: intact[0]?.firstAtMs,
    lastAtMs: intact.at(-1)?.lastAtMs,
    ends: verifiedFiles.map((each) => each?.chainHash ?? ''),
  };
}

function gapBetween(before: number, { number, path }: ArchiveFile, source: string): ArchiveFault | undefined {
  if (number === before + 1) return undefined;
  const because =
    number === before
      ? 'there are two files with this number. Keep the one that was written first'
      : `the files ${before + 1} to ${number - 1} of ${source}, before this one, are missing. Name ` +
        'the directory that has them as well';
  return { file: path, line: 0, because };
}

async function readOrFault(
  file: ArchiveFile,
  faults: ArchiveFault[],
  read: (file: ArchiveFile) => Promise<VerifiedFile>,
): Promise<VerifiedFile | undefined> {
  try {
    return await read(file);
  } catch (thrown) {
    const fault = faultOf(thrown);
    if (fault === undefined) throw thrown;
    faults.push(
      existsSync(file.path) ? fault : { ...fault, because: 'it was removed during the verification' },
    );
    return undefined;
  }
}

/**
 * The fault of a file that does not follow the file before. Undefined if it does, or if the file before is
 * damaged, so that this can't be checked.
 */
function brokenLink(
  { path, number }: ArchiveFile,
  before: { readonly end: VerifiedFile | undefined },
  { previous, firstId }: VerifiedFile,
): ArchiveFault | undefined {
  const expected = number === 1 ? FIRST_PREVIOUS : before.end?.chainHash;
  if (expected !== undefined && previous !== expected) {
    return {
      file: path,
      line: 1,
      because: 'it does not continue the file before: one of them was replaced',
    };
  }
  if (before.end !== undefined && !isBefore(before.end.lastId, firstId)) {
    return {
      file: path,
      line: 2,
      because: `its first entry does not come after ${before.end.lastId}, the last of the file before`,
    };
  }
  return undefined;
}
