import { expect, it } from 'vitest';
import { EXEC, MULTICALL3, SAFE, WETH, ZERO, call } from '../policy/calls/transactions.ts';
import { TO, web3 } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const POOL = '0x4444444444444444444444444444444444444444';
const ETHER = 10n ** 18n;
const BATCH = 'aggregate3Value((address,bool,uint256,bytes)[])';
const SWAP = 'swap(uint256,address)';

const policyOf = (network: string, movements: string): string => `policy: on-${network.toLowerCase()}
callback: web3
when: { source: vault, main_chain_symbol: ${network} }
${movements}rules:
  ${movements === '' ? '' : '- amount-limit: { by: asset, max: { ETH: 10 } }'}
  - contract-calls:
      accounts: '${SAFE}'
      abis: own.abi
      multicall: { depth: 2, calls: 8 }
      plain: { max: 10 }
      calls:
        - { contract: '${MULTICALL3}', method: '${BATCH}', value: { max: 10 }, where: { calls.allowFailure: any } }
        - { contract: '${WETH}', method: deposit(), value: { max: 10 } }
        - { contract: '${POOL}', method: '${SWAP}', where: { amount: { max: 10, decimals: 6 }, to: { is: caller } } }
        - contract: '${SAFE}'
          method: ${EXEC}
          value: { max: 10 }
          where: { safeTxGas: any, baseGas: any, gasPrice: { values: 0 }, gasToken: any, refundReceiver: any, signatures: any }
`;

const POLICIES = {
  'eth.yaml': policyOf('ETH', 'movements: { approvals: count }\n'),
  'bsc.yaml': policyOf('BSC', ''),
  'own.abi': 'swap(uint256 amount, address to)\n',
  'assets.yaml': 'assets:\n  ETH: { chain: evm, decimals: 18 }\n  BSC: { chain: evm, decimals: 18 }\n',
};

const exec = (to: string, value: bigint, data: string): string =>
  call(EXEC, to, value, data, 0, 0n, 0n, 0n, ZERO, ZERO, '0x');
const batch = (to: string, value: bigint, data: string, allowFailure = false): string =>
  call(BATCH, [[to, allowFailure, value, data]]);
const swapFor = (to: string): string => call(SWAP, 1_000_000n, to);

describeOnBothStores('what a wrapper keeps counts', (host) => {
  it.each<[string, string, string, string, string, string?]>([
    ['a Safe pays what it has', 'SUCCESS', SAFE, '0', exec(TO, 10n * ETHER, '0x')],
    ['a multicall pays what it gets', 'SUCCESS', MULTICALL3, '10', batch(TO, 10n * ETHER, '0x')],
    ['it pays half, and keeps half', 'SUCCESS', MULTICALL3, '10', batch(TO, 5n * ETHER, '0x')],
    [
      'it keeps all, while a Safe pays as much',
      'FAILURE',
      MULTICALL3,
      '10',
      batch(SAFE, 0n, exec(TO, 10n * ETHER, '0x')),
    ],
    ['it may keep what it should pay', 'FAILURE', MULTICALL3, '10', batch(TO, 10n * ETHER, '0x', true)],
    ['it gets tokens for coins', 'FAILURE', MULTICALL3, '1', batch(WETH, ETHER, call('deposit()'))],
    ['it gets them without a call', 'FAILURE', MULTICALL3, '1', batch(WETH, ETHER, '0x')],
    ['a Safe gets tokens for coins', 'SUCCESS', SAFE, '1', exec(WETH, ETHER, call('deposit()'))],
    ['a multicall is its own recipient', 'FAILURE', MULTICALL3, '0', batch(POOL, 0n, swapFor(MULTICALL3))],
    ['a Safe is its own recipient', 'SUCCESS', SAFE, '0', exec(POOL, 0n, swapFor(SAFE))],
    [
      'a multicall is its own recipient, and nothing counts',
      'FAILURE',
      MULTICALL3,
      '0',
      batch(POOL, 0n, swapFor(MULTICALL3)),
      'BSC',
    ],
    [
      'a Safe is its own recipient, and nothing counts',
      'SUCCESS',
      SAFE,
      '0',
      exec(POOL, 0n, swapFor(SAFE)),
      'BSC',
    ],
  ])('%s: %s', async (_, verdict, contract, amount, input_data, main_chain_symbol = 'ETH') => {
    const service = await host.start({ policies: POLICIES });
    const transaction = { to: contract, interactive_contract: contract, amount, input_data };
    const answer = await service.cosign('/cosigner/web3', web3({ ...transaction, main_chain_symbol }));
    expect(answer).toBe(verdict);
  });
});
