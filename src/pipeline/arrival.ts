import type { Kind } from '../callback/callback.ts';
import type { Failure } from '../errors.ts';
import type { Members } from '../values/members.ts';

/**
 * The URL that received a callback: the platform's one path, or the URL of a co-signer, which names its
 * source.
 */
export type Route =
  | { readonly callback: 'payment' }
  | { readonly callback: 'cosigner'; readonly source: string; readonly expected: readonly Kind[] };

/** The receiver of an answer. Members that are not known yet are undefined. */
export interface AnswerRecipient {
  readonly route: Route;
  /** Undefined if the sender is not authenticated: then the answer is FAILURE. */
  readonly source: string | undefined;
  /** The members of the body, authenticated or not; undefined if it was not read or can't be read. */
  readonly members: Members | undefined;
}

/** A callback whose body has not been read yet. */
export interface Arrival {
  readonly requestId: string;
  /** The earliest instant at which it can have arrived, in milliseconds of `performance.now()`. */
  readonly arrivedMs: number;
  readonly route: Route;
  /**
   * The client's address: from X-Forwarded-For if a trusted proxy sent it, otherwise the address of the
   * connection.
   */
  readonly address: string;
  /** The value of a header; undefined if the header is missing or was sent twice. */
  readonly header: (name: string) => string | undefined;
  /** Whether the peer is a trusted proxy. */
  readonly fromProxy: boolean;
  /** The path segment after the source's path, if its URLs end in a secret segment. */
  readonly pathSecret: string | undefined;
  /** The client certificate of the TLS connection, only if its chain was verified. */
  readonly certificate: { readonly fingerprint256: string; readonly subject: string } | undefined;
  /** Reads the body within its bounds; never rejects. */
  readonly body: () => Promise<Uint8Array | Failure>;
}
