import { z } from 'zod';
import { usageError } from '../errors.ts';
import { proposalFromJson } from '../policy/proposal.ts';
import { type Amount, formatAmount } from '../values/amount.ts';
import type { JournalEntry, SubjectState } from './store.ts';

const MESSAGE_MAX = 1000;
const BY_MAX = 200;

/** Throws USAGE if the message or the author is empty or too long to be kept with the subject. */
export function assertRelease({ message, by }: { readonly message: string; readonly by: string }): void {
  for (const [what, text, most] of [
    ['message', message, MESSAGE_MAX],
    ['author', by, BY_MAX],
  ] as const) {
    if (text.length > 0 && text.length <= most) continue;
    throw usageError(
      `the ${what} of the release has ${text.length} characters, and nothing was released; give 1 to ${most}`,
      { what, characters: text.length },
    );
  }
}

// ---- what a release gives back ----

/**
 * An amount that a subject has reserved, and the rule that counts it; without names if the journal names
 * none.
 */
export interface ReservedAmount {
  readonly key: string;
  readonly amount: Amount;
  readonly untilMs: number;
  readonly policy: string;
  readonly rule: string;
}

/**
 * A reservation that can't be given back, and therefore counts until its window ends: it is of a counter of
 * values, which other approvals may count as well, or the counter has lost the amount.
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
 * What can be given back of what a subject has reserved, as far as it still counts. `approvals` are the
 * entries with SUCCESS about the subject, newest first: they name the rules.
 */
export function planRelease(
  { nowMs, reserved }: Pick<SubjectState, 'nowMs' | 'reserved'>,
  approvals: readonly JournalEntry[],
): ReleasePlan {
  const names = new Map(approvals.toReversed().flatMap(namesIn));
  const amounts: ReservedAmount[] = [];
  const kept: KeptReservation[] = [];
  for (const { key, untilMs, amount } of reserved) {
    if (untilMs <= nowMs) continue;
    if (amount === undefined) kept.push({ key, untilMs });
    else amounts.push({ key, amount, untilMs, ...(names.get(key) ?? { policy: '', rule: '' }) });
  }
  return { amounts, kept };
}

const entryDetail = z.object({ proposal: z.unknown() });

/** By counter, the rule of an approval that counts there. */
function namesIn({ detail }: JournalEntry): readonly (readonly [key: string, names: RuleNames])[] {
  try {
    const { claims, results } = proposalFromJson(entryDetail.parse(JSON.parse(detail)).proposal);
    return claims.flatMap((claim) => {
      const { policy = '', rule = '' } = results[claim.result] ?? {};
      return 'key' in claim ? [[claim.key, { policy, rule }] as const] : [];
    });
  } catch {
    // This version can't explain the entry.
    return [];
  }
}

type RuleNames = Pick<ReservedAmount, 'policy' | 'rule'>;

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
