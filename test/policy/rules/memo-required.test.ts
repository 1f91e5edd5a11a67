import { describe, expect, it } from 'vitest';
import { faultsOf, judged, onePolicy, transfer } from '../callbacks.ts';

const assets = `assets:
  ETH: { chain: evm, decimals: 18 }
  XRP: { chain: ripple, decimals: 6, memo: required }
`;

describe('memo-required', () => {
  it.each([
    ['memo-required: {}', transfer({ symbol: 'XRP', memo: '12345' })],
    ['memo-required: {}', transfer({ symbol: 'XRP', memo: 0 })],
    ['memo-required: {}', transfer({ symbol: 'ETH' })],
    ['memo-required: {}', transfer({ symbol: 'ETH', memo: 'rent' })],
    ['memo-required: { assets: EOS }', transfer({ symbol: 'EOS', memo: 'alice' })],
    ['memo-required: { assets: [EOS, XLM] }', transfer({ symbol: 'DOGE' })],
    ['memo-required: { assets: EOS }', transfer({ symbol: 'XRP' })],
  ])('%s lets a withdrawal pass', (rule, callback) => {
    expect(judged(rule, callback, { assets }).result).toMatchObject({ verdict: 'pass' });
  });

  it.each([
    ['memo-required: {}', transfer({ symbol: 'XRP' }), 'XRP needs a memo, and there is none'],
    ['memo-required: {}', transfer({ symbol: 'XRP', memo: '' }), 'XRP needs a memo'],
    ['memo-required: {}', transfer({ symbol: 'XRP', memo: null }), 'XRP needs a memo'],
    ['memo-required: {}', { ...transfer({ symbol: 'XRP' }), memo: '  ' }, 'XRP needs a memo'],
    ['memo-required: {}', { ...transfer({ symbol: 'XRP' }), memo: '\u00a0' }, 'XRP needs a memo'],
    ['memo-required: {}', transfer({ symbol: 'xrp', memo: '1' }), 'does not have xrp'],
    ['memo-required: {}', transfer({ symbol: 'EOS', memo: '1' }), 'does not have EOS'],
    ['memo-required: {}', transfer({ symbol: 'constructor' }), 'does not have constructor'],
    ['memo-required: { assets: EOS }', transfer({ symbol: 'EOS' }), 'EOS needs a memo'],
    [
      'memo-required: { assets: [XLM, EOS] }',
      { ...transfer({ symbol: 'EOS' }), memo: ' ' },
      'EOS needs a memo',
    ],
  ])('%s refuses one without', (rule, callback, because) => {
    const { result } = judged(rule, callback, { assets });
    expect(result).toMatchObject({ verdict: 'refuse', values: { symbol: callback.symbol } });
    expect(result.because).toContain(because);
  });

  it('refuses everything where there is no asset table and it names no assets', () => {
    expect(judged('memo-required: {}', transfer({ symbol: 'NEW', memo: '1' })).result).toMatchObject({
      verdict: 'refuse',
    });
    expect(judged('memo-required: { assets: EOS }', transfer()).result).toMatchObject({ verdict: 'pass' });
  });

  it.each([
    ['memo-required: { assets: [] }', 'transfer', undefined, 'write a text, or a list of texts'],
    ['memo-required: { asets: EOS }', 'transfer', undefined, 'did you mean assets?'],
    ['memo-required: {}', 'payment', undefined, "memo-required can't judge a payment callback"],
    ['memo-required: {}', 'web3', undefined, "memo-required can't judge a web3 callback"],
    ['memo-required: {}', 'transfer', '{ symbol: [ETH, XRPP] }', 'does not have XRPP; did you mean XRP?'],
    [
      'memo-required: { assets: XRPP }',
      'transfer',
      '{ symbol: [ETH, XRP] }',
      'not for XRPP; did you mean XRP?',
    ],
  ])('%s for %s is a fault', (rule, kind, when, said) => {
    expect(faultsOf(onePolicy(rule, kind, when), {}, assets).join('\n')).toContain(said);
  });
});
