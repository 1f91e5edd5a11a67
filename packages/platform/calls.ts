/*
 * How the methods of the client are called. The published declarations of the client reach this file and
 * those of client.ts, which `npm run package` makes from the operations, and no schema.
 */

/** A word or an id. A number above 2^53 was rounded before it came here: write such an id as text or bigint. */
export type Written = string | number | bigint;

/** An exact decimal above zero, such as `'10.50'`. A number is refused, because it may have been rounded. */
export type WrittenAmount = string | bigint;

/**
 * Milliseconds since the epoch, an instant such as `'2026-03-02T10:00:00Z'`, or a Date, which has both. A
 * parameter like `'2026-03-02 10:00:00'` is no such time: its zone is not documented.
 */
export type WrittenTime = Written | Date;

/** Parameters of which at least one of some names must be given. */
export type AtLeastOne<Parameters, Names extends keyof Parameters> = Parameters &
  { [N in Names]: { readonly [K in N]: NonNullable<Parameters[K]> } }[Names];

/** Parameters without the number of the page. */
export type OfAllPages<Parameters, Page extends string> = Parameters extends unknown
  ? Omit<Parameters, Page>
  : never;

/** A value of section 3.1, or another one: a sample of the specification has one that no table lists. */
export type Known<Value extends string | number> =
  Value | ((Value extends string ? string : number) & Record<never, never>);

/** An exact decimal as text, as the platform wrote it. */
export type Decimal = string;

/** A whole number that identifies something, as text, because it may exceed 2^53. */
export type Id = string;

/** A record that can't be read as the specification describes it. It hides no other record. */
export interface UnreadableRecord {
  /** What is wrong, such as `orderAmount must be an exact decimal`. */
  readonly unreadable: string;
  /** The JSON of the record, exactly as the platform wrote it. */
  readonly text: string;
}

/** One operation. */
export interface Verb<Parameters, Data> {
  /** Resolves with the data of the answer. Rejects with a PlatformError. */
  (parameters: Parameters, options?: CallOptions): Promise<Data>;
}

export interface CallOptions {
  /** Instead of that of the configuration. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call. The outcome of a payment is then unknown. */
  readonly signal?: AbortSignal | undefined;
}

/** Which payment to look for. */
export interface PaymentQuery {
  readonly appOrderId: string;
  /** The UID of the user who pays. With it, the platform searches only the bill of this user. */
  readonly userId?: string;
  /** When the payment was sent, in milliseconds since the epoch. By default now. */
  readonly sentAtMs?: number;
}

/** All records of all pages. */
export interface ListAll<Parameters, Record> {
  /** For `for await`. Each step rejects with a PlatformError. */
  (parameters: Parameters, options?: IterationOptions): Records<Record | UnreadableRecord>;
}

export interface IterationOptions extends CallOptions {
  /** The cursor of an earlier iteration with the same parameters, which continues after its last record. */
  readonly cursor?: string | undefined;
  /** Called after each page. `total` is the number of records on all pages, if the platform says it. */
  readonly onPage?: (progress: PageProgress) => void;
}

export interface PageProgress {
  readonly pages: number;
  readonly records: number;
  readonly total: number | undefined;
}

/** The records of all pages, for `for await`. */
export interface Records<R> extends AsyncIterable<R> {
  /** Continues after the last record that was given. An error of the iteration has it too, in its data. */
  readonly cursor: string;
}
