import type { AnswerFormat } from '../callback/answer.ts';
import type { Signer } from '../signature/scheme.ts';

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
