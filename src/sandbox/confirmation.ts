import { setTimeout as wait } from 'node:timers/promises';
import type { Credentials } from './credentials.ts';
import type { Fault, Faults } from './faults.ts';
import { bodyText, textBody } from './json.ts';
import type { SandboxLog } from './log.ts';
import { type Answer, post, shownAnswer } from './post.ts';
import { randomOf } from './random.ts';
import { type Scheme, canonicalText, encrypt, flipped, md5Hex, rsaSign, rsaTextSign } from './signing.ts';
import type { Payment, State } from './state.ts';

/** Where the receiver takes confirmations (section 6.1), in the platform's spelling. */
const CONFIRMATION_PATH = '/nofity/transferToMerchantAuthCheck';

export interface ConfirmationParts {
  readonly state: State;
  /** The address of the receiver, without a path. */
  readonly receiver: string;
  readonly credentials: Credentials;
  readonly faults: Faults;
  readonly lateMs: number;
  readonly timeoutMs: number;
  readonly log: SandboxLog;
  readonly now: () => number;
}

type Members = Readonly<Record<string, string>>;

/**
 * Asks the receiver whether a payment may be debited, with the scheme of the request. Resolves with undefined
 * for a yes, else with the reason. Of several answers the last one counts. A yes to a tampered confirmation
 * debits nothing.
 */
export async function confirmPayment(
  payment: Payment,
  scheme: Scheme,
  parts: ConfirmationParts,
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
  const tampering = TAMPERINGS[scheme].find((fault) => faults.occurs(fault, id));
  const wire = WIRE_FORMS[scheme].filter((fault) => faults.occurs(fault, id));
  const timing = (['late', 'repeat'] as const).filter((fault) => faults.occurs(fault, id));
  const applied = [...timing, ...wire, ...(tampering === undefined ? [] : [tampering])];
  const { body, signed } = WRITERS[scheme]({ members, tampering, wire, parts });
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
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'code' in value ? value.code : undefined;
  } catch {
    return undefined;
  }
}

interface Writing {
  readonly members: Members;
  readonly tampering: Fault | undefined;
  readonly wire: readonly Fault[];
  readonly parts: ConfirmationParts;
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
  ['tamper-coin', ({ payCoinSymbol = '' }) => ({ payCoinSymbol: `${payCoinSymbol}X` })],
  ['tamper-order', ({ appOrderId = '' }) => ({ appOrderId: `${appOrderId}-1` })],
  ['tamper-extra', () => ({ remark: 'added' })],
]);

const ALTERED = ['tamper-amount', 'tamper-user', 'tamper-coin', 'tamper-order', 'tamper-extra'] as const;
const SIGNATURES = ['tamper-sign', 'tamper-unsigned', 'tamper-key', 'tamper-app'] as const;

const TAMPERINGS: Readonly<Record<Scheme, readonly Fault[]>> = {
  md5: [...ALTERED, ...SIGNATURES, 'tamper-shift'],
  rsa: [...ALTERED, ...SIGNATURES, 'tamper-shift'],
  'rsa-envelope': [...ALTERED, ...SIGNATURES, 'tamper-data'],
};

const WIRE_FORMS: Readonly<Record<Scheme, readonly Fault[]>> = {
  md5: ['wire-upper', 'wire-time-member'],
  rsa: ['wire-time-member'],
  'rsa-envelope': ['wire-time', 'wire-base64'],
};

function writeFlat(
  { members, tampering, wire, parts }: Writing,
  signOf: (text: string, tampering: Fault | undefined) => string,
): Written {
  const time: Members = wire.includes('wire-time-member') ? { time: String(parts.now()) } : {};
  const unsigned = textBody({ ...members, ...time });
  const signed = canonicalText(unsigned);
  const right = signOf(signed, tampering);
  const sign = wire.includes('wire-upper') ? right.toUpperCase() : right;
  const altered = changed({ ...members, ...time }, tampering);
  const sent = tampering === 'tamper-shift' ? shifted(altered) : altered;
  const named = tampering === 'tamper-app' ? { ...sent, appKey: `${sent['appKey']}-other` } : sent;
  const signedMembers =
    tampering === 'tamper-unsigned' ? named : { ...named, sign: changedSign(sign, tampering) };
  return { body: bodyText(textBody(signedMembers)), signed };
}

function writeEnvelope({ members: { appKey = '', ...members }, tampering, wire, parts }: Writing): Written {
  const { platformKey, merchantKey } = parts.credentials;
  const plaintext = bodyText(textBody(members));
  const sent = bodyText(textBody(changed(members, tampering)));
  const random = randomOf(parts.state.seed, 'padding', sent);
  const sign = rsaSign(tampering === 'tamper-key' ? `${plaintext} ` : plaintext, platformKey);
  const encrypted = encrypt(sent, merchantKey, random);
  const data = tampering === 'tamper-data' ? flipped(encrypted) : encrypted;
  const alphabet = wire.includes('wire-base64') ? otherAlphabet : (text: string): string => text;
  const seconds = String(Math.floor(parts.now() / 1000));
  const envelope = {
    app_id: tampering === 'tamper-app' ? `${appKey}-other` : appKey,
    time: wire.includes('wire-time') ? seconds : parts.now(),
    data: alphabet(data),
    ...(tampering !== 'tamper-unsigned' && { sign: alphabet(changedSign(sign, tampering)) }),
  };
  return { body: JSON.stringify(envelope), signed: plaintext };
}

function changed(members: Members, tampering: Fault | undefined): Members {
  const change = CHANGES.get(tampering);
  return change === undefined ? members : { ...members, ...change(members) };
}

/** In sorted order userId follows payCoinSymbol, so the signed text stays the same. */
function shifted({ userId = '', payCoinSymbol = '', ...members }: Members): Members {
  return { ...members, payCoinSymbol: `${payCoinSymbol}userId${userId}` };
}

function changedSign(sign: string, tampering: Fault | undefined): string {
  return tampering === 'tamper-sign' ? flipped(sign) : sign;
}

function otherAlphabet(base64url: string): string {
  return Buffer.from(base64url, 'base64url').toString('base64');
}
