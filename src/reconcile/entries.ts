import { subjectOf } from '../callback/callback.ts';
import { CountersignError, usageError } from '../errors.ts';
import { createOrderCheck, readExported } from '../journal/exported.ts';
import { isPriceChange, pagedEntries } from '../journal/record.ts';
import { type RecordedCallback, recordedCallback } from '../journal/recorded.ts';
import type { Journal, JournalEntry, JournalQuery } from '../store/store.ts';
import { readLines } from '../values/lines.ts';

/** Subjects by source. */
export type Subjects = ReadonlyMap<string, ReadonlySet<string>>;

/** The journal of some sources. Both verbs return the entries of a source in their order. */
export interface Entries {
  readonly sources: readonly string[];
  /** The entries of a period. */
  between(fromMs: number, untilMs: number): AsyncIterable<JournalEntry>;
  /** All entries about some subjects, of any time. */
  about(subjects: Subjects): AsyncIterable<JournalEntry>;
}

export function storeEntries(store: Pick<Journal, 'entries'>, sources: readonly string[]): Entries {
  const pages = (query: Omit<JournalQuery, 'limit'>): AsyncIterable<JournalEntry> =>
    pagedEntries(store, { ...query, explained: false });
  return {
    sources,
    async *between(fromMs, untilMs) {
      for (const source of sources) yield* pages({ source, fromMs, untilMs });
    },
    async *about(subjects) {
      for (const [source, names] of subjects) {
        for (const subject of names) yield* pages({ source, subject });
      }
    },
  };
}

/**
 * The journal in a file of `decisions export` or `journal export`, which is read as often as needed. Rejects
 * with USAGE for a line that is no entry, for entries of a source that is not among `known`, and for a period
 * of which the file may lack entries: of each source, it must have a later entry or an end line.
 */
export function fileEntries(path: string, sources: readonly string[], known: readonly string[]): Entries {
  const fault = (line: number, because: string): CountersignError =>
    usageError(`${line === 0 ? path : `${path}, line ${line}`}: ${because}`, {
      file: path,
      line,
    });

  const lineFault = (line: number, because: string): CountersignError =>
    fault(line, `${because}. ${EXPORT_AGAIN}`);

  /** Sets in `ends` up to when the file has the entries of each source. */
  function* all(ends: Map<string, number> = new Map()): Generator<JournalEntry> {
    const isInOrder = createOrderCheck();
    const raise = (source: string, toMs: number): void =>
      void ends.set(source, Math.max(toMs, ends.get(source) ?? 0));
    for (const { text, number } of readLines(path, lineFault)) {
      const entry = readExported(text);
      if (typeof entry === 'string') {
        throw lineFault(number, `it is not an entry of the journal (${entry})`);
      }
      if ('end' in entry) {
        for (const [source, untilMs] of Object.entries(entry.untilMs)) raise(source, untilMs);
        continue;
      }
      if (isPriceChange(entry)) continue;
      if (!known.includes(entry.source)) {
        throw fault(
          number,
          `it is an entry of ${JSON.stringify(entry.source)}, which is not a source of the settings. ` +
            'Give the settings that the export was made with',
        );
      }
      if (!isInOrder(entry))
        throw lineFault(number, `it is older than the entry of ${entry.source} before it`);
      raise(entry.source, entry.atMs);
      if (sources.includes(entry.source)) yield entry;
    }
  }

  return {
    sources,
    async *between(fromMs, untilMs) {
      const ends = new Map<string, number>();
      for (const entry of all(ends)) if (entry.atMs >= fromMs && entry.atMs < untilMs) yield entry;
      const cut = sources.find((source) => (ends.get(source) ?? 0) < untilMs);
      if (cut !== undefined) throw fault(0, cutSentence(cut, ends.get(cut), untilMs));
    },
    async *about(subjects) {
      for (const entry of all()) if (subjects.get(entry.source)?.has(entry.subject) === true) yield entry;
    },
  };
}

const EXPORT_AGAIN = 'Make the file with `countersign decisions export` or `countersign journal export`';

function cutSentence(source: string, endMs: number | undefined, untilMs: number): string {
  const ends = endMs === undefined ? 'are missing' : `end at ${new Date(endMs).toISOString()}`;
  return (
    `its entries of ${source} ${ends}, and the day and its settle time are over at ` +
    `${new Date(untilMs).toISOString()}. The file was cut off or made too early, or nothing happened since. ` +
    'Export again after that time, with --end-line'
  );
}

/** The callback of a decision or notification, from its body, with who approved it. Throws STORE_CORRUPT. */
export function recordedOf(entry: JournalEntry): RecordedCallback {
  const recorded = recordedCallback(entry);
  if (typeof recorded === 'string') throw corrupt(entry, recorded);
  if (subjectOf(recorded.callback) !== entry.subject)
    throw corrupt(entry, 'its body is about another subject');
  return recorded;
}

const corrupt = ({ source, id }: JournalEntry, because: string): CountersignError =>
  new CountersignError(
    'STORE_CORRUPT',
    `the journal entry ${source}/${id} can't be reconciled: ${because}. Restore the journal ` +
      'from a backup or its archive, or use the version of Countersign that wrote it',
    { source, id },
  );
