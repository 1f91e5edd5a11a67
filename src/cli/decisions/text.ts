import { resultToJson } from '../../claims/claims.ts';
import type { JournalEntry } from '../../store/store.ts';
import { type Decision, type RuleReport, readDecision } from './decision.ts';
import { jsonOrText } from '../json.ts';
import { columns, isoTime, printable } from '../print.ts';

/** `shop/17`: how an entry is named from outside. */
export function entryName({ source, id }: Pick<JournalEntry, 'source' | 'id'>): string {
  return `${source}/${id}`;
}

/** One decision for people: what was decided, why, and what each rule said, a line each. */
export function describeDecision(entry: JournalEntry, first?: JournalEntry): string {
  const decision = readDecision(entry, first);
  return [headline(entry), `because ${printable(decision.because)}`, ...ruleLines(decision)].join('\n');
}

function headline(entry: JournalEntry): string {
  const { verdict, code, type, subject } = entry;
  return [verdict, code === '' ? type : code, entryName(entry), printable(subject)]
    .filter((part) => part !== '')
    .join('  ');
}

function ruleLines({ rules }: Decision): readonly string[] {
  const rows = rules.map((rule) => [
    `  ${wordOf(rule)}`,
    `${rule.policy}/${rule.rule}`,
    printable(rule.because),
  ]);
  return rows.length === 0 ? [] : columns(rows).split('\n');
}

/** What a rule said, in a word: nothing where the store refused before it came to look. */
export function wordOf({ verdict, asked, mode }: Pick<RuleReport, 'verdict' | 'asked' | 'mode'>): string {
  if (!asked) return 'not asked';
  const word = verdict === 'SUCCESS' ? 'pass' : 'refuse';
  return mode === 'observe' ? `would ${word}` : word;
}

/** One decision in a line, for lists of them. */
export function decisionRow(entry: JournalEntry): readonly string[] {
  const { atMs, verdict, type, code, subject } = entry;
  const kind = type === 'decision' || code === '' ? code || type : `${code} (${type})`;
  return [
    isoTime(atMs),
    verdict,
    kind,
    entryName(entry),
    printable(subject),
    printable(readDecision(entry).because),
  ];
}

/** Everything about an entry, for machines, explained as {@link describeDecision} does. */
export function decisionJson(entry: JournalEntry, first?: JournalEntry) {
  const { because, deciding, rules } = readDecision(entry, first);
  const { source, id, of, ...journalled } = entryJson(entry);
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

/** An entry as the journal has it: its detail as JSON, amounts as decimal text. */
export function entryJson({ claims, detail, ...entry }: JournalEntry) {
  return { ...entry, claims: claims.map(resultToJson), detail: jsonOrText(detail) };
}
