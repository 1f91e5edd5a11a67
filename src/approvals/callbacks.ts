import { z } from 'zod';
import { type Callback, KINDS, subjectOf } from '../callback/callback.ts';
import { parseRecorded } from '../callback/kinds.ts';
import { CountersignError } from '../errors.ts';
import type { PeoplesApproval } from '../policy/facts.ts';
import type { People } from '../policy/people.ts';
import { type Field, inClear, refused, statementText } from '../signature/statement.ts';
import type { ApprovalRequests } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { isoTime, jsonOrText } from '../values/text.ts';
import { type ApprovalRequest, createRequests, stateOf } from './requests.ts';
import { type SigningScope, signersOf } from './signers.ts';

/*
 * What people approve about a callback: its request, what they sign, and what that comes to for an
 * evaluation. The request of a callback is in the scope of its source, and its id is the subject.
 */

const KIND = 'countersign-approval/1';

/** What people sign about a callback: all its terms in clear, from when on, and until when it counts. */
function callbackStatement(
  deployment: string,
  { source, kind, id, terms }: Pick<Callback, 'source' | 'kind' | 'id' | 'terms'>,
  { createdAtMs, expiresAtMs }: Pick<ApprovalRequest, 'createdAtMs' | 'expiresAtMs'>,
): string {
  return statementText(KIND, [
    ['deployment', deployment],
    ['source', inClear(source)],
    ['kind', kind],
    ['id', inClear(id)],
    ...Object.entries(terms).map(([name, value]): Field => ['term', `${inClear(name)} ${inClear(value)}`]),
    ['created', isoTime(createdAtMs)],
    ['expires', isoTime(expiresAtMs)],
  ]);
}

/** Who must approve: a rule of a policy. */
const need = z.strictObject({ policy: z.string(), rule: z.string(), group: z.string(), quorum: z.number() });
export type Need = Readonly<z.output<typeof need>>;

const contentShape = z.strictObject({
  kind: z.enum(KINDS),
  /** As it arrived, or the content of its envelope. */
  body: z.string(),
  needs: z.array(need).readonly(),
});
export type CallbackContent = Readonly<z.output<typeof contentShape>>;

/** What a request about a callback has. Throws STORE_CORRUPT, or NOT_FOUND for another kind of request. */
export function callbackContent({ id, kind, content }: ApprovalRequest): CallbackContent {
  if (kind !== 'callback')
    throw new CountersignError('NOT_FOUND', `request ${id} is about no callback`, { id });
  const read = contentShape.safeParse(jsonOrText(content));
  if (read.success) return read.data;
  throw new CountersignError(
    'STORE_CORRUPT',
    `the callback of request ${id} can't be read; have it sent again`,
    { id },
  );
}

/**
 * The callback of a request, parsed again here, so that a person signs what the callback says and not what a
 * record says about it. Throws SIGNATURE_REFUSED if the request's statement is another one.
 */
export function callbackOfRequest(
  request: ApprovalRequest,
  { source, deployment }: { readonly source: string; readonly deployment: string },
): Callback {
  const { kind, body } = callbackContent(request);
  const callback = parseRecorded(kind, source, body);
  if (typeof callback === 'string')
    throw refused(`the callback of request ${request.id} is not shown: ${callback}`);
  if (
    subjectOf(callback) === request.id &&
    callbackStatement(deployment, callback, request) === request.statement
  ) {
    return callback;
  }
  throw refused(
    `the statement of request ${request.id} is not about its callback. Don't sign it, and tell the operator`,
  );
}

export interface CallbackApprovalParts {
  readonly store: ApprovalRequests;
  readonly clock: Clock;
  /** For which signatures count; undefined if the settings have no `deployment`. */
  readonly scope: SigningScope | undefined;
}

/**
 * What people have said about a callback, with their signatures verified. Undefined if nobody was asked, but
 * could be.
 */
export async function approvalOf(
  { store, clock, scope }: CallbackApprovalParts,
  callback: Callback,
  people: People,
): Promise<PeoplesApproval | undefined> {
  const id = subjectOf(callback);
  if (scope === undefined) {
    return { id, version: 0, approvers: [], createdAtMs: 0, expiresAtMs: 0, because: NO_DEPLOYMENT };
  }
  const found = await createRequests(store, clock, callback.source).read(id);
  if (found === undefined) return undefined;
  const { request, version } = found;
  const { createdAtMs, expiresAtMs, by } = request;
  const times = { createdAtMs, expiresAtMs };
  const none = (because: string): PeoplesApproval => ({ id, version, approvers: [], ...times, because });
  if (
    request.kind !== 'callback' ||
    callbackStatement(scope.deployment, callback, request) !== request.statement
  ) {
    return none('the request is about other terms');
  }
  const state = stateOf(request, clock());
  // One that was used covers repeats and later questions of its subject, until it expires.
  if (state !== 'pending' && state !== 'done') {
    return none(
      state === 'rejected'
        ? `${request.endedBy} has rejected it: ${request.reason}`
        : `the request is ${state}`,
    );
  }
  const { signers } = await signersOf(request, people, { role: 'approve', scope });
  const approvers = signers.map(({ person }) => person).filter((person) => person !== by);
  return { id, version, approvers, ...times, because: '' };
}

const NO_DEPLOYMENT = 'the settings have no deployment, so nobody can sign; set `deployment`';

/** The author of requests that a service makes. */
const SERVICE = 'countersign';

/** What a request about a callback is made from. */
export interface AskedOfPeople {
  readonly callback: Callback;
  readonly body: string;
  readonly needs: readonly (Need & {
    /** How long the request can be approved, and the approval counts. The longest counts. */
    readonly withinMs: number;
  })[];
  /** Why the policies refuse. */
  readonly because: string;
}

/**
 * Asks people about a callback, unless they are asked already, or have rejected it or used their approval.
 * Resolves with whether it asked.
 */
export async function askPeople(
  { store, clock, scope }: CallbackApprovalParts,
  { callback, body, needs, because }: AskedOfPeople,
): Promise<boolean> {
  if (scope === undefined || needs.length === 0) return false;
  const createdAtMs = clock();
  const expiresAtMs = createdAtMs + Math.max(...needs.map(({ withinMs }) => withinMs));
  const asked = needs.map(({ policy, rule, group, quorum }) => ({ policy, rule, group, quorum }));
  const content: CallbackContent = { kind: callback.kind, body, needs: asked };
  return createRequests(store, clock, callback.source).replaceExpired(subjectOf(callback), {
    kind: 'callback',
    statement: callbackStatement(scope.deployment, callback, { createdAtMs, expiresAtMs }),
    signatures: [],
    by: SERVICE,
    message: because,
    createdAtMs,
    expiresAtMs,
    content: JSON.stringify(content),
  });
}
