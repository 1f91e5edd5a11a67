import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { amountText } from './approvals.ts';
import { CLASSES, type Item, type Side } from './classes.ts';
import { csvLine } from '../values/csv.ts';

const COLUMNS = [
  'item',
  'class',
  'level',
  'flow',
  'source',
  'id',
  'approvedCoin',
  'approvedAmount',
  'approvedUser',
  'approvedAt',
  'approvedEntry',
  'settledCoin',
  'settledAmount',
  'settledUser',
  'settledAt',
  'settledPlace',
  'note',
  'approvedBy',
];

export interface WrittenCsv {
  readonly items: number;
  /** Of the whole file. */
  readonly sha256: string;
}

const FLUSH_CHARACTERS = 65_536;
/** Users and order ids are confidential. */
export const FILE_MODE = 0o600;

/**
 * Writes the items with their numbers, and an end row: `end`, the number of items, and the SHA-256 of all
 * bytes before the row. Without a path, nothing is written. Returns once the file is on the disk.
 */
export function writeItems(path: string | undefined, items: Iterable<Item>): WrittenCsv {
  const file = path === undefined ? undefined : openSync(path, 'w', FILE_MODE);
  const hash = createHash('sha256');
  let pending = '';
  const flush = (): void => {
    hash.update(pending);
    if (file !== undefined) writeAll(file, Buffer.from(pending));
    pending = '';
  };
  try {
    let count = 0;
    pending = `${csvLine(COLUMNS)}\n`;
    for (const item of items) {
      pending += `${csvLine([String(++count), ...fieldsOf(item)])}\n`;
      if (pending.length >= FLUSH_CHARACTERS) flush();
    }
    flush();
    pending = `${csvLine(['end', String(count), hash.copy().digest('hex')])}\n`;
    flush();
    if (file !== undefined) fsyncSync(file);
    return { items: count, sha256: hash.digest('hex') };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
}

const NO_SIDE: readonly string[] = ['', '', '', '', ''];
const sideFields = (side: Side | undefined): readonly string[] =>
  side === undefined ? NO_SIDE : [side.coin, amountText(side.amount), side.user, side.time, side.place];

function fieldsOf({ class: name, flow, source, id, ours, theirs, note }: Item): readonly string[] {
  const { level } = CLASSES[name];
  const approvers = ours?.approvers?.join(' ') ?? '';
  return [name, level, flow, source, id, ...sideFields(ours), ...sideFields(theirs), note, approvers];
}
