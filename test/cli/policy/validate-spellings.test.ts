import { expect, it } from 'vitest';
import { place } from '../terminal.ts';

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
  const { out, code } = await run('policy', 'validate');
  expect([code, /one fault|faults:/.test(out)]).toEqual(code === 0 ? [0, false] : [1, true]);
  if (code === 0) return [];
  const lines = out.split('\n').filter((line) => line.startsWith('  '));
  // What is not valid is not pushed either.
  expect((await run('policy', 'push', '--message', 'x')).code).toBe(1);
  return lines.map((line) => line.trim());
}

const UNSPELLED = 'spells addresses (`chain: text`), so another spelling of an address';
const FIX = 'write its chain there, or `spellings: one` if each of its addresses has only one spelling';

it.each<[rule: string, when: string, said: string]>([
  [
    'deny-list: { of: to, list: x }',
    '{ symbol: TON }',
    `a.yaml:5:5: p/deny-list#1: assets.yaml does not say how TON ${UNSPELLED} in to is not denied; ${FIX}`,
  ],
  ['deny-list: { of: [symbol, from], values: [TON x] }', '{ symbol: [TON, ETH] }', 'in from is not denied'],
  ['window-limit: { per: [to], window: 1h, max: 1 }', '{ symbol: TON }', 'has a limit of its own'],
  ['value-limit: { per: [to], window: 1h, max: 1, maxAge: 1h }', '{ symbol: TON }', 'has a limit of its own'],
  [
    'distinct-limit: { of: memo, per: [to], window: 1h, max: 1 }',
    '{ symbol: TON }',
    'has a limit of its own',
  ],
  ['lock-out: { per: [to], after: 3, within: 1h, for: 1h }', '{ symbol: TON }', 'in to is locked out apart'],
  ['outputs: { max: 5, maxEach: 1 }', '{ symbol: TON }', 'in to can be paid as much again'],
  ["expression: { require: 'outputs.all(o, o.amount < 5)' }", '{ symbol: TON }', 'in to is another text'],
  [`expression: { require: "from != 'x'" }`, '{ symbol: TON }', 'in from is another text'],
  [
    'amount-limit: { max: 1 }',
    '{ symbol: TON, to: x }',
    'a.yaml:3:1: p/when: assets.yaml does not say how TON',
  ],
  [
    'velocity-limit: { per: [memo, from], window: 1h, max: 1 }',
    '{ symbol: [TON, ETH, APT] }',
    'p/velocity-limit#1: assets.yaml does not say how APT and TON spells',
  ],
  ['deny-list: { of: to, list: x }', '{ source: vault }', 'how APT and TON spells'],
  [
    'deny-list: { of: to, list: x }',
    '{ symbol: KAS }',
    'a.yaml:5:5: p/deny-list#1: assets.yaml does not name KAS, so another spelling of an address in to is not denied; name it there with its chain',
  ],
])('policy validate refuses %s for %s, where another spelling gets past it', async (rule, when, said) => {
  const faults = await faultsOf(policy(when, rule));
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(said);
});

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
