import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { type ReleaseDiff, diffReleases } from '../../src/policy/diff.ts';
import { formatFault } from '../../src/policy/fault.ts';
import type { Release } from '../../src/policy/release.ts';
import type { Direction } from '../../src/policy/value-changes.ts';
import type { Callback } from '../../src/callback/callback.ts';
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
import { NO_ASSETS, A, B, C, NOON, evaluateAt, outputs, release, transfer, web3 } from './callbacks.ts';

const LIMIT = 'amount-limit: { max: 1000 }';
const ALLOW = 'allow-list: { of: userId, values: [1] }';
const PASS = 'pass: { because: no limit }';
const LOCK_OUT = 'lock-out: { after: 3, within: 1h, for: 24h }';

interface Written {
  readonly when?: string;
  readonly callback?: string;
  readonly rules?: readonly string[];
  readonly more?: string;
}

const policy = (
  name: string,
  { when = '{}', callback = 'payment', rules = [LIMIT], more = '' }: Written = {},
) =>
  `policy: ${name}\ncallback: ${callback}\nwhen: ${when}\n${more}rules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`;

const observed = (rule: string): string => `{ ${rule}, mode: observe }`;

/** The diff of two sets of policies; undefined stands for none in force. */
function diff(before: readonly string[] | undefined, after: readonly string[]): ReleaseDiff {
  const documentOf = (policies: readonly string[]): string =>
    release(policies.join('---\n'), {}, NO_ASSETS).document;
  return diffReleases(before && documentOf(before), documentOf(after));
}

const directionsOf = ({ policies }: ReleaseDiff): unknown =>
  Object.fromEntries(policies.map(({ policy: name, direction }) => [name, direction]));

describe('a policy that is added', () => {
  it.each<[string, string, Written, string]>([
    ['to one that decides all its callbacks', '{}', { when: '{ symbol: A }' }, 'stricter'],
    ['to one of the same callbacks', '{ symbol: [A, B] }', { when: '{ payCoinSymbol: [B, A] }' }, 'stricter'],
    ['to one of other callbacks', '{ symbol: B }', { when: '{ symbol: A }' }, 'looser'],
    ['for another kind of callback', '{}', { callback: 'transfer' }, 'looser'],
    ['to one that decides some of its callbacks', '{ symbol: A }', {}, 'both'],
    ['to one of another member', '{ userId: 1 }', { when: '{ symbol: A }' }, 'both'],
  ])('%s', (_, when, added, direction) => {
    const before = policy('before', { when });
    expect(directionsOf(diff([before], [before, policy('added', added)]))).toEqual({ added: direction });
  });

  it('where nothing is in force, or where policies only observe, is looser', () => {
    const observes = policy('observes', { rules: [observed(LIMIT)] });
    const added = policy('added');
    expect(directionsOf(diff(undefined, [added]))).toEqual({ added: 'looser' });
    expect(diff(undefined, [added]).loosens).toEqual(['policy added']);
    expect(directionsOf(diff([observes], [observes, added]))).toEqual({ added: 'looser' });
  });

  it('changes no verdict if it only observes', () => {
    const before = policy('before');
    const found = diff([before], [before, policy('added', { rules: [observed(ALLOW)] })]);
    expect(found).toMatchObject({ same: false, loosens: [] });
    expect(directionsOf(found)).toEqual({ added: undefined });
  });
});

describe('a policy that is removed', () => {
  it.each<[string, string, Written, string]>([
    ['beside one that decides all its callbacks', '{}', { when: '{ symbol: A }' }, 'looser'],
    ['beside one of other callbacks', '{ symbol: B }', { when: '{ symbol: A }' }, 'stricter'],
    ['beside one that decides some of its callbacks', '{ symbol: A }', {}, 'both'],
  ])('%s', (_, when, removed, direction) => {
    const after = policy('after', { when });
    const found = diff([after, policy('removed', removed)], [after]);
    expect(directionsOf(found)).toEqual({ removed: direction });
    expect(found.loosens).toEqual(direction === 'stricter' ? [] : ['policy removed']);
  });

  it('by a withdrawal to several addresses may be decided by another too', () => {
    const [one, two] = [A, B].map((to, index) =>
      policy(`p${index}`, { callback: 'transfer', when: `{ to: '${to}' }` }),
    ) as [string, string];
    expect(directionsOf(diff([one, two], [one]))).toEqual({ p1: 'both' });
  });

  it('and comes back under another name takes conditions with it, and adds its own', () => {
    const found = diff([policy('a', { when: '{ symbol: A }' })], [policy('b', { when: '{ symbol: A }' })]);
    expect(directionsOf(found)).toEqual({ a: 'looser', b: 'stricter' });
  });
});

describe('a policy that decides other callbacks', () => {
  const all = policy('all');
  const one = (when: string, more: Written = {}): string => policy('one', { when, ...more });
  it.each([
    [
      'more, which another policy decides',
      [all, one('{ symbol: A }')],
      [all, one('{ symbol: [A, B] }')],
      'stricter',
    ],
    ['more, which no other policy decides', [one('{ symbol: A }')], [one('{ symbol: [A, B] }')], 'looser'],
    [
      'more, of which others decide some',
      [policy('b', { when: '{ symbol: B }' }), one('{ symbol: A }')],
      [policy('b', { when: '{ symbol: B }' }), one('{}')],
      'both',
    ],
    ['fewer, which another policy decides', [all, one('{}')], [all, one('{ symbol: A }')], 'looser'],
    ['fewer, which no other policy decides', [one('{}')], [one('{ symbol: A }')], 'stricter'],
    ['others', [one('{ symbol: A }')], [one('{ symbol: B }')], 'both'],
    ['another kind', [one('{}')], [one('{}', { callback: 'transfer' })], 'both'],
    [
      'the same, by another name of the member',
      [one('{ symbol: A }')],
      [one('{ payCoinSymbol: A }')],
      undefined,
    ],
    [
      'none, since it only observes',
      [all, one('{}')],
      [all, one('{}', { rules: [observed(LIMIT)] })],
      'looser',
    ],
    ['its first', [one('{}', { rules: [observed(LIMIT)] })], [one('{}')], 'looser'],
  ] as const)('%s', (_, before, after, direction) => {
    expect(directionsOf(diff(before, after))).toEqual({ one: direction });
  });

  it('is unclear if it is for other addresses of a withdrawal, since it refuses those that it names in part', () => {
    const to = (...addresses: readonly string[]): string =>
      one(`{ to: ['${addresses.join("', '")}'] }`, { callback: 'transfer' });
    expect(directionsOf(diff([to(A)], [to(A, B)]))).toEqual({ one: 'unclear' });
    expect(directionsOf(diff([to(A, B)], [to(A)]))).toEqual({ one: 'unclear' });
    const everything = policy('all', { callback: 'transfer' });
    expect(diff([everything, to(A)], [everything, to(A, B)]).loosens).toEqual(['policy one']);
  });

  it('is unclear if this version can not compile one of the releases', () => {
    const after = release(one('{}')).document;
    const before = after.replace('amount-limit', 'quorum');
    expect(directionsOf(diffReleases(before, after.replace('"when":{}', '"when":{"symbol":"A"}')))).toEqual({
      one: 'unclear',
    });
  });
});

describe('a lock-out alone covers nothing', () => {
  const ONLY = `{ ${LOCK_OUT} }`;

  it.each<[string, string]>([
    ['as a rule', ONLY],
    ['in any', `{ any: [${ONLY}] }`],
    ['in all', `{ all: [${ONLY}] }`],
    ['as one of two alternatives', `{ any: [{ ${LIMIT} }, ${ONLY}] }`],
    ['as an alternative within any', `{ any: [{ ${LIMIT} }, { any: [${ONLY}] }] }`],
    ['in any in all', `{ all: [{ any: [${ONLY}, { ${LIMIT} }] }] }`],
    ['with conditions', `{ ${LOCK_OUT}, when: { symbol: A } }`],
  ])('%s', (_, rule) => {
    const locks = policy('locks', { rules: [rule] });
    const [one, other] = ['A', 'B'].map((symbol) =>
      policy(symbol.toLowerCase(), { when: `{ symbol: ${symbol} }` }),
    ) as [string, string];
    expect(diff([locks, one], [locks, one, other]).loosens).toEqual(['policy b']);
    const added = diff([locks], [policy('locks', { rules: [rule, `{ ${PASS} }`] })]);
    expect(added.policies).toMatchObject([{ rules: [{ direction: 'unclear' }] }]);
    expect(added.loosens).toEqual(['locks/pass#2']);
  });

  it.each<[string, string]>([
    ['beside it in all', `{ all: [${ONLY}, { ${LIMIT} }] }`],
    ['with it as an alternative', `{ any: [{ all: [${ONLY}, { ${LIMIT} }] }] }`],
    ['in every alternative', `{ any: [{ ${LIMIT}, when: { symbol: A } }, { any: [{ ${PASS} }] }] }`],
  ])('and a rule covers %s', (_, rule) => {
    const locks = policy('locks', { rules: [rule] });
    const [one, other] = ['A', 'B'].map((symbol) =>
      policy(symbol.toLowerCase(), { when: `{ symbol: ${symbol} }` }),
    ) as [string, string];
    expect(diff([locks, one], [locks, one, other]).loosens).toEqual([]);
    expect(diff([locks], [policy('locks', { rules: [rule, `{ ${ALLOW} }`] })]).loosens).toEqual([]);
  });
});

describe('a count', () => {
  const window = (more: string): string => `window-limit: { ${more} }`;
  const counting = (rule: string, when = '{ symbol: A }', name = 'p'): string =>
    policy(name, { when, rules: [rule] });
  const HOUR = window('window: 1h, max: 500');

  it.each<[string, string, string]>([
    ['another window', HOUR, window('window: 2h, max: 500')],
    ['another calendar period', window('window: day, max: 500'), window('window: week, max: 500')],
    [
      'another time zone',
      window('window: day, max: 500'),
      window('window: day, zone: Europe/Berlin, max: 500'),
    ],
    ['other members', HOUR, window('per: [userId], window: 1h, max: 500')],
    ['a table of assets', HOUR, window('by: asset, window: 1h, max: { A: 500 }')],
  ])('begins anew with %s, which is looser once', (_, before, after) => {
    const found = diff([counting(before)], [counting(after)]);
    expect(found.policies).toMatchObject([{ rules: [{ newCount: { direction: 'looser' } }] }]);
    expect(found.loosens).toEqual(['p/window-limit#1']);
  });

  it('begins anew, with its rule unchanged, if the policy no longer names one symbol', () => {
    const velocity = 'velocity-limit: { window: 1h, max: 5 }';
    const everything = policy('all');
    const found = diff(
      [everything, counting(velocity)],
      [everything, counting(velocity, '{ symbol: [A, B] }')],
    );
    expect(directionsOf(found)).toEqual({ p: 'stricter' });
    expect(found.policies).toMatchObject([
      { rules: [{ change: 'changed', parameters: [], newCount: { max: '5', window: '1h' } }] },
    ]);
    expect(found.loosens).toEqual(['p/velocity-limit#1']);
  });

  it('begins anew under another name of the policy', () => {
    const found = diff([counting(HOUR)], [counting(HOUR, '{ symbol: A }', 'q')]);
    expect(found.policies).toMatchObject([
      { policy: 'p', change: 'removed' },
      { policy: 'q', change: 'added', rules: [{ newCount: { max: '500', window: '1h' } }] },
    ]);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ['another maximum', [HOUR], [window('window: 1h, max: 400')]],
    ['another place', [LIMIT, HOUR], [HOUR, LIMIT]],
    [
      'another way to write the same',
      [window('window: 1h, per: [userId, source], max: 500')],
      [window('window: 60m, per: [userId], max: 500')],
    ],
    ['another mode', [LIMIT, observed(HOUR)], [LIMIT, HOUR]],
    ['a rule beside it', [HOUR], [HOUR, window('window: 24h, max: 900')]],
    ['a rule less beside it', [HOUR, window('window: 24h, max: 900')], [HOUR]],
  ])('goes on with %s', (_, before, after) => {
    const [rulesBefore, rulesAfter] = [before, after].map((rules) =>
      policy('p', { when: '{ symbol: A }', rules }),
    ) as [string, string];
    expect(JSON.stringify(diff([rulesBefore], [rulesAfter]))).not.toContain('newCount');
  });

  it('that only observes begins anew without loosening anything', () => {
    const rules = (hours: string): string =>
      policy('p', { when: '{ symbol: A }', rules: [LIMIT, observed(window(`window: ${hours}, max: 5`))] });
    const found = diff([rules('1h')], [rules('2h')]);
    expect(found.policies).toMatchObject([{ rules: [{ newCount: { window: '2h' } }] }]);
    expect(found.loosens).toEqual([]);
  });
});

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

  type Policies = Readonly<Record<string, Written & { readonly rules: readonly string[] }>>;
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
      .map(([name, each]) => policy(name, { ...each, callback: world.callback, more: world.more }))
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

describe('a change of contract-calls', () => {
  const assets = 'assets: { ETH: { chain: evm, decimals: 18 } }\n';
  const pay = (where: string): string => entry.pay(where);
  const rule = (calls: readonly string[], more = 'plain: { max: 2 }'): string =>
    policy('p', {
      when: '{ main_chain_symbol: ETH }',
      callback: 'web3',
      rules: [`contract-calls: { ${more}, calls: [${calls.join(', ')}] }`],
    });
  const changed = (before: string, after: string) => {
    const [old, current] = [before, after].map((text) => release(text, {}, assets).document);
    const { policies, loosens } = diffReleases(old, current);
    const parameters = policies.flatMap((each) =>
      each.rules.flatMap((one) => ('moved' in one ? one.parameters : [])),
    );
    return { loosens, changes: parameters.map(({ name, direction }) => `${name} ${direction}`) };
  };
  const both = [pay('{ max: 2 }'), entry.wrap];
  const calls = 'plain: { max: 2 }, multicall: { depth: 1, calls: 4 }';

  it.each<[string, readonly string[], readonly string[], readonly string[]]>([
    ['one entry', both, [pay('{ max: 1 }'), entry.wrap], ['calls[0].where.amount.max unclear']],
    ['a condition', both, [pay('any'), entry.wrap], ['calls[0].where.amount unclear']],
    ['an entry more', both, [...both, entry.withdraw('any')], ['calls unclear']],
    ['an entry less', both, [entry.wrap], ['calls unclear']],
    ['their order', both, both.toReversed(), ['calls unclear']],
    ['two entries', both, [pay('any'), entry.withdraw('any'), entry.wrap], ['calls unclear']],
  ])('has no direction and may loosen: %s', (_, before, after, changes) => {
    const loosens = ['p/contract-calls#1'];
    expect(changed(rule(before, calls), rule(after, calls))).toEqual({ changes, loosens });
    expect(changed(rule(after, calls), rule(before, calls)).loosens).toEqual(loosens);
  });

  it('has both entries', () => {
    const [old, current] = [pay('{ max: 2 }'), pay('{ max: 1 }')].map(
      (each) => release(rule([each]), {}, assets).document,
    );
    expect(diffReleases(old, current).policies).toMatchObject([
      { rules: [{ parameters: [{ name: 'calls[0].where.amount.max', before: '2', after: '1' }] }] },
    ]);
  });

  it.each([
    ['plain: { max: 2 }', 'plain: { max: 3 }', 'plain.max looser'],
    ['plain: { max: 2 }', 'plain: { max: 2, to: any }', 'plain.to unclear'],
    [calls, 'multicall: { depth: 1, calls: 4 }', 'plain unclear'],
    [calls, calls.replace('calls: 4', 'calls: 5'), 'multicall.calls looser'],
    [calls, calls.replace('depth: 1', 'depth: 2'), 'multicall.depth looser'],
    [calls, 'plain: { max: 2 }', 'multicall unclear'],
  ])('%s -> %s', (before, after, change) => {
    const entries = [pay('{ max: 2 }')];
    const back = change.replace('looser', 'stricter');
    const there = changed(rule(entries, before), rule(entries, after));
    const andBack = changed(rule(entries, after), rule(entries, before));
    expect([there.changes, andBack.changes]).toEqual([[change], [back]]);
    expect(there.loosens).toEqual(['p/contract-calls#1']);
    expect(andBack.loosens).toEqual(change === back ? ['p/contract-calls#1'] : []);
  });
});

describe('the movements of a policy', () => {
  const ASSETS = 'assets: { ETH: { chain: evm, decimals: 18 } }\n';
  const tables = 'amount-limit: { by: asset, max: { ETH: 1 } }';
  const seeing = (name: string, movements: string, when = '{}'): string =>
    policy(name, { when, callback: 'web3', rules: [tables], more: movements });
  const change = (before: readonly string[], after: readonly string[]): ReleaseDiff => {
    const documentOf = (policies: readonly string[]): string =>
      release(policies.join('---\n'), {}, ASSETS).document;
    return diffReleases(documentOf(before), documentOf(after));
  };

  it('may loosen, whether they are added or removed', () => {
    const movements = 'movements: { approvals: count }\n';
    for (const [before, after] of [
      ['', movements],
      [movements, ''],
    ] as const) {
      const { loosens, policies } = change([seeing('a', before)], [seeing('a', after)]);
      expect(loosens).toEqual(['policy a']);
      expect(policies).toMatchObject([{ members: [{ name: 'movements', direction: 'unclear' }] }]);
    }
  });

  const calls = `contract-calls: { calls: [{ contract: '${ROUTER}', method: deposit() }] }`;
  const judging = (...rules: readonly string[]): string =>
    policy('a', {
      when: '{ main_chain_symbol: ETH }',
      callback: 'web3',
      more: 'movements: { approvals: count }\n',
      rules: [tables, ...rules],
    });

  it.each<[string, string]>([
    ['contract-calls', `{ ${calls} }`],
    ['contract-calls in any', `{ any: [{ ${calls} }, { ${PASS} }] }`],
    ['contract-calls in all in any', `{ any: [{ all: [{ ${tables} }, { ${calls} }] }] }`],
    ['contract-calls with conditions', `{ ${calls}, when: { source: vault } }`],
  ])('are read by %s, so that limits pass what they refused', (_, rule) => {
    const ignored = rule.replace(/ \}$/, ', mode: observe }');
    for (const [before, after] of [
      [[], [rule]],
      [[rule], []],
    ] as const) {
      const { loosens, policies } = change([judging(...before)], [judging(...after)]);
      expect(policies).toMatchObject([{ rules: [{ direction: 'unclear' }] }]);
      expect(loosens).toHaveLength(1);
    }
    for (const [before, after] of [
      [ignored, rule],
      [rule, ignored],
    ] as const) {
      const { loosens, policies } = change([judging(before)], [judging(after)]);
      expect(policies).toMatchObject([{ rules: [{ mode: { direction: 'unclear' } }] }]);
      expect(loosens).toHaveLength(1);
    }
    expect(change([judging()], [judging(ignored)]).loosens).toEqual([]);
  });

  it('are the same with a rule that names no calls', () => {
    expect(change([judging()], [judging(`{ all: [{ ${tables} }, { ${PASS} }] }`)]).loosens).toEqual([]);
  });

  it('do not matter to a policy without them', () => {
    const without = (text: string): string => text.replace(/movements: .*\n/, '');
    const { loosens } = change([without(judging())], [without(judging(`{ ${calls} }`))]);
    expect(loosens).toEqual([]);
  });

  it('are other addresses than the callback’s own', () => {
    const when = `{ to: '${A}' }`;
    const added = (movements: string): unknown =>
      directionsOf(change([seeing('a', '', when)], [seeing('a', '', when), seeing('b', movements, when)]));
    expect(added('')).toEqual({ b: 'stricter' });
    expect(added('movements: { approvals: count }\n')).toEqual({ b: 'both' });
  });
});
