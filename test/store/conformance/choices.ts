import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Claim, ClaimResult } from '../../../src/claims/claims.ts';
import type { Choice, Requirement } from '../../../src/policy/proposal.ts';
import type { SettleResult, Store } from '../../../src/store/store.ts';
import type { Amount } from '../../../src/values/amount.ts';
import {
  change,
  claimsOf,
  countedOf,
  distinctClaim,
  keyOf,
  listClaim,
  usedOf,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

/** A claim for values, in a rolling hour with at most `max`. */
const differing = (result: number, counter: string, names: readonly string[], max: number): Claim =>
  distinctClaim(names, max, { result, key: keyOf(counter), decides: false });

/** A choice of alternatives, each of which requires the claims with these indexes. */
function choice(alternatives: readonly (readonly Requirement[])[]): Choice {
  return {
    result: 0,
    decides: true,
    retryable: false,
    alternatives: alternatives.map((requires) => ({ from: 0, to: 0, requires })),
  };
}

/** A claim of an alternative: it has a result of its own, and decides nothing by itself. */
const room = (result: number, key: string, amount: string, max: string): Claim =>
  windowClaim(amount, max, { result, key: keyOf(key), decides: false });

const onList = (result: number, list: string, value: string): Claim =>
  listClaim(list, 'hold-all', [value], { result, decides: false });

const usedIn = (store: Store, counter: string): Promise<Amount> => usedOf(store, { key: keyOf(counter) });

const verdictOf = (result: SettleResult): string => ('verdict' in result ? result.verdict : result.outcome);
const isNotChecked = (result: ClaimResult | undefined): boolean => result?.type === 'not-checked';

async function withList(store: Store, list: string, ...values: readonly string[]): Promise<void> {
  await store.changeList(change(list, values));
}

export function describeChoices(open: OpenStore): void {
  const it = testsOn(open);

  describe('of alternatives', () => {
    it('any tree of alternatives is decided and reserved as written', async ({ store, settle }) => {
      await withList(store, 'known', 'v0', 'v1');
      const used = new Map<string, Amount>();
      let made = 0;
      await fc.assert(
        fc.asyncProperty(trees, async (tree) => {
          const claims: Claim[] = [];
          const choices = tree.map((each) => asChoice(each, claims));
          const expected = foretell(choices, claims, used);
          const subject = `payment:any-${++made}`;
          const result = await settle({ subject, claims, choices });
          expect(verdictOf(result)).toBe(expected.holds ? 'SUCCESS' : 'FAILURE');
          expect(claimsOf(result).map(isNotChecked)).toEqual(
            claims.map((_, at) => !expected.checked.has(at)),
          );
          if (expected.holds) for (const [key, amount] of expected.used) used.set(key, amount);
          const sums = [...used].filter(([key]) => !key.includes(' '));
          for (const [key, amount] of sums) expect(await usedIn(store, key)).toBe(amount);
          for (const counter of [0, 1].map((at) => keyOf(`values-${at}`))) {
            const counted = [...used.keys()].filter((key) => key.startsWith(`${counter} `));
            expect(await countedOf(store, counter)).toBe(counted.length);
          }
        }),
        { numRuns: 75 },
      );
    });
  });
}

// ---- trees of alternatives, and what becomes of them ----

type Leaf =
  | { readonly counter: number; readonly amount: number; readonly max: number }
  | { readonly name: number; readonly values: number; readonly max: number }
  | { readonly value: number };
type Tree = readonly (readonly (Leaf | { readonly inner: Tree })[])[];

const leaf: fc.Arbitrary<Leaf> = fc.oneof(
  fc.record({ counter: fc.nat(2), amount: fc.integer({ min: 1, max: 4 }), max: fc.nat(120) }),
  fc.record({ name: fc.nat(5), values: fc.nat(1), max: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ value: fc.nat(3) }),
);
const { tree } = fc.letrec<{ tree: Tree; item: Leaf | { readonly inner: Tree } }>((tie) => ({
  item: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, fc.record({ inner: tie('tree') })),
  tree: fc.array(fc.array(tie('item'), { maxLength: 3 }), { maxLength: 3 }),
}));
const trees = fc.array(tree, { minLength: 1, maxLength: 2 });

function asChoice(written: Tree, claims: Claim[]): Choice {
  return choice(
    written.map((alternative) =>
      alternative.map((item) => {
        if ('inner' in item) return asChoice(item.inner, claims);
        const result = claims.length;
        claims.push(
          'value' in item
            ? onList(result, 'known', `v${item.value}`)
            : 'name' in item
              ? differing(result, `values-${item.values}`, [`n${item.name}`], item.max)
              : room(result, `counter-${item.counter}`, String(item.amount), String(item.max)),
        );
        return result;
      }),
    ),
  );
}

/**
 * What must come of it, without a store: which claims are looked at, and what is counted after an approval.
 */
function foretell(
  choices: readonly Choice[],
  claims: readonly Claim[],
  before: ReadonlyMap<string, Amount>,
): {
  readonly holds: boolean;
  readonly checked: ReadonlySet<number>;
  readonly used: ReadonlyMap<string, Amount>;
} {
  const checked = new Set<number>();
  const names = new Map([0, 1, 2].map((at) => [keyOf(`counter-${at}`), `counter-${at}`]));
  const takeClaim = (at: number, used: Map<string, Amount>): Map<string, Amount> | undefined => {
    const claim = claims[at];
    checked.add(at);
    if (claim?.type === 'list') return ['v0', 'v1'].includes(claim.values[0] ?? '') ? used : undefined;
    if (claim?.type === 'distinct') {
      const counted = `${claim.key} `;
      const state = new Map(used).set(`${counted}${claim.values[0]}`, 0n);
      const count = [...state.keys()].filter((each) => each.startsWith(counted)).length;
      return count <= claim.max ? state : undefined;
    }
    if (claim?.type !== 'window') return undefined;
    const name = names.get(claim.key) ?? '';
    const sum = (used.get(name) ?? 0n) + claim.amount;
    return sum <= claim.max ? new Map(used).set(name, sum) : undefined;
  };
  const takeOne = ({ alternatives }: Choice, used: Map<string, Amount>): Map<string, Amount> | undefined => {
    for (const { requires = [] } of alternatives) {
      let state: Map<string, Amount> | undefined = used;
      for (const requirement of requires) {
        if (state === undefined) break;
        state = typeof requirement === 'object' ? takeOne(requirement, state) : takeClaim(requirement, state);
      }
      if (state !== undefined) return state;
    }
    return undefined;
  };
  let state = new Map(before);
  let holds = true;
  for (const each of choices) {
    const taken = takeOne(each, state);
    if (taken === undefined) holds = false;
    else state = taken;
  }
  return { holds, checked, used: holds ? state : before };
}
