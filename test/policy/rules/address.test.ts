import { describe, expect, it } from 'vitest';
import { A, B, judged, onePolicy, outputs, faultsOf, transfer, web3 } from '../callbacks.ts';

const assets = `assets:
  ETH: { chain: evm, decimals: 18 }
  BTC: { chain: bitcoin, decimals: 8 }
  TRX: { chain: tron, decimals: 6 }
  ATOM: { chain: bech32, prefix: cosmos, decimals: 6 }
  KEK: { chain: text, decimals: 2 }
`;
const MIXED = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const WRONG = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
const BTC = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
const TRX = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const ATOM = 'cosmos1hsk6jryyqjfhp5dhc55tc9jtckygx0eph6dd02';

describe('address', () => {
  it.each([
    ['address: {}', transfer({ to: MIXED })],
    ['address: { of: to }', transfer({ from: 'ours', to: MIXED.toLowerCase() })],
    ['address: { of: [from, to] }', transfer({ from: BTC, to: BTC.toUpperCase(), symbol: 'BTC' })],
    ['address: {}', transfer({ from: TRX, to: TRX, symbol: 'TRX' })],
    ['address: {}', transfer({ from: ATOM, to: ATOM, symbol: 'ATOM' })],
    ['address: {}', transfer({ from: 'x', to: 'any:thing', symbol: 'KEK' })],
    ['address: {}', transfer({ amount: '3', ...outputs([A, '1'], [MIXED, '2']) })],
    ['address: {}', web3({ to: MIXED, interactive_contract: WRONG })],
    ['address: { of: interactive_contract }', web3({ to: WRONG, interactive_contract: MIXED })],
  ])('%s lets pass what the chain reads as an address', (rule, callback) => {
    expect(judged(rule, callback, { assets }).result).toMatchObject({ verdict: 'pass' });
  });

  it.each([
    ['address: { of: to }', transfer({ to: MIXED }), 'to is a valid address of ETH'],
    ['address: {}', transfer({ from: BTC, to: BTC, symbol: 'BTC' }), 'are valid addresses of BTC'],
    [
      'address: { of: to }',
      transfer({ amount: '3', ...outputs([A, '1'], [MIXED, '2']) }),
      'all addresses in to are valid addresses of ETH',
    ],
  ])('%s says which addresses are valid', (rule, callback, because) => {
    const { result } = judged(rule, callback, { assets });
    expect(result.because).toContain(because);
  });

  it.each([
    ['address: {}', transfer({ to: WRONG }), `to ${WRONG} is not an address of ETH: its checksum is wrong`],
    [
      'address: {}',
      transfer({ from: WRONG }),
      `from ${WRONG} is not an address of ETH: its checksum is wrong`,
    ],
    ['address: {}', transfer({ symbol: 'BTC', from: BTC, to: A }), `to ${A} is not an address of BTC`],
    ['address: {}', transfer({ symbol: 'TRX', from: TRX, to: A }), 'is not an address of TRX'],
    [
      'address: {}',
      transfer({ symbol: 'TRX', from: TRX, to: '41a614f803b6fd780986a42c78ec9c7f77e6ded13c' }),
      'write it in base58',
    ],
    ['address: {}', transfer({ symbol: 'ATOM', from: ATOM, to: BTC }), 'does not begin with cosmos1'],
    ['address: {}', transfer({ symbol: 'eth' }), 'the asset table does not have eth'],
    ['address: {}', transfer({ symbol: 'DOGE' }), 'the asset table does not have DOGE'],
    ['address: {}', transfer({ symbol: '__proto__' }), 'the asset table does not have __proto__'],
    ['address: {}', web3({ main_chain_symbol: 'BSC' }), 'the asset table does not have BSC'],
    ['address: {}', web3({ to: WRONG }), `to ${WRONG} is not an address of ETH`],
    ['address: { of: interactive_contract }', web3({ interactive_contract: WRONG }), 'its checksum is wrong'],
    [
      'address: { of: interactive_contract }',
      web3({ interactive_contract: '' }),
      'interactive_contract is missing',
    ],
  ])('%s refuses anything else', (rule, callback, because) => {
    const { result } = judged(rule, callback, { assets });
    expect(result).toMatchObject({ verdict: 'refuse' });
    expect(result.because).toContain(because);
  });

  it('names the address, the asset and its chain', () => {
    expect(judged('address: {}', transfer({ to: WRONG }), { assets }).result.values).toEqual({
      of: 'from to',
      symbol: 'ETH',
      chain: 'evm',
      member: 'to',
      address: WRONG,
    });
  });

  it('looks at every output, also where another spelling of the same address is sound', () => {
    const lower = MIXED.toLowerCase();
    for (const paid of [
      outputs([A, '1'], [WRONG, '2']),
      outputs([A, '1'], [lower, '1'], [WRONG, '1']),
      outputs([A, '1'], [WRONG, '1'], [lower, '1']),
    ]) {
      const { result } = judged('address: { of: to }', transfer({ amount: '3', ...paid }), { assets });
      expect(result).toMatchObject({ verdict: 'refuse', values: { address: WRONG } });
    }
  });

  it('looks at `to` in its own spelling, also where the outputs have a sound one', () => {
    const callback = transfer({ to: WRONG, amount: '3', ...outputs([MIXED, '3']) });
    expect(judged('address: { of: to }', callback, { assets }).result).toMatchObject({ verdict: 'refuse' });
  });

  it('refuses everything where there is no asset table', () => {
    expect(judged('address: {}', transfer({ symbol: 'NEW' })).result).toMatchObject({ verdict: 'refuse' });
  });

  it('tells of ten symbols that the table does not have, however many there are', () => {
    const long = `assets:\n${Array.from({ length: 200 }, (_, i) => `  SYMBOL-OF-SOME-LENGTH-${i}: { chain: text, decimals: 0 }`).join('\n')}\n`;
    const strange = Array.from({ length: 100 }, (_, i) => `SYMBOL-OF-SOME-LENGHT-${i}`).join(', ');
    for (const rule of ['address: {}', 'memo-required: {}']) {
      const faults = faultsOf(onePolicy(rule, 'transfer', `{ symbol: [${strange}] }`), {}, long);
      expect(faults).toHaveLength(10);
      expect(faults[0]).toContain('did you mean SYMBOL-OF-SOME-LENGTH-');
    }
  });

  it.each([
    ['address: { of: memo }', 'transfer', undefined, '"memo" is not an address of a transfer'],
    ['address: { of: interactive_contract }', 'transfer', undefined, 'is not an address of a transfer'],
    ['address: { of: form }', 'web3', undefined, 'did you mean from?'],
    ['address: { of: [] }', 'transfer', undefined, 'write a text, or a list of texts'],
    ['address: { to: x }', 'transfer', undefined, '"to" is not known here'],
    ['address: {}', 'payment', undefined, "address can't judge a payment callback"],
    ['address: {}', 'transfer', '{ symbol: [ETH, BTX] }', 'does not have BTX; did you mean BTC?'],
    [
      'address: {}',
      'web3',
      '{ main_chain_symbol: BSC }',
      'does not have BSC; did you mean BTC? Otherwise add BSC',
    ],
    ['address: {}', 'transfer', '{ symbol: DOGE }', 'does not have DOGE; add DOGE to assets.yaml'],
  ])('%s for %s is a fault', (rule, kind, when, said) => {
    expect(faultsOf(onePolicy(rule, kind, when), {}, assets).join('\n')).toContain(said);
  });
});

describe('terms and comparable addresses', () => {
  it('do not depend on how an address is spelt', () => {
    const one = transfer({ to: MIXED, amount: '3', ...outputs([MIXED, '1'], [B, '2']) });
    const other = transfer({
      to: MIXED.toLowerCase(),
      amount: '3',
      ...outputs([B.toLowerCase(), '2'], [MIXED.toLowerCase(), '1']),
    });
    expect(one.terms).toEqual(other.terms);
    expect(one.values).toEqual(other.values);
    expect(one.payouts).toEqual(other.payouts);
    expect(one.recipients).toEqual([MIXED, B]);
    expect(transfer({ to: B }).recipients).toEqual([B]);
  });
});
