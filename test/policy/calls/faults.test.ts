import { describe, expect, it } from 'vitest';
import { compileRelease } from '../../../src/policy/compile.ts';
import { formatFault } from '../../../src/policy/fault.ts';
import { faultsOf, release } from '../callbacks.ts';
import { ASSETS, MULTICALL3, PARTNER, ROUTER, USDT } from './transactions.ts';

const LATER = '{ max: 1 }';

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
const method = (signature: string, more = ''): string =>
  entry(`{ contract: '${USDT}', method: '${signature}'${more} }`);

describe('an entry of contract-calls is at fault', () => {
  it.each<[string, string, string]>([
    [
      'without anything',
      '{}',
      'it has neither calls nor plain, so no transaction could pass; give at least one of them',
    ],
    [
      'with a method that nobody knows',
      method('transfr(address,uint256)'),
      'calls[0].method: no method "transfr(address,uint256)" is known; did you mean transfer(address,uint256)? If not, add an ABI file with this method under abis',
    ],
    [
      'with a method by its name alone',
      method('approve'),
      'calls[0].method: no method "approve" is known; did you mean approve(address,uint256) or approve(address,address,uint160,uint48)? If not, add an ABI file with this method under abis',
    ],
    [
      'with a selector',
      method('0xa9059cbb'),
      'calls[0].method: no method "0xa9059cbb" is known; add an ABI file with this method under abis',
    ],
    [
      'with a method that holds packed calls, and no multicall',
      method('multiSend(bytes)'),
      'calls[0].method: a method that holds other calls is allowed, and multicall is not given; write multicall: { depth: 1, calls: 16 } beside calls',
    ],
    [
      'with a method that holds calls, and no multicall',
      method('multicall(bytes[])'),
      'calls[0].method: a method that holds other calls is allowed, and multicall is not given; write multicall: { depth: 1, calls: 16 } beside calls',
    ],
    [
      'with half a contract',
      entry(`{ contract: '0x1234', method: deposit() }`),
      'calls[0].contract: "0x1234" is not a contract address: it is not 0x and 40 hexadecimal digits; copy it again',
    ],
    [
      'with half an account',
      `{ calls: [{ contract: '${USDT}', method: deposit() }], accounts: '0x1234' }`,
      'accounts: "0x1234" is not a contract address: it is not 0x and 40 hexadecimal digits; copy it again',
    ],
    [
      'with an account that is a multicall for anybody',
      `{ calls: [{ contract: '${USDT}', method: 'aggregate((address,bytes)[])' }], multicall: { depth: 1, calls: 2 }, accounts: ['${USDT}'] }`,
      `accounts: anybody may call aggregate of ${USDT.toLowerCase()}, and take what it holds; leave it out`,
    ],
    [
      'with a slip in the checksum',
      entry(`{ contract: '0xdAC17F958D2ee523a2206206994597C13D831eC7', method: deposit() }`),
      'calls[0].contract: "0xdAC17F958D2ee523a2206206994597C13D831eC7" is not a contract address: its checksum is wrong: its upper-case letters match neither EIP-55 nor EIP-1191; copy it again',
    ],
    [
      'with a slip in its name',
      entry(`{ contract: '${USDT}', method: deposit(), valu: ${LATER} }`),
      'calls[0].valu: "valu" is not known here; did you mean value? (known here: contract, method, decimals, asset, where, unlimited, value, recipient, trailing, calls, delegatecall)',
    ],
    [
      'without a method',
      entry(`{ contract: '${USDT}' }`),
      'calls[0].method: method is missing; write a text, or a list of texts',
    ],
    [
      'with an argument left out',
      transfer(`{ to: any }`),
      'calls[0].where: transfer(address,uint256): there is no condition on amount; under where, write a condition for each, or any',
    ],
    [
      'with all arguments left out',
      method('approve(address,uint256)'),
      'calls[0]: approve(address,uint256): there is no condition on spender, amount; under where, write a condition for each, or any',
    ],
    [
      'with an argument that the method does not have',
      transfer(`{ too: any, amount: ${LATER} }`),
      'calls[0].where.too: transfer(address,uint256) has no argument "too"; did you mean to? (known here: to, amount)',
    ],
    [
      'with a place that the method does not have',
      transfer(`{ to: any, 3: ${LATER} }`),
      'calls[0].where.3: transfer(address,uint256) has no argument "3"; known here: to, amount',
    ],
    [
      'with an argument by name and by place',
      transfer(`{ to: any, amount: ${LATER}, 2: any }`),
      'calls[0].where.amount: amount is named twice; keep one of the two',
    ],
    [
      'with a limit on an address',
      transfer(`{ to: ${LATER}, amount: any }`),
      'calls[0].where.to.max: max does not fit to (address); for it: any, values, file, list, not-list, is',
    ],
    [
      'with the sender as an amount',
      transfer(`{ to: any, amount: { is: sender } }`),
      'calls[0].where.amount.is: is does not fit amount (uint256); for it: any, values, list, not-list, min, max, each, decimals, asset, within, atLeast',
    ],
    [
      'with a slip in a condition',
      transfer(`{ to: { valeus: x }, amount: any }`),
      'calls[0].where.to.valeus: "valeus" is not known here; did you mean values? (known here: values, file, list, not-list, is)',
    ],
    [
      'with a condition that asks nothing',
      transfer(`{ to: {}, amount: any }`),
      'calls[0].where.to: there is no condition on to (address); write any if every value is allowed',
    ],
    [
      'with decimals alone',
      transfer(`{ to: any, amount: { decimals: 6 } }`),
      'calls[0].where.amount: there is no condition on amount (uint256); write any if every value is allowed',
    ],
    [
      'with a condition that is a text',
      transfer(`{ to: '${PARTNER}', amount: any }`),
      `calls[0].where.to: "${PARTNER}" is not valid; write any, or a mapping of conditions like { values: [0x…] }, { list: partners } or { max: 1000 }`,
    ],
    [
      'with an address that is none',
      transfer(`{ to: { values: [partner] }, amount: any }`),
      'calls[0].where.to.values: "partner" is not an address: it is not 0x and 40 hexadecimal digits; copy it again',
    ],
    [
      'with a list of no name',
      transfer(`{ to: { list: My List }, amount: any }`),
      'calls[0].where.to.list: "My List" is not valid; write the name of a list in the store: lower-case letters, digits and hyphens, a letter first',
    ],
    [
      'with a file that is not there',
      transfer(`{ to: { file: partners.txt }, amount: any }`),
      'calls[0].where.to.file: there is no file partners.txt; put the file beside the policy, one value on each line',
    ],
    [
      'with more digits than the token has',
      transfer(`{ to: any, amount: { max: 0.0000001 } }`),
      'calls[0].where.amount.max: 0.0000001 has 7 digits after the point, and the argument has 6; round it',
    ],
    [
      'with a maximum that is none',
      transfer(`{ to: any, amount: { max: 1e4 } }`),
      'calls[0].where.amount.max: "1e4" is not valid; write a plain decimal, like 10000 or 0.5',
    ],
    [
      'with a maximum below zero',
      transfer(`{ to: any, amount: { max: -1 } }`),
      'calls[0].where.amount.max: -1 is outside of the range of the argument; leave it out',
    ],
    [
      'with a maximum as good as none',
      transfer(`{ to: any, amount: { max: ${(2n ** 255n / 1_000_000n + 1n).toString()} } }`),
      'calls[0].where.amount.max: this maximum is so high that it limits nothing; write a lower one; to allow unlimited amounts, write unlimited: allowed beside where',
    ],
    [
      'with a minimum above its maximum',
      transfer(`{ to: any, amount: { min: 2, max: 1 } }`),
      'calls[0].where.amount: min is above max, so nothing could pass; exchange the two',
    ],
    [
      'with decimals twice',
      transfer(`{ to: any, amount: any }`, ', asset: DAI'),
      'calls[0]: it has both decimals and asset; keep one of the two',
    ],
    [
      'with an asset that the table lacks',
      method('withdraw(uint256)', `, asset: DIA, where: { wad: ${LATER} }`),
      'calls[0].asset: the asset table has no "DIA"; known here: DAI, USDT, BTC',
    ],
    [
      'with an asset of another chain',
      method('withdraw(uint256)', `, asset: BTC, where: { wad: ${LATER} }`),
      'calls[0].asset: BTC is on the chain bitcoin, which has no EVM contracts; write decimals instead',
    ],
    [
      'with decimals that are none',
      method('withdraw(uint256)', `, decimals: 37, where: { wad: ${LATER} }`),
      'calls[0].decimals: "37" is not valid; write a whole number from 0 to 36',
    ],
    [
      'with an amount without decimals',
      method('withdraw(uint256)', `, where: { wad: ${LATER} }`),
      'calls[0].where.wad: wad is an amount, and its decimals are not given; write decimals (or asset) in the entry; decimals: 0 counts the smallest units',
    ],
    [
      'with decimals of no amount',
      method('approve(address,uint256)', `, decimals: 6, where: { to: any, tokenId: any }`),
      'calls[0]: no argument of approve(address,uint256) is known to be an amount with decimals; write them in the condition of the argument that is an amount',
    ],
    [
      'with unlimited where nothing could be',
      method('deposit()', ', unlimited: allowed'),
      'calls[0].unlimited: deposit() has no amount and no approval flag, so unlimited has no effect; leave it out',
    ],
    [
      'with another word for unlimited',
      transfer(`{ to: any, amount: any }`, ', unlimited: yes'),
      'calls[0].unlimited: "yes" is not valid; write allowed, or leave it out',
    ],
    [
      'with a native value that is none',
      method('deposit()', ', value: { max: 1e18 }'),
      'calls[0].value.max: "1e18" is not valid; write a plain decimal, like 10000 or 0.5, with at most 36 digits before and after the point',
    ],
    [
      'with a slip in its value',
      method('deposit()', ', value: { max: 1, min: 0 }'),
      'calls[0].value.min: "min" is not known here; known here: max',
    ],
    [
      'with a recipient that is no address',
      transfer(`{ to: any, amount: any }`, ', recipient: amount'),
      'calls[0].recipient: transfer(address,uint256) has no single address "amount"; known here: to',
    ],
    [
      'with a flag that is neither true nor false',
      entry(
        `{ contract: '${USDT}', method: 'setApprovalForAll(address,bool)', where: { operator: any, approved: { values: no } } }`,
      ),
      'calls[0].where.approved.values: "no" is not a value of the type bool; write true or false',
    ],
    [
      'with a condition on what is called',
      `{ multicall: { depth: 1, calls: 1 }, calls: [{ contract: '${MULTICALL3}', method: 'aggregate((address,bytes)[])', where: { calls: any } }] }`,
      'calls[0].where.calls: calls describes the inner calls, which have entries of their own; leave it out here',
    ],
    [
      'with a condition on a whole tuple',
      entry(
        `{ contract: '${USDT}', method: 'lockdown((address,address)[])', where: { approvals: { values: '${USDT}' } } }`,
      ),
      'calls[0].where.approvals: approvals has several members; write a condition for each: approvals.token, approvals.spender',
    ],
    [
      'nested too deep',
      '{ plain: { max: 1 }, multicall: { depth: 5, calls: 1 } }',
      'multicall.depth: "5" is not valid; write a whole number from 1 to 4',
    ],
    [
      'with too many calls within',
      '{ plain: { max: 1 }, multicall: { depth: 1, calls: 257 } }',
      'multicall.calls: "257" is not valid; write a whole number from 1 to 256',
    ],
    [
      'with a slip in multicall',
      '{ plain: { max: 1 }, multicall: { depth: 1, calls: 1, call: 1 } }',
      'multicall.call: "call" is not known here; did you mean calls? (known here: depth, calls)',
    ],
    [
      'with a slip in plain',
      '{ plain: { max: 1, too: any } }',
      'plain.too: "too" is not known here; did you mean to? (known here: max, to)',
    ],
    [
      'with a plain amount that is none',
      '{ plain: { max: -1 } }',
      'plain.max: "-1" is not valid; write a plain decimal, like 10000 or 0.5, with at most 36 digits before and after the point',
    ],
    [
      'with a plain recipient who is none',
      '{ plain: { max: 1, to: { values: x } } }',
      'plain.to.values: "x" is not an address: it is not 0x and 40 hexadecimal digits; copy it again',
    ],
  ])('%s', (_, parameters, fault) => {
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

  it.each<[string, string, string]>([
    ['a signature a line, with and without names', 'stake(uint256, address to)', '{ 1: any, to: any }'],
    [
      'with function, comments, structs and other lines',
      '\n# ours\nfunction stake(uint amount, address to) external payable returns (bool); // v2\nevent Staked(address who)\n',
      '{ amount: any, to: any }',
    ],
    [
      'JSON',
      '[{"type":"constructor","inputs":[]},{"type":"function","name":"stake","inputs":[{"type":"uint256","name":"a"},{"type":"address","name":"b"}],"outputs":[]}]',
      '{ a: { max: 1, decimals: 0 }, b: any }',
    ],
    [
      'JSON of a compiler',
      '{"contractName":"X","abi":[{"name":"stake","inputs":[{"type":"uint256"},{"type":"address"}]}]}',
      '{ 1: any, 2: any }',
    ],
    ['names that are the same', 'stake(uint256 x, address x)', '{ 1: any, 2: any }'],
  ])('may be %s', (_, text, where) => {
    expect(faults(using('stake(uint256,address)', where), { 'own.abi': text })).toEqual([]);
    expect(faults(using('stake(uint, address)', where), { 'own.abi': text })).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['is empty', '', 'it has no method'],
    ['has events alone', 'event Staked(address who)', 'it has no method'],
    ['is half of JSON', '[{"type":', 'own.abi: '],
    ['is JSON of something else', '{"a":1}', 'it is JSON, but not a list of ABI items'],
    ['is too long', `stake() // ${'x'.repeat(262_144)}`, 'at most 262144 are read'],
    [
      'has too long a line',
      `stake(${'uint256 a,'.repeat(500)}uint256 b)`,
      'line 1 has more than 4000 characters',
    ],
    [
      'has too many methods',
      JSON.stringify(Array.from({ length: 501 }, (_, i) => ({ name: `m${i}` }))),
      'it has 501 methods; at most 500 are read',
    ],
    [
      'has too many lines',
      Array.from({ length: 1001 }, (_, i) => `m${i}()`).join('\n'),
      'it has 1001 lines; at most 1000 are read',
    ],
    [
      'has two methods with one selector',
      'transfer(bytes4[9],bytes5[6],int48[11])\nmany_msg_babbage(bytes1 a)',
      'has the same selector 0xa9059cbb as transfer(address,uint256), so call data would be ambiguous',
    ],
    [
      'has two methods of its own with one selector',
      'collate_propagate_storage(bytes16 a)\nburn(uint256 a)',
      'burn(uint256) of own.abi has the same selector 0x42966c68 as collate_propagate_storage(bytes16)',
    ],
  ])('is at fault if it %s', (_, text, fault) => {
    const found = faults(using('stake(uint256)', '{ 1: any }'), { 'own.abi': text });
    expect(found.filter((each) => each.startsWith('abis'))).toEqual([expect.stringContaining(fault)]);
  });

  const READABLE = 'exit()\n';
  const UNREADABLE: readonly (readonly [what: string, text: string, place: string, because: string])[] = [
    ['a type that is none', `${READABLE}stake(uint257 a)`, '2:1', 'it is not a signature: '],
    ['a bracket too few', `${READABLE}stake(uint256 a`, '2:1', 'it is not a signature: '],
    [
      'a type that can not be judged',
      '[{"name":"exit"},\n {"name":"stake","inputs":[{"type":"function"}]}]',
      '2:2',
      '"function" is not a supported type',
    ],
    [
      'types nested too deep',
      `${READABLE}stake(${'('.repeat(20)}uint256 a${')'.repeat(20)} b)`,
      '2:1',
      'its types are nested more than 16 deep',
    ],
  ];

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
