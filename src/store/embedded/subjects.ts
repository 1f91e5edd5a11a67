import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import type { Amount } from '../../values/amount.ts';
import type { SettleStep } from '../settle-step.ts';
import { type NotificationCode, TXIDS_MAX } from '../store.ts';
import { text } from './rows.ts';

export interface Subjects {
  /** Throws STORE_CORRUPT if the stored record can't be read. */
  find(source: string, subject: string): SubjectRecord | undefined;
  save(source: string, subject: string, record: SubjectRecord, nowMs: number): void;
  /** Deletes at most `limit` subjects that last changed before the instant. */
  expire(beforeMs: number, limit: number): void;
}

const storedDecision = z.strictObject({
  question: z.string(),
  /** The journal entry. */
  id: z.string(),
  verdict: z.enum(['SUCCESS', 'FAILURE']),
  code: z.enum([
    'APPROVED',
    'RULE_REFUSED',
    'AWAITING_APPROVAL',
    'NO_POLICY',
    'NOTHING_IN_FORCE',
    'TOO_MANY_CLAIMS',
  ]),
  /** Of a refusal; a repeated approval doesn't depend on it. */
  revision: z.string().default(''),
  /** A refusal that is never repeated, but decided again each time. */
  retryable: z.boolean().default(false),
  /** When it was made. */
  atMs: z.number(),
  /** The lists that a refusal depends on, with their versions; 0 for a list that did not exist. */
  lists: z
    .array(z.tuple([z.string(), z.number()]))
    .readonly()
    .default([]),
});

/** A subject's stored record. */
const subjectRecord = z.strictObject({
  terms: z.string(),
  /** The scheme of its first decision that was bound to one; absent if none was. */
  scheme: z.string().optional(),
  decisions: z.array(storedDecision.readonly()).readonly(),
  /**
   * For each counter of amounts in which it has reserved: the key, until when, the end of the bucket, the
   * amount.
   */
  reserved: z
    .array(z.tuple([z.string(), z.number(), z.number(), z.string()]).readonly())
    .readonly()
    .default([]),
  /** For each counter of values in which it has reserved: the key, and until when they count. */
  counted: z
    .array(z.tuple([z.string(), z.number()]).readonly())
    .readonly()
    .default([]),
  /** The values that its approvals were the first to have, in the counters that count only new ones. */
  firsts: z.array(z.string()).readonly().default([]),
  txids: z.array(z.string()).readonly().default([]),
  /** Whether an approval has used up the order that was announced for it. */
  usesOrder: z.boolean().default(false),
  /** The approval requests that its approvals have used, each with the journal entry of the approval. */
  usedRequests: z
    .array(z.tuple([z.string(), z.string()]).readonly())
    .readonly()
    .optional(),
  /** Set once its approval was released. */
  released: z
    .strictObject({ id: z.string(), atMs: z.number(), by: z.string(), message: z.string() })
    .readonly()
    .optional(),
});

export type StoredDecision = z.infer<typeof storedDecision>;
export type SubjectRecord = z.infer<typeof subjectRecord>;

/** What a subject has reserved in a counter of amounts. */
export interface Reservation {
  readonly key: string;
  readonly amount: Amount;
  /** The end of the counter's bucket that has the amount. */
  readonly bucketEndMs: number;
  /** From this instant the amount no longer counts. */
  readonly untilMs: number;
}

/** What an approval has changed of its subject's reservations. */
export interface Reserved {
  readonly amounts: readonly Reservation[];
  /** The counters of values. */
  readonly counted: SubjectRecord['counted'];
  readonly firsts: readonly string[];
  readonly order: boolean;
  readonly usedRequests: NonNullable<SubjectRecord['usedRequests']>;
}

export const NOTHING_RESERVED: Reserved = {
  amounts: [],
  counted: [],
  firsts: [],
  order: false,
  usedRequests: [],
};

export function createSubjects(connection: DatabaseSync): Subjects {
  const find = connection.prepare('SELECT record FROM subject WHERE source = ? AND subject = ?');
  const save = connection.prepare(
    `INSERT INTO subject (source, subject, record, changed_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET record = excluded.record, changed_ms = excluded.changed_ms`,
  );
  const expired = connection.prepare('SELECT source, subject FROM subject WHERE changed_ms < ? LIMIT ?');
  const drop = connection.prepare('DELETE FROM subject WHERE source = ? AND subject = ?');
  return {
    find(source, subject) {
      const row = find.get(source, subject);
      return row === undefined ? undefined : recordOf(text(row, 'record'), source, subject);
    },
    save(source, subject, record, nowMs) {
      save.run(source, subject, JSON.stringify(record, withoutDefaults), nowMs);
    },
    expire(beforeMs, limit) {
      for (const row of expired.all(beforeMs, limit)) drop.run(text(row, 'source'), text(row, 'subject'));
    },
  };
}

/** Leaves out the members that reading adds again: those that are false, the empty text or the empty list. */
function withoutDefaults(this: unknown, _name: string, value: unknown): unknown {
  if (Array.isArray(this)) return value;
  const isEmpty = value === '' || (Array.isArray(value) && value.length === 0);
  return value === false || isEmpty ? undefined : value;
}

function recordOf(stored: string, source: string, subject: string): SubjectRecord {
  try {
    return subjectRecord.parse(JSON.parse(stored));
  } catch (thrown) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `the record of ${subject} of ${source} can't be read; restore the store from a backup`,
      { source, subject },
      thrown,
    );
  }
}

/** The question's name within its subject. The number of txids distinguishes each speed-up from the next. */
export function questionOf(
  subject: SubjectRecord | undefined,
  { question, speedUp }: Pick<SettleStep, 'question' | 'speedUp'>,
): string {
  return speedUp ? `${question}+${subject?.txids.length ?? 0}` : question;
}

/** Whether a request is signed by another scheme than the one that its subject is bound to. */
export function changesScheme({ scheme }: SubjectRecord, request: Pick<SettleStep, 'scheme'>): boolean {
  return scheme !== undefined && request.scheme !== '' && request.scheme !== scheme;
}

/** The subject with a decision, which replaces an earlier one about the same question. */
export function withDecision(
  subject: SubjectRecord | undefined,
  request: Pick<SettleStep, 'terms' | 'scheme'>,
  decision: StoredDecision,
): SubjectRecord {
  const others = subject?.decisions.filter((each) => each.question !== decision.question) ?? [];
  const scheme = subject?.scheme ?? request.scheme;
  return {
    terms: request.terms,
    ...(scheme === '' ? {} : { scheme }),
    decisions: [...others, decision],
    reserved: subject?.reserved ?? [],
    counted: subject?.counted ?? [],
    firsts: subject?.firsts ?? [],
    txids: subject?.txids ?? [],
    usesOrder: subject?.usesOrder ?? false,
    usedRequests: subject?.usedRequests,
  };
}

export function withReserved(
  subject: SubjectRecord,
  { amounts, counted, firsts, order, usedRequests }: Reserved,
): SubjectRecord {
  const moved = new Set(amounts.map(({ key }) => key));
  return {
    ...subject,
    reserved: [
      ...subject.reserved.filter(([key]) => !moved.has(key)),
      ...amounts.map(
        ({ key, amount, bucketEndMs, untilMs }) => [key, untilMs, bucketEndMs, String(amount)] as const,
      ),
    ],
    counted: [...new Map([...subject.counted, ...counted])],
    firsts: [...new Set([...subject.firsts, ...firsts])],
    usesOrder: subject.usesOrder || order,
    usedRequests:
      usedRequests.length === 0
        ? subject.usedRequests
        : [...new Map([...(subject.usedRequests ?? []), ...usedRequests])],
  };
}

/** What the subject has reserved in counters of amounts, also what no longer counts. */
export function reservationsOf({ reserved }: Pick<SubjectRecord, 'reserved'>): readonly Reservation[] {
  return reserved.map(([key, untilMs, bucketEndMs, units]) => ({
    key,
    amount: BigInt(units),
    bucketEndMs,
    untilMs,
  }));
}

export function withTxid(subject: SubjectRecord, txid: string): SubjectRecord {
  return subject.txids.length < TXIDS_MAX ? { ...subject, txids: [...subject.txids, txid] } : subject;
}

/**
 * Compares a `sign_success` with what was approved; `subject` is undefined if it is unknown or has other
 * terms.
 */
export function notificationCode(
  subject: SubjectRecord | undefined,
  { isNew, isFrozen }: { readonly isNew: boolean; readonly isFrozen: boolean },
): NotificationCode {
  const approved = subject?.decisions.filter((each) => each.verdict === 'SUCCESS') ?? [];
  const speedUps = approved.filter((each) => each.question.startsWith('sign_start+')).length;
  const started = approved.some((each) => each.question === 'sign_start');
  if (subject === undefined || (!started && speedUps === 0)) return 'SIGNED_WITHOUT_APPROVAL';
  if (subject.released !== undefined) return 'SIGNED_AFTER_RELEASE';
  if (isNew && subject.txids.length >= Math.min(1 + speedUps, TXIDS_MAX)) return 'TXID_UNEXPECTED';
  return isFrozen ? 'FROZEN' : 'NOTED';
}
