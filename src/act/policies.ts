import { z } from 'zod';
import { pushRelease, rollback, shortRevision } from '../release/push.ts';
import type { Control, Store } from '../store/store.ts';
import type { Act } from './act.ts';

/** What a push and a rollback have put in force. */
interface InForce {
  /** The revision that was in force before. */
  readonly before: string;
  readonly control: Control;
}

const changed = {
  role: 'operate',
  text: inForceText,
  json: ({ before, control: { revision, sequence } }: InForce) => ({ before, revision, sequence }),
  followed: ({ control }: InForce) => control,
} as const;

function inForceText({ before, control }: InForce): string {
  return `In force: ${shortRevision(before)} → ${shortRevision(control.revision)}.`;
}

const pushInput = z.strictObject({
  /** The SHA-256 of the document. */
  revision: z.string(),
  document: z.string(),
  /** The files that it was compiled from: see src/release/sources.ts. */
  files: z.string().optional(),
  /** The revision that it was compared with, and that must be in force; the empty text for none. */
  expected: z.string(),
  message: z.string(),
});

export const pushPolicies: Act<{ readonly store: Pick<Store, 'push'> }, typeof pushInput, InForce> = {
  ...changed,
  name: 'policy push',
  summary:
    'Run the tests of policy files, and put the files in force on every replica. If that may loosen the ' +
    'policies, it takes a reason or --yes, or asks.',
  input: pushInput,
  async perform({ store }, { revision, document, files, expected, message }, by) {
    const release = { revision, document };
    return { before: expected, control: await pushRelease(store, { release, files, expected, by, message }) };
  },
};

const rollbackInput = z.strictObject({
  /** A revision, at least its first four digits, or `previous`. */
  revision: z.string(),
  message: z.string(),
});

export const rollBackPolicies: Act<
  { readonly store: Store },
  typeof rollbackInput,
  Awaited<ReturnType<typeof rollback>>
> = {
  ...changed,
  name: 'policy rollback',
  summary: 'Put an earlier revision in force again, and show what that changed.',
  input: rollbackInput,
  perform: ({ store }, request, by) => rollback(store, { ...request, by }),
};
