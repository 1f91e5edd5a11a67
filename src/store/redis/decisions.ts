import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import {
  type NotificationStep,
  type SettleStep,
  type StepChoice,
  notificationStepOf,
  settleStepOf,
} from '../settle-step.ts';
import { type Decisions, type NotificationResult, type SettleResult, TXIDS_MAX } from '../store.ts';
import { claimArguments, claimKeys, flag, readClaims, permanenceCode } from './claims.ts';
import { type LossDetection, rememberApproval } from './data-loss.ts';
import { atMsOf } from './journal.ts';
import { type ExpectedCopy, type LossKind, lossKinds } from './in-force.ts';
import { type RedisParts, journalArguments } from './parts.ts';
import { digits, parseReply, text } from './reply.ts';
import type { Approval } from './replication.ts';
import { loadScript, run } from './script.ts';
import { advanceTime } from './time.ts';

const settleScript = loadScript('settle');
const notificationScript = loadScript('record-notification-3');

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
    async recordNotification(request) {
      losses.assertNonePending();
      return writeNotification(parts, notificationStepOf(request));
    },
  };
}

const verdict = z.enum(['SUCCESS', 'FAILURE']);
const code = z.enum([
  'APPROVED',
  'RULE_REFUSED',
  'NO_POLICY',
  'NOTHING_IN_FORCE',
  'TOO_MANY_CLAIMS',
  'FROZEN',
  'TERMS_CHANGED',
  'SCHEME_CHANGED',
]);
const outcomes = z.enum(['lost', 'jumped', 'stale', 'expired', 'decided', 'repeated']);
const lost = z.tuple([text, lossKinds]);
const jumped = z.tuple([text, digits, digits]);
const stale = z.tuple([text, text, digits]);
const expiredReply = z.tuple([text, digits]);
const decidedReply = z.tuple([text, text, text, verdict, code, text]);
const repeated = z.tuple([text, text, text, verdict, code, text, text]);

/** One round trip. All keys are in the source's slot. */
async function settle(
  parts: RedisParts,
  losses: LossDetection,
  request: SettleStep,
  expected: ExpectedCopy,
): Promise<SettleResult> {
  const keys = parts.keys.of(request.source);
  const subject = keys.subject(request.subject);
  const reply = await run(
    parts.connection,
    settleScript,
    [
      keys.control,
      subject,
      keys.journal,
      keys.lists,
      ...request.claims.flatMap((claim) => claimKeys(keys, request.subject, claim)),
    ],
    settleArguments(parts, request, expected),
  );
  const requestKey = `${subject} ${request.terms} ${request.question} ${flag(request.speedUp)}`;
  const result = readSettled(reply, expectOwnReply(parts, requestKey));
  if (result.outcome === 'lost') throw losses.reportFromSettle(request.source, result.loss, expected);
  return result;
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

function settleArguments(parts: RedisParts, request: SettleStep, expected: ExpectedCopy): string[] {
  return [
    ...journalArguments(parts),
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
    permanenceCode(request),
    String(request.prices),
    request.detail,
    expected.epoch,
    expected.field,
    expected.highWaterMark,
    request.scheme,
    request.choices.length === 0 ? '' : JSON.stringify(request.choices.map(choiceArgument)),
    ...request.claims.flatMap(claimArguments),
  ];
}

/** Whether it decides, how its refusal stands, and its alternatives. */
function choiceArgument(choice: StepChoice): unknown {
  const alternatives = choice.alternatives.map((items) =>
    items.map((item) => (typeof item === 'number' ? item : choiceArgument(item))),
  );
  return [flag(choice.decides), permanenceCode(choice), alternatives];
}

const notificationReply = z.tuple([
  text,
  text,
  verdict,
  z.enum(['NOTED', 'SIGNED_WITHOUT_APPROVAL', 'TXID_UNEXPECTED', 'FROZEN']),
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
