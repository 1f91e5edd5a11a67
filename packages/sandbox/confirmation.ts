import { setTimeout as wait } from 'node:timers/promises';
import type { Fault } from './faults.ts';
import { bodyText, jsonOf, textBody } from './json.ts';
import { type Answer, post, shownAnswer } from './post.ts';
import { randomOf } from './random.ts';
import type { Running } from './running.ts';
import { type Scheme, canonicalText, encrypt, flipped, md5Hex, rsaSign, rsaTextSign } from './signing.ts';
import type { Payment } from './state.ts';

/** Where the receiver takes confirmations (section 6.1), in the platform's spelling. */
const CONFIRMATION_PATH = '/nofity/transferToMerchantAuthCheck';

type Members = Readonly<Record<string, string>>;

/**
 * Asks the receiver whether a payment may be debited, with the scheme of the request. Resolves with undefined
 * for a yes, else with the reason. Of several answers the last one counts. A yes to a tampered confirmation
 * debits nothing.
 */
export async function confirmPayment(
  payment: Payment,
  scheme: Scheme,
  parts: Running,
): Promise<string | undefined> {
  const { faults, log } = parts;
  const id = payment.appOrderId;
  const members = {
    appKey: parts.credentials.appKey,
    userId: String(payment.userId),
    appOrderId: id,
    orderAmount: payment.amount,
    payCoinSymbol: payment.coin,
  };
  const tampering = TAMPERINGS.find((fault) => faults.occurs(fault, id));
  const timing = (['late', 'repeat'] as const).filter((fault) => faults.occurs(fault, id));
  const applied = [...timing, ...(tampering === undefined ? [] : [tampering])];
  const { body, signed } = WRITERS[scheme]({ members, tampering, parts });
  if (timing.includes('late')) await wait(parts.lateMs);
  let refused: string | undefined = 'it was not asked';
  for (let times = timing.includes('repeat') ? 2 : 1; times > 0; times--) {
    const answer = await post({
      url: `${parts.receiver}${CONFIRMATION_PATH}`,
      headers: { 'content-type': 'application/json' },
      body,
      timeoutMs: parts.timeoutMs,
    });
    refused = refusalIn(answer);
    if (refused === undefined && tampering !== undefined) {
      refused = 'it said yes to a tampered confirmation, which debits nothing';
    }
    log.add({
      kind: 'confirmation',
      about: id,
      scheme,
      signed,
      outcome: shownAnswer(answer),
      why: refused ?? 'the receiver said yes',
      faults: applied,
    });
  }
  return refused;
}

/** Undefined for a yes: HTTP 200 with the text SUCCESS, or with a JSON object whose code is "0". */
function refusalIn(answer: Answer): string | undefined {
  if (!answer.ok) return answer.why;
  if (answer.status !== 200) return `it answered with HTTP status ${answer.status}`;
  if (answer.text === 'SUCCESS') return undefined;
  if (answer.text === 'FAILURE') return 'it answered FAILURE';
  return codeIn(answer.text) === '0' ? undefined : `it answered ${shownAnswer(answer)}`;
}

function codeIn(text: string): unknown {
  const value = jsonOf(text);
  return typeof value === 'object' && value !== null && 'code' in value ? value.code : undefined;
}

interface Writing {
  readonly members: Members;
  readonly tampering: Fault | undefined;
  readonly parts: Running;
}

/** The body of a confirmation, and the text that was signed. */
interface Written {
  readonly body: string;
  readonly signed: string;
}

const WRITERS: Readonly<Record<Scheme, (writing: Writing) => Written>> = {
  md5: (writing) =>
    writeFlat(writing, (text, tampering) => {
      const { secret } = writing.parts.credentials;
      return md5Hex(text + (tampering === 'tamper-key' ? `${secret}-other` : secret));
    }),
  rsa: (writing) =>
    writeFlat(writing, (text, tampering) =>
      rsaTextSign(tampering === 'tamper-key' ? `${text} ` : text, writing.parts.credentials.platformKey),
    ),
  'rsa-envelope': writeEnvelope,
};

/** What is changed after signing. */
const CHANGES = new Map<Fault | undefined, (members: Members) => Members>([
  ['tamper-amount', ({ orderAmount = '' }) => ({ orderAmount: `1${orderAmount}` })],
  ['tamper-user', ({ userId = '' }) => ({ userId: `${userId}1` })],
  ['tamper-order', ({ appOrderId = '' }) => ({ appOrderId: `${appOrderId}-1` })],
]);

const TAMPERINGS = [
  'tamper-amount',
  'tamper-user',
  'tamper-order',
  'tamper-sign',
  'tamper-unsigned',
  'tamper-key',
  'tamper-app',
] as const;

function writeFlat(
  { members, tampering }: Writing,
  signOf: (text: string, tampering: Fault | undefined) => string,
): Written {
  const signed = canonicalText(textBody(members));
  const sign = signOf(signed, tampering);
  const { appKey = '', ...sent } = changed(members, tampering);
  const named = { appKey: tampering === 'tamper-app' ? `${appKey}-other` : appKey, ...sent };
  return { body: bodyText(textBody({ ...named, ...signMember(sign, tampering) })), signed };
}

function writeEnvelope({ members: { appKey = '', ...members }, tampering, parts }: Writing): Written {
  const { platformKey, merchantKey } = parts.credentials;
  const plaintext = bodyText(textBody(members));
  const sent = bodyText(textBody(changed(members, tampering)));
  const random = randomOf(parts.state.seed, 'padding', sent);
  const sign = rsaSign(tampering === 'tamper-key' ? `${plaintext} ` : plaintext, platformKey);
  const envelope = {
    app_id: tampering === 'tamper-app' ? `${appKey}-other` : appKey,
    time: parts.clock.nowMs(),
    data: encrypt(sent, merchantKey, random),
    ...signMember(sign, tampering),
  };
  return { body: JSON.stringify(envelope), signed: plaintext };
}

function changed(members: Members, tampering: Fault | undefined): Members {
  return { ...members, ...CHANGES.get(tampering)?.(members) };
}

function signMember(sign: string, tampering: Fault | undefined): Members {
  if (tampering === 'tamper-unsigned') return {};
  return { sign: tampering === 'tamper-sign' ? flipped(sign) : sign };
}
