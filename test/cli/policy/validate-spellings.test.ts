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
  return { told: err, json: found.warnings };
}

const TEXT =
  'addresses are not validated and are compared as exact text: another spelling of an address (without 0x, with leading zeros, in another form)';
const FIX =
  'also deny or limit by another member, or, if assets.yaml can name the asset’s chain, write that chain';

it.each<[string, string, string]>([
  [
    'deny-list: { of: to, list: x }',
    '{ symbol: TON }',
    `p/deny-list#1: assets.yaml sets \`chain: text\` for TON, so its ${TEXT} in to is not denied; ${FIX}`,
  ],
  [
    'allow-list: { of: [to, symbol, memo], list: x }',
    '{ symbol: [TON, ETH] }',
    'p/allow-list#1: assets.yaml sets `chain: text` for TON, so its',
  ],
  ['cooling-period: { of: from, list: x, for: 1h }', '{ symbol: APT }', `so its ${TEXT} in from is refused`],
  ['first-use-limit: { of: to, max: 1 }', '{ symbol: TON }', 'is unknown again'],
  ['member-equals: { member: to, value: x }', '{ symbol: TON }', 'is refused'],
  ['window-limit: { per: [to], window: 1h, max: 1 }', '{ symbol: TON }', 'has a limit of its own'],
  [
    'velocity-limit: { per: [memo, from], window: 1h, max: 1 }',
    '{ source: vault }',
    'p/velocity-limit#1: assets.yaml sets `chain: text` for APT and TON, so their',
  ],
])('policy validate warns of %s for %s, where a chain is text', async (rule, when, said) => {
  const { json } = await warnings(policy(when, rule));
  expect(json).toHaveLength(1);
  expect(json[0]).toContain(said);
});

it('and of a deny-list or a limit where no rule refuses other spellings', async () => {
  const rules = [
    'deny-list: { of: to, list: x }',
    'window-limit: { per: [to], window: 1h, max: 1 }',
    'allow-list: { of: to, list: y }',
  ];
  const bare = await warnings(policy('{ symbol: ETH }', ...rules));
  expect(bare.json).toEqual([
    'p/deny-list#1: no rule refuses a text in to that is not a valid address of ETH, such as one without 0x; such a text is not denied; put the rule address beside it',
    'p/window-limit#2: no rule refuses a text in to that is not a valid address of ETH, such as one without 0x; such a text has a limit of its own; put the rule address beside it',
  ]);
  const unknown = await warnings(policy('{ symbol: KAS }', ...rules), 'none');
  expect(unknown.json).toEqual([
    'p/deny-list#1: the chain of KAS is not known, so another spelling of an address in to is not denied; name it in assets.yaml, and put the rule address beside this one',
    'p/window-limit#2: the chain of KAS is not known, so another spelling of an address in to has a limit of its own; name it in assets.yaml, and put the rule address beside this one',
  ]);
  const none = await warnings(policy('{ source: vault }', rules[0] ?? ''), 'none');
  expect(none.json[0]).toContain('p/deny-list#1: the chain of its assets is not known');
});

it('and not where the rule address stands beside it, there or in a policy that applies as well', async () => {
  const deny = 'deny-list: { of: to, list: x }';
  expect((await warnings(policy('{ symbol: [ETH, XRP] }', 'address: { of: to }', deny))).json).toEqual([]);
  const other = (when: string, mode = ''): string =>
    `${policy('{ source: vault, symbol: ETH }', deny)}---\npolicy: sound\ncallback: transfer\nwhen: ${when}\nrules:\n  - address: {}\n${mode}`;
  expect((await warnings(other('{ symbol: [ETH, XRP] }'))).json).toEqual([]);
  expect((await warnings(other('{ symbol: XRP }'))).json).toHaveLength(1);
  expect((await warnings(other('{ source: other, symbol: ETH }'))).json).toHaveLength(1);
  expect((await warnings(other('{ symbol: ETH }', '    mode: observe\n'))).json).toHaveLength(1);
  // It speaks of from, and the list of to.
  expect((await warnings(policy('{ symbol: ETH }', 'address: { of: from }', deny))).json).toHaveLength(1);
});

it('and says nothing of lists and limits that are of no address', async () => {
  const rules = ['deny-list: { of: memo, list: x }', 'window-limit: { per: [memo], window: 1h, max: 1 }'];
  expect((await warnings(policy('{ symbol: TON }', ...rules))).json).toEqual([]);
});
