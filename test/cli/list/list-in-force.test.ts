import { describe, expect, it } from 'vitest';
import { type Column, string, tablesOf } from '../../cases.ts';
import { type Place, place } from '../terminal.ts';

const [EQ, UQ, RAW, MIXED] = [
  'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF',
  'UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA',
  '0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e',
  '0:Ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3E',
];
const EVM = '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed';
const ASSETS = `assets:
  TON: { chain: ton, decimals: 9 }
  ETH: { chain: evm, decimals: 18 }
  XRP: { chain: ripple, decimals: 6 }
  KAS: { chain: text, spellings: one, decimals: 8 }
`;
const ABI = 'spend(address by)\nnote(string text)\nset(uint256 id)\nkey(bytes4 code)\n';
const policy = (name: string, when: string, rule: string, kind = 'transfer'): string =>
  `policy: ${name}\ncallback: ${kind}\nwhen: ${when}\nrules:\n  - ${rule}\n`;

/** Policies, each as `[when, rule]`, or as `[method, argument]` if the list is for an argument of a call. */
const policiesOf: Column<readonly string[]> = (written, names) => {
  if (!Array.isArray(written)) throw new Error('policies are a list');
  return written.map((each: readonly [string, string], at) => {
    const [first, second] = each.map((text) => string(text, names));
    if (first?.startsWith('{') === true) {
      const kind = first.includes('shop') ? 'payment' : 'transfer';
      return policy(`p${at}`, first, second ?? '', kind);
    }
    const call = `{ contract: '${EVM}', method: '${first}', where: { ${second}: { not-list: l } } }`;
    return policy(`p${at}`, '{ symbol: ETH }', `contract-calls: { abis: own.abi, calls: [${call}] }`, 'web3');
  });
};
const rowsOf = tablesOf(new URL('cases/list-in-force.yaml', import.meta.url));

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

describe('list add keeps the canonical form of a value', () => {
  it.each(rowsOf('kept', policiesOf, string, string))(
    'where a rule in force looks it up: %#, %s',
    async (policies, added, kept) => {
      const made = await inForce(...policies);
      expect((await made.run`list add l ${added} --source vault`).code).toBe(0);
      expect(await valuesOf(made, 'l')).toEqual([kept]);
      const again = await made.run`list add l ${kept} ${added} --source vault`;
      expect(again.out).toContain('0 added, 1 entry now');
    },
  );

  it('where --asset names its asset, although no rule is in force', async () => {
    const made = place({ policies: { 'assets.yaml': ASSETS } });
    await made.run`list add --create l ${`${UQ} TON 7`} ${MIXED} --asset TON --source vault`;
    expect(await valuesOf(made, 'l')).toEqual([EQ, `${EQ} TON 7`]);
  });
});

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
  it.each(rowsOf('refused', policiesOf, string, string))('%# %s', async (policies, value, said) => {
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
