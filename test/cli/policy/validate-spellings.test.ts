import { expect, it } from 'vitest';
import { place } from '../terminal.ts';

const ASSETS = `assets:
  TON: { chain: text, decimals: 9 }
  APT: { chain: text, decimals: 8 }
  ETH: { chain: evm, decimals: 18 }
  XRP: { chain: ripple, decimals: 6 }
`;
const policy = (when: string, ...rules: readonly string[]): string =>
  `policy: p\ncallback: transfer\nwhen: ${when}\nrules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`;

async function warnings(
  yaml: string,
  assets: string = ASSETS,
): Promise<{ readonly told: string; readonly json: readonly string[] }> {
  const policies = { 'a.yaml': yaml, ...(assets === 'none' ? {} : { 'assets.yaml': assets }) };
  const { run } = place({ policies });
  const { err, code } = await run('policy', 'validate');
  expect(code).toBe(0);
  const found = (await run('policy', 'validate', '--json')).json() as {
    readonly warnings: readonly string[];
  };
  for (const each of found.warnings) expect(err).toContain(each);
  expect(err.split('\n').filter((line) => line !== '')).toHaveLength(found.warnings.length);
  // The policies of these tests need not cover the whole table.
  return { told: err, json: found.warnings.filter((each) => !each.includes('no policy covers')) };
}

const TEXT =
  'addresses are not validated and are compared as exact text: another spelling of an address (without 0x, with leading zeros, in another form)';
const FIX =
  'also deny or limit by another member, or, if assets.yaml can name the asset’s chain, write that chain';

it.each<[rule: string, when: string, said: string]>([
  [
    'deny-list: { of: to, list: x }',
    '{ symbol: TON }',
    `a.yaml:5:5: p/deny-list#1: assets.yaml sets \`chain: text\` for TON, so its ${TEXT} in to is not denied; ${FIX}`,
  ],
  [
    'allow-list: { of: [to, symbol, memo], list: x }',
    '{ symbol: [TON, ETH] }',
    'a.yaml:5:5: p/allow-list#1: assets.yaml sets `chain: text` for TON, so its',
  ],
  ['cooling-period: { of: from, list: x, for: 1h }', '{ symbol: APT }', `so its ${TEXT} in from is refused`],
  ['first-use-limit: { of: to, max: 1 }', '{ symbol: TON }', 'is unknown again'],
  ['member-equals: { member: to, value: x }', '{ symbol: TON }', 'is refused'],
  ['window-limit: { per: [to], window: 1h, max: 1 }', '{ symbol: TON }', 'has a limit of its own'],
  ['value-limit: { per: [to], window: 1h, max: 1, maxAge: 1h }', '{ symbol: TON }', 'has a limit of its own'],
  ['outputs: { max: 5 }', '{ symbol: TON }', 'in to counts as another address'],
  ["expression: { require: 'outputs.all(o, o.amount < 5)' }", '{ symbol: TON }', 'in to is another text'],
  [`expression: { require: "from != 'x'" }`, '{ symbol: TON }', 'in from is another text'],
  [
    'amount-limit: { max: 1 }',
    '{ symbol: TON, to: x }',
    'a.yaml:3:1: p/when: assets.yaml sets `chain: text` for TON',
  ],
  [
    'velocity-limit: { per: [memo, from], window: 1h, max: 1 }',
    '{ symbol: [TON, ETH, APT] }',
    'p/velocity-limit#1: assets.yaml sets `chain: text` for APT and TON, so their',
  ],
])('policy validate warns of %s for %s, where a chain is text', async (rule, when, said) => {
  const { json } = await warnings(policy(when, rule));
  expect(json).toHaveLength(1);
  expect(json[0]).toContain(said);
});

const RULES = [
  'deny-list: { of: to, list: x }',
  'window-limit: { per: [to], window: 1h, max: 1 }',
  'allow-list: { of: from, list: y }',
];

it('and of each list and limit by the address of an asset that is not in the table', async () => {
  const told = await warnings(policy('{ symbol: KAS }', ...RULES));
  const because = 'the chain of KAS is not known, so another spelling of an address in';
  expect(told.json).toEqual([
    `a.yaml:5:5: p/deny-list#1: ${because} to is not denied; name it in assets.yaml`,
    `a.yaml:6:5: p/window-limit#2: ${because} to has a limit of its own; name it in assets.yaml`,
    `a.yaml:7:5: p/allow-list#3: ${because} from is refused; name it in assets.yaml`,
  ]);
  expect((await warnings(policy('{ symbol: KAS }', ...RULES), 'none')).json).toEqual(told.json);
  const both = await warnings(policy('{ symbol: [KAS, TON, ETH] }', RULES[0] ?? ''));
  expect(both.json).toHaveLength(2);
});

it('and of conditions of rules, also in `not`, by the symbols that they name', async () => {
  const rule = (when: string): string => `amount-limit: { max: 1 }\n    when: ${when}`;
  const rules = [
    'any: [{ amount-limit: { max: 1 }, when: { symbol: TON, not: { to: x } } }]',
    rule('{ symbol: ETH, to: 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed }'),
    rule('{ symbol: KAS, from: x }'),
  ];
  const { json } = await warnings(policy('{ symbol: [TON, ETH, KAS] }', ...rules));
  expect(json).toEqual([
    `a.yaml:5:39: p/amount-limit#1.1/when: assets.yaml sets \`chain: text\` for TON, so its ${TEXT} in to does not match it; ${FIX}`,
    'a.yaml:9:5: p/amount-limit#3/when: the chain of KAS is not known, so another spelling of an address in from does not match it; name it in assets.yaml',
  ]);
});

it('and of a policy without symbols, which is for such assets too', async () => {
  const [deny = ''] = RULES;
  for (const assets of ['none', 'assets: { ETH: { chain: evm, decimals: 18 } }\n']) {
    expect((await warnings(policy('{ source: vault }', deny), assets)).json).toEqual([
      'a.yaml:5:5: p/deny-list#1: the policy applies to assets that assets.yaml does not name; of these, another spelling of an address in to is not denied; name the assets under when, or put the rule address into the policy',
    ]);
  }
  expect((await warnings(policy('{ source: vault }', deny))).json).toHaveLength(2);
});

it('but not where a rule refuses assets that are not in the table', async () => {
  const [deny = ''] = RULES;
  const assets = 'assets: { ETH: { chain: evm, decimals: 18 } }\n';
  const count = async (yaml: string): Promise<number> => (await warnings(yaml, assets)).json.length;
  expect(await count(policy('{ source: vault }', deny, 'address: { of: from }'))).toBe(0);
  expect(await count(policy('{ source: vault }', deny, 'memo-required: {}'))).toBe(0);
  expect(await count(policy('{ source: vault }', deny, 'memo-required: { assets: [ETH] }'))).toBe(1);
  const other = (when: string, mode = ''): string =>
    `${policy('{ source: vault }', deny)}---\npolicy: sound\ncallback: transfer\n${when}rules:\n  - address: {}\n${mode}`;
  expect(await count(other(''))).toBe(0);
  expect(await count(other('when: { source: [vault, other] }\n'))).toBe(0);
  expect(await count(other('when: { source: other }\n'))).toBe(1);
  expect(await count(other('when: { symbol: ETH }\n'))).toBe(1);
  expect(await count(other('', '    mode: observe\n'))).toBe(1);
});

it('and says nothing where the chain is known, nor of lists and limits that are of no address', async () => {
  expect((await warnings(policy('{ symbol: [ETH, XRP] }', ...RULES.slice(0, 1)))).json).toEqual([]);
  expect((await warnings(policy('{ symbol: ETH }', ...RULES))).json).toEqual([]);
  const rules = ['deny-list: { of: memo, list: x }', 'window-limit: { per: [memo], window: 1h, max: 1 }'];
  expect((await warnings(policy('{ symbol: TON }', ...rules))).json).toEqual([]);
  expect((await warnings(policy('{ symbol: KAS }', 'amount-limit: { max: 1 }'), 'none')).json).toEqual([]);
});
