import type { z } from 'zod';
import type { UnreadableRecord } from './calls.ts';
import { PlatformError, type PlatformErrorCode, type PlatformErrorData } from './error.ts';

/**
 * One operation of section 4: what it takes, where it goes, and how its answer is read. The client, the
 * command line and the documentation are made from it.
 */
export interface Operation<P extends z.ZodObject = z.ZodObject, D extends z.ZodType = z.ZodType> {
  /** The section of the specification, such as `4.3`. */
  readonly section: string;
  /** The resource and the verb, such as `orders.list`. */
  readonly name: string;
  /** Its word on the command line, such as `orders`. */
  readonly command: string;
  /** What follows `/platformapi/SEGMENT/open/`. */
  readonly path: string;
  /** A sentence for people. */
  readonly summary: string;
  /** What else a caller must know, a sentence each. */
  readonly notes?: readonly string[];
  /** What else a caller must know of this client, a sentence each. */
  readonly clientNotes?: readonly string[];
  /** All parameters but appKey and sign. Its output is the text that is sent. */
  readonly parameters: P;
  /** The parameters that are sent as JSON numbers. The others are sent as strings. */
  readonly numbers?: readonly string[];
  /** At least one of these must be given. If several are, the platform uses the first of this list. */
  readonly oneOf?: readonly string[];
  /** The parameters that no error, log or process list may show. */
  readonly secrets?: readonly string[];
  /** Parameters of an example call. */
  readonly example: Readonly<Record<string, string>>;
  /** The reading of `data`. */
  readonly data: D;
  /** What `data` is read as if it is null, which is how the platform may write that it has no records. */
  readonly empty?: Readonly<Record<string, unknown>> | undefined;
  /** A record of `data`, if it has records. */
  readonly record?: z.ZodType;
  /** Whether it changes nothing. Only such an operation is sent again by itself. */
  readonly reads: boolean;
  /** `encrypted`: the parameters and appKey are always sent encrypted (section 5, rule 3). */
  readonly body?: 'encrypted';
  /** `bare`: the answer may have the members of `data` at its top, without code and msg. */
  readonly answer?: 'bare';
  readonly paging?: Paging<z.output<D>, unknown>;
  /** The records of an answer that has no pages, for tables. */
  records?(data: z.output<D>): readonly unknown[];
  /** Checks a limit that concerns several parameters, or the time. Returns the fault and its fix. */
  check?(parameters: z.output<P>, nowMs: number): string | undefined;
}

/** How the pages of an operation are read. */
export interface Paging<D, R> {
  /** The parameter with the number of the page. */
  readonly page: string;
  /** The parameter with the number of records on a page. Without it, the platform chooses the number. */
  readonly size?: string;
  records(data: D): readonly (R | UnreadableRecord)[];
  /** The number of records on all pages. Absent if the answer doesn't contain it. */
  count?(data: D): number;
  /**
   * How many records there are at least on all pages, if the answer has no count of them. It doesn't say
   * which page is the last one.
   */
  least?(data: D): number;
  /** Identifies a record on all pages. Without it, equal records can be several. */
  key?(record: R): string;
  /** The parameters that bound a range of time, and the longest range in one request. */
  readonly range?: { readonly start: string; readonly end: string; readonly mostMs: number };
}

/** An operation with pages. */
export type PagedOperation = Operation & {
  readonly record: z.ZodType;
  readonly paging: Paging<never, unknown>;
};

/** What a caller passes. */
export type ParametersOf<O extends Operation> = z.input<O['parameters']>;
/** What a caller gets. */
export type DataOf<O extends Operation> = z.output<O['data']>;
/** A record of a page. */
export type RecordOf<O extends PagedOperation> = z.output<O['record']>;

export interface Pages<P, D extends z.ZodType, R extends z.ZodType> {
  readonly parameters: P;
  readonly data: D;
  readonly record: R;
  readonly paging: Paging<z.output<D>, z.output<R>>;
}

/** What a caller must know besides the summary, a sentence or more each. */
export function remarksOf({ notes = [], clientNotes = [], oneOf }: Operation): readonly string[] {
  const remarks = [...notes, ...clientNotes];
  if (oneOf === undefined) return remarks;
  return [...remarks, `Give at least one of ${oneOf.join(', ')}; the first given one counts.`];
}

/** Keeps the exact types of an operation, and those of its records. */
export function defineOperation<
  const P extends z.ZodObject,
  D extends z.ZodType,
  R extends z.ZodType,
  const O extends Omit<Operation<P, D>, 'record' | 'paging'>,
>(operation: O & Pages<P, D, R>): O & Pages<P, D, R>;
export function defineOperation<P extends z.ZodObject, D extends z.ZodType>(
  operation: Operation<P, D>,
): Operation<P, D>;
export function defineOperation(operation: Operation): Operation {
  return operation;
}

/** Checked parameters by name, as the text that is sent. */
export type CheckedParameters = ReadonlyMap<string, string>;

/** Checks parameters before anything is sent. Throws PLATFORM_PARAMETER with all faults. */
export function checkParameters(operation: Operation, given: unknown, nowMs: number): CheckedParameters {
  const parsed = operation.parameters.safeParse(given);
  const faults = parsed.success
    ? []
    : parsed.error.issues.flatMap((issue) => faultsOf(issue, operation, given));
  const named = operation.oneOf ?? [];
  const isNamed = named.some((name) => valueOf(given, name) !== undefined);
  if (named.length > 0 && !isNamed) faults.push(`none of ${named.join(', ')} is given; give one of them`);
  if (parsed.success && faults.length === 0) {
    const fault = operation.check?.(parsed.data, nowMs);
    if (fault !== undefined) faults.push(fault);
  }
  if (!parsed.success || faults.length > 0) throw parameterError(operation, faults);
  return new Map(
    Object.entries(parsed.data).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  );
}

export const parameterError = (operation: Operation, faults: readonly string[]): PlatformError =>
  notSent('PLATFORM_PARAMETER', operation, faults.join('; '), { faults });

/** The error of an operation that did not reach the platform. */
export function notSent(
  code: PlatformErrorCode,
  { name, section }: Operation,
  because: string,
  more: Partial<Pick<PlatformErrorData, 'fix' | 'faults'>> = {},
): PlatformError {
  const known = { operation: name, section, outcome: 'not-sent', fix: 'nothing was sent' } as const;
  return new PlatformError(code, because, { ...known, ...more });
}

/** The error of an operation that may have been done, or only read. */
export function doubtful(
  code: PlatformErrorCode,
  operation: Operation,
  because: string,
  found: Pick<PlatformErrorData, 'status' | 'reason'> = {},
): PlatformError {
  const { name, section, reads } = operation;
  const outcome = reads ? 'not-read' : 'unknown';
  const known = { operation: name, section, outcome, fix: fixOfDoubt(operation) } as const;
  return new PlatformError(code, because, { ...known, ...found });
}

function fixOfDoubt({ reads, section }: Operation): string {
  if (reads) return 'nothing changed; try again, and check platform.url and the credentials';
  return section === '4.2'
    ? 'look the payment up in the bill (payments.find) before you pay again'
    : 'it may have been done; look it up before you request it again';
}

/** An answer that can't be used. `reason` is the code of a failure of its signature or encryption. */
export const invalidAnswer = (
  operation: Operation,
  because: string,
  found?: Pick<PlatformErrorData, 'status' | 'reason'>,
): PlatformError =>
  doubtful('PLATFORM_ANSWER_INVALID', operation, `the answer can't be used: ${because}`, found);

const SHOWN_CHARACTERS = 40;

/** The faults of one parameter. The message of an issue is its fix. */
function faultsOf(issue: z.core.$ZodIssue, { secrets = [] }: Operation, given: unknown): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((name) => `${JSON.stringify(name.slice(0, SHOWN_CHARACTERS))} is not a parameter`);
  }
  const name = String(issue.path[0] ?? 'the parameters');
  const value = issue.path.length === 0 ? given : valueOf(given, name);
  if (issue.path.length === 0) return ['the parameters are not an object; write them as { name: value }'];
  if (value === undefined) return [`${name} is missing; ${issue.message}`];
  const shown = secrets.includes(name) ? 'has a value that is not allowed' : `is ${shownValue(value)}`;
  return [`${name} ${shown}; ${issue.message}`];
}

function shownValue(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid Date';
  const written = JSON.stringify(value) ?? typeof value;
  return written.length > SHOWN_CHARACTERS ? `${written.slice(0, SHOWN_CHARACTERS - 1)}…` : written;
}

function valueOf(given: unknown, name: string): unknown {
  if (typeof given !== 'object' || given === null || !Object.hasOwn(given, name)) return undefined;
  return Object.entries(given).find(([own]) => own === name)?.[1];
}
