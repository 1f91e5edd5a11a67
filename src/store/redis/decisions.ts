import { z } from 'zod';
import { readUnits } from '../../claims/stored.ts';
import { CountersignError } from '../../errors.ts';
import type { Choice } from '../../policy/proposal.ts';
import { type NotificationStep, type SettleStep, notificationStepOf, settleStepOf } from '../settle-step.ts';
import {
  type ApprovalRelease,
  type ApprovalReleased,
  type Decisions,
  type NotificationResult,
  type Released,
  type Reservation,
  type SettlePreview,
  type SettleResult,
  type SubjectState,
  TXIDS_MAX,
} from '../store.ts';
import { claimArguments, claimKeys, flag, readClaims, reservedField } from './claims.ts';
import { type LossDetection, rememberApproval } from './data-loss.ts';
import { atMsOf } from './journal.ts';
import { type ExpectedCopy, type LossKind, lossKinds } from './in-force.ts';
import { type RedisParts, clockArgument, journalArguments } from './parts.ts';
import { digits, pairs, parseJson, parseReply, text } from './reply.ts';
import type { Approval } from './replication.ts';
import { type Script, loadScript, run } from './script.ts';
import { advanceTime, compareClock } from './time.ts';

const settleScript = loadScript('settle');
const previewScript = loadScript('preview');
const notificationScript = loadScript('record-notification-3');
const subjectScript = loadScript('subject-2');
const releaseScript = loadScript('release-approval');

/** `replicated` resolves when enough replicas have an approval, and rejects otherwise: see replication.ts. */
export function createDecisions(
  parts: RedisParts,
  losses: LossDetection,
  replicated: (approval: Approval) => Promise<void>,
): Decisions {
  return {
    async settle(request) {
      const step = settleStepOf(request);
      const { source, subject, terms } = step;
      return rememberApproval(losses, source, async (expected) => {
        let result = await settle(parts, losses, step, expected);
        if (result.outcome === 'jumped') {
          // An outage looks like a jump of the clock, until advanceTime compares it with the time that passed
          // here.
          await advanceTime(parts, [source]);
          result = await settle(parts, losses, step, losses.expected(source));
        }
        if ('verdict' in result && result.verdict === 'SUCCESS') {
          await replicated({ source, subject, terms, id: result.id });
        }
        return result;
      });
    },
    async preview(request) {
      const step = { ...settleStepOf(request), detail: '' };
      const result = await preview(parts, losses, step);
      if (result.outcome !== 'jumped' || parts.clockBounds === undefined) return withoutEntry(result);
      // As settle does, but the time that it would write is only read.
      const { control } = parts.keys.of(step.source);
      const { state, nowMs, aheadMs } = await compareClock(parts, control, 'look');
      if (state === 'jumped') return { outcome: 'jumped', aheadMs: Math.max(1, aheadMs), nowMs };
      return withoutEntry(await preview(parts, losses, step, 'right'));
    },
    async recordNotification(request) {
      losses.assertNonePending();
      return writeNotification(parts, notificationStepOf(request));
    },
    subject: (source, subject) => readSubject(parts, source, subject),
    releaseApproval: (release) => writeRelease(parts, release),
  };
}

const verdict = z.enum(['SUCCESS', 'FAILURE']);
const code = z.enum([
  'APPROVED',
  'RULE_REFUSED',
  'AWAITING_APPROVAL',
  'NO_POLICY',
  'NOTHING_IN_FORCE',
  'TOO_MANY_CLAIMS',
  'FROZEN',
  'TERMS_CHANGED',
  'SCHEME_CHANGED',
  'RELEASED',
]);
const outcomes = z.enum(['lost', 'jumped', 'stale', 'expired', 'decided', 'repeated']);
const lost = z.tuple([text, lossKinds]);
const jumped = z.tuple([text, digits, digits]);
const stale = z.tuple([text, text, digits]);
const expiredReply = z.tuple([text, digits]);
const decidedReply = z.tuple([text, text, text, verdict, code, text]);
const repeated = z.tuple([text, text, text, verdict, code, text, text]);

/** One round trip. */
const settle = (
  parts: RedisParts,
  losses: LossDetection,
  request: SettleStep,
  expected: ExpectedCopy,
): Promise<SettleResult> =>
  runSettlement(parts, losses, request, { script: settleScript, head: journalArguments(parts), expected });

/** One round trip, in which Redis writes nothing. `right`: the caller knows that the clock has not jumped. */
async function preview(
  parts: RedisParts,
  losses: LossDetection,
  request: SettleStep,
  clockIs: 'right' | '' = '',
): Promise<SettleResult> {
  const expected = losses.expected(request.source);
  const head = [clockArgument(parts), clockIs];
  return runSettlement(parts, losses, request, { script: previewScript, head, expected });
}

/** All keys are in the source's slot. */
async function runSettlement(
  parts: RedisParts,
  losses: LossDetection,
  request: SettleStep,
  {
    script,
    head,
    expected,
  }: { readonly script: Script; readonly head: readonly string[]; readonly expected: ExpectedCopy },
): Promise<SettleResult> {
  const keys = parts.keys.of(request.source);
  const subject = keys.subject(request.subject);
  // One list each, because joining several lists takes longer, and every decision has dozens of keys and
  // arguments.
  const keyNames = [keys.control, subject, keys.journal, keys.lists];
  const args = [...head, ...settleArguments(parts, request, expected)];
  for (const claim of request.claims) {
    keyNames.push(...claimKeys(keys, request.subject, claim));
    args.push(...claimArguments(claim));
  }
  const reply = await run(parts.connection, script, keyNames, args);
  const requestKey = `${subject} ${request.terms} ${request.question} ${flag(request.speedUp)}`;
  const result = readSettled(reply, expectOwnReply(parts, requestKey));
  if (result.outcome === 'lost') throw losses.reportFromSettle(request.source, result.loss, expected);
  return result;
}

function withoutEntry(result: SettleResult): SettlePreview {
  if (!('id' in result)) return result;
  const { id: _unused, ...rest } = result;
  return rest;
}

function readSettled(
  reply: unknown,
  checkOwn: (requestKey: string) => void,
): SettleResult | { readonly outcome: 'lost'; readonly loss: LossKind } {
  const what = 'a settled question';
  const outcome = parseReply(outcomes, what, Array.isArray(reply) ? reply[0] : reply);
  if (outcome === 'lost') return { outcome, loss: parseReply(lost, what, reply)[1] };
  if (outcome === 'jumped') {
    const [, aheadMs, nowMs] = parseReply(jumped, what, reply);
    return { outcome, aheadMs, nowMs };
  }
  if (outcome === 'stale') {
    const [, inForce, nowMs] = parseReply(stale, what, reply);
    return { outcome, inForce, nowMs };
  }
  if (outcome === 'expired') return { outcome, nowMs: parseReply(expiredReply, what, reply)[1] };
  if (outcome === 'decided') {
    const decided = parseReply(decidedReply, what, reply);
    checkOwn(decided[1]);
    return { outcome, ...decisionOf(decided) };
  }
  const [, requestKey, id, verdictText, codeText, claims, of] = parseReply(repeated, what, reply);
  checkOwn(requestKey);
  return { outcome, ...decisionOf([outcome, requestKey, id, verdictText, codeText, claims]), of };
}

/**
 * Throws if a reply is not about the request. Redis replies in order and without ids, so one lost or
 * duplicated reply would shift all that follow. The connection is then replaced.
 */
function expectOwnReply({ connection }: RedisParts, expected: string): (requestKey: string) => void {
  return (requestKey) => {
    if (requestKey === expected) return;
    connection.renew();
    throw new CountersignError(
      'STORE_UNREACHABLE',
      'Redis replied to another command: the replies on the connection are out of order, ' +
        'so it is replaced; check what is between the service and Redis',
    );
  };
}

function decisionOf([, , id, verdictText, codeText, claims]: z.output<typeof decidedReply>) {
  return { id, atMs: atMsOf(id), verdict: verdictText, code: codeText, claims: readClaims(claims) };
}

/** Those before the claims. */
function settleArguments(parts: RedisParts, request: SettleStep, expected: ExpectedCopy): string[] {
  return [
    String(parts.retention.subjectsMs),
    request.subject,
    request.terms,
    request.question,
    flag(request.speedUp),
    request.revision,
    String(request.validFromMs),
    String(request.validUntilMs),
    flag(request.approves),
    request.refusalCode,
    flag(request.retryable),
    String(request.prices),
    request.detail,
    expected.epoch,
    expected.field,
    expected.highWaterMark,
    request.scheme,
    flag(request.failed),
    request.choices.length === 0 ? '' : JSON.stringify(request.choices.map(choiceArgument)),
    request.onlyApproved ? 'except-approved' : '',
  ];
}

/** Whether it decides, whether its refusal is retryable, whether it is by a failure, and its alternatives. */
function choiceArgument({ decides, retryable, failed, alternatives }: Choice): unknown {
  const required = alternatives.flatMap(({ requires }) => (requires === undefined ? [] : [requires]));
  const items = required.map((each) =>
    each.map((item) => (typeof item === 'number' ? item : choiceArgument(item))),
  );
  return [flag(decides), flag(retryable), flag(failed === true), items];
}

const notificationReply = z.tuple([
  text,
  text,
  verdict,
  z.enum(['NOTED', 'SIGNED_WITHOUT_APPROVAL', 'SIGNED_AFTER_RELEASE', 'TXID_UNEXPECTED', 'FROZEN']),
]);

async function writeNotification(parts: RedisParts, request: NotificationStep): Promise<NotificationResult> {
  const keys = parts.keys.of(request.source);
  const reply = await run(
    parts.connection,
    notificationScript,
    [keys.control, keys.subject(request.subject), keys.journal],
    [
      ...journalArguments(parts),
      parts.retention.subjectsMs,
      request.subject,
      request.terms,
      request.txid,
      request.detail,
      TXIDS_MAX,
    ],
  );
  const [requestKey, id, verdictText, codeText] = parseReply(notificationReply, 'a notification', reply);
  expectOwnReply(parts, `${keys.subject(request.subject)} ${request.terms} ${request.txid}`)(requestKey);
  return { id, atMs: atMsOf(id), verdict: verdictText, code: codeText };
}

// ---- released approvals ----

const storedDecision = z.tuple([verdict, text, text], z.unknown());

async function readSubject(
  parts: RedisParts,
  source: string,
  subject: string,
): Promise<SubjectState | undefined> {
  const { control, subject: keyOf } = parts.keys.of(source);
  const what = `the subject ${subject} of ${source}`;
  const reply = await run(parts.connection, subjectScript, [control, keyOf(subject)], [clockArgument(parts)]);
  const [nowMs, fields] = parseReply(z.tuple([digits, pairs]), what, reply);
  // A subject can have entries, such as that of an order, before anything was decided about it.
  if (!fields.has('terms')) return undefined;
  const startingWith = (prefix: string): [string, string][] =>
    [...fields].flatMap(([name, value]) => (name.startsWith(prefix) ? [[name.slice(2), value]] : []));
  const id = fields.get('released');
  return {
    nowMs,
    version: fields.get('entries') ?? '',
    approvals: startingWith('d:')
      .map(([, json]) => parseJson(storedDecision, what, json))
      .filter(([verdictText]) => verdictText === 'SUCCESS')
      .map(([, , entry]) => entry),
    hasTxid: (fields.get('txids') ?? '[]') !== '[]',
    reserved: startingWith('r:').map(([key, kept]) => reservationOf(what, key, kept)),
    released:
      id === undefined
        ? undefined
        : releasedOf([id, fields.get('released_by') ?? '', fields.get('released_message') ?? '']),
  };
}

const units = z.string().transform((written, context) => {
  const amount = readUnits(written);
  if (amount === undefined) context.addIssue('not an amount');
  return amount ?? 0n;
});
const keptAmount = z.tuple([digits, digits, units]);

/** What the field of a counter says: see window_read in window.lua, and for values claim_marks.lua. */
function reservationOf(what: string, key: string, kept: string): Reservation {
  if (!kept.includes(' ')) return { key, untilMs: parseReply(digits, what, kept), amount: undefined };
  const [untilMs, , amount] = parseReply(keptAmount, what, kept.split(' '));
  return { key, untilMs, amount };
}

const releaseReply = z.union([
  z.tuple([z.enum(['unknown', 'changed'])]).transform(([outcome]) => ({ outcome })),
  z.tuple([z.literal('short')], digits).transform(([outcome, ...indexes]) => ({ outcome, indexes })),
  z
    .tuple([z.enum(['released', 'before']), text, text, text])
    .transform(([outcome, ...found]) => ({ outcome, released: releasedOf(found) })),
]);

async function writeRelease(parts: RedisParts, release: ApprovalRelease): Promise<ApprovalReleased> {
  const { source, subject, version, of, by, message, detail, keys: given } = release;
  const keys = parts.keys.of(source);
  const reply = await run(
    parts.connection,
    releaseScript,
    [keys.control, keys.subject(subject), keys.journal, ...given.map(keys.counter)],
    [
      ...journalArguments(parts),
      parts.retention.subjectsMs,
      subject,
      version,
      of,
      by,
      message,
      detail,
      ...given.map(reservedField),
    ],
  );
  const result = parseReply(releaseReply, 'a release', reply);
  if (result.outcome !== 'short') return result;
  return { outcome: 'short', keys: result.indexes.map((index) => given[index] ?? '') };
}

const releasedOf = ([id, by, message]: readonly [string, string, string]): Released => ({
  id,
  atMs: atMsOf(id),
  by,
  message,
});
