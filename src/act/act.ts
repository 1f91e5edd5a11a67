import type { z } from 'zod';
import type { FourEyes } from '../approvals/acts.ts';
import type { ApprovalRequest } from '../approvals/requests.ts';
import { CountersignError, usageError } from '../errors.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { isoTime } from '../values/text.ts';

/** What a person may do. `operate` includes `read`. */
export const ROLES = ['read', 'operate'] as const;
export type Role = (typeof ROLES)[number];

/**
 * Something that operators do, written once: its command, the call of the API, the OpenAPI document and the
 * page read it. `P` is what it needs of the program, `I` the schema of what is given, `R` what came of it.
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
   * The change that running services apply; without a sequence, the latest one. The command waits until they
   * have applied it. Absent if services apply nothing.
   */
  readonly followed?: (result: R) => { readonly sequence?: number };
  /** The version of what it changes, for people who look at a change before it is made. */
  readonly version?: VersionOf<P, z.output<I>, R>;
  /** Absent if one person may always do it. */
  readonly fourEyes?: FourEyesOf<P, z.output<I>, R>;
}

/** The acts that need a second person if the setting `fourEyes` names them, and they loosen. */
interface FourEyesOf<P, I, R> {
  readonly name: 'unfreeze' | 'lists' | 'prices' | 'orders' | 'releases' | 'lockouts' | 'clock';
  /** What the act would do. Throws what it would throw, if that can be seen before. */
  readonly judge: (parts: P, input: I) => Promise<Judged<I, R>>;
}

export type Judged<I, R> =
  /** It can approve nothing that was refused before, so one person may do it. */
  | { readonly is: 'tighter' }
  /** There is nothing to do: the result without a change that loosens. */
  | { readonly is: 'done'; readonly result: () => R | Promise<R> }
  | {
      readonly is: 'looser';
      /** In place of the input, if that depends on when it is read. */
      readonly input?: I;
      /** What it undoes, for the second person: a line each. */
      readonly about?: readonly string[];
    };

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
  /** How acts wait for a second person; undefined if none does. */
  readonly fourEyes: FourEyes | undefined;
}

/**
 * Performs an act. All commands, calls and forms go through here. Throws USAGE if the schema refuses the
 * input, or if what it changes is no longer what its author saw; and AWAITS_SIGNATURES if a second person
 * must agree, for which a request was made.
 */
export async function perform<P, I extends z.ZodObject, R>(
  act: Act<P, I, R>,
  parts: P,
  given: z.input<I>,
  author: Author,
): Promise<R> {
  const { by, seen } = author;
  const read = act.input.safeParse(given);
  if (!read.success) {
    const members = Object.keys(act.input.shape).join(', ');
    throw usageError(`${formatSchemaError(read.error, given)}; write { ${members} }`);
  }
  await requireSeen(act, parts, read.data, seen);
  if (act.fourEyes !== undefined && author.fourEyes?.acts.includes(act.fourEyes.name) === true) {
    const judged = await act.fourEyes.judge(parts, read.data);
    if (judged.is === 'done') return judged.result();
    if (judged.is === 'looser') {
      const { input = read.data, about = [] } = judged;
      throw awaits(await author.fourEyes.ask({ act: act.name, input, seen, about, by }));
    }
  }
  return act.perform(parts, read.data, by);
}

/** Throws USAGE if what an act changes has another version than its author saw. */
export async function requireSeen<P, I extends z.ZodObject, R>(
  { version }: Act<P, I, R>,
  parts: P,
  input: z.output<I>,
  seen: number | undefined,
): Promise<void> {
  if (seen === undefined || version === undefined || (await version.before(parts, input)) === seen) return;
  throw usageError(`${version.of} changed meanwhile. Look at what would change again`);
}

function awaits({ id, signatures, expiresAtMs }: ApprovalRequest): CountersignError {
  const who = signatures.length === 0 ? 'two people sign' : 'a second person signs';
  const expires = isoTime(expiresAtMs);
  return new CountersignError(
    'AWAITS_SIGNATURES',
    `nothing has changed yet: it is done once ${who} request ${id}, until ${expires}, with ` +
      `\`countersign approvals approve ${id} --key FILE\``,
    { request: id, signatures: signatures.length, expires },
  );
}

/**
 * What to say if somebody else made a change between the version that was seen and this one: stores don't
 * compare versions of lists and prices (docs/console.md). Empty if nobody did.
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
