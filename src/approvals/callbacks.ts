import { z } from 'zod';
import { type Callback, KINDS, type Kind, subjectOf } from '../callback/callback.ts';
import { parseRecorded } from '../callback/kinds.ts';
import { CountersignError, type ErrorCode } from '../errors.ts';
import type { PeoplesApproval } from '../policy/facts.ts';
import { differenceFromOrder } from '../policy/order-members.ts';
import type { People } from '../policy/people.ts';
import { type Field, inClear, refused, statementText } from '../signature/statement.ts';
import type { ApprovalRequests } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { isoTime, jsonOrText } from '../values/text.ts';
import { type OrderAsked, orderStatement } from './orders.ts';
import { type ApprovalRequest, createRequests, stateOf } from './requests.ts';
import { type SigningScope, isAuthor, signersOf } from './signers.ts';

/*
 * What people approve about a callback, or about an announced order before its callback comes: the request,
 * what they sign, and what that comes to for an evaluation. The request is in the scope of the source, and
 * its id is the subject.
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

const needed = { kind: z.enum(KINDS), needs: z.array(need).readonly() };
const contentShape = z.union([
  /** The callback as it arrived, or the content of its envelope. */
  z.strictObject({ ...needed, body: z.string() }),
  /** The members of an announced order. */
  z.strictObject({ ...needed, order: z.record(z.string(), z.string()) }),
]);
export type CallbackContent = Readonly<z.output<typeof contentShape>>;

const contentIn = (content: string): CallbackContent | undefined =>
  contentShape.safeParse(jsonOrText(content)).data;

/** What a request about a callback has. Throws STORE_CORRUPT, or NOT_FOUND for another kind of request. */
export function callbackContent({ id, kind, content }: ApprovalRequest): CallbackContent {
  if (kind !== 'callback')
    throw new CountersignError('NOT_FOUND', `request ${id} is about no callback`, { id });
  const read = contentIn(content);
  if (read !== undefined) return read;
  throw new CountersignError(
    'STORE_CORRUPT',
    `the callback of request ${id} can't be read; have it sent again`,
    { id },
  );
}

const orderOf = (
  kind: Kind,
  { source, id }: { source: string; id: string },
  members: OrderAsked['members'],
) => ({
  source,
  kind,
  id: id.slice(kind.length + 1),
  members,
});

/**
 * What a request is about: its callback, parsed again here, or an announced order. So a person signs what the
 * callback says, and not what a record says about it. Throws SIGNATURE_REFUSED if the request's statement is
 * another one.
 */
export function askedIn(
  request: ApprovalRequest,
  { source, deployment }: { readonly source: string; readonly deployment: string },
): { readonly callback: Callback } | { readonly order: OrderAsked } {
  const { id, statement } = request;
  const content = callbackContent(request);
  if ('order' in content) {
    const order = orderOf(content.kind, { source, id }, content.order);
    if (subjectOf(order) === id && orderStatement(deployment, order, request) === statement) return { order };
  } else {
    const callback = parseRecorded(content.kind, source, content.body);
    if (typeof callback === 'string')
      throw refused(`the callback of request ${id} is not shown: ${callback}`);
    if (subjectOf(callback) === id && callbackStatement(deployment, callback, request) === statement)
      return { callback };
  }
  throw refused(
    `the statement of request ${id} is not about its callback. Don't sign it, and tell the operator`,
  );
}

export interface CallbackApprovalParts {
  readonly store: ApprovalRequests;
  readonly clock: Clock;
  /** For which signatures count; undefined if the settings have no `deployment`. */
  readonly scope: SigningScope | undefined;
}

/**
 * What people have said about a callback, as the chain of its asset reads it, with their signatures verified.
 * Undefined if nobody was asked, but could be.
 */
export async function approvalOf(
  { store, clock, scope }: CallbackApprovalParts,
  { callback, scheme }: { readonly callback: Callback; readonly scheme: string | undefined },
  people: People,
): Promise<PeoplesApproval | undefined> {
  const id = subjectOf(callback);
  if (scope === undefined) {
    return { id, version: 0, approvers: [], createdAtMs: 0, expiresAtMs: 0, because: NO_DEPLOYMENT };
  }
  const found = await createRequests(store, clock, callback.source).read(id);
  if (found === undefined) return undefined;
  const { request, version } = found;
  const { createdAtMs, expiresAtMs } = request;
  const times = { createdAtMs, expiresAtMs };
  const none = (because: string): PeoplesApproval => ({ id, version, approvers: [], ...times, because });
  const order = orderAsked(request, callback, scope.deployment);
  if (order === undefined && !isAbout(request, callback, scope.deployment))
    return none('the request is about other terms');
  const state = stateOf(request, clock());
  // One that was used covers repeats and later questions of its subject, until it expires.
  if (state !== 'pending' && state !== 'done') {
    return none(
      state === 'rejected'
        ? `${request.endedBy} has rejected it: ${request.reason}`
        : `the request is ${state}`,
    );
  }
  const difference = order === undefined ? '' : differenceFromOrder(order.members, callback, scheme);
  if (difference !== '')
    return none(`${difference}; cancel the order, and people are asked about the callback`);
  const { signers } = await signersOf(request, people, { role: 'approve', scope });
  const approvers = signers.map(({ person }) => person).filter((person) => !isAuthor(request, person));
  return { id, version, approvers, ...times, ...(order && { order: true }), because: '' };
}

const isAbout = (request: ApprovalRequest, callback: Callback, deployment: string): boolean =>
  request.kind === 'callback' && callbackStatement(deployment, callback, request) === request.statement;

/** The announced order that a request is about, if it is about one with the id of the callback. */
function orderAsked(
  request: ApprovalRequest,
  { source, kind }: Callback,
  deployment: string,
): OrderAsked | undefined {
  const content = request.kind === 'callback' ? contentIn(request.content) : undefined;
  if (content === undefined || !('order' in content) || content.kind !== kind) return undefined;
  const order = orderOf(kind, { source, id: request.id }, content.order);
  return orderStatement(deployment, order, request) === request.statement ? order : undefined;
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
  parts: CallbackApprovalParts,
  { callback, body, needs, because }: AskedOfPeople,
): Promise<boolean> {
  const { scope, clock } = parts;
  if (scope === undefined || needs.length === 0) return false;
  const createdAtMs = clock();
  const times = { createdAtMs, expiresAtMs: createdAtMs + longestOf(needs) };
  return ask(parts, callback, {
    statement: callbackStatement(scope.deployment, callback, times),
    by: SERVICE,
    message: because,
    ...times,
    content: { kind: callback.kind, body, needs: whoMustApprove(needs) },
  });
}

/**
 * Asks people about an announced order, on the same conditions. Resolves with the request that there is then.
 */
export async function askAboutOrder(
  parts: Omit<CallbackApprovalParts, 'scope'>,
  { source, kind, id, members, expiresAtMs, by }: OrderAsked & Pick<ApprovalRequest, 'expiresAtMs' | 'by'>,
  { deployment, needs }: { readonly deployment: string; readonly needs: AskedOfPeople['needs'] },
): Promise<ApprovalRequest> {
  const createdAtMs = parts.clock();
  const times = { createdAtMs, expiresAtMs: Math.min(expiresAtMs, createdAtMs + longestOf(needs)) };
  const order = { source, kind, id, members };
  await ask(parts, order, {
    statement: orderStatement(deployment, order, { ...times, by }),
    by,
    message: 'announced order',
    ...times,
    content: { kind, order: { ...members }, needs: whoMustApprove(needs) },
  });
  return createRequests(parts.store, parts.clock, source).find(subjectOf(order));
}

/** What can't be read approves nothing, and what has ended meanwhile needs no end. */
const NOTHING_TO_END: ReadonlySet<ErrorCode> = new Set(['STORE_CORRUPT', 'REQUEST_ENDED', 'NOT_FOUND']);

/** Ends the request about an order that is no longer announced, if it waits for people. */
export async function endOrderRequest(
  { store, clock }: Omit<CallbackApprovalParts, 'scope'>,
  { source, id, by }: { readonly source: string; readonly id: string; readonly by: string },
): Promise<void> {
  try {
    const requests = createRequests(store, clock, source);
    const found = await requests.read(id);
    if (found === undefined || !('order' in callbackContent(found.request))) return;
    await requests.change(id, () => ({
      state: 'superseded',
      endedBy: by,
      reason: 'the order was cancelled',
    }));
  } catch (thrown) {
    if (!(thrown instanceof CountersignError && NOTHING_TO_END.has(thrown.code))) throw thrown;
  }
}

const ask = (
  { store, clock }: Omit<CallbackApprovalParts, 'scope'>,
  about: Pick<Callback, 'source' | 'kind' | 'id'>,
  {
    content,
    ...request
  }: Pick<ApprovalRequest, 'statement' | 'by' | 'message' | 'createdAtMs' | 'expiresAtMs'> & {
    readonly content: CallbackContent;
  },
): Promise<boolean> =>
  createRequests(store, clock, about.source).replaceEnded(subjectOf(about), {
    kind: 'callback',
    signatures: [],
    ...request,
    content: JSON.stringify(content),
  });

const longestOf = (needs: AskedOfPeople['needs']): number =>
  Math.max(...needs.map(({ withinMs }) => withinMs));

const whoMustApprove = (needs: AskedOfPeople['needs']): Need[] =>
  needs.map(({ policy, rule, group, quorum }) => ({ policy, rule, group, quorum }));
