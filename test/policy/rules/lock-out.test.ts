import { describe, expect, it } from 'vitest';
import type { RefusalsClaim } from '../../../src/claims/refusals.ts';
import {
  A,
  B,
  NOON,
  evaluateAt,
  faultsOf,
  judged,
  onePolicy,
  outputs,
  payment,
  pricesOf,
  release,
  ruleFaults,
  transfer,
  web3,
} from '../callbacks.ts';

const RULE = 'lock-out: { per: [userId], after: 3, within: 1h, for: 24h }';
type Judged = Parameters<typeof judged>;

function claimsOf(...args: Judged): readonly RefusalsClaim[] {
  const { claims } = judged(...args);
  expect(claims.length).toBeGreaterThan(0);
  return claims.filter((claim) => claim.type === 'refusals');
}

const keyOf = (rule: string): string | undefined => claimsOf(rule, payment())[0]?.key;

/** What policies say of a payment of 100 USDT1742. */
const said = (yaml: string, facts = {}) => evaluateAt(release(yaml), payment(), NOON, facts);
const policy = (name: string, ...rules: readonly string[]): string =>
  `policy: ${name}\ncallback: payment\nrules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`;

describe('lock-out', () => {
  it('claims that the user is not locked out', () => {
    const { result, claims } = judged(RULE, payment());
    expect(result).toMatchObject({
      verdict: 'claim',
      because: 'fewer than 3 refusals for userId 12345 within 1h',
      values: { userId: '12345', after: '3', within: '1h', for: '24h' },
    });
    expect(claims).toMatchObject([
      {
        type: 'refusals',
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        after: 3,
        withinMs: 3_600_000,
        forMs: 86_400_000,
        policy: 'one',
        whose: 'userId 12345',
        retryable: true,
      },
    ]);
  });

  it('lasts until somebody lifts it, if it says so', () => {
    const rule = 'lock-out: { after: 3, within: 1h, for: until-lifted }';
    expect(claimsOf(rule, payment())).toMatchObject([{ forMs: 0, whose: 'source shop' }]);
  });

  it('claims for each address of a withdrawal', () => {
    const callback = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
    const claims = claimsOf('lock-out: { per: [to, symbol], after: 3, within: 1h, for: 1h }', callback);
    const [a, b] = [A.toLowerCase(), B.toLowerCase()];
    expect(claims.map(({ whose }) => whose).sort()).toEqual(
      [`symbol ETH, to ${a}`, `symbol ETH, to ${b}`].sort(),
    );
    expect(new Set(claims.map(({ key }) => key)).size).toBe(2);
  });

  it.each([
    ['after', 'lock-out: { per: [userId], after: 9, within: 1h, for: 24h }'],
    ['within', 'lock-out: { per: [userId], after: 3, within: 7d, for: 24h }'],
    ['for', 'lock-out: { per: [userId], after: 3, within: 1h, for: until-lifted }'],
  ])('keeps counts and lock-outs with another %s', (_name, rule) => {
    expect(keyOf(rule)).toBe(keyOf(RULE));
  });

  it('counts apart where it only observes, and with other members', () => {
    expect(keyOf(`${RULE}\n    mode: observe`)).not.toBe(keyOf(RULE));
    expect(keyOf('lock-out: { after: 3, within: 1h, for: 24h }')).not.toBe(keyOf(RULE));
  });

  it('refuses a callback that lacks a member', () => {
    const rule = 'lock-out: { per: [interactive_contract], after: 3, within: 1h, for: 24h }';
    expect(judged(rule, web3({ interactive_contract: '' })).result).toMatchObject({
      verdict: 'refuse',
      because: 'interactive_contract is missing, by which this rule counts',
    });
  });

  it.each([
    ['{ after: 0, within: 1h, for: 1h }', 'write a whole number'],
    ['{ after: 101, within: 1h, for: 1h }', 'write a whole number from 1 to 100'],
    ['{ after: 3, within: day, for: 1h }', 'write a duration'],
    ['{ after: 3, within: 93d, for: 1h }', 'write a duration'],
    ['{ after: 3, within: 1h, for: ever }', 'or until-lifted'],
    ['{ after: 3, within: 1h, for: 93d }', 'or until-lifted'],
    ['{ after: 3, within: 1h }', 'for'],
    ['{ per: [nobody], after: 3, within: 1h, for: 1h }', 'has no member "nobody"'],
  ])('%s is a fault', (parameters, fault) => {
    expect(ruleFaults(`lock-out: ${parameters}`).join('\n')).toContain(fault);
  });

  it('can not stand twice in a policy with one count', () => {
    const twice = `${onePolicy(RULE)}  - ${RULE.replace('3', '4')}\n`;
    expect(faultsOf(twice).join()).toContain('would count under the same counter as rule 1');
  });
});

describe('a policy with a lock-out', () => {
  it('does not cover a callback by it alone', () => {
    expect(said(policy('alone', RULE))).toMatchObject({ approves: false, refusal: 'NO_POLICY' });
    expect(said(policy('both', RULE, 'amount-limit: { max: 100 }'))).toMatchObject({ approves: true });
    const two = `${policy('alone', RULE)}---\n${policy('other', 'amount-limit: { max: 100 }')}`;
    expect(said(two)).toMatchObject({ approves: true });
  });

  it('does not cover a callback by alternatives of which one is a lock-out', () => {
    const any = `any: [{ deny-list: { of: userId, list: a } }, { ${RULE} }]`;
    expect(said(policy('alone', any))).toMatchObject({ approves: false, refusal: 'NO_POLICY' });
    const all = `any: [{ all: [{ ${RULE} }, { amount-limit: { max: 100 } }] }]`;
    expect(said(policy('covering', all))).toMatchObject({ approves: true });
    const only = `all: [{ ${RULE} }]`;
    expect(said(policy('alone', only))).toMatchObject({ approves: false, refusal: 'NO_POLICY' });
  });
});

describe('a refusal', () => {
  const LITTLE = 'amount-limit: { max: 1 }';
  const PRICED = 'value-limit: { max: 1, maxAge: 1h }';
  const ASK = 'ask: { service: risk }';
  const WORTH = 'when: { value: { above: 10, maxAge: 1h } }';
  const prices = { prices: pricesOf({ USDT1742: '1' }) };

  it.each([
    ['without a price', [PRICED], {}, true],
    ['above a value', [PRICED], prices, undefined],
    ['above an amount and without a price', [PRICED, LITTLE], {}, undefined],
    ['without the answer of a service', [ASK], {}, true],
    ['by alternatives, of which one has no answer', [`any: [{ ${LITTLE} }, { ${ASK} }]`], {}, true],
    ['by a rule that applies for want of a price', [`{ ${LITTLE}, ${WORTH} }`], {}, true],
    ['by a rule that applies for want of a price twice', [`{ any: [{ ${LITTLE} }], ${WORTH} }`], {}, true],
    [
      'by a rule in a group that applies for want of a price',
      [`{ all: [{ ${LITTLE} }], ${WORTH} }`],
      {},
      true,
    ],
    ['by a rule that applies for certain', [`{ ${LITTLE}, ${WORTH} }`], prices, undefined],
    [
      'by a rule that applies for want of a scheme',
      [`{ ${LITTLE}, when: { scheme: rsa, value: { above: 10, maxAge: 1h } } }`],
      prices,
      undefined,
    ],
    ['by alternatives for their own reasons', [`any: [{ ${LITTLE} }, { ${PRICED} }]`], prices, undefined],
  ])('%s is by a failure, or not', (_name, rules, facts, failed) => {
    const proposal = said(policy('one', ...rules), facts);
    expect(proposal.approves).toBe(false);
    expect(proposal.failed).toBe(failed);
  });

  it('that the store may decide says which choice has an alternative that failed', () => {
    const counts = 'velocity-limit: { window: 1m, max: 1 }';
    const choices = (other: string) => said(policy('one', `any: [{ ${other} }, { ${counts} }]`)).choices;
    expect(choices(ASK)).toMatchObject([{ failed: true }]);
    expect(choices(LITTLE)?.[0]?.failed).toBeUndefined();
  });

  it('by a claim of a rule that applies for want of a price is by a failure', () => {
    const counts = `{ velocity-limit: { window: 1m, max: 1 }, ${WORTH} }`;
    expect(said(policy('one', counts)).claims).toMatchObject([{ failed: true }]);
    expect(said(policy('one', counts), prices).claims[0]).not.toHaveProperty('failed');
    const within = `any: [{ all: [{ ${LITTLE.replace('1', '100')} }, ${counts}] }]`;
    const { claims, choices } = said(policy('one', within));
    expect(claims).toMatchObject([{ failed: true, decides: false }]);
    expect(choices?.[0]?.failed).toBeUndefined();
    expect(said(`${policy('one', 'velocity-limit: { window: 1m, max: 1 }')}${WORTH}\n`).claims).toMatchObject(
      [{ failed: true }],
    );
  });
});
