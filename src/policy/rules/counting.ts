import { z } from 'zod';
import type { Callback, Payout } from '../../callback/callback.ts';
import type { Amount } from '../../values/amount.ts';
import { canonicalJson, sha256Hex } from '../../values/canonical.ts';
import { valuesOf } from '../members.ts';
import { type Bound, isSource, memberOf, memberText, formatMember } from './parameter.ts';
import { type Outcome, type RuleContext, refuse } from './rule.ts';
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
  'Changing `max` keeps the count; changing `per`, `window`, `zone` or the name of the policy begins a new one.',
  'A callback without one of the members in `per` is refused.',
  'A refusal for lack of room does not stand: each repeat is decided afresh, and passes once time has made room.',
  'With `to` in `per`, a withdrawal to several addresses counts for each of them.',
];

/** For rules whose count is that of the one symbol under `when`. */
export const ONE_SYMBOL_NOTE =
  'Where `when` names exactly one symbol, the count is of that symbol alone: naming another, or several, begins a new one.';

/** What distinguishes one count from another. Limits are none of it, so changing them keeps the count. */
export interface Counting {
  readonly rule: string;
  readonly per: readonly string[] | undefined;
  readonly window: string;
  readonly zone: string | undefined;
  /** The one symbol that is counted, where the rule counts by it without having it in `per`. */
  readonly symbol: string | undefined;
}

/** How much a callback counts, in all and for each address that it pays. */
export interface Counted {
  readonly total: Amount;
  /** The total as it is told. */
  readonly text: string;
  readonly payouts: readonly Payout[];
}

/** A count in the store, with its members and its window known. */
export interface Counter {
  readonly counter: string;
  /** Claims room for what a callback counts; or refuses, if it lacks a member that is counted by. */
  readonly claim: (callback: Callback, counted: Counted, max: Bound, nowMs: number) => Outcome;
}

/** A count of its own for each combination of the members' values. */
export function compileCounting(counting: Counting, context: RuleContext): Counter | undefined {
  const per = compilePer(counting.per ?? [], context);
  const window = compileWindow(counting.window, counting.zone, context);
  if (per === undefined || window === undefined) return undefined;
  const { rule, symbol } = counting;
  const identity = { policy: context.policy, rule, window: window.identity, symbol };
  const counter = canonicalJson({ ...identity, per });
  const compiled = { per, to: per.indexOf('to'), window, counter, whole: keyOf(counter, []) };
  return {
    counter,
    claim: (callback, counted, max, nowMs) => claimRoom(compiled, callback, { counted, max, nowMs }),
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
export function keyOf(counter: string, values: readonly string[]): string {
  return sha256Hex(`${counter}${JSON.stringify(values)}`).slice(0, 32);
}

interface Compiled {
  readonly per: readonly string[];
  /** The place of `to` in `per`; -1 if it is not there. */
  readonly to: number;
  readonly window: CountingWindow;
  readonly counter: string;
  /** The key of the one count that there is where `per` is empty. */
  readonly whole: string;
}

interface Asked {
  readonly counted: Counted;
  readonly max: Bound;
  readonly nowMs: number;
}

function claimRoom(compiled: Compiled, callback: Callback, { counted, max, nowMs }: Asked): Outcome {
  const { per, to, counter } = compiled;
  const paid = to === -1 ? [] : counted.payouts.map((payout) => payout.to);
  const by: string[] = [];
  const whom: string[] = [];
  const values: Record<string, string> = {};
  for (const member of per) {
    const found = valuesOf(callback, member);
    const value = found[0];
    if (value === undefined) return refuse(`${member} is missing, by which this rule counts`, { member });
    const isTo = member === 'to';
    if (found.length > 1 && !isTo) return refuse(`${member} has several values`, { member });
    by.push(value);
    whom.push(formatMember(member, isTo ? paid : found));
    values[member] = isTo ? paid.join(' ') : value;
  }
  const { text } = compiled.window;
  values['asked'] = counted.text;
  values['max'] = max.text;
  values['window'] = text;
  const { window, valid } = compiled.window.at(nowMs);
  const room = (key: string, amount: Amount) =>
    ({ type: 'window', key, amount, max: max.amount, window }) as const;
  return {
    verdict: 'claim',
    because: `${counted.text} more for ${whom.join(', ') || `source ${callback.source}`} in ${text}, of at most ${max.text}`,
    values,
    claims:
      to === -1
        ? [room(per.length === 0 ? compiled.whole : keyOf(counter, by), counted.total)]
        : counted.payouts.map((payout) => room(keyOf(counter, by.with(to, payout.to)), payout.amount)),
    // Time alone makes room again.
    afresh: true,
    valid,
  };
}
