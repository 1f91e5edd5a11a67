import { z } from 'zod';
import { type ApprovalRequest, createRequests } from '../approvals/requests.ts';
import type { Signature, Signed } from '../approvals/signers.ts';
import { CountersignError, usageError } from '../errors.ts';
import type { Release } from '../policy/release.ts';
import { refused } from '../signature/statement.ts';
import type { ApprovalRequests, Control, Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { jsonOrText } from '../values/text.ts';
import { pushRelease, shortRevision } from './push.ts';
import {
  type Followed,
  type RevisionStatement,
  peopleHash,
  revisionStatement,
  signedOf,
  signedRevision,
  readRevisionStatement,
} from './signed.ts';
import { type SignerRules, type Trusted, lastTrusted, signersSoFar, unlessForged } from './trust.ts';

/*
 * How a revision gets in force where people must sign it: at once with enough signatures, and otherwise by a
 * request that further people sign.
 */

/** How long a statement can be put in force. */
const STATEMENT_KEEP_MS = 7 * 86_400_000;

export interface PutInForceParts {
  readonly store: Pick<Store, 'push' | 'document' | 'control' | 'history'> & ApprovalRequests;
  readonly clock: Clock;
  /** Absent if nobody has to sign. */
  readonly signers?: SignerRules | undefined;
}

export interface PutInForce {
  readonly release: Pick<Release, 'revision' | 'document'>;
  readonly files?: string | undefined;
  /** The revision that the release was compared with; the empty text for none. */
  readonly expected: string;
  readonly by: string;
  readonly message: string;
  /**
   * Push without signatures although those in force are signed: services without `signers` alone follow it.
   */
  readonly unsigned?: boolean | undefined;
  /** What was signed, and by whom so far; absent where nobody has to sign. */
  readonly signed?: { readonly statement: string; readonly signatures: readonly Signature[] } | undefined;
}

export type InForceOrRequested =
  | { readonly control: Control; readonly trusted?: Trusted | undefined }
  | { readonly request: ApprovalRequest; readonly trusted: Trusted };

/**
 * The statement about a release that a person is to sign. It follows the last revision that enough people have
 * signed, or the one in force if there is none.
 */
export async function statementFor(
  { store, clock }: Pick<PutInForceParts, 'store' | 'clock'>,
  rules: SignerRules,
  { release: { revision, document }, expected }: Pick<PutInForce, 'release' | 'expected'>,
): Promise<string> {
  const { deployment, minSerial } = rules;
  const before =
    (await lastTrusted(store, rules, expected)) ?? (await unlessForged(() => lastSigned(store, expected)));
  const statement: RevisionStatement = {
    deployment,
    serial: Math.max((before?.serial ?? 0) + 1, minSerial),
    revision,
    previous: before,
    people: peopleHash(document),
    expiresAtMs: clock() + STATEMENT_KEEP_MS,
  };
  return revisionStatement(statement);
}

async function lastSigned(store: Pick<Store, 'document'>, revision: string): Promise<Followed | undefined> {
  const signed = revision === '' ? undefined : await signedOf(store, revision);
  return signed && { serial: readRevisionStatement(signed.statement).serial, revision };
}

/** What a person who signs compares a revision with: the last one that enough people have signed. */
export async function comparedWith(
  store: Pick<Store, 'document' | 'history'>,
  rules: SignerRules,
  inForce: string,
): Promise<{ readonly revision: string; readonly warning: string }> {
  if (inForce === '') return { revision: '', warning: '' };
  const trusted = await lastTrusted(store, rules, inForce);
  const unsigned = `Not enough people have signed ${shortRevision(inForce)}, which was put in force`;
  if (trusted === undefined) {
    return {
      revision: inForce,
      warning: `${unsigned}: read the whole policies, and not the difference alone.`,
    };
  }
  const { revision } = trusted;
  const isInForce = revision === inForce;
  return {
    revision,
    warning: isInForce
      ? ''
      : `${unsigned}. The difference is to the last one that they have, ${shortRevision(revision)}.`,
  };
}

/** Who has signed a statement so far, judged as services do that follow what is in force. */
export async function signersOfPush(
  {
    store,
    clock,
    signers: rules,
  }: Pick<PutInForceParts, 'store' | 'clock'> & { readonly signers: SignerRules },
  signed: Signed,
  { document, expected }: { readonly document: string; readonly expected: string },
): Promise<Trusted> {
  const followed = await lastTrusted(store, rules, expected);
  return signersSoFar({ store, rules, followed, nowMs: clock() }, signed, document);
}

/**
 * Puts a release in force, or leaves a request if further people must sign it. Throws POLICY_CONFLICT if
 * another revision than `expected` is in force, REVISION_UNTRUSTED for a statement that can't be followed,
 * and SIGNATURE_REFUSED if a signature does not count.
 */
export async function putInForce(parts: PutInForceParts, given: PutInForce): Promise<InForceOrRequested> {
  const { store, clock, signers: rules } = parts;
  const { signed, unsigned: _unused, ...push } = given;
  if (rules === undefined) {
    await requireUnsigned(store, given);
    return { control: await pushRelease(store, push) };
  }
  if (signed === undefined || signed.signatures.length === 0) {
    throw refused('the settings have signers, and nobody has signed this; give --key with your SSH key');
  }
  const { document } = push.release;
  const trusted = await signersOfPush({ store, clock, signers: rules }, signed, { ...push, document });
  const [first] = trusted.refused;
  if (first !== undefined) throw refused(first);
  if (trusted.signers.length >= trusted.needed) {
    return { control: await pushRelease(store, { ...push, signed: signedRevision(signed) }), trusted };
  }
  const { release, files, expected, by, message } = push;
  const content: Content = { document: release.document, files, expected };
  const request = await createRequests(store, clock).create({
    kind: 'revision',
    ...signed,
    by,
    message,
    expiresAtMs: trusted.statement.expiresAtMs,
    content: JSON.stringify(content),
  });
  return { request, trusted };
}

/** Settings without signers beside services that have some would stop every approval. */
async function requireUnsigned(
  store: Pick<Store, 'document'>,
  { expected, unsigned }: PutInForce,
): Promise<void> {
  if (unsigned === true || expected === '' || (await signedOf(store, expected)) === undefined) return;
  throw usageError(
    'people signed the policies in force, and these settings have no signers: services that have them would refuse ' +
      'every callback. Add `signers` to the settings of this command, or push with --unsigned if no service has them',
  );
}

const contentShape = z.object({ document: z.string(), files: z.string().optional(), expected: z.string() });
type Content = Readonly<z.output<typeof contentShape>>;

/**
 * The revision that a request would put in force. Throws STORE_CORRUPT, or NOT_FOUND for another kind of
 * request.
 */
export function requestedRevision({ id, kind, content }: ApprovalRequest): Content {
  if (kind !== 'revision')
    throw new CountersignError('NOT_FOUND', `request ${id} is about no policies`, { id });
  const read = contentShape.safeParse(jsonOrText(content));
  if (read.success) return read.data;
  throw new CountersignError('STORE_CORRUPT', `the revision of request ${id} can't be read; push it again`, {
    id,
  });
}

/**
 * Adds a signature to a request. With the last one that is needed, the revision is put in force; without one,
 * if it has enough already: whoever signed last may not have been able to. Throws SIGNATURE_REFUSED if the
 * signature does not count, and REQUEST_ENDED if the request can't be signed any more.
 */
export async function signRequest(
  parts: PutInForceParts & { readonly signers: SignerRules },
  {
    id,
    signature,
    by,
  }: { readonly id: string; readonly signature?: Signature | undefined; readonly by: string },
): Promise<InForceOrRequested & { readonly before: string }> {
  const { store, clock, signers: rules } = parts;
  const requests = createRequests(store, clock);
  let trusted: Trusted | undefined;
  const request = await requests.change(id, async ({ statement, signatures, ...asked }) => {
    const { document, expected } = requestedRevision({ ...asked, statement, signatures });
    if ((await store.control()).revision !== expected) {
      return { state: 'superseded', endedBy: by, reason: 'another revision was put in force meanwhile' };
    }
    const signed = {
      statement,
      signatures: signature === undefined ? signatures : [...signatures, signature],
    };
    trusted = await signersOfPush({ store, clock, signers: rules }, signed, { document, expected });
    // Who may no longer sign doesn't stop the others.
    if (signature !== undefined && !trusted.signers.some((each) => each.signature === signature)) {
      throw refused(trusted.refused.at(-1) ?? 'the signature does not count');
    }
    return signed;
  });
  if (trusted === undefined)
    throw new CountersignError('POLICY_CONFLICT', `request ${id}: ${request.reason}; push again`);
  const { document, files, expected } = requestedRevision(request);
  if (trusted.signers.length < trusted.needed) return { before: expected, request, trusted };
  const control = await pushRelease(store, {
    release: { revision: trusted.revision, document },
    files,
    expected,
    by: request.by,
    message: request.message,
    signed: signedRevision(request),
  });
  await requests.change(id, () => ({ state: 'done', endedBy: by, reason: '' }));
  return { before: expected, control, trusted };
}
