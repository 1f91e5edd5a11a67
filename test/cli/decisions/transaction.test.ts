import { expect, it, onTestFinished } from 'vitest';
import { encodeFunctionData, parseAbi } from 'viem/utils';
import { startTestService, web3 } from '../../service.ts';
import { placeIn } from '../terminal.ts';

const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7';
const PAYEE = '0x52908400098527886e0f7030069857d2e4169ee7';
const abi = parseAbi([
  'function multicall(bytes[] data)',
  'function approve(address spender, uint256 amount)',
  'function transfer(address to, uint256 amount)',
]);
const encoded = (functionName: 'approve' | 'transfer', amount: bigint) =>
  encodeFunctionData({ abi, functionName, args: [PAYEE, amount] });

const policies = {
  'assets.yaml': `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
`,
  'calls.yaml': `policy: calls
callback: web3
when: { source: vault, main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - amount-limit: { by: asset, max: { USDT: 100, ETH: 1 } }
`,
};

async function decided(members: object) {
  const service = await startTestService({ policies });
  onTestFinished(() => service.stop());
  await service.cosign('/cosigner/web3', web3({ main_chain_symbol: 'ETH', amount: '0', ...members }));
  const [entry] = await service.store.entries({ source: 'vault', limit: 1 });
  const { run } = placeIn(service.folder);
  const show = ['decisions', 'show', `vault/${entry?.id}`];
  return { text: (await run(...show)).out, json: (await run(...show, '--json')).json() };
}

it('the calls of a transaction and what it moves are shown', async () => {
  const transfer = encoded('transfer', 1_500_000n);
  const { text, json } = await decided({ to: USDT, interactive_contract: USDT, input_data: transfer });
  expect(text).toContain(
    [
      'transaction',
      `call: transfer(address,uint256) of USDT (${USDT})`,
      `  to: ${PAYEE}`,
      '  amount: 1500000 (1.5 USDT)',
      `for calls: a transfer of 1.5 USDT to ${PAYEE}`,
    ].join('\n'),
  );
  expect(json).toMatchObject({
    transaction: {
      calls: { list: [{ position: '', contract: USDT, token: 'USDT', native: '0' }], problem: '' },
      movements: [{ policy: 'calls', problem: '', list: [{ type: 'transfer', amount: '1.5', to: PAYEE }] }],
    },
  });
});

it('calls in a wrapper that no policy allows are shown, and why their movements are not known', async () => {
  const data = [encoded('approve', 7n), encoded('transfer', 9n)];
  const wrapped = encodeFunctionData({ abi, functionName: 'multicall', args: [data] });
  const { text } = await decided({ to: PAYEE, interactive_contract: PAYEE, input_data: wrapped });
  expect(text).toMatch(/call: multicall\(bytes\[\]\) of 0x5290/);
  expect(text).toMatch(/call 1: approve\(address,uint256\) of 0x5290[0-9a-f]*\n {2}spender: 0x5290/);
  expect(text).toMatch(/call 2: transfer\(address,uint256\) of 0x5290[0-9a-f]*\n.*\n {2}amount: 9\n/);
  expect(text).toMatch(/for calls: what it moves is not known: .*multicall/);
});

it('call data that nothing can read is named', async () => {
  const { text } = await decided({ to: PAYEE, interactive_contract: PAYEE, input_data: '0xdeadbeef00' });
  expect(text).toContain(`call: no policy names the method 0xdeadbeef of ${PAYEE}`);
});
