import type { Claim } from '../../policy/proposal.ts';
import type { ClaimResult, SettleRequest, SettleResult } from '../store.ts';
import { type ClaimTables, checkClaims, listVersions, reserve } from './claims.ts';
import type { JournalTable } from './journal.ts';
import type { ReleaseTables } from './releases.ts';
import {
  type StandingDecision,
  type SubjectRecord,
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

/** The atomic step that SettleResult describes, at an instant; run inside a transaction. */
export function settle(tables: SettleTables, request: SettleRequest, nowMs: number): SettleResult {
  const { frozen, revision } = tables.releases.control();
  if (frozen !== undefined) return refused(tables, request, nowMs, 'FROZEN');
  if (request.revision !== revision) return { outcome: 'stale', inForce: revision, nowMs };
  if (nowMs < request.validFromMs || nowMs >= request.validUntilMs) return { outcome: 'elsewhen', nowMs };

  const subject = tables.subjects.find(request.source, request.subject);
  if (subject !== undefined && subject.terms !== request.terms) {
    return refused(tables, request, nowMs, 'TERMS_CHANGED');
  }

  const claims = checkClaims(tables, request, subject, nowMs);
  // Under no revision there is no policy that could approve.
  const approves =
    request.approves &&
    revision !== '' &&
    request.claims.every((claim, index) => passes(claim, claims[index]));
  const question = questionOf(subject, request);
  const standing = subject?.decisions.find((each) => each.question === question);
  return subject !== undefined && standing !== undefined && stands(tables, request, standing, approves)
    ? repeat(tables, request, nowMs, { subject, standing, claims })
    : decide(tables, request, nowMs, { subject, question, claims, approves });
}

/** A claim that only observes passes whatever it found. One without a result does not. */
function passes(claim: Claim, result: ClaimResult | undefined): boolean {
  return !claim.decides || result?.holds === true;
}

/** Whether a decision about the same question is to be repeated. */
function stands(
  tables: ClaimTables,
  { source, revision }: SettleRequest,
  standing: StandingDecision,
  approves: boolean,
): boolean {
  if (standing.verdict === 'SUCCESS') return approves;
  const unchanged = standing.lists.every(([list, version]) => tables.lists.version(source, list) === version);
  return standing.final || (standing.revision === revision && unchanged);
}

function refused(
  { journal }: SettleTables,
  { source, subject, revision, detail }: SettleRequest,
  atMs: number,
  code: 'FROZEN' | 'TERMS_CHANGED',
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
  const reserved = verdict === 'SUCCESS' ? reserve(tables, request, known.claims, atMs) : [];
  if (reserved.length > 0) tables.subjects.save(source, subject, withReserved(known.subject, reserved), atMs);
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
  const { source, subject, terms, revision, detail } = request;
  const { question, claims, approves } = known;
  const code = approves ? 'APPROVED' : request.approves ? 'RULE_REFUSED' : request.refusalCode;
  const verdict = approves ? 'SUCCESS' : 'FAILURE';
  const decision = { atMs, verdict, code, claims } as const;
  const id = tables.journal.append({ ...decision, source, type: 'decision', subject, revision, detail });
  const reserved = approves ? reserve(tables, request, claims, atMs) : [];
  const standing: StandingDecision = {
    question,
    id,
    verdict,
    code,
    revision,
    final: !approves && isFinal(request, claims),
    lists: approves ? [] : listVersions(tables, request),
  };
  const record = withReserved(withDecision(known.subject, terms, standing), reserved);
  tables.subjects.save(source, subject, record, atMs);
  return { outcome: 'decided', id, ...decision };
}

/** Whether a refusal is never decided afresh: by the proposal's policy, or by that of a claim that failed. */
function isFinal(request: SettleRequest, claims: readonly ClaimResult[]): boolean {
  const byProposal = !request.approves && request.final;
  return byProposal || request.claims.some((claim, index) => claim.final && !passes(claim, claims[index]));
}
