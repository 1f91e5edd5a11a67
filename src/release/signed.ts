import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import { type Signed, signatures } from '../approvals/signers.ts';
import { NO_PEOPLE, PEOPLE_FILE, type People } from '../policy/people.ts';
import { readPeople } from '../policy/compile.ts';
import { type Field, readStatement, refused, statementText } from '../signature/statement.ts';
import type { Store } from '../store/store.ts';
import { sha256Hex } from '../values/canonical.ts';
import { readInstant } from '../values/clock.ts';
import { isoTime, jsonOrText } from '../values/text.ts';
import { contentIn } from './content.ts';
import type { SignedRevision } from './push.ts';

/*
 * The statement by which people put a revision in force, and where a store keeps it: beside the revision, and
 * by its serial, so that the statements form a chain back to the first one.
 */

const KIND = 'countersign-revision/1';

/** A revision that was put in force by a statement. */
export interface Followed {
  /** Grows with each statement. */
  readonly serial: number;
  readonly revision: string;
}

/** What is said of a revision. */
export interface RevisionStatement extends Followed {
  readonly deployment: string;
  /** What it follows; undefined for the first signed revision. */
  readonly previous: Followed | undefined;
  /** SHA-256 of people.yaml in the revision; undefined without one. */
  readonly people: string | undefined;
  /** It must not be put in force later. */
  readonly expiresAtMs: number;
}

const peopleText = (document: string): string | undefined => contentIn(document, '').files?.[PEOPLE_FILE];

/** The SHA-256 of people.yaml in the document of a revision. */
export function peopleHash(document: string): string | undefined {
  const text = peopleText(document);
  return text === undefined ? undefined : sha256Hex(text);
}

/** The people in the document of a revision. Nobody, if this version can't read the file. */
export function peopleOf(document: string): People {
  const text = peopleText(document);
  const read = text === undefined ? undefined : readPeople(text);
  return read?.ok === true ? read.people : NO_PEOPLE;
}

export function revisionStatement(statement: RevisionStatement): string {
  const { deployment, serial, revision, previous, people, expiresAtMs } = statement;
  return statementText(KIND, [
    ['deployment', deployment],
    ['serial', String(serial)],
    ['revision', `sha256:${revision}`],
    ['previous', previous === undefined ? 'none' : `${previous.serial} sha256:${previous.revision}`],
    ['people', people === undefined ? 'none' : `sha256:${people}`],
    ['expires', isoTime(expiresAtMs)],
  ]);
}

const FIELDS = ['deployment', 'serial', 'revision', 'previous', 'people', 'expires'];
const SERIAL = String.raw`[1-9]\d{0,14}`;
const SHA256 = String.raw`sha256:([0-9a-f]{64})`;
const shape = z.tuple([
  z.string(),
  z
    .string()
    .regex(new RegExp(`^${SERIAL}$`))
    .transform(Number),
  z
    .string()
    .regex(new RegExp(`^${SHA256}$`))
    .transform(hashIn),
  z.union([
    z.literal('none').transform(() => undefined),
    z
      .string()
      .regex(new RegExp(`^${SERIAL} ${SHA256}$`))
      .transform((text): Followed => ({ serial: Number(text.split(' ')[0]), revision: hashIn(text) })),
  ]),
  z.union([
    z.literal('none').transform(() => undefined),
    z
      .string()
      .regex(new RegExp(`^${SHA256}$`))
      .transform(hashIn),
  ]),
  z.string().transform((text) => readInstant(text) ?? NaN),
]);

function hashIn(text: string): string {
  return text.slice(text.indexOf(':') + 1);
}

/** Throws SIGNATURE_REFUSED for a text that {@link revisionStatement} does not write. */
export function readRevisionStatement(text: string): RevisionStatement {
  const fields = readStatement(text, KIND);
  const read = shape.safeParse(fields.map(([, value]) => value));
  if (!read.success || !hasNames(fields))
    throw refused('the statement of the revision has other fields, or is cut off');
  const [deployment, serial, revision, previous, people, expiresAtMs] = read.data;
  const statement = { deployment, serial, revision, previous, people, expiresAtMs };
  // Each statement has one form. Another one might be read in another way somewhere else.
  if (Number.isNaN(expiresAtMs) || revisionStatement(statement) !== text) {
    throw refused('the statement of the revision is not in its only form');
  }
  return statement;
}

const hasNames = (fields: readonly Field[]): boolean =>
  fields.length === FIELDS.length && fields.every(([name], at) => name === FIELDS[at]);

const nameOfRevision = (revision: string): string => `${revision}:signed`;
const nameOfSerial = (serial: number): string => `serial:${serial}`;

export function signedRevision({ statement, signatures: given }: Signed): SignedRevision {
  const { serial, revision } = readRevisionStatement(statement);
  const text = JSON.stringify({ statement, signatures: given });
  return { serial, documents: { [nameOfRevision(revision)]: text, [nameOfSerial(serial)]: text } };
}

const signedShape = z.strictObject({ statement: z.string(), signatures });

/** By whom a revision was signed last. Undefined without signatures. */
export const signedOf = (store: Pick<Store, 'document'>, revision: string): Promise<Signed | undefined> =>
  readSigned(store, nameOfRevision(revision));

/** The statement with a serial, and its signatures. */
export const signedBySerial = (store: Pick<Store, 'document'>, serial: number): Promise<Signed | undefined> =>
  readSigned(store, nameOfSerial(serial));

async function readSigned(store: Pick<Store, 'document'>, name: string): Promise<Signed | undefined> {
  const text = await store.document(name);
  if (text === undefined) return undefined;
  const read = signedShape.safeParse(jsonOrText(text));
  if (read.success) return read.data;
  throw new CountersignError('STORE_CORRUPT', `the signatures that the store has as ${name} can't be read`, {
    name,
  });
}
