import fc from 'fast-check';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type About, coverageWarnings } from '../../src/policy/coverage-warnings.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import { factsAt } from '../../src/policy/facts.ts';
import { formatFault } from '../../src/policy/fault.ts';
import type { CompiledEntry, CompiledPolicy, Release } from '../../src/policy/release.ts';
import { type When, testWhen } from '../../src/policy/language/conditions.ts';
import { exampleNames } from '../../tools/generate/examples.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { formatAmount } from '../../src/values/amount.ts';
import { A, B, NOON, NO_ASSETS, payment, pricesOf, release } from './callbacks.ts';

const PASS = 'pass: { because: nothing else is asked }';

function warningsOf(yaml: string, assets = NO_ASSETS): readonly string[] {
  const files = { 'vips.txt': '1\n2\n', 'holidays.txt': '2026-12-25\n' };
  return coverageWarnings(release(yaml, files, assets)).map(formatFault);
}

const policy = (name: string, when: string, ...rules: readonly string[]): string =>
  [
    `policy: ${name}`,
    'callback: payment',
    `when: ${when}`,
    'rules:',
    ...rules.map((rule) => `  - ${rule}`),
  ].join('\n');

const policies = (...texts: readonly string[]): string => texts.join('\n---\n');

describe('conditions that no callback meets', () => {
  it.each([
    ['symbol: BTC', 'symbol: ETH'],
    ['symbol: BTC', 'not: { symbol: [BTC, ETH] }'],
    ['not: { userId: 7 }', 'userId: 7'],
    ['userId: 7', 'userId: { file: vips.txt }'],
    ['amount: { below: 1000 }', 'amount: { atLeast: 1000 }'],
    ['amount: { atMost: 5 }', 'amount: { above: 5, below: 9 }'],
    ['amount: { above: 7 }', 'amount: [5, 7]'],
    ['amount: { above: 7 }', 'not: { amount: { above: 6 } }'],
    ['value: { above: 7, maxAge: 1h }', 'value: { atMost: 7, maxAge: 1m }'],
    ['scheme: md5', 'scheme: [rsa, rsa-envelope]'],
    ['during: { zone: UTC, hours: 09:00-17:00 }', 'during: { zone: UTC, hours: [22:00-06:00, 17:00-18:00] }'],
    ['during: { zone: UTC, days: [sat, sun] }', 'during: { zone: UTC, days: [mon, tue] }'],
    [
      'during: { zone: UTC, days: [mon], hours: 22:00-06:00 }',
      'not: { during: { zone: UTC, days: [mon, tue] } }',
    ],
    ['userId: 7', 'not: { userId: [7, 8], amount: { above: 0 } }'],
  ])('%s and then %s', (outer, inner) => {
    const [found, ...others] = warningsOf(
      policy('p', `{ ${outer} }`, PASS, `${PASS}\n    when: { ${inner} }`),
    ).filter((each) => each.includes('no callback meets'));
    expect(others).toEqual([]);
    expect(found).toBe(
      'a.yaml:7:5: p/pass#2/when: no callback meets these conditions together with those around them; ' +
        'correct them, or leave it out',
    );
  });

  it.each([
    ['symbol: BTC', 'symbol: [BTC]'],
    ['amount: { atMost: 1000 }', 'amount: { atLeast: 1000 }'],
    ['userId: 7', 'not: { userId: 7, amount: { above: 1 } }'],
    // The clocks of two zones are not compared.
    ['during: { zone: UTC, hours: 09:00-10:00 }', 'during: { zone: Asia/Tokyo, hours: 09:00-10:00 }'],
    ['during: { zone: UTC, days: [mon], hours: 22:00-06:00 }', 'during: { zone: UTC, days: [tue] }'],
    // On a holiday, it is not within the hours.
    [
      'during: { zone: UTC, days: [mon] }',
      'not: { during: { zone: UTC, days: [mon], holidays: holidays.txt } }',
    ],
    ['scheme: md5', 'not: { scheme: rsa }'],
  ])('%s and then %s is not such a case', (outer, inner) => {
    const found = warningsOf(policy('p', `{ ${outer} }`, PASS, `${PASS}\n    when: { ${inner} }`));
    expect(found.filter((each) => each.includes('no callback meets'))).toEqual([]);
  });

  it('are reported once, for the policy', () => {
    const yaml = policy(
      'p',
      '{ amount: { below: 1 }, not: { amount: { atMost: 2 } } }',
      PASS,
      `${PASS}\n    when: { userId: 1 }`,
    );
    expect(warningsOf(yaml)).toEqual([
      'a.yaml:3:1: p/when: no callback meets these conditions; correct them, or leave it out',
    ]);
  });

  it('also in alternatives, for an address in another spelling too', () => {
    const yaml = `policy: p
callback: transfer
when: { symbol: ETH, to: '${A}' }
rules:
  - any:
      - pass: { because: x }
        when: { to: '${B.toLowerCase()}' }
      - pass: { because: y }
        when: { to: '${A.toLowerCase()}' }
`;
    const assets = 'assets:\n  ETH: { chain: evm, decimals: 18 }\n';
    expect(warningsOf(yaml, assets)).toEqual([
      expect.stringContaining('a.yaml:7:9: p/pass#1.1/when: no callback meets'),
    ]);
  });
});

describe('an alternative after one that always passes', () => {
  const any = (...alternatives: readonly string[]): readonly string[] =>
    warningsOf(
      policy('p', '{ symbol: BTC }', `any:\n${alternatives.map((each) => `      - ${each}\n`).join('')}`),
    );
  const when = (conditions: string, rule = PASS): string => `${rule}\n        when: { ${conditions} }`;
  const LIMIT = 'amount-limit: { max: 5 }';
  const SAYS = (name: string, by: string): string =>
    `p/${name}: this alternative is never taken: ${by} before it always passes; ` +
    'move it to an earlier place, or leave it out';

  it.each([
    [[PASS, LIMIT], [SAYS('amount-limit#1.2', 'pass#1.1')]],
    [[when('symbol: BTC'), LIMIT], [SAYS('amount-limit#1.2', 'pass#1.1')]],
    [
      [when('amount: { atMost: 9 }'), when('amount: { below: 9 }', LIMIT)],
      [SAYS('amount-limit#1.2', 'pass#1.1')],
    ],
    [
      [when('amount: { atMost: 9 }'), when('not: { amount: { atMost: 9 } }'), LIMIT],
      [SAYS('amount-limit#1.3', 'pass#1.1 and pass#1.2')],
    ],
    [[when('memo: a', LIMIT).replace('memo', 'userId').replace(': a', ': 1'), PASS], []],
    [[when('amount: { atMost: 9 }'), when('amount: { atMost: 9.01 }', LIMIT)], []],
    [[LIMIT, PASS], []],
    // Of two prices, one may be too old and the other not.
    [[when('value: { atMost: 9, maxAge: 1m }'), when('value: { atMost: 5, maxAge: 10m }', LIMIT)], []],
    // Without a scheme, neither of the two holds.
    [[when('scheme: md5'), when('not: { scheme: md5 }'), LIMIT], []],
  ])('%#', (alternatives, expected) => {
    const found = any(...alternatives).filter((each) => each.includes('is never taken'));
    expect(found.map((each) => each.replace(/^a\.yaml:\d+:\d+: /, ''))).toEqual(expected);
  });
});

describe('amounts that no policy covers', () => {
  it('between two policies', () => {
    const yaml = policies(
      policy('small', '{ source: shop, symbol: [BTC, ETH], amount: { below: 1000 } }', PASS),
      policy('large', '{ source: shop, symbol: [BTC, ETH], amount: { above: 1000 } }', PASS),
    );
    expect(warningsOf(yaml)).toEqual([
      'a.yaml:3:1: small/when: no policy covers a payment whose amount is exactly 1000 (source shop, symbol BTC and ETH), ' +
        'so it is refused; write a rule for it; if it is to be refused, amount-limit gives a reason',
    ]);
  });

  it('between two rules, below the first and above the last', () => {
    const yaml = policy(
      'tiers',
      '{ symbol: BTC }',
      `${PASS}\n    when: { amount: { atLeast: 1, atMost: 5 } }`,
      `${PASS}\n    when: { amount: { above: 7, atMost: 10 } }`,
    );
    expect(warningsOf(yaml).map((each) => each.replace(/;.*/, ''))).toEqual([
      'a.yaml:6:5: tiers/pass#1/when: no policy covers a payment whose amount is above 0 and below 1 (symbol BTC), so it is refused',
      'a.yaml:6:5: tiers/pass#1/when: no policy covers a payment whose amount is above 5 and up to 7 (symbol BTC), so it is refused',
      'a.yaml:8:5: tiers/pass#2/when: no policy covers a payment whose amount is above 10 (symbol BTC), so it is refused',
    ]);
  });

  it('of one symbol only', () => {
    const yaml = policies(
      policy('all', '{ symbol: [BTC, ETH], amount: { atMost: 5 } }', PASS),
      policy('more', '{ symbol: ETH, amount: { above: 5 } }', PASS),
    );
    expect(warningsOf(yaml)).toEqual([expect.stringContaining('whose amount is above 5 (symbol BTC), so')]);
  });

  it('are none that the asset does not have', () => {
    const yaml = policies(
      policy('small', '{ symbol: USDT, amount: { atMost: 9.99 } }', PASS),
      policy('large', '{ symbol: USDT, amount: { atLeast: 10 } }', PASS),
    );
    expect(warningsOf(yaml, 'assets:\n  USDT: { chain: evm, decimals: 2 }\n')).toEqual([]);
    expect(warningsOf(yaml, 'assets:\n  USDT: { chain: evm, decimals: 3 }\n')).toEqual([
      expect.stringContaining('whose amount is above 9.99 and below 10 (symbol USDT)'),
    ]);
  });

  it('are none between single amounts', () => {
    const rule = (amount: string): string => `${PASS}\n    when: { amount: ${amount} }`;
    expect(warningsOf(policy('p', '{ symbol: BTC }', rule('[10, 25]'), rule('50')))).toEqual([]);
  });

  it('are none that another policy covers', () => {
    const yaml = policies(
      policy('small', '{ symbol: BTC, amount: { atMost: 5 } }', PASS),
      policy('all', '{}', PASS),
    );
    expect(warningsOf(yaml)).toEqual([]);
  });

  it('include those that only an observing rule is for', () => {
    const yaml = policy(
      'p',
      '{ symbol: BTC }',
      `${PASS}\n    when: { amount: { atMost: 5 } }`,
      `${PASS}\n    mode: observe`,
    );
    expect(warningsOf(yaml)).toEqual([expect.stringContaining('whose amount is above 5 (symbol BTC)')]);
  });
});

describe('an amount between two tiers', () => {
  const limit = (amount: string): string =>
    `velocity-limit: { max: 9, window: 1h }\n    when: { amount: ${amount} }`;
  const SLIPS =
    'a payment whose amount is exactly 1000 (symbol BTC) is in no tier, and other rules may approve it; ' +
    'write atMost or atLeast in one of the two tiers';

  it('that only another rule covers', () => {
    const yaml = policy('p', '{ symbol: BTC }', PASS, limit('{ below: 1000 }'), limit('{ above: 1000 }'));
    expect(warningsOf(yaml)).toEqual([`a.yaml:7:5: p/velocity-limit#2/when: ${SLIPS}`]);
    const { approves, results } = evaluate(
      release(yaml),
      payment({ payCoinSymbol: 'BTC', orderAmount: '1000' }),
      factsAt(NOON),
    );
    expect({ approves, rules: results.map(({ rule }) => rule) }).toEqual({
      approves: true,
      rules: ['pass#1'],
    });
  });

  it('that only another policy covers', () => {
    const yaml = policies(
      policy('small', '{ symbol: BTC, amount: { below: 1000 } }', 'amount-limit: { max: 2000 }'),
      policy('large', '{ symbol: BTC, amount: { above: 1000 } }', 'amount-limit: { max: 2000 }'),
      policy('all', '{}', PASS),
    );
    expect(warningsOf(yaml)).toEqual([`a.yaml:3:1: small/when: ${SLIPS}`]);
  });

  it.each([
    // Each tier adds to those before.
    ['{ atMost: 1000 }', '{ above: 500 }'],
    ['{ atMost: 1000 }', '{ above: 1000 }'],
    ['{ atMost: 1000 }', '{ atLeast: 1000 }'],
    ['{ below: 1000 }', '{ above: 2000 }'],
  ])('%s and %s is clear', (low, high) => {
    expect(warningsOf(policy('p', '{ symbol: BTC }', PASS, limit(low), limit(high)))).toEqual([]);
  });

  it('is refused by the alternatives, and so is clear', () => {
    const yaml = policy(
      'p',
      '{ symbol: BTC }',
      PASS,
      `any:
      - amount-limit: { max: 5000 }
        when: { amount: { below: 10 } }
      - amount-limit: { max: 5000 }
        when: { amount: { above: 10 } }`,
    );
    expect(warningsOf(yaml)).toEqual([]);
    const ten = payment({ payCoinSymbol: 'BTC', orderAmount: '10' });
    expect(evaluate(release(yaml), ten, factsAt(NOON)).approves).toBe(false);
  });
});

describe('a symbol that no policy covers', () => {
  const ASSETS = 'assets:\n  BTC: { chain: bitcoin, decimals: 8 }\n  ETH: { chain: evm, decimals: 18 }\n';

  it('in the asset table', () => {
    expect(warningsOf(policy('p', '{ symbol: BTC }', PASS), ASSETS)).toEqual([
      'assets.yaml: no policy covers a callback of ETH, so each is refused; ' +
        'name the symbol under `when` of a policy, or leave it out of the table',
    ]);
    expect(warningsOf(policy('p', '{ not: { symbol: DOGE } }', PASS), ASSETS)).toEqual([]);
  });

  it('but not one that a rule names, for its decimals', () => {
    const yaml = `policy: p
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      calls:
        - contract: '${A}'
          method: transfer(address,uint256)
          asset: USDT
          where: { to: any, amount: { max: 1 } }
`;
    const usdt = '  USDT: { chain: evm, decimals: 6 }\n';
    expect(warningsOf(yaml, `assets:\n  ETH: { chain: evm, decimals: 18 }\n${usdt}`)).toEqual([]);
  });

  it('under when of a policy that only observes it', () => {
    const rule = `${PASS}\n    when: { symbol: BTC }`;
    expect(
      warningsOf(policy('p', '{ symbol: [BTC, ETH] }', rule, `${PASS}\n    mode: observe`), ASSETS),
    ).toEqual([
      'a.yaml:3:1: p/when: no enforcing rule is for a payment of ETH, so each is refused; ' +
        'write a rule without `mode: observe` whose conditions it meets, or leave it out',
    ]);
  });
});

describe('a symbol in the table of a limit', () => {
  it.each([
    'amount-limit: { by: asset, max: { BTC: 1, DOGE: 2 } }',
    'window-limit: { by: asset, window: 1h, max: { BTC: 1, DOGE: 2 } }',
    'first-use-limit: { of: userId, by: asset, max: { BTC: 1, DOGE: 2 } }',
  ])('that `when` does not name never applies: %s', (rule) => {
    const { warnings } = release(policy('p', '{ symbol: [BTC, ETH] }', rule));
    const name = rule.split(':', 1)[0];
    expect(warnings.map((each) => formatFault(each).replace(/^a\.yaml:5:\d+: /, ''))).toEqual([
      `rules[0].${name}.max.DOGE: when has no DOGE, so this never applies; name DOGE under when, or leave it out`,
    ]);
    expect(release(policy('p', '{ source: shop }', rule)).warnings).toEqual([]);
  });
});

const root = fileURLToPath(new URL('../../', import.meta.url));
const folders = ['config/policies', ...(await exampleNames()).map((name) => `docs/examples/${name}`)];

it.each(folders)('%s has none', async (folder) => {
  expect(coverageWarnings(await readPolicyDirectory(`${root}${folder}`)).map(formatFault)).toEqual([]);
});

// ---- what is proven holds for every callback ----

const bound = fc.integer({ min: 0, max: 6 });
const range = fc
  .tuple(
    fc.constantFrom('above', 'atLeast', undefined),
    bound,
    fc.constantFrom('below', 'atMost', undefined),
    bound,
  )
  .filter(
    ([low, from, high, to]) =>
      (low !== undefined || high !== undefined) && (low === undefined || high === undefined || from < to),
  )
  .map(([low, from, high, to]) =>
    [low && `${low}: ${from}`, high && `${high}: ${to}`].filter((each) => each !== undefined).join(', '),
  );
const condition = fc.oneof(
  { weight: 4, arbitrary: range.map((each) => `amount: { ${each} }`) },
  { weight: 1, arbitrary: range.map((each) => `value: { ${each}, maxAge: 1h }`) },
  fc.subarray(['X', 'Y'], { minLength: 1 }).map((symbols) => `symbol: [${symbols.join(', ')}]`),
  fc.subarray(['1', '2'], { minLength: 1 }).map((users) => `userId: [${users.join(', ')}]`),
  fc.constantFrom(
    'scheme: md5',
    'scheme: rsa',
    'during: { zone: UTC, hours: 11:00-13:00 }',
    'during: { zone: UTC, hours: 22:00-12:00 }',
  ),
);
const conditions: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      condition,
      fc
        .uniqueArray(condition, { minLength: 1, maxLength: 2, selector: memberOf })
        .map((inner) => `not: { ${inner.join(', ')} }`),
    ),
    { maxLength: 2 },
  )
  .map((all) => [...new Map(all.map((each) => [memberOf(each), each])).values()].join(', '));

function memberOf(written: string): string {
  return written.split(':', 1)[0] ?? '';
}

interface Written {
  readonly when: string;
  readonly observes: boolean;
  readonly rule: string | readonly Written[];
}
const leaf = fc.constantFrom(PASS, PASS, 'amount-limit: { max: 3 }');
const entry: fc.Arbitrary<Written> = fc.record({
  when: conditions,
  observes: fc.boolean(),
  rule: leaf,
});
const group = fc.record({
  when: conditions,
  observes: fc.constant(false),
  rule: fc.array(entry, { minLength: 1, maxLength: 3 }),
});
const written = fc.array(
  fc.record({
    when: conditions,
    entries: fc.array(fc.oneof({ weight: 2, arbitrary: entry }, group), { minLength: 1, maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 3 },
);

function yamlOf(all: readonly { readonly when: string; readonly entries: readonly Written[] }[]): string {
  const entryOf = ({ when, observes, rule }: Written, isInner = false): string =>
    `{ ${typeof rule === 'string' ? rule : `any: [${rule.map((each) => entryOf(each, true)).join(', ')}]`}` +
    `${when === '' ? '' : `, when: { ${when} }`}${observes && !isInner ? ', mode: observe' : ''} }`;
  return policies(
    ...all.map(({ when, entries }, at) =>
      policy(`p${at}`, `{ ${when} }`, ...entries.map((each) => entryOf(each))),
    ),
  );
}

const callbacks = ['X', 'Y', 'Z'].flatMap((symbol) =>
  ['1', '2', '3'].flatMap((userId) =>
    [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5].map((amount) =>
      payment({ payCoinSymbol: symbol, userId, orderAmount: String(amount) }),
    ),
  ),
);
const atNoon = pricesOf({ X: '1', Y: '2' });
const situations = [undefined, 'md5', 'rsa'].flatMap((scheme) =>
  [NOON, NOON + 5 * 3_600_000, NOON + 11 * 3_600_000].map((nowMs) =>
    factsAt(nowMs, {
      scheme,
      prices: NOON === nowMs ? atNoon : pricesOf({ X: ['1', nowMs], Y: ['3', nowMs] }),
    }),
  ),
);
const everyCase = callbacks.flatMap((callback) => situations.map((facts) => ({ callback, facts })));

/** The conditions of a policy or an entry, with those around it. */
function whensOf({ policies: all }: Release, name: string): readonly When[] {
  const found = (
    entries: readonly CompiledEntry[],
    own: CompiledPolicy,
    around: readonly When[],
  ): readonly When[] | undefined => {
    for (const each of entries) {
      const whens = [...around, each.when];
      if (`${own.name}/${each.name}` === name.replace(/\/when$/, '')) return whens;
      const inner = 'group' in each ? found(each.entries, own, whens) : undefined;
      if (inner !== undefined) return inner;
    }
    return undefined;
  };
  for (const each of all) {
    if (`${each.name}/when` === name) return [each.when];
    const inner = found(each.entries, each, [each.when]);
    if (inner !== undefined) return inner;
  }
  throw new Error(`there is no ${name}`);
}

/** What a warning says wrongly of a callback: nothing. */
function wrongAbout(
  about: About,
  inForce: Release,
  { callback, facts }: (typeof everyCase)[number],
): string | undefined {
  const areMet = (whens: readonly When[]): boolean =>
    whens.every((when) => testWhen(when, callback, facts).state === 'met');
  const { approves, refusal, results } = evaluate(inForce, callback, facts);
  const passes = (name: string): boolean =>
    results.some(({ policy: of, rule, verdict }) => `${of}/${rule}` === name && verdict !== 'refuse');
  if (about.type === 'never-met') {
    return areMet(whensOf(inForce, about.name)) ? 'the conditions are met' : undefined;
  }
  if (about.type === 'never-taken') return passes(about.name) ? 'it is taken' : undefined;
  if (about.type === 'uncovered-symbols') {
    return about.symbols.includes(callback.symbol) && approves ? 'a policy covers it' : undefined;
  }
  if (about.type !== 'uncovered') return undefined;
  const [from, to] = about.range;
  const { amount, symbol } = callback;
  const isMeant = about.cells.some((cell) => (cell.symbol ?? 'Z') === symbol);
  if (!isMeant || amount === 'unlimited' || amount < from || amount > to) return undefined;
  const refused = results.some(({ mode, verdict }) => mode === 'enforce' && verdict === 'refuse');
  return approves || (refusal !== 'NO_POLICY' && !refused) ? 'a policy covers it' : undefined;
}

it('holds for every callback, whatever the policies', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(written, (all) => {
      const inForce = release(yamlOf(all));
      const wrong = coverageWarnings(inForce).flatMap(({ about, ...fault }) => {
        seen.add(about.type);
        const found = everyCase.map((each) => wrongAbout(about, inForce, each));
        return found.filter((each) => each !== undefined).map((each) => `${formatFault(fault)}: ${each}`);
      });
      expect(wrong).toEqual([]);
    }),
    { numRuns: 300 },
  );
  // The generator reaches them.
  const types = ['never-met', 'never-taken', 'uncovered'];
  expect(types.filter((type) => !seen.has(type))).toEqual([]);
});

it('an amount that a gap begins or ends with is covered on its other side', () => {
  const yaml = policies(
    policy('small', '{ symbol: X, amount: { atMost: 1000 } }', PASS),
    policy('large', '{ symbol: X, amount: { above: 2000 } }', PASS),
  );
  const inForce = release(yaml);
  const gaps = coverageWarnings(inForce).flatMap(({ about }) => (about.type === 'uncovered' ? [about] : []));
  expect(gaps).toHaveLength(1);
  const approves = (amount: bigint): unknown => {
    const { approves: yes, refusal } = evaluate(
      inForce,
      payment({ payCoinSymbol: 'X', orderAmount: formatAmount(amount) }),
      factsAt(NOON),
    );
    return yes ? 'SUCCESS' : refusal;
  };
  for (const {
    range: [from, to],
  } of gaps) {
    expect([from - 1n, from, to, to + 1n].map(approves)).toEqual([
      'SUCCESS',
      'NO_POLICY',
      'NO_POLICY',
      'SUCCESS',
    ]);
  }
});
