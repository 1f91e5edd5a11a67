import { describe, expect, it } from 'vitest';
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
    ['{ max: -1 }', '"-1" will not do'],
    ['{ max: 1e4 }', '"1e4" will not do'],
    ['{ max: 10_000 }', '"10_000" will not do'],
    ['{ max: 0x10 }', '"0x10" will not do'],
    ['{ max: 01 }', '"01" will not do'],
    ['{ max: .5 }', '".5" will not do'],
    ['{ max: unlimited }', '"unlimited" will not do'],
    ['{ max: }', '"" will not do'],
    [`{ max: 0.${'0'.repeat(36)}1 }`, 'will not do'],
    [`{ max: 1${'0'.repeat(36)} }`, 'will not do'],
    ['{ max: [1] }', 'a list will not do'],
    ['{ mx: 10, max: 1 }', 'did you mean max?'],
    ['10', '"10" will not do; write a mapping of min, max'],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`amount-limit: ${parameters}`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });
});
