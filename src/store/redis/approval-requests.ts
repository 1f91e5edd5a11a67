import { z } from 'zod';
import { assertApprovalRequestChange } from '../arguments.ts';
import { APPROVAL_REQUESTS_MAX, type ApprovalRequestRecord, type ApprovalRequests } from '../store.ts';
import { flag } from './claims.ts';
import { requestKeys } from './keys.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { digits, parseReply, readHash, text } from './reply.ts';
import { loadScript, run } from './script.ts';

const readScript = loadScript('approval-requests');
const changeScript = loadScript('change-approval-request-3');

/** The most requests of one command, because Redis runs nothing else meanwhile. */
const READ_AT_ONCE = 100;

/** A request of a source is in the slot of the source, so that `settle` can use it in the same step. */
export function createApprovalRequests(parts: RedisParts): ApprovalRequests {
  return {
    async openApprovalRequests(scope, newest = APPROVAL_REQUESTS_MAX) {
      const { requests } = requestKeys(parts.keys, scope);
      const what = `the open approval requests of "${scope}"`;
      const places = await readHash(parts.connection, what, requests);
      const ids = [...places]
        .map(([id, written]) => ({ id, place: parseReply(placeText, what, written) }))
        .toSorted((a, b) => a.place - b.place)
        .slice(-newest)
        .map(({ id }) => id);
      const open: { readonly id: string; readonly record: ApprovalRequestRecord }[] = [];
      for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
        const some = ids.slice(from, from + READ_AT_ONCE);
        for (const [at, record] of (await readRequests(parts, scope, some)).entries()) {
          const id = some[at];
          if (id !== undefined && record?.isOpen === true) open.push({ id, record });
        }
      }
      return open;
    },
    approvalRequest: async (scope, id) => (await readRequests(parts, scope, [id]))[0],
    async changeApprovalRequest(change) {
      assertApprovalRequestChange(change);
      const { scope, id, expected, value, isOpen, keepMs } = change;
      const { control, request, requests } = requestKeys(parts.keys, scope);
      const names = [control, request(id), requests];
      const { subjectsMs } = parts.retention;
      const args = [clockArgument(parts), id, expected, value, flag(isOpen), keepMs, subjectsMs];
      const reply = await run(parts.connection, changeScript, names, [...args, APPROVAL_REQUESTS_MAX]);
      const [outcome, ended] = parseReply(changeReply, 'a changed approval request', reply);
      return { done: outcome === 'changed', ...(ended !== undefined && { ended }) };
    },
  };
}

/** The place, and until when the request is kept. */
const placeText = z
  .string()
  .regex(/^\d{1,15} \d{1,16}$/)
  .transform((written) => Number.parseInt(written, 10));
const changeReply = z.union([
  z.tuple([z.literal('changed'), text.optional()]),
  z.tuple([z.literal('other version')]),
]);
const record = z
  .tuple([digits, text, z.enum(['0', '1']), text])
  .transform(([version, value, open, usedBy]) => ({ version, value, isOpen: open === '1', usedBy }))
  .nullable();

async function readRequests(
  parts: RedisParts,
  scope: string,
  ids: readonly string[],
): Promise<readonly (ApprovalRequestRecord | undefined)[]> {
  const { control, request, requests } = requestKeys(parts.keys, scope);
  const names = [control, requests, ...ids.map(request)];
  const reply = await run(parts.connection, readScript, names, [clockArgument(parts), ...ids]);
  const found = parseReply(z.array(record).length(ids.length), `approval requests of "${scope}"`, reply);
  return found.map((each) => each ?? undefined);
}
