import { csvLine } from '../../../src/values/csv.ts';
import { readMembers } from '../../../src/values/members.ts';
import { columns, printable } from '../../../src/values/text.ts';
import { isUnreadable } from '../paging.ts';

/** A table with more columns is shown as one block for each record. */
const COLUMNS_MAX = 8;

/** Records for people: a table, or a block for each record if they have many members. */
export function recordsText(records: readonly unknown[]): string {
  if (records.length === 0) return 'No records.';
  const names = namesOf(records);
  if (names.length === 0) return records.map(cellOf).join('\n');
  if (names.length > COLUMNS_MAX) return records.map(objectText).join('\n\n');
  return columns([names, ...records.map((record) => names.map((name) => cellOf(memberOf(record, name))))]);
}

/** The members of one object, a line each. */
export function objectText(value: unknown): string {
  const members = membersOf(value);
  return members.length === 0
    ? cellOf(value)
    : columns(members.map(([name, member]) => [name, cellOf(member)]));
}

/** Lines of CSV (RFC 4180). A record that can't be read has its members as the platform wrote them. */
export function csvLines(records: readonly unknown[], names: readonly string[]): readonly string[] {
  return records.map((record) => {
    if (!isUnreadable(record)) return csvLine(names.map((name) => cellOf(memberOf(record, name))));
    const read = readMembers(record.text);
    if (!read.ok) return csvLine(names.map((_, at) => (at === 0 ? cellOf(record.text) : '')));
    const { members } = read;
    return csvLine(
      names.map((name) => cellOf(members.get(name)?.kind === 'null' ? '' : members.get(name)?.text)),
    );
  });
}

export const csvHeader = (names: readonly string[]): string => csvLine(names);

/** The names of all members of the records, in the order in which they first appear. */
export function namesOf(records: readonly unknown[]): readonly string[] {
  return [...new Set(records.flatMap((record) => membersOf(record).map(([name]) => name)))];
}

function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

function memberOf(record: unknown, name: string): unknown {
  return membersOf(record).find(([own]) => own === name)?.[1];
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
