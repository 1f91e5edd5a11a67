import type { Kind } from '../callback/callback.ts';
import type { Failure } from '../errors.ts';
import type { SenderFacts } from '../signature/credentials.ts';
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
export interface Arrival extends SenderFacts {
  readonly requestId: string;
  /** The earliest instant at which it can have arrived, in milliseconds of `performance.now()`. */
  readonly arrivedMs: number;
  readonly route: Route;
  /** The path of its URL, without the secret segment. */
  readonly path: string;
  /** Reads the body within its bounds; never rejects. */
  readonly body: () => Promise<Uint8Array | Failure>;
  /** Whether the client still waits for the answer, as far as this is known. */
  readonly isConnected: () => boolean;
}
