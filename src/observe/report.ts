/**
 * The steps whose duration is measured: the five of a decision, `ask`, the questions to plugins, and `hold`, the
 * wait for people.
 */
export const steps = ['decode', 'authenticate', 'parse', 'ask', 'evaluate', 'settle', 'hold'] as const;
export type Step = (typeof steps)[number];

/** The names in a callback whose sender was not authenticated, cut to a length for the log. */
export interface UnverifiedNames {
  /** The source whose keys or credentials were tried; undefined if the callback names no source. */
  readonly source: string | undefined;
  readonly appKey: string | undefined;
  /** Its `appOrderId` or `request_id`. */
  readonly order: string | undefined;
}

/** The outcome of one callback. The log and the metrics know nothing else about callbacks. */
export interface CallbackReport {
  readonly requestId: string;
  /** The trace of the caller, from the header `traceparent`. Nobody has authenticated it. */
  readonly traceId?: string | undefined;
  /**
   * The client's address: from X-Forwarded-For if a trusted proxy sent it, otherwise the address of the
   * connection.
   */
  readonly address: string;
  /** Undefined until the sender is authenticated. */
  readonly source: string | undefined;
  /** What an unauthenticated callback says of itself. */
  readonly unverified: UnverifiedNames | undefined;
  readonly kind: 'payment' | 'transfer' | 'web3' | 'self-check' | undefined;
  readonly subject: string | undefined;
  readonly question: string | undefined;
  /** How the sender was authenticated: the scheme and the key's fingerprint, or the credentials. */
  readonly authenticatedBy: string | undefined;
  /** The answer; FAILURE for `late`. */
  readonly verdict: 'SUCCESS' | 'FAILURE';
  /**
   * `unauthenticated`: nothing was stored. `refused`: an authenticated callback that can't be parsed, or that
   * came while the store's clock was wrong. `late`: a second report of a callback whose SUCCESS was decided
   * after FAILURE had been answered, or did not reach the client.
   */
  readonly outcome:
    'decided' | 'repeated' | 'notice' | 'self-check' | 'refused' | 'unauthenticated' | 'late' | 'failed';
  /** The decision's, notice's or failure's code. */
  readonly code: string;
  readonly because: string;
  /** `usdt-payments/amount-limit#1`, if a rule decided. */
  readonly rule: string | undefined;
  readonly revision: string | undefined;
  /** The journal entry's id. */
  readonly decision: string | undefined;
  /**
   * True for a code that an operator must investigate: TERMS_CHANGED, SCHEME_CHANGED,
   * SIGNED_WITHOUT_APPROVAL, SIGNED_AFTER_RELEASE, TXID_UNEXPECTED.
   */
  readonly alarm: boolean;
  readonly data: Readonly<Record<string, unknown>>;
  readonly stepsMs: Readonly<Partial<Record<Step, number>>>;
  /** Without `hold`: what a callback takes says how fast the service is. */
  readonly totalMs: number;
}

export type ReportCallback = (report: CallbackReport) => void;
