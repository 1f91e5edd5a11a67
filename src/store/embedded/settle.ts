import type { ClaimResult } from '../../claims/claims.ts';
import type { SettleRequest, SettleResult } from '../store.ts';
import { type ClaimTables, checkClaims, listVersions, reserve } from './claims.ts';
import type { JournalTable } from './journal.ts';
import type { ReleaseTables } from './releases.ts';
import { lastingOf, passes, stands } from './standing.ts';
import {
  NOTHING_RESERVED,
  type StandingDecision,
  type SubjectRecord,
  changesScheme,
  questionOf,
  withDecision,
  withReserved,
} from './subject.ts';
import type { Subjects } from './subjects.ts';

export interface SettleTables extends ClaimTables {
  readonly releases: ReleaseTables;
  readonly subjects: Subjects;
  readonly journal: JournalTable;
}

/**
 * The atomic step that SettleResult describes, at an instant; run inside a transaction. `aheadMs` is above 0
 * if the clock jumped.
 */
export function settle(
  tables: SettleTables,
  request: SettleRequest,
  nowMs: number,
  aheadMs = 0,
): SettleResult {
  const { isFrozen, revision, prices } = tables.releases.inForce();
  if (isFrozen) return refused(tables, request, nowMs, 'FROZEN');
  if (aheadMs > 0) return { outcome: 'jumped', aheadMs, nowMs };
  if (request.revision !== revision || (request.prices !== 0 && request.prices !== prices)) {
    return { outcome: 'stale', inForce: revision, nowMs };
  }
  if (nowMs < request.validFromMs || nowMs >= request.validUntilMs) return { outcome: 'expired', nowMs };

  const subject = tables.subjects.find(request.source, request.subject);
  if (subject !== undefined && subject.terms !== request.terms) {
    return refused(tables, request, nowMs, 'TERMS_CHANGED');
  }
  if (subject !== undefined && changesScheme(subject, request)) {
    return refused(tables, request, nowMs, 'SCHEME_CHANGED');
  }

  const claims = checkClaims(tables, request, subject, nowMs);
  // Under no revision there is no policy that could approve.
  const approves =
    request.approves &&
    revision !== '' &&
    request.claims.every((claim, index) => passes(claim, claims[index]));
  const question = questionOf(subject, request);
  const standing = subject?.decisions.find((each) => each.question === question);
  return subject !== undefined && standing !== undefined && stands(tables.lists, request, standing, approves)
    ? repeat(tables, request, nowMs, { subject, standing, claims })
    : decide(tables, request, nowMs, { subject, question, claims, approves });
}

function refused(
  { journal }: SettleTables,
  { source, subject, revision, detail }: SettleRequest,
  atMs: number,
  code: 'FROZEN' | 'TERMS_CHANGED' | 'SCHEME_CHANGED',
): SettleResult {
  const decision = { atMs, verdict: 'FAILURE', code, claims: [] } as const;
  const id = journal.append({ ...decision, source, type: 'decision', subject, revision, detail });
  return { outcome: 'decided', id, ...decision };
}

function repeat(
  tables: SettleTables,
  request: SettleRequest,
  atMs: number,
  known: {
    readonly subject: SubjectRecord;
    readonly standing: StandingDecision;
    readonly claims: readonly ClaimResult[];
  },
): SettleResult {
  const { source, subject, revision, detail } = request;
  const { verdict, code, id: of } = known.standing;
  const repeated = { atMs, verdict, code, of, claims: known.claims };
  const id = tables.journal.append({ ...repeated, source, type: 'repeat', subject, revision, detail });
  if (verdict === 'SUCCESS') {
    const { usesOrder } = known.subject;
    const reserved = reserve(tables, request, { results: known.claims, usesOrder }, atMs);
    if (reserved.counters.length > 0 || reserved.order) {
      tables.subjects.save(source, subject, withReserved(known.subject, reserved), atMs);
    }
  }
  return { outcome: 'repeated', id, ...repeated };
}

function decide(
  tables: SettleTables,
  request: SettleRequest,
  atMs: number,
  known: {
    readonly subject: SubjectRecord | undefined;
    readonly question: string;
    readonly claims: readonly ClaimResult[];
    readonly approves: boolean;
  },
): SettleResult {
  const { source, subject, revision, detail } = request;
  const { question, claims, approves } = known;
  const code = approves ? 'APPROVED' : request.approves ? 'RULE_REFUSED' : request.refusalCode;
  const verdict = approves ? 'SUCCESS' : 'FAILURE';
  const decision = { atMs, verdict, code, claims } as const;
  const id = tables.journal.append({ ...decision, source, type: 'decision', subject, revision, detail });
  const usesOrder = known.subject?.usesOrder === true;
  const reserved = approves
    ? reserve(tables, request, { results: claims, usesOrder }, atMs)
    : NOTHING_RESERVED;
  const standing: StandingDecision = {
    question,
    id,
    verdict,
    code,
    revision,
    ...(approves ? { final: false, afresh: false } : lastingOf(request, claims)),
    atMs,
    lists: approves ? [] : listVersions(tables, request),
  };
  const record = withReserved(withDecision(known.subject, request, standing), reserved);
  tables.subjects.save(source, subject, record, atMs);
  return { outcome: 'decided', id, ...decision };
}
