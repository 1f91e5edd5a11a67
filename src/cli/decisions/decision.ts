import { type EntryExplanation, explainJournalEntry } from '../../journal/explanation.ts';
import { entryJson, exportedEntry } from '../../journal/exported.ts';
import { wordOf } from '../../policy/explain.ts';
import type { JournalEntry } from '../../store/store.ts';
import { columns, isoTime, printable } from '../print.ts';

/** The name of an entry, such as `shop/17`. */
export function entryName({ source, id }: Pick<JournalEntry, 'source' | 'id'>): string {
  return `${source}/${id}`;
}

/** A title for the entry that another one names as its `of`. */
export function titleOfFirst(first: JournalEntry, entry: Pick<JournalEntry, 'type'>): string {
  const title =
    first.type === 'release'
      ? 'The release'
      : entry.type === 'release'
        ? 'The approval'
        : 'The first decision';
  return `${title}, ${entryName(first)}`;
}

/** A decision as text: the verdict, the reason, and the result of each rule. */
export function describeDecision(entry: JournalEntry, first?: JournalEntry): string {
  const decision = explainJournalEntry(entry, first);
  return [headline(entry), `because ${printable(decision.because)}`, ...ruleLines(decision)].join('\n');
}

function headline(entry: JournalEntry): string {
  const { verdict, code, type, subject } = entry;
  return [verdict, code === '' ? type : code, entryName(entry), printable(subject)]
    .filter((part) => part !== '')
    .join('  ');
}

function ruleLines({ rules }: EntryExplanation): readonly string[] {
  const rows = rules.map((rule) => [
    `  ${wordOf(rule)}`,
    `${rule.policy}/${rule.rule}`,
    printable(rule.because),
  ]);
  return rows.length === 0 ? [] : columns(rows).split('\n');
}

/** A decision as a row of a table. */
export function decisionRow(entry: JournalEntry): readonly string[] {
  const { atMs, verdict, type, code, subject } = entry;
  const kind = type === 'decision' || code === '' ? code || type : `${code} (${type})`;
  return [
    isoTime(atMs),
    verdict,
    kind,
    entryName(entry),
    printable(subject),
    printable(explainJournalEntry(entry).because),
  ];
}

/** An entry as JSON, with the explanation of {@link describeDecision}. */
export function decisionJson(entry: JournalEntry, first?: JournalEntry) {
  const { because, deciding, rules } = explainJournalEntry(entry, first);
  const { source, id, of, ...journalled } = exportedEntry(entryJson(entry));
  return {
    id: `${source}/${id}`,
    at: isoTime(entry.atMs),
    ...journalled,
    of: of === '' ? '' : `${source}/${of}`,
    because,
    decidedBy: deciding === undefined ? '' : `${deciding.policy}/${deciding.rule}`,
    rules,
  };
}
