import type { Operation } from '../operation.ts';
import { accounts } from './accounts.ts';
import { agents } from './agents.ts';
import { assets } from './assets.ts';
import { bill } from './bill.ts';
import { brokerShares } from './broker-shares.ts';
import { coAgentBonuses } from './co-agent-bonuses.ts';
import { coinGifts } from './coin-gifts.ts';
import { coupons } from './coupons.ts';
import { deposits } from './deposits.ts';
import { exchangeCode } from './exchange-code.ts';
import { feeShares } from './fee-shares.ts';
import { invitations } from './invitations.ts';
import { loginToken } from './login-token.ts';
import { orders } from './orders.ts';
import { otcTrades } from './otc-trades.ts';
import { otherTransfers } from './other-transfers.ts';
import { pay } from './pay.ts';
import { recoverCoupon } from './recover-coupon.ts';
import { refreshToken } from './refresh-token.ts';
import { symbols } from './symbols.ts';
import { walletAddresses } from './wallet-addresses.ts';
import { walletSymbols } from './wallet-symbols.ts';

/** All operations by name, in the order of section 4. */
export const registry = {
  exchangeCode,
  refreshToken,
  pay,
  orders,
  accounts,
  deposits,
  invitations,
  brokerShares,
  walletAddresses,
  walletSymbols,
  otherTransfers,
  otcTrades,
  coupons,
  coinGifts,
  assets,
  loginToken,
  recoverCoupon,
  bill,
  symbols,
  feeShares,
  coAgentBonuses,
  agents,
};

export const operations: readonly Operation[] = Object.values(registry);
