import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Movement } from '../../src/callback/callback.ts';
import { withMovements } from '../../src/policy/movements.ts';
import { formatAmount } from '../../src/values/amount.ts';
import { NOON, evaluateAt, release, web3 } from './callbacks.ts';
import * as model from './value-model.ts';

/*
 * Value is conserved: what an address gains by a transaction is at least counted as moving to it. Only the
 * sender and the accounts that a policy names are ours.
 */

const DECIMALS = { [model.USDT]: 6, [model.DAI]: 18, [model.WETH]: 18, [model.COINS]: 18 } as const;

const ASSETS = `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${model.USDT}' } }
  DAI: { chain: evm, decimals: 18, contracts: { ETH: '${model.DAI}' } }
  WETH: { chain: evm, decimals: 18, contracts: { ETH: '${model.WETH}' } }
`;

const POLICY = `policy: one
callback: web3
when: { main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - contract-calls:
      accounts: ['${model.SAFE}']
      abis: own.abi
      multicall: { depth: 4, calls: 100 }
      plain: { max: 1000 }
      calls:
        - { contract: '${model.ROUTER}', method: 'swap(uint256,address)', value: { max: 1000 }, where: { amount: any, to: { is: caller } } }
        - { contract: '${model.ROUTER}', method: ['refund()', 'multicall(bytes[])'], value: { max: 1000 } }
        - { contract: '${model.WETH}', method: deposit(), value: { max: 1000 } }
        - { contract: '${model.WETH}', method: withdraw(uint256), decimals: 18, where: { wad: any } }
        - contract: ['${model.USDT}', '${model.DAI}', '${model.WETH}']
          method: ['transfer(address,uint256)', 'approve(address,uint256)']
          decimals: 6
          value: { max: 1000 }
          where: { 1: any, 2: any }
        - contract: ['${model.USDT}', '${model.DAI}', '${model.WETH}']
          method: transferFrom(address,address,uint256)
          decimals: 6
          value: { max: 1000 }
          where: { from: any, to: any, amount: any }
        - contract: ['${model.SAFE}', '${model.OTHER_SAFE}']
          method: execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)
          value: { max: 1000 }
          where: { safeTxGas: any, baseGas: any, gasPrice: any, gasToken: any, refundReceiver: any, signatures: any }
        - contract: ['${model.SAFE}', '${model.OTHER_SAFE}']
          method: execTransactionFromModule(address,uint256,bytes,uint8)
          value: { max: 1000 }
        - { contract: '${model.MULTISEND}', method: multiSend(bytes), delegatecall: allowed, value: { max: 1000 } }
        - contract: ['${model.ACCOUNT}', '${model.LENIENT}']
          method: ['execute(address,uint256,bytes)', 'execute(address,bytes)', 'executeBatch((address,uint256,bytes)[])']
          value: { max: 1000 }
        - contract: '${model.MULTICALL3}'
          method: ['aggregate((address,bytes)[])']
          value: { max: 1000 }
        - contract: '${model.MULTICALL3}'
          method: 'tryAggregate(bool,(address,bytes)[])'
          value: { max: 1000 }
          where: { requireSuccess: any }
        - contract: '${model.MULTICALL3}'
          method: ['aggregate3((address,bool,bytes)[])', 'aggregate3Value((address,bool,uint256,bytes)[])']
          value: { max: 1000 }
          where: { calls.allowFailure: any }
`;

const policies = release(POLICY, { 'own.abi': 'swap(uint256 amount, address to)\nrefund()\n' }, ASSETS);

const addresses = fc.constantFrom(...model.ADDRESSES);
const wei = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 9n }));
const tokens = fc.constantFrom(model.USDT, model.DAI, model.WETH);
const safes = fc.constantFrom(model.SAFE, model.OTHER_SAFE);
const accounts = fc.constantFrom(model.ACCOUNT, model.LENIENT);

/** Calls that a function makes of arguments, with coins. */
const op = <A extends unknown[]>(
  make: (...of: A) => Omit<model.Op, 'value'>,
  ...of: { [K in keyof A]: fc.Arbitrary<A[K]> }
): fc.Arbitrary<model.Op> =>
  fc.tuple(wei, fc.tuple<A>(...of)).map(([value, args]) => ({ ...make(...args), value }));

const { op: ops } = fc.letrec<{ op: model.Op; leaf: model.Op; wrapper: model.Op }>((tie) => {
  const inner = tie('op');
  const list = fc.array(inner, { minLength: 1, maxLength: 3 });
  const maybe = fc.array(fc.record({ allowFailure: fc.boolean(), op: inner }), {
    minLength: 1,
    maxLength: 3,
  });
  const fees = fc.record({
    safeTxGas: wei,
    gasPrice: fc.constantFrom(0n, 0n, 0n, 1n),
    refundReceiver: addresses,
  });
  return {
    leaf: fc.oneof(
      op(model.plain, fc.oneof(addresses, fc.constant(model.WETH))),
      op(model.transfer, tokens, addresses, wei),
      op(model.approve, tokens, addresses, wei),
      op(model.transferFrom, tokens, addresses, addresses, wei),
      op(() => model.deposit),
      op(model.withdraw, wei),
      op(model.swap, wei, fc.constantFrom<model.Hex | 'caller'>('caller', model.ME)),
      op(() => model.refund),
    ),
    wrapper: fc.oneof(
      op(model.multicall, list),
      op(model.ofSafe, safes, inner, fees),
      op(model.batchOfSafe, safes, list),
      op(model.byModule, safes, inner),
      op(model.execute, accounts, inner),
      op(model.forward, accounts, inner),
      op(model.executeBatch, accounts, list),
      op(model.aggregate, list),
      op(model.tryAggregate, fc.boolean(), list),
      op(model.aggregate3, maybe),
      op(model.aggregate3Value, maybe),
    ),
    op: fc.oneof({ maxDepth: 4, depthSize: 'small' }, tie('leaf'), tie('wrapper')),
  };
});

const places = Object.keys(DECIMALS).flatMap((asset) =>
  model.ADDRESSES.map((owner) => model.placeOf(asset, owner)),
);
const balances: fc.Arbitrary<model.Balances> = fc
  .array(fc.tuple(fc.constantFrom(...places), fc.bigInt({ min: 0n, max: 30n })), { maxLength: 60 })
  .map((entries) => new Map([...entries, [model.placeOf(model.COINS, model.ME), 30n] as const]));

/** The movements of a transaction, if the rules can read and allow it. */
function movementsOf(transaction: model.Op): readonly Movement[] | undefined {
  const { contract, value } = transaction;
  const data = transaction.data(model.ME);
  const callback = web3({
    from: model.ME,
    to: contract,
    interactive_contract: data === '0x' ? '' : contract,
    amount: formatAmount(value * 10n ** 18n),
    input_data: data,
  });
  if (evaluateAt(policies, callback, NOON).results.some(({ verdict }) => verdict === 'refuse')) {
    return undefined;
  }
  const { movements } = withMovements(callback, policies.policies[0]?.movements);
  if (movements === undefined) throw new Error('the policy has no movements');
  return movements.problem === undefined ? movements.list : undefined;
}

const isOurs = (address: string): boolean => address === model.ME || address === model.SAFE;

/** What an address gains beyond what is counted, if anything. */
function uncounted(
  transaction: model.Op,
  before: model.Balances,
  movements: readonly Movement[],
): readonly string[] {
  const after = model.balancesAfter(transaction, before);
  if (after === undefined) return [];
  return Object.entries(DECIMALS).flatMap(([asset, decimals]) =>
    model.ADDRESSES.filter((address) => !isOurs(address)).flatMap((address) => {
      const place = model.placeOf(asset, address);
      const gained = (after.get(place) ?? 0n) - (before.get(place) ?? 0n);
      const moved = movements.filter(({ to }) => to === address);
      if (gained <= 0n || moved.some(({ amount }) => typeof amount === 'string')) return [];
      const counted = moved
        .filter(({ contract = model.COINS }) => contract === asset)
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
      fc.property(ops, balances, (transaction, before) => {
        const movements = movementsOf(transaction);
        if (movements === undefined) return;
        if (model.balancesAfter(transaction, before) !== undefined) seen++;
        expect(uncounted(transaction, before, movements)).toEqual([]);
      }),
      { numRuns: 3000 },
    );
    // Otherwise the property would say nothing.
    expect(seen).toBeGreaterThan(500);
  });
});
