import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { type Amount, formatAmount } from '../../values/amount.ts';
import { canonicalJson, sha256Hex } from '../../values/canonical.ts';
import { valuesOf } from '../members.ts';
import { isSource, memberOf, memberText, pinnedSymbol, told } from './parameter.ts';
import { type Check, type Outcome, type RuleContext, refuse } from './rule.ts';
import { type CountingWindow, compileWindow } from './window.ts';

const WINDOW = 'a window, like 24h, 7d or day';
const PER = 'a list of members to count by, like [userId]';

/** The parameters that all rules which count in a window share; `max` is each one's own. */
export const countingParameters = {
  per: z
    .array(memberText, { error: PER })
    .max(8, { error: 'at most 8 members' })
    .optional()
    .describe(
      'Members to count by: each combination of their values has a count of its own. Without it, the source.',
    ),
  window: z
    .string({ error: WINDOW })
    .describe(
      'A rolling length from 1s to 92d (90s, 1m, 24h, 7d), or a calendar period: day, week (from Monday), month.',
    ),
  zone: z
    .string({ error: 'an IANA time zone, like Europe/Berlin' })
    .optional()
    .describe('The time zone of a calendar period, such as Europe/Berlin. UTC if left out.'),
};

export const countingNotes: readonly string[] = [
  'The count is kept in the store, shared by all replicas; checking and reserving are one step. Only approvals count, and a repeated callback counts once for as long as its window lasts.',
  'A rolling window is counted in 60 parts and may count up to one part too much, never too little. Calendar windows are exact.',
  'Changing `max` keeps the count; changing `per`, `window`, `zone` or the names of the policy or its one symbol begins a new one.',
  'A callback without one of the members in `per` is refused.',
  'With `to` in `per`, a withdrawal to several addresses counts for each of them.',
];

/** What distinguishes one counting rule from another. */
export interface Counting {
  readonly rule: string;
  readonly per: readonly string[] | undefined;
  readonly window: string;
  readonly zone: string | undefined;
  readonly max: Amount;
  /** How much a callback counts, in all and for each address that it pays; or why that can't be said. */
  readonly count: (callback: Callback) =>
    | {
        readonly total: Amount;
        readonly payouts: readonly { readonly to: string; readonly amount: Amount }[];
      }
    | string;
}

/** A check that claims room in the store's counters. */
export function compileCounting(counting: Counting, context: RuleContext): Check | undefined {
  const per = compilePer(counting.per ?? [], context);
  const window = compileWindow(counting.window, counting.zone, context);
  if (per === undefined || window === undefined) return undefined;
  const identity = {
    policy: context.policy,
    rule: counting.rule,
    window: window.identity,
    symbol: pinnedSymbol(context),
  };
  const counter = canonicalJson({ ...identity, per });
  const max = formatAmount(counting.max);
  return {
    counter,
    evaluate: (callback, nowMs) => evaluateCounting({ counting, per, window, counter, max }, callback, nowMs),
  };
}

/** The members' one names, sorted, so that their order means nothing. The source is always counted by. */
function compilePer(names: readonly string[], context: RuleContext): readonly string[] | undefined {
  const members = names.map((name, index) => memberOf(name, ['per', index], context));
  const known = members.filter((member) => member !== undefined);
  if (known.length < members.length) return undefined;
  return [...new Set(known)].filter((member) => !isSource(member)).sort();
}

/** The counter and the values that it counts by, in the order of its members. */
function keyOf(counter: string, values: readonly string[]): string {
  return sha256Hex(`${counter}${JSON.stringify(values)}`).slice(0, 32);
}

interface Compiled {
  readonly counting: Counting;
  readonly per: readonly string[];
  readonly window: CountingWindow;
  readonly counter: string;
  /** The limit as text. */
  readonly max: string;
}

function evaluateCounting(compiled: Compiled, callback: Callback, nowMs: number): Outcome {
  const { counting, per, counter, max } = compiled;
  const by: Record<string, string> = {};
  for (const member of per) {
    const [value, another] = valuesOf(callback, member);
    if (value === undefined) return refuse(`${member} is missing, by which this rule counts`, { member });
    if (another !== undefined && member !== 'to') return refuse(`${member} has several values`, { member });
    by[member] = value;
  }
  const counted = counting.count(callback);
  if (typeof counted === 'string') return refuse(counted);
  const { window, valid } = compiled.window.at(nowMs);
  const shares = per.includes('to')
    ? counted.payouts.map((payout) => ({ by: { ...by, to: payout.to } as typeof by, amount: payout.amount }))
    : [{ by, amount: counted.total }];
  const to = counted.payouts.map((payout) => payout.to);
  const whom = per.map((member) => told(member, member === 'to' ? to : [by[member] ?? '']));
  const asked = formatAmount(counted.total);
  return {
    verdict: 'claim',
    because: `${asked} more for ${whom.join(', ') || `source ${callback.source}`} in ${compiled.window.text}, of at most ${max}`,
    values: {
      ...by,
      ...(per.includes('to') ? { to: to.join(' ') } : {}),
      asked,
      max,
      window: compiled.window.text,
    },
    claims: shares.map((share) => ({
      type: 'window',
      key: keyOf(
        counter,
        per.map((member) => share.by[member] ?? ''),
      ),
      amount: share.amount,
      max: counting.max,
      window,
    })),
    ...(valid === undefined ? {} : { valid }),
  };
}
