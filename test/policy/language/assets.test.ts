import { describe, expect, it } from 'vitest';
import { assetsJsonSchema } from '../../../tools/generate/policy-schemas.ts';
import { assetFix, tokenAt } from '../../../src/policy/language/assets.ts';
import { compileRelease } from '../../../src/policy/compile.ts';
import { CHAINS } from '../../../src/values/address.ts';
import { faultsOf, onePolicy, release } from '../callbacks.ts';

const POLICY = onePolicy('amount-limit: { max: 1 }');

const assetsOf = (table: string) => release(POLICY, {}, table).assets;
const assetFaults = (table: string): readonly string[] => faultsOf(POLICY, {}, table);

describe('the asset table', () => {
  it('is known by symbol', () => {
    const table = `assets:
  ETH: { chain: evm, decimals: 18 }
  XRP: { chain: ripple, decimals: "6", memo: required }
  ATOM: { chain: bech32, prefix: cosmos, decimals: 6 }
`;
    expect([...assetsOf(table).values()]).toEqual([
      {
        symbol: 'ETH',
        chain: 'evm',
        prefix: undefined,
        hasOneSpelling: false,
        decimals: 18,
        memo: false,
        contracts: new Map(),
      },
      {
        symbol: 'XRP',
        chain: 'ripple',
        prefix: undefined,
        hasOneSpelling: false,
        decimals: 6,
        memo: true,
        contracts: new Map(),
      },
      {
        symbol: 'ATOM',
        chain: 'bech32',
        prefix: 'cosmos',
        hasOneSpelling: false,
        decimals: 6,
        memo: false,
        contracts: new Map(),
      },
    ]);
  });

  it.each(['0', '9', '10', '29', '30', '36'])('may have %s decimals', (decimals) => {
    const table = `assets: { X: { chain: text, decimals: ${decimals} } }`;
    expect(assetsOf(table).get('X')?.decimals).toBe(Number(decimals));
  });

  it('is part of the release, and read from there again', () => {
    const { document, revision, assets } = release(POLICY, {}, 'assets: { X: { chain: evm, decimals: 1 } }');
    const again = compileRelease(document);
    expect(again).toMatchObject({ ok: true, release: { revision, assets } });
    expect(revision).not.toBe(release(POLICY).revision);
  });

  it.each([
    [
      'assets: { ETH: { chain: evn, decimals: 18 } }',
      'assets.ETH.chain: "evn" is not valid; write evm (one of evm, bitcoin,',
    ],
    ['assets: { ETH: { chain: Ethereum, decimals: 18 } }', 'write one of evm, bitcoin,'],
    ['assets: { ETH: { chain: [evm], decimals: 18 } }', 'write one of evm, bitcoin,'],
    ['assets: { ETH: { chain: __proto__, decimals: 18 } }', 'write one of evm, bitcoin,'],
    ['assets: { ETH: { decimals: 18 } }', 'assets.ETH.chain: chain is missing'],
    ['assets: { ETH: { chain: evm } }', 'decimals is missing'],
    ['assets: { ETH: { chain: evm, decimals: 37 } }', 'write a whole number from 0 to 36'],
    ['assets: { ETH: { chain: evm, decimals: -1 } }', 'write a whole number from 0 to 36'],
    ['assets: { ETH: { chain: evm, decimals: 1.5 } }', 'write a whole number from 0 to 36'],
    ['assets: { ETH: { chain: evm, decimals: 018 } }', 'write a whole number from 0 to 36'],
    ['assets: { XRP: { chain: ripple, decimals: 6, memo: true } }', 'write required, or leave it out'],
    ['assets: { XRP: { chain: ripple, decimals: 6, mmo: required } }', 'did you mean memo?'],
    ['assets: { ATOM: { chain: bech32, decimals: 6 } }', 'the chain bech32 needs a prefix; add prefix'],
    ['assets: { ETH: { chain: evm, prefix: eth, decimals: 18 } }', 'the chain evm has no prefix; leave'],
    [
      'assets: { ATOM: { chain: bech32, prefix: Cosmos, decimals: 6 } }',
      'write what its addresses begin with',
    ],
    ['assets: { ATOM: { chain: bech32, prefix: "", decimals: 6 } }', 'write what its addresses begin with'],
    ['assets: { "E TH": { chain: evm, decimals: 18 } }', 'no callback has the symbol "E TH"'],
    [`assets: { ${'X'.repeat(65)}: { chain: evm, decimals: 18 } }`, 'no callback has the symbol'],
    ['assets: { ETH: evm }', 'write a mapping of chain'],
    ['assets: [ETH]', 'it is not an asset table'],
    ['ETH: { chain: evm, decimals: 18 }', 'it is not an asset table'],
    ['assets: { ETH: { chain: evm, decimals: 18 } }\nasets: {}', 'did you mean assets?'],
    [
      'assets:\n  ETH: { chain: evm, decimals: 18 }\n  ETH: { chain: evm, decimals: 6 }',
      '"ETH" appears twice',
    ],
    ['assets: {}\n---\nassets: {}', 'there is an asset table already'],
    ['# nothing\n', 'holds no asset table'],
  ])('%j is a fault', (table, said) => {
    const faults = assetFaults(table).join('\n');
    expect(faults).toContain('assets.yaml');
    expect(faults).toContain(said);
  });

  it('tells all its faults at once', () => {
    const faults = assetFaults('assets: { A: { chain: x, decimals: 1 }, B: { chain: evm, decimals: x } }');
    expect(faults).toHaveLength(2);
  });

  it('has at most 10000 assets', () => {
    const table = (count: number): string =>
      `assets:\n${Array.from({ length: count }, (_, index) => `  X${index}: { chain: text, decimals: 0 }`).join('\n')}\n`;
    expect(assetsOf(table(10_000)).size).toBe(10_000);
    expect(assetFaults(table(10_001)).join('\n')).toContain(
      'it has 10001 assets; remove some: at most 10000 are allowed',
    );
  });
});

describe('the cure for a symbol that is not there', () => {
  const assets = assetsOf('assets: { USDT1742: { chain: evm, decimals: 6 } }');

  it.each([
    ['USDT1472', 'did you mean USDT1742? Otherwise add USDT1472 to assets.yaml'],
    ['BTC', 'add BTC to assets.yaml'],
  ])('%s: %s', (symbol, fix) => {
    expect(assetFix(symbol, assets)).toBe(fix);
  });
});

it('the JSON Schema names every chain, and asks for a prefix where one is needed', () => {
  const text = JSON.stringify(assetsJsonSchema());
  expect(text).toContain(JSON.stringify(CHAINS));
  expect(text).toContain('"if":{"properties":{"chain":{"enum":["bech32"]}}},"then":{"required":["prefix"]}');
});

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const TOKENS = (more: string): string => `assets:
  ETH: { chain: evm, decimals: 18 }
  BSC: { chain: evm, decimals: 18 }
  BTC: { chain: bitcoin, decimals: 8 }
${more}
`;

describe('the contracts of a token', () => {
  it('are known by network, in lower case', () => {
    const assets = assetsOf(
      TOKENS(
        `  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}', BSC: ${USDT.toLowerCase()} } }`,
      ),
    );
    const contract = USDT.toLowerCase();
    expect(tokenAt(assets, 'ETH', contract)?.symbol).toBe('USDT');
    expect(tokenAt(assets, 'BSC', contract)?.symbol).toBe('USDT');
    expect(tokenAt(assets, 'BTC', contract)).toBeUndefined();
    expect(tokenAt(assets, 'ETH', `${contract.slice(0, -1)}8`)).toBeUndefined();
    expect(tokenAt(assets, 'ETH', USDT)).toBeUndefined();
  });

  it.each([
    [
      `  USDT: { chain: evm, decimals: 6, contracts: { ETHE: '${USDT}' } }`,
      'assets.USDT.contracts.ETHE: the asset table has no network "ETHE"; did you mean ETH?',
    ],
    [
      `  USDT: { chain: evm, decimals: 6, contracts: { BTC: '${USDT}' } }`,
      'BTC is on the chain bitcoin, which is no EVM network; write the symbol of an EVM network',
    ],
    [
      `  USDT: { chain: tron, decimals: 6, contracts: { ETH: '${USDT}' } }`,
      'the chain tron has no EVM contracts; leave contracts out, or write chain: evm',
    ],
    [
      `  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT.slice(0, -1)}' } }`,
      'is not an EVM address',
    ],
    [`  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT.slice(2)}' } }`, 'is not an EVM address'],
    [
      `  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT.replace('dAC', 'DAC')}' } }`,
      'is not an EVM address',
    ],
    [`  USDT: { chain: evm, decimals: 6, contracts: { ETH: [] } }`, 'a list is not valid'],
    [`  USDT: { chain: evm, decimals: 6, contracts: '${USDT}' }`, 'is not valid; write a network and the'],
    [
      `  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
  USDT2: { chain: evm, decimals: 6, contracts: { ETH: '${USDT.toLowerCase()}' } }`,
      `${USDT.toLowerCase()} on ETH is the contract of USDT already; keep one of the two`,
    ],
  ])('are checked: %s', (row, fault) => {
    expect(assetFaults(TOKENS(row)).join('\n')).toContain(fault);
  });
});
