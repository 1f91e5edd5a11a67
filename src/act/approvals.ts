import { z } from 'zod';
import { askedIn } from '../approvals/callbacks.ts';
import { type ApprovalRequest, createRequests } from '../approvals/requests.ts';
import { type Signer, type SigningScope, isAuthor, signature, signersOf } from '../approvals/signers.ts';
import type { People } from '../policy/people.ts';
import { refused } from '../signature/statement.ts';
import type { ApprovalRequests, Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { printable } from '../values/text.ts';
import type { Act } from './act.ts';

interface Parts {
  readonly store: ApprovalRequests & Pick<Store, 'record'>;
  readonly clock: Clock;
}

/** A request of a source, by its subject; or one that holds for all sources, with an empty source. */
const requestInput = { request: z.string(), source: z.string() };

const rejectInput = z.strictObject({ ...requestInput, message: z.string() });

/** Nobody has to sign this: it can only prevent what would need signatures. */
export const rejectRequest: Act<Parts, typeof rejectInput, ApprovalRequest> = {
  name: 'approvals reject',
  summary: 'Reject a request, so that nobody can approve or sign it any more.',
  role: 'operate',
  input: rejectInput,
  async perform(parts, { request: id, source, message: reason }, by) {
    const ended = { state: 'rejected', endedBy: by, reason } as const;
    const request = await createRequests(parts.store, parts.clock, source).change(id, () => ended);
    await journalled(parts, { source, request, code: 'REJECTED', more: { by, message: reason } });
    return request;
  },
  text: ({ id, reason }) => `Rejected request ${id}: ${printable(reason)}`,
  json: ({ id, state, endedBy, reason }) => ({ request: id, state, by: endedBy, reason }),
};

const MESSAGE_MAX_CHARACTERS = 1000;

const approveInput = z.strictObject({
  ...requestInput,
  signature,
  /** Why, for the journal. It is not signed. */
  message: z.string().max(MESSAGE_MAX_CHARACTERS).optional(),
});

interface ApproveParts extends Parts {
  /** Of the revision in force. */
  readonly people: People;
  readonly scope: SigningScope;
}

export interface Approved {
  readonly request: ApprovalRequest;
  /** All who have approved so far. */
  readonly signers: readonly Signer[];
}

/** A person's approval of a callback. The next time that the callback comes, it counts. */
export const approveCallback: Act<ApproveParts, typeof approveInput, Approved> = {
  name: 'approvals approve',
  summary: 'Approve a transfer or payment that waits for people, or sign policies that do.',
  // The signature says who approves.
  role: 'read',
  input: approveInput,
  async perform(parts, { request: id, source, signature: given, message }) {
    let signers: readonly Signer[] = [];
    const request = await createRequests(parts.store, parts.clock, source).change(id, async (waiting) => {
      // What can't be shown as the callback that arrived, or the order, must not be signed.
      askedIn(waiting, { source, deployment: parts.scope.deployment });
      const { statement, signatures } = waiting;
      const signed = { statement, signatures: [...signatures, given] };
      const found = await signersOf(signed, parts.people, { role: 'approve', scope: parts.scope });
      // Who was removed since must not stop the others.
      const own = found.signers.find((each) => each.signature === given);
      if (own === undefined) throw refused(found.refused.at(-1) ?? 'the signature does not count');
      if (isAuthor(waiting, own.person))
        throw refused(`${waiting.by} has made the request, so another person must approve it`);
      ({ signers } = found);
      return { signatures: signed.signatures };
    });
    const { person = '', key = '' } = signers.at(-1) ?? {};
    const more = { by: person, key, signature: given, message };
    await journalled(parts, { source, request, code: 'APPROVED_BY_PERSON', more });
    return { request, signers };
  },
  text({ request: { id }, signers }) {
    const names = signers.map(({ person }) => person).join(', ');
    return `Approved ${id}. So far: ${names}. It counts when the callback is decided again.`;
  },
  json: ({ request: { id }, signers }) => ({
    request: id,
    approvers: signers.map(({ person, key }) => ({ person, key })),
  }),
};

/** In the journal of the source, with all that is needed to verify it later. */
async function journalled(
  { store }: Parts,
  {
    source,
    request,
    code,
    more,
  }: {
    readonly source: string;
    readonly request: ApprovalRequest;
    readonly code: string;
    readonly more: object;
  },
): Promise<void> {
  // What holds for all sources is in the history of what it changes.
  if (source === '') return;
  const { id: subject, statement } = request;
  const detail = JSON.stringify({ ...more, statement });
  await store.record({ source, type: 'approval', subject, verdict: '', code, of: '', detail });
}
