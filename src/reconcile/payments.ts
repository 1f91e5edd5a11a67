import { type Answered, type Approved, type SourceJournal, answeredOf, flat } from './approvals.ts';
import { type Bill, type BilledOrder, type UnreadableRecord, checkRecord } from './bill.ts';
import type { ClassName, Item, Side } from './classes.ts';
import {
  type History,
  type Refusal,
  type SourceParts,
  type SourceResult,
  approvalOf,
  approvedSide,
  completeJournal,
  isOfDay,
  judgeEarlier,
  judgeRelease,
  releaseNote,
  releaseOf,
} from './source.ts';

export interface PaymentParts extends SourceParts {
  readonly bill: Bill;
  /** Called after each record of the bill. */
  readonly recordRead: () => void;
}

/** Reconciles the approved payments of a source with the bill (section 4.17). Rejects with BILL_INVALID. */
export async function reconcilePayments(parts: PaymentParts): Promise<SourceResult> {
  const { journal } = await completeJournal(parts, ({ successes }) => successes[0]?.repeats === true);
  const ahead = stillAhead(parts, journal);
  const found: Found = { differing: [], transfers: [], matchedOlder: [], ahead, firstLines: new Map() };
  const unknown: BilledOrder[] = [];
  for await (const record of parts.bill.records()) {
    const order = 'because' in record ? record : checkRecord(record, parts.bill, parts.day);
    if ('because' in order) found.differing.push(unreadableItem(parts, found, order));
    else if (!settle(parts, journal, found, order)) unknown.push(compact(order));
    parts.recordRead();
  }
  if (unknown.length > 0) {
    const history = await parts.lookUp(new Set(unknown.map(subjectOf)));
    for (const order of unknown) settleOlder(parts, history, found, order);
  }
  const { source } = parts;
  return {
    *others() {
      yield* unbilledItems(parts, journal, found);
      yield* found.differing;
      for (const order of found.transfers) yield itemOf(source, 'transfer-order', order);
    },
    *matched() {
      for (const [, approved] of journal.subjects)
        if (approved.billed !== undefined) yield matchedItem(parts, journal, approved);
      yield* found.matchedOlder;
    },
    ahead: found.ahead,
  };
}

/**
 * What the day before had in its bill, and is not approved on this day: a settle time can reach over a day
 * that is short because the zone's clocks change on it.
 */
function stillAhead(parts: PaymentParts, journal: SourceJournal): string[] {
  return [...parts.earlier.ahead].filter((name) => {
    const approved = journal.subjects.get(name);
    const answered = approved && approvalOf(approved, journal, parts);
    return answered === undefined || answered.atMs >= parts.day.untilMs;
  });
}

/** What was found so far, apart from the matched orders, which their subjects have. */
interface Found {
  readonly differing: Item[];
  readonly transfers: BilledOrder[];
  /** Orders whose approval is older than the journal of the day. */
  readonly matchedOlder: Item[];
  readonly ahead: string[];
  /** The first record about each id that is not matched. */
  readonly firstLines: Map<string, number>;
}

const subjectOf = ({ id }: Pick<BilledOrder, 'id'>): string => `payment:${id}`;

const compact = (order: BilledOrder): BilledOrder => ({
  ...order,
  id: flat(order.id),
  coin: flat(order.coin),
  user: flat(order.user),
  time: flat(order.time),
});

/** An approval with its id is neither matched nor missing in the bill, so only this item is about it. */
function unreadableItem(
  { source }: PaymentParts,
  { firstLines }: Found,
  { line, id, because, text }: UnreadableRecord,
): Item {
  if (id !== '' && !firstLines.has(id)) firstLines.set(flat(id), line);
  const note = `line ${line}: ${because}: ${text}`;
  return {
    class: 'billed-unreadable',
    flow: 'payment',
    source,
    id: flat(id),
    ours: undefined,
    theirs: undefined,
    note,
  };
}

/** Returns false if the journal of the day has no approval of the order. */
function settle(parts: PaymentParts, journal: SourceJournal, found: Found, order: BilledOrder): boolean {
  const { source } = parts;
  const { firstLines } = found;
  const name = subjectOf(order);
  const approved = journal.subjects.get(name);
  const first = approved?.billed?.line ?? firstLines.get(order.id);
  if (first !== undefined) {
    const note = `line ${first} of the bill has it too`;
    found.differing.push({ ...itemOf(source, 'billed-twice', compact(order)), note });
    return true;
  }
  if (approved !== undefined) {
    const item = judged(parts, journal, order, approved);
    if (item.class === 'matched') {
      const billed = { line: order.line, time: order.time, note: item.note };
      journal.subjects.set(name, { ...approved, billed });
      const answered = approvalOf(approved, journal, parts);
      if (answered !== undefined && answered.atMs >= parts.day.untilMs) found.ahead.push(flat(name));
      return true;
    }
    found.differing.push(item);
  }
  firstLines.set(flat(order.id), order.line);
  return approved !== undefined;
}

function settleOlder(parts: PaymentParts, history: History, found: Found, order: BilledOrder): void {
  const { source } = parts;
  const { journal } = history;
  const approved = journal.subjects.get(subjectOf(order));
  if (approved !== undefined && approvalOf(approved, journal, parts) !== undefined) {
    const item = judged(parts, journal, order, approved);
    (item.class === 'matched' ? found.matchedOlder : found.differing).push(item);
    return;
  }
  const later = approved && answeredOf(approved, journal);
  const isTransfer = order.type === 'transfer';
  if (isTransfer && later === undefined) {
    found.transfers.push(order);
    return;
  }
  const note =
    later === undefined
      ? refusalNote(source, history.refusals.get(subjectOf(order)))
      : `approved only at ${new Date(later.atMs).toISOString()}, entry ${source}/${later.entry}`;
  const name = isTransfer ? 'billed-different' : 'billed-never-approved';
  found.differing.push({ ...itemOf(source, name, order), note: isTransfer ? `order type; ${note}` : note });
}

const refusalNote = (source: string, refusal: Refusal | undefined): string =>
  refusal === undefined
    ? 'the journal has no callback about it'
    : `${refusal.code} at ${new Date(refusal.atMs).toISOString()}, entry ${source}/${refusal.entry}`;

/** The item of an order whose approval is known, and that is in the bill for the first time. */
function judged(parts: PaymentParts, journal: SourceJournal, order: BilledOrder, approved: Approved): Item {
  const { source } = parts;
  const answered = approvalOf(approved, journal, parts);
  if (answered === undefined) throw new Error(`${subjectOf(order)} is in the journal without an approval`);
  const ours = approvedSide(source, approved, answered);
  const theirs = billedSide(compact(order));
  const item = (name: ClassName, note: string, withOurs?: Side): Item => ({
    class: name,
    flow: 'payment',
    source,
    id: approved.id,
    ours: withOurs,
    theirs,
    note,
  });
  const earlier = judgeEarlier(subjectOf(order), answered, parts);
  if (earlier?.what === 'again') return item('billed-twice', earlier.note);
  const differences = differencesOf(order, approved);
  if (differences !== '') return item('billed-different', differences, ours);
  const release = releaseOf(subjectOf(order), journal, parts);
  if (release !== undefined) return item('billed-after-release', releaseNote(release, parts), ours);
  if (!answered.delivered) return item('billed-after-failure', 'see the entry of type late', ours);
  if (earlier?.what === 'late') return item('billed-late', `approved ${ours.time}; ${earlier.note}`);
  return item('matched', earlier?.note ?? '', ours);
}

/** The members that differ, such as `amount, user`; the empty text if they agree to the last digit. */
function differencesOf({ type, coin, amount, user }: BilledOrder, approved: Approved): string {
  const differences = [
    ...(type === 'payment' ? [] : ['order type']),
    ...(amount === approved.amount ? [] : ['amount']),
    ...(coin === approved.coin ? [] : ['coin']),
    ...(user === approved.user ? [] : ['user']),
  ];
  return differences.join(', ');
}

function matchedItem(parts: PaymentParts, journal: SourceJournal, approved: Approved): Item {
  const { source } = parts;
  const { id, coin, amount, user, billed } = approved;
  const answered = approvalOf(approved, journal, parts);
  const ours = answered && approvedSide(source, approved, answered);
  const theirs = { coin, amount, user, time: billed?.time ?? '', place: `line ${billed?.line}` };
  return { class: 'matched', flow: 'payment', source, id, ours, theirs, note: billed?.note ?? '' };
}

function itemOf(source: string, name: ClassName, order: BilledOrder): Item {
  const flow = order.type === 'transfer' ? 'transfer-order' : 'payment';
  return { class: name, flow, source, id: order.id, ours: undefined, theirs: billedSide(order), note: '' };
}

const billedSide = ({ coin, amount, user, time, line }: BilledOrder): Side => ({
  coin,
  amount,
  user,
  time,
  place: `line ${line}`,
});

/** The approvals that the bill does not have. */
function* unbilledItems(parts: PaymentParts, journal: SourceJournal, { firstLines }: Found): Generator<Item> {
  const { source, day, settleMs, earlier } = parts;
  for (const [name, approved] of journal.subjects) {
    const { id, billed } = approved;
    const answered = approvalOf(approved, journal, parts);
    const isBilled = billed !== undefined || firstLines.has(id);
    if (answered === undefined || isBilled) continue;
    const ours = approvedSide(source, approved, answered);
    const item = { flow: 'payment', source, id, ours, theirs: undefined, note: '' } as const;
    const release = judgeRelease(name, answered, journal, parts);
    if (release !== undefined) {
      yield {
        ...item,
        class: release.what === 'released' ? 'released' : 'billed-after-release',
        note: release.note,
      };
      continue;
    }
    if (!isOfDay(name, answered, parts)) continue;
    if (!answered.delivered) yield { ...item, class: 'approved-late' };
    else if (earlier.ahead.has(name)) yield { ...item, class: 'settled-before' };
    else if (answered.atMs >= day.untilMs - settleMs) yield { ...item, class: 'settling' };
    else yield { ...item, class: 'approved-not-billed', note: unbilledNote(name, answered, parts) };
  }
}

function unbilledNote(name: string, { atMs }: Answered, { day, settleMs, earlier }: PaymentParts): string {
  const carried = earlier.settling.get(name);
  if (carried !== undefined) return `carried from item ${carried}`;
  return !earlier.knowsDayBefore && atMs < day.fromMs + settleMs
    ? 'it may be in the bill of the day before, which was not reconciled here'
    : '';
}
