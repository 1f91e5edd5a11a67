import { asTransaction } from './written.ts';
import { describe, expect, it } from 'vitest';
import type { Release } from '../../../src/policy/release.ts';
import { NOON, evaluateAt, faultsOf, release } from '../callbacks.ts';
import { type Packed, packed } from './written.ts';
import {
  ADDRESSES,
  ACCOUNT,
  DAI,
  MULTICALL3,
  OTHER,
  PARTNER,
  ROUTER,
  THIEF,
  type Transaction,
  USDT,
  WETH,
  call,
  callbackOf,
  transferTo,
  SAFE,
  MULTISEND,
  ZERO,
  EXEC,
} from './transactions.ts';
import { tablesOf, string } from '../../cases.ts';

const LIBRARY = '0x4444444444444444444444444444444444444444';

const OWN_ABI = `batch(bytes32 id, (address target, uint256 value, bytes data)[] calls)
parallel(address[] to, uint256[] wei, bytes[] data)
forward(bytes data)
proxied(bytes[] data)
groups((address target, bytes[] data)[] batches)
sign(bytes data)
`;

const POLICY = `policy: one
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      abis: own.abi
      accounts: '${SAFE}'
      multicall: { depth: 3, calls: 5 }
      plain: { max: 1, to: { values: '${PARTNER}' } }
      calls:
        - contract: '${SAFE}'
          method: ${EXEC}
          where: { safeTxGas: any, baseGas: any, gasPrice: { values: 0 }, gasToken: any, refundReceiver: any, signatures: any }
        - { contract: '${SAFE}', method: 'execTransactionFromModule(address,uint256,bytes,uint8)' }
        - { contract: '${MULTISEND}', method: multiSend(bytes), delegatecall: allowed }
        - { contract: '${LIBRARY}', method: sign(bytes), where: { data: any }, delegatecall: allowed }
        - { contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: { to: { values: ['${PARTNER}', '${OTHER}'] }, amount: { max: 100 } } }
        - { contract: '${DAI}', method: 'transfer(address,uint256)', decimals: 18, where: { to: { is: caller }, amount: { max: 100 } } }
        - { contract: '${WETH}', method: deposit(), value: { max: 1 } }
        - { contract: '${MULTICALL3}', method: 'aggregate3Value((address,bool,uint256,bytes)[])', where: { calls.allowFailure: { values: false } }, value: { max: 1 } }
        - contract: '${ACCOUNT}'
          method: batch(bytes32,(address,uint256,bytes)[])
          calls: { to: calls.target, value: calls.value, data: calls.data }
          where: { id: any }
        - { contract: '${ACCOUNT}', method: 'parallel(address[],uint256[],bytes[])', calls: { to: to, value: wei, data: data } }
        - { contract: '${ACCOUNT}', method: forward(bytes), calls: { to: '${USDT}', value: none, data: data }, value: { max: 1 } }
        - { contract: '${ROUTER}', method: 'proxied(bytes[])', calls: { to: self, data: data }, value: { max: 1 } }
        - { contract: '${ROUTER}', method: deposit(), value: { max: 1 } }
        - { contract: '${ROUTER}', method: withdraw(uint256), decimals: 18, where: { wad: { max: 1 } } }
        - { contract: '${ACCOUNT}', method: 'groups((address,bytes[])[])', calls: { to: '${USDT}', data: batches.data }, where: { batches.target: any } }
`;
const FILES = { 'own.abi': OWN_ABI };
const policies = release(POLICY, FILES);

const judge = (transaction: Transaction, inForce: Release = policies) => {
  const [result] = evaluateAt(inForce, callbackOf(transaction), NOON).results;
  if (result === undefined) throw new Error('the policy did not apply');
  return result;
};
const because = (transaction: Transaction): string => {
  const { verdict, because: text } = judge(transaction);
  expect(verdict).toBe('refuse');
  return text;
};

interface Exec {
  readonly to: string;
  readonly data: string;
  readonly value?: bigint;
  readonly operation?: number;
  readonly gasPrice?: bigint;
}
const exec = ({ to, data, value = 0n, operation = 0, gasPrice = 0n }: Exec): string =>
  call(EXEC, to, value, data, operation, 0n, 0n, gasPrice, ZERO, ZERO, '0x1234');
const safe = (written: Exec, more: Partial<Transaction> = {}): Transaction => ({
  contract: SAFE,
  data: exec(written),
  ...more,
});

const send = (...calls: readonly Packed[]): string => call('multiSend(bytes)', packed(...calls));
const sendRaw = (transactions: string): string => call('multiSend(bytes)', transactions);
const safeSends = (...calls: readonly Packed[]): Transaction =>
  safe({ to: MULTISEND, data: send(...calls), operation: 1 });
const safeSendsRaw = (transactions: string): Transaction =>
  safe({ to: MULTISEND, data: sendRaw(transactions), operation: 1 });

const UNIT = 1_000_000n;
const pay = transferTo(PARTNER, 60n * UNIT);
const at = (contract: string, data: string, more: Partial<Transaction> = {}): Transaction => ({
  contract,
  data,
  ...more,
});

const rowsOf = tablesOf(new URL('cases/wrappers.yaml', import.meta.url), { ...ADDRESSES, EXEC, LIBRARY });

describe('the calls of a Safe pass', () => {
  it.each(rowsOf('safe-passes', string, asTransaction))('%s', (_, transaction) => {
    expect(judge(transaction)).toMatchObject({
      verdict: 'pass',
      because: expect.stringMatching(/ is allowed$/),
    });
  });

  it('and are reported with their path', () => {
    const { values } = judge(safeSends([0, USDT, 0n, pay]));
    expect(values).toMatchObject({
      contract: SAFE,
      method: EXEC,
      'args.gasPrice': '0',
      'call1.path': 'execTransaction > multiSend',
      'call1.contract': MULTISEND,
      'call1.delegatecall': 'true',
      'call1.1.path': 'execTransaction > multiSend > transfer',
      'call1.1.contract': USDT,
      'call1.1.args.amount': '60',
    });
    expect(Object.keys(values).filter((name) => /delegatecall|operation|transactions/.test(name))).toEqual([
      'call1.delegatecall',
    ]);
  });
});

describe('the calls of a Safe are refused:', () => {
  it.each<[string, Transaction, string]>([
    ...rowsOf('safe-refuses', string, asTransaction, string),
    [
      'a packed length of 2^256 - 1',
      safeSendsRaw(packed([0, USDT, 0n, '0x']).slice(0, -64) + 'f'.repeat(64)),
      'call 1: the packed calls end within a call',
    ],
    [
      'a packed length that swallows the next call',
      safeSendsRaw(swallowing()),
      'call 1.1: transfer(address,uint256): 153 bytes follow the last argument',
    ],
  ])('%s', (_, transaction, expected) => {
    expect(because(transaction)).toBe(expected);
  });

  it('with the path to the call', () => {
    expect(judge(safeSends([0, USDT, 0n, pay], [0, USDT, 0n, transferTo(THIEF, 1n)])).values).toMatchObject({
      call: '1.2',
      path: 'execTransaction > multiSend > transfer',
      argument: 'to',
      found: THIEF,
    });
    expect(judge(safe({ to: THIEF, data: '0x', value: 1n })).values).toMatchObject({
      path: 'execTransaction > plain transfer',
    });
    expect(judge(safe({ to: USDT, data: '0xdeadbeef' })).values).toMatchObject({
      path: 'execTransaction > 0xdeadbeef',
    });
    expect(judge(safe({ to: PARTNER, data: '0x', operation: 1 })).values).toEqual({
      contract: SAFE,
      method: EXEC,
    });
  });

  it('at the bounds they pass', () => {
    const deep = safe({ to: SAFE, data: exec({ to: SAFE, data: exec({ to: USDT, data: pay }) }) });
    expect(judge(deep).verdict).toBe('pass');
    const many = Array.from({ length: 4 }, (): Packed => [0, USDT, 0n, transferTo(PARTNER, 1n)]);
    expect(judge(safeSends(...many)).verdict).toBe('pass');
  });
});

/** Two packed calls, the first with a length that covers the second as well. */
function swallowing(): string {
  const [first, second] = [packed([0, USDT, 0n, pay]), packed([0, THIEF, 1n, pay])];
  const length = 68n + BigInt((second.length - 2) / 2);
  return (
    first.slice(0, 2 + 106) + length.toString(16).padStart(64, '0') + first.slice(2 + 170) + second.slice(2)
  );
}

describe('a wrapper of an own ABI', () => {
  it.each(rowsOf('own-passes', string, asTransaction))('passes: %s', (_, transaction) => {
    expect(judge(transaction).verdict).toBe('pass');
  });

  it.each(rowsOf('own-refuses', string, asTransaction, string))(
    'is refused: %s',
    (_, transaction, expected) => {
      expect(because(transaction)).toBe(expected);
    },
  );
});

describe('a wrapper that is known', () => {
  it('stays one if an ABI file gives its arguments other names', () => {
    const renamed = release(
      `policy: one
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      abis: own.abi
      multicall: { depth: 2, calls: 2 }
      calls:
        - contract: '${SAFE}'
          method: execTransactionFromModule(address,uint256,bytes,uint8)
        - { contract: '${MULTISEND}', method: multiSend(bytes), delegatecall: allowed }
        - { contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: { to: { values: '${PARTNER}' }, amount: { max: 100 } } }
`,
      {
        'own.abi':
          'execTransactionFromModule(address target, uint256 wei, bytes payload, uint8 kind)\nmultiSend(bytes packed)\n',
      },
    );
    const byModule = (to: string, data: string, operation: number): Transaction =>
      at(SAFE, call('execTransactionFromModule(address,uint256,bytes,uint8)', to, 0n, data, operation));
    expect(judge(byModule(USDT, pay, 0), renamed).verdict).toBe('pass');
    expect(judge(byModule(MULTISEND, send([0, USDT, 0n, pay]), 1), renamed).verdict).toBe('pass');
    expect(judge(byModule(USDT, pay, 1), renamed).verdict).toBe('refuse');
    expect(judge(byModule(MULTISEND, send([0, THIEF, 0n, pay]), 1), renamed).verdict).toBe('refuse');
  });
});

describe('an entry with calls is at fault', () => {
  const faults = (entries: string, multicall = 'multicall: { depth: 1, calls: 2 }, '): readonly string[] =>
    faultsOf(
      `policy: one\ncallback: web3\nwhen: { symbol: ETH }\nrules:\n  - contract-calls: { abis: own.abi, ${multicall}calls: [${entries}] }\n`,
      { 'own.abi': `${OWN_ABI}odd((address target)[] who, (bytes data)[][] calls, uint256 self)\n` },
    ).map((fault) => fault.replace(/^a\.yaml:\d+:\d+: rules\[0\]\.contract-calls\.?/, ''));
  const own = (method: string, calls: string, more = ''): string =>
    `{ contract: '${ACCOUNT}', method: '${method}', calls: ${calls}${more} }`;

  it.each(rowsOf('faults', string, string, string))('%s', (_, entries, fault) => {
    expect(faults(entries)).toEqual([fault]);
  });

  it('and without multicall', () => {
    expect(faults(own('forward(bytes)', '{ data: data, to: self }'), '')).toEqual([
      'calls[0].method: a method that holds other calls is allowed, and multicall is not given; write multicall: { depth: 1, calls: 16 } beside calls',
    ]);
  });
});
