import { proposalFromJson } from '../../src/policy/proposal.ts';
import type { Claim, ClaimResult } from '../../src/claims/claims.ts';
import type { Choice, Proposal, RuleResult } from '../../src/policy/proposal.ts';
import type { DistinctClaim } from '../../src/claims/distinct.ts';
import { type WindowClaim, groupOfKey } from '../../src/claims/window.ts';
import type { JournalEntry, PriceHistoryEntry } from '../../src/store/store.ts';
import { type Amount, formatAmount } from '../../src/values/amount.ts';
import { amountOf, valueOf } from '../reference/policy.ts';

/*
 * An auditor: reads nothing but journals and the history of prices, and works out anew whether each approval
 * was right by what had happened before it.
 */

interface AnnouncedOrder {
  readonly members: Readonly<Record<string, string>>;
  readonly expiresAtMs: number;
  state: 'expected' | 'cancelled' | 'used';
}

interface Reserved {
  readonly atMs: number;
  readonly source: string;
  readonly subject: string;
  /**
   * The places in the journal of the entry that reserved it, and of the one that moved it or gave it back.
   */
  readonly from: number;
  until: number;
  readonly claim: WindowClaim;
}

/** What an approval counted of values, and by which limit. */
interface CountedValues {
  readonly atMs: number;
  readonly claim: DistinctClaim;
  /** All of its values, or only those that no approval of another subject had before. */
  readonly values: readonly string[];
}

/** The first approval of a value. */
interface Mark {
  readonly atMs: number;
  /** With its source. */
  readonly subject: string;
}

/** What the sources of a group count together; by keys that name the source, or the group. */
interface SharedBooks {
  readonly counted: Map<string, CountedValues[]>;
  readonly marks: Map<string, Mark>;
  readonly reserved: Map<string, Reserved[]>;
  readonly prices: readonly PriceHistoryEntry[];
  /** How many entries were read. */
  place: number;
}

/** What belongs to one source. */
interface Books {
  readonly source: string;
  readonly shared: SharedBooks;
  /** By list, its values with when they were added. */
  readonly lists: Map<string, Map<string, number>>;
  /** By subject. */
  readonly orders: Map<string, AnnouncedOrder>;
  /** By subject. */
  readonly terms: Map<string, string>;
  /** When a question was approved, by subject and question. */
  readonly approved: Map<string, number>;
}

interface Approval {
  readonly entry: JournalEntry;
  readonly question: { readonly type: string; readonly speedUp: boolean };
  readonly proposal: Proposal;
  readonly terms: Readonly<Record<string, string>>;
}

/**
 * What is wrong with the approvals in the journal, oldest entry first; a sentence each, none if all is right.
 * The entries may be of several sources: those that count together in the order in which they were settled.
 */
export function faultsOf(
  journal: readonly JournalEntry[],
  prices: readonly PriceHistoryEntry[],
): readonly string[] {
  const shared: SharedBooks = { counted: new Map(), marks: new Map(), reserved: new Map(), prices, place: 0 };
  const sources = new Set(journal.map(({ source }) => source));
  const books = new Map([...sources].map((source) => [source, emptyBooks(source, shared)]));
  return [
    ...journal.flatMap((entry) => bookOf(books.get(entry.source) ?? emptyBooks(entry.source, shared), entry)),
    ...limitFaults(shared.reserved),
    ...valuesFaults(shared.counted),
  ];
}

const emptyBooks = (source: string, shared: SharedBooks): Books => ({
  source,
  shared,
  lists: new Map(),
  orders: new Map(),
  terms: new Map(),
  approved: new Map(),
});

/** The name of a counter or a mark among those of all sources. */
const nameOf = ({ source }: Books, key: string): string =>
  groupOfKey(key) === undefined ? `${source} ${key}` : key;

function bookOf(books: Books, entry: JournalEntry): readonly string[] {
  books.shared.place++;
  if (entry.type === 'release') return bookRelease(books, entry);
  if (entry.type === 'list') return bookList(books, entry);
  if (entry.type === 'order') return bookOrder(books, entry);
  if (entry.verdict !== 'SUCCESS' || (entry.type !== 'decision' && entry.type !== 'repeat')) return [];
  const { question, terms, proposal } = JSON.parse(entry.detail) as {
    readonly question: Approval['question'];
    readonly terms: Approval['terms'];
    readonly proposal: unknown;
  };
  const approval = { entry, question, terms, proposal: proposalFromJson(proposal) };
  const faults = [
    ...termsFaults(books, approval),
    ...(approval.proposal.approves ? [] : ['the policies refused it']),
    ...approval.proposal.claims.flatMap((claim, index) =>
      claim.decides ? claimFaults(books, approval, claim, entry.claims[index]) : [],
    ),
    ...(approval.proposal.choices ?? []).flatMap((choice) =>
      choice.decides && takenBy(choice, approval, books) === undefined ? ['no alternative holds'] : [],
    ),
    ...approval.proposal.results.flatMap((result) => valueFaults(books, approval, result)),
  ];
  bookApproval(books, approval);
  return faults.map((fault) => `${entry.id} ${entry.subject}: ${fault}`);
}

/** What a subject reserved is given back: from here on it does not count. */
function bookRelease(
  { shared: { reserved, place } }: Books,
  { source, subject }: JournalEntry,
): readonly string[] {
  for (const each of [...reserved.values()].flat()) {
    if (each.source === source && each.subject === subject) each.until = Math.min(each.until, place);
  }
  return [];
}

function bookList({ lists }: Books, { detail, atMs }: JournalEntry): readonly string[] {
  const change = JSON.parse(detail) as Record<'add' | 'remove', readonly string[]> & {
    readonly list: string;
  };
  const entries = lists.get(change.list) ?? new Map<string, number>();
  for (const value of change.add) if (!entries.has(value)) entries.set(value, atMs);
  for (const value of change.remove) entries.delete(value);
  lists.set(change.list, entries);
  return [];
}

function bookOrder({ orders }: Books, { subject, detail, atMs }: JournalEntry): readonly string[] {
  const { change, members, expiresAtMs } = JSON.parse(detail) as AnnouncedOrder & {
    readonly change: 'expect' | 'cancel';
  };
  const order = orders.get(subject);
  const isOpen = order?.state === 'expected' && atMs < order.expiresAtMs;
  if (change === 'expect') orders.set(subject, { members, expiresAtMs, state: 'expected' });
  else if (order !== undefined) order.state = 'cancelled';
  if (order?.state === 'used') return [`${subject}: an order that was used is announced again`];
  if (change === 'expect' && isOpen) return [`${subject}: an order that stands is announced again`];
  return change === 'cancel' && !isOpen ? [`${subject}: there was no order to cancel`] : [];
}

function termsFaults({ terms }: Books, approval: Approval): readonly string[] {
  const own = JSON.stringify(approval.terms);
  const before = terms.get(approval.entry.subject) ?? own;
  return before === own ? [] : [`approved with the terms ${own}, and before with ${before}`];
}

function claimFaults(
  books: Books,
  { entry, question, proposal, terms }: Approval,
  claim: Claim,
  result: ClaimResult | undefined,
): readonly string[] {
  if (result?.holds !== true) return [`a claim on ${claim.type} does not hold`];
  const { atMs, subject } = entry;
  if (claim.type === 'list' || claim.type === 'aged') {
    const entries = books.lists.get(claim.list);
    if (entries === undefined) return [`there was no list ${claim.list}`];
    return claim.values.flatMap((value) => {
      const added = entries.get(value);
      if (claim.type === 'aged') {
        if (added !== undefined && added + claim.ageMs <= atMs) return [];
        return [`${value} was on ${claim.list} since ${added ?? 'never'} only`];
      }
      return (added !== undefined) === (claim.must === 'hold-all')
        ? []
        : [`${value} was on ${claim.list}, or was not`];
    });
  }
  if (claim.type === 'mark') {
    const made = books.shared.marks.get(nameOf(books, claim.key))?.atMs;
    const isKnown = made !== undefined && made + claim.ageMs <= atMs;
    const max = proposal.results[claim.result]?.values['max'];
    const isLittle = max !== undefined && amountOf(terms['amount'] ?? '') <= amountOf(max);
    return isKnown || (claim.exempt && isLittle)
      ? []
      : [`above ${max} for who is known since ${made ?? 'never'} only`];
  }
  if (claim.type === 'order') return orderFaults(books.orders.get(subject), claim.members, terms, atMs);
  if (claim.type === 'speed-up') {
    const approved = books.approved.get(`${subject} ${question.type}`);
    const isSoon = approved !== undefined && atMs - approved <= claim.withinMs;
    return isSoon ? [] : [`a speed-up of what was approved at ${approved ?? 'no time'}`];
  }
  return [];
}

function orderFaults(
  order: AnnouncedOrder | undefined,
  has: Readonly<Record<string, string>>,
  terms: Approval['terms'],
  atMs: number,
): readonly string[] {
  if (order === undefined || order.state === 'cancelled') return ['there was no such order'];
  if (order.state === 'expected' && atMs >= order.expiresAtMs) return ['the order had expired'];
  const wrong = Object.entries(order.members).filter(([name, text]) => has[name] !== text);
  // What the rule took for the callback's members is what the callback's own terms say.
  const other = Object.entries(has).filter(([name, text]) => (terms[name] ?? text) !== text);
  return [...wrong, ...other].map(([name, text]) => `the order differs in ${name}: ${text}`);
}

/** What the value rules multiplied is the amount, and the price of the version that the proposal names. */
function valueFaults(
  { shared: { prices } }: Books,
  { proposal, terms }: Approval,
  result: RuleResult,
): readonly string[] {
  const { asset, price, value, max } = result.values;
  if (!result.rule.startsWith('value-limit#') || result.mode !== 'enforce') return [];
  if (asset === undefined || price === undefined || value === undefined || max === undefined)
    return ['approved without a value'];
  const inForce = prices
    .filter(({ version }) => version <= proposal.prices)
    .flatMap(({ set, remove }) => [...set, ...remove.map((removed) => ({ asset: removed, price: 0n }))])
    .findLast((each) => each.asset === asset)?.price;
  const worth = valueOf(amountOf(terms['amount'] ?? ''), inForce ?? 0n);
  return [
    ...(inForce !== undefined && formatAmount(inForce) === price
      ? []
      : [`${price} was not the price of ${asset}`]),
    ...(formatAmount(worth) === value ? [] : [`it was worth ${formatAmount(worth)}, not ${value}`]),
    ...(worth <= amountOf(max) ? [] : [`it was worth ${formatAmount(worth)}, of at most ${max}`]),
  ];
}

/** The claims of a choice, by their indexes. */
const claimsOf = ({ alternatives }: Choice): readonly number[] =>
  alternatives.flatMap(({ requires = [] }) =>
    requires.flatMap((each) => (typeof each === 'object' ? claimsOf(each) : [each])),
  );

/** The claims of the first alternative that holds; undefined if none does. */
function takenBy({ alternatives }: Choice, approval: Approval, books: Books): readonly number[] | undefined {
  const { claims } = approval.proposal;
  const holds = (index: number): boolean => {
    const claim = claims[index];
    return (
      claim !== undefined && claimFaults(books, approval, claim, approval.entry.claims[index]).length === 0
    );
  };
  for (const { requires } of alternatives) {
    const taken = requires?.map((each) =>
      typeof each === 'object' ? takenBy(each, approval, books) : holds(each) ? [each] : undefined,
    );
    if (taken?.every((each) => each !== undefined) === true) return taken.flat();
  }
  return undefined;
}

function bookApproval(books: Books, approval: Approval): void {
  const { entry, question, proposal, terms } = approval;
  const { source, atMs, subject, type } = entry;
  const { counted, marks, reserved, place } = books.shared;
  books.terms.set(subject, JSON.stringify(terms));
  const name = `${subject} ${question.type}`;
  const owner = `${source} ${subject}`;
  if (!question.speedUp && type === 'decision') books.approved.set(name, atMs);
  const choices = proposal.choices ?? [];
  const optional = new Set(choices.flatMap(claimsOf));
  const taken = new Set(choices.flatMap((choice) => takenBy(choice, approval, books) ?? []));
  const marked = new Set<string>();
  for (const [index, claim] of proposal.claims.entries()) {
    if (optional.has(index) && !taken.has(index)) continue;
    const order = books.orders.get(subject);
    if (claim.type === 'order' && order?.state === 'expected' && atMs < order.expiresAtMs)
      order.state = 'used';
    if (claim.type === 'mark') marked.add(nameOf(books, claim.key));
    const decides = claim.decides || taken.has(index);
    if (claim.type === 'distinct') {
      const key = nameOf(books, claim.key);
      const all = claim.values.map((value) => nameOf(books, value));
      const isNew = (value: string): boolean => (marks.get(value)?.subject ?? owner) === owner;
      const values = claim.onlyNew ? all.filter(isNew) : all;
      if (claim.onlyNew) for (const value of all) marked.add(value);
      if (decides) counted.set(key, [...(counted.get(key) ?? []), { atMs, claim, values }]);
    }
    if (claim.type !== 'window') continue;
    const key = nameOf(books, claim.key);
    const made = { atMs, source, subject, claim, from: place, until: Infinity };
    const before = reserved.get(key) ?? [];
    for (const each of before) {
      const isMoved = each.source === source && each.subject === subject && each.from < place;
      if (isMoved) each.until = Math.min(each.until, place);
    }
    // What only observes is counted without a limit.
    if (decides) reserved.set(key, [...before, made]);
  }
  for (const mark of marked) if (!marks.has(mark)) marks.set(mark, { atMs, subject: owner });
}

/**
 * In no window of the exact length, wherever it begins, do the latest approvals of each subject sum to more
 * than the limit of the last one.
 */
function limitFaults(reserved: SharedBooks['reserved']): readonly string[] {
  return [...reserved].flatMap(([key, all]) => {
    return all.flatMap(({ atMs, from, claim: { window, max } }) => {
      const fromMs = window.type === 'calendar' ? window.startMs - 1 : atMs - window.lengthMs;
      const within = all.filter((each) => each.atMs > fromMs && each.from <= from && each.until > from);
      const sum = within.reduce((total: Amount, { claim }) => total + claim.amount, 0n);
      if (sum <= max) return [];
      return [`${key}: ${formatAmount(sum)} was approved until ${atMs}, of at most ${formatAmount(max)}`];
    });
  });
}

/**
 * In no window of the exact length were more different values approved than the limit of the last approval.
 */
function valuesFaults(counted: SharedBooks['counted']): readonly string[] {
  return [...counted].flatMap(([key, all]) => {
    return all.flatMap(({ atMs, claim: { window, max }, values: own }, at) => {
      const fromMs = window.type === 'calendar' ? window.startMs - 1 : atMs - window.lengthMs;
      const within = all.slice(0, at + 1).filter((each) => each.atMs > fromMs);
      const values = new Set(within.flatMap((each) => each.values));
      return own.length === 0 || values.size <= max
        ? []
        : [`${key}: ${values.size} values until ${atMs}, of at most ${max}`];
    });
  });
}
