import { z } from 'zod';
import type { AnswerFormat } from '../callback/answer.ts';
import { CountersignError } from '../errors.ts';
import type { Signer } from '../signature/scheme.ts';
import type { RecordedEntry } from '../simulation/record.ts';
import { type Members, membersJson, readMembers, stringMember, withoutMembers } from '../values/members.ts';
import type { Mapping } from './mapping.ts';

/** A recorded callback as it is to be sent again. */
export interface Resent {
  /** Below the instance's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Source and subject there. What is about one subject is sent in order. */
  readonly queue: string;
  readonly answer: AnswerFormat;
}

const sentShape = z.object({
  kind: z.enum(['payment', 'transfer', 'web3']),
  scheme: z.string().optional(),
  /** Before there was `scheme`: the scheme, a blank, and the key's fingerprint or place. */
  by: z.string().optional(),
  body: z.string(),
  plaintext: z.string().optional(),
});

export type Sent = z.output<typeof sentShape> & { readonly scheme: string };

/** How a callback was sent, by its entry; or why that can't be read. */
export function sentOf({ detail }: Pick<RecordedEntry, 'detail'>): Sent | string {
  const read = sentShape.safeParse(detail);
  if (!read.success)
    return `its detail has no callback that can be read: ${read.error.issues[0]?.path.join('.')}`;
  const { scheme, by = '' } = read.data;
  return { ...read.data, scheme: scheme ?? by.split(' ')[0] ?? '' };
}

/** Throws USAGE if the instance has no such source, or that does not take such a callback. */
export function expectSendable(source: string, { kind, scheme }: Sent, senderOf: SenderOf): void {
  const sender = senderOf(source);
  if (sender.callback === 'payment' && kind === 'payment') sender.signer(scheme);
  else if (sender.callback === 'cosigner' && kind !== 'payment') sender.path(kind);
  else throw new CountersignError('USAGE', mismatch(kind, sender));
}

function mismatch(kind: Sent['kind'], { callback, name }: SourceSender): string {
  const takes = callback === 'payment' ? 'payments' : 'callbacks of a co-signer';
  return `the record has a ${kind}, and the source ${name} takes ${takes}`;
}

/**
 * Rebuilds a callback with the keys of another instance: a payment's members exactly as they were but for
 * `appKey`, `time` and `sign`; a co-signer's body byte for byte, unless the mapping calls something in it
 * otherwise.
 */
export function resend(
  source: string,
  sent: Sent,
  {
    senderOf,
    mapping,
    nowMs,
  }: { readonly senderOf: SenderOf; readonly mapping: Mapping; readonly nowMs: number },
): Resent | string {
  const sender = senderOf(source);
  const decoded = readMembers(sent.plaintext ?? sent.body);
  if (!decoded.ok) return `its body can't be read: ${decoded.because}`;
  const members = mapping.members(decoded.members);
  const { answer, name } = sender;
  const queue = `${name} ${sent.kind}:${members.get(sent.kind === 'payment' ? 'appOrderId' : 'request_id')?.text}`;
  if (sender.callback === 'payment') {
    if (sent.kind !== 'payment') return mismatch(sent.kind, sender);
    const body = sender.signer(sent.scheme).sign(paymentMembers(members, sender, nowMs), nowMs);
    return { path: sender.path, headers: {}, body, queue: queue, answer };
  }
  if (sent.kind === 'payment') return mismatch(sent.kind, sender);
  const body = members === decoded.members ? sent.body : membersJson(members);
  return { path: sender.path(sent.kind), headers: sender.headers, body, queue: queue, answer };
}

const SECONDS_DIGITS = 10;

function paymentMembers(recorded: Members, { appKey }: PaymentSender, nowMs: number): Members {
  const members = withoutMembers(recorded, 'sign').set('appKey', stringMember(appKey));
  const time = members.get('time');
  if (time === undefined || time.kind === 'null' || time.text === '') return members;
  const text = String(time.text.length === SECONDS_DIGITS ? Math.floor(nowMs / 1000) : nowMs);
  return members.set('time', { ...time, text });
}

/** A source of the instance that callbacks are sent to, with what it takes to be taken for its sender. */
export type SourceSender = PaymentSender | CosignerSender;

export interface PaymentSender {
  readonly callback: 'payment';
  readonly name: string;
  readonly path: string;
  readonly appKey: string;
  readonly answer: AnswerFormat;
  /**
   * Signs as the platform would. Throws USAGE if the source does not accept the scheme, or the key for it is
   * missing.
   */
  readonly signer: (scheme: string) => Signer;
}

export interface CosignerSender {
  readonly callback: 'cosigner';
  readonly name: string;
  readonly answer: AnswerFormat;
  readonly headers: Readonly<Record<string, string>>;
  /** Where callbacks of the kind are served. Throws USAGE if they are not. */
  readonly path: (kind: 'transfer' | 'web3') => string;
}

/** The sender for a source of the record, as it is mapped. Throws USAGE if there is none. */
export type SenderOf = (source: string) => SourceSender;
