import { createHash } from 'node:crypto';
import { readCsvLine } from '../values/csv.ts';
import { type LineFault, readLines } from '../values/lines.ts';
import { type Members, type TextBounds, readMembers } from '../values/members.ts';
import {
  BILL_MEMBERS,
  type Bill,
  type BillRecord,
  type ReadRecord,
  billFault,
  shown,
  unreadable,
} from './bill.ts';

/** The bounds of a JSON line. The platform may add members to a record. */
const RECORD_BOUNDS: TextBounds = { members: 64, depth: 4, numberCharacters: 80 };
const BYTE_ORDER_MARK = '\u{feff}';
const WHOLE_NUMBER = /^(?:0|[1-9]\d{0,14})$/;

/**
 * A bill in a file: JSON Lines with a record a line, or CSV with a header. So that a lost line is noticed,
 * the number of records must be known: from the last line, `{"count":2}` or `end,2`, or from `count`.
 */
export function openBillFile(path: string, { count }: { readonly count?: number | undefined } = {}): Bill {
  const fault: LineFault = (line, because) =>
    billFault(path, line, `${because}. Write the file again, in UTF-8`);
  const hash = createHash('sha256');
  function* lines(): Generator<BillLine> {
    for (const line of readLines(path, fault)) {
      hash.update(`${line.text}\n`);
      yield line;
    }
  }
  return {
    name: path,
    records: () => records(path, lines(), count),
    digest: () => hash.copy().digest('hex'),
  };
}

interface BillLine {
  readonly text: string;
  readonly number: number;
}

type LineValue =
  | { readonly record: BillRecord }
  | { readonly unreadable: string; readonly id: string }
  | { readonly count: string };

async function* records(
  path: string,
  lines: Iterable<BillLine>,
  expected: number | undefined,
): AsyncGenerator<ReadRecord> {
  let read: ((text: string) => LineValue | string) | undefined;
  let stated: string | undefined;
  let count = 0;
  for (const { text: written, number } of lines) {
    const text = written.endsWith('\r') ? written.slice(0, -1) : written;
    if (stated !== undefined) {
      throw billFault(path, number, 'it comes after the line with the number of records. Remove it');
    }
    if (read === undefined) {
      const first = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
      if (!first.startsWith('{')) {
        read = csvReader(path, first);
        continue;
      }
      read = jsonValue;
    }
    const value = read(text.startsWith(BYTE_ORDER_MARK) && number === 1 ? text.slice(1) : text);
    if (typeof value === 'string')
      throw billFault(
        path,
        number,
        value.endsWith(FROM_A_SPREADSHEET) ? value : `${value}. Get the bill again`,
      );
    if ('count' in value) stated = value.count;
    else {
      count++;
      yield 'record' in value
        ? { ...value.record, line: number }
        : unreadable({ line: number, id: value.id, because: value.unreadable, text });
    }
  }
  checkCount(path, count, stated, expected);
}

function checkCount(
  path: string,
  count: number,
  stated: string | undefined,
  expected: number | undefined,
): void {
  if (stated === undefined && expected === undefined) {
    throw billFault(
      path,
      0,
      `it has ${count} records and does not say how many the bill has, so lost lines would not be ` +
        'noticed. End it with the line {"count":N} (JSON Lines) or end,N (CSV), or give --bill-count, ' +
        "with the count of the platform's answer",
    );
  }
  for (const wanted of [stated, expected]) {
    if (wanted === undefined || Number(wanted) === count) continue;
    throw billFault(path, 0, `it has ${count} records instead of ${wanted}. Get the whole bill again`);
  }
}

// ---- JSON Lines ----

function jsonValue(text: string): LineValue | string {
  const decoded = readMembers(text, RECORD_BOUNDS);
  if (!decoded.ok) return decoded.because;
  const { members } = decoded;
  const count = members.get('count');
  if (count !== undefined && members.size === 1) {
    return WHOLE_NUMBER.test(count.text)
      ? { count: count.text }
      : `count is ${shown(count.text)}, not a number`;
  }
  return recordOf((name) => textOf(members, name));
}

/** The exact text of a member. The samples have numbers where the tables say strings, and the reverse. */
function textOf(members: Members, name: string): string | { readonly fault: string } {
  const member = members.get(name);
  if (member === undefined) return { fault: `${name} is missing` };
  if (member.kind === 'string' || member.kind === 'number') return member.text;
  if (member.kind === 'null') return '';
  return { fault: `${name} is ${shown(member.text)} and must be a text or a number` };
}

// ---- CSV ----

/** A spreadsheet takes an id of many digits for a number, and keeps 15 digits of it at most. */
const ROUNDED_ID = /^\d(?:[.,]\d+)?E\+\d{1,3}$/;
const FROM_A_SPREADSHEET =
  'The file was saved by a spreadsheet, which rounds long ids and changes dates: write it again with ' +
  '`countersign platform bill --day DAY --all --csv`, and save no file that a spreadsheet has opened';

function csvReader(path: string, header: string): (text: string) => LineValue | string {
  const names = readCsvLine(header);
  if (typeof names === 'string') throw billFault(path, 1, `${names}. Get the bill again`);
  const missing = BILL_MEMBERS.filter((name) => !names.includes(name));
  if (missing.length > 0 && header.includes(';') && BILL_MEMBERS.every((name) => header.includes(name))) {
    throw billFault(
      path,
      1,
      `its fields have semicolons between them, as a spreadsheet writes them. ${FROM_A_SPREADSHEET}`,
    );
  }
  if (missing.length > 0) {
    throw billFault(
      path,
      1,
      `it is neither a JSON object nor a CSV header: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} ` +
        `missing. Write JSON Lines, or begin with the line ${BILL_MEMBERS.join(',')}`,
    );
  }
  const duplicate = names.find((name, at) => names.indexOf(name) !== at);
  if (duplicate !== undefined) {
    throw billFault(path, 1, `the column ${shown(duplicate)} appears twice. Remove one of them`);
  }
  const columns = new Map(names.map((name, at) => [name, at]));
  return (text) => {
    const fields = readCsvLine(text);
    if (typeof fields === 'string') return fields;
    const [first = '', count = ''] = fields;
    if (first === 'end' && fields.length === 2) {
      return WHOLE_NUMBER.test(count) ? { count } : `the number of records is ${shown(count)}, not a number`;
    }
    if (first === 'end' && fields.slice(2).every((field) => field === '')) {
      return `the line with the number of records has empty fields behind it, as a spreadsheet writes it. ${FROM_A_SPREADSHEET}`;
    }
    if (fields.length !== names.length) {
      return `it has ${fields.length} fields, and the header has ${names.length}`;
    }
    const field = (name: keyof BillRecord): string => fields[columns.get(name) ?? -1] ?? '';
    const rounded = (['merchantUserId', 'appOrderId', 'userId'] as const).find((name) =>
      ROUNDED_ID.test(field(name)),
    );
    if (rounded !== undefined) {
      return `${rounded} is ${shown(field(rounded))}, an id that a spreadsheet has rounded. ${FROM_A_SPREADSHEET}`;
    }
    return recordOf(field);
  };
}

// ---- records ----

function recordOf(read: (name: keyof BillRecord) => string | { readonly fault: string }): LineValue {
  let fault: string | undefined;
  const text = (name: keyof BillRecord): string => {
    const found = read(name);
    if (typeof found === 'string') return found;
    fault ??= found.fault;
    return '';
  };
  const record: BillRecord = {
    merchantUserId: text('merchantUserId'),
    appOrderId: text('appOrderId'),
    payCoinSymbol: text('payCoinSymbol'),
    orderAmount: text('orderAmount'),
    orderType: text('orderType'),
    userId: text('userId'),
    openId: text('openId'),
    createTime: text('createTime'),
    payTime: text('payTime'),
  };
  return fault === undefined ? { record } : { unreadable: fault, id: record.appOrderId };
}
