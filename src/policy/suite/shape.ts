import { z } from 'zod';
import type { Kind } from '../../callback/callback.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import { readInstant } from '../../values/clock.ts';
import { type Path, type Problem, problemsOf, formatInput } from '../fault.ts';
import { DURATION_PATTERN, WINDOW_MAX_MS, amountText, durationMs } from '../language/parameter.ts';

/*
 * The shapes of a test file, one for each level. A value that may have several shapes is `unknown` here and
 * is read separately, for precise faults. The message of a schema is the phrase for what it expects.
 */

const CASES_MAX = 10_000;
const CALLBACKS_MAX = 1000;

const INSTANT = 'an instant with Z or an offset, like 2026-03-02T10:00:00Z';
const AFTER = 'a duration up to 400d, like 0s, 90s, 5m, 1h or 2d';
const TESTS = `a list of at least one test and at most ${CASES_MAX}`;
const CALLBACKS = `a list of at least one callback and at most ${CALLBACKS_MAX}`;
const TEXT = 'a text';
const ANSWER = 'yes, no or failed';

const text = z.string({ error: TEXT }).min(1, { error: TEXT });

/** In milliseconds since the epoch. */
const instantText = z
  .string({ error: INSTANT })
  .refine((written) => readInstant(written) !== undefined, { error: INSTANT })
  .transform((written) => readInstant(written) ?? 0);

export const fileShape = z.strictObject({
  tests: z
    .array(z.unknown(), { error: TESTS })
    .min(1, { error: TESTS })
    .max(CASES_MAX, { error: TESTS })
    .describe('The tests. Each starts with an empty state, except for `given`.'),
});

export const caseShape = z.strictObject({
  test: z
    .string({ error: TEXT })
    .min(1, { error: TEXT })
    .max(300, { error: 'at most 300 characters' })
    .describe('The promise, in a sentence. It is unique in the file.'),
  now: instantText.describe('The instant of the first callback, with Z or an offset.'),
  given: z.unknown().optional().describe('The state before the first callback.'),
  callbacks: z
    .array(z.unknown(), { error: CALLBACKS })
    .min(1, { error: CALLBACKS })
    .max(CALLBACKS_MAX, { error: CALLBACKS })
    .describe('The callbacks, in order. Each may change the state for the next.'),
});

export const givenShape = z.strictObject({
  lists: z.unknown().optional().describe('Lists in the store: by source, then by list, its values.'),
  prices: z.unknown().optional().describe('Prices by asset.'),
  orders: z.unknown().optional().describe('Announced orders.'),
  answers: z.unknown().optional().describe('The answers of services and modules, by name.'),
  groups: z.unknown().optional().describe('The groups of sources: by group, its sources.'),
});

export const listValueShape = z.strictObject({
  value: text.describe('The value.'),
  added: instantText
    .optional()
    .describe('The instant when it was added to the list. The default is the epoch.'),
});

export const priceShape = z.strictObject({
  price: amountText
    .refine((price) => price > 0n, { error: 'a price above zero, like 97000 or 0.0001' })
    .describe('The price of one whole unit of the asset.'),
  asOf: instantText.describe('The instant of the price.'),
});

/** Exactly one must be present: the kind of the subject, with its id. */
const subjectShape = {
  payment: text.optional().describe('The `appOrderId` of a payment.'),
  transfer: text.optional().describe('The `request_id` of a withdrawal.'),
  web3: text.optional().describe('The `request_id` of a web3 transaction.'),
} satisfies Readonly<Record<Kind, z.ZodType>>;

export const orderShape = z.strictObject({
  source: text.describe('The source of the order.'),
  ...subjectShape,
  members: z
    .record(z.string(), z.unknown(), { error: 'a mapping of members to texts' })
    .describe('The announced members, as `orders expect` takes them.'),
  expires: instantText.describe('The instant when it expires.'),
});

export const answersShape = z.strictObject({
  service: answersOf('Answers of services'),
  module: answersOf('Answers of modules'),
});

/** Exactly one must be present: the members of the callback, under its kind. */
const wireShape = {
  payment: z.unknown().optional().describe('A payment confirmation: its members on the wire.'),
  transfer: z
    .unknown()
    .optional()
    .describe(
      'A withdrawal: its members on the wire. The default of `type` is sign_prepare, of `transfer_id` 1.',
    ),
  web3: z
    .unknown()
    .optional()
    .describe(
      'A web3 transaction: its members on the wire. The default of `type` is sign_prepare, of `trans_id` 1.',
    ),
} satisfies Readonly<Record<Kind, z.ZodType>>;

export const callbackShape = z.strictObject({
  source: text.describe('The source that sends it.'),
  ...wireShape,
  scheme: text.optional().describe('The scheme that a payment is signed with.'),
  approvedBy: z
    .array(text, { error: 'a list of names of people' })
    .optional()
    .describe('The people who have approved it by then, for the rule `approval`.'),
  after: z
    .string({ error: AFTER })
    .refine((written) => lengthOf(written) !== undefined, { error: AFTER })
    .transform((written) => lengthOf(written) ?? 0)
    .optional()
    .describe('The time since the callback before: 90s, 5m, 1h, 2d. The default is 0s.'),
  /** Required: `readExpectation` reports a missing one in a better sentence. */
  expect: z.unknown().optional().describe('SUCCESS, FAILURE, or a mapping with more.'),
});

export const VERDICTS = ['SUCCESS', 'FAILURE'] as const;

export const expectShape = z.strictObject({
  verdict: z.enum(VERDICTS, { error: 'SUCCESS or FAILURE' }).describe('The answer.'),
  rule: z
    .string({ error: TEXT })
    .regex(/^(?:[a-z][a-z0-9-]*\/)?(?:[a-z][a-z0-9-]*#[1-9]\d*(?:\.[1-9]\d*)*|when)$/, {
      error: 'a rule and its place in the policy, like amount-limit#1 or small-payments/amount-limit#1',
    })
    .optional()
    .describe('The rule that refuses: amount-limit#1, POLICY/amount-limit#1, or in `all` amount-limit#1.2.'),
  code: z
    .string({ error: TEXT })
    .regex(/^[A-Z0-9_]+$/, { error: 'a code in capitals, like TERMS_CHANGED' })
    .optional()
    .describe('The code of the decision, such as RULE_REFUSED or TERMS_CHANGED.'),
  values: z
    .record(z.string(), z.string({ error: TEXT }), { error: 'a mapping of names to texts' })
    .optional()
    .describe('Values in the result of the rule that refuses. Values that are not named may be anything.'),
  because: text.optional().describe('A part of the reason.'),
});

function answersOf(what: string) {
  return z
    .record(z.string(), z.enum(['yes', 'no', 'failed'], { error: ANSWER }), {
      error: `a mapping of names to ${ANSWER}`,
    })
    .optional()
    .describe(`${what}: yes, no or failed. A plugin that is not named gives no answer, which refuses.`);
}

function lengthOf(written: string): number | undefined {
  if (/^0[smhd]?$/.test(written)) return 0;
  return DURATION_PATTERN.test(written) ? durationMs(written, WINDOW_MAX_MS) : undefined;
}

/** Reads a value by its shape; undefined after a fault. */
export function readShape<Shape extends z.ZodObject>(
  problems: Problem[],
  shape: Shape,
  written: Json | undefined,
  path: Path,
): z.output<Shape> | undefined {
  const parsed = shape.safeParse(written);
  if (parsed.success) return parsed.data;
  problems.push(...problemsOf(parsed.error, written, Object.keys(shape.shape), path));
  return undefined;
}

/** The entries of a mapping; empty after a fault. */
export function entriesOf(
  problems: Problem[],
  written: Json | undefined,
  path: Path,
  expected: string,
): readonly (readonly [string, Json])[] {
  if (written === undefined) return [];
  if (isObject(written))
    return Object.entries(written).filter((entry): entry is [string, Json] => entry[1] !== undefined);
  problems.push(valueProblem(path, written, expected));
  return [];
}

/** The items of a list; empty after a fault. */
export function itemsOf(
  problems: Problem[],
  written: Json | undefined,
  path: Path,
  expected: string,
): readonly Json[] {
  if (written === undefined) return [];
  if (Array.isArray(written)) return written as readonly Json[];
  problems.push(valueProblem(path, written, expected));
  return [];
}

export function valueProblem(path: Path, written: Json | undefined, expected: string): Problem {
  return { path, of: 'value', message: `${formatInput(written)} is not valid`, fix: `write ${expected}` };
}

/** The only one of `names` that the mapping has; undefined after a fault. */
export function oneNameOf<const Name extends string>(
  problems: Problem[],
  written: Readonly<Partial<Record<Name, unknown>>>,
  names: readonly Name[],
  path: Path,
): Name | undefined {
  const given = names.filter((name) => written[name] !== undefined);
  const [name] = given;
  if (name !== undefined && given.length === 1) return name;
  problems.push({
    path,
    of: 'value',
    message: given.length === 0 ? `it has none of ${names.join(', ')}` : `it has ${given.join(' and ')}`,
    fix: `give exactly one of ${names.join(', ')}`,
  });
  return undefined;
}
