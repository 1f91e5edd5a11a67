import type { NotificationStep, SettleStep } from '../settle-step.ts';
import type {
  ApprovalRelease,
  ApprovalReleased,
  CountedReservation,
  NotificationResult,
  SettleResult,
} from '../store.ts';
import {
  type CheckedClaims,
  type ClaimTables,
  checkClaims,
  countRefusal,
  listVersions,
  reserve,
} from './claims.ts';
import type { JournalTable } from './journal.ts';
import type { ReleaseTables } from './in-force.ts';
import {
  NOTHING_RESERVED,
  type StoredDecision,
  type SubjectRecord,
  type Subjects,
  changesScheme,
  notificationCode,
  questionOf,
  withDecision,
  withReserved,
  withTxid,
} from './subjects.ts';
import type { Instant } from './time.ts';

export interface SettleTables extends ClaimTables {
  readonly releases: ReleaseTables;
  readonly subjects: Subjects;
  readonly journal: JournalTable;
}

/** The atomic step that SettleResult describes. Runs inside a transaction. */
export function settle(tables: SettleTables, request: SettleStep, { nowMs, aheadMs }: Instant): SettleResult {
  const { isFrozen, revision, prices } = tables.releases.inForce();
  if (isFrozen) return refuse(tables, request, nowMs, 'FROZEN');
  if (aheadMs > 0) return { outcome: 'jumped', aheadMs, nowMs };
  if (request.revision !== revision || (request.prices !== 0 && request.prices !== prices)) {
    return { outcome: 'stale', inForce: revision, nowMs };
  }
  if (nowMs < request.validFromMs || nowMs >= request.validUntilMs) return { outcome: 'expired', nowMs };

  const subject = tables.subjects.find(request.source, request.subject);
  if (subject !== undefined && subject.terms !== request.terms) {
    return refuse(tables, request, nowMs, 'TERMS_CHANGED');
  }
  if (subject !== undefined && changesScheme(subject, request)) {
    return refuse(tables, request, nowMs, 'SCHEME_CHANGED');
  }
  if (subject?.released !== undefined) {
    return refuse(tables, request, nowMs, 'RELEASED', subject.released.id);
  }

  const claims = checkClaims(tables, request, subject, nowMs);
  // If no revision is in force, no policy can approve.
  const approves = request.approves && revision !== '' && claims.refusers.length === 0;
  const question = questionOf(subject, request);
  const before = subject?.decisions.find((each) => each.question === question);
  return subject !== undefined && before !== undefined && isRepeated(tables, request, before, approves)
    ? repeat(tables, request, nowMs, { subject, decision: before, claims })
    : decide(tables, request, nowMs, { subject, question, claims, approves });
}

/** The atomic step that NotificationResult describes. Runs inside a transaction. */
export function recordNotification(
  { releases, subjects, journal }: SettleTables,
  request: NotificationStep,
  atMs: number,
): NotificationResult {
  const { source, subject, terms, txid, detail } = request;
  const found = subjects.find(source, subject);
  const known = found?.terms === terms ? found : undefined;
  const isNew = txid !== '' && known?.txids.includes(txid) !== true;
  const code = notificationCode(known, { isNew, isFrozen: releases.inForce().isFrozen });
  const verdict = code === 'NOTED' ? 'SUCCESS' : 'FAILURE';
  if (known !== undefined && isNew) subjects.save(source, subject, withTxid(known, txid), atMs);
  const id = journal.append({ source, atMs, type: 'notice', subject, verdict, code, detail });
  return { id, atMs, verdict, code };
}

/** The atomic step that ApprovalReleased describes. Runs inside a transaction. */
export function releaseApproval(
  { subjects, counters, journal }: Pick<SettleTables, 'subjects' | 'counters' | 'journal'>,
  { source, subject, version, of, by, message, amounts, detail }: ApprovalRelease,
  atMs: number,
): ApprovalReleased {
  const known = subjects.find(source, subject);
  if (known === undefined) return { outcome: 'unknown' };
  if (known.released !== undefined) return { outcome: 'before', released: known.released };
  const isCounted = ({ key, untilMs }: CountedReservation): boolean =>
    untilMs > atMs && known.reserved.some((each) => each[0] === key && each[1] === untilMs);
  if (journal.newestAbout(source, subject) !== version || !amounts.every(isCounted)) {
    return { outcome: 'changed' };
  }
  const short = amounts.filter((each) => !counters.has(source, each));
  if (short.length > 0) return { outcome: 'short', keys: short.map(({ key }) => key) };
  for (const each of amounts) counters.giveBack(source, each);
  const id = journal.append({ source, atMs, type: 'release', subject, code: 'RELEASED', of, detail });
  const released = { id, atMs, by, message };
  subjects.save(source, subject, { ...known, reserved: [], released }, atMs);
  return { outcome: 'released', released };
}

/** Whether the earlier decision about the same question is repeated. */
function isRepeated(
  { lists }: SettleTables,
  { source, revision }: SettleStep,
  before: StoredDecision,
  approves: boolean,
): boolean {
  if (before.verdict === 'SUCCESS') return approves;
  if (before.final) return true;
  if (before.afresh || before.revision !== revision) return false;
  return before.lists.every(([list, version]) => lists.version(source, list) === version);
}

function refuse(
  { journal }: SettleTables,
  { source, subject, revision, detail }: SettleStep,
  atMs: number,
  code: 'FROZEN' | 'TERMS_CHANGED' | 'SCHEME_CHANGED' | 'RELEASED',
  of = '',
): SettleResult {
  const decision = { atMs, verdict: 'FAILURE', code, claims: [] } as const;
  const id = journal.append({ ...decision, source, type: 'decision', subject, revision, of, detail });
  return { outcome: 'decided', id, ...decision };
}

function repeat(
  tables: SettleTables,
  request: SettleStep,
  atMs: number,
  known: {
    readonly subject: SubjectRecord;
    readonly decision: StoredDecision;
    readonly claims: CheckedClaims;
  },
): SettleResult {
  const { source, subject, revision, detail } = request;
  const { verdict, code, id: of } = known.decision;
  const repeated = { atMs, verdict, code, of, claims: known.claims.results };
  const id = tables.journal.append({ ...repeated, source, type: 'repeat', subject, revision, detail });
  if (verdict === 'SUCCESS') {
    const { usesOrder } = known.subject;
    const reserved = reserve(tables, request, { ...known.claims, usesOrder }, atMs);
    if (reserved.counters.length > 0 || reserved.order) {
      tables.subjects.save(source, subject, withReserved(known.subject, reserved), atMs);
    }
  }
  return { outcome: 'repeated', id, ...repeated };
}

function decide(
  tables: SettleTables,
  request: SettleStep,
  atMs: number,
  known: {
    readonly subject: SubjectRecord | undefined;
    readonly question: string;
    readonly claims: CheckedClaims;
    readonly approves: boolean;
  },
): SettleResult {
  const { source, subject, revision, detail } = request;
  const { question, claims, approves } = known;
  const permanence = approves ? { final: false, afresh: false } : permanenceOf(request, claims);
  const code = approves ? 'APPROVED' : refusalCodeOf(request, permanence);
  const verdict = approves ? 'SUCCESS' : 'FAILURE';
  const isCounted = code === 'RULE_REFUSED' && (request.refusalCounts || claims.refusalCounts);
  const results = isCounted ? countRefusal(tables, request, claims.results, atMs) : claims.results;
  const decision = { atMs, verdict, code, claims: results } as const;
  const id = tables.journal.append({ ...decision, source, type: 'decision', subject, revision, detail });
  const usesOrder = known.subject?.usesOrder === true;
  const reserved = approves ? reserve(tables, request, { ...claims, usesOrder }, atMs) : NOTHING_RESERVED;
  const stored: StoredDecision = {
    question,
    id,
    verdict,
    code,
    revision: approves ? '' : revision,
    ...permanence,
    atMs,
    lists: approves ? [] : listVersions(tables, request, claims.results),
  };
  const record = withReserved(withDecision(known.subject, request, stored), reserved);
  tables.subjects.save(source, subject, record, atMs);
  return { outcome: 'decided', id, ...decision };
}

type Permanence = Pick<StoredDecision, 'final' | 'afresh'>;

/** The proposal's own code, unless the proposal may approve later and a claim refuses for longer. */
function refusalCodeOf(request: SettleStep, { afresh }: Permanence): StoredDecision['code'] {
  const byClaim = request.approves || (request.afresh && !request.final && !afresh);
  return byClaim ? 'RULE_REFUSED' : request.refusalCode;
}

/**
 * A `final` refusal is always repeated. A refusal that is `afresh` is never repeated. Any other is repeated
 * until a push, or a change of one of its lists.
 */
function permanenceOf(request: SettleStep, claims: CheckedClaims): Permanence {
  const refusers = request.approves ? claims.refusers : [request, ...claims.refusers];
  const final = refusers.some((refuser) => refuser.final);
  return { final, afresh: !final && refusers.length > 0 && refusers.every((refuser) => refuser.afresh) };
}
