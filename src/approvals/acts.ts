import { z } from 'zod';
import { CountersignError, usageError } from '../errors.ts';
import { type Field, inClear, refused, statementText } from '../signature/statement.ts';
import type { ApprovalRequests } from '../store/store.ts';
import { type Json, sha256Hex } from '../values/canonical.ts';
import type { Clock } from '../values/clock.ts';
import { counted, isoTime, jsonOrText } from '../values/text.ts';
import { type ApprovalRequest, createRequests } from './requests.ts';
import type { Signature } from './signers.ts';

/*
 * Four eyes: what an operator wants to do waits as a request, until people have signed what it would do.
 */

const KIND = 'countersign-act/1';
const KEEP_MS = 24 * 3_600_000;
/** Of a list of texts, how many a statement has in clear. Of a longer one it has the number and the hash. */
const CLEAR_MAX = 20;
const CONTENT_MAX_CHARACTERS = 1_000_000;
/** With the names of two people, an author must be no longer than what the stores take. */
const BY_MAX_CHARACTERS = 56;

const contentShape = z.strictObject({
  /** The name of the act. */
  act: z.string(),
  /** What its schema has read. */
  input: z.record(z.string(), z.json()),
  /** The version of what it changes that its author saw; absent if that was not said. */
  seen: z.number().optional(),
  /** What it undoes, such as freezes with their reasons. */
  about: z.array(z.string()),
});
export type ActContent = Readonly<z.output<typeof contentShape>>;

/** An act that is to wait for a second person. */
export interface AskedAct {
  readonly act: string;
  readonly input: object;
  readonly seen: number | undefined;
  readonly about: readonly string[];
  readonly by: string;
}

/** How acts become requests. */
export interface FourEyes {
  /** What the setting `fourEyes` names. */
  readonly acts: readonly string[];
  /** Makes the request. Throws USAGE for an act that is too long to be shown to people. */
  readonly ask: (asked: AskedAct) => Promise<ApprovalRequest>;
}

interface FourEyesParts {
  readonly acts: readonly string[];
  readonly deployment: string;
  readonly store: () => Promise<ApprovalRequests>;
  readonly clock: Clock;
  /** Signs as the person who asks. Absent if that person has no key here. */
  readonly sign?: ((statement: string) => Promise<Signature>) | undefined;
}

export function createFourEyes({ acts, deployment, store, clock, sign }: FourEyesParts): FourEyes {
  return {
    acts,
    async ask({ by, ...asked }) {
      const text = JSON.stringify(asked);
      if (text.length > CONTENT_MAX_CHARACTERS || by.length > BY_MAX_CHARACTERS) {
        throw usageError(
          text.length > CONTENT_MAX_CHARACTERS
            ? `${asked.act} has too much for a second person to agree to; make several smaller changes`
            : `the author ${by} has more than ${BY_MAX_CHARACTERS} characters; write a shorter name`,
        );
      }
      const content = contentIn(text);
      if (content === undefined) throw usageError(`${asked.act} has a value that can't be signed`);
      const requests = createRequests(await store(), clock);
      // Somebody who asks again, such as a program that got no answer, asks for the same.
      const isSame = (each: ApprovalRequest): boolean =>
        each.kind === 'act' && each.by === by && each.content === text;
      const before = sign === undefined ? (await requests.pending()).requests.find(isSame) : undefined;
      if (before !== undefined) return before;
      const createdAtMs = clock();
      const request = { by, createdAtMs, expiresAtMs: createdAtMs + KEEP_MS };
      const statement = actStatement(deployment, content, request);
      const signatures = sign === undefined ? [] : [await sign(statement)];
      const { message: said } = content.input;
      const why = typeof said === 'string' && said !== '' ? [said] : [];
      const message = [asked.act, ...why, ...content.about].join(': ');
      return requests.create({ ...request, kind: 'act', statement, signatures, message, content: text });
    },
  };
}

/** What people sign about an act: all that it is given, in clear. */
function actStatement(
  deployment: string,
  { act, input, seen, about }: ActContent,
  { by, createdAtMs, expiresAtMs }: Pick<ApprovalRequest, 'by' | 'createdAtMs' | 'expiresAtMs'>,
): string {
  return statementText(KIND, [
    ['deployment', deployment],
    ['act', act],
    ...Object.entries(input).flatMap(([name, value]) => fieldsOf(name, value)),
    ...(seen === undefined ? [] : [['seen', String(seen)] as const]),
    ...about.map((line): Field => ['about', inClear(line)]),
    ['asked', inClear(by)],
    ['created', isoTime(createdAtMs)],
    ['expires', isoTime(expiresAtMs)],
  ]);
}

/** A text is an `input`, and what is no text a `value`, as JSON: no two inputs have the same lines. */
function fieldsOf(path: string, value: Json = null): readonly Field[] {
  if (typeof value === 'string') return [['input', `${path} ${inClear(value)}`]];
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) return [['value', `${path} ${JSON.stringify(value)}`]];
  if (isLong(value)) {
    return [['values', `${path} ${value.length} sha256:${sha256Hex(JSON.stringify(value))}`]];
  }
  return entries.flatMap(([name, each]) =>
    fieldsOf(`${path}.${/^\w+$/.test(name) ? name : quoted(name)}`, each),
  );
}

/** As JSON in ASCII without a blank, also if {@link inClear} would leave it as it is. */
const quoted = (name: string): string =>
  JSON.stringify(name).replaceAll(
    /[^!-~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const isLong = (value: Json): value is string[] =>
  Array.isArray(value) && value.length > CLEAR_MAX && value.every((each) => typeof each === 'string');

function contentIn(text: string): ActContent | undefined {
  const read = contentShape.safeParse(jsonOrText(text));
  return read.success ? read.data : undefined;
}

/**
 * The act of a request, from which its statement follows, so that a person signs what would be done. Throws
 * SIGNATURE_REFUSED if the request has another statement, and NOT_FOUND for another kind of request.
 */
export function actOfRequest(request: ApprovalRequest, deployment: string): ActContent {
  const { id, kind } = request;
  if (kind !== 'act') throw new CountersignError('NOT_FOUND', `request ${id} is about no act`, { id });
  const content = contentIn(request.content);
  if (content !== undefined && actStatement(deployment, content, request) === request.statement)
    return content;
  throw refused(`the statement of request ${id} is not about its act. Don't sign it, and tell the operator`);
}

/** The values of which the statement only has the number and the hash: a line each. */
export function valuesNotInClear({ input }: ActContent): readonly string[] {
  return Object.entries(input).flatMap(([name, value]) =>
    isLong(value)
      ? [`${name}, ${counted(value.length, 'value')}:`, ...value.map((each) => `  ${inClear(each)}`)]
      : [],
  );
}
