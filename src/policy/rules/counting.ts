import { z } from 'zod';
import type { Callback, Payout } from '../../callback/callback.ts';
import { type Window, groupedKey } from '../../claims/window.ts';
import type { Amount } from '../../values/amount.ts';
import { type Json, canonicalJson, sha256Hex } from '../../values/canonical.ts';
import type { Facts } from '../facts.ts';
import { valuesOf } from '../language/members.ts';
import {
  type Period,
  type PeriodUnit,
  checkZone,
  createCalendar,
  isPeriodUnit,
  longestPeriodMs,
} from '../language/calendar.ts';
import {
  type Bound,
  WINDOW_MAX_MS,
  durationMs,
  formatMember,
  isSource,
  memberOf,
  memberText,
} from '../language/parameter.ts';
import { type RuleOutcome, refuse } from '../outcome.ts';
import type { RuleContext } from '../rule-context.ts';
import { type Check, type SharedCounter } from './rule.ts';

const WINDOW = 'a window, like 24h, 7d or day';
const COUNTER = 'a name like daily-total, of a-z, 0-9 and - and at most 64 characters';
const PER = 'a list of members to count by, like [userId]';

/** The parameters of all rules that count in a window, without `max`. */
export const countingParameters = {
  per: z
    .array(memberText, { error: PER })
    .max(8, { error: 'at most 8 members' })
    .optional()
    .describe(
      'Members to count by. Each combination of their values has its own count. Without `per`, ' +
        'each source, or group of sources, has one count.',
    ),
  window: z
    .string({ error: WINDOW })
    .describe(
      'A rolling duration from 1s to 400d (90s, 1m, 24h, 7d, 365d), or a calendar period: day, week ' +
        '(from Monday), month, quarter, year.',
    ),
  zone: z
    .string({ error: 'an IANA time zone, like Europe/Berlin' })
    .optional()
    .describe('The time zone of a calendar period, such as Europe/Berlin. The default is UTC.'),
  across: z
    .enum(['source', 'group'], { error: 'source or group' })
    .optional()
    .describe(
      '`group`: the sources that have the same `group` in the settings count together. The default is ' +
        '`source`: each source counts alone.',
    ),
  counter: z
    .string({ error: COUNTER })
    .regex(/^[a-z][a-z0-9-]{0,63}$/, { error: COUNTER })
    .optional()
    .describe(
      'The name of a count that rules of several policies share, also for several kinds of callbacks.',
    ),
};

/** The identity of a count. It does not include the limit, so a change of the limit keeps the count. */
export interface CounterIdentity {
  readonly rule: string;
  readonly per: readonly string[] | undefined;
  readonly window: string;
  readonly zone: string | undefined;
  /** The one symbol that is counted, unless the rule has `symbol` in `per`. */
  readonly symbol: string | undefined;
  /** What it counts, if not callbacks or their amounts. */
  readonly of?: Json | undefined;
  readonly across: 'source' | 'group' | undefined;
  /** The name of a count that rules share. */
  readonly counter: string | undefined;
}

/** How much a callback counts, in total and for each address that it pays. */
export interface CountedAmounts {
  readonly total: Amount;
  /** The total, for messages. */
  readonly text: string;
  readonly payouts: readonly Payout[];
  /** The asset, if only one is counted. */
  readonly symbol?: string;
}

/** A count in the store. */
export interface Counter {
  /** The declarations of a rule that counts. */
  readonly check: Pick<Check, 'counter' | 'sharedCounter' | 'acrossGroup' | 'countsMs' | 'compared'>;
  /** Claims room for a callback. Refuses as {@link Counting.countsOf} does. */
  readonly claim: (
    callback: Callback,
    counted: CountedAmounts,
    max: Bound,
    facts: Pick<Facts, 'nowMs' | 'group'>,
  ) => RuleOutcome;
  /**
   * Why a callback is refused of which nothing is counted: it lacks a member in `per`, or its source a group.
   */
  readonly lacking: (callback: Callback, facts: Pick<Facts, 'group'>) => RuleOutcome | undefined;
}

/** A counter that has a count for each combination of the members' values. */
export function compileCounter(counting: CounterIdentity, context: RuleContext): Counter | undefined {
  const compiled = compileCounting(counting, context);
  return (
    compiled && {
      check: compiled.check,
      claim: (callback, counted, max, facts) => claimRoom(compiled, callback, { counted, max, facts }),
      lacking(callback, facts) {
        const found = compiled.countsOf(callback, [], facts);
        return 'verdict' in found ? found : undefined;
      },
    }
  );
}

/** What a rule counts by, and in which window. */
export interface Counting extends GroupedCounts {
  readonly check: Counter['check'];
  readonly window: CountingWindow;
}

/** The counts of a rule, by the members in `per`. */
export interface GroupedCounts {
  /** The canonical names of the members in `per`, sorted, without `source`. */
  readonly per: readonly string[];
  /** What identifies all of its counts. */
  readonly counter: string;
  /** Whether there is a count for each address. */
  readonly isByAddress: boolean;
  /** Whose counts they are: those of the policy, or of all rules that name the counter. */
  readonly owner: Readonly<Record<string, Json | undefined>>;
  /**
   * The counts of a callback. `paid` has the addresses in `to`, for which there may be a count each, and
   * `symbol` the asset of its movements that is counted. Refuses if the callback lacks a member in `per`, or
   * its source a group that it would count in.
   */
  readonly countsOf: (
    callback: Callback,
    paid: readonly string[],
    facts: Pick<Facts, 'group'>,
    symbol?: string,
  ) => Counts | RuleOutcome;
}

/** The counts that a callback belongs to. */
export interface Counts {
  /** One for each address in `paid` if the rule counts by `to`, otherwise one. */
  readonly counts: readonly {
    readonly key: string;
    /** The values of the members in `per`, in the order of their names. */
    readonly by: readonly string[];
  }[];
  /** The group whose counts they are; undefined for those of one source. */
  readonly group: string | undefined;
  /** For messages: `userId 12345`, `source shop`. */
  readonly text: string;
  /** The values of the members in `per`, for messages. The caller may add others. */
  readonly values: Record<string, string>;
}

export function compileCounting(counting: CounterIdentity, context: RuleContext): Counting | undefined {
  const window = compileWindow(counting.window, counting.zone, context);
  const { rule, symbol, of, counter: name } = counting;
  const counts = groupCounts(counting, { rule, window: window?.identity, symbol, of }, context);
  if (counts === undefined || window === undefined) return undefined;
  const { per, counter } = counts;
  return {
    ...counts,
    check: {
      counter,
      acrossGroup: counting.across === 'group',
      ...(name === undefined ? {} : { sharedCounter: sharedCounter(name, counting, per, window) }),
      countsMs: window.countsMs,
      compared: { members: per, effect: 'has a limit of its own' },
    },
    window,
  };
}

/** The counts of a rule that has one for each combination of the members' values. */
export function groupCounts(
  counting: Partial<Pick<CounterIdentity, 'per' | 'across' | 'counter'>>,
  identity: Readonly<Record<string, Json | undefined>>,
  context: RuleContext,
): GroupedCounts | undefined {
  const per = compilePer(counting, context);
  if (per === undefined) return undefined;
  const { policy, scope, movements } = context;
  const acrossGroup = counting.across === 'group';
  const owner = {
    ...(counting.counter === undefined ? { policy, scope, movements } : { counter: counting.counter }),
    ...(acrossGroup ? { across: 'group' } : {}),
  };
  const counter = canonicalJson({ ...identity, ...owner, per });
  const compiled = { per, to: per.indexOf('to'), counter, acrossGroup, onlyKey: keyOf(counter, []) };
  return {
    per,
    counter,
    isByAddress: compiled.to !== -1,
    owner,
    countsOf: (callback, paid, facts, asset) =>
      countsOf(compiled, callback, { paid, ownGroup: facts.group, asset }),
  };
}

function sharedCounter(
  name: string,
  { rule, of, symbol = 'all', across = 'source' }: CounterIdentity,
  per: readonly string[],
  window: CountingWindow,
): SharedCounter {
  const same = (text: string): SharedCounter['agreement'][string] => ({ text, identity: text });
  return {
    name,
    agreement: {
      rule: same(rule),
      per: same(`[${per.join(', ')}]`),
      window,
      across: same(across),
      symbol: same(symbol),
      ...(of === undefined ? {} : { of: same(canonicalJson(of)) }),
    },
  };
}

/**
 * The canonical names, sorted, so that their order has no effect. Without `source`, because the store counts
 * by source in any case, unless it counts across a group.
 */
function compilePer(
  { per: names = [], across }: Partial<Pick<CounterIdentity, 'per' | 'across'>>,
  context: RuleContext,
): readonly string[] | undefined {
  const members = names.map((name, index) => memberOf(name, ['per', index], context));
  const known = members.filter((member) => member !== undefined);
  if (known.length < members.length) return undefined;
  if (across === 'group' && known.some(isSource)) {
    return context.fault(
      ['per'],
      'it would count each source alone, and all sources of a group together',
      'leave source out of per, or leave across out',
    );
  }
  return [...new Set(known)].filter((member) => !isSource(member)).sort();
}

/** The key of a count: of the counter and the values that it counts by, in the order of its members. */
export function keyOf(counter: string, values: readonly string[]): string {
  return sha256Hex(`${counter}${JSON.stringify(values)}`).slice(0, 32);
}

interface Compiled {
  readonly per: readonly string[];
  /** The index of `to` in `per`; -1 if it is not there. */
  readonly to: number;
  readonly counter: string;
  readonly acrossGroup: boolean;
  /** The key of the only count if `per` is empty. */
  readonly onlyKey: string;
}

interface CountedFor {
  readonly paid: readonly string[];
  readonly ownGroup: string | undefined;
  readonly asset: string | undefined;
}

function countsOf(
  { per, to, counter, acrossGroup, onlyKey }: Compiled,
  callback: Callback,
  { paid, ownGroup, asset }: CountedFor,
): Counts | RuleOutcome {
  const { source } = callback;
  const group = acrossGroup ? ownGroup : undefined;
  if (acrossGroup && group === undefined) {
    const because = `the source ${source} has no group in the settings, across which this rule counts`;
    return { ...refuse(because, { source }), retryable: true };
  }
  const by: string[] = [];
  let text = '';
  const values: Record<string, string> = {};
  for (const member of per) {
    const found = textsOf(callback, member, asset);
    const value = found[0];
    if (value === undefined) return refuse(`${member} is missing, by which this rule counts`, { member });
    const isTo = member === 'to';
    if (found.length > 1 && !isTo) return refuse(`${member} has several values`, { member });
    by.push(value);
    text += `${text === '' ? '' : ', '}${formatMember(member, isTo ? paid : found)}`;
    values[member] = isTo ? paid.join(' ') : value;
  }
  if (group !== undefined) {
    text += `${text === '' ? '' : ', '}group ${group}`;
    values['group'] = group;
  }
  if (text === '') text = `source ${source}`;
  const keyFor = (each: readonly string[]) => groupedKey(group, keyOf(counter, each));
  const counts =
    to === -1
      ? [{ key: per.length === 0 ? groupedKey(group, onlyKey) : keyFor(by), by }]
      : paid.map((address) => {
          const each = by.with(to, address);
          return { key: keyFor(each), by: each };
        });
  return {
    counts,
    group,
    text,
    values,
  };
}

interface RoomRequest {
  readonly counted: CountedAmounts;
  readonly max: Bound;
  readonly facts: Pick<Facts, 'nowMs' | 'group'>;
}

function claimRoom(
  { window, isByAddress, countsOf: countsFor }: Counting,
  callback: Callback,
  { counted, max, facts }: RoomRequest,
): RuleOutcome {
  const paid = isByAddress ? counted.payouts.map(({ to }) => to) : [];
  const found = countsFor(callback, paid, facts, counted.symbol);
  if ('verdict' in found) return found;
  const { window: span, valid } = window.at(facts.nowMs);
  const { values } = found;
  values['asked'] = counted.text;
  values['max'] = max.text;
  values['window'] = window.text;
  return {
    verdict: 'claim',
    because: `${counted.text} more for ${found.text} in ${window.text}, of at most ${max.text}`,
    values,
    claims: found.counts.map(({ key }, at) => {
      const amount = isByAddress ? (counted.payouts[at]?.amount ?? counted.total) : counted.total;
      return { type: 'window', key, amount, max: max.amount, window: span };
    }),
    // A window gets room again as time passes, without a push.
    retryable: true,
    valid,
  };
}

/** The values of a member. Of a transaction with movements, `symbol` is the asset that is counted. */
function textsOf(callback: Callback, member: string, symbol: string | undefined): readonly string[] {
  const isAsset = member === 'symbol' && callback.movements !== undefined && symbol !== undefined;
  return isAsset ? [symbol] : valuesOf(callback, member);
}

/** A rolling window counts in this many buckets, so it is at most one bucket too long. */
const BUCKETS = 60;

/** A compiled window. */
export interface CountingWindow {
  /** Equal for equivalent windows, such as 24h and 1d. */
  readonly identity: string;
  /** `24h`, `day (UTC)`. */
  readonly text: string;
  /** How long an approval counts, at most. */
  readonly countsMs: number;
  readonly at: (nowMs: number) => { readonly window: Window; readonly valid: RuleOutcome['valid'] };
}

/**
 * `90s`, `1m`, `24h`, `7d` are rolling windows; `day`, `month`, `year` are calendar periods of a time zone.
 */
function compileWindow(
  window: string,
  zone: string | undefined,
  context: RuleContext,
): CountingWindow | undefined {
  return isPeriodUnit(window)
    ? calendarWindow(window, zone ?? 'UTC', context)
    : rollingWindow(window, zone, context);
}

function rollingWindow(
  text: string,
  zone: string | undefined,
  context: RuleContext,
): CountingWindow | undefined {
  const lengthMs = durationMs(text, WINDOW_MAX_MS);
  if (lengthMs === undefined) {
    return context.fault(
      ['window'],
      `${JSON.stringify(text)} is not a window`,
      'write a duration from 1s to 400d, like 90s, 1m, 24h or 7d, or one of day, week, month, quarter and year',
    );
  }
  if (zone !== undefined) {
    return context.fault(
      ['zone'],
      `a rolling window of ${text} has no time zone`,
      'leave zone out, or count by day',
    );
  }
  const window = { type: 'rolling', lengthMs, bucketMs: Math.ceil(lengthMs / BUCKETS) } as const;
  const found = { window, valid: undefined };
  const countsMs = lengthMs + window.bucketMs;
  return { identity: `rolling ${lengthMs}`, text, countsMs, at: () => found };
}

function calendarWindow(unit: PeriodUnit, zone: string, context: RuleContext): CountingWindow | undefined {
  if (!checkZone(zone, context)) return undefined;
  const periodAt = createCalendar(unit, zone);
  let last = windowOf({ startMs: 0, endMs: 0 });
  return {
    identity: `${unit} ${zone}`,
    text: `${unit} (${zone})`,
    countsMs: longestPeriodMs(unit),
    at: (nowMs) => {
      if (nowMs < last.valid.fromMs || nowMs >= last.valid.untilMs) last = windowOf(periodAt(nowMs));
      return last;
    },
  };
}

function windowOf({ startMs, endMs }: Period) {
  return {
    window: { type: 'calendar', startMs, endMs },
    valid: { fromMs: startMs, untilMs: endMs },
  } as const;
}
