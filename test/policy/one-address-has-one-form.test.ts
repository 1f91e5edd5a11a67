import { describe, expect, it } from 'vitest';
import type { Callback } from '../../src/callback/callback.ts';
import { compileRelease } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import { toComparable } from '../../src/values/comparable.ts';
import {
  NOON,
  evaluateAt,
  faultsOf,
  type ListTexts,
  onePolicy,
  outputs,
  pricesOf,
  release,
  transfer,
  web3,
} from './callbacks.ts';
import { tablesOf, string } from '../cases.ts';

const ASSETS = `assets:
  ETH: { chain: evm, decimals: 18 }
  BTC: { chain: bitcoin, decimals: 8 }
  XRP: { chain: ripple, decimals: 6 }
  TRX: { chain: tron, decimals: 6 }
  TON: { chain: ton, decimals: 9 }
  SUI: { chain: sui, decimals: 9 }
  APT: { chain: aptos, decimals: 8 }
  STRK: { chain: starknet, decimals: 18 }
  BCH: { chain: bch, decimals: 8 }
  XLM: { chain: stellar, decimals: 7 }
  KAS: { chain: text, spellings: one, decimals: 8 }
  DOT: { chain: text, decimals: 10 }
`;

/** The spellings of one address by its asset. The first is canonical. */
const SPELLINGS: Readonly<Record<string, readonly [canonical: string, ...others: string[]]>> = {
  ETH: [
    '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED',
  ],
  BTC: ['bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq', 'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ'],
  BCH: [
    'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a',
    'qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a',
    'BITCOINCASH:QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A',
    'QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A',
    '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu',
  ],
  TON: [
    'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF',
    'UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA',
    'kQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPgpP',
    'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff+W72r5gqPrHF',
    '0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e',
    '0:CA6E321C7CCE9ECEDF0A8CA2492EC8592494AA5FB5CE0387DFF96EF6AF982A3E',
  ],
  SUI: [
    '0x00f1d10bf9a0a2a1f2d40ac2e3a6b4a2cfd6ab3b1f9fae6d4eaf2d1b1f3c2a11',
    '0xf1d10bf9a0a2a1f2d40ac2e3a6b4a2cfd6ab3b1f9fae6d4eaf2d1b1f3c2a11',
    '0x0f1d10bf9a0a2a1f2d40ac2e3a6b4a2cfd6ab3b1f9fae6d4eaf2d1b1f3c2a11',
    '0xF1D10BF9A0A2A1F2D40AC2E3A6B4A2CFD6AB3B1F9FAE6D4EAF2D1B1F3C2A11',
  ],
  APT: [`0x${'1'.padStart(64, '0')}`, '0x1'],
  STRK: [
    '0x049d36570d4e46f48e99674bd3fcc84644ddd6b96f7c741b1562b82f9e004dc7',
    '0x49d36570d4e46f48e99674bd3fcc84644ddd6b96f7c741b1562b82f9e004dc7',
  ],
};
const OTHER: Readonly<Record<string, string>> = {
  ETH: '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359',
  BTC: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
  BCH: 'bitcoincash:qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy',
  TON: 'EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2',
  SUI: '0x2',
  APT: '0x2',
  STRK: '0x2',
};

/** Texts that are no address of the asset, although people may take them for one. */
const NO_ADDRESSES: readonly (readonly [symbol: string, text: string])[] = [
  ['ETH', '5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'],
  ['ETH', '0X5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED'],
  ['ETH', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'],
  ['BTC', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'],
  ['BTC', 'bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'],
  ['XRP', 'XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi'],
  ['BCH', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6q'],
  ['BCH', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a?amount=1'],
  ['XLM', 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ'],
  ['XLM', 'ga7qynf7sowq3glr2bgmzehxavirza4kvwltjjfc7mgxua74p7ujvsgz'],
  ['TRX', '41a614f803b6fd780986a42c78ec9c7f77e6ded13c'],
  ['TON', 'ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e'],
  ['TON', 'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHG'],
  ['SUI', 'f1d10bf9a0a2a1f2d40ac2e3a6b4a2cfd6ab3b1f9fae6d4eaf2d1b1f3c2a11'],
  ['APT', '1'],
];

const symbols = Object.keys(SPELLINGS);
const spellingsOf = (symbol: string): readonly string[] => SPELLINGS[symbol] ?? [];
const canonicalOf = (symbol: string): string => spellingsOf(symbol)[0] ?? '';
const otherOf = (symbol: string): string => OTHER[symbol] ?? '';

const KINDS = ['to', 'from', 'interactive_contract'] as const;
type AddressMember = (typeof KINDS)[number];

/** A callback of each kind that has the member, with this text in it. */
function callbacksWith(member: AddressMember, symbol: string, text: string): readonly Callback[] {
  const others = { from: otherOf(symbol), to: otherOf(symbol), interactive_contract: otherOf(symbol) };
  const { interactive_contract: contract, ...sides } = { ...others, [member]: text };
  const transaction = web3({ ...sides, interactive_contract: contract, main_chain_symbol: symbol });
  return member === 'interactive_contract'
    ? [transaction]
    : [transfer({ ...sides, symbol, memo: 'x' }), transaction];
}

const releases = new Map<string, Release>();

/** What one rule says. Compiles each policy once, because there are many spellings. */
function look(rule: string, callback: Callback, when?: string, lists: ListTexts = {}) {
  const yaml = onePolicy(rule, callback.kind, when);
  const known = releases.get(yaml) ?? release(yaml, lists, ASSETS);
  if (Object.keys(lists).length === 0) releases.set(yaml, known);
  const prices = pricesOf({ [callback.symbol]: '1' });
  const proposal = evaluateAt(known, callback, NOON, { prices });
  const [result] = proposal.results;
  if (result === undefined) throw new Error(`the policy did not apply: ${yaml}`);
  return { result, claims: proposal.claims, proposal };
}

/** The results, without repetitions, of a rule for each spelling of each asset, in each kind of callback. */
function outcomesOf(
  member: AddressMember,
  of: (symbol: string, callback: Callback) => unknown,
): readonly unknown[] {
  return symbols.flatMap((symbol) => {
    const found = new Map<string, unknown>();
    for (const spelling of spellingsOf(symbol)) {
      for (const callback of callbacksWith(member, symbol, spelling)) {
        const outcome = of(symbol, callback);
        found.set(`${callback.kind} ${JSON.stringify(outcome)}`, outcome);
      }
    }
    const kinds = new Set([...found.keys()].map((each) => each.split(' ', 1)[0]));
    // One outcome for each kind of callback.
    expect([symbol, found.size]).toEqual([symbol, kinds.size]);
    return [...found.values()];
  });
}

describe.each(KINDS)('another spelling of the address in %s', (member) => {
  it.each([
    (per: string) => `window-limit: { per: [${per}, symbol], window: 24h, max: 5 }`,
    (per: string) => `velocity-limit: { per: [${per}, symbol], window: 24h, max: 5 }`,
    (per: string) => `value-limit: { per: [${per}], window: 24h, max: 5, maxAge: 1h }`,
    (per: string) =>
      `first-use-limit: { of: ${per}, by: asset, max: { ETH: 5, BTC: 5, BCH: 5, TON: 5, SUI: 5, APT: 5, STRK: 5 } }`,
  ])('has no count and no mark of its own', (rule) => {
    const keys = outcomesOf(member, (_, callback) =>
      look(rule(member), callback).claims.map((claim) => ('key' in claim ? claim.key : undefined)),
    );
    expect(keys.flat().every((key) => typeof key === 'string')).toBe(true);
  });

  it.each(['values', 'file'])('is denied and allowed by an entry in %s, in whatever spelling', (where) => {
    for (const symbol of symbols) {
      for (const entry of spellingsOf(symbol)) {
        const given = where === 'file' ? 'file: a.txt' : `values: ['${entry}']`;
        const lists: ListTexts = where === 'file' ? { 'a.txt': `${entry}\n` } : {};
        for (const spelling of spellingsOf(symbol)) {
          for (const callback of callbacksWith(member, symbol, spelling)) {
            for (const when of [undefined, `{ symbol: ${symbol} }`]) {
              const verdicts = ['deny-list', 'allow-list'].map(
                (name) => look(`${name}: { of: ${member}, ${given} }`, callback, when, lists).result.verdict,
              );
              expect([entry, spelling, ...verdicts]).toEqual([entry, spelling, 'refuse', 'pass']);
            }
          }
        }
      }
    }
  });

  it.each([
    `deny-list: { of: ${member}, list: x }`,
    `allow-list: { of: [${member}, symbol], list: x }`,
    `cooling-period: { of: ${member}, list: x, for: 1h }`,
  ])('is looked up in the store in every spelling that somebody may have added: %s', (rule) => {
    for (const outcome of outcomesOf(member, (symbol, callback) => ({
      symbol,
      claims: look(rule, callback).claims,
    }))) {
      const { symbol, claims } = outcome as { symbol: string; claims: ReturnType<typeof look>['claims'] };
      const asked = claims.flatMap((claim) =>
        claim.type === 'list' || claim.type === 'aged' ? [...claim.values, ...(claim.also ?? []).flat()] : [],
      );
      const end = rule.includes('symbol') ? ` ${symbol}` : '';
      for (const spelling of spellingsOf(symbol)) {
        expect(asked).toContain(`${toComparable(spelling)}${end}`);
      }
      expect(asked[0]).toBe(`${canonicalOf(symbol)}${end}`);
    }
  });

  it('is equal where a member must be equal, and in an expression', () => {
    for (const symbol of symbols) {
      for (const written of spellingsOf(symbol)) {
        const pass = [
          `allow-list: { of: ${member}, values: '${written}' }`,
          `expression: { require: "${member} == '${written}'" }`,
          `expression: { require: "${member} in ['x', '${written}']" }`,
        ];
        const denied = `expression: { require: "${member} != '${written}'" }`;
        for (const spelling of spellingsOf(symbol)) {
          for (const callback of callbacksWith(member, symbol, spelling)) {
            expect(pass.map((rule) => look(rule, callback).result.verdict)).toEqual(pass.map(() => 'pass'));
            expect([written, spelling, look(denied, callback).result.verdict]).toEqual([
              written,
              spelling,
              'refuse',
            ]);
          }
        }
      }
    }
  });

  it.each([
    (text: string) => `{ to: '${text}' }`,
    (text: string) => `{ not: { to: '${text}' } }`,
    (text: string) => `{ not: { not: { symbol: TON, to: ['${text}'] } } }`,
    () => '{ to: { file: named.txt } }',
    () => '{ not: { to: { file: named.txt } } }',
  ])('nor around a rule that names it under when: %s', (whenOf) => {
    const [canonical = '', ...others] = spellingsOf('TON');
    const verdicts = (written: string, to: string): readonly string[] => {
      const rules = `  - pass: { because: yes }\n  - amount-limit: { max: 1 }\n    when: ${whenOf(written)}\n`;
      const yaml = `policy: p\ncallback: transfer\nrules:\n${rules}`;
      const callback = transfer({ symbol: 'TON', from: otherOf('TON'), to, amount: '2', memo: 'x' });
      const made = release(yaml, { 'named.txt': `${written}\n` }, ASSETS);
      const stored = compileRelease(made.document);
      if (!stored.ok) throw new Error('the stored release does not compile');
      return [made, stored.release].map(
        (each) =>
          evaluateAt(each, callback, NOON).results.find(({ rule }) => rule === 'amount-limit#2')?.because ??
          '',
      );
    };
    for (const written of others) {
      expect(verdicts(written, otherOf('TON'))).toEqual(verdicts(canonical, otherOf('TON')));
      expect(verdicts(written, canonical)).toEqual(verdicts(canonical, canonical));
      expect(verdicts(written, canonical)).not.toEqual(verdicts(written, otherOf('TON')));
      for (const because of verdicts(written, canonical.replace('HF', 'HG'))) {
        expect(because).toContain('is not an address of TON: its checksum is wrong');
      }
    }
  });

  it('does not lead around a policy that names the address under when', () => {
    for (const symbol of symbols) {
      for (const written of spellingsOf(symbol)) {
        for (const spelling of spellingsOf(symbol)) {
          for (const callback of callbacksWith(member, symbol, spelling)) {
            const when = `{ ${member}: '${written}' }`;
            const { result } = look('amount-limit: { max: 5 }', callback, when);
            expect([written, spelling, result.rule]).toEqual([written, spelling, 'amount-limit#1']);
          }
        }
      }
    }
  });
});

describe('a text that is not an address of the chain', () => {
  const rulesThatUse = (member: AddressMember): readonly string[] => [
    `window-limit: { per: [${member}, symbol], window: 24h, max: 5 }`,
    `velocity-limit: { per: [${member}], window: 24h, max: 5 }`,
    `value-limit: { per: [${member}], window: 24h, max: 5, maxAge: 1h }`,
    `first-use-limit: { of: ${member}, by: asset, max: { ETH: 5, BTC: 5, BCH: 5, XLM: 5, XRP: 5, TRX: 5, TON: 5, SUI: 5, APT: 5 } }`,
    `deny-list: { of: ${member}, list: x }`,
    `deny-list: { of: ${member}, values: [x] }`,
    `allow-list: { of: [symbol, ${member}], list: x }`,
    `cooling-period: { of: ${member}, list: x, for: 1h }`,
    `allow-list: { of: ${member}, values: x }`,
    `expression: { require: "${member} != 'x'" }`,
    `address: { of: ${member} }`,
  ];

  it.each(NO_ADDRESSES)('of %s, %s, is refused by every rule that uses it', (symbol, text) => {
    const other =
      otherOf(symbol) ||
      (symbol === 'XLM' ? 'CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE' : '') ||
      (symbol === 'TRX' ? 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' : 'rrrrrrrrrrrrrrrrrrrrrhoLvTp');
    for (const member of KINDS) {
      const sides = { from: other, to: other, [member]: text };
      const transaction = web3({ interactive_contract: other, ...sides, main_chain_symbol: symbol });
      const callbacks =
        member === 'interactive_contract' ? [transaction] : [transfer({ ...sides, symbol }), transaction];
      for (const callback of callbacks) {
        for (const rule of rulesThatUse(member).filter(
          (each) => callback.kind === 'web3' || !each.includes('contract'),
        )) {
          const { result } = look(rule, callback);
          expect([rule, result.verdict]).toEqual([rule, 'refuse']);
          expect(result.because).toContain(`${member} ${text} is not an address of ${symbol}: `);
        }
        expect(look('amount-limit: { max: 5 }', callback).result.verdict).toBe('pass');
        const when = `{ ${member}: '${other}' }`;
        expect(look('amount-limit: { max: 5 }', callback, when).proposal).toMatchObject({
          approves: false,
          results: [
            { rule: 'when', verdict: 'refuse', values: { symbol, member, address: text } },
            { verdict: 'pass' },
          ],
        });
      }
    }
    const payment = transfer({ from: other, to: text, symbol });
    for (const rule of [
      'expected-order: {}',
      'outputs: { max: 5 }',
      `expression: { require: 'outputs.all(o, o.amount < 5)' }`,
    ]) {
      expect([rule, look(rule, payment).result.verdict]).toEqual([rule, 'refuse']);
    }
  });

  it('refuses also in one of several outputs', () => {
    const paid = outputs(
      ['1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', '1'],
      ['1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb', '2'],
    );
    const callback = transfer({
      symbol: 'BTC',
      to: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
      amount: '3',
      ...paid,
    });
    for (const rule of rulesThatUse('to'))
      expect([rule, look(rule, callback).result.verdict]).toEqual([rule, 'refuse']);
    expect(
      look(`velocity-limit: { per: [memo, from], window: 1h, max: 1 }`, callback).result.because,
    ).toContain('from ');
  });

  it('is compared as text where each address has one spelling', () => {
    for (const symbol of ['KAS']) {
      for (const text of ['5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', 'kaspa:qq', '0x1', '0:ab']) {
        const callback = transfer({ symbol, from: text, to: text });
        expect(look(`deny-list: { of: to, values: [x] }`, callback).result.verdict).toBe('pass');
        expect(
          look(`allow-list: { of: [from, to], values: ['${text} ${text}'] }`, callback).result.verdict,
        ).toBe('pass');
        expect(look('velocity-limit: { per: [to], window: 1h, max: 1 }', callback).result.verdict).toBe(
          'claim',
        );
      }
    }
  });

  it.each(['DOT', 'NEW'])('is of no use where nobody says how the chain spells addresses: %s', (symbol) => {
    for (const make of [
      (body: object) => transfer({ symbol, ...body }),
      (body: object) => web3({ main_chain_symbol: symbol, ...body }),
    ]) {
      const callback = make({ from: 'a', to: 'b', interactive_contract: 'c' });
      const because = `assets.yaml does not say how ${symbol} spells addresses`;
      for (const rule of [
        'deny-list: { of: to, list: x }',
        'deny-list: { of: [symbol, from], values: [A x] }',
        'window-limit: { per: [to, symbol], window: 1h, max: 5 }',
        'velocity-limit: { per: [from], window: 1h, max: 5 }',
        'value-limit: { per: [to], window: 1h, max: 5, maxAge: 1h }',
        'distinct-limit: { of: symbol, per: [to], window: 1h, max: 5 }',
        'lock-out: { per: [to], after: 3, within: 1h, for: 1h }',
        `expression: { require: "to != 'x'" }`,
      ]) {
        const { result } = look(rule, callback);
        expect([rule, result.verdict]).toEqual([rule, 'refuse']);
        expect(result.because).toContain(because);
      }
      for (const when of ["{ to: 'b' }", "{ to: 'x' }", "{ not: { from: 'x' } }"]) {
        const { proposal } = look('amount-limit: { max: 5 }', callback, when);
        expect([when, proposal.approves]).toEqual([when, false]);
        expect(proposal.results[0]?.because).toContain(because);
      }
      // Another spelling can only be refused here.
      for (const rule of [
        "allow-list: { of: to, values: ['b'] }",
        'allow-list: { of: to, list: x }',
        'cooling-period: { of: to, list: x, for: 1h }',
        `first-use-limit: { of: to, by: asset, max: { ${symbol}: 5 } }`,
        'distinct-limit: { of: to, window: 1h, max: 5 }',
        'amount-limit: { max: 5 }',
      ]) {
        expect([rule, look(rule, callback).result.verdict]).not.toEqual([rule, 'refuse']);
      }
    }
    const batch = transfer({ symbol, to: 'b', amount: '2', ...outputs(['b', '1'], ['c', '1']) });
    expect(look('outputs: { max: 5 }', batch).result.verdict).toBe('pass');
    expect(look('outputs: { max: 5, maxEach: 1 }', batch).result.verdict).toBe('refuse');
  });

  it('does not matter to a rule that does not use it', () => {
    const callback = transfer({ symbol: 'ETH', from: 'ours', to: 'theirs' });
    for (const rule of [
      'amount-limit: { max: 5 }',
      'velocity-limit: { window: 1h, max: 1 }',
      'deny-list: { of: symbol, list: x }',
      "expression: { require: 'amount < 5' }",
      'speed-up: { allowed: false }',
    ]) {
      expect([rule, look(rule, callback).result.verdict]).not.toEqual([rule, 'refuse']);
    }
  });
});

describe('a withdrawal to several addresses', () => {
  const [long = '', short = ''] = spellingsOf('SUI');
  const other = `0x${'2'.padStart(64, '0')}`;

  it('pays an address once, although the outputs have it in two spellings', () => {
    const twice = transfer({
      symbol: 'SUI',
      to: long,
      amount: '6',
      ...outputs([short, '1'], ['0x2', '3'], [long, '2']),
    });
    const table = '{ SUI: 2.5 }';
    expect(look(`outputs: { max: 2, by: asset, maxEach: ${table} }`, twice).result).toMatchObject({
      verdict: 'refuse',
      values: { addresses: '2' },
    });
    const window = look('window-limit: { by: asset, per: [to], window: 1h, max: { SUI: 9 } }', twice);
    const once = transfer({ symbol: 'SUI', to: long, amount: '6', ...outputs([long, '3'], [other, '3']) });
    expect(window.claims).toEqual(
      look('window-limit: { by: asset, per: [to], window: 1h, max: { SUI: 9 } }', once).claims,
    );
    expect(window.result.values['to']).toBe(`${other} ${long}`);
    const velocity = look('velocity-limit: { per: [to], window: 1h, max: 1 }', twice);
    expect(velocity.claims).toHaveLength(2);
    const first = look('first-use-limit: { of: to, by: asset, max: { SUI: 2.5 } }', twice);
    expect(first.claims).toMatchObject([{ exempt: false }, { exempt: false }]);
    expect(
      look("expression: { require: 'outputs.size() == 2 && outputs.all(o, o.amount == 3)' }", twice).result
        .verdict,
    ).toBe('pass');
    expect(
      look(`expression: { require: "outputs.exists(o, o.to == '${short}')" }`, twice).result.verdict,
    ).toBe('pass');
  });

  it('applies to a policy in all of its addresses or refuses, in whatever spelling', () => {
    const both = transfer({ symbol: 'SUI', to: short, amount: '2', ...outputs([short, '1'], ['0x2', '1']) });
    const results = (when: string) =>
      look('amount-limit: { max: 5 }', both, when).proposal.results.map(({ rule }) => rule);
    expect(results(`{ to: ['${long}', '${other}'] }`)).toEqual(['amount-limit#1']);
    expect(results(`{ to: ['${long}'] }`)).toEqual(['when', 'amount-limit#1']);
  });
});

describe('an announced order', () => {
  it('names an address in any of its spellings, and the claim has all of them', () => {
    for (const symbol of symbols) {
      for (const spelling of spellingsOf(symbol)) {
        const { claims } = look(
          'expected-order: {}',
          transfer({ symbol, from: otherOf(symbol), to: spelling }),
        );
        const [claim] = claims;
        if (claim?.type !== 'order') throw new Error('it claims no order');
        const texts = [claim.members['to'], ...(claim.also?.['to'] ?? [])];
        for (const announced of spellingsOf(symbol)) expect(texts).toContain(toComparable(announced));
      }
    }
  });
});

describe('an upgrade', () => {
  it.each<[symbol: string, address: string]>([
    ['ETH', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['BTC', 'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ'],
    ['BTC', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'],
    ['XRP', 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh'],
    ['TRX', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'],
    ['TON', 'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF'],
  ])('keeps the counts, marks and entries of %s %s, which were comparable texts', (symbol, address) => {
    for (const rule of [
      'window-limit: { per: [from, to, symbol], window: 24h, max: 5 }',
      'first-use-limit: { of: to, by: asset, max: { ETH: 1, BTC: 1, XRP: 1, TRX: 1, TON: 1 } }',
      'deny-list: { of: [from, to], list: x }',
      'expected-order: {}',
    ]) {
      const callback = transfer({ symbol, from: address, to: address });
      const yaml = onePolicy(rule, 'transfer');
      const claimed = (table?: string) =>
        evaluateAt(release(yaml, {}, table), callback, NOON).claims.map((claim) => ({
          ...claim,
          also: undefined,
        }));
      expect(claimed(ASSETS)).toEqual(claimed());
    }
  });
});

describe('the terms', () => {
  it('are the same in every spelling, and others for another address', () => {
    for (const symbol of ['ETH', 'BTC', 'BCH', 'TON', 'SUI', 'APT', 'STRK']) {
      const [one = '', ...others] = spellingsOf(symbol);
      for (const make of [
        (to: string) => transfer({ symbol, to }),
        (from: string) => transfer({ symbol, from }),
        (to: string) => transfer({ symbol, to, ...outputs([to, '1'], [otherOf(symbol), '2']), amount: '3' }),
        (to: string) => web3({ main_chain_symbol: symbol, to }),
        (from: string) => web3({ main_chain_symbol: symbol, from }),
        (contract: string) => web3({ main_chain_symbol: symbol, interactive_contract: contract }),
      ]) {
        for (const other of others) expect(make(other).terms).toEqual(make(one).terms);
        expect(make(otherOf(symbol)).terms).not.toEqual(make(one).terms);
      }
    }
  });
});

const rowsOf = tablesOf(new URL('cases/one-address-has-one-form.yaml', import.meta.url));

describe('a policy is at fault for what no callback about its assets can have', () => {
  const faults = (rule: string, when: string): string =>
    faultsOf(onePolicy(rule, 'transfer', when), {}, ASSETS).join('\n');

  it.each(rowsOf('faults', string, string, string))('%s %s', (rule, when, said) => {
    expect(faults(rule, when)).toContain(said);
  });

  it.each([
    ["deny-list: { of: memo, values: ['0123', order 7] }", '{ symbol: [XRP, TON] }'],
    ["deny-list: { of: memo, values: ['0123'] }", '{ source: vault }'],
    [`expression: { require: "to != 'x'" }`, '{ symbol: [ETH, KAS] }'],
    [`expression: { require: "to != 'x'" }`, '{ symbol: [ETH, NEW] }'],
    [
      'amount-limit: { max: 1 }',
      '{ symbol: [ETH, TON], to: EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF }',
    ],
  ])('but not if some asset may have it: %s %s', (rule, when) => {
    expect(faults(rule, when)).toBe('');
  });

  it('and one in force from before this check still compiles, and compares its addresses as the chain reads them', () => {
    const [canonical = '', other = ''] = spellingsOf('TON');
    const yaml = onePolicy(`deny-list: { of: to, file: a.txt }`, 'transfer', `{ symbol: TON, to: ${other} }`);
    const { document } = release(yaml, { 'a.txt': `${other}\n` }, ASSETS);
    const stored = compileRelease(document.replaceAll(`"to":"${other}"`, `"to":["${other}","no address"]`));
    // A text that is an address nowhere is a fault of the grammar; one of another chain is not.
    expect(stored.ok).toBe(false);
    const older = compileRelease(document.replaceAll(`"to":"${other}"`, `"to":["${other}","x"]`));
    if (!older.ok) throw new Error(JSON.stringify(older.faults));
    const { results } = evaluateAt(
      older.release,
      transfer({ symbol: 'TON', from: canonical, to: canonical }),
      NOON,
    );
    expect(results).toMatchObject([{ rule: 'deny-list#1', verdict: 'refuse' }]);
  });
});
