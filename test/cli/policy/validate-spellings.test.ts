import { expect, it } from 'vitest';
import { place } from '../terminal.ts';
import { tablesOf, string } from '../../cases.ts';

const ASSETS = `assets:
  TON: { chain: text, decimals: 9 }
  APT: { chain: text, decimals: 8 }
  NEAR: { chain: text, spellings: one, decimals: 24 }
  ETH: { chain: evm, decimals: 18 }
  XRP: { chain: ripple, decimals: 6 }
`;
const policy = (when: string, ...rules: readonly string[]): string =>
  `policy: p\ncallback: transfer\nwhen: ${when}\nrules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`;

/** The faults of a candidate, without their number; none if it is valid. */
async function faultsOf(yaml: string, assets: string | undefined = ASSETS): Promise<readonly string[]> {
  const policies = { 'a.yaml': yaml, ...(assets === '' ? {} : { 'assets.yaml': assets }) };
  const { run } = place({ policies });
  const { out, code } = await run`policy validate`;
  expect([code, /one fault|faults:/.test(out)]).toEqual(code === 0 ? [0, false] : [1, true]);
  if (code === 0) return [];
  const lines = out.split('\n').filter((line) => line.startsWith('  '));
  // What is not valid is not pushed either.
  expect((await run`policy push --message x`).code).toBe(1);
  return lines.map((line) => line.trim());
}

const rowsOf = tablesOf(new URL('cases/validate-spellings.yaml', import.meta.url));

it.each(rowsOf('spellings', string, string, string))(
  'policy validate refuses %s for %s, where another spelling gets past it',
  async (rule, when, said) => {
    const faults = await faultsOf(policy(when, rule));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(said);
  },
);

it('and so it does without an asset table', async () => {
  const deny = 'deny-list: { of: to, list: x }';
  expect(await faultsOf(policy('{ source: vault }', deny), '')).toEqual([
    'a.yaml:5:5: p/deny-list#1: there is no assets.yaml, so another spelling of an address in to is not denied; write it, with the chain of each asset',
  ]);
  expect(await faultsOf(policy('{ symbol: [KAS, ETH] }', deny), '')).toHaveLength(1);
});

it('and of conditions of rules, also in `not`, by the symbols that they name', async () => {
  const rule = (when: string): string => `amount-limit: { max: 1 }\n    when: ${when}`;
  const rules = [
    'any: [{ amount-limit: { max: 1 }, when: { symbol: TON, not: { to: x } } }]',
    rule('{ symbol: ETH, to: 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed }'),
    rule('{ symbol: KAS, from: x }'),
  ];
  const faults = await faultsOf(policy('{ symbol: [TON, ETH, KAS] }', ...rules));
  expect(faults.map((each) => each.split(':')[3]?.trim())).toEqual([
    'p/amount-limit#1.1/when',
    'p/amount-limit#3/when',
  ]);
});

it('but nothing that another spelling can only fail, or whose chain is known', async () => {
  for (const rule of [
    'allow-list: { of: [to, symbol, memo], list: x }',
    'cooling-period: { of: from, list: x, for: 1h }',
    'first-use-limit: { of: to, max: 1 }',
    'distinct-limit: { of: to, window: 1h, max: 1 }',
    'outputs: { max: 5 }',
    'deny-list: { of: memo, list: x }',
    'window-limit: { per: [memo], window: 1h, max: 1 }',
    'amount-limit: { max: 1 }',
  ]) {
    expect([rule, await faultsOf(policy('{ symbol: TON }', rule))]).toEqual([rule, []]);
  }
  for (const symbols of ['[ETH, XRP]', 'NEAR']) {
    const rules = [
      'deny-list: { of: to, list: x }',
      'window-limit: { by: asset, per: [to], window: 1h, max: { ETH: 1, XRP: 1, NEAR: 1 } }',
    ];
    expect(await faultsOf(policy(`{ symbol: ${symbols} }`, ...rules))).toEqual([]);
  }
});

it('and `spellings` is a fault where the forms are known', async () => {
  const assets = 'assets: { ETH: { chain: evm, spellings: one, decimals: 18 } }\n';
  expect(await faultsOf(policy('{ symbol: ETH }', 'amount-limit: { max: 1 }'), assets)).toEqual([
    'assets.yaml:1:41: assets.ETH.spellings: the forms of addresses of evm are known; leave spellings out, or write chain: text',
  ]);
});
