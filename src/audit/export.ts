import { readFileSync } from 'node:fs';
import { formatPlace } from '../archive/folder.ts';
import { archiveState } from '../archive/records.ts';
import { type VerifiedSource, verifyArchive } from '../archive/verify.ts';
import { explainJournalEntry } from '../journal/explanation.ts';
import { entryJson, exportedItem } from '../journal/exported.ts';
import { pagedEntries, readStoreRecord } from '../journal/record.ts';
import type { JournalEntry, Store } from '../store/store.ts';
import { COMMIT } from '../values/commit.ts';
import { counted, isoTime } from '../values/text.ts';
import { VERSION } from '../values/version.ts';
import { type Bundle, beginBundle } from './bundle.ts';
import { createListStates } from './lists.ts';
import { writeRevisions } from './revisions.ts';

export interface AuditTask {
  readonly store: Store;
  readonly sources: readonly string[];
  /** The directories of one archive. */
  readonly archives: readonly string[];
  /** Empty, or missing. */
  readonly directory: string;
  readonly fromMs: number;
  /** Not after the store's time: the period has ended. */
  readonly untilMs: number;
  /** Entries from before this instant may have expired. */
  readonly keptFromMs: number;
  readonly by: string;
  /** Called after each entry that was read. */
  readonly onEntry: () => void;
}

/**
 * Writes a bundle. Resolves with the SHA-256 of its manifest, the number of its entries, and what it should have
 * and lacks. Rejects with USAGE if it can't be written, and with the errors of the store.
 */
export async function exportAudit(task: AuditTask) {
  const { store, sources, archives, directory, fromMs, untilMs, by } = task;
  const bundle = beginBundle(directory);
  for (const name of ['revisions', 'lists', 'prices']) bundle.begin(`${name}.jsonl`);
  const lists = createListStates([fromMs, untilMs]);
  const writer = createEntryWriter(task, bundle, lists.note);
  const before = await statesOf(task);
  const archive = await verifyArchive(archives, writer.archived, writer.edge);
  const missing = archive.faults.map((fault) => `${formatPlace(fault)}: ${fault.because}`);
  for (const { source } of archive.sources.filter((each) => !sources.includes(each.source))) {
    missing.push(`${source} is not in the settings: only the archive was read`);
  }
  for (const source of sources) {
    await writer.stored(source);
    const unknown = await lists.write(store, bundle, source);
    const values = counted(unknown, 'value');
    if (unknown > 0) missing.push(`when lists of ${source} had ${values}: null in lists.jsonl`);
  }
  for await (const item of readStoreRecord(store, { sources: [], untilMs })) {
    bundle.add('prices.jsonl', exportedItem(item));
  }
  missing.push(...(await writeRevisions(store, bundle, { fromMs, untilMs, named: writer.revisions })));
  const states = await statesOf(task);
  if (JSON.stringify(states) !== JSON.stringify(before)) {
    missing.push('entries were archived or lists changed during the export. Run the command again');
  }
  const endOf = (source: string) => archive.sources.find((each) => each.source === source);
  missing.push(...states.flatMap((state) => gapOf(task, state, endOf(state.source)) ?? []));
  bundle.begin('verify.mjs', readFileSync(new URL('verify.mjs', import.meta.url), 'utf8'));
  const counts = writer.counts();
  const sha256 = bundle.finish({
    bundle: 'countersign-audit',
    format: 1,
    program: VERSION,
    commit: COMMIT,
    store: store.name,
    exportedAt: isoTime((await store.health()).nowMs),
    exportedBy: by,
    from: isoTime(fromMs),
    to: isoTime(untilMs),
    missing,
    sources: counts.map((each) => ({
      ...each,
      archiveEnd: endOf(each.source)?.ends.at(-1) ?? '',
      recordedEnd: states.find(({ source }) => source === each.source)?.moved?.end ?? '',
    })),
  });
  return { sha256, missing, entries: counts.reduce((sum, { entries }) => sum + entries, 0) };
}

// ---- entries ----

/** What was written of a source. */
interface Written {
  readonly source: string;
  entries: number;
  /** How many of them the archive had. */
  archived: number;
  /** The last entry of the archive, in the period or not. */
  lastId: string;
  /** The header of a file without its first entry. */
  header: string;
  /** Whether the last entry of the archive was in the period. */
  isWithin: boolean;
}

function createEntryWriter(
  { store, fromMs, untilMs, onEntry }: AuditTask,
  bundle: Bundle,
  note: (entry: JournalEntry) => void,
) {
  const bySource = new Map<string, Written>();
  const revisions = new Set<string>();

  function writtenOf(source: string): Written {
    const known = bySource.get(source);
    if (known !== undefined) return known;
    const written = { source, entries: 0, archived: 0, lastId: '', header: '', isWithin: false };
    bundle.begin(`journal/${source}.jsonl`);
    bundle.begin(`explained/${source}.jsonl`);
    bySource.set(source, written);
    return written;
  }

  /** Whether an entry is in the period. Its explanation is then written. */
  function explain(entry: JournalEntry): boolean {
    onEntry();
    note(entry);
    const { id, source, atMs, type, subject, verdict, code, revision } = entry;
    if (atMs < fromMs || atMs >= untilMs) return false;
    writtenOf(source).entries++;
    if (revision !== '') revisions.add(revision);
    const { because, deciding, rules, detail } = explainJournalEntry(entry);
    const decidedBy = deciding === undefined ? '' : `${deciding.policy}/${deciding.rule}`;
    const said = { by: detail.by ?? '', because, decidedBy, rules };
    bundle.add(`explained/${source}.jsonl`, { id, at: isoTime(atMs), type, subject, verdict, code, ...said });
    return true;
  }

  return {
    revisions,
    counts: () =>
      Array.from(bySource.values(), ({ source, entries, archived }) => ({ source, entries, archived })),
    archived: (entry: JournalEntry, line: string): void => {
      const written = writtenOf(entry.source);
      written.isWithin = explain(entry);
      if (written.isWithin) {
        const lines = written.header === '' ? [line] : [written.header, line];
        for (const each of lines) bundle.keep(`journal/${entry.source}.jsonl`, each);
        written.archived++;
      }
      [written.lastId, written.header] = [entry.id, ''];
    },
    /** Takes a header or a footer. Those beside an entry of the period belong to its chain. */
    edge: (line: string, source: string): void => {
      const written = writtenOf(source);
      if (!line.startsWith('{"end":')) written.header = line;
      else if (written.isWithin) bundle.keep(`journal/${source}.jsonl`, line);
    },
    /** Writes what the store has and the archive does not have. */
    async stored(source: string): Promise<void> {
      const after = { source, after: writtenOf(source).lastId };
      const within = { ...after, fromMs, untilMs };
      // Outside of the period, only the changes of lists matter.
      const others = { ...after, explained: false };
      for (const query of [{ ...others, untilMs: fromMs }, within, { ...others, fromMs: untilMs }]) {
        for await (const entry of pagedEntries(store, query)) {
          if (explain(entry)) bundle.add(`journal/${source}.jsonl`, entryJson(entry));
        }
      }
    },
  };
}

// ---- what may be missing ----

async function statesOf({ store, sources }: AuditTask) {
  return Promise.all(
    sources.map(async (source) => {
      const [oldest] = await store.entries({ source, limit: 1, explained: false });
      const { moved } = await archiveState(store, source);
      return {
        source,
        oldest: oldest && { id: oldest.id, atMs: oldest.atMs },
        moved: moved?.detail,
        lists: await store.lists(source),
      };
    }),
  );
}

/** Says which entries of the period may be missing, and why. Undefined if all are there. */
function gapOf(
  { fromMs, untilMs, keptFromMs }: AuditTask,
  { source, oldest, moved }: Awaited<ReturnType<typeof statesOf>>[number],
  archive: VerifiedSource | undefined,
): string | undefined {
  // From here on, the entries must be in the store.
  const neededMs = Math.max(fromMs, archive?.lastAtMs ?? 0);
  if (neededMs >= untilMs || (oldest !== undefined && oldest.atMs < neededMs)) return undefined;
  const missing = `entries of ${source} before ${isoTime(Math.min(oldest?.atMs ?? untilMs, untilMs))}`;
  if (moved !== undefined && archive?.ends.includes(moved.end) !== true) {
    return `${missing} are archived in ${moved.directory}, which ended with ${moved.end}. Name it with --archive`;
  }
  return neededMs < keptFromMs ? `${missing} may have expired` : undefined;
}
