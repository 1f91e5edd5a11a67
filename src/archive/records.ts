import { z } from 'zod';
import type { Journal, JournalEntry } from '../store/store.ts';
import { counted, jsonOrText } from '../values/text.ts';
import type { Archived } from './archive.ts';
import type { ArchiveFault } from './folder.ts';
import type { VerifiedSource } from './verify.ts';

/*
 * The journal keeps when entries were moved to the archive and when the archive was verified, so that people see
 * it where the files are not. What the journal says of the end of an archive also shows that its last files were
 * removed, which the files alone can't show.
 */

/** The subject of these entries. No callback has such a subject. */
const SUBJECT = 'archive';
const LATEST = 1000;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const moved = z.object({
  change: z.literal('move'),
  by: z.string(),
  directory: z.string(),
  files: z.number(),
  entries: z.number(),
  /** The hash at the end of the archive. */
  end: hash,
});
const verified = z.object({
  change: z.literal('verify'),
  by: z.string(),
  directories: z.array(z.string()),
  files: z.number(),
  entries: z.number(),
  /** The empty text if the last file is damaged, or if there is none. */
  end: hash.or(z.literal('')),
  faults: z.number(),
});

export type MovedDetail = z.output<typeof moved>;
export type VerifiedDetail = z.output<typeof verified>;

/** An entry of the journal, and what it says. */
export interface ArchiveRecord<Detail> {
  readonly id: string;
  readonly atMs: number;
  readonly detail: Detail;
}

export interface ArchiveState {
  /** The latest; undefined if the journal has none. */
  readonly moved: ArchiveRecord<MovedDetail> | undefined;
  readonly verified: ArchiveRecord<VerifiedDetail> | undefined;
  /** The hashes that the archive ended with at some time, as far as the journal goes back. */
  readonly ends: readonly string[];
}

/** What the journal of a source says about its archive. */
export async function archiveState(store: Pick<Journal, 'entries'>, source: string): Promise<ArchiveState> {
  const entries = await store.entries({ source, subject: SUBJECT, newestFirst: true, limit: LATEST });
  const moves = entries.flatMap((entry) => recordOf(entry, moved));
  const [latest] = entries.flatMap((entry) => recordOf(entry, verified));
  return { moved: moves[0], verified: latest, ends: moves.map(({ detail }) => detail.end) };
}

function recordOf<Detail>(
  { id, atMs, type, detail }: JournalEntry,
  shape: z.ZodType<Detail>,
): readonly ArchiveRecord<Detail>[] {
  const read = type === 'archive' ? shape.safeParse(jsonOrText(detail)).data : undefined;
  return read === undefined ? [] : [{ id, atMs, detail: read }];
}

/** Journals what was moved, unless the journal has this end already. */
export async function recordMove(
  store: Pick<Journal, 'entries' | 'record'>,
  { source, files, entries, resumed, end }: Archived,
  { by, directory }: { readonly by: string; readonly directory: string },
): Promise<void> {
  if (end === undefined || (await archiveState(store, source)).ends.includes(end)) return;
  const detail: MovedDetail = { change: 'move', by, directory, files, entries: entries + resumed, end };
  const because = `${by} moved ${sizeOf(detail)} to the archive in ${directory}, which ends with ${end}`;
  await write(store, source, 'MOVED', { ...detail, because });
}

/** Journals how a verification ended for one source. */
export async function recordVerification(
  store: Pick<Journal, 'record'>,
  { source, files, entries, ends }: Pick<VerifiedSource, 'source' | 'files' | 'entries' | 'ends'>,
  given: {
    readonly by: string;
    readonly directories: readonly string[];
    readonly faults: readonly ArchiveFault[];
  },
): Promise<void> {
  const { by, directories } = given;
  const faults = given.faults.length;
  const end = ends.at(-1) ?? '';
  const detail: VerifiedDetail = {
    change: 'verify',
    by,
    directories: [...directories],
    files,
    entries,
    end,
    faults,
  };
  const found =
    faults === 0 ? 'no fault' : `${counted(faults, 'fault')}, the first: ${given.faults[0]?.because}`;
  const because = `${by} verified the archive in ${directories.join(', ')}, ${sizeOf(detail)}: ${found}`;
  await write(store, source, faults === 0 ? 'VERIFIED' : 'FAULTS_FOUND', { ...detail, because });
}

const sizeOf = ({ files, entries }: { readonly files: number; readonly entries: number }): string =>
  `${counted(entries, 'entry', 'entries')} in ${counted(files, 'file')}`;

async function write(
  store: Pick<Journal, 'record'>,
  source: string,
  code: string,
  detail: (MovedDetail | VerifiedDetail) & { readonly because: string },
): Promise<void> {
  const text = JSON.stringify(detail);
  await store.record({ source, type: 'archive', subject: SUBJECT, verdict: '', code, of: '', detail: text });
}
