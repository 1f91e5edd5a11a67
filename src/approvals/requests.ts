import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { CountersignError, messageOf, usageError } from '../errors.ts';
import { LAST_INSTANT_MS } from '../store/clock-state.ts';
import type { ApprovalRequestRecord, ApprovalRequests } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { jsonOrText } from '../values/text.ts';
import { type Signature, signatures } from './signers.ts';

/*
 * What waits for people: one queue and one shape, whatever it is about.
 */

/**
 * What a request is about. `revision`: policies that are to be put in force. `callback`: what a callback
 * asks. `act`: what an operator wants to do, and a second person must agree to.
 */
const REQUEST_KINDS = ['revision', 'callback', 'act'] as const;

const instant = z.int().nonnegative().max(LAST_INSTANT_MS);

const requestShape = z.strictObject({
  kind: z.enum(REQUEST_KINDS),
  /**
   * `done`: it has taken effect, or a callback was approved by it. `superseded`: something else took effect
   * first, so that it no longer can.
   */
  state: z.enum(['pending', 'done', 'rejected', 'superseded']),
  /** What people sign. */
  statement: z.string(),
  signatures,
  /** Who made it, and why. */
  by: z.string(),
  message: z.string(),
  createdAtMs: instant,
  /** It can't be signed any more from then on. */
  expiresAtMs: instant,
  /** JSON: what the kind needs beside the statement. */
  content: z.string(),
  /** Who ended it, and why. Empty before. */
  endedBy: z.string(),
  reason: z.string(),
});

export interface ApprovalRequest extends Readonly<z.output<typeof requestShape>> {
  /** `r` and six characters; of a callback, its subject. */
  readonly id: string;
}

/** The scope of what holds for all sources. That of a callback's request is its source. */
const SHARED = '';
const ATTEMPTS_MAX = 10;
/** How long an ended request can be shown. */
const KEEP_MS = 90 * 86_400_000;
const ID = /^r[2-9a-hj-np-z]{6}$/;
/** Without those that look like another one. */
const CHARACTERS = '23456789abcdefghjkmnpqrstuvwxyz';

export type NewRequest = Pick<
  ApprovalRequest,
  'kind' | 'statement' | 'by' | 'message' | 'expiresAtMs' | 'content'
> & {
  readonly signatures: readonly Signature[];
};

/** The requests of a scope. */
export interface Requests {
  create(request: NewRequest & Partial<Pick<ApprovalRequest, 'createdAtMs'>>): Promise<ApprovalRequest>;
  read(id: string): Promise<{ readonly request: ApprovalRequest; readonly version: number } | undefined>;
  /** The same. Throws NOT_FOUND. */
  find(id: string): Promise<ApprovalRequest>;
  /**
   * Makes a request of this id in place of one that has expired or was superseded, or of none. Resolves with
   * whether it did: one that waits for people, was rejected or was used stays.
   */
  replaceEnded(id: string, request: NewRequest & Pick<ApprovalRequest, 'createdAtMs'>): Promise<boolean>;
  /**
   * Those that wait for people, oldest first, of all that are open or of the `newest`; and why others can't be
   * read, which must not hide them.
   */
  pending(
    newest?: number,
  ): Promise<{ readonly requests: readonly ApprovalRequest[]; readonly faults: readonly string[] }>;
  /**
   * Changes a request that is pending, in one atomic step: `change` may be called again if somebody else came
   * before. Throws NOT_FOUND, or REQUEST_ENDED if it is not pending or has expired.
   */
  change(
    id: string,
    change: (request: ApprovalRequest) => Partial<ApprovalRequest> | Promise<Partial<ApprovalRequest>>,
  ): Promise<ApprovalRequest>;
  /** Says of a request that is over what came of it. Throws NOT_FOUND. */
  conclude(id: string, reason: string): Promise<void>;
}

export function createRequests(store: ApprovalRequests, clock: Clock, scope = SHARED): Requests {
  const write = async ({ id, ...request }: ApprovalRequest, expected: number): Promise<boolean> => {
    const keepMs = Math.max(request.expiresAtMs - clock(), 0) + KEEP_MS;
    const isOpen = request.state === 'pending';
    const value = JSON.stringify(request);
    return (await store.changeApprovalRequest({ scope, id, expected, value, isOpen, keepMs })).done;
  };
  const read: Requests['read'] = async (id) => {
    const isId = scope !== SHARED || ID.test(id);
    const record = isId ? await store.approvalRequest(scope, id) : undefined;
    return record && { request: requestIn(id, record), version: record.version };
  };
  const existing = async (id: string): Promise<NonNullable<Awaited<ReturnType<typeof read>>>> => {
    const found = await read(id);
    if (found !== undefined) return found;
    throw new CountersignError(
      'NOT_FOUND',
      `there is no request ${id}; \`countersign approvals list\` shows all`,
      { id },
    );
  };
  return {
    read,
    async create(request) {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const id = newId();
        const created: ApprovalRequest = { createdAtMs: clock(), ...request, ...BEGUN, id };
        if (await write(created, 0)) return created;
      }
      throw busy();
    },
    find: async (id) => (await existing(id)).request,
    async replaceEnded(id, request) {
      const found = await read(id);
      const state = found && stateOf(found.request, clock());
      if (state !== undefined && state !== 'expired' && state !== 'superseded') return false;
      return write({ ...request, ...BEGUN, id }, found?.version ?? 0);
    },
    async pending(newest) {
      const requests: ApprovalRequest[] = [];
      const faults: string[] = [];
      for (const { id, record } of await store.openApprovalRequests(scope, newest)) {
        try {
          const request = requestIn(id, record);
          if (!isOver(request, clock())) requests.push(request);
        } catch (thrown) {
          faults.push(messageOf(thrown));
        }
      }
      return { requests, faults };
    },
    async change(id, change) {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const { request, version } = await existing(id);
        if (isOver(request, clock())) throw ended(request);
        const changed = { ...request, ...(await change(request)) };
        if (await write(changed, version)) return changed;
      }
      throw busy();
    },
    async conclude(id, reason) {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const { request, version } = await existing(id);
        if (request.state === 'pending') throw usageError(`request ${id} still waits for people`);
        if (await write({ ...request, reason }, version)) return;
      }
      throw busy();
    },
  };
}

/** What a new request has. */
const BEGUN = { state: 'pending', endedBy: '', reason: '' } as const;

function requestIn(id: string, { value, usedBy }: ApprovalRequestRecord): ApprovalRequest {
  const read = requestShape.safeParse(jsonOrText(value));
  if (read.success)
    return { id, ...read.data, ...(usedBy !== '' && { state: 'done', endedBy: `decision ${usedBy}` }) };
  throw new CountersignError('STORE_CORRUPT', `the request ${id} in the store can't be read; make it again`, {
    id,
  });
}

const isOver = ({ state, expiresAtMs }: ApprovalRequest, nowMs: number): boolean =>
  state !== 'pending' || nowMs >= expiresAtMs;

/** What has become of a request. */
export const stateOf = (
  { state, expiresAtMs }: ApprovalRequest,
  nowMs: number,
): ApprovalRequest['state'] | 'expired' => (state === 'pending' && nowMs >= expiresAtMs ? 'expired' : state);

function ended(request: ApprovalRequest): CountersignError {
  const { id, state, endedBy, reason } = request;
  const because =
    state === 'pending' ? 'has expired' : `is ${state}${endedBy === '' ? '' : `, by ${endedBy}`}`;
  const why = reason === '' ? '' : `: ${reason}`;
  return new CountersignError(
    'REQUEST_ENDED',
    `request ${id} ${because}${why}; make it again if it is still wanted`,
    { id },
  );
}

const busy = (): CountersignError =>
  new CountersignError('BUSY', 'Several people change the requests at the same time. Try again');

const newId = (): string =>
  `r${Array.from({ length: 6 }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('')}`;
