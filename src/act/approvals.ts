import { z } from 'zod';
import { type ApprovalRequest, createRequests } from '../approvals/requests.ts';
import type { ApprovalRequests } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { printable } from '../values/text.ts';
import type { Act } from './act.ts';

const rejectInput = z.strictObject({ request: z.string(), message: z.string() });

/** Nobody has to sign this: it can only prevent what would need signatures. */
export const rejectRequest: Act<
  { readonly store: ApprovalRequests; readonly clock: Clock },
  typeof rejectInput,
  ApprovalRequest
> = {
  name: 'approvals reject',
  summary: 'Reject a request, so that nobody can sign it any more.',
  role: 'operate',
  input: rejectInput,
  perform: ({ store, clock }, { request: id, message: reason }, by) =>
    createRequests(store, clock).change(id, () => ({ state: 'rejected', endedBy: by, reason })),
  text: ({ id, reason }) => `Rejected request ${id}: ${printable(reason)}`,
  json: ({ id, state, endedBy, reason }) => ({ request: id, state, by: endedBy, reason }),
};
