import type { Kind } from '../callback/callback.ts';
import type { Failure } from '../errors.ts';
import type { Members } from '../values/members.ts';

/** Where a callback came in: on the platform's one path, or on a co-signer's URL, which names its source. */
export type Route =
  | { readonly callback: 'payment' }
  | { readonly callback: 'cosigner'; readonly source: string; readonly expected: readonly Kind[] };

/** To whom an answer goes, as far as that is known when it is sent. */
export interface Addressee {
  readonly route: Route;
  /** Undefined where the sender is not authenticated: then the answer is FAILURE. */
  readonly source: string | undefined;
  /** What the body holds, believed or not; undefined where it was not read or is unreadable. */
  readonly members: Members | undefined;
}

/** A callback that has arrived, before a byte of its body has been read. */
export interface Arrival {
  readonly requestId: string;
  readonly route: Route;
  /** The peer's address, behind trusted proxies. */
  readonly address: string;
  /** A header's value; none of one that was sent twice. */
  readonly header: (name: string) => string | undefined;
  /** Whether the connection is one of a trusted proxy. */
  readonly fromProxy: boolean;
  /** The last path segment, where the source's URLs end in a secret one. */
  readonly pathSecret: string | undefined;
  /** The client certificate of a TLS connection that ends here. */
  readonly certificate: { readonly fingerprint256: string; readonly subject: string } | undefined;
  /** Reads the body, bounded in size and kind; never rejects. */
  readonly body: () => Promise<Uint8Array | Failure>;
  /** For how long it may have lain unread, which counts as time spent; 0 without it. */
  readonly waitedMs?: number;
  /**
   * Called once nothing of it is under way any more, which is after the answer where that was a late FAILURE.
   */
  readonly ended?: () => void;
}
