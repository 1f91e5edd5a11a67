import { encodePacked } from 'viem/utils';
import { describe, expect, it } from 'vitest';
import type { Release } from '../../../src/policy/release.ts';
import { NOON, evaluateAt, faultsOf, release } from '../callbacks.ts';
import {
  ACCOUNT,
  DAI,
  ME,
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
  withWord,
  SAFE,
  MULTISEND,
  ZERO,
  EXEC,
} from './transactions.ts';
import { tablesOf, string } from '../../cases.ts';

const LIBRARY = '0x4444444444444444444444444444444444444444';
const ETHER = 10n ** 18n;

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

type Packed = readonly [operation: number, to: string, value: bigint, data: string];
const hex = (text: string): `0x${string}` => `0x${text.slice(2)}`;
const packed = (...calls: readonly Packed[]): string =>
  `0x${calls
    .map(([operation, to, value, data]) =>
      encodePacked(
        ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
        [operation, hex(to), value, BigInt(data.length / 2 - 1), hex(data)],
      ).slice(2),
    )
    .join('')}`;
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

describe('the calls of a Safe pass', () => {
  it.each<[string, Transaction]>([
    ['a transfer', safe({ to: USDT, data: pay })],
    ['a plain transfer of coins', safe({ to: PARTNER, data: '0x', value: ETHER })],
    ['a deposit with coins of the account', safe({ to: WETH, data: call('deposit()'), value: ETHER })],
    [
      'two transfers by multiSend',
      safeSends([0, USDT, 0n, pay], [0, USDT, 0n, transferTo(OTHER, 40n * UNIT)]),
    ],
    ['a transfer and coins by multiSend', safeSends([0, USDT, 0n, pay], [0, PARTNER, ETHER, '0x'])],
    [
      'a method that may run by delegatecall',
      safe({ to: LIBRARY, data: call('sign(bytes)', '0x01'), operation: 1 }),
    ],
    [
      'the same by a module',
      at(SAFE, call('execTransactionFromModule(address,uint256,bytes,uint8)', USDT, 0n, pay, 0)),
    ],
    ['multiSend by a call of its own', at(MULTISEND, send([0, USDT, 0n, pay]))],
    [
      'a delegatecall within multiSend, where the method allows it',
      safeSends([1, LIBRARY, 0n, call('sign(bytes)', '0x')]),
    ],
    ['what the account sends to itself', safe({ to: DAI, data: transferTo(SAFE, ETHER) })],
    ['the same by multiSend, which runs as the account', safeSends([0, DAI, 0n, transferTo(SAFE, ETHER)])],
  ])('%s', (_, transaction) => {
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
    [
      'a recipient who is no partner',
      safe({ to: USDT, data: transferTo(THIEF, 1n) }),
      `call 1: to ${THIEF} is not among the values of the policy`,
    ],
    [
      'a contract without entries',
      safe({ to: THIEF, data: pay }),
      `call 1: no call of the contract ${THIEF} is allowed`,
    ],
    [
      'a method of the account itself',
      safe({ to: SAFE, data: call('enableModule(address)', THIEF) }),
      `call 1: an unknown method (0x610b5925) of ${SAFE} is not allowed`,
    ],
    [
      'a delegatecall to a token',
      safe({ to: USDT, data: pay, operation: 1 }),
      'call 1: transfer(address,uint256) is run by delegatecall, and that is not allowed',
    ],
    [
      'a delegatecall to a stranger',
      safe({ to: THIEF, data: '0xdeadbeef', operation: 1 }),
      `call 1: no call of the contract ${THIEF} is allowed`,
    ],
    [
      'a delegatecall without call data',
      safe({ to: PARTNER, data: '0x', operation: 1 }),
      `a delegatecall to ${PARTNER} has no call data`,
    ],
    [
      'a delegatecall that names a value',
      safe({ to: MULTISEND, data: send([0, USDT, 0n, pay]), operation: 1, value: 1n }),
      `a delegatecall to ${MULTISEND} has a value, and would not send it`,
    ],
    [
      'an operation that is neither',
      safe({ to: USDT, data: pay, operation: 2 }),
      'the operation 2 is neither a call (0) nor a delegatecall (1)',
    ],
    [
      'an operation with dirty bytes above it',
      at(SAFE, withWord(exec({ to: USDT, data: pay }), 3, 1n << 8n)),
      `${EXEC}: operation is more than a uint8 holds: its upper bytes are not zero`,
    ],
    [
      'a gas price that pays a stranger',
      safe({ to: USDT, data: pay, gasPrice: 1n }),
      'gasPrice 1 is not among the values of the policy',
    ],
    [
      'coins smuggled into a transfer',
      safe({ to: USDT, data: pay, value: 1n }),
      'call 1: the native value 0.000000000000000001 of transfer(address,uint256) is above the maximum 0',
    ],
    [
      'coins along with the account’s own call',
      safe({ to: USDT, data: pay }, { amount: '1' }),
      `the native value 1 of ${EXEC} is above the maximum 0`,
    ],
    [
      'more coins than a plain transfer may have',
      safe({ to: PARTNER, data: '0x', value: ETHER + 1n }),
      'call 1: the plain transfer of 1.000000000000000001 is above the maximum 1',
    ],
    [
      'coins to a stranger',
      safe({ to: THIEF, data: '0x', value: 1n }),
      `call 1: to ${THIEF} of a plain transfer is not among the values of the policy`,
    ],
    [
      'an unlimited amount',
      safe({ to: USDT, data: pay }, { amount: '-1' }),
      'the callback’s amount is unlimited (-1), and unlimited amounts are not allowed',
    ],
    [
      'bytes behind the inner call',
      safe({ to: USDT, data: `${pay}00` }),
      'call 1: transfer(address,uint256): 1 bytes follow the last argument',
    ],
    [
      'half a selector',
      safe({ to: USDT, data: '0xa905' }),
      'call 1: the call data is shorter than a selector',
    ],
    [
      'what somebody else’s account sends to the sender',
      safe({ to: DAI, data: transferTo(ME, 1n) }),
      `call 1: to ${ME} is not the caller ${SAFE}`,
    ],
    [
      'the same by multiSend, called and not run as the account',
      at(MULTISEND, send([0, DAI, 0n, transferTo(ME, 1n)])),
      `call 1: to ${ME} is not the caller ${MULTISEND}`,
    ],
    [
      'the second of two packed calls',
      safeSends([0, USDT, 0n, pay], [0, USDT, 0n, transferTo(THIEF, 1n)]),
      `call 1.2: to ${THIEF} is not among the values of the policy`,
    ],
    [
      'packed calls above the limit together',
      safeSends([0, USDT, 0n, pay], [0, USDT, 0n, pay]),
      'call 1.2: amount of transfer(address,uint256) is 120 over all calls together, above the maximum 100',
    ],
    [
      'a packed delegatecall to a token',
      safeSends([1, USDT, 0n, pay]),
      'call 1.1: transfer(address,uint256) is run by delegatecall, and that is not allowed',
    ],
    [
      'a packed operation that is neither',
      safeSends([7, USDT, 0n, pay]),
      'call 1: the operation 7 is neither a call (0) nor a delegatecall (1)',
    ],
    [
      'a packed call to the zero address',
      safeSends([0, ZERO, 0n, pay]),
      'call 1: a packed call is to the zero address, which some versions take for the account itself',
    ],
    [
      'packed coins to a stranger',
      safeSends([0, USDT, 0n, pay], [0, THIEF, 1n, '0x']),
      `call 1.2: to ${THIEF} of a plain transfer is not among the values of the policy`,
    ],
    ['no packed call', safeSends(), 'call 1: multiSend(bytes) contains no call'],
    ['half of a packed head', safeSendsRaw('0x00'), 'call 1: the packed calls end within a call'],
    [
      'packed data that is cut short',
      safeSendsRaw(packed([0, USDT, 0n, pay]).slice(0, -2)),
      'call 1: the packed calls end within a call',
    ],
    [
      'a byte behind the packed calls',
      safeSendsRaw(`${packed([0, USDT, 0n, pay])}00`),
      'call 1: the packed calls end within a call',
    ],
    [
      'padding behind the packed calls',
      safeSendsRaw(`${packed([0, USDT, 0n, pay])}${'00'.repeat(32)}`),
      'call 1: the packed calls end within a call',
    ],
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
    [
      'a packed length that hides a call in the data of the one before',
      safeSends([0, LIBRARY, 0n, call('sign(bytes)', '0x')], [0, THIEF, 0n, '0xdeadbeef']),
      `call 1.2: no call of the contract ${THIEF} is allowed`,
    ],
    [
      'nested one deeper than the bound',
      safe({
        to: SAFE,
        data: exec({ to: SAFE, data: exec({ to: SAFE, data: exec({ to: USDT, data: pay }) }) }),
      }),
      `call 1.1.1: ${EXEC} contains calls at a depth of 4; at most 3 is allowed`,
    ],
    [
      'one call more than the bound',
      safeSends(...Array.from({ length: 5 }, (): Packed => [0, USDT, 0n, transferTo(PARTNER, 1n)])),
      'call 1: there are at least 6 inner calls; at most 5 are allowed',
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
  const batch = (...calls: readonly (readonly [string, bigint, string])[]): Transaction =>
    at(ACCOUNT, call('batch(bytes32,(address,uint256,bytes)[])', `0x${'00'.repeat(32)}`, calls));
  const parallel = (to: readonly string[], wei: readonly bigint[], data: readonly string[]): Transaction =>
    at(ACCOUNT, call('parallel(address[],uint256[],bytes[])', to, wei, data));
  const forward = (data: string, more: Partial<Transaction> = {}): Transaction =>
    at(ACCOUNT, call('forward(bytes)', data), more);
  const proxied = (data: readonly string[], more: Partial<Transaction> = {}): Transaction =>
    at(ROUTER, call('proxied(bytes[])', data), more);

  it.each<[string, Transaction]>([
    ['calls in tuples', batch([USDT, 0n, pay], [PARTNER, ETHER, '0x'])],
    ['calls in lists of their own', parallel([USDT, WETH], [0n, ETHER], [pay, call('deposit()')])],
    ['calls of one contract', forward(pay)],
    ['calls of one contract that get no coins', forward(pay, { amount: '1' })],
    ['calls of itself, which see its coins', proxied([call('deposit()')], { amount: '1' })],
    [
      'lists of lists, all for one contract',
      at(
        ACCOUNT,
        call('groups((address,bytes[])[])', [
          [THIEF, [pay]],
          [THIEF, []],
        ]),
      ),
    ],
  ])('passes: %s', (_, transaction) => {
    expect(judge(transaction).verdict).toBe('pass');
  });

  it.each<[string, Transaction, string]>([
    [
      'a call to a stranger',
      batch([USDT, 0n, pay], [THIEF, 0n, pay]),
      `call 2: no call of the contract ${THIEF} is allowed`,
    ],
    [
      'coins in a call that may have none',
      batch([USDT, 1n, pay]),
      'call 1: the native value 0.000000000000000001 of transfer(address,uint256) is above the maximum 0',
    ],
    ['no call', batch(), 'batch(bytes32,(address,uint256,bytes)[]) contains no call'],
    [
      'fewer contracts than calls',
      parallel([USDT], [0n, 0n], [pay, pay]),
      'an inner call has no selector, target or value',
    ],
    [
      'more values than calls',
      parallel([USDT], [0n, ETHER], [pay]),
      'an inner call has no selector, target or value',
    ],
    [
      'a call of the fixed contract that is not allowed',
      forward(call('approve(address,uint256)', THIEF, 1n)),
      `call 1: approve(address,uint256) (0x095ea7b3) of ${USDT} is not allowed`,
    ],
    [
      'a call of itself that is not allowed',
      proxied([pay]),
      `call 1: transfer(address,uint256) (0xa9059cbb) of ${ROUTER} is not allowed`,
    ],
    [
      'calls of itself that see the same coins',
      proxied([call('deposit()'), call('deposit()')], { amount: '0.6' }),
      'call 2: the native value of deposit() is 1.2 over all calls together, above the maximum 1',
    ],
    [
      'coins that a call of itself may not see',
      proxied([call('withdraw(uint256)', 1n)], { amount: '1' }),
      'call 1: the native value 1 of withdraw(uint256) is above the maximum 0',
    ],
    ['an empty call of itself', proxied(['0x']), 'an inner call has no selector, target or value'],
  ])('is refused: %s', (_, transaction, expected) => {
    expect(because(transaction)).toBe(expected);
  });
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

const rowsOf = tablesOf(new URL('cases/wrappers.yaml', import.meta.url), { USDT, ACCOUNT });

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
