import { describe, expect, it } from 'vitest';
import { compileRelease } from '../../../src/policy/compile.ts';
import { readTestFiles } from '../../../src/policy/suite/read.ts';
import { runTests } from '../../../src/simulation/run-tests.ts';
import { NOON, evaluateAt, judged, release } from '../callbacks.ts';
import { rulePage } from './pages.ts';
import {
  ACCOUNT,
  DAI,
  ITEMS,
  MAX,
  MAX160,
  ME,
  MULTICALL3,
  NFT,
  OTHER,
  PARTNER,
  PERMIT2,
  PROXY,
  ROUTER,
  THIEF,
  type Transaction,
  USDT,
  WETH,
  approveFor,
  call,
  callbackOf,
  inForce,
  multicall,
  transferTo,
  withWord,
} from '../calls/transactions.ts';

const policies = inForce();
const judge = (transaction: Transaction) => {
  const proposal = evaluateAt(policies, callbackOf(transaction), NOON);
  const [result] = proposal.results;
  if (result === undefined) throw new Error('the policy did not apply');
  return { ...result, claims: proposal.claims };
};

const UNIT = 1_000_000n;
const ETHER = 10n ** 18n;
const R = `0x${'11'.repeat(32)}`;
const pay = transferTo(PARTNER, 100n * UNIT);
const drain = approveFor(THIEF, MAX);
const usdt = (data: string, more: Partial<Transaction> = {}): Transaction => ({
  contract: USDT,
  data,
  ...more,
});
const at = (contract: string, data: string, more: Partial<Transaction> = {}): Transaction => ({
  contract,
  data,
  ...more,
});
const permit2Single = (amount: bigint, spender = ROUTER): string =>
  call(
    'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)',
    ME,
    [[USDT, amount, 1, 2], spender, 9n],
    '0x1234',
  );
const batch = (
  ...details: readonly (readonly [from: string, to: string, amount: bigint, token: string])[]
): string => call('transferFrom((address,address,uint160,address)[])', details);
const items = (ids: readonly bigint[], amounts: readonly bigint[], data = '0x'): string =>
  call('safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)', ME, PARTNER, ids, amounts, data);
const swap = (amountIn: bigint, path: readonly string[] = [USDT, WETH], to = ME, least = 1n): string =>
  call('swap(uint256,uint256,address[],address)', amountIn, least, path, to);
const fill = (delta: bigint, flags: readonly [number, number] = [1, 3], note = 'hello'): string =>
  call('fill((address,int256,string,bytes4),uint8[2])', [ME, delta, note, '0x00000001'], flags);
const aggregate3 = (
  ...calls: readonly (readonly [target: string, allowFailure: boolean, data: string])[]
): string => call('aggregate3((address,bool,bytes)[])', calls);
const aggregate3Value = (...calls: readonly (readonly [string, boolean, bigint, string])[]): string =>
  call('aggregate3Value((address,bool,uint256,bytes)[])', calls);
const execute = (target: string, data: string): string => call('execute(address,bytes)', target, data);
const send = (target: string, value: bigint, data: string): string =>
  call('execute(address,uint256,bytes)', target, value, data);
const permit = (value: bigint, owner = ME): string =>
  call('permit(address,address,uint256,uint256,uint8,bytes32,bytes32)', owner, ROUTER, value, 9n, 27, R, R);
const daiPermit = (allowed: boolean): string =>
  call(
    'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)',
    ME,
    ROUTER,
    0n,
    9n,
    allowed,
    27,
    R,
    R,
  );

describe('contract-calls lets pass', () => {
  it.each<[string, Transaction]>([
    ['a transfer to a partner', usdt(pay)],
    ['a transfer as another encoder wrote it, in capitals', usdt(`0x${pay.slice(2).toUpperCase()}`)],
    [
      'a transfer whose contract is written with its checksum',
      usdt(pay, { contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7', to: USDT }),
    ],
    ['a transfer up to the limit', usdt(transferTo(OTHER, 1000n * UNIT))],
    ['a transfer of nothing', usdt(transferTo(PARTNER, 0n))],
    ['a transferFrom of one’s own', usdt(call('transferFrom(address,address,uint256)', ME, PARTNER, UNIT))],
    ['an approval within its limit', usdt(approveFor(ROUTER, 5000n * UNIT))],
    ['an approval taken back', usdt(approveFor(ROUTER, 0n))],
    ['an allowance increased', usdt(call('increaseAllowance(address,uint256)', ROUTER, UNIT))],
    [
      'an allowance decreased, its arguments named by place',
      usdt(call('decreaseAllowance(address,uint256)', ROUTER, UNIT)),
    ],
    ['a permit within its limit', usdt(permit(100n * UNIT))],
    ['an unlimited approval where that is allowed', at(DAI, approveFor(ROUTER, MAX))],
    ['the same, its amount given as -1', at(DAI, approveFor(ROUTER, MAX), { amount: '-1' })],
    [
      'the same, to naming the spender as the entry allows',
      at(DAI, approveFor(ROUTER, MAX), { to: ROUTER, amount: '-1' }),
    ],
    ['a limited approval where unlimited ones are allowed', at(DAI, approveFor(ROUTER, 10n * ETHER))],
    ['a permit in the style of DAI that takes all back', at(DAI, daiPermit(false))],
    ['a deposit with coins up to the limit', at(WETH, call('deposit()'), { amount: '1' })],
    ['a withdrawal', at(WETH, call('withdraw(uint256)', ETHER))],
    ['a withdrawal of all there is where that is allowed', at(WETH, call('withdraw(uint256)', MAX))],
    ['the approval of one token by its id', at(NFT, approveFor(PARTNER, 2n))],
    ['setApprovalForAll taken back', at(ITEMS, call('setApprovalForAll(address,bool)', ROUTER, false))],
    ['a batch of items', at(ITEMS, items([7n, 8n], [4n, 6n]))],
    [
      'a Permit2 approval',
      at(PERMIT2, call('approve(address,address,uint160,uint48)', USDT, ROUTER, 5000n * UNIT, 0)),
    ],
    ['a Permit2 permit', at(PERMIT2, permit2Single(5000n * UNIT))],
    ['a Permit2 batch', at(PERMIT2, batch([ME, PARTNER, 400n * UNIT, USDT], [ME, OTHER, 600n * UNIT, USDT]))],
    ['a swap of the router’s own ABI', at(ROUTER, swap(5000n * UNIT))],
    ['a method with a struct, a text and a fixed list', at(ROUTER, fill(5n))],
    [
      'a multicall of two swaps within one limit',
      at(ROUTER, multicall(swap(2500n * UNIT), swap(2500n * UNIT))),
    ],
    ['a multicall with a deadline', at(ROUTER, call('multicall(uint256,bytes[])', 9n, [swap(1n)]))],
    ['a multicall within a multicall', at(ROUTER, multicall(multicall(swap(1n))))],
    [
      'an aggregate',
      at(
        MULTICALL3,
        call('aggregate((address,bytes)[])', [
          [USDT, pay],
          [ROUTER, swap(1n)],
        ]),
      ),
    ],
    [
      'a tryAggregate that must succeed',
      at(MULTICALL3, call('tryAggregate(bool,(address,bytes)[])', true, [[USDT, pay]])),
    ],
    ['an aggregate3', at(MULTICALL3, aggregate3([USDT, false, pay]))],
    [
      'an aggregate3Value',
      at(MULTICALL3, aggregate3Value([WETH, false, ETHER, call('deposit()')]), { amount: '1' }),
    ],
    ['a proxy’s execute', at(PROXY, execute(USDT, pay))],
    ['an account’s execute', at(ACCOUNT, send(WETH, ETHER, call('deposit()')))],
    ['an account that sends coins', at(ACCOUNT, send(PARTNER, ETHER, '0x'))],
    [
      'an account’s batch',
      at(ACCOUNT, call('executeBatch(address[],uint256[],bytes[])', [USDT, PARTNER], [0n, 1n], [pay, '0x'])),
    ],
    ['a plain transfer, its data empty', at('', '', { to: PARTNER, amount: '1.5' })],
    [
      'a plain transfer, its data 0x and the contract its recipient',
      at(OTHER, '0x', { amount: '0.000000000000000001' }),
    ],
  ])('%s', (_, transaction) => {
    expect(judge(transaction)).toMatchObject({
      verdict: 'pass',
      because: expect.stringMatching(/ is allowed$/),
      claims: [],
    });
  });
});

describe('contract-calls refuses', () => {
  const on = (contract: string): string => `of ${contract} is not allowed`;
  it.each<[string, Transaction, string]>([
    [
      'a recipient who is no partner',
      usdt(transferTo(THIEF, 60n * UNIT)),
      `none of the 2 entries allows it: to ${THIEF} is not among the values of the policy; amount 60 is above the maximum 50.5`,
    ],
    [
      'a transfer of the smallest unit above the limit',
      usdt(transferTo(PARTNER, 1000n * UNIT + 1n)),
      'none of the 2 entries allows it: amount 1000.000001 is above the maximum 1000; amount 1000.000001 is above the maximum 50.5',
    ],
    [
      'a transfer of an unlimited amount',
      usdt(transferTo(PARTNER, MAX)),
      'none of the 2 entries allows it: amount of transfer(address,uint256) is unlimited, and that is not allowed',
    ],
    [
      'a transferFrom of somebody else’s',
      usdt(call('transferFrom(address,address,uint256)', OTHER, PARTNER, UNIT)),
      `from ${OTHER} is not the sender ${ME}`,
    ],
    [
      'a transferFrom to oneself of a partner’s, by an unlisted sender',
      usdt(call('transferFrom(address,address,uint256)', ME, PARTNER, UNIT), { from: OTHER }),
      `from ${ME} is not the sender ${OTHER}`,
    ],
    [
      'an approval of a stranger',
      usdt(approveFor(THIEF, 1n)),
      `spender ${THIEF} is not among the values of the policy`,
    ],
    [
      'an approval above its limit',
      usdt(approveFor(ROUTER, 5000n * UNIT + 1n)),
      'amount 5000.000001 is above the maximum 5000',
    ],
    [
      'an unlimited approval',
      usdt(approveFor(ROUTER, MAX)),
      'amount of approve(address,uint256) is unlimited, and that is not allowed',
    ],
    [
      'an approval of one less than unlimited',
      usdt(approveFor(ROUTER, MAX - 1n)),
      'amount of approve(address,uint256) is unlimited, and that is not allowed',
    ],
    [
      'an approval of 2^255',
      usdt(approveFor(ROUTER, 2n ** 255n)),
      'amount of approve(address,uint256) is unlimited, and that is not allowed',
    ],
    [
      'an approval of one below 2^255, by its limit',
      usdt(approveFor(ROUTER, 2n ** 255n - 1n)),
      `amount 57896044618658097711785492504343953926634992332820282019728792003956564.819967 is above the maximum 5000`,
    ],
    [
      'an allowance increased without limit',
      usdt(call('increaseAllowance(address,uint256)', ROUTER, 2n ** 255n)),
      'addedValue of increaseAllowance(address,uint256) is unlimited, and that is not allowed',
    ],
    [
      'an allowance decreased without limit, though any amount will do',
      usdt(call('decreaseAllowance(address,uint256)', ROUTER, MAX)),
      'subtractedValue of decreaseAllowance(address,uint256) is unlimited, and that is not allowed',
    ],
    [
      'an unlimited approval of another spender where unlimited is allowed',
      at(DAI, approveFor(THIEF, MAX)),
      `spender ${THIEF} is not among the values of the policy`,
    ],
    [
      'an approval below unlimited and above the limit, where unlimited is allowed',
      at(DAI, approveFor(ROUTER, 10n * ETHER + 1n)),
      'amount 10.000000000000000001 is above the maximum 10',
    ],
    [
      'an unlimited amount that is no approval, given as -1',
      at(WETH, call('withdraw(uint256)', MAX), { amount: '-1' }),
      'the callback’s amount is unlimited (-1), and the call is not an unlimited approval',
    ],
    [
      'a limited approval whose amount is said to be -1',
      at(DAI, approveFor(ROUTER, 1n), { amount: '-1' }),
      'the callback’s amount is unlimited (-1), and the call is not an unlimited approval',
    ],
    [
      'a limited transfer whose amount is said to be -1',
      usdt(pay, { amount: '-1' }),
      'none of the 2 entries allows it: the callback’s amount is unlimited (-1), and unlimited amounts are not allowed',
    ],
    [
      'a plain transfer of -1',
      at('', '', { to: PARTNER, amount: '-1' }),
      'the plain transfer of unlimited is above the maximum 1.5',
    ],
    [
      'a multicall of -1',
      at(ROUTER, multicall(swap(1n)), { amount: '-1' }),
      'the callback’s amount is unlimited (-1), and unlimited amounts are not allowed',
    ],
    ['a permit above its limit', usdt(permit(100n * UNIT + 1n)), 'value 100.000001 is above the maximum 100'],
    [
      'a permit without limit',
      usdt(permit(MAX)),
      'value of permit(address,address,uint256,uint256,uint8,bytes32,bytes32) is unlimited, and that is not allowed',
    ],
    ['a permit of somebody else’s', usdt(permit(1n, OTHER)), `owner ${OTHER} is not the sender ${ME}`],
    [
      'a permit in the style of DAI, which is for everything',
      at(DAI, daiPermit(true)),
      'allowed of permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32) is unlimited, and that is not allowed',
    ],
    [
      'setApprovalForAll',
      at(NFT, call('setApprovalForAll(address,bool)', ROUTER, true)),
      'approved of setApprovalForAll(address,bool) is unlimited, and that is not allowed',
    ],
    [
      'the approval of another token',
      at(NFT, approveFor(PARTNER, 3n)),
      'tokenId 3 is not among the values of the policy',
    ],
    [
      'a known method that this contract has no entry for',
      at(DAI, pay),
      `transfer(address,uint256) (0xa9059cbb) ${on(DAI)}`,
    ],
    [
      'a known method that no entry has',
      usdt(call('lockdown((address,address)[])', [])),
      `lockdown((address,address)[]) (0xcc53287f) ${on(USDT)}`,
    ],
    ['an unknown method', usdt('0xdeadbeef'), `an unknown method (0xdeadbeef) ${on(USDT)}`],
    ['a contract without entries', at(THIEF, pay), `no call of the contract ${THIEF} is allowed`],
    [
      'a method whose selector is that of transfer',
      usdt(call('many_msg_babbage(bytes1)', '0x01')),
      'transfer(address,uint256): to is not an address: its upper bytes are not zero',
    ],
    [
      'a selector alone, which is no call of transfer',
      usdt('0xa9059cbb'),
      'transfer(address,uint256): the data ends within to',
    ],
    ['less than a selector', usdt('0xa9059c'), 'the call data is shorter than a selector'],
    ['half a byte', usdt(pay.slice(0, -1)), 'the call data is not 0x and pairs of hexadecimal digits'],
    ['data without 0x', usdt(pay.slice(2)), 'the call data is not 0x and pairs of hexadecimal digits'],
    [
      'data that begins with 0X',
      usdt(`0X${pay.slice(2)}`),
      'the call data is not 0x and pairs of hexadecimal digits',
    ],
    ['data that is text', usdt('transfer'), 'the call data is not 0x and pairs of hexadecimal digits'],
    ['data one byte short', usdt(pay.slice(0, -2)), 'transfer(address,uint256): the data ends within amount'],
    [
      'data one word short',
      usdt(pay.slice(0, -64)),
      'transfer(address,uint256): the data ends within amount',
    ],
    [
      'one byte after the arguments',
      usdt(`${pay}00`),
      'transfer(address,uint256): 1 bytes follow the last argument',
    ],
    [
      'a word after the arguments',
      usdt(pay + '0'.repeat(64)),
      'transfer(address,uint256): 32 bytes follow the last argument',
    ],
    [
      'an address with a dirty byte above it',
      usdt(withWord(pay, 0, (1n << 160n) + BigInt(PARTNER))),
      'transfer(address,uint256): to is not an address: its upper bytes are not zero',
    ],
    [
      'an address with a dirty byte at the very front',
      usdt(withWord(pay, 0, (1n << 255n) + BigInt(PARTNER))),
      'transfer(address,uint256): to is not an address: its upper bytes are not zero',
    ],
    [
      'a flag that is 2',
      at(ITEMS, withWord(call('setApprovalForAll(address,bool)', ROUTER, false), 1, 2n)),
      'setApprovalForAll(address,bool): approved is neither true nor false',
    ],
    [
      'a uint160 with dirty bytes above it',
      at(
        PERMIT2,
        withWord(call('approve(address,address,uint160,uint48)', USDT, ROUTER, 1n, 0), 2, (1n << 160n) + 1n),
      ),
      'approve(address,address,uint160,uint48): amount is more than a uint160 holds: its upper bytes are not zero',
    ],
    [
      'a Permit2 approval without limit',
      at(PERMIT2, call('approve(address,address,uint160,uint48)', USDT, ROUTER, MAX160, 0)),
      'amount of approve(address,address,uint160,uint48) is unlimited, and that is not allowed',
    ],
    [
      'a Permit2 permit without limit',
      at(PERMIT2, permit2Single(2n ** 159n)),
      'permitSingle.details.amount of permit(address,((address,uint160,uint48,uint48),address,uint256),bytes) is unlimited, and that is not allowed',
    ],
    [
      'a Permit2 permit for a stranger',
      at(PERMIT2, permit2Single(1n, THIEF)),
      `permitSingle.spender ${THIEF} is not among the values of the policy`,
    ],
    [
      'a Permit2 batch with one bad recipient',
      at(PERMIT2, batch([ME, PARTNER, 1n, USDT], [ME, THIEF, 1n, USDT])),
      `transferDetails.to ${THIEF} is not among the values of the policy`,
    ],
    [
      'a Permit2 batch with one token of another kind',
      at(PERMIT2, batch([ME, PARTNER, 1n, USDT], [ME, PARTNER, 1n, DAI])),
      `transferDetails.token ${DAI} is not among the values of the policy`,
    ],
    [
      'a Permit2 batch above the limit only together',
      at(PERMIT2, batch([ME, PARTNER, 600n * UNIT, USDT], [ME, PARTNER, 400n * UNIT + 1n, USDT])),
      'transferDetails.amount of transferFrom((address,address,uint160,address)[]) is 1000.000001 over all calls together, above the maximum 1000',
    ],
    [
      'a Permit2 batch of none',
      at(PERMIT2, batch()),
      'transferDetails.from is an empty list, so no value fulfils the condition',
    ],
    [
      'a batch of items with fewer amounts',
      at(ITEMS, items([7n, 8n], [1n])),
      'safeBatchTransferFrom(address,address,uint256[],uint256[],bytes): ids and amounts have different lengths',
    ],
    [
      'a batch of items with one of another id',
      at(ITEMS, items([7n, 9n], [1n, 1n])),
      'ids 9 is not among the values of the policy',
    ],
    [
      'a batch of items that are too many together',
      at(ITEMS, items([7n, 8n], [5n, 6n])),
      'amounts of safeBatchTransferFrom(address,address,uint256[],uint256[],bytes) is 11 over all calls together, above the maximum 10',
    ],
    [
      'a batch of items with data for the recipient',
      at(ITEMS, items([7n], [1n], '0x01')),
      'data 0x01 is not among the values of the policy',
    ],
    ['a swap to somebody else', at(ROUTER, swap(1n, [USDT], THIEF)), `to ${THIEF} is not the sender ${ME}`],
    [
      'a swap through another token',
      at(ROUTER, swap(1n, [USDT, THIEF, WETH])),
      `path ${THIEF} is not among the values of the policy`,
    ],
    [
      'a swap through no token',
      at(ROUTER, swap(1n, [])),
      'path is an empty list, so no value fulfils the condition',
    ],
    [
      'a swap without a least amount',
      at(ROUTER, swap(1n, [USDT], ME, 0n)),
      'amountOutMin 0 is below the minimum 1',
    ],
    [
      'a swap of an unlimited amount',
      at(ROUTER, swap(MAX)),
      'amountIn of swap(uint256,uint256,address[],address) is unlimited, and that is not allowed',
    ],
    ['a negative number under a maximum', at(ROUTER, fill(-1n)), 'order.delta -1 is below the minimum 0'],
    [
      'a member of a fixed list above its maximum',
      at(ROUTER, fill(1n, [1, 4])),
      'flags 4 is above the maximum 3',
    ],
    [
      'another text',
      at(ROUTER, fill(1n, [1, 1], 'Hello')),
      'order.note Hello is not among the values of the policy',
    ],
    [
      'coins along with a transfer',
      usdt(pay, { amount: '0.000000000000000001' }),
      'none of the 2 entries allows it: the native value 0.000000000000000001 of transfer(address,uint256) is above the maximum 0',
    ],
    [
      'more coins than a deposit may have',
      at(WETH, call('deposit()'), { amount: '1.000000000000000001' }),
      'the native value 1.000000000000000001 of deposit() is above the maximum 1',
    ],
    [
      'a to that is not the contract',
      usdt(approveFor(ROUTER, 1n), { to: PARTNER }),
      `to is ${PARTNER}, which is not the contract ${USDT} that is called`,
    ],
    [
      'a to that is neither the contract nor the spender',
      at(DAI, approveFor(ROUTER, 1n), { to: PARTNER }),
      `to is ${PARTNER}, which is neither the contract ${DAI} nor the argument spender`,
    ],
    [
      'call data without a contract',
      at('', pay, { to: USDT }),
      'there is call data, and interactive_contract is not an EVM address',
    ],
    [
      'a contract of another chain',
      at('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', pay, { to: USDT }),
      'there is call data, and interactive_contract is not an EVM address',
    ],
    [
      'a to of another chain',
      usdt(pay, { to: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' }),
      'to is not an EVM address',
    ],
    [
      'a from of another chain',
      usdt(pay, { from: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' }),
      'from is not an EVM address',
    ],
    [
      'a plain transfer above its limit',
      at('', '', { to: PARTNER, amount: '1.500000000000000001' }),
      'the plain transfer of 1.500000000000000001 is above the maximum 1.5',
    ],
    [
      'a plain transfer to a stranger',
      at('', '0x', { to: THIEF, amount: '1' }),
      `to ${THIEF} of a plain transfer is not among the values of the policy`,
    ],
    [
      'a plain transfer that names another contract',
      at(USDT, '0x', { to: PARTNER, amount: '1' }),
      'there is no call data, and interactive_contract is another address than to',
    ],
    [
      'an approval hidden in a multicall',
      at(ROUTER, multicall(swap(1n), drain)),
      `call 2: approve(address,uint256) (0x095ea7b3) ${on(ROUTER)}`,
    ],
    [
      'an approval hidden in a multicall in a multicall',
      at(ROUTER, multicall(swap(1n), multicall(drain))),
      `call 2.1: approve(address,uint256) (0x095ea7b3) ${on(ROUTER)}`,
    ],
    [
      'an approval hidden in an aggregate',
      at(
        MULTICALL3,
        call('aggregate((address,bytes)[])', [
          [USDT, pay],
          [USDT, drain],
        ]),
      ),
      'call 2: amount of approve(address,uint256) is unlimited, and that is not allowed',
    ],
    [
      'a multicall nested over the bound',
      at(ROUTER, multicall(multicall(multicall(swap(1n))))),
      'call 1.1: multicall(bytes[]) contains calls at a depth of 3; at most 2 is allowed',
    ],
    [
      'more calls than may be',
      at(ROUTER, multicall(...Array.from({ length: 5 }, () => swap(1n)))),
      'there are at least 5 inner calls; at most 4 are allowed',
    ],
    [
      'more calls than may be, over two wrappers',
      at(ROUTER, multicall(multicall(swap(1n), swap(1n)), multicall(swap(1n)))),
      'call 2: there are at least 5 inner calls; at most 4 are allowed',
    ],
    [
      'more calls than may be, if the first is a wrapper',
      at(ROUTER, multicall(multicall(swap(1n)), swap(1n), swap(1n), swap(1n))),
      'call 1: there are at least 5 inner calls; at most 4 are allowed',
    ],
    ['a multicall of none', at(ROUTER, multicall()), 'multicall(bytes[]) contains no call'],
    ['a multicall of nothing', at(ROUTER, multicall('0x')), 'an inner call has no selector, target or value'],
    [
      'a multicall of half a selector',
      at(ROUTER, multicall('0xdead')),
      'an inner call has no selector, target or value',
    ],
    [
      'a multicall whose swaps pass the limit together',
      at(ROUTER, multicall(swap(2500n * UNIT), swap(2500n * UNIT + 1n))),
      'call 2: amountIn of swap(uint256,uint256,address[],address) is 5000.000001 over all calls together, above the maximum 5000',
    ],
    [
      'a multicall in which two calls see the same coins',
      at(ROUTER, multicall(swap(1n), swap(1n)), { amount: '0.6' }),
      'call 2: the native value of swap(uint256,uint256,address[],address) is 1.2 over all calls together, above the maximum 1',
    ],
    [
      'a wrapper that has no entry',
      at(ROUTER, call('multicall(bytes32,bytes[])', R, [swap(1n)])),
      `multicall(bytes32,bytes[]) (0x1f0464d1) ${on(ROUTER)}`,
    ],
    [
      'an inner call that fails by itself',
      at(MULTICALL3, aggregate3([USDT, false, `${pay}00`])),
      'call 1: transfer(address,uint256): 1 bytes follow the last argument',
    ],
    [
      'an inner call that may fail silently',
      at(MULTICALL3, aggregate3([USDT, false, pay], [USDT, true, pay])),
      'calls.allowFailure true is not among the values of the policy',
    ],
    [
      'a tryAggregate that need not succeed',
      at(MULTICALL3, call('tryAggregate(bool,(address,bytes)[])', false, [[USDT, pay]])),
      'requireSuccess false is not among the values of the policy',
    ],
    [
      'coins smuggled into an inner transfer',
      at(MULTICALL3, aggregate3Value([USDT, false, 1n, pay])),
      'call 1: none of the 2 entries allows it: the native value 0.000000000000000001 of transfer(address,uint256) is above the maximum 0',
    ],
    [
      'coins for two deposits above the limit together',
      at(
        MULTICALL3,
        aggregate3Value([WETH, false, ETHER, call('deposit()')], [WETH, false, 1n, call('deposit()')]),
        { amount: '2' },
      ),
      'call 2: the native value of deposit() is 1.000000000000000001 over all calls together, above the maximum 1',
    ],
    [
      'an unlimited approval through a proxy',
      at(PROXY, execute(USDT, drain)),
      'call 1: amount of approve(address,uint256) is unlimited, and that is not allowed',
    ],
    [
      'a proxy that is told to run code of another',
      at(PROXY, execute(THIEF, '0xdeadbeef')),
      `call 1: no call of the contract ${THIEF} is allowed`,
    ],
    [
      'an account that sends coins to a stranger',
      at(ACCOUNT, send(THIEF, 1n, '0x')),
      `call 1: to ${THIEF} of a plain transfer is not among the values of the policy`,
    ],
    [
      'an account that sends more coins than it may, in two',
      at(
        ACCOUNT,
        call('executeBatch((address,uint256,bytes)[])', [
          [PARTNER, ETHER, '0x'],
          [OTHER, ETHER, '0x'],
        ]),
      ),
      'call 2: the amount of plain transfers is 2 over all calls together, above the maximum 1.5',
    ],
    [
      'a batch whose lists have different lengths',
      at(ACCOUNT, call('executeBatch(address[],uint256[],bytes[])', [USDT, USDT], [0n, 0n], [pay])),
      'executeBatch(address[],uint256[],bytes[]): targets and values and data have different lengths',
    ],
    [
      'calls in the packed form of multiSend',
      at(ROUTER, call('multiSend(bytes)', '0x00')),
      `multiSend(bytes) (0x8d80ff0a) ${on(ROUTER)}`,
    ],
    [
      'an offset that is not where it belongs',
      at(ROUTER, withWord(multicall(swap(1n)), 0, 0x40n)),
      'multicall(bytes[]): the offset of data is 64 and must be 32',
    ],
    [
      'two items that share one offset',
      at(ROUTER, withWord(multicall(swap(1n), swap(1n)), 3, 0x40n)),
      'multicall(bytes[]): the offset of data.2 is 64 and must be 352',
    ],
    [
      'an offset beyond everything',
      at(ROUTER, withWord(multicall(swap(1n)), 0, MAX)),
      `multicall(bytes[]): the offset of data is 0x${'f'.repeat(64)} and must be 32`,
    ],
    [
      'a list that claims a huge length',
      at(ROUTER, withWord(multicall(swap(1n)), 1, 2n ** 64n)),
      'multicall(bytes[]): data claims a length of 0x10000000000000000, and there is room for 10',
    ],
    [
      'bytes that claim a huge length',
      at(ROUTER, withWord(multicall(swap(1n)), 3, MAX)),
      `multicall(bytes[]): data.1 claims a length of 0x${'f'.repeat(64)}, and there is room for 256`,
    ],
    [
      'padding that is not zero',
      at(ROUTER, `${multicall(swap(1n)).slice(0, -2)}01`),
      'multicall(bytes[]): the padding of data.1 is not zero',
    ],
    [
      'text that is no UTF-8',
      at(ROUTER, fill(1n).replace('68656c6c6f', 'ff656c6c6f')),
      'fill((address,int256,string,bytes4),uint8[2]): order.note is not UTF-8 text',
    ],
  ])('%s', (_, transaction, because) => {
    const result = judge(transaction);
    expect({ verdict: result.verdict, because: result.because }).toEqual({ verdict: 'refuse', because });
    expect(result.claims).toEqual([]);
  });
});

describe('contract-calls asks the lists of the store', () => {
  const listed = usdt(transferTo(THIEF, 50_500_000n));

  it('where a condition names one, and once for each', () => {
    const result = judge(listed);
    expect(result).toMatchObject({
      verdict: 'claim',
      because: `transfer(address,uint256) of ${USDT} is allowed with ${THIEF} on the list partners, ${THIEF} not on the list blocked`,
      values: { member: 'to', 'args.to': THIEF },
    });
    const claim = { type: 'list', values: [THIEF], result: 0, decides: true, retryable: false };
    expect(result.claims).toEqual([
      { ...claim, list: 'partners', must: 'hold-all' },
      { ...claim, list: 'blocked', must: 'hold-none' },
    ]);
  });

  it('only where no other entry allows the call', () => {
    expect(judge(usdt(transferTo(PARTNER, UNIT)))).toMatchObject({ verdict: 'pass', claims: [] });
  });

  it('and for numbers, as decimal text', () => {
    const id = 2n ** 256n - 1n;
    const result = judge(at(NFT, call('safeTransferFrom(address,address,uint256)', ME, PARTNER, id)));
    expect(result.claims).toEqual([
      expect.objectContaining({ type: 'list', list: 'ids', values: [id.toString()], must: 'hold-all' }),
    ]);
  });

  it('for all calls of a transaction in one claim a list', () => {
    const calls = [THIEF, ROUTER, THIEF].map((to) => [USDT, false, transferTo(to, UNIT)] as const);
    const { claims, values } = judge(at(MULTICALL3, aggregate3(...calls)));
    expect(claims.map((claim) => claim.type === 'list' && [claim.list, claim.values])).toEqual([
      ['partners', [THIEF, ROUTER]],
      ['blocked', [THIEF, ROUTER]],
    ]);
    expect(values).toMatchObject({
      'call1.args.to': THIEF,
      'call2.args.to': ROUTER,
      'call3.method': 'transfer(address,uint256)',
    });
  });

  it('and adds up what they allow', () => {
    const calls = [THIEF, ROUTER].map((to) => [USDT, false, transferTo(to, 25_250_001n)] as const);
    expect(judge(at(MULTICALL3, aggregate3(...calls)))).toMatchObject({
      verdict: 'refuse',
      because:
        'call 2: amount of transfer(address,uint256) is 50.500002 over all calls together, above the maximum 50.5',
      claims: [],
    });
  });
});

describe('contract-calls reports', () => {
  it('contract, method, native value and each argument, amounts in units and raw', () => {
    expect(judge(usdt(pay)).values).toEqual({
      contract: USDT,
      method: 'transfer(address,uint256)',
      native: '0',
      'args.to': PARTNER,
      'args.amount': '100',
      'args.amount.raw': '100000000',
    });
  });

  it('members of lists and tuples by their names, and calls within by their place', () => {
    const { values } = judge(at(ROUTER, multicall(swap(2n, [USDT, WETH])), { amount: '1' }));
    expect(values).toEqual({
      contract: ROUTER,
      method: 'multicall(bytes[])',
      native: '1',
      'call1.path': 'multicall > swap',
      'call1.contract': ROUTER,
      'call1.method': 'swap(uint256,uint256,address[],address)',
      'call1.native': '1',
      'call1.args.amountIn': '0.000002',
      'call1.args.amountIn.raw': '2',
      'call1.args.amountOutMin': '1',
      'call1.args.path': `${USDT} ${WETH}`,
      'call1.args.to': ME,
    });
    expect(judge(at(PERMIT2, permit2Single(5n))).values).toMatchObject({
      'args.permitSingle.details.token': USDT,
      'args.permitSingle.details.amount': '0.000005',
      'args.signature': '0x1234',
    });
  });

  it('what was at fault: contract, method, selector, argument, place', () => {
    expect(judge(usdt(approveFor(THIEF, 1n))).values).toEqual({
      contract: USDT,
      method: 'approve(address,uint256)',
      selector: '0x095ea7b3',
      argument: 'spender',
      found: THIEF,
    });
    expect(judge(at(PROXY, execute(USDT, withWord(pay, 0, MAX)))).values).toMatchObject({
      call: '1',
      path: 'execute > transfer',
      argument: 'to',
    });
    expect(judge(usdt('0xdeadbeef')).values).toEqual({ contract: USDT, selector: '0xdeadbeef' });
  });

  it('long arguments cut short', () => {
    const long = call(
      'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)',
      ME,
      [[USDT, 1n, 1, 2], ROUTER, 9n],
      `0x${'ab'.repeat(500)}`,
    );
    expect(judge(at(PERMIT2, long)).values['args.signature']).toBe(`0x${'ab'.repeat(99)}… (1002 characters)`);
  });
});

describe('contract-calls', () => {
  it('adds up what the methods and contracts of one entry move', () => {
    const where = `{ to: any, amount: { max: 10 } }`;
    const entries = `[{ contract: ['${USDT}', '${DAI}'], method: ['transfer(address,uint256)', 'approve(address,uint256)'], decimals: 6, where: ${where.replace('to', '1')} }, { contract: '${MULTICALL3}', method: 'aggregate((address,bytes)[])' }]`;
    const rule = `contract-calls: { calls: ${entries}, multicall: { depth: 1, calls: 2 } }`;
    const verdict = (first: bigint, second: bigint): string => {
      const data = call('aggregate((address,bytes)[])', [
        [USDT, transferTo(PARTNER, first)],
        [DAI, approveFor(ROUTER, second)],
      ]);
      return judged(rule, callbackOf({ contract: MULTICALL3, data }), { when: '{ symbol: ETH }' }).result
        .verdict;
    };
    expect(verdict(5n * UNIT, 5n * UNIT)).toBe('pass');
    expect(verdict(5n * UNIT, 5n * UNIT + 1n)).toBe('refuse');
  });

  it('refuses call data above its bound, and reads data at it', () => {
    const data = (bytes: number): string => `0x${'0'.repeat(bytes * 2)}`;
    const callback = callbackOf(usdt(pay));
    const because = (inputData: string): string | undefined =>
      evaluateAt(policies, { ...callback, inputData }, NOON).results[0]?.because;
    expect(because(data(32_768))).toContain('an unknown method (0x00000000)');
    expect(because(data(32_769))).toBe('the call data has 65540 characters, more than 32768 bytes');
  });

  it('reads everything that a whole callback may hold', () => {
    const many = Array.from({ length: 255 }, () => [ME, PARTNER, 1n, USDT] as const);
    expect(judge(at(PERMIT2, batch(...many)))).toMatchObject({ verdict: 'pass' });
    const tooMuch = Array.from({ length: 255 }, () => [ME, PARTNER, 4n * UNIT, USDT] as const);
    expect(judge(at(PERMIT2, batch(...tooMuch)))).toMatchObject({ verdict: 'refuse' });
  });

  it('refuses on a network that the policy does not name, since no policy applies', () => {
    const elsewhere = { ...callbackOf(usdt(pay)), symbol: 'BSC', values: new Map([['symbol', ['BSC']]]) };
    expect(evaluateAt(policies, elsewhere, NOON)).toMatchObject({ approves: false, refusal: 'NO_POLICY' });
  });

  it('says the same from a release as from its files', () => {
    const compiled = compileRelease(policies.document);
    if (!compiled.ok) throw new Error('the release does not compile');
    expect(compiled.release.revision).toBe(policies.revision);
    const callback = callbackOf(at(ROUTER, multicall(swap(1n))));
    expect(evaluateAt(compiled.release, callback, NOON)).toEqual(evaluateAt(policies, callback, NOON));
  });

  it('has an example that its cases pass', () => {
    const { example, files, cases } = rulePage('contract-calls');
    const read = readTestFiles([{ name: 'cases.test.yaml', text: cases }]);
    if (!read.ok) throw new Error('the cases can’t be read');
    const { passed, failed } = runTests(release(example, files, files['assets.yaml']), read.tests);
    expect({ passed, failed }).toEqual({ passed: 9, failed: 0 });
  });
});
