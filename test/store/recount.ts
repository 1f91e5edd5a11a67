import { inspect } from 'node:util';
import type { Claim, ClaimResult } from '../../src/claims/claims.ts';
import type { DistinctClaim } from '../../src/claims/distinct.ts';
import { type WindowClaim, groupOfKey } from '../../src/claims/window.ts';
import { type Choice, claimsIn } from '../../src/policy/proposal.ts';
import { settleStepOf } from '../../src/store/settle-step.ts';
import type { ApprovalRelease, SettleRequest, SettleResult, Store } from '../../src/store/store.ts';
import type { Amount } from '../../src/values/amount.ts';

/*
 * Counts once more what approvals have reserved, from the requests and results of settles alone: of each
 * subject, its latest approval counts.
 */

interface Latest {
  readonly amount: Amount;
  readonly untilMs: number;
}

export class Recount {
  /** By counter and subject. */
  readonly #amounts = new Map<string, Map<string, Latest>>();
  /** By counter, until when each value counts. */
  readonly #values = new Map<string, Map<string, number>>();
  /** By value, the subject that had it first, of those that only count new ones. */
  readonly #firsts = new Map<string, string>();

  /**
   * Throws if an approval is above a limit, or a counter of the request counts anything else than it should.
   */
  async check(store: Store, asked: SettleRequest, result: SettleResult): Promise<void> {
    const step = settleStepOf(asked);
    const windows = step.claims.filter((claim) => claim.type === 'window');
    if ('verdict' in result && result.verdict === 'SUCCESS') this.#approve(step, result);
    const nowMs = 'atMs' in result ? result.atMs : result.nowMs;
    const keys = [...new Set(windows.map(({ key }) => key))];
    const buckets = await store.buckets(step.source, keys);
    for (const [at, key] of keys.entries()) {
      const claim = windows.find((each) => each.key === key);
      const counting = buckets[at]?.filter(({ endMs }) => endMs + lengthOf(claim) > nowMs) ?? [];
      const counted = counting.reduce((sum, { amount }) => sum + amount, 0n);
      const expected = sumOf(this.#amountsIn(step.source, key), nowMs);
      if (counted !== expected) throw new Error(`${key} counts ${counted} in place of ${expected}`);
    }
  }

  /** What a release has given back. */
  release({ source, subject, keys }: Pick<ApprovalRelease, 'source' | 'subject' | 'keys'>): void {
    for (const key of keys) this.#amountsIn(source, key).delete(`${source} ${subject}`);
  }

  #amountsIn(source: string, key: string): Map<string, Latest> {
    return memberOf(this.#amounts, nameOf(source, key));
  }

  #approve(
    { source, subject: id, claims, choices }: ReturnType<typeof settleStepOf>,
    { atMs, claims: results }: Extract<SettleResult, { readonly verdict: string }>,
  ): void {
    const subject = `${source} ${id}`;
    const inChoices = new Set(choices.flatMap(claimsIn));
    const taken = new Set(choices.flatMap((choice) => takenOf(choice, results) ?? []));
    const reserving = claims.filter((_, at) => !inChoices.has(at) || taken.has(at));
    const deciding = reserving.filter((claim) => claim.decides || taken.has(claims.indexOf(claim)));
    const firstNames: string[] = [];
    for (const claim of deciding) this.#expectRoom(source, subject, claim, atMs);
    for (const [key, all] of Map.groupBy(reserving.filter(isWindow), (claim) => claim.key)) {
      const amount = all.reduce((sum, claim) => sum + claim.amount, 0n);
      const [first] = all;
      if (first === undefined) continue;
      const untilMs = bucketEndOf(first, atMs) + lengthOf(first);
      this.#amountsIn(source, key).set(subject, { amount, untilMs });
    }
    for (const claim of reserving.filter(isDistinct)) {
      const values = memberOf(this.#values, nameOf(source, claim.key));
      for (const value of this.#counting(source, subject, claim)) values.set(value, untilOf(claim, atMs));
      if (claim.onlyNew) firstNames.push(...claim.values.map((value) => nameOf(source, value)));
    }
    for (const name of firstNames) if (!this.#firsts.has(name)) this.#firsts.set(name, subject);
  }

  /** For what the claim asks for by itself. */
  #expectRoom(source: string, subject: string, claim: Claim, atMs: number): void {
    if (claim.type === 'window') {
      const others = new Map(this.#amountsIn(source, claim.key));
      others.delete(subject);
      const sum = sumOf(others, atMs) + claim.amount;
      if (sum > claim.max) throw new Error(`approved ${sum} of at most ${claim.max}: ${inspect(claim)}`);
    }
    if (claim.type === 'distinct') {
      const own = this.#counting(source, subject, claim);
      const counted = [...memberOf(this.#values, nameOf(source, claim.key))].filter(([, end]) => end > atMs);
      const all = new Set([...counted.map(([value]) => value), ...own]);
      if (own.length > 0 && all.size > claim.max) {
        throw new Error(`approved ${all.size} values of at most ${claim.max}: ${inspect(claim)}`);
      }
    }
  }

  #counting(source: string, subject: string, { values, onlyNew }: DistinctClaim): readonly string[] {
    if (!onlyNew) return values;
    return values.filter((value) => (this.#firsts.get(nameOf(source, value)) ?? subject) === subject);
  }
}

const isWindow = (claim: Claim): claim is WindowClaim => claim.type === 'window';
const isDistinct = (claim: Claim): claim is DistinctClaim => claim.type === 'distinct';

const nameOf = (source: string, key: string): string =>
  groupOfKey(key) === undefined ? `${source} ${key}` : key;

function memberOf<T>(maps: Map<string, Map<string, T>>, name: string): Map<string, T> {
  const found = maps.get(name) ?? new Map<string, T>();
  maps.set(name, found);
  return found;
}

const lengthOf = (claim: WindowClaim | undefined): number =>
  claim?.window.type === 'rolling' ? claim.window.lengthMs : 0;

const bucketEndOf = ({ window }: WindowClaim, atMs: number): number =>
  window.type === 'rolling' ? (Math.floor(atMs / window.bucketMs) + 1) * window.bucketMs : window.endMs;

const untilOf = ({ window }: DistinctClaim, atMs: number): number =>
  window.type === 'rolling' ? atMs + window.lengthMs : window.endMs;

const sumOf = (latest: ReadonlyMap<string, Latest>, nowMs: number): Amount =>
  [...latest.values()].reduce((sum, { amount, untilMs }) => (untilMs > nowMs ? sum + amount : sum), 0n);

/** The claims of the first alternative that holds; undefined if none does. */
function takenOf({ alternatives }: Choice, results: readonly ClaimResult[]): readonly number[] | undefined {
  for (const { requires } of alternatives) {
    const taken = requires?.map((item) =>
      typeof item === 'number'
        ? results[item]?.holds === true
          ? [item]
          : undefined
        : takenOf(item, results),
    );
    if (taken?.every((each) => each !== undefined) === true) return taken.flat();
  }
  return undefined;
}
