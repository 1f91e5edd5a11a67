import { createHmac, timingSafeEqual } from 'node:crypto';

/** The header of a question's signature, and of its answer's. */
export const SIGNATURE_HEADER = 'countersign-signature';

/** `v1=` and the HMAC-SHA256, in hexadecimal, of `timestamp.nonce.body`. */
export function signQuestion(secret: string, timestamp: string, nonce: string, body: string): string {
  return signature(secret, `${timestamp}.${nonce}.`, Buffer.from(body));
}

/**
 * Whether the signature is that of `answer.nonce.body`. No question's signature is an answer's: those begin
 * with digits. Compared in constant time.
 */
export function isAnswerSigned(secret: string, nonce: string, body: Uint8Array, given: string): boolean {
  const expected = Buffer.from(signature(secret, `answer.${nonce}.`, body));
  const received = Buffer.from(given);
  return received.length === expected.length && timingSafeEqual(received, expected);
}

function signature(secret: string, beginning: string, body: Uint8Array): string {
  return `v1=${createHmac('sha256', secret).update(beginning).update(body).digest('hex')}`;
}
