import { registry } from './operations/registry.ts';
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
export type BillListRecord = RecordOf<typeof registry.bill>;

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
    tokens: { exchange: verb(registry.exchangeCode), refresh: verb(registry.refreshToken) },
    payments: {
      create: verb(registry.pay),
      find: (query: PaymentQuery, options?: CallOptions): Promise<BillListRecord | undefined> =>
        findPayment(connection, query, options),
    },
    orders: listing(registry.orders),
    accounts: { listChanged: verb(registry.accounts) },
    deposits: listing(registry.deposits),
    invitations: listing(registry.invitations),
    brokerShares: listing(registry.brokerShares),
    walletAddresses: listing(registry.walletAddresses),
    walletSymbols: listing(registry.walletSymbols),
    otherTransfers: listing(registry.otherTransfers),
    otcTrades: listing(registry.otcTrades),
    coupons: { ...listing(registry.coupons), recover: verb(registry.recoverCoupon) },
    coinGifts: listing(registry.coinGifts),
    assets: { search: verb(registry.assets) },
    loginTokens: { create: verb(registry.loginToken) },
    bill: listing(registry.bill),
    symbols: { list: verb(registry.symbols) },
    feeShares: listing(registry.feeShares),
    coAgentBonuses: listing(registry.coAgentBonuses),
    agents: { list: verb(registry.agents) },
  };
}

interface Listing<O extends PagedOperation> {
  readonly list: Verb<ParametersOf<O>, DataOf<O>>;
  readonly listAll: ListAll<ParametersOf<O>, RecordOf<O>>;
}
