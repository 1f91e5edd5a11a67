import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Movement } from '../../src/callback/callback.ts';
import { withMovements } from '../../src/policy/movements.ts';
import { formatAmount } from '../../src/values/amount.ts';
import { NOON, evaluateAt, release, web3 } from './callbacks.ts';
import {
  ACCOUNT,
  ADDRESSES,
  type Balances,
  COINS,
  DAI,
  type Hex,
  LENIENT,
  ME,
  MULTICALL3,
  MULTISEND,
  OTHER_SAFE,
  type Op,
  ROUTER,
  SAFE,
  USDT,
  WETH,
  balancesAfter,
  contractOf,
  dataOf,
  placeOf,
} from './value-model.ts';

/*
 * Value is conserved: what an address gains by a transaction is at least counted as moving to it. Only the
 * sender and the accounts that a policy names are ours.
 */

const DECIMALS = { [USDT]: 6, [DAI]: 18, [WETH]: 18, [COINS]: 18 } as const;

const ASSETS = `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
  DAI: { chain: evm, decimals: 18, contracts: { ETH: '${DAI}' } }
  WETH: { chain: evm, decimals: 18, contracts: { ETH: '${WETH}' } }
`;

const POLICY = `policy: one
callback: web3
when: { main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - contract-calls:
      accounts: ['${SAFE}']
      abis: own.abi
      multicall: { depth: 4, calls: 100 }
      plain: { max: 1000 }
      calls:
        - { contract: '${ROUTER}', method: 'swap(uint256,address)', value: { max: 1000 }, where: { amount: any, to: { is: caller } } }
        - { contract: '${ROUTER}', method: ['refund()', 'multicall(bytes[])'], value: { max: 1000 } }
        - { contract: '${WETH}', method: deposit(), value: { max: 1000 } }
        - { contract: '${WETH}', method: withdraw(uint256), decimals: 18, where: { wad: any } }
        - contract: ['${USDT}', '${DAI}', '${WETH}']
          method: ['transfer(address,uint256)', 'approve(address,uint256)']
          decimals: 6
          value: { max: 1000 }
          where: { 1: any, 2: any }
        - contract: ['${USDT}', '${DAI}', '${WETH}']
          method: transferFrom(address,address,uint256)
          decimals: 6
          value: { max: 1000 }
          where: { from: any, to: any, amount: any }
        - contract: ['${SAFE}', '${OTHER_SAFE}']
          method: execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)
          value: { max: 1000 }
          where: { safeTxGas: any, baseGas: any, gasPrice: any, gasToken: any, refundReceiver: any, signatures: any }
        - contract: ['${SAFE}', '${OTHER_SAFE}']
          method: execTransactionFromModule(address,uint256,bytes,uint8)
          value: { max: 1000 }
        - { contract: '${MULTISEND}', method: multiSend(bytes), delegatecall: allowed, value: { max: 1000 } }
        - contract: ['${ACCOUNT}', '${LENIENT}']
          method: ['execute(address,uint256,bytes)', 'execute(address,bytes)', 'executeBatch((address,uint256,bytes)[])']
          value: { max: 1000 }
        - contract: '${MULTICALL3}'
          method: ['aggregate((address,bytes)[])']
          value: { max: 1000 }
        - contract: '${MULTICALL3}'
          method: 'tryAggregate(bool,(address,bytes)[])'
          value: { max: 1000 }
          where: { requireSuccess: any }
        - contract: '${MULTICALL3}'
          method: ['aggregate3((address,bool,bytes)[])', 'aggregate3Value((address,bool,uint256,bytes)[])']
          value: { max: 1000 }
          where: { calls.allowFailure: any }
`;

const policies = release(POLICY, { 'own.abi': 'swap(uint256 amount, address to)\nrefund()\n' }, ASSETS);

const addresses = fc.constantFrom(...ADDRESSES);
const wei = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 9n }));
const tokens = fc.constantFrom(USDT, DAI, WETH);
const safes = fc.constantFrom(SAFE, OTHER_SAFE);
const accounts = fc.constantFrom(ACCOUNT, LENIENT);

const { op: ops } = fc.letrec<{ op: Op; leaf: Op; wrapper: Op }>((tie) => {
  const list = fc.array(tie('op'), { minLength: 1, maxLength: 3 });
  const maybe = fc.array(fc.record({ allowFailure: fc.boolean(), op: tie('op') }), {
    minLength: 1,
    maxLength: 3,
  });
  const op = (is: Op['is'], members: object): fc.Arbitrary<Op> =>
    fc.record({ is: fc.constant(is), value: wei, ...members }) as unknown as fc.Arbitrary<Op>;
  return {
    leaf: fc.oneof(
      op('plain', { to: fc.oneof(addresses, fc.constant(WETH)) }),
      op('transfer', { token: tokens, to: addresses, amount: wei }),
      op('approve', { token: tokens, to: addresses, amount: wei }),
      op('transferFrom', { token: tokens, from: addresses, to: addresses, amount: wei }),
      op('deposit', {}),
      op('withdraw', { amount: wei }),
      op('swap', { amount: wei, to: fc.constantFrom<Hex | 'caller'>('caller', ME) }),
      op('refund', {}),
    ),
    wrapper: fc.oneof(
      op('multicall', { ops: list }),
      op('safe', {
        safe: safes,
        op: tie('op'),
        safeTxGas: wei,
        gasPrice: fc.constantFrom(0n, 0n, 0n, 1n),
        refundReceiver: addresses,
      }),
      op('batch of a safe', { safe: safes, ops: list }),
      op('module', { safe: safes, op: tie('op') }),
      op('execute', { account: accounts, op: tie('op') }),
      op('forward', { account: accounts, op: tie('op') }),
      op('executeBatch', { account: accounts, ops: list }),
      op('aggregate', { ops: list }),
      op('tryAggregate', { requireSuccess: fc.boolean(), ops: list }),
      op('aggregate3', { ops: maybe }),
      op('aggregate3Value', { ops: maybe }),
    ),
    op: fc.oneof({ maxDepth: 4, depthSize: 'small' }, tie('leaf'), tie('wrapper')),
  };
});

const places = Object.keys(DECIMALS).flatMap((asset) => ADDRESSES.map((owner) => placeOf(asset, owner)));
const balances: fc.Arbitrary<Balances> = fc
  .array(fc.tuple(fc.constantFrom(...places), fc.bigInt({ min: 0n, max: 30n })), { maxLength: 60 })
  .map((entries) => new Map([...entries, [placeOf(COINS, ME), 30n] as const]));

/** The movements of a transaction, if the rules can read and allow it. */
function movementsOf(op: Op): readonly Movement[] | undefined {
  const contract = contractOf(op);
  const callback = web3({
    from: ME,
    to: contract,
    interactive_contract: op.is === 'plain' ? '' : contract,
    amount: formatAmount(op.value * 10n ** 18n),
    input_data: dataOf(op, ME),
  });
  if (evaluateAt(policies, callback, NOON).results.some(({ verdict }) => verdict === 'refuse')) {
    return undefined;
  }
  const { movements } = withMovements(callback, policies.policies[0]?.movements);
  if (movements === undefined) throw new Error('the policy has no movements');
  return movements.problem === undefined ? movements.list : undefined;
}

const isOurs = (address: string): boolean => address === ME || address === SAFE;

/** What an address gains beyond what is counted, if anything. */
function uncounted(op: Op, before: Balances, movements: readonly Movement[]): readonly string[] {
  const after = balancesAfter(op, before);
  if (after === undefined) return [];
  return Object.entries(DECIMALS).flatMap(([asset, decimals]) =>
    ADDRESSES.filter((address) => !isOurs(address)).flatMap((address) => {
      const place = placeOf(asset, address);
      const gained = (after.get(place) ?? 0n) - (before.get(place) ?? 0n);
      const moved = movements.filter(({ to }) => to === address);
      if (gained <= 0n || moved.some(({ amount }) => typeof amount === 'string')) return [];
      const counted = moved
        .filter(({ contract = COINS }) => contract === asset)
        .reduce((sum, { amount }) => sum + (typeof amount === 'bigint' ? amount : 0n), 0n);
      const gain = gained * 10n ** BigInt(36 - decimals);
      return counted >= gain ? [] : [`${address} gains ${gained} of ${asset}, counted ${counted}`];
    }),
  );
}

describe('value is conserved', () => {
  it('in random transactions, whether their inner calls fail or not', () => {
    let seen = 0;
    fc.assert(
      fc.property(ops, balances, (op, before) => {
        const movements = movementsOf(op);
        if (movements === undefined) return;
        if (balancesAfter(op, before) !== undefined) seen++;
        expect(uncounted(op, before, movements)).toEqual([]);
      }),
      { numRuns: 3000 },
    );
    // Otherwise the property would say nothing.
    expect(seen).toBeGreaterThan(500);
  });
});
