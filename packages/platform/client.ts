import { bill } from './operations/bill.ts';
import { accounts } from './operations/accounts.ts';
import { agents } from './operations/agents.ts';
import { assets } from './operations/assets.ts';
import { brokerShares } from './operations/broker-shares.ts';
import { coAgentBonuses } from './operations/co-agent-bonuses.ts';
import { coinGifts } from './operations/coin-gifts.ts';
import { coupons } from './operations/coupons.ts';
import { deposits } from './operations/deposits.ts';
import { exchangeCode } from './operations/exchange-code.ts';
import { feeShares } from './operations/fee-shares.ts';
import { invitations } from './operations/invitations.ts';
import { loginToken } from './operations/login-token.ts';
import { orders } from './operations/orders.ts';
import { otcTrades } from './operations/otc-trades.ts';
import { otherTransfers } from './operations/other-transfers.ts';
import { pay } from './operations/pay.ts';
import { recoverCoupon } from './operations/recover-coupon.ts';
import { refreshToken } from './operations/refresh-token.ts';
import { symbols } from './operations/symbols.ts';
import { walletAddresses } from './operations/wallet-addresses.ts';
import { walletSymbols } from './operations/wallet-symbols.ts';
import type { CallOptions, ListAll, PaymentQuery, Verb } from './calls.ts';
import { type PlatformConfig, type PlatformParts, createConnection, systemParts } from './connection.ts';
import type { DataOf, Operation, PagedOperation, ParametersOf, RecordOf } from './operation.ts';
import { iterate } from './paging.ts';
import { findPayment } from './payment.ts';
import { request } from './request.ts';

/*
 * `npm run package` makes the declarations of this file from the operations: as inferred here, the types would
 * lose what the schemas say about each member.
 */

/** A record of the bill. */
export type BillListRecord = RecordOf<typeof bill>;

export type Platform = ReturnType<typeof createPlatform>;

/** The client of one merchant application. Throws USAGE or KEY_UNREADABLE. */
export function createPlatform(config: PlatformConfig, parts: PlatformParts = systemParts) {
  const connection = createConnection(config, parts);
  const verb =
    <O extends Operation>(operation: O): Verb<ParametersOf<O>, DataOf<O>> =>
    (parameters, options) =>
      request(connection, operation, parameters, options);
  const listing = <O extends PagedOperation>(operation: O): Listing<O> => ({
    list: verb(operation),
    listAll: (parameters, options) => iterate(connection, operation, parameters, options),
  });
  return {
    tokens: { exchange: verb(exchangeCode), refresh: verb(refreshToken) },
    payments: {
      create: verb(pay),
      find: (query: PaymentQuery, options?: CallOptions): Promise<BillListRecord | undefined> =>
        findPayment(connection, query, options),
    },
    orders: listing(orders),
    accounts: { listChanged: verb(accounts) },
    deposits: listing(deposits),
    invitations: listing(invitations),
    brokerShares: listing(brokerShares),
    walletAddresses: listing(walletAddresses),
    walletSymbols: listing(walletSymbols),
    otherTransfers: listing(otherTransfers),
    otcTrades: listing(otcTrades),
    coupons: { ...listing(coupons), recover: verb(recoverCoupon) },
    coinGifts: listing(coinGifts),
    assets: { search: verb(assets) },
    loginTokens: { create: verb(loginToken) },
    bill: listing(bill),
    symbols: { list: verb(symbols) },
    feeShares: listing(feeShares),
    coAgentBonuses: listing(coAgentBonuses),
    agents: { list: verb(agents) },
  };
}

interface Listing<O extends PagedOperation> {
  readonly list: Verb<ParametersOf<O>, DataOf<O>>;
  readonly listAll: ListAll<ParametersOf<O>, RecordOf<O>>;
}
