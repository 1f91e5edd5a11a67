import { describe, expect, it } from 'vitest';
import { evaluate, pluginQuestionsOf } from '../../src/policy/evaluate.ts';
import { type PluginAnswer, factsAt } from '../../src/policy/facts.ts';
import { releaseWarnings } from '../../src/release/check.ts';
import type { Proposal, RuleResult } from '../../src/policy/proposal.ts';
import {
  DAI,
  MAX,
  ME,
  NFT,
  OTHER,
  PARTNER,
  ROUTER,
  THIEF,
  type Transaction,
  USDT,
  WETH,
  approveFor,
  call,
  callbackOf,
  multicall,
  transferTo,
} from './calls/transactions.ts';
import { type MoreFacts, NOON, evaluateAt, faultsOf, pricesOf, release } from './callbacks.ts';

const ASSETS = `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
  DAI: { chain: evm, decimals: 18, contracts: { ETH: '${DAI}' } }
`;

/** A router that makes several calls, a wallet for NFTs, and a token that the asset table does not have. */
const CALLS = `{
      multicall: { depth: 1, calls: 8 },
      plain: { max: 1000 },
      calls: [
          { contract: '${ROUTER}', method: ['aggregate((address,bytes)[])', 'deposit()'], value: { max: 100 } },
          { contract: ['${USDT}', '${DAI}', '${WETH}'], method: 'transfer(address,uint256)', decimals: 6, where: { to: any, amount: any }, unlimited: allowed },
          { contract: ['${USDT}', '${DAI}'], method: 'approve(address,uint256)', decimals: 6, where: { spender: any, amount: any }, unlimited: allowed },
          { contract: '${NFT}', method: 'transferFrom(address,address,uint256)', where: { from: any, to: any, tokenId: any } }
        ] }`;

interface Options {
  readonly when?: string;
  readonly facts?: MoreFacts;
}

function policyOf(rule: string, { when = '{ main_chain_symbol: ETH }' }: Options = {}) {
  return `policy: one
callback: web3
when: ${when}
movements: { approvals: count }
rules:
  - ${rule}
  - contract-calls: ${CALLS}
`;
}

function evaluated(rule: string, transaction: Transaction, options: Options = {}): Proposal {
  const policies = release(policyOf(rule, options), { 'blocked.txt': `${THIEF}\n` }, ASSETS);
  return evaluateAt(policies, callbackOf(transaction), NOON, options.facts);
}

function judged(rule: string, transaction: Transaction, options: Options = {}): RuleResult {
  const [result] = evaluated(rule, transaction, options).results;
  if (result === undefined) throw new Error('the policy did not apply');
  return result;
}

const faults = (rule: string, options: Options = {}): string =>
  faultsOf(policyOf(rule, options), { 'blocked.txt': THIEF }, ASSETS).join('\n');

const UNIT = 1_000_000n;
const ETHER = 10n ** 18n;
const usdt = (amount: bigint, to = PARTNER): Transaction => ({
  contract: USDT,
  data: transferTo(to, amount),
});
const several = (...calls: readonly (readonly [contract: string, data: string])[]): string =>
  call('aggregate((address,bytes)[])', calls);
/** 5 USDT and 2 DAI to the partner, 1 USDT to another, and 3 ether to the router. */
const batch: Transaction = {
  contract: ROUTER,
  amount: '3',
  data: several(
    [USDT, transferTo(PARTNER, 5n * UNIT)],
    [DAI, transferTo(PARTNER, 2n * ETHER)],
    [USDT, transferTo(OTHER, UNIT)],
  ),
};
const nothing: Transaction = { contract: ROUTER, data: '0xd0e30db0' };
const approval = (amount: bigint, who = ROUTER): Transaction => ({
  contract: USDT,
  data: approveFor(who, amount),
});
const nft: Transaction = {
  contract: NFT,
  data: call('transferFrom(address,address,uint256)', ME, PARTNER, 7n),
};
const unknownToken: Transaction = { contract: WETH, data: transferTo(PARTNER, 1n) };
const unreadable: Transaction = { contract: USDT, data: '0x12345678' };
const prices = { facts: { prices: pricesOf({ ETH: '3000', USDT: '1', DAI: '0.5' }) } };

const EACH_RULE = [
  'amount-limit: { by: asset, max: { USDT: 1000, DAI: 1000, ETH: 10 } }',
  'window-limit: { by: asset, window: 24h, max: { USDT: 1000, DAI: 1000, ETH: 10 } }',
  'first-use-limit: { of: to, by: asset, max: { USDT: 1000, DAI: 1000, ETH: 10 } }',
  'value-limit: { max: 100000, maxAge: 10m }',
  'value-limit: { max: 100000, maxAge: 10m, window: 1h }',
] as const;
const ADDRESS_RULES = [
  `allow-list: { of: to, values: ['${PARTNER}', '${OTHER}', '${ROUTER}'] }`,
  'deny-list: { of: to, file: blocked.txt }',
  `allow-list: { of: to, values: ['${PARTNER}', '${OTHER}', '${ROUTER}'] }`,
  'cooling-period: { of: to, list: partners, for: 1h }',
  'address: {}',
  'velocity-limit: { per: [to], window: 1h, max: 5 }',
  `expression: { require: "movements.all(m, m.to != '${THIEF}')" }`,
] as const;

describe('every rule about amounts or addresses', () => {
  it.each([...EACH_RULE, ...ADDRESS_RULES])('passes what it can judge: %s', (rule) => {
    expect(judged(rule, batch, prices).verdict).not.toBe('refuse');
    expect(judged(rule, usdt(5n), prices).verdict).not.toBe('refuse');
    expect(judged(rule, approval(5n), prices).verdict).not.toBe('refuse');
  });

  it.each([...EACH_RULE, ...ADDRESS_RULES])('refuses what can’t be read: %s', (rule) => {
    const result = judged(rule, unreadable, prices);
    expect(result.verdict).toBe('refuse');
    expect(result.because).toContain('what it moves is not known');
    expect(result.because).toContain('no method 0x12345678 of USDT');
  });

  it.each(EACH_RULE)('refuses an asset that is not in the table: %s', (rule) => {
    for (const transaction of [nft, unknownToken]) {
      const result = judged(rule, transaction, prices);
      expect(result).toMatchObject({ verdict: 'refuse', values: { contract: transaction.contract } });
      expect(result.because).toContain('which no asset of the asset table has under contracts');
    }
  });

  it.each(ADDRESS_RULES)('judges the recipient of such an asset: %s', (rule) => {
    for (const transaction of [nft, unknownToken]) {
      expect(judged(rule, transaction).verdict).not.toBe('refuse');
    }
  });

  it.each(EACH_RULE)('refuses an unlimited approval: %s', (rule) => {
    const result = judged(rule, approval(MAX), prices);
    expect(result).toMatchObject({ verdict: 'refuse', because: 'the amount is unlimited' });
  });
});

describe('amount-limit', () => {
  const limit = (max: string): string => `amount-limit: { by: asset, max: { ${max} } }`;

  it('sums each asset over the transaction', () => {
    expect(judged(limit('USDT: 6, DAI: 2, ETH: 3'), batch)).toMatchObject({
      verdict: 'pass',
      because:
        'the amount 6 USDT is within the limit; the amount 2 DAI is within the limit; ' +
        'the amount 3 ETH is within the limit',
      values: { amount: '6 2 3', symbol: 'USDT DAI ETH', max: '6 2 3' },
    });
    expect(judged(limit('USDT: 5.999999, DAI: 2, ETH: 3'), batch)).toMatchObject({
      verdict: 'refuse',
      because: 'the amount 6 USDT is above the maximum 5.999999',
      values: { amount: '6', symbol: 'USDT', max: '5.999999' },
    });
    expect(judged(limit('USDT: 6, DAI: 2, ETH: 2.9'), batch).because).toBe(
      'the amount 3 ETH is above the maximum 2.9',
    );
    expect(judged(limit('USDT: 6, DAI: 2'), batch).because).toBe('ETH is not in the table');
  });

  it('needs no native coin for a transaction that sends none', () => {
    expect(judged(limit('USDT: 6'), usdt(6n * UNIT)).verdict).toBe('pass');
    expect(judged(limit('USDT: 6'), usdt(6n * UNIT + 1n)).verdict).toBe('refuse');
  });

  it('counts an approval like a transfer, and can judge approvals alone', () => {
    expect(judged(limit('USDT: 6'), approval(7n * UNIT)).because).toBe(
      'the amount 7 USDT is above the maximum 6',
    );
    const only = 'amount-limit: { by: asset, approvals: only, max: { USDT: 6 } }';
    expect(judged(only, approval(6n * UNIT)).verdict).toBe('pass');
    expect(judged(only, approval(7n * UNIT)).verdict).toBe('refuse');
    expect(judged(only, approval(MAX)).because).toBe('the amount is unlimited');
    expect(judged(only, usdt(7n * UNIT))).toMatchObject({
      verdict: 'pass',
      because: 'it approves no amount',
    });
  });

  it('passes a transaction that moves nothing, unless it has a minimum', () => {
    expect(judged(limit('USDT: 6'), nothing)).toMatchObject({
      verdict: 'pass',
      because: 'it moves no amount',
    });
    expect(judged('amount-limit: { by: asset, min: 1, max: { USDT: 6 } }', nothing).verdict).toBe('refuse');
  });

  it('needs a table', () => {
    expect(faults('amount-limit: { max: 6 }')).toContain(
      'one amount would be for several assets; write by: asset',
    );
  });
});

describe.each([
  'window-limit: { by: asset, window: 24h, max: { USDT: 1000 }, across: group }',
  'value-limit: { window: 24h, max: 10, maxAge: 10m, across: group }',
  'velocity-limit: { per: [symbol], window: 24h, max: 10, across: group }',
])('a transaction that moves nothing: %s', (rule) => {
  it('is refused of a source without a group, like any other', () => {
    expect(judged(rule, nothing)).toMatchObject({
      verdict: 'refuse',
      because: 'the source vault has no group in the settings, across which this rule counts',
    });
  });

  it('passes of a source that has one', () => {
    expect(judged(rule, nothing, { facts: { group: 'vaults' } }).verdict).not.toBe('refuse');
  });
});

describe('window-limit', () => {
  const limit = 'window-limit: { by: asset, window: 24h, max: { USDT: 1000, DAI: 1000, ETH: 10 } }';

  it('claims room for each asset', () => {
    const { claims, results } = evaluated(limit, batch);
    const windows = claims.filter((claim) => claim.type === 'window');
    expect(windows.map(({ amount, max }) => [amount / 10n ** 36n, max / 10n ** 36n])).toEqual([
      [6n, 1000n],
      [2n, 1000n],
      [3n, 10n],
    ]);
    expect(new Set(windows.map(({ key }) => key)).size).toBe(3);
    expect(results[0]?.values).toMatchObject({ asked: '6 2 3', symbol: 'USDT DAI ETH' });
  });

  it('has one count for an asset, whatever else the transaction moves', () => {
    const keyIn = (transaction: Transaction) => {
      const [claim] = evaluated(limit, transaction).claims;
      return claim?.type === 'window' ? claim.key : undefined;
    };
    expect(keyIn(usdt(1n))).toBe(keyIn(batch));
    expect(keyIn(approval(1n))).toBe(keyIn(batch));
  });

  it('counts for each recipient its own amounts', () => {
    const rule = limit.replace('by: asset', 'by: asset, per: [to]');
    const { claims, results } = evaluated(rule, batch);
    const windows = claims.filter((claim) => claim.type === 'window');
    expect(windows.map(({ amount }) => amount / 10n ** 36n)).toEqual([5n, 1n, 2n, 3n]);
    expect(new Set(windows.map(({ key }) => key)).size).toBe(4);
    expect(results[0]?.values['to']).toBe([PARTNER, OTHER, PARTNER, ROUTER].join(' '));
  });

  it('is another count than without movements', () => {
    const keysOf = (yaml: string): readonly string[] =>
      evaluateAt(release(yaml, {}, ASSETS), callbackOf({ ...usdt(1n), amount: '1' }), NOON).claims.flatMap(
        (claim) => (claim.type === 'window' ? [claim.key] : []),
      );
    const counted = keysOf(policyOf(limit));
    const without = keysOf(policyOf(limit).replace(/movements: .*\n/, ''));
    expect(counted).toHaveLength(2);
    expect(new Set([...counted, ...without]).size).toBe(3);
  });

  it('needs the asset in its key', () => {
    expect(faults('window-limit: { window: 24h, max: 6 }')).toContain(
      'it would sum amounts of different coins',
    );
    expect(faults('window-limit: { window: 24h, max: 6, per: [symbol] }')).toBe('');
  });
});

describe('value-limit', () => {
  it('sums the values of all movements', () => {
    const result = judged('value-limit: { max: 9007, maxAge: 10m }', batch, prices);
    expect(result).toMatchObject({
      verdict: 'pass',
      values: { asset: 'USDT DAI ETH', amount: '6 2 3', value: '9007', price: '1 0.5 3000' },
    });
    expect(judged('value-limit: { max: 9006.99, maxAge: 10m }', batch, prices).verdict).toBe('refuse');
  });

  it('sums them in one count, and for each recipient', () => {
    const amounts = (rule: string): readonly bigint[] =>
      evaluated(rule, batch, prices).claims.flatMap((claim) =>
        claim.type === 'window' ? [claim.amount / 10n ** 36n] : [],
      );
    expect(amounts('value-limit: { max: 100000, maxAge: 10m, window: 1h }')).toEqual([9007n]);
    expect(amounts('value-limit: { max: 100000, maxAge: 10m, window: 1h, per: [to] }')).toEqual([
      6n,
      1n,
      9000n,
    ]);
    expect(amounts('value-limit: { max: 100000, maxAge: 10m, window: 1h, per: [symbol] }')).toEqual([
      6n,
      1n,
      9000n,
    ]);
  });

  it('needs a price for each asset that is moved, and for no other', () => {
    const facts = { prices: pricesOf({ USDT: '1', DAI: '0.5' }) };
    expect(judged('value-limit: { max: 9, maxAge: 10m }', batch, { facts }).because).toContain(
      'no price for ETH',
    );
    expect(judged('value-limit: { max: 9, maxAge: 10m }', usdt(UNIT), { facts }).verdict).toBe('pass');
  });
});

describe('velocity-limit', () => {
  const claimsOf = (rule: string): number => evaluated(rule, batch).claims.length;

  it('counts the transaction once, or once for each recipient or asset', () => {
    expect(claimsOf('velocity-limit: { window: 1h, max: 5 }')).toBe(1);
    expect(claimsOf('velocity-limit: { window: 1h, max: 5, per: [to] }')).toBe(3);
    expect(claimsOf('velocity-limit: { window: 1h, max: 5, per: [symbol] }')).toBe(3);
    expect(claimsOf('velocity-limit: { window: 1h, max: 5, per: [to, symbol] }')).toBe(4);
    expect(judged('velocity-limit: { window: 1h, max: 5 }', unreadable).verdict).toBe('claim');
  });
});

describe('first-use-limit', () => {
  it('judges each recipient by its own amount of each asset', () => {
    const { claims } = evaluated(
      'first-use-limit: { of: to, by: asset, max: { USDT: 3, DAI: 3, ETH: 1 } }',
      batch,
    );
    const marks = claims.filter((claim) => claim.type === 'mark');
    expect(marks.map(({ exempt }) => exempt)).toEqual([false, true, true, false]);
    expect(new Set(marks.map(({ key }) => key)).size).toBe(4);
    expect(faults('first-use-limit: { of: to, max: 6 }')).toContain('one amount would be for several assets');
  });
});

describe('expected-order', () => {
  it('is for the callback as it is, also if its movements are not known', () => {
    expect(judged('expected-order: {}', unreadable).verdict).toBe('claim');
    const [claim] = evaluated('expected-order: {}', batch).claims;
    expect(claim).toMatchObject({ type: 'order', members: { to: ROUTER, amount: '3', symbol: 'ETH' } });
  });
});

describe('distinct-limit', () => {
  it('counts every recipient and spender', () => {
    const [claim] = evaluated('distinct-limit: { of: to, window: 24h, max: 5 }', batch).claims;
    expect(claim?.type === 'distinct' && claim.values.length).toBe(3);
    expect(judged('distinct-limit: { of: to, window: 24h, max: 5 }', unreadable).verdict).toBe('refuse');
    expect(faults('distinct-limit: { of: to, per: [symbol], window: 24h, max: 5 }')).toContain(
      'write of: [to, symbol]',
    );
  });
});

describe('lists', () => {
  it('see every recipient and spender', () => {
    const allow = `allow-list: { of: to, values: ['${PARTNER}', '${ROUTER}'] }`;
    expect(judged(allow, batch)).toMatchObject({ verdict: 'refuse', values: { values: OTHER } });
    expect(judged(allow, approval(1n, THIEF))).toMatchObject({
      verdict: 'refuse',
      values: { values: THIEF },
    });
    expect(judged(allow, approval(0n, THIEF)).verdict).toBe('refuse');
    const deny = 'deny-list: { of: to, file: blocked.txt }';
    expect(judged(deny, usdt(0n, THIEF))).toMatchObject({ verdict: 'refuse', values: { values: THIEF } });
    expect(judged(deny, batch).verdict).toBe('pass');
  });

  it('see the contract of a call that is known to move nothing else', () => {
    expect(judged(`allow-list: { of: to, values: ['${PARTNER}'] }`, nothing)).toMatchObject({
      verdict: 'refuse',
    });
    expect(judged(`allow-list: { of: to, values: ['${ROUTER}'] }`, nothing).verdict).toBe('pass');
  });

  it('bind an asset to its recipient', () => {
    const pairs = (...entries: readonly string[]): string =>
      `allow-list: { of: [to, symbol], values: [${entries.map((each) => `'${each}'`).join(', ')}] }`;
    const needed = [`${PARTNER} USDT`, `${PARTNER} DAI`, `${OTHER} USDT`, `${ROUTER} ETH`];
    expect(judged(pairs(...needed), batch).verdict).toBe('pass');
    for (const left of needed) {
      const others = needed.filter((each) => each !== left);
      expect(judged(pairs(...others), batch)).toMatchObject({ verdict: 'refuse', values: { values: left } });
    }
    expect(judged(pairs(`${PARTNER} USDT`), unknownToken).because).toContain(
      'which no asset of the asset table has',
    );
  });

  it('look up all of them in the store', () => {
    const [claim] = evaluated('allow-list: { of: to, list: partners }', batch).claims;
    expect(claim).toMatchObject({ type: 'list', values: [PARTNER, OTHER, ROUTER] });
  });

  it.each(['amount', 'main_chain_symbol'])('have no member %s', (member) => {
    expect(faults(`allow-list: { of: ${member}, values: ['1'] }`)).toContain(
      `the policy has movements, so ${member} is not one value`,
    );
  });
});

describe('an expression', () => {
  const holds = (require: string, transaction: Transaction = batch): boolean =>
    judged(`expression: { require: "${require}" }`, transaction).verdict === 'pass';

  it('loops over the movements', () => {
    expect(holds('size(movements) == 4')).toBe(true);
    expect(holds("movements.all(m, m.symbol in ['USDT', 'DAI', 'ETH'])")).toBe(true);
    expect(holds("movements.exists(m, m.symbol == 'DAI' && m.amount == 2)")).toBe(true);
    expect(holds("sum(movements.filter(m, m.symbol == 'USDT').map(m, m.amount)) <= 6")).toBe(true);
    expect(holds("sum(movements.filter(m, m.symbol == 'USDT').map(m, m.amount)) < 6")).toBe(false);
    expect(holds("movements.all(m, m.type != 'approval')", approval(1n))).toBe(false);
    expect(holds(`movements[0].to == '${PARTNER.toUpperCase().replace('X', 'x')}'`)).toBe(true);
    expect(holds("main_chain_symbol == 'ETH'")).toBe(true);
  });

  it('has no value for what is unlimited or unknown', () => {
    expect(holds('movements.all(m, m.amount >= 0)', approval(MAX))).toBe(false);
    expect(holds('movements.all(m, !(m.amount >= 0))', approval(MAX))).toBe(false);
    expect(holds('movements.all(m, m.unlimited)', approval(MAX))).toBe(true);
    expect(holds('movements.all(m, m.amount >= 0)', nft)).toBe(false);
    expect(holds("movements.all(m, m.symbol != 'USDT')", nft)).toBe(false);
    expect(holds("movements.all(m, m.symbol != 'USDT')", unreadable)).toBe(false);
    expect(holds('size(movements) >= 0', unreadable)).toBe(false);
    expect(holds(`to == '${PARTNER}'`)).toBe(false);
    expect(holds(`to == '${PARTNER}'`, usdt(1n))).toBe(true);
  });

  it.each([
    'amount <= 5',
    "symbol == 'ETH'",
    '!unlimited',
    "movements.all(m, m.type == 'aproval')",
    'movements.all(m, m.too == 1)',
  ])('does not know %s', (require) => {
    expect(faults(`expression: { require: "${require}" }`)).not.toBe('');
  });
});

describe('conditions under when', () => {
  const pass = (when: string): string => `pass: { because: fine }\n    when: ${when}`;
  const applies = (when: string, transaction: Transaction): readonly string[] =>
    evaluated(pass(when), transaction, prices)
      .results.filter(({ rule }) => rule === 'pass#1')
      .map(({ verdict }) => verdict);

  it('see the value of all movements', () => {
    expect(applies('{ value: { above: 9006, maxAge: 10m } }', batch)).toEqual(['pass']);
    expect(applies('{ value: { above: 9007, maxAge: 10m } }', batch)).toEqual([]);
    expect(applies('{ value: { above: 9007, maxAge: 10m } }', approval(MAX))).toEqual(['pass']);
    expect(applies('{ value: { above: 0, maxAge: 10m } }', nothing)).toEqual([]);
  });

  it('count what is unknown against approval', () => {
    for (const transaction of [nft, unreadable]) {
      const { results } = evaluated(
        `all: [{ pass: { because: fine } }]\n    when: { value: { above: 1, maxAge: 10m } }`,
        transaction,
        prices,
      );
      expect(results[0]).toMatchObject({ rule: 'all#1', mode: 'observe' });
      expect(results[0]?.because).toContain('whether it applies is not known');
    }
  });

  it('see every recipient', () => {
    expect(applies(`{ to: '${PARTNER}' }`, usdt(1n))).toEqual(['pass']);
    expect(applies(`{ to: '${USDT}' }`, usdt(1n))).toEqual([]);
    expect(applies(`{ to: ['${PARTNER}', '${OTHER}', '${ROUTER}'] }`, batch)).toEqual(['pass']);
    const mixed = evaluated(pass(`{ to: '${PARTNER}' }`), batch);
    expect(mixed).toMatchObject({ approves: false });
    expect(mixed.results[0]?.because).toContain('some values of to, not all');
    expect(evaluated(pass(`{ to: '${PARTNER}' }`), unreadable).results[0]?.because).toContain(
      'what it moves is not known',
    );
  });

  it('have no amount, and the network as symbol', () => {
    expect(faults(pass('{ amount: { above: 1 } }'))).toContain(
      'their amounts are of several assets; write value',
    );
    expect(faults(pass('{ amount: 1 }'))).toContain('their amounts are of several assets');
    expect(applies('{ symbol: ETH }', usdt(1n))).toEqual(['pass']);
    expect(applies('{ symbol: USDT }', usdt(1n))).toEqual([]);
  });
});

describe('movements of a policy', () => {
  const bare = (rules: string, movements: string, kind = 'web3'): string =>
    faultsOf(`policy: one\ncallback: ${kind}\nmovements: ${movements}\nrules:\n${rules}`, {}, ASSETS).join(
      '\n',
    );
  const limit = '  - amount-limit: { by: asset, max: { USDT: 1 } }\n';

  it.each([
    [limit, '{ approvals: counted }', '"counted" is not valid; write count'],
    [limit, '{}', 'approvals is missing; write count'],
    [limit, 'count', 'write a mapping of approvals'],
    [limit, '{ aprovals: count }', 'did you mean approvals?'],
  ])('%s %s is a fault', (rules, movements, fault) => {
    expect(bare(rules, movements)).toContain(fault);
  });

  it('are for web3 alone', () => {
    expect(bare('  - amount-limit: { max: 1 }\n', '{ approvals: count }', 'transfer')).toContain(
      'leave movements out',
    );
    expect(
      faultsOf('policy: one\ncallback: web3\nrules:\n  - amount-limit: { max: 1, approvals: only }\n').join(),
    ).toContain('the policy sees no approvals, since it has no movements');
  });

  it('do not read what an observing rule, or a rule for another network, names', () => {
    const wrapped = { contract: ROUTER, data: multicall(transferTo(PARTNER, 1n)) };
    expect(judged(EACH_RULE[0], wrapped).verdict).toBe('refuse');
    const observed = policyOf(EACH_RULE[0]).replace(/(- contract-calls: [^]*)$/, '$1    mode: observe\n');
    const elsewhere = policyOf(EACH_RULE[0], { when: '{ main_chain_symbol: [ETH, BSC] }' }).replace(
      /(- contract-calls: [^]*)$/,
      '$1    when: { main_chain_symbol: BSC }\n',
    );
    for (const yaml of [observed, elsewhere]) {
      const [result] = evaluateAt(release(yaml, {}, ASSETS), callbackOf(nothing), NOON).results;
      expect(result?.because).toContain('name no method deposit() of');
    }
  });

  it('are those of one policy, not of the others', () => {
    const both = `${policyOf(EACH_RULE[0])}---\n${policyOf('amount-limit: { max: 1 }')
      .replace('policy: one', 'policy: two')
      .replace(/movements: .*\n/, '')}`;
    const { results } = evaluateAt(release(both, {}, ASSETS), callbackOf(usdt(2000n * UNIT)), NOON);
    expect(results.map(({ policy, verdict }) => `${policy} ${verdict}`)).toEqual([
      'one refuse',
      'one pass',
      'two pass',
      'two pass',
    ]);
  });
});

describe('a policy without movements', () => {
  const warnings = (...policies: readonly string[]): readonly string[] =>
    releaseWarnings(release(policies.join('---\n'), {}, ASSETS)).filter((each) =>
      each.includes('only native coins'),
    );
  const policy = (name: string, rules: string, when = '{ main_chain_symbol: ETH }'): string =>
    `policy: ${name}\ncallback: web3\nwhen: ${when}\nrules:\n${rules}`;
  const calls = `  - contract-calls: { plain: { max: 1 } }\n`;

  it.each([
    'amount-limit: { max: 5 }',
    'window-limit: { window: 24h, max: 5 }',
    'value-limit: { max: 5, maxAge: 10m }',
    'first-use-limit: { of: to, max: 5 }',
    `allow-list: { of: to, values: ['${PARTNER}'] }`,
    'velocity-limit: { per: [to], window: 1h, max: 5 }',
  ])('is warned of: %s', (rule) => {
    const found = warnings(policy('one', `  - ${rule}\n`));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^a.yaml:5:5: one\/[a-z-]+#1: it sees only native coins: .*; add movements:/);
  });

  it('is not, if its rules are about something else, or a rule lists what may be called', () => {
    expect(warnings(policy('one', '  - velocity-limit: { window: 1h, max: 5 }\n'))).toEqual([]);
    expect(warnings(policy('one', `  - amount-limit: { max: 5 }\n${calls}`))).toEqual([]);
    expect(warnings(policy('one', '  - amount-limit: { max: 5 }\n'), policy('two', calls))).toEqual([]);
    expect(warnings(policyOf(EACH_RULE[0]))).toEqual([]);
    expect(warnings('policy: one\ncallback: transfer\nrules:\n  - amount-limit: { max: 5 }\n')).toEqual([]);
  });

  it('is, if that rule decides nothing, or not always', () => {
    const limit = policy('one', '  - amount-limit: { max: 5 }\n');
    for (const more of [
      policy('two', `${calls}    mode: observe\n`),
      policy('two', `${calls}    when: { from: '${PARTNER}' }\n`),
      policy('two', calls, "{ main_chain_symbol: ETH, source: 'vault' }"),
    ]) {
      expect(warnings(limit, more)).toHaveLength(1);
    }
  });
});

describe('the answer of a plugin', () => {
  it('is about the movements that were asked about, and not about those of another asset table', () => {
    const policies = (decimals: number) =>
      release(policyOf('ask: { service: risk }'), {}, ASSETS.replace('decimals: 6', `decimals: ${decimals}`));
    const callback = callbackOf(usdt(5n * UNIT));
    const [asked, corrected] = [policies(6), policies(2)];
    const yes: PluginAnswer = { verdict: 'yes', because: '' };
    const answers = new Map([...pluginQuestionsOf(asked, callback).keys()].map((key) => [key, yes]));
    const facts = factsAt(NOON, { answers });
    expect(evaluate(asked, callback, facts).results[0]?.verdict).toBe('pass');
    expect(evaluate(corrected, callback, facts).results[0]).toMatchObject({
      verdict: 'refuse',
      because: 'service risk was not asked',
    });
  });
});
