import { z } from 'zod';
import {
  type Decisions,
  type NoticeRequest,
  type NoticeResult,
  type SettleRequest,
  type SettleResult,
  TXIDS_MAX,
} from '../store.ts';
import { claimArguments, claimKey, flag, readClaims, standing } from './claims.ts';
import { atMsOf } from './entry.ts';
import { type RedisParts, journalArguments } from './parts.ts';
import { digits, expectReply, text } from './reply.ts';
import { loadScript, run } from './script.ts';

const settleScript = loadScript('settle');
const noticeScript = loadScript('notice-3');

export function createDecisions(parts: RedisParts): Decisions {
  return {
    settle: (request) => settle(parts, request),
    notice: (request) => notice(parts, request),
  };
}

const verdict = z.enum(['SUCCESS', 'FAILURE']);
const code = z.enum(['APPROVED', 'RULE_REFUSED', 'NO_POLICY', 'NOTHING_IN_FORCE', 'FROZEN', 'TERMS_CHANGED']);
const outcomes = z.enum(['stale', 'elsewhen', 'decided', 'repeated']);
const stale = z.tuple([text, text, digits]);
const elsewhen = z.tuple([text, digits]);
const settled = z.tuple([text, text, verdict, code, text]);
const repeated = z.tuple([text, text, verdict, code, text, text]);

/** One round trip. The keys all lie in the source's slot. */
async function settle(parts: RedisParts, request: SettleRequest): Promise<SettleResult> {
  const keys = parts.keys.of(request.source);
  const reply = await run(
    parts.connection,
    settleScript,
    [
      keys.control,
      keys.subject(request.subject),
      keys.journal,
      keys.lists,
      ...request.claims.map((claim) => claimKey(keys, request.subject, claim)),
    ],
    settleArguments(parts, request),
  );
  return readSettled(reply);
}

function readSettled(reply: unknown): SettleResult {
  const what = 'a settled question';
  const outcome = expectReply(outcomes, what, Array.isArray(reply) ? reply[0] : reply);
  if (outcome === 'stale') {
    const [, inForce, nowMs] = expectReply(stale, what, reply);
    return { outcome, inForce, nowMs };
  }
  if (outcome === 'elsewhen') return { outcome, nowMs: expectReply(elsewhen, what, reply)[1] };
  if (outcome === 'decided') return { outcome, ...decisionOf(expectReply(settled, what, reply)) };
  const [, id, said, why, claims, of] = expectReply(repeated, what, reply);
  return { outcome, ...decisionOf([outcome, id, said, why, claims]), of };
}

function decisionOf([, id, said, why, claims]: z.output<typeof settled>) {
  return { id, atMs: atMsOf(id), verdict: said, code: why, claims: readClaims(claims) };
}

function settleArguments(parts: RedisParts, request: SettleRequest): string[] {
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
    standing(request),
    String(request.prices),
    request.detail,
    ...request.claims.flatMap(claimArguments),
  ];
}

const noted = z.tuple([
  text,
  verdict,
  z.enum(['NOTED', 'SIGNED_WITHOUT_APPROVAL', 'TXID_UNEXPECTED', 'FROZEN']),
]);

async function notice(parts: RedisParts, request: NoticeRequest): Promise<NoticeResult> {
  const keys = parts.keys.of(request.source);
  const reply = await run(
    parts.connection,
    noticeScript,
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
  const [id, said, why] = expectReply(noted, 'a notice', reply);
  return { id, atMs: atMsOf(id), verdict: said, code: why };
}
