import type { Platform } from '../../packages/platform/client.ts';
import type { Operation } from '../../packages/platform/operation.ts';
import { NOW_MS, type TestSandbox, usersOf } from '../../packages/sandbox/test/sandbox.ts';

const DAY_MS = 86_400_000;

const week = { startDate: String(NOW_MS - 6 * DAY_MS), endDate: String(NOW_MS) };

/** Parameters with which the sandbox has records. */
export async function parametersOf(
  operation: Operation,
  sandbox: TestSandbox,
  platform: Platform,
): Promise<Readonly<Record<string, string>>> {
  const [user] = await usersOf(sandbox);
  const login = (await sandbox.steer({ command: 'login', uid: user.uid })) as { readonly code: string };
  switch (operation.name) {
    case 'tokens.exchange':
      return { code: login.code };
    case 'tokens.refresh': {
      const { token, openId, refreshToken } = await platform.tokens.exchange({ code: login.code });
      return { token, openId, refreshToken };
    }
    case 'orders.list':
      return { symbol: 'btcusdt', ...week };
    case 'accounts.listChanged':
      return { updateTime: String(NOW_MS - DAY_MS) };
    case 'deposits.list':
      return { openId: user.openId };
    case 'assets.search':
      return { openId: user.openId, coinSymbols: 'BTC,USDT1742' };
    case 'invitations.list':
      return { uid: String(user.uid) };
    case 'otcTrades.list':
      return { email: user.email };
    case 'otherTransfers.list':
      return { transactionScene: 'airdrop' };
    case 'loginTokens.create':
      return { apiKey: user.apiKey, secret: user.secret, uid: String(user.uid) };
    case 'coupons.recover': {
      const { mapList } = await platform.coupons.list({ status: '2' });
      const [coupon] = mapList;
      return { id: coupon !== undefined && 'id' in coupon ? coupon.id : '' };
    }
    case 'coupons.list':
      return { page: '1', pageSize: '10' };
    case 'bill.list':
      return { day: '2026-01-13', orderType: '1' };
    case 'brokerShares.list':
      return { pid: String(user.uid), ctimeStart: '0' };
    case 'coAgentBonuses.list':
      return { superUid: String(user.uid) };
    case 'payments.create':
      return { userId: String(user.uid), appOrderId: 'o-1', orderAmount: '1.5', payCoinSymbol: 'BTC' };
    default:
      return operation.example;
  }
}
