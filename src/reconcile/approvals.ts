import { type Hash, createHash } from 'node:crypto';
import { type Callback, kindOfSubject, termsOf, txidOf } from '../callback/callback.ts';
import { type Amount, formatAmount, parseAmount } from '../values/amount.ts';
import type { JournalEntry } from '../store/store.ts';
import { recordedOf } from './entries.ts';

/** An entry with SUCCESS for a payment or a `sign_start`. */
export interface Success {
  readonly entry: string;
  readonly atMs: number;
  /** It repeats an earlier decision, which may be outside the period that was read. */
  readonly repeats: boolean;
  readonly speedUp: boolean;
  /** The people who had approved it; empty if nobody had to. */
  readonly approvers: readonly string[];
}

/** A `sign_success`. */
export interface Notification {
  readonly entry: string;
  readonly atMs: number;
  readonly code: string;
  readonly txid: string;
  /** The digest of the terms. */
  readonly terms: string;
  readonly coin: string;
  readonly amount: Amount | 'unlimited';
  /** How many of the subject's successes come before it in the journal. */
  readonly after: number;
}

/** What the journal says about a subject. Only approvals and notifications are kept. */
export interface Approved {
  readonly id: string;
  readonly kind: Callback['kind'];
  readonly coin: string;
  readonly amount: Amount | 'unlimited';
  /** The payer; the empty text for withdrawals. */
  readonly user: string;
  /** The digest of a withdrawal's terms; the empty text for payments. */
  readonly terms: string;
  /** In the order of the journal; empty if it was never approved. */
  readonly successes: readonly Success[];
  readonly notifications: readonly Notification[];
  /** The bill's record of the payment, once it was found. */
  readonly billed: { readonly line: number; readonly time: string; readonly note: string } | undefined;
}

export interface SourceJournal {
  /** The subjects of one source, by name, in the order of their first entries. */
  readonly subjects: SubjectTable;
  /** The entries whose SUCCESS was not delivered: FAILURE was answered, or the client had gone. */
  readonly late: ReadonlySet<string>;
  /** The subjects whose approval was released. */
  readonly released: ReadonlyMap<string, Release>;
}

/** A release of an approval. */
export interface Release {
  readonly entry: string;
  readonly atMs: number;
}

/** What must be known of an approval: its first SUCCESS that was delivered, or else its first. */
export interface Answered extends Success {
  readonly delivered: boolean;
}

/** Undefined if it was never approved. Of successes before `untilMs`. */
export function answeredOf(
  { successes }: Pick<Approved, 'successes'>,
  { late }: Pick<SourceJournal, 'late'>,
  untilMs = Infinity,
): Answered | undefined {
  const before = successes.filter(({ atMs }) => atMs < untilMs);
  const delivered = before.find(({ entry }) => !late.has(entry));
  const success = delivered ?? before[0];
  return success && { ...success, delivered: delivered !== undefined };
}

export interface JournalCollector {
  add(entry: JournalEntry): void;
  of(source: string): SourceJournal;
  /** How many entries were used. */
  entries(): number;
  /** The SHA-256 of what was used of them: the same from a store and from its export. */
  digest(): string;
}

interface Collected {
  readonly subjects: SubjectTable;
  readonly late: Set<string>;
  readonly released: Map<string, Release>;
  readonly hash: Hash;
}

const nothingCollected = (): Collected => ({
  subjects: createSubjectTable(),
  late: new Set(),
  released: new Map(),
  hash: createHash('sha256'),
});

/** Collects the approvals and notifications of a journal, some hundred bytes each. */
export function createCollector(): JournalCollector {
  const sources = new Map<string, Collected>();
  let used = 0;

  function collectedOf(source: string): Collected {
    const known = sources.get(source);
    if (known !== undefined) return known;
    const made = nothingCollected();
    sources.set(source, made);
    return made;
  }

  function use({ hash }: Collected, entry: JournalEntry, facts: readonly string[]): void {
    used++;
    const { id, atMs, type, subject, verdict, code, of } = entry;
    hash.update(`${JSON.stringify([id, atMs, type, subject, verdict, code, of, ...facts])}\n`);
  }

  function addSuccess(collected: Collected, entry: JournalEntry): void {
    const { callback, approval } = recordedOf(entry);
    const approvers = approval?.approvers ?? [];
    const { question, symbol, amount } = callback;
    const terms = termsDigest(callback);
    const user = callback.kind === 'payment' ? callback.texts.userId : terms;
    const facts = [question.type, String(question.speedUp), user, symbol, amountText(amount)];
    use(collected, entry, [...facts, ...approvers]);
    if (question.type !== 'payment' && question.type !== 'sign_start') return;
    const { id, atMs, type, subject } = entry;
    const success = { entry: id, atMs, repeats: type === 'repeat', speedUp: question.speedUp, approvers };
    const known = collected.subjects.get(subject);
    // The terms of a subject are those of its first approval. Without approval, of its first notification.
    const base = known === undefined || known.successes.length === 0 ? subjectOf(callback, known) : known;
    collected.subjects.set(subject, { ...base, successes: [...base.successes, success] });
  }

  function addNotification(collected: Collected, entry: JournalEntry): void {
    const { callback } = recordedOf(entry);
    const { symbol: coin, amount } = callback;
    const [terms, txid] = [termsDigest(callback), txidOf(callback)];
    use(collected, entry, [txid, terms, coin, amountText(amount)]);
    const { id, atMs, code, subject } = entry;
    const known = collected.subjects.get(subject) ?? subjectOf(callback, undefined);
    const after = known.successes.length;
    const notification = { entry: id, atMs, code, txid, terms, coin, amount, after };
    collected.subjects.set(subject, { ...known, notifications: [...known.notifications, notification] });
  }

  return {
    add(entry) {
      if (entry.type === 'late') {
        const collected = collectedOf(entry.source);
        use(collected, entry, []);
        collected.late.add(flat(entry.of));
      } else if (entry.type === 'release') {
        const collected = collectedOf(entry.source);
        use(collected, entry, []);
        collected.released.set(flat(entry.subject), { entry: flat(entry.id), atMs: entry.atMs });
      } else if (entry.type === 'notice') {
        addNotification(collectedOf(entry.source), entry);
      } else if ((entry.type === 'decision' || entry.type === 'repeat') && entry.verdict === 'SUCCESS') {
        addSuccess(collectedOf(entry.source), entry);
      }
    },
    of: (source) => sources.get(source) ?? nothingCollected(),
    entries: () => used,
    digest() {
      const bySource = [...sources].sort(([a], [b]) => (a < b ? -1 : 1));
      const whole = createHash('sha256');
      for (const [source, { hash }] of bySource) whole.update(`${source} ${hash.copy().digest('hex')}\n`);
      return whole.digest('hex');
    },
  };
}

export const amountText = (amount: Amount | 'unlimited'): string =>
  amount === 'unlimited' ? amount : formatAmount(amount);

const COPY_BYTES = 4096;
const copyBuffer = Buffer.allocUnsafe(COPY_BYTES);

/** A copy of a text. A part of a longer text would keep all of it in memory. */
export function flat(text: string): string {
  // A character has at most three bytes.
  if (3 * text.length > COPY_BYTES) return Buffer.from(text).toString();
  return copyBuffer.toString('utf8', 0, copyBuffer.write(text));
}

function subjectOf(callback: Callback, known: Approved | undefined): Approved {
  const { id, kind, symbol, amount } = callback;
  return {
    id,
    kind,
    coin: symbol,
    amount,
    user: callback.kind === 'payment' ? callback.texts.userId : '',
    terms: termsDigest(callback),
    successes: [],
    notifications: known?.notifications ?? [],
    billed: undefined,
  };
}

/** 128 bits of the digest of a withdrawal's terms. Those of a payment are compared one by one. */
const termsDigest = (callback: Callback): string =>
  callback.kind === 'payment' ? '' : termsOf(callback).slice(0, 32);

// ---- the table of subjects ----

export interface SubjectTable {
  get(name: string): Approved | undefined;
  has(name: string): boolean;
  set(name: string, approved: Approved): void;
  [Symbol.iterator](): Iterator<readonly [name: string, approved: Approved]>;
}

/** Keeps each subject as one text, which takes a fifth of the memory of its objects. */
function createSubjectTable(): SubjectTable {
  const texts = new Map<string, string>();
  return {
    get(name) {
      const text = texts.get(name);
      return text === undefined ? undefined : unpacked(name, text);
    },
    has: (name) => texts.has(name),
    set: (name, approved) => void texts.set(texts.has(name) ? name : flat(name), packed(approved)),
    *[Symbol.iterator]() {
      for (const [name, text] of texts) yield [name, unpacked(name, text)] as const;
    },
  };
}

type PackedSuccess = readonly [
  entry: string,
  atMs: number,
  repeats: boolean,
  speedUp: boolean,
  ...approvers: readonly string[],
];
type PackedNotification = readonly [
  entry: string,
  atMs: number,
  code: string,
  txid: string,
  terms: string,
  coin: string,
  amount: string,
  after: number,
];
type PackedBilled = readonly [line: number, time: string, note: string];
/** The form of a text of the table, without the id and the kind, which are in the name. */
type Packed = readonly [
  coin: string,
  amount: string,
  user: string,
  terms: string,
  successes: readonly PackedSuccess[],
  notifications: readonly PackedNotification[],
  billed: PackedBilled | 0,
];

function packed({ coin, amount, user, terms, successes, notifications, billed }: Approved): string {
  const list: Packed = [
    coin,
    amountText(amount),
    user,
    terms,
    successes.map(({ entry, atMs, repeats, speedUp, approvers }): PackedSuccess => [
      entry,
      atMs,
      repeats,
      speedUp,
      ...approvers,
    ]),
    notifications.map(packedNotification),
    billed === undefined ? 0 : [billed.line, billed.time, billed.note],
  ];
  return flat(JSON.stringify(list));
}

const packedNotification = (each: Notification): PackedNotification => [
  each.entry,
  each.atMs,
  each.code,
  each.txid,
  each.terms,
  each.coin,
  amountText(each.amount),
  each.after,
];

function unpacked(name: string, text: string): Approved {
  const list: Packed = JSON.parse(text);
  const [coin, amount, user, terms, successes, notifications, billed] = list;
  const kind = kindOfSubject(name) ?? 'payment';
  return {
    id: name.slice(kind.length + 1),
    kind,
    coin,
    amount: amountOf(amount),
    user,
    terms,
    successes: successes.map(([entry, atMs, repeats, speedUp, ...approvers]) => ({
      entry,
      atMs,
      repeats,
      speedUp,
      approvers,
    })),
    notifications: notifications.map(([entry, atMs, code, txid, ofTerms, ofCoin, ofAmount, after]) => ({
      entry,
      atMs,
      code,
      txid,
      terms: ofTerms,
      coin: ofCoin,
      amount: amountOf(ofAmount),
      after,
    })),
    billed: billed === 0 ? undefined : { line: billed[0], time: billed[1], note: billed[2] },
  };
}

function amountOf(text: string): Amount | 'unlimited' {
  return text === 'unlimited' ? text : (parseAmount(text) ?? 0n);
}
