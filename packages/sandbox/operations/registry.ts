import { accountsChanged, deposits, openSymbols, userAccounts } from './accounts.ts';
import { agentUsers, brokerBonuses, coAgentBonuses, feeShares } from './agents.ts';
import { exchangeCode, exchangeToken, invitations, refreshToken } from './login.ts';
import type { Operation } from './operation.ts';
import { otcTrades } from './otc-trades.ts';
import { bill, pay } from './payments.ts';
import { coupons, gifts, orders, otherTransfers, recoverCoupon } from './records.ts';
import { addressMapping, symbolMapping } from './wallets.ts';

/** The operations of section 4 in its order, and the refresh of tokens. */
export const OPERATIONS: readonly Operation[] = [
  exchangeCode,
  pay,
  orders,
  accountsChanged,
  deposits,
  invitations,
  brokerBonuses,
  addressMapping,
  symbolMapping,
  otherTransfers,
  otcTrades,
  coupons,
  gifts,
  userAccounts,
  exchangeToken,
  recoverCoupon,
  bill,
  openSymbols,
  feeShares,
  coAgentBonuses,
  agentUsers,
  refreshToken,
];
