import { describe, expect, it } from 'vitest';
import { policyJsonSchema } from '../../../tools/generate/policy-schemas.ts';
import { A, B, judged, outputs, payment, ruleFaults, transfer, web3 } from '../callbacks.ts';

const LEAST = `0.${'0'.repeat(35)}1`;
const GREATEST = `${'9'.repeat(36)}.${'9'.repeat(36)}`;

function verdict(rule: string, orderAmount: string): string {
  return judged(rule, payment({ orderAmount })).result.verdict;
}

describe('amount-limit', () => {
  it.each([
    ['{ max: 10000 }', '10000'],
    ['{ max: 10000 }', LEAST],
    ['{ min: 0.5 }', '0.5'],
    ['{ min: 0.5, max: 0.50 }', '0.5'],
    [`{ max: ${GREATEST} }`, GREATEST],
    [`{ min: ${LEAST} }`, LEAST],
    [`{ max: "10" }`, '10.000'],
  ])('%s lets %s pass', (parameters, amount) => {
    expect(verdict(`amount-limit: ${parameters}`, amount)).toBe('pass');
  });

  it.each([
    ['{ max: 10000 }', `10000.${'0'.repeat(35)}1`],
    ['{ max: 10000 }', '10001'],
    ['{ max: 9007199254740992 }', '9007199254740993'],
    ['{ min: 0.5 }', `0.4${'9'.repeat(35)}`],
    ['{ min: 1 }', LEAST],
    ['{ min: 1, max: 2 }', `2.${'0'.repeat(35)}1`],
    ['{ min: 1, max: 2 }', `0.${'9'.repeat(36)}`],
    [`{ max: ${GREATEST.slice(0, -1)}8 }`, GREATEST],
    ['{ max: 0 }', LEAST],
  ])('%s refuses %s', (parameters, amount) => {
    expect(verdict(`amount-limit: ${parameters}`, amount)).toBe('refuse');
  });

  it('says by how much it was missed', () => {
    const { result } = judged('amount-limit: { min: 1, max: 2 }', payment({ orderAmount: '2.50' }));
    expect(result).toEqual({
      policy: 'one',
      rule: 'amount-limit#1',
      mode: 'enforce',
      verdict: 'refuse',
      because: 'the amount 2.5 is above the maximum 2',
      values: { amount: '2.5', min: '1', max: '2' },
    });
    expect(judged('amount-limit: { min: 3 }', payment({ orderAmount: '2.5' })).result.because).toBe(
      'the amount 2.5 is below the minimum 3',
    );
  });

  it.each([`{ max: ${GREATEST} }`, '{ min: 1 }', '{ min: 0, max: 1 }'])(
    '%s refuses an unlimited amount',
    (parameters) => {
      expect(judged(`amount-limit: ${parameters}`, web3({ amount: -1 })).result).toMatchObject({
        verdict: 'refuse',
        because: 'the amount is unlimited',
      });
    },
  );

  it('lets a web3 transaction of nothing pass a maximum of nothing', () => {
    expect(judged('amount-limit: { max: 0 }', web3()).result.verdict).toBe('pass');
  });

  it('judges a withdrawal to several addresses by its total', () => {
    const callback = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
    expect(judged('amount-limit: { max: 2 }', callback).result.verdict).toBe('refuse');
    expect(judged('amount-limit: { max: 3 }', callback).result.verdict).toBe('pass');
  });

  it.each([
    ['{}', 'neither min nor max'],
    ['{ min: 2, max: 1 }', 'min is above max'],
    ['{ max: -1 }', '"-1" is not valid'],
    ['{ max: 1e4 }', '"1e4" is not valid'],
    ['{ max: 10_000 }', '"10_000" is not valid'],
    ['{ max: 0x10 }', '"0x10" is not valid'],
    ['{ max: 01 }', '"01" is not valid'],
    ['{ max: .5 }', '".5" is not valid'],
    ['{ max: unlimited }', '"unlimited" is not valid'],
    ['{ max: }', '"" is not valid'],
    [`{ max: 0.${'0'.repeat(36)}1 }`, 'is not valid'],
    [`{ max: 1${'0'.repeat(36)} }`, 'is not valid'],
    ['{ max: [1] }', 'a list is not valid'],
    ['{ mx: 10, max: 1 }', 'did you mean max?'],
    ['10', '"10" is not valid; write a mapping of min, max, by'],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`amount-limit: ${parameters}`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });
});

describe('amount-limit by asset', () => {
  const RULE = 'amount-limit: { by: asset, min: 0.01, max: { USDT1742: 5000, BTC: "0.1" } }';
  const judge = (rule: string, payCoinSymbol: string, orderAmount: string) =>
    judged(rule, payment({ payCoinSymbol, orderAmount })).result;

  it.each([
    ['USDT1742', '5000'],
    ['USDT1742', '0.01'],
    ['BTC', '0.1'],
  ])('%s: %s is within its own bounds', (symbol, amount) => {
    expect(judge(RULE, symbol, amount).verdict).toBe('pass');
  });

  it.each([
    ['USDT1742', `5000.${'0'.repeat(35)}1`, { max: '5000', min: '0.01' }],
    ['USDT1742', '0.009', { max: '5000', min: '0.01' }],
    ['BTC', `0.1${'0'.repeat(34)}1`, { max: '0.1' }],
    ['BTC', '5000', { max: '0.1' }],
  ])('%s: %s is without', (symbol, amount, values) => {
    expect(judge(RULE, symbol, amount)).toMatchObject({
      verdict: 'refuse',
      values: { symbol, amount, ...values },
    });
  });

  it.each(['USDT9', 'btc', 'BTC1', 'constructor'])('%s is not in the table, and refused', (symbol) => {
    expect(judge(RULE, symbol, '0.05')).toMatchObject({
      verdict: 'refuse',
      because: `${symbol} is not in the table`,
      values: { symbol, amount: '0.05', min: '0.01' },
    });
  });

  it('an asset that the table of maxima alone names has no minimum', () => {
    const rule = 'amount-limit: { by: asset, min: { ETH: 1 }, max: { BTC: 2, ETH: 3 } }';
    expect(judge(rule, 'ETH', '3.1').verdict).toBe('refuse');
    expect(judge(rule, 'ETH', '0.9')).toMatchObject({ because: 'the amount 0.9 ETH is below the minimum 1' });
    expect(judge(rule, 'BTC', LEAST).verdict).toBe('pass');
    expect(judge(rule, 'BTC', '2.1')).toMatchObject({ because: 'the amount 2.1 BTC is above the maximum 2' });
    expect(judge(rule, 'LTC', '1').verdict).toBe('refuse');
  });

  it('a table of minima, too, refuses an asset that it does not name', () => {
    const rule = 'amount-limit: { by: asset, min: { ETH: 1 }, max: 5 }';
    expect(judge(rule, 'ETH', '5').verdict).toBe('pass');
    expect(judge(rule, 'ETH', '5.1').verdict).toBe('refuse');
    expect(judge(rule, 'BTC', '2').verdict).toBe('refuse');
  });

  it('goes by the chain’s symbol in web3, and refuses an unlimited amount', () => {
    const rule = 'amount-limit: { by: asset, max: { ETH: 1 } }';
    expect(judged(rule, web3()).result.verdict).toBe('pass');
    expect(judged(rule, web3({ main_chain_symbol: 'BNB_BSC' })).result.verdict).toBe('refuse');
    expect(judged(rule, web3({ amount: -1 })).result.because).toBe('the amount is unlimited');
  });

  it.each([
    ['{ max: { BTC: 1 } }', 'max: a table is given, but by: asset is missing; add by: asset'],
    ['{ min: { BTC: 1 }, max: 2 }', 'min: a table is given, but by: asset is missing; add by: asset'],
    [
      '{ by: asset, max: 1 }',
      'amount-limit.by: asset is given, but no limit is a table; write a table, like max: {',
    ],
    ['{ by: asset }', 'neither min nor max'],
    ['{ by: asset, max: {} }', 'the table is empty, so every asset would be refused'],
    ['{ by: symbol, max: { BTC: 1 } }', '"symbol" is not valid; write asset, or leave it out'],
    ['{ by: asset, max: { BTC: 1e4 } }', 'max.BTC: "1e4" is not valid; write a plain decimal'],
    ['{ by: asset, max: { BTC: -1 } }', 'max.BTC: "-1" is not valid; write a plain decimal'],
    ['{ by: asset, max: { BTC: } }', 'max.BTC: "" is not valid; write a plain decimal'],
    ['{ by: asset, max: { BTC: [1] } }', 'is not valid; write a plain decimal'],
    ['{ by: asset, max: { "B TC": 1 } }', 'no callback has the symbol "B TC"; write it as callbacks do'],
    ['{ by: asset, max: { BTC: 1, BTC: 2 } }', '"BTC" appears twice'],
    ['{ by: asset, min: 2, max: { BTC: 1, ETH: 2 } }', 'max.BTC: min is above max for BTC'],
    ['{ by: asset, min: { BTC: 2, ETH: 1 }, max: { BTC: 1, ETH: 9 } }', 'max.BTC: min is above max for BTC'],
    ['{ by: asset, min: { ETH: 9 }, max: { BTC: 1 } }', 'ETH has a min and no max'],
    ['{ by: asset, min: { BTC: 2 }, max: 1 }', 'min.BTC: min is above max for BTC'],
    ['{ by: asset, min: { BTC: -1 }, max: { BTC: 1 } }', 'min.BTC: "-1" is not valid; write a plain decimal'],
    ['{ by: asset, min: { "B TC": 1 }, max: { BTC: 1 } }', 'no callback has the symbol "B TC"'],
    ['{ by: asset, min: {}, max: { BTC: 1 } }', 'the table is empty'],
    ['{ min: -1, max: 1 }', 'min: "-1" is not valid; write a plain decimal'],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`amount-limit: ${parameters}`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });

  it('editors are told of both ways to write a bound', () => {
    const amount = { type: ['string', 'number', 'boolean'], pattern: expect.any(String) };
    const bound = { anyOf: [amount, { type: 'object', additionalProperties: amount }] };
    expect(policyJsonSchema()).toMatchObject({
      definitions: {
        rule: {
          properties: {
            'amount-limit': { properties: { min: bound, max: bound, by: { const: 'asset' } } },
            'window-limit': { properties: { max: bound } },
          },
        },
      },
    });
  });

  it('a table of too many assets is a fault', () => {
    const table = Array.from({ length: 10_001 }, (_, index) => `A${index}: 1`).join(', ');
    expect(ruleFaults(`amount-limit: { by: asset, max: { ${table} } }`)).toEqual([
      expect.stringContaining('the table has 10001 assets; remove some: at most 10000 are allowed'),
    ]);
  });
});
