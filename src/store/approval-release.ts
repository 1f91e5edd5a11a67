import { z } from 'zod';
import type { ClaimResult } from '../claims/claims.ts';
import { CountersignError } from '../errors.ts';
import { type Proposal, proposalFromJson } from '../policy/proposal.ts';
import { formatAmount } from '../values/amount.ts';
import { type StepChoice, stepChoices } from './settle-step.ts';
import type { CountedReservation, JournalEntry, SubjectState } from './store.ts';

const MESSAGE_MAX = 1000;
const BY_MAX = 200;

/** Throws USAGE if the message or the author is empty or too long to be kept with the subject. */
export function assertRelease({ message, by }: { readonly message: string; readonly by: string }): void {
  for (const [what, text, most] of [
    ['message', message, MESSAGE_MAX],
    ['author', by, BY_MAX],
  ] as const) {
    if (text.length > 0 && text.length <= most) continue;
    throw new CountersignError(
      'USAGE',
      `the ${what} of the release has ${text.length} characters, and nothing was released; give 1 to ${most}`,
      { what, characters: text.length },
    );
  }
}

// ---- what an approval reserved ----

/** An amount that an approval added to a counter, and the rule that counts it. */
export interface ReservedAmount extends CountedReservation {
  readonly policy: string;
  readonly rule: string;
}

/**
 * What an approval with these results added to counters at that time, as `settle` does. Of several claims on
 * one counter, the sum.
 */
export function reservedAmounts(
  { claims, choices, results }: Pick<Proposal, 'claims' | 'choices' | 'results'>,
  found: readonly ClaimResult[],
  atMs: number,
): readonly ReservedAmount[] {
  const reserved = new Map<string, ReservedAmount>();
  const open = claimsNotTaken({ claims, choices }, found);
  for (const [index, claim] of claims.entries()) {
    const result = found[index];
    if (claim.type !== 'window' || open.has(index)) continue;
    if (result === undefined || !('used' in result) || result.reserved) continue;
    const { key, window } = claim;
    const lengthMs = window.type === 'rolling' ? window.lengthMs : 0;
    const bucketEndMs =
      window.type === 'rolling' ? (Math.floor(atMs / window.bucketMs) + 1) * window.bucketMs : window.endMs;
    const amount = claim.amount + (reserved.get(key)?.amount ?? 0n);
    const { policy = '', rule = '' } = results[claim.result] ?? {};
    reserved.set(key, { key, amount, bucketEndMs, untilMs: bucketEndMs + lengthMs, policy, rule });
  }
  return [...reserved.values()];
}

/** The claims of alternatives that were not taken: all but those of the first one that holds. */
function claimsNotTaken(
  proposal: Pick<Proposal, 'claims' | 'choices'>,
  found: readonly ClaimResult[],
): ReadonlySet<number> {
  const open = new Set<number>();
  const holds = (item: number | StepChoice): boolean =>
    typeof item === 'number'
      ? found[item]?.holds === true
      : item.alternatives.some((each) => each.every(holds));
  const visit = (choice: StepChoice, isTaken: boolean): void => {
    const taken = isTaken ? choice.alternatives.find((each) => each.every(holds)) : undefined;
    for (const alternative of choice.alternatives) {
      for (const item of alternative) {
        if (typeof item !== 'number') visit(item, alternative === taken);
        else if (alternative !== taken) open.add(item);
      }
    }
  };
  for (const choice of stepChoices(proposal)) visit(choice, true);
  return open;
}

const entryDetail = z.object({ note: z.string().optional(), proposal: z.unknown() });

/** What an approval reserved, from its journal entry; undefined if this version explains it otherwise. */
function reservedBy({ detail, claims, atMs }: JournalEntry): readonly ReservedAmount[] | undefined {
  try {
    const { note, proposal } = entryDetail.parse(JSON.parse(detail));
    const read = proposalFromJson(proposal);
    return note === undefined && read.claims.length === claims.length
      ? reservedAmounts(read, claims, atMs)
      : undefined;
  } catch {
    return undefined;
  }
}

// ---- what a release gives back ----

/**
 * A reservation that can't be given back exactly, and therefore counts until its window ends: nothing proves the
 * amount, or it is of a counter of values, which other approvals may count as well.
 */
export interface KeptReservation {
  readonly key: string;
  readonly untilMs: number;
}

export interface ReleasePlan {
  readonly amounts: readonly ReservedAmount[];
  readonly kept: readonly KeptReservation[];
}

/**
 * What can be given back of what a subject has reserved. The journal has the amounts: `approvals` are the
 * entries with SUCCESS about the subject. An amount is given back only if the subject's reservation ends at
 * the very instant at which that of the entry does.
 */
export function planRelease(
  { nowMs, reserved }: Pick<SubjectState, 'nowMs' | 'reserved'>,
  approvals: readonly JournalEntry[],
): ReleasePlan {
  const found = new Map(
    approvals
      .flatMap((entry) => reservedBy(entry) ?? [])
      .map((each) => [`${each.key} ${each.untilMs}`, each] as const),
  );
  const amounts: ReservedAmount[] = [];
  const kept: KeptReservation[] = [];
  for (const [key, untilMs] of reserved) {
    if (untilMs <= nowMs) continue;
    const amount = found.get(`${key} ${untilMs}`);
    if (amount === undefined) kept.push({ key, untilMs });
    else amounts.push(amount);
  }
  return { amounts, kept };
}

/** The plan without the counters that turned out to hold less. */
export function withoutKeys({ amounts, kept }: ReleasePlan, keys: readonly string[]): ReleasePlan {
  const isShort = ({ key }: ReservedAmount): boolean => keys.includes(key);
  return {
    amounts: amounts.filter((each) => !isShort(each)),
    kept: [...kept, ...amounts.filter(isShort).map(({ key, untilMs }) => ({ key, untilMs }))],
  };
}

// ---- the journal entry ----

/** The detail of a journal entry of type `release`. Amounts are decimal text, instants ISO 8601. */
export interface ReleaseDetail {
  readonly by: string;
  readonly message: string;
  /** What was given back, and until when it would have counted. */
  readonly amounts: readonly {
    readonly policy: string;
    readonly rule: string;
    readonly key: string;
    readonly amount: string;
    readonly until: string;
  }[];
  /** The counters that count on until then: see {@link KeptReservation}. */
  readonly kept: readonly { readonly key: string; readonly until: string }[];
}

const instant = (ms: number): string => new Date(ms).toISOString();

export function releaseJson({ amounts, kept }: ReleasePlan): Pick<ReleaseDetail, 'amounts' | 'kept'> {
  return {
    amounts: amounts.map(({ policy, rule, key, amount, untilMs }) => ({
      policy,
      rule,
      key,
      amount: formatAmount(amount),
      until: instant(untilMs),
    })),
    kept: kept.map(({ key, untilMs }) => ({ key, until: instant(untilMs) })),
  };
}
