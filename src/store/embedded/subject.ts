import { z } from 'zod';
import { type NotificationCode, type SettleRequest, TXIDS_MAX } from '../store.ts';

const standing = z.strictObject({
  question: z.string(),
  /** The journal entry. */
  id: z.string(),
  verdict: z.enum(['SUCCESS', 'FAILURE']),
  code: z.enum(['APPROVED', 'RULE_REFUSED', 'NO_POLICY', 'NOTHING_IN_FORCE', 'TOO_MANY_CLAIMS']),
  revision: z.string(),
  final: z.boolean(),
  /** A refusal that is decided afresh each time; absent in what was stored before there were such. */
  afresh: z.boolean().default(false),
  /** When it was made; 0 where it was stored before that was kept. */
  atMs: z.number().default(0),
  /**
   * What a refusal depends on: the lists that its claims named, with their versions; 0 for a list that did
   * not exist.
   */
  lists: z.array(z.tuple([z.string(), z.number()])).readonly(),
});

/** What is known about a subject, as it is stored. */
export const subjectRecord = z.strictObject({
  terms: z.string(),
  /** That of its first decision that was bound to one; absent if none was. */
  scheme: z.string().optional(),
  decisions: z.array(standing.readonly()).readonly(),
  /** The keys of the counters in which it has reserved, and until when each reservation counts. */
  reserved: z.array(z.tuple([z.string(), z.number()])).readonly(),
  txids: z.array(z.string()).readonly(),
  /** Whether an approval has used up the order that was announced for it. */
  usesOrder: z.boolean().default(false),
});

export type StandingDecision = z.infer<typeof standing>;
export type SubjectRecord = z.infer<typeof subjectRecord>;
/** A counter's key, and the instant from which on it no longer counts what was reserved. */
export type Reservation = SubjectRecord['reserved'][number];

/** What an approval has reserved that was not reserved before. */
export interface Reserved {
  readonly counters: readonly Reservation[];
  readonly order: boolean;
}

export const NOTHING_RESERVED: Reserved = { counters: [], order: false };

/**
 * The question's name within the subject. One speed-up is told from the next by the txids there are by then.
 */
export function questionOf(
  subject: SubjectRecord | undefined,
  { question, speedUp }: Pick<SettleRequest, 'question' | 'speedUp'>,
): string {
  return speedUp ? `${question}+${subject?.txids.length ?? 0}` : question;
}

/** Whether a request is signed by another scheme than the subject is bound to. */
export function changesScheme({ scheme }: SubjectRecord, request: Pick<SettleRequest, 'scheme'>): boolean {
  return scheme !== undefined && request.scheme !== '' && request.scheme !== scheme;
}

/** The subject once a decision stands, in place of an earlier one about the same question. */
export function withDecision(
  subject: SubjectRecord | undefined,
  { terms, scheme: by }: Pick<SettleRequest, 'terms' | 'scheme'>,
  decision: StandingDecision,
): SubjectRecord {
  const others = subject?.decisions.filter((each) => each.question !== decision.question) ?? [];
  const scheme = subject?.scheme ?? by;
  return {
    terms,
    ...(scheme === '' ? {} : { scheme }),
    decisions: [...others, decision],
    reserved: subject?.reserved ?? [],
    txids: subject?.txids ?? [],
    usesOrder: subject?.usesOrder ?? false,
  };
}

export function withReserved(subject: SubjectRecord, { counters, order }: Reserved): SubjectRecord {
  return {
    ...subject,
    reserved: [...new Map([...subject.reserved, ...counters])],
    usesOrder: subject.usesOrder || order,
  };
}

/**
 * Whether what the subject reserved in a counter still counts there. After that it would be approved without
 * a limit.
 */
export function hasReserved(subject: SubjectRecord | undefined, key: string, nowMs: number): boolean {
  return subject?.reserved.some(([reserved, untilMs]) => reserved === key && nowMs < untilMs) === true;
}

export function withTxid(subject: SubjectRecord, txid: string): SubjectRecord {
  return subject.txids.length < TXIDS_MAX ? { ...subject, txids: [...subject.txids, txid] } : subject;
}

/**
 * How a `sign_success` stands to what was approved; `subject` is undefined if it is unknown or has other
 * terms.
 */
export function notificationCode(
  subject: SubjectRecord | undefined,
  { isNew, frozen }: { readonly isNew: boolean; readonly frozen: boolean },
): NotificationCode {
  const approved = subject?.decisions.filter((each) => each.verdict === 'SUCCESS') ?? [];
  const speedUps = approved.filter((each) => each.question.startsWith('sign_start+')).length;
  const started = approved.some((each) => each.question === 'sign_start');
  if (subject === undefined || (!started && speedUps === 0)) return 'SIGNED_WITHOUT_APPROVAL';
  if (isNew && subject.txids.length >= Math.min(1 + speedUps, TXIDS_MAX)) return 'TXID_UNEXPECTED';
  return frozen ? 'FROZEN' : 'NOTED';
}
