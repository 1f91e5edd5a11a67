import { describe, expect, it } from 'vitest';
import { compileRelease } from '../../../src/policy/compile.ts';
import { formatFault } from '../../../src/policy/fault.ts';
import { faultsOf, release } from '../callbacks.ts';
import { ASSETS, ROUTER, USDT } from './transactions.ts';
import { tablesOf, string } from '../../cases.ts';

/** The faults of the rule with these parameters, from `line:column` on. */
function faults(parameters: string, files: Readonly<Record<string, string>> = {}): readonly string[] {
  const policy = `policy: one\ncallback: web3\nwhen: { symbol: ETH }\nrules:\n  - contract-calls: ${parameters}\n`;
  return faultsOf(policy, files, ASSETS).map((fault) =>
    fault.replace(/^a\.yaml:\d+:\d+: rules\[0\]\.contract-calls(?:\.|: )?/, ''),
  );
}

const entry = (written: string): string => `{ calls: [${written}] }`;
const transfer = (where: string, more = ''): string =>
  entry(`{ contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: ${where}${more} }`);

const rowsOf = tablesOf(new URL('cases/faults.yaml', import.meta.url), { USDT });

describe('an entry of contract-calls is at fault', () => {
  it.each(rowsOf('entries', string, string, string))('%s', (_, parameters, fault) => {
    expect(faults(parameters)).toEqual([fault]);
  });

  it('if the policy names no network', () => {
    const policy = `policy: one\ncallback: web3\nrules:\n  - contract-calls: { plain: { max: 1 } }\n`;
    expect(faultsOf(policy)).toEqual([
      expect.stringContaining(
        'the policy names no network, and an address is another contract on another network; write main_chain_symbol under when',
      ),
    ]);
  });

  it('for each method of a list by itself', () => {
    const found = faults(
      entry(
        `{ contract: '${USDT}', method: ['transfer(address,uint256)', 'approve(address,uint256)', 'burn()'], decimals: 6, where: { to: any, amount: any } }`,
      ),
    );
    expect(found).toEqual([
      expect.stringContaining('no method "burn()" is known'),
      'calls[0].where.to: approve(address,uint256) has no argument "to"; known here: spender, amount',
    ]);
  });
});

describe('a file of addresses', () => {
  const CHECKED = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
  const using = transfer(`{ to: { file: partners.txt }, amount: any }`);

  it.each([CHECKED, CHECKED.toLowerCase()])('is sound with %s', (address) => {
    expect(faults(using, { 'partners.txt': `# ours\n${address}\n` })).toEqual([]);
  });

  it('is at fault for one whose checksum is wrong, as the policy itself would be', () => {
    const wrong = CHECKED.replace('BeAed', 'BeAeD');
    expect(faults(using, { 'partners.txt': `${wrong}\n` })).toEqual([
      expect.stringContaining(`partners.txt:1:1: "${wrong}" is not an address: its checksum is wrong`),
    ]);
  });
});

describe('an ABI file', () => {
  const using = (signature: string, where: string): string =>
    `{ abis: own.abi, calls: [{ contract: '${ROUTER}', method: '${signature}', where: ${where} }] }`;

  it.each(rowsOf('abi', string, string, string))('may be %s', (_, text, where) => {
    expect(faults(using('stake(uint256,address)', where), { 'own.abi': text })).toEqual([]);
    expect(faults(using('stake(uint, address)', where), { 'own.abi': text })).toEqual([]);
  });

  it.each(rowsOf('unusable', string, string, string))('is at fault if it %s', (_, text, fault) => {
    const found = faults(using('stake(uint256)', '{ 1: any }'), { 'own.abi': text });
    expect(found.filter((each) => each.startsWith('abis'))).toEqual([expect.stringContaining(fault)]);
  });

  const UNREADABLE: readonly (readonly [what: string, text: string, place: string, because: string])[] =
    rowsOf('unreadable', string, string, string, string);

  it.each(UNREADABLE)(
    'with %s makes the entry of that method a fault, with its line',
    (_, text, place, because) => {
      const [fault, ...others] = faults(using('stake(uint256)', '{ 1: any }'), { 'own.abi': text });
      expect(fault).toContain(
        `calls[0].method: the method stake in own.abi:${place} can't be read: ${because}`,
      );
      expect(fault).toMatch(/; correct it there, or leave it out here$/);
      expect(others).toEqual([]);
    },
  );

  it.each(UNREADABLE)(
    'with %s in a method that no entry names is sound, and warns',
    (_, text, place, because) => {
      const rule = `contract-calls: ${using('exit()', '{}')}`;
      const policy = `policy: one\ncallback: web3\nwhen: { symbol: ETH }\nrules:\n  - ${rule}\n`;
      const { warnings, document } = release(policy, { 'own.abi': text });
      expect(warnings.map(formatFault)).toEqual([
        expect.stringContaining(`own.abi:${place}: the method stake can't be read: ${because}`),
      ]);
      // What is stored was looked at when it was pushed.
      const stored = compileRelease(document);
      expect(stored).toMatchObject({ ok: true, release: { document, warnings: [] } });
    },
  );

  it('makes only the entry of an unreadable overload a fault', () => {
    const files = { 'own.abi': 'stake(uint256 a)\nstake(uint257 a)' };
    expect(faults(using('stake(uint256)', '{ a: any }'), files)).toEqual([]);
    expect(faults(using('stake(uint257)', '{ a: any }'), files)).toEqual([
      expect.stringContaining("the method stake in own.abi:2:1 can't be read"),
    ]);
  });

  it('is at fault if it is not there', () => {
    expect(faults(using('stake(uint256)', '{ 1: any }'))).toEqual([
      expect.stringContaining('abis[0]: there is no file own.abi; put the file beside the policy'),
    ]);
  });

  it('can rename the arguments of a known method, and takes nothing away from what is known of it', () => {
    const where = (more: string): string =>
      `{ abis: own.abi, calls: [{ contract: '${ROUTER}', method: 'approve(address,uint256)', where: { guy: any, wad: { max: 1 } }${more} }] }`;
    const files = { 'own.abi': 'approve(address guy, uint256 wad)' };
    expect(faults(where(', decimals: 18, unlimited: allowed'), files)).toEqual([]);
    expect(faults(where(''), files)).toEqual([
      expect.stringContaining('wad is an amount, and its decimals are not given'),
    ]);
  });
});
