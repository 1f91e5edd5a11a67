import { isDeepStrictEqual } from 'node:util';
import { type Kind, subjectOf } from '../callback/callback.ts';
import { CountersignError } from '../errors.ts';
import { readOrderMembers } from '../policy/order-members.ts';
import { readMemberText } from '../policy/language/members.ts';
import { DURATION_MAX_MS, durationMs } from '../policy/language/parameter.ts';
import type { Order, Store } from '../store/store.ts';
import { INSTANT_FORM, readInstant } from '../values/clock.ts';
import { closestMatch } from '../values/closest-match.ts';

/** The part of a source's settings that orders must match. */
export interface OrderSource {
  readonly name: string;
  readonly kinds: readonly Kind[];
  /** The schemes of payments; empty for a co-signer. */
  readonly schemes: readonly string[];
}

/** An announcement by a merchant's back end or an operator. */
export interface OrderRequest {
  readonly source: string;
  readonly kind: Kind;
  /** `appOrderId` or `request_id`. */
  readonly id: string;
  /** See src/policy/order-members.ts. */
  readonly members: Readonly<Record<string, unknown>>;
  /** A duration from now (`24h`, at most 92d), or an instant. */
  readonly expires: string;
  readonly by: string;
}

/**
 * Announces an order. If the source has only one scheme, the request may leave the scheme of a payment out.
 * Throws ORDER_INVALID with all faults, or ORDER_CONFLICT if the id has another order or a used one.
 */
export async function announceOrder(
  store: Pick<Store, 'expectOrder'>,
  sources: readonly OrderSource[],
  { by, ...request }: OrderRequest,
  nowMs: number,
): Promise<{ readonly outcome: 'expected' | 'unchanged'; readonly order: Order }> {
  const read = readOrder(sources, request, nowMs);
  const { outcome, order } = await store.expectOrder({ ...read, by });
  return outcome === 'conflict'
    ? { outcome: 'unchanged', order: requireSame(order, read, request) }
    : { outcome, order };
}

/** The same order, if it is expected already. Throws as {@link announceOrder}. */
export async function announcedBefore(
  store: Pick<Store, 'order'>,
  sources: readonly OrderSource[],
  request: Omit<OrderRequest, 'by'>,
  nowMs: number,
): Promise<Order | undefined> {
  const read = readOrder(sources, request, nowMs);
  const order = await store.order(read.source, read.subject);
  if (order === undefined || order.state === 'cancelled' || order.state === 'expired') return undefined;
  return requireSame(order, read, request);
}

/** Returns the order. Throws ORDER_CONFLICT unless it is the one that is announced. */
function requireSame(
  order: Order,
  read: ReturnType<typeof readOrder>,
  { expires }: Pick<OrderRequest, 'expires'>,
): Order {
  // A caller that got no answer announces the order again. A duration from now is then another instant.
  const isSame =
    order.state === 'expected' &&
    isDeepStrictEqual({ ...order.members }, { ...read.members }) &&
    (durationMs(expires) !== undefined || order.expiresAtMs === read.expiresAtMs);
  if (isSame) return order;
  const { source, subject } = read;
  const state = order.state === 'used' ? 'was used' : 'is announced with other members or another expiry';
  const fix = order.state === 'used' ? 'announce another id' : 'cancel it first, then announce it again';
  throw new CountersignError('ORDER_CONFLICT', `the order ${subject} of ${source} ${state}; ${fix}`, {
    source,
    subject,
    state: order.state,
  });
}

function readOrder(
  sources: readonly OrderSource[],
  request: Omit<OrderRequest, 'by'>,
  nowMs: number,
): Pick<Order, 'source' | 'subject' | 'members' | 'expiresAtMs'> {
  const { source, kind, id } = request;
  const known = findSource(sources, source, kind);
  if (typeof known === 'string') throw cannotAnnounce(known, { source });
  const faults: string[] = [];
  const read = readOrderMembers(kind, withScheme(known, request));
  if (!read.ok) faults.push(...read.faults.map(({ message, fix }) => `${message}; ${fix}`));
  const scheme = read.ok ? read.members['scheme'] : undefined;
  if (scheme !== undefined && !known.schemes.includes(scheme)) {
    faults.push(`${source} does not accept the scheme ${scheme}; it accepts ${known.schemes.join(', ')}`);
  }
  const expiresAtMs = expiryOf(request.expires, nowMs);
  if (typeof expiresAtMs === 'string') faults.push(expiresAtMs);
  if (!readMemberText('request_id', id).ok || id.length > 128) {
    faults.push(`${JSON.stringify(id)} is not an id; write at most 128 visible characters without blanks`);
  }
  if (!read.ok || typeof expiresAtMs === 'string' || faults.length > 0) {
    throw cannotAnnounce(faults.join('; '), { faults });
  }
  return { source, subject: subjectOf({ kind, id }), members: read.members, expiresAtMs };
}

function cannotAnnounce(why: string, data: Readonly<Record<string, unknown>>): CountersignError {
  return new CountersignError('ORDER_INVALID', `the order can't be announced: ${why}`, data);
}

/** The source, if it accepts this kind of callback. Throws ORDER_INVALID. */
export function orderSource(sources: readonly OrderSource[], name: string, kind: Kind): OrderSource {
  const found = findSource(sources, name, kind);
  if (typeof found === 'string') throw new CountersignError('ORDER_INVALID', found, { source: name });
  return found;
}

/** The source, if it accepts this kind of callback; otherwise a sentence that says why it does not. */
function findSource(sources: readonly OrderSource[], name: string, kind: Kind): OrderSource | string {
  const known = sources.find((each) => each.name === name);
  const names = sources.map((each) => each.name);
  if (known?.kinds.includes(kind) === true) return known;
  const suggestion = closestMatch(name, names);
  const hint = suggestion === undefined ? '' : `did you mean ${suggestion}? `;
  return known === undefined
    ? `there is no source ${JSON.stringify(name)}; ${hint}there are: ${names.join(', ')}`
    : `${name} takes no ${kind} callbacks, only ${known.kinds.join(' and ')}`;
}

function withScheme(
  { schemes }: OrderSource,
  { kind, members }: Pick<OrderRequest, 'kind' | 'members'>,
): Readonly<Record<string, unknown>> {
  const [only, ...others] = schemes;
  const implied = kind === 'payment' && only !== undefined && others.length === 0;
  return implied && !Object.hasOwn(members, 'scheme') ? { ...members, scheme: only } : members;
}

/** The instant in milliseconds, or a fault. */
function expiryOf(written: string, nowMs: number): number | string {
  const aheadMs = durationMs(written);
  const atMs = aheadMs === undefined ? readInstant(written) : nowMs + aheadMs;
  if (atMs === undefined) {
    return `expires ${JSON.stringify(written)} is not valid; write a duration like 2h or 7d, or ${INSTANT_FORM}`;
  }
  if (atMs <= nowMs) return `expires ${written} is not in the future; write a time in the future`;
  return atMs - nowMs > DURATION_MAX_MS ? `expires ${written} is more than 92 days ahead; write less` : atMs;
}

/** An order as JSON, with instants as text. */
export function orderJson({ source, subject, members, state, by, ...times }: Order) {
  const instant = (ms: number): string => (ms === 0 ? '' : new Date(ms).toISOString());
  return {
    source,
    subject,
    state,
    members,
    expires: instant(times.expiresAtMs),
    announced: instant(times.announcedAtMs),
    ended: instant(times.endedAtMs),
    by,
  };
}
