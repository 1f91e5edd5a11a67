import type { Verdict } from '../../callback/callback.ts';
import type { ClaimResult } from '../../claims/claims.ts';
import { combine } from '../../policy/standing.ts';
import type { NotificationStep, SettleStep } from '../settle-step.ts';
import type {
  ApprovalRelease,
  ApprovalReleased,
  DecisionCode,
  NotificationResult,
  SettlePreview,
  SettleResult,
} from '../store.ts';
import {
  type CheckedClaims,
  type ClaimTables,
  checkClaims,
  countRefusal,
  listVersions,
  refusedResults,
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
  reservationsOf,
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
export function settle(tables: SettleTables, request: SettleStep, instant: Instant): SettleResult {
  const settlement = determine(tables, request, instant);
  if (!('write' in settlement)) return settlement;
  const { type, of, write, ...decision } = settlement;
  const { source, subject, revision, detail } = request;
  const id = tables.journal.append({ ...decision, source, type, subject, revision, of, detail });
  write(id);
  return type === 'repeat'
    ? { outcome: 'repeated', id, of, ...decision }
    : { outcome: 'decided', id, ...decision };
}

/** What {@link settle} would return now. Reads only. */
export function preview(tables: SettleTables, request: SettleStep, instant: Instant): SettlePreview {
  const { counters } = tables;
  const used: typeof counters.used = (source, claim, nowMs) => counters.look(source, claim, nowMs);
  const settlement = determine({ ...tables, counters: { ...counters, used } }, request, instant);
  if (!('write' in settlement)) return settlement;
  const { type, of, write: _unused, ...decision } = settlement;
  return type === 'repeat' ? { outcome: 'repeated', of, ...decision } : { outcome: 'decided', ...decision };
}

type Undecided = Extract<SettleResult, { outcome: 'stale' | 'expired' | 'jumped' }>;

/** A settlement before it is written. */
interface Settlement {
  readonly type: 'decision' | 'repeat';
  readonly atMs: number;
  readonly verdict: Verdict;
  readonly code: DecisionCode;
  /** The entry that is repeated, or that refuses; the empty text if there is none. */
  readonly of: string;
  readonly claims: readonly ClaimResult[];
  /** Writes what follows from it, given the id of its journal entry. */
  readonly write: (id: string) => void;
}

/**
 * The steps of SettleResult, up to what they write. Only `counters.used` writes before: it evicts what no
 * longer counts.
 */
function determine(
  tables: SettleTables,
  request: SettleStep,
  { nowMs, aheadMs }: Instant,
): Undecided | Settlement {
  const { isFrozen, onlyApproved, revision, prices } = tables.releases.inForce();
  if (isFrozen) return refusal(nowMs, 'FROZEN');
  if (aheadMs > 0) return { outcome: 'jumped', aheadMs, nowMs };
  const hasPrices = request.prices === 0 || request.prices === prices;
  if (request.revision !== revision || !hasPrices || request.onlyApproved !== onlyApproved) {
    return { outcome: 'stale', inForce: revision, nowMs };
  }
  if (nowMs < request.validFromMs || nowMs >= request.validUntilMs) return { outcome: 'expired', nowMs };

  const subject = tables.subjects.find(request.source, request.subject);
  if (subject !== undefined && subject.terms !== request.terms) return refusal(nowMs, 'TERMS_CHANGED');
  if (subject !== undefined && changesScheme(subject, request)) return refusal(nowMs, 'SCHEME_CHANGED');
  if (subject?.released !== undefined) return refusal(nowMs, 'RELEASED', subject.released.id);

  const claims = checkClaims(tables, request, subject, nowMs);
  // If no revision is in force, no policy can approve.
  const approves = request.approves && revision !== '' && claims.refusals.length === 0;
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
  { source, subject, version, of, by, message, keys, detail }: ApprovalRelease,
  atMs: number,
): ApprovalReleased {
  const known = subjects.find(source, subject);
  if (known === undefined) return { outcome: 'unknown' };
  if (known.released !== undefined) return { outcome: 'before', released: known.released };
  const amounts = reservationsOf(known).filter(({ key, untilMs }) => untilMs > atMs && keys.includes(key));
  if (journal.newestAbout(source, subject) !== version || amounts.length < keys.length) {
    return { outcome: 'changed' };
  }
  const short = amounts.filter((each) => !counters.has(source, each));
  if (short.length > 0) return { outcome: 'short', keys: short.map(({ key }) => key) };
  for (const each of amounts) counters.giveBack(source, each);
  const id = journal.append({ source, atMs, type: 'release', subject, code: 'RELEASED', of, detail });
  const released = { id, atMs, by, message };
  subjects.save(source, subject, { ...known, reserved: [], counted: [], released }, atMs);
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
  if (before.retryable || before.revision !== revision) return false;
  return before.lists.every(([list, version]) => lists.version(source, list) === version);
}

/** Leaves the subject as it is. */
const refusal = (
  atMs: number,
  code: 'FROZEN' | 'TERMS_CHANGED' | 'SCHEME_CHANGED' | 'RELEASED',
  of = '',
): Settlement => ({
  type: 'decision',
  atMs,
  verdict: 'FAILURE',
  code,
  of,
  claims: [],
  write: () => undefined,
});

function repeat(
  tables: SettleTables,
  request: SettleStep,
  atMs: number,
  {
    subject,
    decision: { verdict, code, id: of },
    claims,
  }: {
    readonly subject: SubjectRecord;
    readonly decision: StoredDecision;
    readonly claims: CheckedClaims;
  },
): Settlement {
  const write = (entry: string): void => {
    if (verdict !== 'SUCCESS') return;
    const reserved = reserve(tables, request, { ...claims, usesOrder: subject.usesOrder, entry }, atMs);
    const { amounts, counted, order, usedRequests } = reserved;
    if (amounts.length > 0 || counted.length > 0 || order || usedRequests.length > 0) {
      tables.subjects.save(request.source, request.subject, withReserved(subject, reserved), atMs);
    }
  };
  return { type: 'repeat', atMs, verdict, code, of, claims: claims.results, write };
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
): Settlement {
  const { source, subject, revision } = request;
  const { question, claims, approves } = known;
  const refusals = request.approves ? claims.refusals : [request, ...claims.refusals];
  // A refusal that is retryable is decided again each time. Any other is repeated until a push, or a change
  // of one of its lists.
  const { retryable = false, failed, awaits } = combine('all', refusals);
  const code = approves
    ? 'APPROVED'
    : awaits === true
      ? 'AWAITING_APPROVAL'
      : refusalCodeOf(request, retryable);
  const verdict = approves ? 'SUCCESS' : 'FAILURE';
  const isCounted = code === 'RULE_REFUSED' && refusals.length > 0 && failed !== true;
  const results = isCounted ? refusedResults(tables, request, claims.results, atMs) : claims.results;
  const write = (id: string): void => {
    if (isCounted) countRefusal(tables, request, results, atMs);
    const usesOrder = known.subject?.usesOrder === true;
    const reserved = approves
      ? reserve(tables, request, { ...claims, usesOrder, entry: id }, atMs)
      : NOTHING_RESERVED;
    const stored: StoredDecision = {
      question,
      id,
      verdict,
      code,
      revision: approves ? '' : revision,
      retryable,
      atMs,
      lists: approves ? [] : listVersions(tables, request, claims.results),
    };
    const record = withReserved(withDecision(known.subject, request, stored), reserved);
    tables.subjects.save(source, subject, record, atMs);
  };
  return { type: 'decision', atMs, verdict, code, of: '', claims: results, write };
}

/** The proposal's own code, unless the proposal may approve later and a claim refuses for longer. */
function refusalCodeOf(request: SettleStep, retryable: boolean): StoredDecision['code'] {
  const byClaim = request.approves || (request.retryable && !retryable);
  return byClaim ? 'RULE_REFUSED' : request.refusalCode;
}
