import type { z } from 'zod';
import { usageError } from '../errors.ts';
import { formatSchemaError } from '../values/schema-error.ts';

/** What a person may do. `operate` includes `read`. */
export const ROLES = ['read', 'operate'] as const;
export type Role = (typeof ROLES)[number];

/**
 * Something that operators do, written once: its command, the call of the API, the OpenAPI document and the page
 * read it. `P` is what it needs of the program, `I` the schema of what is given, `R` what came of it.
 */
export interface Act<P, I extends z.ZodObject, R> {
  /** The words of its command, such as `orders expect`. */
  readonly name: string;
  readonly summary: string;
  /** Who may do it in the console. The command line and the token of the API may do everything. */
  readonly role: Role;
  readonly input: I;
  /** False if the store records no author of it. Its command then has no `--by`. */
  readonly recordsAuthor?: boolean;
  readonly perform: (parts: P, input: z.output<I>, by: string) => Promise<R>;
  /** What the command prints. */
  readonly text: (result: R) => string;
  /** What a page says afterwards, in a sentence or two, if that is not `text`. */
  readonly notice?: (result: R) => string;
  readonly json: (result: R) => object;
  /** False if it found nothing to do. The command then exits with 1. */
  readonly isDone?: (result: R) => boolean;
  /**
   * The change that running services apply; without a sequence, the latest one. The command waits until they have
   * applied it. Absent if services apply nothing.
   */
  readonly followed?: (result: R) => { readonly sequence?: number };
  /** The version of what it changes, for people who look at a change before it is made. */
  readonly version?: VersionOf<P, z.output<I>, R>;
}

interface VersionOf<P, I, R> {
  /** Such as `the prices`. */
  readonly of: string;
  readonly before: (parts: P, input: I) => Promise<number>;
  readonly after: (result: R) => number;
  /** Whether one change alone was made since a version. Absent if versions leave no number out. */
  readonly isNext?: (parts: P, before: number) => Promise<boolean>;
}

/** Who performs an act, and what they saw before. */
export interface Author {
  /** Recorded with the change: a user of the operating system, `api` or `console:ada`. */
  readonly by: string;
  /** The version that a preview was made from. Another one refuses the act. */
  readonly seen?: number | undefined;
}

/**
 * Performs an act. All commands, calls and forms go through here. Throws USAGE if the schema refuses the input, or
 * if what it changes is no longer what its author saw.
 */
export async function perform<P, I extends z.ZodObject, R>(
  act: Act<P, I, R>,
  parts: P,
  given: z.input<I>,
  { by, seen }: Author,
): Promise<R> {
  const read = act.input.safeParse(given);
  if (!read.success) {
    const members = Object.keys(act.input.shape).join(', ');
    throw usageError(`${formatSchemaError(read.error, given)}; write { ${members} }`);
  }
  const { version } = act;
  if (seen !== undefined && version !== undefined && (await version.before(parts, read.data)) !== seen) {
    throw usageError(`${version.of} changed meanwhile. Look at what would change again`);
  }
  return act.perform(parts, read.data, by);
}

/**
 * What to say if somebody else made a change between the version that was seen and this one: stores don't compare
 * versions of lists and prices (docs/console.md). Empty if nobody did.
 */
export async function overtaken<P, I extends z.ZodObject, R>(
  { version }: Act<P, I, R>,
  parts: P,
  result: R,
  seen: number,
): Promise<string> {
  if (version === undefined || version.after(result) === seen + 1) return '';
  if ((await version.isNext?.(parts, seen)) === true) return '';
  return ` Somebody else may have changed ${version.of} at the same moment, which the page did not show. Look again.`;
}
