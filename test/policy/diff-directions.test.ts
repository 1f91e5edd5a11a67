import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Callback } from '../../src/callback/callback.ts';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { type ReleaseDiff, diffReleases } from '../../src/policy/diff.ts';
import { formatFault } from '../../src/policy/fault.ts';
import type { Release } from '../../src/policy/release.ts';
import type { Direction } from '../../src/policy/value-changes.ts';
import {
  OTHER,
  PARTNER,
  ROUTER,
  USDT,
  call,
  callbackOf,
  multicall,
  transferTo,
} from './calls/transactions.ts';
import { A, B, C, NOON, evaluateAt, outputs, transfer, web3 } from './callbacks.ts';

const PASS = 'pass: { because: no limit }';
const LOCK_OUT = 'lock-out: { after: 3, within: 1h, for: 24h }';

interface Written {
  readonly when: string;
  readonly rules: readonly string[];
}

const observed = (rule: string): string => `{ ${rule}, mode: observe }`;

/** The policies, assets and callbacks of a kind, from which changes are drawn. */
interface World {
  readonly callback: string;
  /** Members of every policy. */
  readonly more: string;
  readonly assets: string | undefined;
  /** Rules, without their mode and conditions. */
  readonly leaf: fc.Arbitrary<string>;
  /** Conditions of a policy. */
  readonly scope: fc.Arbitrary<string>;
  /** Conditions of a rule or a group. */
  readonly condition: fc.Arbitrary<string>;
  readonly callbacks: readonly Callback[];
}

const subset = (...values: readonly string[]) => fc.subarray([...values], { minLength: 1 });
const list = (values: readonly string[]): string => `[${values.map((value) => `'${value}'`).join(', ')}]`;
const amount = fc.integer({ min: 1, max: 4 });
const mapping = (members: Readonly<Record<string, string>>): string =>
  `{ ${Object.entries(members)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')} }`;
const BY_DAY = '{ during: { zone: UTC, hours: 09:00-17:00 } }';

const TRANSFERS: World = {
  callback: 'transfer',
  more: '',
  assets: undefined,
  leaf: fc.oneof(
    amount.map((max) => `amount-limit: { max: ${max} }`),
    amount.map((min) => `amount-limit: { min: ${min} }`),
    fc
      .tuple(subset('X', 'Y'), amount)
      .map(
        ([symbols, max]) =>
          `amount-limit: { by: asset, max: { ${symbols.map((each) => `${each}: ${max}`).join(', ')} } }`,
      ),
    fc
      .tuple(fc.constantFrom('allow-list', 'deny-list'), subset(A, B, C))
      .map(([kind, values]) => `${kind}: { of: to, values: ${list(values)} }`),
    subset(A, B).map((values) => `allow-list: { of: to, values: ${list(values)} }`),
    fc.constantFrom(PASS, LOCK_OUT, LOCK_OUT),
  ),
  scope: fc
    .record(
      { symbol: subset('X', 'Y').map(list), to: subset(A, B).map(list), source: fc.constant('vault') },
      { requiredKeys: [] },
    )
    .map(mapping),
  // No callback has a memo, so whether such a rule applies is not known.
  condition: fc.oneof(
    fc.constantFrom(BY_DAY, '{ memo: m }', '{ amount: { above: 1 } }', '{ not: { symbol: X } }'),
    subset('X', 'Y').map((symbols) => `{ symbol: ${list(symbols)} }`),
    subset(A, B).map((to) => `{ to: ${list(to)} }`),
  ),
  callbacks: ['X', 'Y'].flatMap((symbol) =>
    ['1', '2', '4'].flatMap((total) => [
      ...[A, B, C].map((to) => transfer({ to, symbol, amount: total })),
      transfer({ to: A, symbol, amount: total, ...outputs([A, '0.5'], [B, String(Number(total) - 0.5)]) }),
    ]),
  ),
};

const withdraw = (wad: bigint): string => call('withdraw(uint256)', wad);
const entry = {
  withdraw: (where: string): string =>
    `{ contract: '${ROUTER}', method: 'withdraw(uint256)', decimals: 0, where: { wad: ${where} } }`,
  // A known call, of which the amount counts.
  pay: (where: string): string =>
    `{ contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: { to: any, amount: ${where} } }`,
  wrap: `{ contract: '${ROUTER}', method: 'multicall(bytes[])' }`,
};

const TRANSACTIONS: World = {
  callback: 'web3',
  more: 'movements: { approvals: count }\n',
  assets: `assets:
  ETH: { chain: evm, decimals: 18 }
  BSC: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
`,
  leaf: fc.oneof(
    amount.map((max) => `amount-limit: { by: asset, max: { ETH: ${max}, USDT: ${max} } }`),
    subset(PARTNER, ROUTER, OTHER).map((values) => `allow-list: { of: to, values: ${list(values)} }`),
    subset(PARTNER, ROUTER).map((values) => `deny-list: { of: to, values: ${list(values)} }`),
    fc
      .subarray(
        [
          entry.withdraw('{ max: 2 }'),
          entry.withdraw('any'),
          entry.pay('{ max: 2 }'),
          entry.pay('any'),
          entry.wrap,
        ],
        { minLength: 1 },
      )
      .map(
        (calls) =>
          `contract-calls: { multicall: { depth: 1, calls: 4 }, plain: { max: 2 }, calls: [${calls.join(', ')}] }`,
      ),
    fc.constantFrom(PASS, LOCK_OUT),
  ),
  scope: fc
    .record(
      {
        main_chain_symbol: fc.constantFrom('ETH', '[ETH, BSC]'),
        source: fc.constant('vault'),
        to: subset(PARTNER, ROUTER).map(list),
      },
      { requiredKeys: ['main_chain_symbol'] },
    )
    .map(mapping),
  condition: fc.oneof(
    fc.constantFrom(BY_DAY, '{ main_chain_symbol: ETH }', '{ source: other }'),
    subset(PARTNER, ROUTER).map((to) => `{ to: ${list(to)} }`),
  ),
  callbacks: [
    ...[
      ...[1n, 3n].flatMap((units) => [
        { contract: ROUTER, data: withdraw(units) },
        { contract: USDT, data: transferTo(PARTNER, units * 1_000_000n) },
        { contract: ROUTER, data: multicall(withdraw(units), withdraw(1n)) },
      ]),
      { contract: '', to: PARTNER, data: '', amount: '1' },
      { contract: ROUTER, data: '0x12345678' },
    ].map(callbackOf),
    web3({ main_chain_symbol: 'BSC', to: ROUTER, interactive_contract: ROUTER, input_data: withdraw(1n) }),
  ],
};

const NIGHT = NOON + 11 * 3_600_000;
const RUNS = 200;

describe.each([TRANSFERS, TRANSACTIONS])('whatever changes for a $callback', (world) => {
  const withWhen = (text: fc.Arbitrary<string>, always: number): fc.Arbitrary<string> =>
    fc
      .tuple(text, fc.option(world.condition, { freq: 2, nil: undefined }), fc.nat(always))
      .map(([inner, when, dice]) => (when === undefined || dice > 0 ? inner : `${inner}, when: ${when}`));
  const { item } = fc.letrec<{ item: string }>((tie) => ({
    item: fc.oneof(
      { maxDepth: 2, depthSize: 'small' },
      { weight: 3, arbitrary: withWhen(world.leaf, 1) },
      {
        weight: 2,
        arbitrary: withWhen(
          fc
            .tuple(fc.constantFrom('any', 'all'), fc.array(tie('item'), { minLength: 1, maxLength: 2 }))
            .map(([group, items]) => `${group}: [${items.map((each) => `{ ${each} }`).join(', ')}]`),
          2,
        ),
      },
    ),
  }));
  const rule = item.chain((text) => fc.constantFrom(`{ ${text} }`, `{ ${text} }`, observed(text)));
  const written = fc.record({ when: world.scope, rules: fc.array(rule, { minLength: 1, maxLength: 3 }) });
  const names = fc.constantFrom('p', 'q', 'r');
  const policies = fc.dictionary(names, written, { minKeys: 1 });

  type Policies = Readonly<Record<string, Written>>;
  type Pair = readonly [before: Policies, after: Policies];
  const changed = (
    all: Policies,
    name: string,
    change: (one: Policies[string]) => Policies[string],
  ): Pair => {
    const one = all[name];
    return [all, one === undefined ? all : { ...all, [name]: change(one) }];
  };
  /** Both a change and the change back. */
  const eitherWay = (pair: fc.Arbitrary<Pair>): fc.Arbitrary<Pair> =>
    fc.tuple(pair, fc.boolean()).map(([[one, other], isBack]) => (isBack ? [other, one] : [one, other]));
  const switched = (text: string): string =>
    text.includes(', mode: observe')
      ? text.replace(', mode: observe', '')
      : text.replace(/ \}$/, ', mode: observe }');
  // A change of one part is what people make, and what a random pair hardly ever is.
  const pairs = eitherWay(
    fc.oneof(
      fc.tuple(policies, policies),
      fc.tuple(policies, names, written).map(([all, name, other]): Pair => [all, { ...all, [name]: other }]),
      fc
        .tuple(policies, names, rule)
        .map(([all, name, added]) => changed(all, name, (one) => ({ ...one, rules: [...one.rules, added] }))),
      fc.tuple(policies, names).map(([all, name]) =>
        changed(all, name, ({ rules: [first = '', ...others], ...one }) => ({
          ...one,
          rules: [switched(first), ...others],
        })),
      ),
      fc
        .tuple(policies, names, world.scope)
        .map(([all, name, when]) => changed(all, name, (one) => ({ ...one, when }))),
    ),
  );

  /** Undefined if two rules would count as one, which is a fault. */
  function releaseOf(all: Policies): Release | undefined {
    const text = Object.entries(all)
      .map(
        ([name, { when, rules }]) =>
          `policy: ${name}\ncallback: ${world.callback}\nwhen: ${when}\n${world.more}rules: [${rules.join(', ')}]\n`,
      )
      .join('---\n');
    const files = [
      { name: 'a.yaml', text },
      ...(world.assets === undefined ? [] : [{ name: 'assets.yaml', text: world.assets }]),
    ];
    const compiled = readPolicyFiles(files, () => undefined);
    if (compiled.ok) return compiled.release;
    const others = compiled.faults.filter(({ message }) => !message.includes('under the same counter'));
    if (others.length > 0) throw new Error(others.map(formatFault).join('\n'));
    return undefined;
  }

  const cases = world.callbacks.flatMap((callback) => [NOON, NIGHT].map((nowMs) => ({ callback, nowMs })));
  const approvesIn = (inForce: Release): readonly boolean[] =>
    cases.map(({ callback, nowMs }) => evaluateAt(inForce, callback, nowMs).approves);

  /** Calls with each pair of releases that differ and their difference. */
  function eachChange(judge: (found: ReleaseDiff, before: Release, after: Release) => void): void {
    fc.assert(
      fc.property(pairs, ([before, after]) => {
        const [old, current] = [releaseOf(before), releaseOf(after)];
        if (old === undefined || current === undefined) return;
        const found = diffReleases(old.document, current.document);
        if (!found.same) judge(found, old, current);
      }),
      { numRuns: RUNS },
    );
  }

  it('approves no callback that was refused, unless a change is said to loosen', () => {
    let proven = 0;
    eachChange(({ loosens }, old, current) => {
      if (loosens.length > 0) return;
      proven++;
      const approved = approvesIn(old);
      expect(approvesIn(current).map((approves, at) => approves && approved[at] === false)).not.toContain(
        true,
      );
    });
    expect(proven).toBeGreaterThan(10);
  });

  it('refuses no callback that was approved, where every change is only looser', () => {
    let proven = 0;
    eachChange((found, old, current) => {
      if (allDirectionsOf(found).some((direction) => direction !== undefined && direction !== 'looser'))
        return;
      proven++;
      const approved = approvesIn(old);
      expect(approvesIn(current).map((approves, at) => !approves && approved[at] === true)).not.toContain(
        true,
      );
    });
    expect(proven).toBeGreaterThan(10);
  });
});

function allDirectionsOf({ policies, lists, assets, files }: ReleaseDiff): readonly Direction[] {
  return [
    ...[...policies, ...lists, ...assets, ...files].map(({ direction }) => direction),
    ...policies.flatMap((change) =>
      change.change === 'changed'
        ? [
            ...change.members.map(({ direction }) => direction),
            ...change.rules.flatMap((each) =>
              each.change === 'changed'
                ? [each.mode, each.newCount, ...each.parameters].map((part) => part?.direction)
                : [each.direction],
            ),
          ]
        : [],
    ),
  ];
}
