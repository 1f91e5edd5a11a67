import * as fc from 'fast-check';
import { encodePacked } from 'viem/utils';
import { describe, expect, it } from 'vitest';
import type { Movement } from '../../src/callback/callback.ts';
import { withMovements } from '../../src/policy/movements.ts';
import { formatAmount } from '../../src/values/amount.ts';
import {
  ACCOUNT,
  DAI,
  EXEC,
  ITEMS,
  MAX,
  MAX160,
  ME,
  MULTICALL3,
  MULTISEND,
  NFT,
  OTHER,
  PARTNER,
  PERMIT2,
  PROXY,
  ROUTER,
  SAFE,
  THIEF,
  type Transaction,
  USDT,
  WETH,
  ZERO,
  approveFor,
  call,
  multicall,
  transferTo,
} from './calls/transactions.ts';
import { release, web3 } from './callbacks.ts';

/** A token of 36 decimals. */
const DUST = '0x4444444444444444444444444444444444444444';

const ASSETS = `assets:
  ETH: { chain: evm, decimals: 18 }
  BSC: { chain: evm, decimals: 18 }
  BTC: { chain: bitcoin, decimals: 8 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
  DAI: { chain: evm, decimals: 18, contracts: { ETH: '${DAI}' } }
  POINTS: { chain: evm, decimals: 0, contracts: { ETH: '${ITEMS}' } }
  DUST: { chain: evm, decimals: 36, contracts: { ETH: '${DUST}' } }
`;

const WORD = `0x${'0'.repeat(64)}`;

const at = (contract: string, method: string, where = '', more = ''): string =>
  `        - { contract: '${contract}', method: '${method}'${where === '' ? '' : `, where: { ${where} }`}${more} }\n`;
const paying = ', value: { max: 100 }';
const PERMIT = 'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)';

/** The policy can read these calls beside those of the tokens. */
const POLICY = `policy: one
callback: web3
when: { main_chain_symbol: [ETH, BSC, BTC, SOL] }
movements: { approvals: count }
rules:
  - contract-calls:
      accounts: '${SAFE}'
      multicall: { depth: 4, calls: 250 }
      plain: { max: 1000 }
      abis: own.abi
      calls:
${at(ROUTER, 'multicall(bytes[])', '', paying)}\
${at(ROUTER, 'pay(uint256)', 'what: any', paying)}\
${at(ROUTER, 'each((address,bytes)[])', '', `${paying}, calls: { to: calls.target, data: calls.data }`)}\
${at(MULTICALL3, 'tryAggregate(bool,(address,bytes)[])', 'requireSuccess: any', paying)}\
${at(MULTICALL3, 'aggregate3Value((address,bool,uint256,bytes)[])', 'calls.allowFailure: any', paying)}\
${at(ACCOUNT, 'execute(address,uint256,bytes)', '', paying)}\
${at(ACCOUNT, 'executeBatch((address,uint256,bytes)[])', '', paying)}\
${at(PROXY, 'execute(address,bytes)', '', paying)}\
${at(SAFE, EXEC, 'safeTxGas: any, baseGas: any, gasPrice: any, gasToken: any, refundReceiver: any, signatures: any')}\
${at(MULTISEND, 'multiSend(bytes)', '', ', delegatecall: allowed')}\
${at(PROXY, 'multiSend(bytes)')}\
${at(NFT, 'transferFrom(address,address,uint256)', 'from: any, to: any, tokenId: any')}\
${at(NFT, 'safeTransferFrom(address,address,uint256)', 'from: any, to: any, tokenId: any')}\
${at(NFT, 'setApprovalForAll(address,bool)', 'operator: any, approved: any', ', unlimited: allowed')}\
${at(WETH, 'transfer(address,uint256)', 'to: any, amount: any', ', decimals: 18, unlimited: allowed')}\
${at(WETH, 'deposit()', '', paying)}\
${at(USDT, 'transferFrom(address,address,uint256)', 'from: any, to: any, tokenId: any')}\
${at(USDT, 'transfer(address,uint256)', '_to: any, _id: any')}\
${at(DAI, 'transfer(address,uint256)', 'to: any, amount: any', ', decimals: 18, trailing: { max: 32 }')}\
${at(DAI, 'burn(uint256)', 'what: any')}\
${at(PERMIT2, 'approve(address,address,uint160,uint48)', 'token: any, spender: any, amount: any, expiration: any', ', decimals: 6')}\
${at(PERMIT2, 'transferFrom((address,address,uint160,address)[])', 'transferDetails: any', ', decimals: 6')}\
${at(PERMIT2, PERMIT, 'owner: any, permitSingle: any, signature: any', ', decimals: 6')}\
${at(PERMIT2, 'lockdown((address,address)[])', 'approvals: any')}`;

const OWN_ABI = `pay(uint256 what)
burn(uint256 what)
each((address target, bytes data)[] calls)
transfer(address _to, uint256 _id)
`;

const policies = release(POLICY, { 'own.abi': OWN_ABI }, ASSETS);

/** What the transaction moves: sentences, or why it is not known. */
function movementsOf(transaction: Transaction, main_chain_symbol = 'ETH'): readonly string[] | string {
  const { contract, to = contract, data, amount = '0', from = ME } = transaction;
  const callback = web3({
    from,
    to,
    interactive_contract: contract,
    amount,
    input_data: data,
    main_chain_symbol,
  });
  const { movements } = withMovements(callback, policies.policies[0]?.movements);
  if (movements === undefined) throw new Error('the policy has no movements');
  return movements.problem?.because ?? movements.list.map(formatted);
}

function formatted({ type, symbol, contract, to, amount }: Movement): string {
  const of = symbol ?? contract;
  return `${type} ${typeof amount === 'string' ? amount : formatAmount(amount)} ${of} to ${to}`;
}

const UNIT = 1_000_000n;
const ETHER = 10n ** 18n;
const pay = transferTo(PARTNER, 5n * UNIT);
const paid = `transfer 5 USDT to ${PARTNER}`;
const payCall = call('pay(uint256)', 1n);
const permitted = (token: string, amount: bigint): string =>
  call(PERMIT, ME, [[token, amount, 0, 0], ROUTER, 0n], '0x');

const exec = (to: string, value: bigint, data: string, operation = 0, gasPrice = 0n): string =>
  call(EXEC, to, value, data, operation, 0n, 0n, gasPrice, ZERO, ZERO, '0x');
const aggregate = (...calls: readonly (readonly [to: string, value: bigint, data: string])[]): string =>
  call(
    'aggregate3Value((address,bool,uint256,bytes)[])',
    calls.map(([to, wei, data]) => [to, false, wei, data]),
  );
/** A multicall that goes on if a call fails. */
const trying = (...calls: readonly (readonly [to: string, value: bigint, data: string])[]): string =>
  call(
    'aggregate3Value((address,bool,uint256,bytes)[])',
    calls.map(([to, wei, data]) => [to, true, wei, data]),
  );
const DEPOSIT = '0xd0e30db0';
const send = (...calls: readonly (readonly [operation: number, to: string, value: bigint, data: string])[]) =>
  call(
    'multiSend(bytes)',
    `0x${calls
      .map(([operation, to, wei, data]) =>
        encodePacked(
          ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
          [operation, to as `0x${string}`, wei, BigInt(data.length / 2 - 1), data as `0x${string}`],
        ).slice(2),
      )
      .join('')}`,
  );

describe('the movements of a token', () => {
  it.each<[string, string, string, readonly string[]]>([
    ['a transfer', USDT, pay, [paid]],
    ['a transfer of nothing', USDT, transferTo(PARTNER, 0n), [`transfer 0 USDT to ${PARTNER}`]],
    ['the smallest amount', USDT, transferTo(PARTNER, 1n), [`transfer 0.000001 USDT to ${PARTNER}`]],
    ['18 decimals', DAI, transferTo(PARTNER, 1n), [`transfer 0.000000000000000001 DAI to ${PARTNER}`]],
    ['no decimals', ITEMS, transferTo(PARTNER, 7n), [`transfer 7 POINTS to ${PARTNER}`]],
    ['36 decimals', DUST, transferTo(OTHER, 1n), [`transfer 0.${'0'.repeat(35)}1 DUST to ${OTHER}`]],
    [
      'the greatest exact amount',
      ITEMS,
      transferTo(PARTNER, 10n ** 36n - 1n),
      [`transfer ${'9'.repeat(36)} POINTS to ${PARTNER}`],
    ],
    ['one more', ITEMS, transferTo(PARTNER, 10n ** 36n), [`transfer unlimited POINTS to ${PARTNER}`]],
    [
      'an amount of 77 digits',
      DUST,
      transferTo(OTHER, 2n ** 255n - 1n),
      [`transfer unlimited DUST to ${OTHER}`],
    ],
    ['an amount of 78 digits', USDT, transferTo(PARTNER, MAX), [`transfer unlimited USDT to ${PARTNER}`]],
    [
      'the tokens of somebody else',
      USDT,
      call('transferFrom(address,address,uint256)', THIEF, PARTNER, 5n * UNIT),
      [paid],
    ],
    ['an approval', USDT, approveFor(ROUTER, 5n * UNIT), [`approval 5 USDT to ${ROUTER}`]],
    ['an unlimited approval', USDT, approveFor(ROUTER, MAX), [`approval unlimited USDT to ${ROUTER}`]],
    ['half the range', USDT, approveFor(ROUTER, 2n ** 255n), [`approval unlimited USDT to ${ROUTER}`]],
    ['the end of an approval', USDT, approveFor(ROUTER, 0n), [`approval 0 USDT to ${ROUTER}`]],
    [
      'a higher allowance',
      USDT,
      call('increaseAllowance(address,uint256)', ROUTER, UNIT),
      [`approval 1 USDT to ${ROUTER}`],
    ],
    [
      'a lower allowance',
      USDT,
      call('decreaseAllowance(address,uint256)', ROUTER, MAX),
      [`approval 0 USDT to ${ROUTER}`],
    ],
    [
      'a permit',
      USDT,
      call(
        'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
        ME,
        ROUTER,
        UNIT,
        0n,
        0,
        WORD,
        WORD,
      ),
      [`approval 1 USDT to ${ROUTER}`],
    ],
    [
      'a permit for everything',
      DAI,
      call(
        'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)',
        ME,
        ROUTER,
        0n,
        0n,
        true,
        0,
        WORD,
        WORD,
      ),
      [`approval unlimited DAI to ${ROUTER}`],
    ],
    [
      'the end of a permit',
      DAI,
      call(
        'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)',
        ME,
        ROUTER,
        0n,
        0n,
        false,
        0,
        WORD,
        WORD,
      ),
      [`approval 0 DAI to ${ROUTER}`],
    ],
    ['a method that the policy allows', DAI, call('burn(uint256)', 5n), [`native 0 ETH to ${DAI}`]],
    [
      'bytes that the policy allows',
      DAI,
      `${transferTo(PARTNER, ETHER)}${'00'.repeat(32)}`,
      [`transfer 1 DAI to ${PARTNER}`],
    ],
    ['an unknown token', WETH, transferTo(PARTNER, 1n), [`transfer unknown ${WETH} to ${PARTNER}`]],
    [
      'an NFT',
      NFT,
      call('transferFrom(address,address,uint256)', ME, PARTNER, 7n),
      [`transfer unknown ${NFT} to ${PARTNER}`],
    ],
    [
      'an NFT, safely',
      NFT,
      call('safeTransferFrom(address,address,uint256)', ME, PARTNER, 7n),
      [`transfer unknown ${NFT} to ${PARTNER}`],
    ],
    [
      'all NFTs',
      NFT,
      call('setApprovalForAll(address,bool)', THIEF, true),
      [`approval unknown ${NFT} to ${THIEF}`],
    ],
    [
      'an allowance of Permit2',
      PERMIT2,
      call('approve(address,address,uint160,uint48)', USDT, ROUTER, UNIT, 0),
      [`approval 1 USDT to ${ROUTER}`],
    ],
    [
      'an unlimited one',
      PERMIT2,
      call('approve(address,address,uint160,uint48)', USDT, ROUTER, MAX160, 0),
      [`approval unlimited USDT to ${ROUTER}`],
    ],
    [
      'one of an unknown token',
      PERMIT2,
      call('approve(address,address,uint160,uint48)', WETH, ROUTER, 1n, 0),
      [`approval unknown ${WETH} to ${ROUTER}`],
    ],
    ['a permit of Permit2', PERMIT2, permitted(USDT, UNIT), [`approval 1 USDT to ${ROUTER}`]],
    [
      'transfers by Permit2',
      PERMIT2,
      call('transferFrom((address,address,uint160,address)[])', [
        [THIEF, PARTNER, 5n * UNIT, USDT],
        [ME, OTHER, ETHER, DAI],
      ]),
      [paid, `transfer 1 DAI to ${OTHER}`],
    ],
    [
      'the end of allowances',
      PERMIT2,
      call('lockdown((address,address)[])', [[USDT, ROUTER]]),
      [`approval 0 USDT to ${ROUTER}`],
    ],
  ])('%s', (_, contract, data, movements) => {
    expect(movementsOf({ contract, data })).toEqual(movements);
  });

  it('are the same for every spelling of an address', () => {
    const upper = (text: string): string => `0x${text.slice(2).toUpperCase()}`;
    expect(movementsOf({ contract: upper(USDT), data: upper(pay), from: upper(ME) })).toEqual([paid]);
  });

  it('are those of the amount where the policy calls it an id', () => {
    const data = call('transferFrom(address,address,uint256)', ME, PARTNER, 5n * UNIT);
    expect(movementsOf({ contract: USDT, data })).toEqual([paid]);
  });

  it('are on the network of the contract', () => {
    expect(movementsOf({ contract: USDT, data: pay }, 'BSC')).toEqual([
      `transfer unknown ${USDT} to ${PARTNER}`,
    ]);
    expect(movementsOf({ contract: ITEMS, data: pay }, 'BSC')).toMatch(/name no method transfer/);
  });
});

describe('native coins', () => {
  const native = (amount: string, to: string): string => `native ${amount} ETH to ${to}`;

  it.each<[string, Transaction, readonly string[]]>([
    ['a plain transfer', { contract: '', to: PARTNER, data: '0x', amount: '1.5' }, [native('1.5', PARTNER)]],
    ['one of nothing', { contract: '', to: PARTNER, data: '', amount: '0' }, [native('0', PARTNER)]],
    ['to a token contract', { contract: USDT, data: '0x', amount: '2' }, [native('2', USDT)]],
    ['along with a transfer', { contract: USDT, data: pay, amount: '2' }, [paid, native('2', USDT)]],
    ['an unlimited amount', { contract: ROUTER, data: payCall, amount: '-1' }, [native('unlimited', ROUTER)]],
    [
      'an unlimited amount along with a transfer',
      { contract: USDT, data: pay, amount: '-1' },
      [paid, native('unlimited', USDT)],
    ],
    [
      'an unlimited amount of an approval',
      { contract: USDT, data: approveFor(ROUTER, MAX), amount: '-1' },
      [`approval unlimited USDT to ${ROUTER}`],
    ],
    [
      'an unlimited amount of a small approval',
      { contract: USDT, data: approveFor(ROUTER, UNIT), amount: '-1' },
      [`approval 1 USDT to ${ROUTER}`, native('unlimited', USDT)],
    ],
    [
      'an amount of 36 digits',
      { contract: ROUTER, data: payCall, amount: '9'.repeat(36) },
      [native('9'.repeat(36), ROUTER)],
    ],
    ['a call', { contract: ROUTER, data: payCall, amount: '1' }, [native('1', ROUTER)]],
    [
      'passed on',
      { contract: PROXY, data: call('execute(address,bytes)', PARTNER, '0x'), amount: '1' },
      [native('1', PARTNER), native('1', PROXY)],
    ],
    [
      'passed on to a call',
      { contract: PROXY, data: call('execute(address,bytes)', ROUTER, payCall), amount: '1' },
      [native('1', ROUTER), native('1', PROXY), native('unknown', PROXY)],
    ],
    [
      'unlimited, passed on',
      { contract: PROXY, data: call('execute(address,bytes)', PARTNER, '0x'), amount: '-1' },
      [native('unlimited', PARTNER), native('unlimited', PROXY)],
    ],
    [
      'passed on in part',
      {
        contract: MULTICALL3,
        data: aggregate([PARTNER, ETHER, '0x'], [OTHER, 2n * ETHER, '0x']),
        amount: '10',
      },
      [native('1', PARTNER), native('2', OTHER), native('7', MULTICALL3)],
    ],
    [
      'passed on with more that the wrapper has',
      {
        contract: MULTICALL3,
        data: aggregate([PARTNER, ETHER, '0x'], [OTHER, 20n * ETHER, '0x']),
        amount: '10',
      },
      [native('1', PARTNER), native('20', OTHER)],
    ],
    [
      'passed on twice to the same',
      { contract: MULTICALL3, data: aggregate([PARTNER, ETHER, '0x'], [PARTNER, ETHER, '0x']), amount: '2' },
      [native('1', PARTNER), native('1', PARTNER)],
    ],
    [
      'seen by several calls of the contract itself',
      { contract: ROUTER, data: multicall(payCall, payCall, payCall), amount: '3' },
      [native('0', ROUTER), native('0', ROUTER), native('0', ROUTER), native('3', ROUTER)],
    ],
    [
      'sent with each call of a wrapper of the policy',
      {
        contract: ROUTER,
        data: call('each((address,bytes)[])', [
          [PARTNER, '0x'],
          [OTHER, '0x'],
        ]),
        amount: '3',
      },
      [native('3', PARTNER), native('3', OTHER), native('3', ROUTER)],
    ],
    [
      'passed on within a call of the contract itself',
      {
        contract: ACCOUNT,
        data: call(
          'execute(address,uint256,bytes)',
          PROXY,
          ETHER,
          call('execute(address,bytes)', PARTNER, '0x'),
        ),
        amount: '1',
      },
      [native('1', PARTNER), native('1', ACCOUNT), native('1', PROXY)],
    ],
    ['of a Safe', { contract: SAFE, data: exec(PARTNER, ETHER, '0x') }, [native('1', PARTNER)]],
    [
      'of a Safe that makes several calls',
      {
        contract: SAFE,
        data: exec(
          MULTISEND,
          0n,
          send([0, PARTNER, ETHER, '0x'], [0, OTHER, ETHER, '0x'], [0, USDT, 0n, pay]),
          1,
        ),
      },
      [paid, native('1', PARTNER), native('1', OTHER)],
    ],
    [
      'sent to a Safe, and on from there',
      { contract: SAFE, data: exec(MULTISEND, 0n, send([0, PARTNER, ETHER, '0x']), 1), amount: '3' },
      [native('1', PARTNER)],
    ],
    [
      'of an account within a wrapper',
      {
        contract: MULTICALL3,
        data: aggregate(
          [
            ACCOUNT,
            ETHER,
            call('executeBatch((address,uint256,bytes)[])', [
              [PARTNER, 3n * ETHER, '0x'],
              [USDT, 0n, pay],
            ]),
          ],
          [USDT, 0n, transferTo(OTHER, UNIT)],
        ),
        amount: '1',
      },
      [paid, `transfer 1 USDT to ${OTHER}`, native('3', PARTNER), native('1', ACCOUNT)],
    ],
    ['wrapped', { contract: WETH, data: DEPOSIT, amount: '1' }, [native('1', WETH)]],
    [
      'that stay with a wrapper, while an account sends its own',
      { contract: MULTICALL3, data: aggregate([SAFE, 0n, exec(PARTNER, 10n * ETHER, '0x')]), amount: '10' },
      [native('10', PARTNER), native('10', MULTICALL3)],
    ],
    [
      'that an account gets, and sends on by another call',
      {
        contract: MULTICALL3,
        data: aggregate([MULTICALL3, ETHER, aggregate([PARTNER, 0n, '0x'])], [OTHER, ETHER, '0x']),
        amount: '1',
      },
      [native('0', PARTNER), native('1', OTHER)],
    ],
    [
      'that stay with a wrapper if its call fails',
      { contract: MULTICALL3, data: trying([PARTNER, ETHER, '0x'], [OTHER, ETHER, '0x']), amount: '2' },
      [native('1', PARTNER), native('1', OTHER), native('2', MULTICALL3)],
    ],
    [
      'that stay with a wrapper if those fail that send them on',
      {
        contract: MULTICALL3,
        data: call('tryAggregate(bool,(address,bytes)[])', false, [
          [MULTICALL3, aggregate([PARTNER, ETHER, '0x'])],
        ]),
        amount: '1',
      },
      [native('1', PARTNER), native('1', MULTICALL3)],
    ],
    [
      'that no wrapper keeps if all must succeed',
      {
        contract: MULTICALL3,
        data: call('tryAggregate(bool,(address,bytes)[])', true, [
          [MULTICALL3, aggregate([PARTNER, ETHER, '0x'])],
        ]),
        amount: '1',
      },
      [native('1', PARTNER)],
    ],
    [
      'that go on as a whole, or stay as a whole',
      {
        contract: MULTICALL3,
        data: trying([MULTICALL3, ETHER, aggregate([PARTNER, ETHER, '0x'])]),
        amount: '1',
      },
      [native('1', PARTNER), native('1', MULTICALL3)],
    ],
    [
      'for tokens that the wrapper gets',
      { contract: MULTICALL3, data: aggregate([WETH, ETHER, DEPOSIT], [WETH, ETHER, DEPOSIT]), amount: '2' },
      [native('1', WETH), native('1', WETH), native('unknown', MULTICALL3)],
    ],
    [
      'for tokens that the wrapper gets without a call',
      { contract: MULTICALL3, data: aggregate([WETH, ETHER, '0x']), amount: '1' },
      [native('1', WETH), native('unknown', MULTICALL3)],
    ],
    [
      'for tokens that an account of ours gets',
      { contract: SAFE, data: exec(WETH, ETHER, DEPOSIT), amount: '1' },
      [native('1', WETH)],
    ],
    [
      'for tokens that the sender gets through a contract’s own methods',
      { contract: ROUTER, data: multicall(payCall), amount: '1' },
      [native('0', ROUTER), native('1', ROUTER)],
    ],
  ])('%s', (_, transaction, movements) => {
    expect(movementsOf(transaction)).toEqual(movements);
  });

  it('are named by the symbol of the network', () => {
    expect(movementsOf({ contract: '', to: PARTNER, data: '0x', amount: '1' }, 'BSC')).toEqual([
      `native 1 BSC to ${PARTNER}`,
    ]);
  });
});

describe('movements are not known', () => {
  it.each<[string, Transaction, RegExp]>([
    [
      'of an unknown contract',
      { contract: THIEF, data: pay },
      /name no method transfer\(address,uint256\) of 0x/,
    ],
    [
      'of an unknown method of a token',
      { contract: USDT, data: '0x12345678' },
      /no method 0x12345678 of USDT \(0x/,
    ],
    [
      'of an unknown method of a router',
      { contract: ROUTER, data: '0x12345678' },
      /no method 0x12345678 of 0x/,
    ],
    [
      'of a method for NFTs, on a token',
      { contract: USDT, data: call('setApprovalForAll(address,bool)', THIEF, true) },
      /no method setApprovalForAll\(address,bool\) of USDT/,
    ],
    ['of bytes that are no selector', { contract: USDT, data: '0x12' }, /shorter than a selector/],
    ['of surplus bytes', { contract: USDT, data: `${pay}00` }, /bytes follow the last argument/],
    [
      'of more bytes than the policy allows',
      { contract: DAI, data: `${pay}${'00'.repeat(33)}` },
      /33 bytes follow/,
    ],
    ['of missing bytes', { contract: USDT, data: pay.slice(0, -2) }, /the data ends within/],
    [
      'of a dirty address',
      { contract: USDT, data: pay.replace('a9059cbb00', 'a9059cbb01') },
      /upper bytes are not zero/,
    ],
    [
      'of text that is not hexadecimal',
      { contract: USDT, data: 'pay' },
      /is not 0x and pairs of hexadecimal/,
    ],
    [
      'of an invalid contract',
      { contract: '0xdac17', to: USDT, data: pay },
      /interactive_contract is not an EVM address/,
    ],
    [
      'of call data without a contract',
      { contract: '', to: USDT, data: pay },
      /interactive_contract is not an EVM/,
    ],
    [
      'if to is neither the contract nor a recipient',
      { contract: USDT, to: THIEF, data: pay },
      /to is 0x0+deadbeef, which is neither/,
    ],
    [
      'if the recipient of coins is not clear',
      { contract: PARTNER, to: THIEF, data: '0x', amount: '1' },
      /interactive_contract is another address than to/,
    ],
    ['of a delegatecall', { contract: SAFE, data: exec(THIEF, 0n, pay, 1) }, /call 1: .*name no method/],
    [
      'of a delegatecall of a token',
      { contract: SAFE, data: exec(USDT, 0n, pay, 1) },
      /call 1: transfer\(address,uint256\) is run by delegatecall/,
    ],
    [
      'of a wrapper that must not be run by delegatecall',
      { contract: SAFE, data: exec(PROXY, 0n, send([0, USDT, 0n, pay]), 1) },
      /call 1: multiSend\(bytes\) is run by delegatecall/,
    ],
    [
      'of a delegatecall within several',
      { contract: SAFE, data: exec(MULTISEND, 0n, send([0, USDT, 0n, pay], [1, USDT, 0n, pay]), 1) },
      /call 1.2: transfer\(address,uint256\) is run by delegatecall/,
    ],
    [
      'of a Safe that refunds gas',
      { contract: SAFE, data: exec(USDT, 0n, pay, 0, 1n) },
      /gasPrice of execTransaction.* is not zero/,
    ],
    [
      'of an unknown call within a wrapper',
      { contract: ROUTER, data: multicall(payCall, '0x12345678') },
      /call 2: .*no method 0x12345678/,
    ],
    ['of a wrapper without calls', { contract: ROUTER, data: multicall() }, /contains no call/],
    ['of too deep a wrapper', { contract: ACCOUNT, data: deep(5) }, /at a depth of 5; at most 4/],
    [
      'of too many calls',
      { contract: ROUTER, data: multicall(...Array.from({ length: 251 }, () => payCall)) },
      /at least 251 inner calls/,
    ],
  ])('%s', (_, transaction, because) => {
    const found = movementsOf(transaction);
    expect(found).toMatch(/^what it moves is not known: /);
    expect(found).toMatch(because);
  });

  it.each(['BTC', 'SOL'])('on %s, which is no EVM network of the asset table', (network) => {
    expect(movementsOf({ contract: USDT, data: pay }, network)).toBe(
      `what it moves is not known: the asset table has no EVM network ${network}`,
    );
  });
});

function deep(levels: number): string {
  return levels === 0 ? '0x' : call('execute(address,uint256,bytes)', ACCOUNT, 0n, deep(levels - 1));
}

const person = fc.constantFrom(PARTNER, OTHER, THIEF, ME);
const address = fc.oneof(person, fc.constant(ROUTER));
const leaf = fc.oneof(
  fc.tuple(address, fc.bigInt({ min: 0n, max: 10n ** 30n })).map(([to, amount]) => ({
    contract: USDT,
    wei: 0n,
    data: transferTo(to, amount) as string,
    moves: [`transfer ${formatAmount(amount * 10n ** 30n)} USDT to ${to}`],
  })),
  fc.tuple(address, fc.bigInt({ min: 0n, max: MAX })).map(([to, amount]) => ({
    contract: DAI,
    wei: 0n,
    data: approveFor(to, amount) as string,
    moves: [
      `approval ${amount >= 10n ** 54n ? 'unlimited' : formatAmount(amount * 10n ** 18n)} DAI to ${to}`,
    ],
  })),
  fc.tuple(person, fc.bigInt({ min: 0n, max: 10n ** 20n })).map(([to, wei]) => ({
    contract: to,
    wei,
    data: '0x',
    moves: [`native ${formatAmount(wei * ETHER)} ETH to ${to}`],
  })),
);
type Built = {
  readonly contract: string;
  readonly wei: bigint;
  readonly data: string;
  readonly moves: readonly string[];
};
const wrapped = (inner: fc.Arbitrary<Built>): fc.Arbitrary<Built> =>
  fc.tuple(fc.array(inner, { minLength: 1, maxLength: 4 }), fc.boolean()).map(([calls, isSafe]) => {
    const moves = calls.flatMap((each) => each.moves);
    const wei = calls.reduce((sum, each) => sum + each.wei, 0n);
    const list = calls.map((each) => [each.contract, each.wei, each.data] as const);
    return isSafe
      ? {
          contract: SAFE,
          wei: 0n,
          data: exec(MULTISEND, 0n, send(...list.map((each) => [0, ...each] as const)), 1),
          moves,
        }
      : { contract: MULTICALL3, wei, data: aggregate(...list), moves };
  });

it('a method of an own ABI on a token is warned of', () => {
  expect(policies.warnings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'movements: contract-calls allows burn(uint256) of DAI, and the tokens that it moves do not count',
  ]);
});

describe('random transactions', () => {
  it('move what they were built to move, through Safes and multicalls', () => {
    const transaction = fc.oneof(leaf, wrapped(leaf), wrapped(fc.oneof(leaf, wrapped(leaf))));
    fc.assert(
      fc.property(transaction, ({ contract, wei, data, moves }) => {
        const found = movementsOf({ contract, data, amount: formatAmount(wei * ETHER) });
        if (typeof found === 'string') throw new Error(found);
        expect(found.toSorted()).toEqual([...moves].sort());
      }),
      { numRuns: 300 },
    );
  });

  it('whose bytes are changed never lose a movement without saying so', () => {
    const data = aggregate([USDT, 0n, pay], [PARTNER, ETHER, '0x'], [DAI, 0n, transferTo(OTHER, ETHER)]);
    const changed = fc.tuple(fc.nat(data.length - 11), fc.nat(15)).map(([index, digit]) => {
      return `${data.slice(0, 10 + index)}${digit.toString(16)}${data.slice(11 + index)}`;
    });
    const lost: string[] = [];
    fc.assert(
      fc.property(changed, (each) => {
        const found = movementsOf({ contract: MULTICALL3, data: each, amount: '1' });
        if (typeof found !== 'string' && found.length < 3) lost.push(each);
      }),
      { numRuns: 500 },
    );
    expect(lost).toEqual([]);
  });
});

it('a transfer of a token moves it, also if the policy calls it by the names of an own ABI', () => {
  const own = `policy: own
callback: web3
when: { main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - contract-calls:
      abis: own.abi
      calls:
${at(WETH, 'transfer(address,uint256)', '_to: any, _id: any')}`;
  const reader = release(own, { 'own.abi': OWN_ABI }, ASSETS).policies[0]?.movements;
  const callback = web3({
    from: ME,
    to: WETH,
    interactive_contract: WETH,
    amount: '0',
    input_data: transferTo(PARTNER, 5n),
    main_chain_symbol: 'ETH',
  });
  const { movements } = withMovements(callback, reader);
  expect(movements?.list.map(formatted)).toEqual([`transfer unknown ${WETH} to ${PARTNER}`]);
});
