import type { AnswerFormat } from '../callback/answer.ts';
import type { Kind } from '../callback/callback.ts';
import { usageError } from '../errors.ts';
import type { Signer } from '../signature/scheme.ts';
import type { RecordedText } from '../journal/recorded.ts';
import { type Members, membersJson, readMembers, stringMember, withoutMembers } from '../values/members.ts';
import type { Mapping } from './mapping.ts';

/** A recorded callback as it is sent again. */
export interface Resent {
  /** The path below the instance's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The source and subject at the instance. Callbacks about one subject are sent in order. */
  readonly queue: string;
  readonly answer: AnswerFormat;
}

/** Throws USAGE if the instance has no such source, or the source does not take such a callback. */
export function expectSendable(source: string, { kind, scheme }: RecordedText, senderOf: SenderOf): void {
  const sender = senderOf(source);
  if (sender.callback === 'payment' && kind === 'payment') sender.signer(scheme ?? '');
  else if (sender.callback === 'cosigner' && kind !== 'payment') sender.path(kind);
  else throw usageError(mismatch(kind, sender));
}

function mismatch(kind: Kind, { callback, name }: SourceSender): string {
  const accepted = callback === 'payment' ? 'payments' : 'callbacks of a co-signer';
  return `the record has a ${kind}, but the source ${name} takes only ${accepted}`;
}

/**
 * Builds a callback again with the keys of another instance. In a payment, only the members `appKey`, `time`
 * and `sign` change. The body of a co-signer is the same byte for byte. The mapping may change more.
 */
export function resend(
  source: string,
  sent: RecordedText,
  {
    senderOf,
    mapping,
    nowMs,
  }: { readonly senderOf: SenderOf; readonly mapping: Mapping; readonly nowMs: number },
): Resent | string {
  const sender = senderOf(source);
  const decoded = readMembers(sent.body);
  if (!decoded.ok) return `its body can't be read: ${decoded.because}`;
  const members = mapping.members(decoded.members);
  const { answer, name } = sender;
  const id = members.get(sent.kind === 'payment' ? 'appOrderId' : 'request_id')?.text;
  const queue = `${name} ${sent.kind}:${id}`;
  if (sender.callback === 'payment') {
    if (sent.kind !== 'payment') return mismatch(sent.kind, sender);
    const body = sender.signer(sent.scheme ?? '').sign(paymentMembers(members, sender, nowMs), nowMs);
    return { path: sender.path, headers: {}, body, queue, answer };
  }
  if (sent.kind === 'payment') return mismatch(sent.kind, sender);
  const body = members === decoded.members ? sent.body : membersJson(members);
  return { path: sender.path(sent.kind), headers: sender.headers, body, queue, answer };
}

const SECONDS_DIGITS = 10;

function paymentMembers(recorded: Members, { appKey }: PaymentSender, nowMs: number): Members {
  const members = withoutMembers(recorded, 'sign').set('appKey', stringMember(appKey));
  const time = members.get('time');
  if (time === undefined || time.kind === 'null' || time.text === '') return members;
  const text = String(time.text.length === SECONDS_DIGITS ? Math.floor(nowMs / 1000) : nowMs);
  return members.set('time', { ...time, text });
}

/** A source of the instance, with the keys of its sender. */
export type SourceSender = PaymentSender | CosignerSender;

export interface PaymentSender {
  readonly callback: 'payment';
  readonly name: string;
  readonly path: string;
  readonly appKey: string;
  readonly answer: AnswerFormat;
  /**
   * Signs as the platform does. Throws USAGE if the source does not accept the scheme, or its key is missing.
   */
  readonly signer: (scheme: string) => Signer;
}

export interface CosignerSender {
  readonly callback: 'cosigner';
  readonly name: string;
  readonly answer: AnswerFormat;
  readonly headers: Readonly<Record<string, string>>;
  /** The path for callbacks of a kind. Throws USAGE if the source has no such path. */
  readonly path: (kind: 'transfer' | 'web3') => string;
}

/** The sender for a source of the record, after mapping. Throws USAGE if the instance has no such source. */
export type SenderOf = (source: string) => SourceSender;
