import { z } from 'zod';
import { signature as signatureShape, signatures } from '../approvals/signers.ts';
import { findRollback, shortRevision } from '../release/push.ts';
import {
  type InForceOrRequested,
  type PutInForceParts,
  putInForce,
  signRequest,
} from '../release/put-in-force.ts';
import type { SignerRules, Trusted } from '../release/trust.ts';
import type { Store } from '../store/store.ts';
import { counted, isoTime } from '../values/text.ts';
import type { Act } from './act.ts';

/** What a push, a rollback or a signature has put in force, or the request that still needs signatures. */
type Changed = InForceOrRequested & {
  /** The revision that was in force before. */
  readonly before: string;
};

const changed = {
  role: 'operate',
  text: changedText,
  json: changedJson,
  followed: (result: Changed) => ('control' in result ? result.control : {}),
  isDone: (result: Changed) => 'control' in result,
} as const;

function changedText(result: Changed): string {
  const { before, trusted } = result;
  if ('control' in result) {
    const signed = trusted === undefined ? '' : `, signed by ${namesOf(trusted)}`;
    return `In force: ${shortRevision(before)} → ${shortRevision(result.control.revision)}${signed}.`;
  }
  const { request } = result;
  const { signers, needed, revision } = result.trusted;
  return (
    `Not in force yet: ${shortRevision(revision)} is request ${request.id}, signed by ${namesOf(result.trusted)}. ` +
    `${counted(needed - signers.length, 'further signature')} needed until ${isoTime(request.expiresAtMs)}: ` +
    `\`countersign policy sign ${request.id} --key FILE\`.`
  );
}

const namesOf = ({ signers }: Trusted): string =>
  signers.length === 0 ? 'nobody' : signers.map(({ person }) => person).join(', ');

function changedJson(result: Changed): {
  readonly before: string;
  readonly revision: string;
  readonly sequence?: number;
  readonly request?: string;
  readonly signers?: readonly string[];
  readonly needed?: number;
} {
  const { before, trusted } = result;
  const signed = trusted && { signers: trusted.signers.map(({ person }) => person), needed: trusted.needed };
  if (!('control' in result)) {
    return { before, revision: result.trusted.revision, request: result.request.id, ...signed };
  }
  const { revision, sequence } = result.control;
  return { before, revision, sequence, ...signed };
}

const signedInput = z.strictObject({ statement: z.string(), signatures }).optional();

const pushInput = z.strictObject({
  /** The SHA-256 of the document. */
  revision: z.string(),
  document: z.string(),
  /** The files that it was compiled from: see src/release/sources.ts. */
  files: z.string().optional(),
  /** The revision that it was compared with, and that must be in force; the empty text for none. */
  expected: z.string(),
  message: z.string(),
  /** Its statement and signatures, where people must sign. */
  signed: signedInput,
  unsigned: z.boolean().optional(),
});

export const pushPolicies: Act<PutInForceParts, typeof pushInput, Changed> = {
  ...changed,
  name: 'policy push',
  summary:
    'Run the tests of policy files, and put the files in force on every replica. If that may loosen the ' +
    'policies, it takes a reason or --yes, or asks.',
  input: pushInput,
  async perform(parts, { revision, document, ...push }, by) {
    return {
      before: push.expected,
      ...(await putInForce(parts, { release: { revision, document }, ...push, by })),
    };
  },
};

const rollbackInput = z.strictObject({
  /** A revision, at least its first four digits, or `previous`. */
  revision: z.string(),
  message: z.string(),
  signed: signedInput,
  unsigned: z.boolean().optional(),
});

export const rollBackPolicies: Act<
  PutInForceParts & { readonly store: Pick<Store, 'history'> },
  typeof rollbackInput,
  Changed
> = {
  ...changed,
  name: 'policy rollback',
  summary: 'Put an earlier revision in force again, and show what that changed.',
  input: rollbackInput,
  async perform(parts, { revision, ...push }, by) {
    const { release, expected } = await findRollback(parts.store, revision);
    return { before: expected, ...(await putInForce(parts, { release, expected, by, ...push })) };
  },
};

const signInput = z.strictObject({
  /** The id of a request. */
  request: z.string(),
  /** Absent for a request that has enough. */
  signature: signatureShape.optional(),
});

export const signPolicies: Act<
  PutInForceParts & { readonly signers: SignerRules },
  typeof signInput,
  Changed
> = {
  ...changed,
  name: 'policy sign',
  summary: 'Sign policies that wait for signatures. The last signature that is needed puts them in force.',
  input: signInput,
  perform: (parts, { request: id, signature }, by) => signRequest(parts, { id, signature, by }),
};
