import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Claim, ClaimResult } from '../../../src/claims/claims.ts';
import type { Choice, Requirement } from '../../../src/policy/proposal.ts';
import type { SettleResult, Store } from '../../../src/store/store.ts';
import type { Amount } from '../../../src/values/amount.ts';
import {
  HOUR_MS,
  change,
  claimsOf,
  countedOf,
  distinctClaim,
  keyOf,
  listClaim,
  markClaim,
  request,
  units,
  usedOf,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

/** A claim for values, in a rolling hour with at most `max`. */
const differing = (result: number, counter: string, names: readonly string[], max: number): Claim =>
  distinctClaim(names, max, { result, key: keyOf(counter), decides: false });

/** A choice of alternatives, each of which requires the claims with these indexes. */
function choice(alternatives: readonly (readonly Requirement[])[], over: Partial<Choice> = {}): Choice {
  return {
    result: 0,
    decides: true,
    retryable: false,
    alternatives: alternatives.map((requires) => ({ from: 0, to: 0, requires })),
    ...over,
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
    const vipOrLittle = (subject: string, user: string) =>
      request({
        subject,
        claims: [onList(1, 'vips', user), room(2, 'daily', '600', '1000')],
        choices: [choice([[0], [1]])],
      });

    it('the first that holds is taken, and only its reservations are made', async ({ store }) => {
      await withList(store, 'vips', 'ada');
      const vip = await store.settle(vipOrLittle('payment:1', 'ada'));
      expect(vip).toMatchObject({ verdict: 'SUCCESS', claims: [{ holds: true }, { notChecked: true }] });
      expect(await usedIn(store, 'daily')).toBe(0n);
      const other = await store.settle(vipOrLittle('payment:2', 'bob'));
      expect(other).toMatchObject({ verdict: 'SUCCESS', claims: [{ holds: false }, { holds: true }] });
      expect(await usedIn(store, 'daily')).toBe(units('600'));
    });

    it('if none holds, the callback is refused, and nothing is reserved', async ({ store }) => {
      await withList(store, 'vips', 'ada');
      await store.settle(vipOrLittle('payment:1', 'bob'));
      const result = await store.settle(vipOrLittle('payment:2', 'bob'));
      expect(result).toMatchObject({ verdict: 'FAILURE', code: 'RULE_REFUSED' });
      expect(await usedIn(store, 'daily')).toBe(units('600'));
    });

    it('an alternative holds only if all its claims do, and what it counted before is given back', async ({
      store,
      settle,
    }) => {
      await withList(store, 'vips', 'ada');
      const claims = [
        room(1, 'shared', '60', '100'),
        onList(2, 'vips', 'bob'),
        room(3, 'shared', '50', '100'),
      ];
      const result = await settle({ claims, choices: [choice([[0, 1], [2]])] });
      expect(result).toMatchObject({
        verdict: 'SUCCESS',
        claims: [{ holds: true }, { holds: false }, { type: 'window', holds: true, used: 0n }],
      });
      expect(await usedIn(store, 'shared')).toBe(units('50'));
    });

    it('what an inner choice took is given back if the outer alternative fails', async ({
      store,
      settle,
    }) => {
      await withList(store, 'vips', 'ada');
      const claims = [
        room(1, 'shared', '60', '100'),
        onList(2, 'vips', 'bob'),
        room(3, 'shared', '100', '100'),
        markClaim({ result: 4, decides: false, exempt: true }),
      ];
      const inner = choice([[0, 3]]);
      const result = await settle({ claims, choices: [choice([[inner, 1], [2]])] });
      expect(result).toMatchObject({ verdict: 'SUCCESS' });
      expect(await usedIn(store, 'shared')).toBe(units('100'));
      const later = markClaim({ exempt: false });
      const mark = await settle({ subject: 'payment:2', claims: [later] });
      expect(claimsOf(mark)).toEqual([{ type: 'mark', holds: false, markedAtMs: 0 }]);
    });

    it('an alternative that needs nothing of the store is taken when it is reached', async ({
      store,
      settle,
    }) => {
      const claims = [room(1, 'daily', '600', '500')];
      expect(await settle({ claims, choices: [choice([[0], []])] })).toMatchObject({
        verdict: 'SUCCESS',
      });
      expect(await usedIn(store, 'daily')).toBe(0n);
    });

    it('a choice without alternatives never holds', async ({ store, settle }) => {
      expect(verdictOf(await settle({ choices: [choice([])] }))).toBe('FAILURE');
      const inner = choice([]);
      const nested = request({ subject: 'payment:2', choices: [choice([[inner]])] });
      expect(verdictOf(await store.settle(nested))).toBe('FAILURE');
    });

    it('the claims beside a choice still decide', async ({ store, settle }) => {
      await withList(store, 'vips', 'ada');
      const claims = [onList(1, 'vips', 'ada'), windowClaim('2', '1', { result: 2 })];
      expect(await settle({ claims, choices: [choice([[0]])] })).toMatchObject({
        verdict: 'FAILURE',
        claims: [{ holds: true }, { holds: false }],
      });
    });

    it('each choice must hold', async ({ store, settle }) => {
      await withList(store, 'vips', 'ada');
      const claims = [onList(1, 'vips', 'ada'), onList(2, 'vips', 'bob')];
      const choices = [choice([[0]]), choice([[1]])];
      expect(verdictOf(await settle({ claims, choices }))).toBe('FAILURE');
    });

    it('one that only observes refuses nothing, and reserves only what it would take', async ({
      store,
      settle,
    }) => {
      const claims = [room(1, 'full', '2', '1'), room(2, 'daily', '3', '5')];
      const choices = [choice([[0], [1]], { decides: false })];
      const first = await settle({ claims, choices });
      expect(verdictOf(first)).toBe('SUCCESS');
      expect(await usedIn(store, 'full')).toBe(0n);
      expect(await usedIn(store, 'daily')).toBe(units('3'));
      const second = await settle({ subject: 'payment:2', claims, choices });
      expect(verdictOf(second)).toBe('SUCCESS');
      expect(await usedIn(store, 'daily')).toBe(units('3'));
    });

    it('a repeat of an approval reserves nothing twice', async ({ store }) => {
      await withList(store, 'vips', 'ada');
      await store.settle(vipOrLittle('payment:1', 'bob'));
      const again = await store.settle(vipOrLittle('payment:1', 'bob'));
      expect(again).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
      expect(await usedIn(store, 'daily')).toBe(units('600'));
    });

    it('what one alternative reserved does not pass the lower limit of another in its counter', async ({
      store,
    }) => {
      await withList(store, 'vips', 'ada');
      const asked = (subject: string, amount: string) =>
        request({
          subject,
          claims: [
            onList(1, 'vips', 'ada'),
            room(2, 'daily', amount, '50000'),
            room(3, 'daily', amount, '1000'),
          ],
          choices: [choice([[0, 1], [2]])],
        });
      expect(verdictOf(await store.settle(asked('payment:1', '20000')))).toBe('SUCCESS');
      await store.changeList({ ...change('vips', []), remove: ['ada'] });
      expect(await store.settle(asked('payment:1', '20000'))).toMatchObject({
        outcome: 'decided',
        verdict: 'FAILURE',
        claims: [
          { holds: false },
          { notChecked: true },
          { type: 'window', holds: false, reserved: units('20000') },
        ],
      });
      expect(await usedIn(store, 'daily')).toBe(units('20000'));
      await withList(store, 'vips', 'ada');
      expect(verdictOf(await store.settle(asked('payment:1', '20000')))).toBe('SUCCESS');
      expect(await usedIn(store, 'daily')).toBe(units('20000'));
    });

    it('the same holds for different values', async ({ store }) => {
      await withList(store, 'vips', 'ada');
      const asked = (subject: string, names: readonly string[]) =>
        request({
          subject,
          claims: [
            onList(1, 'vips', 'ada'),
            differing(2, 'daily', names, 3),
            differing(3, 'daily', names, 1),
          ],
          choices: [choice([[0, 1], [2]])],
        });
      expect(verdictOf(await store.settle(asked('payment:1', ['a', 'b'])))).toBe('SUCCESS');
      await store.changeList({ ...change('vips', []), remove: ['ada'] });
      expect(await store.settle(asked('payment:1', ['a', 'b']))).toMatchObject({
        outcome: 'decided',
        verdict: 'FAILURE',
        claims: [{ holds: false }, { notChecked: true }, { type: 'distinct', holds: false, counted: 2 }],
      });
      await withList(store, 'vips', 'ada');
      expect(verdictOf(await store.settle(asked('payment:1', ['a', 'b'])))).toBe('SUCCESS');
      expect(await countedOf(store, keyOf('daily'))).toBe(2);
    });

    it('an alternative whose claim does not exist does not hold', async ({ store }) => {
      const empty = request({ choices: [choice([[7]])] });
      expect(verdictOf(await store.settle(empty))).toBe('FAILURE');
    });

    it('a refusal is decided again if a list of an alternative changes', async ({ store }) => {
      await withList(store, 'vips', 'ada');
      const asked = request({ claims: [onList(1, 'vips', 'bob')], choices: [choice([[0]])] });
      expect(verdictOf(await store.settle(asked))).toBe('FAILURE');
      expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', verdict: 'FAILURE' });
      await withList(store, 'vips', 'bob');
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
    });

    it('a refusal is decided again if one alternative was refused by something that passes', async ({
      store,
      clock,
    }) => {
      await withList(store, 'vips', 'ada');
      const full = (subject: string) =>
        request({
          subject,
          claims: [onList(1, 'vips', 'bob'), { ...room(2, 'hourly', '1', '1'), retryable: true }],
          choices: [choice([[0], [1]])],
        });
      await store.settle(full('payment:1'));
      expect(verdictOf(await store.settle(full('payment:2')))).toBe('FAILURE');
      clock.advance(2 * HOUR_MS);
      expect(await store.settle(full('payment:2'))).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
    });

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
