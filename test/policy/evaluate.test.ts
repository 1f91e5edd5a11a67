import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Callback } from '../../src/callback/callback.ts';
import type { Proposal } from '../../src/policy/proposal.ts';
import { indexPolicies } from '../../src/policy/release.ts';
import type { RuleOutcome } from '../../src/policy/outcome.ts';
import { ALWAYS } from '../../src/policy/language/conditions.ts';
import { A, B, C, NOON, outputs, payment, release, transfer, web3, evaluateAt } from './callbacks.ts';

function policy(name: string, rules: string, when = '{}', callback = 'payment'): string {
  return `policy: ${name}\ncallback: ${callback}\nwhen: ${when}\nrules: [${rules}]\n`;
}

const PASS = '{ amount-limit: { max: 1000 } }';
const REFUSE = '{ amount-limit: { max: 1 } }';
const CLAIM = '{ velocity-limit: { window: 1m, max: 1 } }';

/** What a release of one rule that does this proposes. */
function proposing(outcome: () => RuleOutcome): Proposal {
  const rule = {
    name: 'odd#1',
    mode: 'enforce',
    when: ALWAYS,
    always: true,
    covers: true,
    pluginQuestions: [],
    evaluate: outcome,
  } as const;
  const rules = [rule] as const;
  const one = { name: 'p', callback: 'payment', when: ALWAYS, entries: rules, rules } as const;
  return evaluateAt(indexPolicies('r', '', [one]), payment(), NOON);
}

describe('evaluate', () => {
  it('refuses while nothing is in force', () => {
    expect(evaluateAt(undefined, payment(), NOON)).toEqual({
      revision: '',
      approves: false,
      refusal: 'NOTHING_IN_FORCE',
      results: [],
      claims: [],
      retryable: false,
      prices: 0,
      validFromMs: 0,
      validUntilMs: Number.MAX_SAFE_INTEGER,
    });
  });

  it.each([
    ['another kind', policy('a', PASS, '{}', 'transfer'), payment()],
    ['another source', policy('a', PASS, '{ source: till }'), payment()],
    ['a source in another case', policy('a', PASS, '{ source: Shop }'), payment()],
    ['another symbol', policy('a', PASS, '{ symbol: [BTC, ETH] }'), payment()],
    ['one of two conditions', policy('a', PASS, '{ source: shop, symbol: BTC }'), payment()],
    ['a member that is missing', policy('a', PASS, '{ memo: x }', 'transfer'), transfer()],
    ['rules that only observe', policy('a', `{ amount-limit: { max: 1000 }, mode: observe }`), payment()],
  ])('refuses if no policy applies: %s', (_, yaml, callback) => {
    expect(evaluateAt(release(yaml), callback, NOON)).toMatchObject({
      approves: false,
      refusal: 'NO_POLICY',
      claims: [],
    });
  });

  it.each([
    ['any source', '{}', payment()],
    ['its source', '{ source: [till, shop] }', payment()],
    ['an alias', '{ payCoinSymbol: USDT1742 }', payment()],
    ['an amount, however it is spelt', '{ orderAmount: 100.00 }', payment()],
  ])('applies to %s', (_, when, callback) => {
    expect(evaluateAt(release(policy('a', PASS, when)), callback, NOON)).toMatchObject({
      approves: true,
      refusal: undefined,
    });
  });

  it('applies to hexadecimal without regard to case', () => {
    const yaml = policy('a', PASS, `{ to: '${A.toLowerCase()}' }`, 'transfer');
    expect(evaluateAt(release(yaml), transfer({ to: A }), NOON).approves).toBe(true);
  });

  it('refuses if one rule of many does, and reports them all', () => {
    const yaml = `${policy('b', `${PASS}, ${CLAIM}`)}---\n${policy('a', `${REFUSE}, ${PASS}`)}`;
    const proposal = evaluateAt(release(yaml), payment(), NOON);
    expect(proposal).toMatchObject({ approves: false, refusal: undefined });
    expect(proposal.results.map(({ policy: name, rule, verdict }) => `${name}/${rule} ${verdict}`)).toEqual([
      'a/amount-limit#1 refuse',
      'a/amount-limit#2 pass',
      'b/amount-limit#1 pass',
      'b/velocity-limit#2 claim',
    ]);
    expect(proposal.claims).toMatchObject([{ result: 3, decides: true }]);
  });

  it('lets a rule that observes decide nothing', () => {
    const rules = `${PASS}, { amount-limit: { max: 1 }, mode: observe }, { velocity-limit: { window: 1m, max: 1 }, mode: observe }`;
    const proposal = evaluateAt(release(policy('a', rules)), payment(), NOON);
    expect(proposal).toMatchObject({ approves: true });
    expect(proposal.results.map(({ mode, verdict }) => [mode, verdict])).toEqual([
      ['enforce', 'pass'],
      ['observe', 'refuse'],
      ['observe', 'claim'],
    ]);
    expect(proposal.claims).toMatchObject([{ result: 2, decides: false }]);
  });

  it('refuses a withdrawal of which a policy names some addresses and not others', () => {
    const yaml = policy('a', '{ amount-limit: { max: 1000 } }', `{ to: ['${A}', '${B}'] }`, 'transfer');
    const mixed = transfer({ amount: '3', ...outputs([A, '1'], [C, '2']) });
    expect(evaluateAt(release(yaml), mixed, NOON)).toMatchObject({
      approves: false,
      refusal: undefined,
      results: [
        {
          policy: 'a',
          rule: 'when',
          mode: 'enforce',
          verdict: 'refuse',
          because: 'some values of to, not all, are named under when',
        },
        { rule: 'amount-limit#1', verdict: 'pass' },
      ],
    });
    const named = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
    expect(evaluateAt(release(yaml), named, NOON).approves).toBe(true);
  });

  it('refuses so even if the addresses that are not named have a policy of their own', () => {
    const limits = `${policy('a', PASS, '{}', 'transfer')}---\n${policy('b', '{ amount-limit: { max: 1 } }', `{ to: '${C}' }`, 'transfer')}`;
    const mixed = transfer({ amount: '1', ...outputs([A, '0.5'], [C, '0.5']) });
    expect(evaluateAt(release(limits), mixed, NOON).approves).toBe(false);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('out of order');
      },
      'the rule failed: out of order',
    ],
    [
      'claims nothing',
      () => ({ verdict: 'claim', because: '', values: {}, claims: [] }),
      'the rule claims nothing',
    ],
    ['has no claims', () => ({ verdict: 'claim', because: '', values: {} }), 'the rule claims nothing'],
  ] satisfies readonly (readonly [string, () => RuleOutcome, string])[])(
    'refuses if a rule %s',
    (_, rule, because) => {
      const proposal = proposing(rule);
      expect(proposal.approves).toBe(false);
      expect(proposal.results[0]?.verdict).toBe('refuse');
      expect(proposal.results[0]?.because).toContain(because);
    },
  );

  it('is valid as long as each of its periods is', () => {
    const yaml = policy(
      'a',
      '{ velocity-limit: { window: day, max: 1 } }, { velocity-limit: { window: day, zone: Asia/Tokyo, max: 1 } }',
    );
    const { validFromMs, validUntilMs } = evaluateAt(release(yaml), payment(), NOON);
    expect([validFromMs, validUntilMs]).toEqual([Date.UTC(2024, 2, 15), Date.UTC(2024, 2, 15, 15)]);
  });

  it('is pure: the same again, and nothing changed in what it was given', () => {
    const compiled = release(
      `${policy('a', `${PASS}, ${CLAIM}`)}---\n${policy('b', '{ window-limit: { per: [symbol, userId], window: month, max: 9 } }')}`,
    );
    const callback = frozen(payment());
    const first = evaluateAt(Object.freeze(compiled), callback, NOON);
    expect(evaluateAt(compiled, payment({ userId: '7', orderAmount: '5000' }), NOON + 1e9).approves).toBe(
      false,
    );
    expect(evaluateAt(compiled, callback, NOON)).toEqual(first);
  });
});

function frozen<T extends object>(value: T): T {
  for (const each of Object.values<unknown>(Object(value)))
    if (typeof each === 'object' && each !== null) frozen(each);
  return Object.freeze(value);
}

const amount = fc.integer({ min: 1, max: 5 }).map(String);
const address = fc.constantFrom(A, B, C);
const symbol = fc.constantFrom('BTC', 'ETH');

const rule = fc.oneof(
  amount.map((max) => `{ amount-limit: { max: ${max} } }`),
  amount.map((min) => `{ amount-limit: { min: ${min} } }`),
  amount.map((max) => `{ window-limit: { per: [symbol], window: ${max}h, max: ${max} } }`),
  amount.map((max) => `{ amount-limit: { max: ${max} }, mode: observe }`),
  address.map((to) => `{ allow-list: { of: to, values: '${to}' } }`),
  address.map((to) => `{ deny-list: { of: to, values: '${to}' } }`),
  fc.constant('{ deny-list: { of: txid, list: txids } }'),
);
const when = fc.oneof(
  fc.constant('{}'),
  symbol.map((each) => `{ symbol: ${each} }`),
  address.map((to) => `{ to: '${to}' }`),
);
// A rule may not count twice in one policy, so each policy has one.
const body = fc.record({ rule, when, kind: fc.constantFrom('transfer', 'web3') });
const policies = fc.array(body, { minLength: 1, maxLength: 5 });

const callbacks: fc.Arbitrary<Callback> = fc.oneof(
  fc.record({ to: address, symbol, amount }).map((members) => transfer(members)),
  fc.record({ symbol, first: amount, other: address }).map(({ symbol: coin, first, other }) =>
    transfer({
      symbol: coin,
      to: A,
      amount: String(Number(first) + 1),
      ...outputs([A, first], [other, '1']),
    }),
  ),
  fc
    .record({ to: address, main_chain_symbol: symbol, amount: fc.oneof(amount, fc.constant('-1')) })
    .map((members) => web3(members)),
);

const yamlOf = (all: readonly { rule: string; when: string; kind: string }[]): string =>
  all.map(({ rule: each, when: whom, kind }, index) => policy(`p${index}`, each, whom, kind)).join('---\n');

describe('policies, whichever they are', () => {
  it('one more never makes an approval of a rule’s refusal, and never takes a claim away', () => {
    fc.assert(
      fc.property(policies, body, callbacks, (some, one, callback) => {
        const before = evaluateAt(release(yamlOf(some)), callback, NOON);
        const after = evaluateAt(release(yamlOf([...some, one])), callback, NOON);
        const turned = before.refusal === undefined && !before.approves && after.approves;
        expect(turned).toBe(false);
        const keys = (claims: typeof before.claims): readonly string[] =>
          claims.map((claim) =>
            claim.type === 'window' ? claim.key : claim.type === 'list' ? claim.list : claim.type,
          );
        expect(keys(after.claims)).toEqual(expect.arrayContaining([...keys(before.claims)]));
        expect(after.results.length).toBeGreaterThanOrEqual(before.results.length);
      }),
      { numRuns: 150 },
    );
  });

  it('approve only what every enforcing rule of those that apply lets pass or claims', () => {
    fc.assert(
      fc.property(policies, callbacks, (some, callback) => {
        const { approves, refusal, results, claims } = evaluateAt(release(yamlOf(some)), callback, NOON);
        const enforcing = results.filter(({ mode }) => mode === 'enforce');
        expect(approves).toBe(enforcing.length > 0 && enforcing.every(({ verdict }) => verdict !== 'refuse'));
        expect(refusal).toBe(enforcing.length === 0 ? 'NO_POLICY' : undefined);
        for (const [index, { verdict }] of results.entries()) {
          expect(claims.some((claim) => claim.result === index)).toBe(verdict === 'claim');
        }
      }),
      { numRuns: 150 },
    );
  });
});
