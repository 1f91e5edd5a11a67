import { describe, expect, it } from 'vitest';
import { type Place, place } from '../terminal.ts';

const [EQ, UQ, RAW, MIXED] = [
  'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF',
  'UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA',
  '0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e',
  '0:Ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3E',
];
const R = 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh';
const EVM = '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed';
const ASSETS = `assets:
  TON: { chain: ton, decimals: 9 }
  ETH: { chain: evm, decimals: 18 }
  XRP: { chain: ripple, decimals: 6 }
  KAS: { chain: text, spellings: one, decimals: 8 }
`;
const ABI = 'spend(address by)\nnote(string text)\nset(uint256 id)\nkey(bytes4 code)\n';
/** A policy in which the list is for an argument of a call. */
const calls = (method: string, argument: string): string =>
  policy(
    'p',
    '{ symbol: ETH }',
    `contract-calls: { abis: own.abi, calls: [{ contract: '${EVM}', method: '${method}', where: { ${argument}: { not-list: l } } }] }`,
    'web3',
  );

const policy = (name: string, when: string, rule: string, kind = 'transfer'): string =>
  `policy: ${name}\ncallback: ${kind}\nwhen: ${when}\nrules:\n  - ${rule}\n`;

/** A folder in which these policies are in force. */
async function inForce(...policies: readonly string[]): Promise<Place> {
  const made = place({
    policies: { 'assets.yaml': ASSETS, 'own.abi': ABI, 'a.yaml': policies.join('---\n') },
  });
  expect((await made.run`policy push --message x`).code).toBe(0);
  return made;
}

const valuesOf = async ({ run }: Place, list: string): Promise<readonly string[]> =>
  (await run`list show ${list}`).out
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(/ # .*/, ''));

const TON_ONLY = '{ source: vault, symbol: TON }';

describe('list add keeps the canonical form of an address', () => {
  it.each<[rule: string, added: string, kept: string]>([
    ['deny-list: { of: to, list: l }', UQ, EQ],
    ['deny-list: { of: to, list: l }', MIXED, EQ],
    ['allow-list: { of: [symbol, to, memo], list: l }', `TON ${RAW} order 7`, `TON ${EQ} order 7`],
    ['cooling-period: { of: [from, to], list: l, for: 1h }', `${UQ} ${RAW}`, `${EQ} ${EQ}`],
  ])('where a rule in force looks it up: %s', async (rule, added, kept) => {
    const made = await inForce(policy('p', TON_ONLY, rule));
    expect((await made.run`list add l ${added} --source vault`).code).toBe(0);
    expect(await valuesOf(made, 'l')).toEqual([kept]);
    const again = await made.run`list add l ${kept} ${added} --source vault`;
    expect(again.out).toContain('0 added, 1 entry now');
  });

  it('where --asset names its asset, although no rule is in force', async () => {
    const made = place({ policies: { 'assets.yaml': ASSETS } });
    await made.run(
      'list',
      'add',
      '--create',
      'l',
      `${UQ} TON 7`,
      MIXED,
      '--asset',
      'TON',
      '--source',
      'vault',
    );
    expect(await valuesOf(made, 'l')).toEqual([EQ, `${EQ} TON 7`]);
  });

  it.each<[rules: readonly string[], kept: string]>([
    // The other asset is compared as text, so it needs the text itself.
    [[policy('p', '{ symbol: [TON, KAS] }', 'deny-list: { of: to, list: l }')], UQ],
    [[policy('p', '{ source: vault }', 'deny-list: { of: to, list: l }')], UQ],
    [
      [
        policy('p', TON_ONLY, 'deny-list: { of: to, list: l }'),
        policy('q', '{ symbol: KAS }', 'deny-list: { of: to, list: l }'),
      ],
      UQ,
    ],
    [
      [
        policy('p', TON_ONLY, 'deny-list: { of: to, list: l }'),
        policy('q', '{ source: shop }', 'deny-list: { of: userId, list: l }', 'payment'),
      ],
      EQ,
    ],
  ])('but not where another asset may need its text: %#', async (policies, kept) => {
    const made = await inForce(...policies);
    await made.run`list add l ${UQ} --source vault`;
    expect(await valuesOf(made, 'l')).toEqual([kept]);
  });
});

it.each([
  [calls('spend(address)', 'by'), EVM.replace('5aa', '5AA').toUpperCase().replace('0X', '0x'), EVM],
  [calls('note(string)', 'text'), 'Evil Bridge 0xDEAD', 'Evil Bridge 0xdead'],
  [calls('note(string)', 'text'), 'cafe\u0301 7', 'caf\u00e9 7'],
  [calls('set(uint256)', 'id'), '123', '123'],
  [calls('key(bytes4)', 'code'), '0xABCDEF01', '0xabcdef01'],
])(
  'list add keeps an argument of a call in the form that is looked up: %# %s',
  async (calling, added, kept) => {
    const made = await inForce(calling);
    expect((await made.run`list add l ${added} --source vault`).code).toBe(0);
    expect(await valuesOf(made, 'l')).toEqual([kept]);
  },
);

describe('list remove takes an address off in whatever spelling it was added', () => {
  it.each([EQ, UQ, RAW, MIXED])('by %s', async (removed) => {
    const made = await inForce(policy('p', TON_ONLY, 'allow-list: { of: to, list: l }'));
    for (const added of [EQ, UQ, RAW]) {
      expect((await made.run`list add l ${added} --source vault`).code).toBe(0);
    }
    expect((await made.run`list remove l ${removed}`).out).toContain('1 removed, 0 entries now');
  });

  it('also if it was added while no rule was in force', async () => {
    const made = place({
      policies: { 'assets.yaml': ASSETS, 'a.yaml': policy('p', TON_ONLY, 'allow-list: { of: to, list: l }') },
    });
    await made.run`list add --create l ${UQ} ${RAW} --source vault`;
    expect(await valuesOf(made, 'l')).toEqual([RAW, UQ]);
    expect((await made.run`list remove l ${EQ}`).out).toContain('0 removed, 2 entries now');
    await made.run`policy push --message x`;
    expect((await made.run`list remove l ${EQ}`).out).toContain('2 removed, 0 entries now');
  });
});

describe('list add refuses what no rule in force can match', () => {
  it.each<[policies: readonly string[], value: string, said: string]>([
    [
      [policy('p', '{ symbol: ETH }', 'deny-list: { of: to, list: l }')],
      EVM.slice(2),
      'is not an address of ETH: it is not 0x and 40 hexadecimal digits',
    ],
    [
      [policy('p', '{ symbol: ETH }', 'deny-list: { of: to, list: l }')],
      EVM.replace('5aa', '5aA'),
      'its checksum is wrong',
    ],
    [
      [policy('p', TON_ONLY, 'deny-list: { of: to, list: l }')],
      EQ.replace('HF', 'HG'),
      'of TON: its checksum is wrong',
    ],
    [
      [policy('p', '{ symbol: [TON, ETH] }', 'deny-list: { of: to, list: l }')],
      R,
      'is not an address of TON',
    ],
    [
      [policy('p', '{ source: vault }', 'allow-list: { of: [to, symbol, memo], list: l }')],
      `${R} XRP 0123`,
      '"0123" is not a destination tag of XRP',
    ],
    [
      [policy('p', '{ source: vault }', 'allow-list: { of: [to, symbol, memo], list: l }')],
      `${R} XRP`,
      'it has too few parts for to, symbol, memo',
    ],
    [
      [policy('p', '{ source: shop }', 'deny-list: { of: userId, list: l }', 'payment')],
      'user-7',
      `userId can't be "user-7"`,
    ],
    [[calls('spend(address)', 'by')], EVM.slice(2), 'is not an address: it is not 0x and 40'],
    [[calls('set(uint256)', 'id')], '0123', '"0123" is not valid'],
    [[calls('set(uint256)', 'id')], '1.5', '1.5 has 1 digits after the point'],
    [[calls('key(bytes4)', 'code')], '0xABCDEF', 'is not a value of the type bytes4'],
  ])('%# %s', async (policies, value, said) => {
    const { run } = await inForce(...policies);
    const source = value === 'user-7' ? 'shop' : 'vault';
    const { code, out, err } = await run`list add l ${value} --source ${source}`;
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
    expect(err).toContain('Correct it, or push the policy that needs it first');
    expect((await run`list show --json`).json()).toEqual([]);
  });

  it('but adds what one of them can match, and anything where none looks', async () => {
    const made = await inForce(
      policy('p', '{ source: vault, symbol: ETH }', 'deny-list: { of: to, list: l }'),
      policy('q', '{ source: vault, symbol: XRP }', 'deny-list: { of: memo, list: l }'),
    );
    expect((await made.run`list add l 7 ${EVM} --source vault`).code).toBe(0);
    expect((await made.run`list add --create other ${EVM.slice(2)} --source vault`).code).toBe(0);
    expect((await made.run`list add --create l ${EVM.slice(2)} --source shop`).code).toBe(0);
    const { code, err } = await made.run`list add l 8 ${EVM.slice(2)}`;
    expect([code, err]).toEqual([2, expect.stringContaining(`the value "${EVM.slice(2)}"`)]);
    expect(await valuesOf(made, 'other')).toEqual([EVM.slice(2)]);
  });
});
