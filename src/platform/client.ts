import { bill } from './operations/bill.ts';
import type { BillRecord } from './operations/bill.ts';
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
import type { DataOf, Operation, ParametersOf, RecordOf } from './operation.ts';
import { type IterationOptions, type PagedOperation, type Records, iterate } from './paging.ts';
import { type PaymentQuery, findPayment } from './payment.ts';
import {
  type CallOptions,
  type Connection,
  type PlatformConfig,
  type PlatformParts,
  createConnection,
  request,
  systemParts,
} from './request.ts';

export interface Verb<O extends Operation> {
  /** Resolves with the data of the answer. Rejects with a PlatformError. */
  (parameters: ParametersOf<O>, options?: CallOptions): Promise<DataOf<O>>;
}

/** One page, or all records of all pages. */
export interface Listing<O extends PagedOperation> {
  readonly list: Verb<O>;
  /** For `for await`. The parameters don't name a page. */
  readonly listAll: (parameters: ParametersOf<O>, options?: IterationOptions) => Records<RecordOf<O>>;
}

/** The operations of the platform, a resource each. */
export interface Platform {
  readonly tokens: {
    readonly exchange: Verb<typeof exchangeCode>;
    readonly refresh: Verb<typeof refreshToken>;
  };
  readonly payments: {
    /** Never sent twice by itself. After the outcome `unknown`, use `find` before you pay again. */
    readonly create: Verb<typeof pay>;
    /**
     * The payment in the bill (4.17) of the days around an instant; undefined if it isn't there. That is no
     * proof that the user was not debited: a payment may be billed later.
     */
    readonly find: (query: PaymentQuery, options?: CallOptions) => Promise<BillRecord | undefined>;
  };
  readonly orders: Listing<typeof orders>;
  readonly accounts: { readonly listChanged: Verb<typeof accounts> };
  readonly deposits: Listing<typeof deposits>;
  readonly invitations: Listing<typeof invitations>;
  readonly brokerShares: Listing<typeof brokerShares>;
  readonly walletAddresses: Listing<typeof walletAddresses>;
  readonly walletSymbols: Listing<typeof walletSymbols>;
  readonly otherTransfers: Listing<typeof otherTransfers>;
  readonly otcTrades: Listing<typeof otcTrades>;
  readonly coupons: Listing<typeof coupons> & { readonly recover: Verb<typeof recoverCoupon> };
  readonly coinGifts: Listing<typeof coinGifts>;
  readonly assets: { readonly search: Verb<typeof assets> };
  readonly loginTokens: { readonly create: Verb<typeof loginToken> };
  readonly bill: Listing<typeof bill>;
  readonly symbols: { readonly list: Verb<typeof symbols> };
  readonly feeShares: Listing<typeof feeShares>;
  readonly coAgentBonuses: Listing<typeof coAgentBonuses>;
  readonly agents: { readonly list: Verb<typeof agents> };
}

/** The client of one merchant application. Throws USAGE or KEY_UNREADABLE. */
export function createPlatform(config: PlatformConfig, parts: PlatformParts = systemParts): Platform {
  const connection = createConnection(config, parts);
  const verb = <O extends Operation>(operation: O): Verb<O> => verbOf(connection, operation);
  const listing = <O extends PagedOperation>(operation: O): Listing<O> => ({
    list: verb(operation),
    listAll: (parameters, options) => iterate(connection, operation, parameters, options),
  });
  return {
    tokens: { exchange: verb(exchangeCode), refresh: verb(refreshToken) },
    payments: {
      create: verb(pay),
      find: (query, options) => findPayment(connection, query, options),
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

function verbOf<O extends Operation>(connection: Connection, operation: O): Verb<O> {
  return (parameters, options) => request(connection, operation, parameters, options);
}
