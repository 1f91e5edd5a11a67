import type { AgedClaim, AgedResult } from '../../claims/aged.ts';
import type { ApprovalClaim, ApprovalFound, ApprovalResult } from '../../claims/approval.ts';
import { type Claim, type ClaimResult, NOT_CHECKED } from '../../claims/claims.ts';
import type { ListClaim, ListResult } from '../../claims/list.ts';
import type { MarkClaim, MarkResult } from '../../claims/mark.ts';
import { type OrderClaim, type OrderFound, type OrderResult, differingMembers } from '../../claims/order.ts';
import type { SpeedUpClaim, SpeedUpResult } from '../../claims/speed-up.ts';
import type { WindowClaim, WindowResult } from '../../claims/window.ts';
import type { Amount } from '../../values/amount.ts';
import {
  type Alternative,
  type Choice,
  awaitsApproval,
  claimsIn,
  standingInStore,
} from '../../policy/proposal.ts';
import type { Standing } from '../../policy/standing.ts';
import type { SettleStep } from '../settle-step.ts';
import type { ApprovalRequestRecord, Order } from '../store.ts';
import type { ApprovalRequestTable } from './approval-requests.ts';
import type { Counters, Marks } from './counters.ts';
import { type DistinctCheck, type DistinctCounters, createDistinctCheck } from './distinct.ts';
import type { ListTables } from './lists.ts';
import type { LockoutTables } from './lockouts.ts';
import type { OrderTables } from './orders.ts';
import {
  type Reservation,
  type Reserved,
  type SubjectRecord,
  questionOf,
  reservationsOf,
} from './subjects.ts';

export interface ClaimTables {
  readonly lists: ListTables;
  readonly counters: Counters;
  readonly distinct: DistinctCounters;
  readonly lockouts: LockoutTables;
  readonly marks: Marks;
  readonly orders: OrderTables;
  readonly requests: ApprovalRequestTable;
}

/** What the store found for the claims of a request. */
export interface CheckedClaims {
  /** In the order of the claims. */
  readonly results: readonly ClaimResult[];
  /**
   * How long each refusal stands: by claims that decide and fail, and by choices of which no alternative
   * holds.
   */
  readonly refusals: readonly Standing[];
  /** The claims that an approval reserves: all but those of alternatives that are not taken. */
  readonly reserving: ReadonlySet<Claim>;
  /** What these ask for in each counter of amounts. */
  readonly amounts: readonly Asked[];
  readonly distinct: DistinctCheck;
}

/** Checks the claims; reserves nothing. */
export function checkClaims(
  tables: ClaimTables,
  request: SettleStep,
  subject: SubjectRecord | undefined,
  nowMs: number,
): CheckedClaims {
  const { lists, counters, lockouts, marks, orders, requests } = tables;
  const { source, claims, choices } = request;
  const windows = createWindowCheck(counters, source, subject, nowMs);
  const distinct = createDistinctCheck(tables, source, subject?.firsts ?? [], nowMs);
  const undo = (claim: Claim): void => {
    if (claim.type === 'distinct') distinct.undo(claim);
    if (claim.type === 'window') windows.undo(claim);
  };
  const inChoices = new Set(choices.flatMap(claimsIn));
  const resultOf = (claim: Claim): ClaimResult => {
    if (claim.type === 'window') return windows.check(claim);
    if (claim.type === 'distinct') return distinct.check(claim);
    if (claim.type === 'refusals') return lockouts.check(source, claim, nowMs);
    if (claim.type === 'list') return checkList(lists, source, claim);
    if (claim.type === 'aged') return checkAged(lists, source, claim, nowMs);
    if (claim.type === 'mark') return checkMark(claim, marks.markedAtMs(source, claim.key), nowMs);
    if (claim.type === 'speed-up') return checkSpeedUp(subject, request, claim, nowMs);
    if (claim.type === 'approval')
      return checkApproval(requests.find(source, claim.id, nowMs), claim, subject?.usedRequests);
    return checkOrder(orders.find(source, request.subject, nowMs), claim, subject?.usesOrder === true);
  };
  const results: ClaimResult[] = claims.map((claim, at) =>
    inChoices.has(at) ? NOT_CHECKED : resultOf(claim),
  );
  const taken: Claim[] = [];
  const holdsClaim = (at: number): boolean => {
    const claim = claims[at];
    if (claim === undefined) return false;
    taken.push(claim);
    const result = resultOf(claim);
    results[at] = result;
    return result.holds;
  };
  const holdsAll = ({ requires }: Alternative): boolean => {
    // The evaluation refused it.
    if (requires === undefined) return false;
    const from = taken.length;
    let holds = true;
    for (const item of requires) {
      if (typeof item === 'number' ? holdsClaim(item) : holdsOne(item)) continue;
      holds = false;
      // What else it requires is checked before people are asked.
      if (!awaitsApproval(item, results)) break;
    }
    if (!holds) taken.splice(from).forEach(undo);
    return holds;
  };
  const holdsOne = ({ alternatives }: Choice): boolean => alternatives.some(holdsAll);

  const failed = [...claims.keys()].filter(
    (at) => claims[at]?.decides === true && results[at]?.holds !== true,
  );
  const failedChoices = choices.filter((choice) => !holdsOne(choice) && choice.decides);
  return {
    results,
    refusals: [...failed.map((at) => [at]), ...failedChoices].map((refused) =>
      standingInStore(refused, claims, results),
    ),
    reserving: new Set([...claims.filter((_, at) => !inChoices.has(at)), ...taken]),
    amounts: windows.asked(),
    distinct,
  };
}

/** The results after a refusal that counts for lock-outs. */
export function refusedResults(
  { lockouts }: ClaimTables,
  { source, subject, claims }: SettleStep,
  results: readonly ClaimResult[],
  nowMs: number,
): readonly ClaimResult[] {
  return results.map((result, at) => {
    const claim = claims[at];
    const isChecked = claim?.type === 'refusals' && result.type === 'refusals';
    return isChecked ? lockouts.refused(source, claim, subject, nowMs) : result;
  });
}

/** Counts a refusal for lock-outs, with the results of {@link refusedResults}. */
export function countRefusal(
  { lockouts }: ClaimTables,
  { source, subject, claims }: SettleStep,
  results: readonly ClaimResult[],
  nowMs: number,
): void {
  for (const [at, claim] of claims.entries()) {
    const result = results[at];
    if (claim.type !== 'refusals' || result?.type !== 'refusals') continue;
    lockouts.refuse(source, claim, subject, result, nowMs);
  }
}

/** What the claims of one request ask for in a counter of amounts. */
interface Asked {
  readonly claim: WindowClaim;
  /** What the subject has reserved there, if the window still counts it. */
  readonly before: Reservation | undefined;
  /** What the window counts without it. */
  readonly others: Amount;
  amount: Amount;
  claims: number;
}

/**
 * Checks the window claims of one request in turn. The amounts of several claims on one counter are summed.
 * `undo` takes back the amount of a claim whose alternative is not taken.
 */
function createWindowCheck(
  counters: Counters,
  source: string,
  subject: SubjectRecord | undefined,
  nowMs: number,
): {
  readonly check: (claim: WindowClaim) => WindowResult;
  readonly undo: (claim: WindowClaim) => void;
  readonly asked: () => readonly Asked[];
} {
  const reserved = new Map(
    reservationsOf(subject ?? { reserved: [] })
      .filter(({ untilMs }) => nowMs < untilMs)
      .map((each) => [each.key, each]),
  );
  const askedIn = new Map<string, Asked>();
  const begin = (claim: WindowClaim): Asked => {
    const used = counters.used(source, claim, nowMs);
    const own = reserved.get(claim.key);
    const before = own !== undefined && counters.has(source, own) ? own : undefined;
    const asked = { claim, before, others: used - (before?.amount ?? 0n), amount: 0n, claims: 0 };
    askedIn.set(claim.key, asked);
    return asked;
  };
  return {
    check(claim) {
      const asked = askedIn.get(claim.key) ?? begin(claim);
      const used = asked.others + asked.amount;
      asked.amount += claim.amount;
      asked.claims += 1;
      return {
        type: 'window',
        holds: used + claim.amount <= claim.max,
        reserved: asked.before?.amount ?? 0n,
        used,
      };
    },
    undo({ key, amount }) {
      const asked = askedIn.get(key);
      if (asked === undefined) return;
      asked.amount -= amount;
      asked.claims -= 1;
    },
    asked: () => [...askedIn.values()].filter(({ claims }) => claims > 0),
  };
}

function checkList(lists: ListTables, source: string, claim: ListClaim): ListResult {
  const { values, must } = claim;
  const present = lists.added(source, claim)?.map(([value]) => value);
  if (present === undefined) return { type: 'list', holds: false, missing: true, present: [] };
  const wanted = must === 'hold-all' ? values.length : 0;
  // No rule makes a claim without values. It holds neither way.
  return { type: 'list', holds: values.length > 0 && present.length === wanted, missing: false, present };
}

function checkAged(lists: ListTables, source: string, claim: AgedClaim, nowMs: number): AgedResult {
  const { values, ageMs } = claim;
  const added = lists.added(source, claim);
  if (added === undefined) return { type: 'aged', holds: false, missing: true, added: [] };
  const holds =
    values.length > 0 &&
    added.length === values.length &&
    added.every(([, addedAtMs]) => addedAtMs + ageMs <= nowMs);
  return { type: 'aged', holds, missing: false, added };
}

function checkMark({ ageMs, exempt }: MarkClaim, markedAtMs: number, nowMs: number): MarkResult {
  const isKnown = markedAtMs !== 0 && markedAtMs + ageMs <= nowMs;
  return { type: 'mark', holds: exempt || isKnown, markedAtMs };
}

/** See Orders in store.ts. `usesOrder`: an earlier approval of this subject used the order up. */
function checkOrder(order: Order | undefined, claim: OrderClaim, usesOrder: boolean): OrderResult {
  const state = orderState(order, usesOrder);
  if (order === undefined || state !== 'agrees')
    return { type: 'order', holds: false, order: state, differs: [] };
  const differs = differingMembers(order.members, claim);
  return {
    type: 'order',
    holds: differs.length === 0,
    order: differs.length === 0 ? 'agrees' : 'differs',
    differs,
  };
}

/** `agrees` means that the members can be compared. */
function orderState(order: Order | undefined, usesOrder: boolean): OrderFound {
  if (order === undefined) return 'missing';
  if (order.state === 'used') return usesOrder ? 'agrees' : 'used';
  return order.state === 'expected' ? 'agrees' : order.state;
}

/**
 * `remembered`: the requests that earlier approvals of this subject used, with the entries of these
 * approvals.
 */
function checkApproval(
  request: ApprovalRequestRecord | undefined,
  claim: ApprovalClaim,
  remembered: SubjectRecord['usedRequests'] = [],
): ApprovalResult {
  const approval = approvalState(request, claim, remembered);
  return { type: 'approval', holds: approval === 'current', approval };
}

function approvalState(
  request: ApprovalRequestRecord | undefined,
  { id, version }: ApprovalClaim,
  remembered: NonNullable<SubjectRecord['usedRequests']>,
): ApprovalFound {
  if (request === undefined) return 'missing';
  const { usedBy } = request;
  if (usedBy !== '' && !remembered.some(([used, entry]) => used === id && entry === usedBy)) return 'used';
  return request.version === version ? 'current' : 'changed';
}

function checkSpeedUp(
  subject: SubjectRecord | undefined,
  request: Pick<SettleStep, 'question' | 'speedUp'>,
  { max, withinMs }: SpeedUpClaim,
  nowMs: number,
): SpeedUpResult {
  const { question } = request;
  const itself = questionOf(subject, request);
  const approved = subject?.decisions.filter(({ verdict }) => verdict === 'SUCCESS') ?? [];
  const approvedAtMs = approved.find((each) => each.question === question)?.atMs ?? 0;
  const speedUps = approved.filter(
    (each) => each.question.startsWith(`${question}+`) && each.question !== itself,
  ).length;
  const holds = approvedAtMs !== 0 && nowMs - approvedAtMs <= withinMs && speedUps < max;
  return { type: 'speed-up', holds, approvedAtMs, speedUps };
}

/**
 * Makes the reservations of an approval, whose journal entry is `entry`: amounts and values, which count from
 * now on, marks, and the use of its order and of approval requests. Claims of rules that only observe reserve
 * too, whether they hold or not. Of alternatives, only those of the one that is taken do.
 */
export function reserve(
  { counters, distinct, marks, orders, requests }: ClaimTables,
  { source, subject, claims }: SettleStep,
  known: Pick<CheckedClaims, 'results' | 'reserving' | 'amounts' | 'distinct'> & {
    readonly usesOrder: boolean;
    readonly entry: string;
  },
  nowMs: number,
): Reserved {
  const amounts = known.amounts.map(({ claim, ...change }) => counters.move(source, claim, nowMs, change));
  const counted: (readonly [key: string, untilMs: number])[] = [];
  const firsts: string[] = [];
  const marked = new Set<string>();
  const usedRequests: (readonly [id: string, entry: string])[] = [];
  let order = false;
  for (const [index, claim] of claims.entries()) {
    const result = known.results[index];
    if (!known.reserving.has(claim)) continue;
    if (claim.type === 'distinct') {
      const added = known.distinct.counting(claim);
      if (added.length > 0) counted.push([claim.key, distinct.add(source, claim, added, nowMs)]);
      if (claim.onlyNew) firsts.push(...added);
      if (claim.onlyNew) for (const value of claim.values) marked.add(value);
    }
    if (claim.type === 'mark') marked.add(claim.key);
    if (claim.type === 'order' && result?.type === 'order') order ||= isUsable(result.order);
    if (claim.type === 'approval' && result?.holds === true) {
      const usedBy = requests.use(source, claim.id, known.entry, nowMs);
      if (usedBy === known.entry) usedRequests.push([claim.id, usedBy]);
    }
  }
  // Last, because a value without a mark is new for every claim of the request.
  for (const key of marked) marks.make(source, key, nowMs);
  if (order) orders.use(source, subject, nowMs);
  return { amounts, counted, firsts, order: order && !known.usesOrder, usedRequests };
}

/**
 * Whether an approval uses the order up. An order that had expired when it was used would hold from then on,
 * once the rule is enforced.
 */
const isUsable = (found: OrderFound): boolean => found === 'agrees' || found === 'differs';

/** Each list that was looked up, with its version. */
export function listVersions(
  { lists }: ClaimTables,
  { source, claims }: SettleStep,
  results: readonly ClaimResult[],
): readonly [string, number][] {
  const names = claims
    .filter((_, at) => results[at] !== NOT_CHECKED)
    .filter((claim) => claim.type === 'list' || claim.type === 'aged')
    .map((claim) => claim.list);
  return [...new Set(names)].map((name) => [name, lists.version(source, name)]);
}
