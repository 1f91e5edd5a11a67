import { describe, expect, it } from 'vitest';
import { A, B, judged, onePolicy, outputs, faultsOf, transfer } from '../callbacks.ts';
import { tablesOf, string } from '../../cases.ts';
import { asCallback } from '../callbacks.ts';

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

const rowsOf = tablesOf(new URL('cases/address.yaml', import.meta.url), { MIXED, BTC, TRX, ATOM, A, WRONG });

describe('address', () => {
  it.each(rowsOf('passes', string, asCallback))(
    '%s lets pass what the chain reads as an address',
    (rule, callback) => {
      expect(judged(rule, callback, { assets }).result).toMatchObject({ verdict: 'pass' });
    },
  );

  it.each(rowsOf('valid', string, asCallback, string))(
    '%s says which addresses are valid',
    (rule, callback, because) => {
      const { result } = judged(rule, callback, { assets });
      expect(result.because).toContain(because);
    },
  );

  it.each(rowsOf('refused', string, asCallback, string))(
    '%s refuses anything else',
    (rule, callback, because) => {
      const { result } = judged(rule, callback, { assets });
      expect(result).toMatchObject({ verdict: 'refuse' });
      expect(result.because).toContain(because);
    },
  );

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
