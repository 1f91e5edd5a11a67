import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Proposal } from '../../src/policy/proposal.ts';
import { NOON, evaluateAt, release, web3 } from './callbacks.ts';
import { OTHER, PARTNER, ROUTER, THIEF, USDT, call, callbackOf, transferTo } from './calls/transactions.ts';

/*
 * In a policy with movements, an entry of contract-calls says that its call is known, so that limits pass a call
 * of which nothing counts. Only a rule that has judged the call may say so.
 */

const ASSETS = `assets:
  ETH: { chain: evm, decimals: 18 }
  BSC: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
`;
const VAULT = ROUTER;
const FILES = {
  'vault.abi': 'withdrawAll(address to)\nrun(address target, bytes data)\n',
};

const callsTo = (...recipients: readonly string[]): string =>
  `contract-calls: { abis: [vault.abi], plain: { max: 10 }, calls: [{ contract: '${VAULT}', method: withdrawAll(address), where: { to: { values: [${recipients.map((each) => `'${each}'`).join(', ')}] } } }] }`;
const CALLS = callsTo(PARTNER);
const CALLS_TO_OTHER = callsTo(OTHER);
const LIMIT = 'amount-limit: { by: asset, max: { ETH: 5, USDT: 5 } }';
const DAY = 'when: { during: { zone: UTC, hours: 09:00-17:00 } }';
const EVENING = 'when: { during: { zone: UTC, hours: 17:00-09:00 } }';
const NIGHT = NOON + 11 * 3_600_000;

const any = (...entries: readonly string[]): string => group('any', entries);
const all = (...entries: readonly string[]): string => group('all', entries);
const group = (name: string, entries: readonly string[]): string =>
  `${name}: [${entries.map((each) => `{ ${each} }`).join(', ')}]`;

const policyOf = (rules: readonly string[], networks = 'ETH'): string => `policy: one
callback: web3
when: { main_chain_symbol: ${networks} }
movements: { approvals: count }
rules:
  - window-limit: { by: asset, window: 24h, max: { USDT: 1000, ETH: 10 } }
${rules.map((rule) => `  - { ${rule} }\n`).join('')}`;

const withdrawAll = (to: string) => callbackOf({ contract: VAULT, data: call('withdrawAll(address)', to) });

function decided(rules: readonly string[], to: string, nowMs = NOON): Proposal {
  return evaluateAt(release(policyOf(rules), FILES, ASSETS), withdrawAll(to), nowMs);
}

describe('a call is read for movements', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['of a rule of the policy', [CALLS], [PARTNER]],
    ['of a rule in all', [all(LIMIT, CALLS)], [PARTNER]],
    ['of a rule in all in all', [all(LIMIT, all(CALLS, LIMIT))], [PARTNER]],
    ['of every alternative', [any(CALLS, CALLS_TO_OTHER)], [PARTNER, OTHER]],
    ['of the only alternative', [any(CALLS)], [PARTNER]],
    ['of alternatives that are all', [any(all(LIMIT, CALLS), CALLS_TO_OTHER)], [PARTNER, OTHER]],
    ['of alternatives that are any', [any(any(CALLS_TO_OTHER, CALLS), CALLS)], [PARTNER, OTHER]],
    ['of any in all', [all(LIMIT, any(CALLS, CALLS_TO_OTHER))], [PARTNER, OTHER]],
    ['of a rule beside another that judges at times', [CALLS, `${CALLS}, ${DAY}`], [PARTNER]],
    // An alternative is taken only if its conditions are met.
    ['of alternatives for different hours', [any(`${CALLS}, ${DAY}`, `${CALLS}, ${EVENING}`)], [PARTNER]],
    ['of all as an alternative by day', [any(`${all(CALLS, LIMIT)}, ${DAY}`, CALLS)], [PARTNER]],
    ['of a rule for its own networks', [`${CALLS}, when: { main_chain_symbol: ETH }`], [PARTNER]],
    ['of a group for its own networks', [`${all(CALLS)}, when: { main_chain_symbol: ETH }`], [PARTNER]],
    ['of a rule with empty conditions', [`${CALLS}, when: {}`], [PARTNER]],
  ])('%s', (_, rules, recipients) => {
    for (const to of recipients) {
      for (const nowMs of [NOON, NIGHT]) expect(decided(rules, to, nowMs).approves).toBe(true);
    }
    for (const nowMs of [NOON, NIGHT]) expect(decided(rules, THIEF, nowMs).approves).toBe(false);
  });
});

describe('a call is not read for movements', () => {
  const MEMBER = `when: { from: '${OTHER}' }`;

  it.each<[string, readonly string[]]>([
    ['of a rule that judges by day', [`${CALLS}, ${DAY}`]],
    ['of a rule that judges some senders', [`${CALLS}, ${MEMBER}`]],
    ['of a rule of some networks and senders', [`${CALLS}, when: { main_chain_symbol: ETH, source: other }`]],
    ['of a rule in all that judges by day', [`${all(LIMIT, CALLS)}, ${DAY}`]],
    ['of a rule with conditions in all', [all(LIMIT, `${CALLS}, ${DAY}`)]],
    ['of one of two alternatives', [any(CALLS, LIMIT)]],
    ['of the last alternative', [any(LIMIT, CALLS)]],
    ['of alternatives by day', [`${any(CALLS, CALLS)}, ${DAY}`]],
    ['of all with conditions within, as an alternative', [any(CALLS, all(LIMIT, `${CALLS}, ${DAY}`))]],
    ['of any within any', [any(CALLS, any(CALLS, LIMIT))]],
    ['of any within all', [all(LIMIT, any(LIMIT, CALLS))]],
  ])('%s', (_, rules) => {
    for (const to of [PARTNER, THIEF]) {
      for (const nowMs of [NOON, NIGHT]) {
        const { approves, results } = decided(rules, to, nowMs);
        expect(approves).toBe(false);
        expect(results[0]).toMatchObject({ rule: 'window-limit#1', verdict: 'refuse' });
        expect(results[0]?.because).toContain('name no method');
      }
    }
  });

  it('of a rule that observes', () => {
    for (const rule of [CALLS, any(CALLS, CALLS_TO_OTHER)]) {
      expect(decided([`${rule}, mode: observe`], PARTNER).approves).toBe(false);
    }
  });

  it('of a rule for another network', () => {
    const rules = [`${CALLS}, when: { main_chain_symbol: BSC }`];
    const policies = release(policyOf(rules, '[ETH, BSC]'), FILES, ASSETS);
    const onNetwork = (main_chain_symbol: string) =>
      web3({
        main_chain_symbol,
        to: VAULT,
        interactive_contract: VAULT,
        input_data: call('withdrawAll(address)', PARTNER),
      });
    expect(evaluateAt(policies, onNetwork('ETH'), NOON).approves).toBe(false);
    expect(evaluateAt(policies, onNetwork('BSC'), NOON).approves).toBe(true);
  });

  it('if two rules that judge it differ in the calls that it contains', () => {
    const run = (more: string): string =>
      `contract-calls: { abis: [vault.abi], multicall: { depth: 1, calls: 4 }, calls: [{ contract: '${VAULT}', method: 'run(address,bytes)', ${more} }, { contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: { to: any, amount: any } }] }`;
    const [opaque, wrapper] = [
      run(`where: { target: any, data: { values: '0x12' } }`),
      run('calls: { to: target, data: data }'),
    ];
    const transaction = callbackOf({
      contract: VAULT,
      data: call('run(address,bytes)', USDT, transferTo(PARTNER, 5000n * 1_000_000n)),
    });
    const limited = (rule: string): Proposal =>
      evaluateAt(release(policyOf([rule, LIMIT]), FILES, ASSETS), transaction, NOON);
    expect(limited(wrapper).results.at(-1)?.because).toBe('the amount 5000 USDT is above the maximum 5');
    for (const rule of [any(opaque, wrapper), any(wrapper, opaque)]) {
      const { approves, results } = limited(rule);
      expect(approves).toBe(false);
      expect(results[0]?.because).toContain('differ in the calls that run(address,bytes) contains');
    }
  });
});

it('a call is read if two rules only name its arguments differently', () => {
  const run = (file: string, names: string): string =>
    `contract-calls: { abis: [${file}], multicall: { depth: 1, calls: 4 }, calls: [{ contract: '${VAULT}', method: 'run(address,bytes)', calls: ${names} }, { contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: { to: any, amount: any } }] }`;
  const files = { ...FILES, 'other.abi': 'run(address account, bytes input)\n' };
  const rules = [
    any(run('vault.abi', '{ to: target, data: data }'), run('other.abi', '{ to: account, data: input }')),
    LIMIT,
  ];
  const policies = release(policyOf(rules), files, ASSETS);
  const approves = (units: bigint): boolean => {
    const data = call('run(address,bytes)', USDT, transferTo(PARTNER, units * 1_000_000n));
    return evaluateAt(policies, callbackOf({ contract: VAULT, data }), NOON).approves;
  };
  expect(approves(5n)).toBe(true);
  expect(approves(6n)).toBe(false);
});

it('no call is approved that every contract-calls rule refuses, whatever the rules around them', () => {
  const condition = fc.constantFrom(
    DAY,
    EVENING,
    'when: { main_chain_symbol: ETH }',
    'when: { source: vault }',
    'when: { source: other }',
    `when: { to: '${THIEF}' }`,
    'when: {}',
  );
  const withWhen = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc
      .tuple(text, fc.option(condition, { freq: 1, nil: undefined }))
      .map(([inner, when]) => (when === undefined ? inner : `${inner}, ${when}`));
  const { entry } = fc.letrec<{ entry: string }>((tie) => ({
    entry: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      withWhen(fc.constantFrom(CALLS, CALLS_TO_OTHER, CALLS, LIMIT, 'pass: { because: x }')),
      withWhen(
        fc
          .tuple(fc.constantFrom('any', 'all'), fc.array(tie('entry'), { minLength: 1, maxLength: 3 }))
          .map(([name, entries]) => group(name, entries)),
      ),
    ),
  }));
  let read = 0;
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 2 }), (rules) => {
      const policies = release(policyOf(rules), FILES, ASSETS);
      for (const nowMs of [NOON, NIGHT]) {
        expect(evaluateAt(policies, withdrawAll(THIEF), nowMs).approves).toBe(false);
        if (evaluateAt(policies, withdrawAll(PARTNER), nowMs).approves) read++;
      }
    }),
    { numRuns: 500 },
  );
  expect(read).toBeGreaterThan(20);
});
