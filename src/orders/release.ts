import { z } from 'zod';
import { type Kind, subjectOf } from '../callback/callback.ts';
import { CountersignError } from '../errors.ts';
import { readMemberText } from '../policy/language/members.ts';
import {
  type ReleaseDetail,
  type ReleasePlan,
  assertRelease,
  planRelease,
  releaseJson,
  withoutKeys,
} from '../store/approval-release.ts';
import type { JournalEntry, Released, Store, SubjectState } from '../store/store.ts';
import { type OrderSource, orderSource } from './orders.ts';

/** Members that a caller may state, so that no other operation is released by mistake. */
export const STATED_MEMBERS = ['userId', 'symbol', 'amount'] as const;
export type StatedMembers = { readonly [M in (typeof STATED_MEMBERS)[number]]?: string | undefined };

/** What an operator or a merchant's back end says: an approved operation failed. */
export interface ReleaseRequest {
  readonly source: string;
  readonly kind: Kind;
  /** `appOrderId` or `request_id`. */
  readonly id: string;
  readonly members: StatedMembers;
  /** Why, for the journal. */
  readonly message: string;
  readonly by: string;
}

export interface ReleaseResult {
  /** `before`: it was released before, and nothing was written. */
  readonly outcome: 'released' | 'before';
  readonly released: Released;
  readonly given: Pick<ReleaseDetail, 'amounts' | 'kept'>;
}

export type ReleasingStore = Pick<Store, 'subject' | 'releaseApproval' | 'entries' | 'entry'>;

/** The most entries about a subject that are read. */
const ENTRIES_MAX = 1000;
/** A callback about the subject makes another attempt necessary. */
const ATTEMPTS_MAX = 5;

/**
 * Releases an approval. What it reserved in limits is given back, and every later callback about it is
 * refused with RELEASED. Throws NOT_FOUND for a subject that was never decided, RELEASE_REFUSED for one that
 * can't be released, ORDER_INVALID for an unknown source, and USAGE.
 */
export async function releaseApproval(
  store: ReleasingStore,
  sources: readonly OrderSource[],
  request: ReleaseRequest,
): Promise<ReleaseResult> {
  assertRelease(request);
  const source = orderSource(sources, request.source, request.kind).name;
  const subject = subjectOf(request);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const state = await decidedState(store, source, subject);
    if (state.released !== undefined) return releasedBefore(store, source, state.released);
    const result = await attemptRelease(store, { ...request, source, subject }, state);
    if (result !== undefined) return result;
  }
  throw refused(source, subject, 'callbacks about it are being decided right now', 'release it again');
}

/** The first release, if it was released before. Throws as {@link releaseApproval}. */
export async function firstRelease(
  store: ReleasingStore,
  sources: readonly OrderSource[],
  request: Omit<ReleaseRequest, 'by'>,
): Promise<ReleaseResult | undefined> {
  assertRelease({ ...request, by: 'the one who asks' });
  const source = orderSource(sources, request.source, request.kind).name;
  const subject = subjectOf(request);
  const state = await decidedState(store, source, subject);
  if (state.released !== undefined) return releasedBefore(store, source, state.released);
  await requireReleasable(store, { ...request, source, subject }, state);
  return undefined;
}

async function decidedState(
  store: Pick<Store, 'subject'>,
  source: string,
  subject: string,
): Promise<SubjectState> {
  const state = await store.subject(source, subject);
  if (state !== undefined) return state;
  throw new CountersignError(
    'NOT_FOUND',
    `nothing was decided about ${subject} of ${source}; check the id, or look for it with ` +
      '`countersign decisions search`',
    { source, subject },
  );
}

/** The approval, and all entries of its subject. Throws RELEASE_REFUSED. */
async function requireReleasable(
  store: Pick<Store, 'entries'>,
  { source, subject, members }: Pick<ReleaseRequest, 'source' | 'members'> & { readonly subject: string },
  state: SubjectState,
): Promise<{ readonly approval: JournalEntry; readonly entries: readonly JournalEntry[] }> {
  const entries = await store.entries({ source, subject, newestFirst: true, limit: ENTRIES_MAX });
  const approval = releasableApproval(source, subject, state, entries);
  assertMembers(source, subject, approval, members);
  return { approval, entries };
}

/** Undefined if the subject has changed since its state was read. */
async function attemptRelease(
  store: ReleasingStore,
  request: ReleaseRequest & { readonly subject: string },
  state: SubjectState,
): Promise<ReleaseResult | undefined> {
  const { source, subject, by, message } = request;
  const { approval, entries } = await requireReleasable(store, request, state);
  const successes = entries.filter(
    ({ type, verdict }) => verdict === 'SUCCESS' && (type === 'decision' || type === 'repeat'),
  );
  let plan: ReleasePlan = planRelease(state, successes);
  for (;;) {
    const given = releaseJson(plan);
    const detail: ReleaseDetail = { by, message, ...given };
    const result = await store.releaseApproval({
      source,
      subject,
      version: state.version,
      of: approval.id,
      by,
      message,
      keys: plan.amounts.map(({ key }) => key),
      detail: JSON.stringify(detail),
    });
    if (result.outcome === 'released') return { outcome: 'released', released: result.released, given };
    if (result.outcome === 'before') return releasedBefore(store, source, result.released);
    if (result.outcome !== 'short') return undefined;
    // Each time, the plan has at least one amount less.
    plan = withoutKeys(plan, result.keys);
  }
}

/** The newest approval. Throws RELEASE_REFUSED. */
function releasableApproval(
  source: string,
  subject: string,
  { approvals, hasTxid }: SubjectState,
  entries: readonly JournalEntry[],
): JournalEntry {
  const cannot = (because: string, fix: string): CountersignError => refused(source, subject, because, fix);
  if (approvals.length === 0) {
    throw cannot('it is not approved', 'only an approval reserves something that can be given back');
  }
  if (hasTxid || entries.some(({ type }) => type === 'notice')) {
    throw cannot('the co-signer has reported its signature', 'what was signed counts in the limits');
  }
  const newest = entries.find(({ id }) => approvals.includes(id));
  if (newest === undefined || !approvals.every((id) => entries.some((entry) => entry.id === id))) {
    throw cannot(
      'the journal no longer has its approval, which says what was approved',
      'its reservations end with their windows',
    );
  }
  return newest;
}

const termsDetail = z.object({ terms: z.record(z.string(), z.string()) });

/** Throws RELEASE_REFUSED unless the approval has the members that the caller stated. */
function assertMembers(
  source: string,
  subject: string,
  { detail }: JournalEntry,
  stated: StatedMembers,
): void {
  const names = STATED_MEMBERS.filter((name) => stated[name] !== undefined);
  if (names.length === 0) return;
  const { terms } = termsOf(detail);
  for (const name of names) {
    const read = readMemberText(name, stated[name] ?? '');
    const approved = terms[name];
    if (read.ok && read.text === approved) continue;
    const because = `${name} ${JSON.stringify(stated[name])} was stated, and ${approved ?? 'none'} was approved`;
    throw refused(source, subject, because, 'check which order failed');
  }
}

function termsOf(detail: string): z.output<typeof termsDetail> {
  try {
    return termsDetail.parse(JSON.parse(detail));
  } catch {
    return { terms: {} };
  }
}

const refused = (source: string, subject: string, because: string, fix: string): CountersignError =>
  new CountersignError('RELEASE_REFUSED', `${subject} of ${source} can't be released: ${because}; ${fix}`, {
    source,
    subject,
  });

const givenDetail: z.ZodType<ReleaseResult['given']> = z.object({
  amounts: z.array(
    z.object({
      policy: z.string(),
      rule: z.string(),
      key: z.string(),
      amount: z.string(),
      until: z.string(),
    }),
  ),
  kept: z.array(z.object({ key: z.string(), until: z.string() })),
});

/** The first release of it, with what the journal still knows of it. */
async function releasedBefore(
  store: Pick<Store, 'entry'>,
  source: string,
  released: Released,
): Promise<ReleaseResult> {
  const entry = await store.entry(source, released.id);
  return { outcome: 'before', released, given: givenIn(entry?.detail ?? '') };
}

function givenIn(detail: string): ReleaseResult['given'] {
  try {
    return givenDetail.parse(JSON.parse(detail));
  } catch {
    return { amounts: [], kept: [] };
  }
}

/** A release as JSON, with instants as text. */
export function releaseResultJson(
  { source, kind, id }: Pick<ReleaseRequest, 'source' | 'kind' | 'id'>,
  { outcome, released, given }: ReleaseResult,
) {
  return {
    outcome,
    release: {
      id: `${source}/${released.id}`,
      source,
      subject: subjectOf({ kind, id }),
      at: new Date(released.atMs).toISOString(),
      by: released.by,
      message: released.message,
      ...given,
    },
  };
}
