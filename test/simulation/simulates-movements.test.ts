import { expect, it, onTestFinished } from 'vitest';
import type { Callback } from '../../src/callback/callback.ts';
import { NO_PRICES } from '../../src/policy/facts.ts';
import { type LiveSimulation, simulateLive } from '../../src/simulation/simulate-live.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { DAI, MAX, USDT, approveFor, callbackOf, transferTo } from '../policy/calls/transactions.ts';
import { systemClock } from '../../src/values/clock.ts';
import { B, payment, release } from '../policy/callbacks.ts';
import { temporaryPath } from '../store/embedded-folder.ts';

const TO = B.toLowerCase();

const policyOf = (name: string, network: string): string => `policy: ${name}
callback: web3
when: { main_chain_symbol: ${network} }
movements: { approvals: count }
rules:
  - contract-calls:
      calls: [{ contract: '${DAI}', method: 'transfer(address,uint256)', decimals: 18, where: { to: any, amount: any } }]
`;

const policies = release(
  `${policyOf('counted', 'ETH')}---\n${policyOf('elsewhere', 'BSC')}`,
  {},
  `assets:
  ETH: { chain: evm, decimals: 18 }
  BSC: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
`,
);

async function simulated(callback: Callback): Promise<LiveSimulation> {
  const store = await openEmbeddedStore({ path: temporaryPath() });
  onTestFinished(() => store.close());
  await store.register(['shop', 'vault']);
  const { revision, document } = policies;
  await store.push({ revision, document, expected: '', by: 'ada', message: '' });
  const current = () => policies;
  const parts = {
    store,
    policies: {
      current,
      prices: () => NO_PRICES,
      onlyApproved: () => false,
      refresh: () => Promise.resolve(),
    },
    ask: () => Promise.reject(new Error('nothing is asked')),
    clock: systemClock,
    answerTimeoutMs: 60_000,
  };
  return simulateLive(parts, callback, undefined);
}

it('a simulation says what a transaction moves, for each policy that counts it and applies', async () => {
  const callback = callbackOf({ contract: USDT, data: approveFor(B, MAX), amount: '1.5' });
  const { movements } = await simulated(callback);
  const list = [
    { type: 'approval', symbol: 'USDT', contract: USDT, to: TO, amount: 'unlimited' },
    { type: 'native', symbol: 'ETH', to: USDT, amount: '1.5' },
  ];
  expect(movements).toEqual([{ policy: 'counted', list, problem: '' }]);
});

it('what is not known of a token is left out', async () => {
  const { movements } = await simulated(callbackOf({ contract: DAI, data: transferTo(B, 5n) }));
  const list = [{ type: 'transfer', contract: DAI, to: TO, amount: 'unknown' }];
  expect(movements).toEqual([{ policy: 'counted', list, problem: '' }]);
});

it('a simulation says why the movements can not be read', async () => {
  const { verdict, movements } = await simulated(callbackOf({ contract: DAI, data: '0x12345678' }));
  expect(verdict).toBe('FAILURE');
  expect(movements).toEqual([
    { policy: 'counted', list: [], problem: expect.stringContaining('what it moves is not known') },
  ]);
});

it('a payment moves nothing that a policy reads', async () => {
  expect((await simulated(payment())).movements).toEqual([]);
});
