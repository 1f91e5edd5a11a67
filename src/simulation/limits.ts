import { setImmediate } from 'node:timers/promises';
import { type Window, type WindowClaim, groupOfKey } from '../claims/window.ts';
import { pagedEntries } from '../journal/record.ts';
import { recordedCallback } from '../journal/recorded.ts';
import { evaluate } from '../policy/evaluate.ts';
import { type PriceTable, factsAt } from '../policy/facts.ts';
import type { Proposal } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import type { CountedBucket, JournalEntry, Store } from '../store/store.ts';
import type { Amount } from '../values/amount.ts';
import { addressIdentity } from '../values/address.ts';
import { canonicalUserId } from '../values/user-id.ts';

/*
 * How full the limits over time are. A store knows its counters only by a digest, so those are looked up that
 * recent callbacks count in, under the policies in force.
 */

/** A count of a rule that limits amounts or callbacks in a window. */
export interface LimitUse {
  readonly source: string;
  /** The group whose sources count together; undefined if the source counts alone. */
  readonly group: string | undefined;
  readonly policy: string;
  readonly rule: string;
  readonly mode: Proposal['results'][number]['mode'];
  /** The members that it counts by, with their values: `userId`, `12345`. Empty for a count of everything. */
  readonly by: Readonly<Record<string, string>>;
  /** Like `24h`, or `day (UTC)`. */
  readonly window: string;
  /** In units of 10^-36; a velocity limit counts a callback as 10^36. */
  readonly max: Amount;
  /** What approvals have reserved in the window. It can be above `max`, which may be lower than it was. */
  readonly used: Amount;
  /** The next time at which amounts stop counting; undefined if nothing is used. */
  readonly next: { readonly atMs: number; readonly amount: Amount } | undefined;
}

/** Which of the limits to return. */
export interface LimitsWanted {
  /** Only those of a policy (`POLICY`) or of a rule (`POLICY/RULE`). */
  readonly rule?: string | undefined;
  /** Only those that count by this value, such as a user or an address. */
  readonly value?: string | undefined;
  /** At most so many, the fullest. */
  readonly most: number;
}

export interface LimitsInUse {
  /** The fullest first. */
  readonly limits: readonly LimitUse[];
  /** How many limits the entries count in, and how many of those were wanted. */
  readonly found: number;
  readonly wanted: number;
  /** How many entries of the journals were looked at, and the oldest of them. */
  readonly looked: number;
  readonly sinceMs: number | undefined;
}

export interface LimitsQuery extends LimitsWanted {
  readonly sources: readonly string[];
  /** How many of the newest entries of each source to look at. */
  readonly entries: number;
  /** Whether to look at no more, given how many entries have been looked at. */
  readonly isOver?: (looked: number) => boolean;
}

export interface LimitsParts {
  readonly store: Pick<Store, 'entries' | 'buckets'>;
  readonly release: Release | undefined;
  readonly prices: PriceTable;
  readonly groupOf: (source: string) => string | undefined;
  readonly nowMs: number;
}

interface Found {
  readonly source: string;
  readonly claim: WindowClaim;
  readonly use: Omit<LimitUse, 'used' | 'next'>;
}

/** Callbacks that are evaluated before others have a turn. */
const IN_A_ROW = 20;
const KEYS_AT_ONCE = 100;

/** The limits that the newest callbacks of the sources count in, as they are now. Writes nothing. */
export async function limitsInUse(parts: LimitsParts, query: LimitsQuery): Promise<LimitsInUse> {
  const found = createFinds(parts);
  let [looked, sinceMs] = [0, undefined as number | undefined];
  for (const source of query.sources) {
    const seen = new Set<string>();
    const lookedElsewhere = looked;
    for await (const entry of pagedEntries(parts.store, { source, newestFirst: true, explained: false })) {
      if (looked - lookedElsewhere === query.entries || query.isOver?.(looked) === true) break;
      looked += 1;
      sinceMs = Math.min(sinceMs ?? Infinity, entry.atMs);
      if (seen.has(entry.subject)) continue;
      seen.add(entry.subject);
      found.add(entry);
      if (seen.size % IN_A_ROW === 0) await setImmediate();
    }
  }
  return { ...(await found.limits(query)), looked, sinceMs };
}

/** The limits that these entries count in, as they are now, the fullest first. Writes nothing. */
export async function limitsOfEntries(
  parts: LimitsParts,
  entries: readonly JournalEntry[],
  wanted: LimitsWanted,
): Promise<readonly LimitUse[]> {
  const found = createFinds(parts);
  for (const entry of entries) found.add(entry);
  return (await found.limits(wanted)).limits;
}

/** The counts of some entries, each once. */
function createFinds(parts: LimitsParts) {
  const found = new Map<string, Found>();
  return {
    add(entry: JournalEntry): void {
      for (const each of countsOf(parts, entry)) {
        const { group, source, policy, rule } = each.use;
        found.set(`${group === undefined ? source : ''} ${each.claim.key} ${policy}/${rule}`, each);
      }
    },
    async limits(query: LimitsWanted): Promise<Pick<LimitsInUse, 'limits' | 'found' | 'wanted'>> {
      const wanted = [...found.values()].filter(({ use }) => isWanted(use, query));
      const limits = (await usesOf(parts, wanted)).sort(byFullness).slice(0, query.most);
      return { limits, found: found.size, wanted: wanted.length };
    },
  };
}

function isWanted({ policy, rule, by }: Found['use'], wanted: LimitsWanted): boolean {
  const { rule: name = policy, value } = wanted;
  if (name !== policy && name !== `${policy}/${rule}`) return false;
  if (value === undefined) return true;
  const texts = new Set([addressIdentity(value), canonicalUserId(value)]);
  return Object.values(by).some((each) => texts.has(addressIdentity(each)));
}

/** What a callback counts in under the policies in force, whatever else they say of it. */
function countsOf({ release, prices, groupOf, nowMs }: LimitsParts, entry: JournalEntry): readonly Found[] {
  if (entry.type !== 'decision' && entry.type !== 'repeat') return [];
  const recorded = recordedCallback(entry);
  if (typeof recorded === 'string') return [];
  const { callback } = recorded;
  const { source } = callback;
  const group = groupOf(source);
  const proposal = evaluate(release, callback, factsAt(nowMs, { group, prices }));
  const byResult = Map.groupBy(
    proposal.claims.filter((claim) => claim.type === 'window'),
    ({ result }) => result,
  );
  return [...byResult].flatMap(([index, claims]) => {
    const result = proposal.results[index];
    const members = membersOf(release, result);
    return claims.map((claim, at): Found => ({
      source,
      claim,
      use: useOf(result, { source, members, claim, at, of: claims.length }),
    }));
  });
}

function membersOf(release: Release | undefined, result: Proposal['results'][number] | undefined) {
  const policy = release?.policies.find(({ name }) => name === result?.policy);
  return policy?.rules.find(({ name }) => name === result?.rule)?.compared?.members ?? [];
}

/** Values that a rule with several counts has for each of them, in their order. */
const EACH: ReadonlySet<string> = new Set(['to', 'symbol', 'window']);

function useOf(
  result: Proposal['results'][number] | undefined,
  {
    source,
    members,
    claim,
    at,
    of,
  }: {
    readonly source: string;
    /** Those that the rule counts by. */
    readonly members: readonly string[];
    readonly claim: WindowClaim;
    readonly at: number;
    readonly of: number;
  },
): Found['use'] {
  const { policy = '', rule = '', mode = 'enforce', values = {} } = result ?? {};
  const own = (name: string, text: string): string => {
    const texts = text.split(' ');
    return of > 1 && EACH.has(name) && texts.length === of ? (texts[at] ?? text) : text;
  };
  return {
    source,
    group: groupOfKey(claim.key),
    policy,
    rule,
    mode,
    by: Object.fromEntries(members.map((name) => [name, own(name, values[name] ?? '')])),
    window: own('window', values['window'] ?? ''),
    max: claim.max,
  };
}

async function usesOf({ store, nowMs }: LimitsParts, found: readonly Found[]): Promise<LimitUse[]> {
  const uses: LimitUse[] = [];
  for (const ofSource of Map.groupBy(found, ({ source }) => source).values()) {
    for (let from = 0; from < ofSource.length; from += KEYS_AT_ONCE) {
      const some = ofSource.slice(from, from + KEYS_AT_ONCE);
      const keys = some.map(({ claim }) => claim.key);
      const counters = await store.buckets(some[0]?.source ?? '', keys);
      for (const [at, { claim, use }] of some.entries()) {
        uses.push({ ...use, ...usedOf(claim.window, counters[at] ?? [], nowMs) });
      }
    }
  }
  return uses;
}

/** What counts now, and when the oldest of it stops counting. */
function usedOf(
  window: Window,
  buckets: readonly CountedBucket[],
  nowMs: number,
): Pick<LimitUse, 'used' | 'next'> {
  const isRolling = window.type === 'rolling';
  const horizonMs = isRolling ? nowMs - window.lengthMs : window.startMs;
  const counting = buckets.filter(({ endMs, amount }) => endMs > horizonMs && amount > 0n);
  const used = counting.reduce((sum, { amount }) => sum + amount, 0n);
  const [oldest] = counting;
  if (oldest === undefined) return { used, next: undefined };
  const atMs = isRolling ? oldest.endMs + window.lengthMs : window.endMs;
  return { used, next: { atMs, amount: isRolling ? oldest.amount : used } };
}

function byFullness(a: LimitUse, b: LimitUse): number {
  const [left, right] = [a.used * (b.max === 0n ? 1n : b.max), b.used * (a.max === 0n ? 1n : a.max)];
  if (left !== right) return left > right ? -1 : 1;
  return `${a.policy}/${a.rule}` < `${b.policy}/${b.rule}` ? -1 : 1;
}

/** How full a limit is, in whole percent, rounded down: 100 only if nothing more fits. */
export function percentOf({ used, max }: Pick<LimitUse, 'used' | 'max'>): number {
  return max === 0n || used >= max ? 100 : Number((used * 100n) / max);
}
