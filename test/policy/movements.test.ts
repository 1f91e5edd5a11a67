import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Movement } from '../../src/callback/callback.ts';
import { withMovements } from '../../src/policy/movements.ts';
import { formatAmount } from '../../src/values/amount.ts';
import {
  ACCOUNT,
  ADDRESSES,
  DAI,
  EXEC,
  ITEMS,
  MAX,
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
  transferTo,
} from './calls/transactions.ts';
import { type Packed, asCallData, asTransaction, packed } from './calls/written.ts';
import { release, web3 } from './callbacks.ts';
import { tablesOf, string, strings, pattern } from '../cases.ts';

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

const exec = (to: string, value: bigint, data: string, operation = 0, gasPrice = 0n): string =>
  call(EXEC, to, value, data, operation, 0n, 0n, gasPrice, ZERO, ZERO, '0x');
const aggregate = (...calls: readonly (readonly [to: string, value: bigint, data: string])[]): string =>
  call(
    'aggregate3Value((address,bool,uint256,bytes)[])',
    calls.map(([to, wei, data]) => [to, false, wei, data]),
  );

const send = (...calls: readonly Packed[]): string => call('multiSend(bytes)', packed(...calls));

const rowsOf = tablesOf(new URL('cases/movements.yaml', import.meta.url), { ...ADDRESSES, DUST });

describe('the movements of a token', () => {
  it.each(rowsOf('token', string, string, asCallData, strings))('%s', (_, contract, data, movements) => {
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
  it.each(rowsOf('native', string, asTransaction, strings))('%s', (_, transaction, movements) => {
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
    ...rowsOf('unknown', string, asTransaction, pattern),
    [
      'of a dirty address',
      { contract: USDT, data: pay.replace('a9059cbb00', 'a9059cbb01') },
      /to is not written as Solidity writes it/,
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
