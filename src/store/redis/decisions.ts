import { z } from 'zod';
import type { Decisions, NoticeRequest, NoticeResult, SettleRequest, SettleResult } from '../store.ts';
import { claimArguments, claimKey, flag, readClaims } from './claims.ts';
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
const settled = z.union([
  z.tuple([z.literal('stale'), text, digits]),
  z.tuple([z.literal('elsewhen'), digits]),
  z.tuple([z.literal('decided'), text, verdict, code, text]),
  z.tuple([z.literal('repeated'), text, verdict, code, text, text]),
]);

/** One round trip. The keys all lie in the source's slot. */
async function settle(parts: RedisParts, request: SettleRequest): Promise<SettleResult> {
  const keys = parts.keys.of(request.source);
  const reply = expectReply(
    settled,
    'a settled question',
    await run(
      parts.connection,
      settleScript,
      [
        keys.control,
        keys.subject(request.subject),
        keys.journal,
        keys.lists,
        ...request.claims.map((claim) => claimKey(keys, claim)),
      ],
      settleArguments(parts, request),
    ),
  );
  if (reply[0] === 'stale') return { outcome: 'stale', inForce: reply[1], nowMs: reply[2] };
  if (reply[0] === 'elsewhen') return { outcome: 'elsewhen', nowMs: reply[1] };
  const [outcome, id, said, why, claims, of = ''] = reply;
  const decision = { id, atMs: atMsOf(id), verdict: said, code: why, claims: readClaims(claims) };
  return outcome === 'decided' ? { outcome, ...decision } : { outcome, ...decision, of };
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
    flag(request.final),
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
    ],
  );
  const [id, said, why] = expectReply(noted, 'a notice', reply);
  return { id, atMs: atMsOf(id), verdict: said, code: why };
}
