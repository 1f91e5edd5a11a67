import { expect, it } from 'vitest';
import { callbackKinds } from '../../src/callback/kinds.ts';
import { simulatedCallback } from '../../src/simulation/simulated-callback.ts';
import { createSimulator } from '../../src/simulation/simulator.ts';
import { decodeMembers } from '../../src/values/members.ts';

const SOURCES = [{ name: 'shop', kinds: ['payment'] as const, schemes: ['md5'] }];
const REQUEST = {
  kind: 'payment',
  source: 'shop',
  body: '',
  members: { userId: '1', amount: '1', symbol: 'USDT' },
} as const;

/** A simulator whose store answers only when `open` is called. */
function slowSimulator() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let running = 0;
  let mostRunning = 0;
  const simulate = createSimulator(
    {
      policies: {
        current: () => undefined,
        prices: () => ({ version: 0, prices: new Map() }),
        onlyApproved: () => false,
        refresh: () => promise,
      },
      ask: () => Promise.reject(new Error('nothing is asked')),
      clock: () => 0,
      answerTimeoutMs: 1000,
      outputs: 2,
      store: {
        async preview() {
          mostRunning = Math.max(mostRunning, ++running);
          await promise;
          running -= 1;
          return { outcome: 'decided', atMs: 0, verdict: 'FAILURE', code: 'NOTHING_IN_FORCE', claims: [] };
        },
        entry: () => Promise.resolve(undefined),
      },
    },
    SOURCES,
  );
  return { simulate, open: resolve, mostRunning: () => mostRunning };
}

it('simulations run one at a time, and beyond sixteen of one person that wait they are refused', async () => {
  const { simulate, open, mostRunning } = slowSimulator();
  const waiting = Array.from({ length: 17 }, () => simulate(REQUEST, 'ada'));
  await expect(simulate(REQUEST, 'ada')).rejects.toMatchObject({ code: 'BUSY' });
  waiting.push(simulate(REQUEST, 'rita'));
  open();
  for (const each of await Promise.all(waiting)) expect(each).toMatchObject({ verdict: 'FAILURE' });
  expect(mostRunning()).toBe(1);
  await expect(simulate(REQUEST, 'ada')).resolves.toMatchObject({ code: 'NOTHING_IN_FORCE' });
});

it.each([
  [{ ...REQUEST, source: 'nobody' }, 'ORDER_INVALID'],
  [{ ...REQUEST, kind: 'web3' as const }, 'ORDER_INVALID'],
  [{ ...REQUEST, scheme: 'rsa' }, 'USAGE'],
  [{ ...REQUEST, members: {} }, 'USAGE'],
  [{ ...REQUEST, body: '[]' }, 'USAGE'],
  [{ ...REQUEST, body: '{"a":1,"a":2}' }, 'USAGE'],
])('a request with a fault takes nobody else the place: %j', async (request, code) => {
  const { simulate, open } = slowSimulator();
  open();
  for (let time = 0; time < 20; time++)
    await expect(simulate(request, 'ada')).rejects.toMatchObject({ code });
  await expect(simulate(REQUEST, 'ada')).resolves.toMatchObject({ verdict: 'FAILURE' });
});

const WITHDRAWAL = {
  type: 'sign_start',
  request_id: 'r-1',
  transfer_id: '1001',
  withdraw_id: '',
  from: 'a',
  to: 'b',
  memo: '',
  amount: '3',
  symbol: 'XYZ',
};
const BOUNDS = { kind: 'transfer', source: 'vault', outputs: 2 } as const;
const outputs = (...amounts: readonly string[]) => ({
  ...WITHDRAWAL,
  outputs: JSON.stringify(amounts.map((amount, at) => ({ address_to: ['b', 'c', 'd'][at], amount }))),
});
const simulated = (body: object, members: Readonly<Record<string, string>> = {}) =>
  simulatedCallback(BOUNDS, { body: JSON.stringify(body), members });

it('a body is parsed as it arrives: with all of its members, and the bounds of the settings', () => {
  const decoded = decodeMembers(Buffer.from(JSON.stringify(WITHDRAWAL)));
  if (!decoded.ok) throw new Error(decoded.because);
  const parsed = callbackKinds.transfer.parse(decoded.members, 'vault', BOUNDS);
  if (!parsed.ok) throw new Error(parsed.because);
  expect(simulated(WITHDRAWAL)).toEqual(parsed.callback);
  expect(parsed.callback.terms).toMatchObject({ transferId: '1001' });
  expect(simulated(outputs('1', '2')).payouts).toHaveLength(2);
  expect(() => simulated(outputs('1', '1', '1'))).toThrow(/has 3 outputs; at most 2 are read/);
});

it.each(['request_id', 'type', 'from', 'to', 'amount', 'symbol'] as const)(
  'a body without %s is not completed',
  (name) => {
    const { [name]: _left, ...rest } = WITHDRAWAL;
    expect(() => simulated(rest)).toThrow(`${name} is missing`);
  },
);

it('without a body, a withdrawal may have the number that older platforms send', () => {
  const { from, to, amount, symbol } = WITHDRAWAL;
  const members = { from, to, amount, symbol, withdraw_id: '5' };
  expect(simulatedCallback(BOUNDS, { body: '', members }).terms).toMatchObject({ transferId: '5' });
});
