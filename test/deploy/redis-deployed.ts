import { join } from 'node:path';
import { expect } from 'vitest';
import { type Run, placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { POLICIES, type TestService, startTestService, transfer } from '../service.ts';
import type { Secrets } from './shipped-files.ts';
import type { ShippedRedis } from './shipped-redis.ts';

/* A service on a Redis with the shipped users, and what it has decided before a restart and goes on with. */

const POLICY = POLICIES['payments.yaml'].replace(
  'rules:',
  'rules:\n  - deny-list: { of: userId, list: blocked }',
);

export interface Deployed {
  readonly service: TestService;
  /** The command line as the operator's user of Redis. */
  readonly operate: Run;
}

/** A service as the service's user, with the store's settings. */
export async function deployed(
  folder: string,
  secrets: Secrets,
  store: Readonly<Record<string, unknown>>,
): Promise<Deployed> {
  const settings = {
    store: {
      ...store,
      username: 'countersign',
      password: { file: secrets.passwordFile('service') },
      commandTimeoutMs: 10_000,
      connectTimeoutMs: 10_000,
    },
    policies: { directory: join(folder, 'policies'), push: 'never' },
  };
  const service = await startTestService({
    folder,
    policies: { ...POLICIES, 'payments.yaml': POLICY },
    settings,
  });
  const env = {
    COUNTERSIGN_STORE_USERNAME: 'countersign-operator',
    COUNTERSIGN_STORE_PASSWORD_FILE: secrets.passwordFile('operator'),
  };
  return { service, operate: placeIn(folder).runWith({ env, clock: Date.now }) };
}

/** Ten approvals, 9000 of a limit of 10000, a signing in progress, a list, an order and a price. */
export async function fill({ service, operate }: Deployed): Promise<void> {
  const done = async (...call: readonly string[]): Promise<void> => {
    const { code, err } = await operate(...call);
    expect({ call, code, err: code === 0 ? '' : err }).toEqual({ call, code: 0, err: '' });
  };
  await done('policy', 'push', '--message', 'first');
  await done('list', 'add', 'blocked', '666', '--source', 'shop');
  await done('prices', 'set', 'BTC', '100000');
  const members = ['--symbol', 'USDT1742', '--amount', '5', '--user', '1', '--scheme', 'md5'];
  await done('orders', 'expect', 'payment', 'announced', ...members);
  await eventually('the policies are in force', async () =>
    (await service.pay(order(0))) === 'SUCCESS' ? true : undefined,
  );
  for (let number = 1; number < 10; number++) expect(await service.pay(order(number))).toBe('SUCCESS');
  expect(await service.pay({ appOrderId: 'listed', userId: '666' })).toBe('FAILURE');
  expect(await service.cosign('/cosigner/withdraw', transfer({ type: 'sign_prepare' }))).toBe('SUCCESS');
  await done('freeze', 'over the restart');
}

export const order = (number: number): { appOrderId: string; orderAmount: string } => ({
  appOrderId: `o-${number}`,
  orderAmount: '900',
});

/** Whether a service on it goes on where the one of `fill` has stopped. */
export async function goesOn({ service, operate }: Deployed): Promise<void> {
  expect(await service.pay(order(0))).toBe('FAILURE');
  const control = await service.store.control();
  expect(control.frozen.map(({ reason }) => reason)).toEqual(['over the restart']);
  expect(control.revision).not.toBe('');
  const { code } = await operate('unfreeze');
  expect(code).toBe(0);
  await eventually('it approves again', async () =>
    (await service.pay(order(0))) === 'SUCCESS' ? true : undefined,
  );
  // The same order with another amount, an eleventh of 900 that fits, and a twelfth that does not.
  expect(await service.pay({ ...order(1), orderAmount: '901' })).toBe('FAILURE');
  expect(await service.pay(order(10))).toBe('SUCCESS');
  expect(await service.pay(order(11))).toBe('FAILURE');
  expect(await service.pay({ appOrderId: 'listed-again', userId: '666' })).toBe('FAILURE');
  expect((await fetch(`${service.ops}/readyz`)).status).toBe(200);
}

export const WAYS = ['kill', 'shutdown'] as const;
export const urlOf = ({ port }: ShippedRedis, scheme = 'redis'): string => `${scheme}://127.0.0.1:${port}/0`;

/** How many transactions it has dropped since it started. */
export async function droppedBy(node: ShippedRedis): Promise<number> {
  return Number(/unexpected_error_replies:(\d+)/.exec(String(await node.ask('INFO', 'stats')))?.[1]);
}
