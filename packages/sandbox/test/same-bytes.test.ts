import { describe, expect, it } from 'vitest';
import {
  type Params,
  SCHEMES,
  type TestSandbox,
  balanceOf,
  startAnswered,
  startReceiver,
  startTestSandbox,
  usersOf,
} from './sandbox.ts';
import { startSandboxProcess } from './process.ts';

const REQUESTS: readonly (readonly [path: string, params: Params])[] = [
  [
    'record/queryOrderPageByTime',
    { symbol: 'btcusdt', startDate: 1_768_000_000_000, endDate: 1_768_449_600_000 },
  ],
  ['ouser/batchQueryUserAccountsByUpdateTime', { updateTime: 1_768_440_000_000 }],
  ['user/depositRecord', { userId: '12345' }],
  ['user/user_invite', { uid: '12345' }],
  ['record/agent_user_bonus', {}],
  ['wallet/v2/addressMapping', { walletType: 1, symbol: 'BTC' }],
  ['wallet/symbolMapping', { walletType: 1 }],
  ['record/otherTransferList', { transactionScene: 'activity' }],
  ['user/v2/otcTradeRecord', { userId: '12345' }],
  ['futures/coupon/recordList', { page: '1', pageSize: '100' }],
  ['record/presentCoinList', {}],
  ['ouser/userAccounts', { userId: '12345', coinSymbols: 'BTC' }],
  ['opay/merchantBillingDay', { day: '2026-01-12' }],
  [
    'opay/transferToMerchantAuth',
    { userId: '12345', appOrderId: 'o-1', orderAmount: '7.5', payCoinSymbol: 'BTC' },
  ],
  ['opay/merchantBillingDay', {}],
  ['symbol/openSymbolList', {}],
  ['record/feeSharing_exchange_detail', {}],
  ['record/co_agent_user_bonus', {}],
  ['futures/agentUser', { uids: '12345' }],
  ['auth/token', { code: 'unknown' }],
];

async function answers({ call }: Pick<TestSandbox, 'call'>): Promise<readonly string[]> {
  const raw: string[] = [];
  for (const scheme of SCHEMES) {
    for (const [path, params] of REQUESTS) raw.push((await call(path, params, scheme)).raw);
  }
  return raw;
}

describe('the same seed gives the same bytes', () => {
  it('of all answers, also the encrypted ones, in another process', async () => {
    const receiver = await startReceiver((_, response) => void response.end('SUCCESS'));
    const from = ['--receiver', receiver.url];
    const first = await startSandboxProcess('--seed', '7', ...from);
    const second = await startSandboxProcess('--seed', '7', ...from);
    const other = await startSandboxProcess('--seed', '8', ...from);
    const [a, b, c] = [await answers(first), await answers(second), await answers(other)];
    expect(a.filter((raw) => raw.startsWith('{"code":"0"')).length).toBeGreaterThan(30);
    expect(b).toEqual(a);
    expect(c).not.toEqual(a);
    first.terminate();
    expect(await first.ended).toBe(0);
  });

  it('and another order of requests changes no answer of another request', async () => {
    const [first, second] = [await startTestSandbox(), await startTestSandbox()];
    await second.call('user/depositRecord', { userId: '12345' }, 'rsa-envelope');
    await second.call('symbol/openSymbolList', {}, 'rsa-envelope');
    const path = 'futures/coupon/recordList';
    const params = { page: '1', pageSize: '5' };
    const raw = async (sandbox: TestSandbox) => (await sandbox.call(path, params, 'rsa-envelope')).raw;
    expect(await raw(first)).toBe(await raw(second));
  });
});

describe('a snapshot', () => {
  const pay = (sandbox: TestSandbox, appOrderId: string) =>
    sandbox.call('opay/transferToMerchantAuth', {
      userId: '12345',
      appOrderId,
      orderAmount: '0.1',
      payCoinSymbol: 'BTC',
    });

  it('brings everything back, in another sandbox with another seed', async () => {
    const sandbox = await startAnswered();
    await pay(sandbox, 'o-1');
    await sandbox.steer({ command: 'clock-move', byMs: 3_600_000 });
    const [{ code }] = await usersOf(sandbox);
    await sandbox.call('auth/token', { code });
    const snapshot = await sandbox.steer({ command: 'snapshot' });

    const other = await startAnswered('SUCCESS', { seed: 'other' });
    await pay(other, 'o-2');
    await other.steer({ command: 'restore', snapshot });
    expect(await other.steer({ command: 'snapshot' })).toBe(snapshot);
    expect((await pay(other, 'o-1')).code).toBe('70002');
    expect((await other.call('auth/token', { code })).code).toBe('60003');
    expect(await answers(other)).toEqual(await answers(sandbox));
    expect((await pay(other, 'o-2')).code).toBe('0');
  });

  it('gives back what a payment held that nobody will confirm any more', async () => {
    const receiver = await startReceiver(() => undefined);
    const sandbox = await startTestSandbox({ receiver: receiver.url, timeoutMs: 60_000 });
    void pay(sandbox, 'o-1').catch(() => undefined);
    await expect.poll(() => receiver.received.length).toBe(1);
    const snapshot = await sandbox.steer({ command: 'snapshot' });
    expect(await balanceOf(sandbox, 12_345, 'BTC')).toBe('4.9');
    const other = await startTestSandbox();
    await other.steer({ command: 'restore', snapshot });
    expect(await balanceOf(other, 12_345, 'BTC')).toBe('5');
    expect((await pay(other, 'o-1')).code).toBe('10015');
  });

  it('a reset brings the seed back', async () => {
    const sandbox = await startAnswered();
    const before = await sandbox.steer({ command: 'snapshot' });
    await pay(sandbox, 'o-1');
    await sandbox.steer({ command: 'login', uid: 12_345 });
    expect(await sandbox.steer({ command: 'snapshot' })).not.toBe(before);
    await sandbox.steer({ command: 'reset' });
    expect(await sandbox.steer({ command: 'snapshot' })).toBe(before);
  });
});

describe('the clock', () => {
  it('goes with the clock of the machine unless it stands, and is set and moved', async () => {
    let nowMs = 1_000_000;
    const going = await startTestSandbox({ clock: () => nowMs, standsAtMs: undefined });
    const at = async (sandbox: TestSandbox) =>
      ((await sandbox.steer({ command: 'clock-show' })) as { readonly at: string }).at;
    expect(await at(going)).toBe(new Date(1_000_000).toISOString());
    nowMs += 5000;
    expect(await at(going)).toBe(new Date(1_005_000).toISOString());
    await going.steer({ command: 'clock-set', atMs: 50_000 });
    nowMs += 1000;
    expect(await at(going)).toBe(new Date(51_000).toISOString());
    await going.steer({ command: 'clock-move', byMs: 9000 });
    expect(await at(going)).toBe(new Date(60_000).toISOString());

    const standing = await startTestSandbox({ clock: () => nowMs, standsAtMs: 7000 });
    nowMs += 5000;
    expect(await at(standing)).toBe(new Date(7000).toISOString());
    await standing.steer({ command: 'clock-move', byMs: 1000 });
    expect(await at(standing)).toBe(new Date(8000).toISOString());
  });
});
