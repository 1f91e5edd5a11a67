import { encodeFunctionData, parseAbi } from 'viem/utils';
import type { Web3Callback } from '../../../src/callback/callback.ts';
import type { Release } from '../../../src/policy/release.ts';
import { release, web3 } from '../callbacks.ts';

export const ME = '0xde709f2102306220921060314715629080e2fb77';
export const PARTNER = '0x52908400098527886e0f7030069857d2e4169ee7';
export const OTHER = '0x8617e340b3d01fa5f11f306f4090fd50e238070d';
export const THIEF = '0x00000000000000000000000000000000deadbeef';
export const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7';
export const DAI = '0x6b175474e89094c44da98b954eedeac495271d0f';
export const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
export const PERMIT2 = '0x000000000022d473030f116ddee9f6b43ac78ba3';
export const ROUTER = '0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45';
export const MULTICALL3 = '0xca11bde05977b3631167028862be2a173976ca11';
export const NFT = '0xbc4ca0eda7647a8ab7c2061c2e118a18a936f13d';
export const ITEMS = '0x76be3b62873462d2142405439777e971754e8e77';
export const PROXY = '0x1111111111111111111111111111111111111111';
export const ACCOUNT = '0x2222222222222222222222222222222222222222';
export const SAFE = '0x3333333333333333333333333333333333333333';
export const MULTISEND = '0x40a2accbd92bca938b02010e17a5b8929b49130d';
export const ZERO = `0x${'0'.repeat(40)}`;

/** The names that tables have for them. */
export const ADDRESSES = {
  ME,
  PARTNER,
  OTHER,
  THIEF,
  USDT,
  DAI,
  WETH,
  PERMIT2,
  ROUTER,
  MULTICALL3,
  NFT,
  ITEMS,
  PROXY,
  ACCOUNT,
  SAFE,
  MULTISEND,
  ZERO,
};

/** `execTransaction` of a Safe. */
export const EXEC =
  'execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)';

export const MAX = 2n ** 256n - 1n;
const ROUTER_ABI = `# What we use of the router.
swap(uint256 amountIn, uint256 amountOutMin, address[] path, address to) // since v2
batch(uint256 deadline, (address target, uint256 value, bytes data)[] calls)
struct Order { address maker; int256 delta; string note; bytes4 kind; }
function fill(Order order, uint8[2] flags);
event Swapped(address who)
`;

/** One of each that there is; refusals come from what it does not say. */
const POLICY = `policy: one
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      calls:
        - { contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: { to: { values: ['${PARTNER}', '${OTHER}'] }, amount: { max: 1000 } } }
        - { contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: { to: { list: partners, not-list: blocked }, amount: { min: 1, max: 50.5 } } }
        - { contract: '${USDT}', method: 'transferFrom(address,address,uint256)', decimals: 6, where: { from: { is: sender }, to: { values: '${PARTNER}' }, amount: { max: 1000 } } }
        - contract: '${USDT}'
          method: ['approve(address,uint256)']
          decimals: 6
          where: { spender: { values: '${ROUTER}' }, amount: { max: 5000 } }
        - { contract: '${USDT}', method: 'increaseAllowance(address,uint256)', decimals: 6, where: { spender: { values: '${ROUTER}' }, addedValue: { max: 5000 } } }
        - { contract: '${USDT}', method: 'decreaseAllowance(address,uint256)', decimals: 6, where: { 1: { values: '${ROUTER}' }, 2: any } }
        - contract: '${USDT}'
          method: permit(address,address,uint256,uint256,uint8,bytes32,bytes32)
          decimals: 6
          where: { owner: { is: sender }, spender: { values: '${ROUTER}' }, value: { max: 100 }, deadline: any, v: any, r: any, s: any }
        - contract: '${DAI}'
          method: approve(address,uint256)
          asset: DAI
          where: { spender: { values: '${ROUTER}' }, amount: { max: 10 } }
          unlimited: allowed
          recipient: spender
        - contract: '${DAI}'
          method: permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)
          where: { holder: { is: sender }, spender: { values: '${ROUTER}' }, nonce: any, expiry: any, allowed: any, v: any, r: any, s: any }
        - { contract: '${WETH}', method: deposit(), value: { max: 1 } }
        - { contract: '${WETH}', method: withdraw(uint256), decimals: 18, where: { wad: { max: 1 } }, unlimited: allowed }
        - { contract: '${NFT}', method: 'approve(address,uint256)', where: { to: { values: '${PARTNER}' }, tokenId: { values: [1, 2] } } }
        - { contract: '${NFT}', method: 'safeTransferFrom(address,address,uint256)', where: { from: { is: sender }, to: { values: '${PARTNER}' }, tokenId: { list: ids } } }
        - { contract: ['${NFT}', '${ITEMS}'], method: 'setApprovalForAll(address,bool)', where: { operator: { values: '${ROUTER}' }, approved: any } }
        - contract: '${ITEMS}'
          method: safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)
          decimals: 0
          where: { from: { is: sender }, to: { values: '${PARTNER}' }, ids: { values: [7, 8] }, amounts: { max: 10 }, data: { values: 0x } }
        - contract: '${PERMIT2}'
          method: approve(address,address,uint160,uint48)
          decimals: 6
          where: { token: { values: '${USDT}' }, spender: { values: '${ROUTER}' }, amount: { max: 5000 }, expiration: any }
        - contract: '${PERMIT2}'
          method: permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)
          decimals: 6
          where:
            owner: { is: sender }
            permitSingle.details.token: { values: '${USDT}' }
            permitSingle.details.amount: { max: 5000 }
            permitSingle.details.expiration: any
            permitSingle.details.nonce: any
            permitSingle.spender: { values: '${ROUTER}' }
            permitSingle.sigDeadline: any
            signature: any
        - contract: '${PERMIT2}'
          method: transferFrom((address,address,uint160,address)[])
          decimals: 6
          where:
            transferDetails.from: { is: sender }
            transferDetails.to: { values: ['${PARTNER}', '${OTHER}'] }
            transferDetails.amount: { max: 1000 }
            transferDetails.token: { values: '${USDT}' }
        - contract: '${ROUTER}'
          method: swap(uint256,uint256,address[],address)
          where: { amountIn: { max: 5000, decimals: 6 }, amountOutMin: { min: 1 }, path: { values: ['${USDT}', '${DAI}', '${WETH}'] }, to: { is: sender } }
          value: { max: 1 }
        - contract: '${ROUTER}'
          method: fill((address,int256,string,bytes4),uint8[2])
          where: { order.maker: { is: sender }, order.delta: { max: 5, decimals: 0 }, order.note: { values: hello }, order.kind: { values: '0x00000001' }, flags: { max: 3, each: true } }
        - { contract: '${ROUTER}', method: 'multicall(bytes[])', value: { max: 1 } }
        - { contract: '${ROUTER}', method: 'multicall(uint256,bytes[])', where: { deadline: any } }
        - { contract: '${MULTICALL3}', method: 'aggregate((address,bytes)[])' }
        - { contract: '${MULTICALL3}', method: 'tryAggregate(bool,(address,bytes)[])', where: { requireSuccess: { values: true } } }
        - { contract: '${MULTICALL3}', method: 'aggregate3((address,bool,bytes)[])', where: { calls.allowFailure: { values: false } } }
        - { contract: '${MULTICALL3}', method: 'aggregate3Value((address,bool,uint256,bytes)[])', where: { calls.allowFailure: { values: false } }, value: { max: 3 } }
        - { contract: '${PROXY}', method: 'execute(address,bytes)' }
        - { contract: '${ACCOUNT}', method: ['execute(address,uint256,bytes)', 'executeBatch(address[],uint256[],bytes[])', 'executeBatch((address,uint256,bytes)[])'] }
        - contract: '${SAFE}'
          method: ${EXEC}
          where: { safeTxGas: any, baseGas: any, gasPrice: { values: 0 }, gasToken: any, refundReceiver: any, signatures: any }
        - { contract: '${MULTISEND}', method: multiSend(bytes), delegatecall: allowed }
        - contract: '${ROUTER}'
          method: batch(uint256,(address,uint256,bytes)[])
          calls: { to: calls.target, value: calls.value, data: calls.data }
          where: { deadline: { within: 1h } }
      plain: { max: 1.5, to: { values: ['${PARTNER}', '${OTHER}'] } }
      multicall: { depth: 2, calls: 4 }
      abis: router.abi
`;

export const ASSETS =
  'assets:\n  DAI: { chain: evm, decimals: 18 }\n  USDT: { chain: evm, decimals: 6 }\n  BTC: { chain: bitcoin, decimals: 8 }\n';

export function inForce(): Release {
  return release(POLICY, { 'router.abi': ROUTER_ABI }, ASSETS);
}

/** Call data by viem's encoder; the method as a human-readable signature without names. */
export function call(signature: string, ...args: readonly unknown[]): `0x${string}` {
  const lines: readonly string[] = [`function ${signature}`];
  return encodeFunctionData({ abi: parseAbi(lines), args: [...args] });
}

export const transferTo = (to: string, amount: bigint): `0x${string}` =>
  call('transfer(address,uint256)', to, amount);
export const approveFor = (who: string, amount: bigint): `0x${string}` =>
  call('approve(address,uint256)', who, amount);
export const multicall = (...calls: readonly string[]): `0x${string}` => call('multicall(bytes[])', calls);

export interface Transaction {
  readonly contract: string;
  readonly data: string;
  readonly to?: string;
  readonly amount?: string;
  readonly from?: string;
}

export function callbackOf({
  contract,
  data,
  to = contract,
  amount = '0',
  from = ME,
}: Transaction): Web3Callback {
  return web3({ from, to, interactive_contract: contract, amount, input_data: data });
}

/** The data with the word at an index (after the selector) replaced. */
export function withWord(data: string, index: number, word: bigint): string {
  const at = 10 + index * 64;
  return data.slice(0, at) + word.toString(16).padStart(64, '0') + data.slice(at + 64);
}
