// Generated from the registry of operations by `npm run generate`.

import type { AtLeastOne, Decimal, Id, Known, ListAll, OfAllPages, UnreadableRecord, Verb, Written, WrittenAmount, WrittenTime } from './calls.ts';

/** The operations of the platform, a resource each. The numbers are sections of its specification. */
export interface Operations {
  readonly tokens: {
    /**
     * Exchange the code of a user's login for the openId and the tokens of the user (4.1).
     * A code can be used once.
     * appKey and code are always sent encrypted, also with md5 and rsa.
     * With md5 and rsa credentials, it also needs the platform's public key.
     */
    readonly exchange: Verb<TokensExchangeParameters, TokensExchangeData>;
    /** Exchange the refresh token of a user for new tokens (4.1 refresh). */
    readonly refresh: Verb<TokensRefreshParameters, TokensRefreshData>;
  };
  readonly payments: {
    /**
     * Debit a user, after the platform has asked the merchant for confirmation (4.2).
     * appOrderId is always yours, and must be unique across the board.
     * Only hybrid-cloud SaaS-plus merchants may use it.
     * It is never sent twice by itself.
     * After the outcome `unknown`, look the payment up in the bill before you pay again.
     */
    readonly create: Verb<PaymentsCreateParameters, PaymentsCreateData>;
  };
  readonly orders: {
    /**
     * List the trading orders of a pair in a range of time (4.3).
     * One request covers at most 7 days.
     * An iteration splits a longer range by itself.
     */
    readonly list: Verb<OrdersListParameters, OrdersListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<OrdersListParameters, 'page'>, OrdersListRecord>;
  };
  readonly accounts: {
    /** List the accounts of users that changed since a time within the last 24 hours (4.4). */
    readonly listChanged: Verb<AccountsListChangedParameters, AccountsListChangedData>;
  };
  readonly deposits: {
    /**
     * List the deposits of a user (4.5).
     * Give at least one of openId, userId, mobileNumber, email; the first given one counts.
     */
    readonly list: Verb<DepositsListParameters, DepositsListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<DepositsListParameters, 'pageNumber'>, DepositsListRecord>;
  };
  readonly invitations: {
    /**
     * List the users whom a user invited, on two levels (4.6).
     * uid takes priority over openId and emailOrPhone.
     */
    readonly list: Verb<InvitationsListParameters, InvitationsListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<InvitationsListParameters, 'page'>, InvitationsListRecord>;
  };
  readonly brokerShares: {
    /** List the shares of brokers in fees (4.7). */
    readonly list: Verb<BrokerSharesListParameters, BrokerSharesListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<BrokerSharesListParameters, 'page'>, BrokerSharesListRecord>;
  };
  readonly walletAddresses: {
    /** List the wallet addresses of users for a symbol (4.8). */
    readonly list: Verb<WalletAddressesListParameters, WalletAddressesListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<WalletAddressesListParameters, 'page'>, WalletAddressesListRecord>;
  };
  readonly walletSymbols: {
    /** List which symbol of a wallet belongs to which symbol of the platform (4.9). */
    readonly list: Verb<WalletSymbolsListParameters, WalletSymbolsListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<WalletSymbolsListParameters, 'page'>, WalletSymbolsListRecord>;
  };
  readonly otherTransfers: {
    /** List the other transfers of a scene (4.10). */
    readonly list: Verb<OtherTransfersListParameters, OtherTransfersListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<OtherTransfersListParameters, 'page'>, OtherTransfersListRecord>;
  };
  readonly otcTrades: {
    /**
     * List the OTC trades of a user (4.11).
     * pageNumber is the number of records on a page, as the specification uses the name.
     * Give at least one of openId, userId, mobileNumber, email; the first given one counts.
     */
    readonly list: Verb<OtcTradesListParameters, OtcTradesListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<OtcTradesListParameters, 'page'>, OtcTradesListRecord>;
  };
  readonly coupons: {
    /** List the futures coupons of users (4.12). */
    readonly list: Verb<CouponsListParameters, CouponsListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<CouponsListParameters, 'page'>, CouponsListRecord>;
    /**
     * Recover the bonus of a futures coupon (4.16).
     * It is never sent twice by itself. After the outcome `unknown`, read the status of the coupon.
     */
    readonly recover: Verb<CouponsRecoverParameters, CouponsRecoverData>;
  };
  readonly coinGifts: {
    /** List the coins that users were given (4.13). */
    readonly list: Verb<CoinGiftsListParameters, CoinGiftsListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<CoinGiftsListParameters, 'page'>, CoinGiftsListRecord>;
  };
  readonly assets: {
    /**
     * Show the balances of a user in several coins (4.14).
     * Give at least one of openId, userId; the first given one counts.
     */
    readonly search: Verb<AssetsSearchParameters, AssetsSearchData>;
  };
  readonly loginTokens: {
    /** Get a token that signs a user in to the exchange without a login (4.15). */
    readonly create: Verb<LoginTokensCreateParameters, LoginTokensCreateData>;
  };
  readonly bill: {
    /**
     * List the payment and transfer orders that the platform billed (4.17).
     * Without day, startDate and endDate, the platform lists its current day.
     * startDate and endDate together replace day.
     */
    readonly list: Verb<BillListParameters, BillListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<BillListParameters, 'pageNum'>, BillListRecord>;
  };
  readonly symbols: {
    /** List the coins of the platform (4.18). */
    readonly list: Verb<SymbolsListParameters, SymbolsListData>;
  };
  readonly feeShares: {
    /**
     * List how the fees of the exchange are shared, by pair and day (4.19).
     * Without a time, the latest 7 days are listed. Reconcile on settled records (billstatus 3).
     */
    readonly list: Verb<FeeSharesListParameters, FeeSharesListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<FeeSharesListParameters, 'page'>, FeeSharesListRecord>;
  };
  readonly coAgentBonuses: {
    /** List the bonuses of co-agents (4.20). */
    readonly list: Verb<CoAgentBonusesListParameters, CoAgentBonusesListData>;
    /** Reads all pages of `list`, one request a page. */
    readonly listAll: ListAll<OfAllPages<CoAgentBonusesListParameters, 'page'>, CoAgentBonusesListRecord>;
  };
  readonly agents: {
    /**
     * List the contract brokers among users, with their trades and fees (4.21).
     * The specification shows an answer without code and msg. Such an answer is not signed, also with rsa-envelope.
     */
    readonly list: Verb<AgentsListParameters, AgentsListData>;
  };
}

/** The parameters of `tokens.exchange` (4.1). */
export interface TokensExchangeParameters {
  /** The code that the first step of the login returned. */
  readonly code: string;
}

/** The data that answers `tokens.exchange` (4.1). */
export interface TokensExchangeData {
  readonly openId: string;
  /** Seconds until the token expires. */
  readonly expireIn: number;
  readonly refreshToken: string;
  readonly token: string;
}

/** The parameters of `tokens.refresh` (4.1 refresh). */
export interface TokensRefreshParameters {
  /** The openId of the user. */
  readonly openId: Written;
  /** The token that expires. */
  readonly token: string;
  /** The refresh token that came with it. */
  readonly refreshToken: string;
}

/** The data that answers `tokens.refresh` (4.1 refresh). */
export interface TokensRefreshData {
  readonly openId: string;
  /** Seconds until the token expires. */
  readonly expireIn: number;
  readonly refreshToken: string;
  readonly token: string;
}

/** The parameters of `payments.create` (4.2). */
export interface PaymentsCreateParameters {
  /** The UID of the user who pays. */
  readonly userId: Written;
  /** Your id of the order. */
  readonly appOrderId: Written;
  /** The exact amount. */
  readonly orderAmount: WrittenAmount;
  /** The coin of the payment. */
  readonly payCoinSymbol: Written;
}

/** The data that answers `payments.create` (4.2). */
export type PaymentsCreateData = unknown;

/** The parameters of `orders.list` (4.3). */
export interface OrdersListParameters {
  /** The trading pair, such as btcusdt. */
  readonly symbol: Written;
  /** The start, in milliseconds or as an instant. */
  readonly startDate: WrittenTime;
  /** The end, in milliseconds or as an instant. */
  readonly endDate: WrittenTime;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** Records on a page, at most 1000. By default 20. */
  readonly pageSize?: Written | undefined;
}

/** The data that answers `orders.list` (4.3). */
export interface OrdersListData {
  readonly count: number;
  readonly page: number;
  readonly pageSize: number;
  readonly list: readonly (OrdersListRecord | UnreadableRecord)[];
}

/** A record of `orders.list` (4.3). */
export interface OrdersListRecord {
  readonly id: Id;
  readonly userId: Id;
  /** BUY or SELL. */
  readonly side: Known<'BUY' | 'SELL'>;
  /** 1 regular, 2 margin, 3 cross margin. */
  readonly orderType: Known<1 | 2 | 3>;
  /** The entrust type: 1 limit, 2 market, 3 stop; null if the record does not have it. */
  readonly type: Known<1 | 2 | 3> | null;
  /** 0 init, 1 new, 2 filled, 3 partly filled, 4 cancelled, 5 pending cancellation, 6 expired. */
  readonly status: Known<0 | 1 | 2 | 3 | 4 | 5 | 6>;
  /** 1 web, 2 app, 3 API. A sample has 6, which is not documented. */
  readonly source: Known<1 | 2 | 3>;
  /** The trading pair, such as btcusdt. */
  readonly symbol: string;
  /** The name of the pair for display. */
  readonly showSymbol: string | null;
  /** The price of the order. */
  readonly price: Decimal;
  /** The quantity of the order. */
  readonly volume: Decimal;
  /** The average price of the deals. */
  readonly avgPrice: Decimal;
  /** The amount of the deals. */
  readonly dealMoney: Decimal;
  /** The quantity of the deals. */
  readonly dealVolume: Decimal;
  /** When the order was created, in milliseconds. */
  readonly ctime: number;
}

/** The parameters of `accounts.listChanged` (4.4). */
export interface AccountsListChangedParameters {
  /** The earliest change, in milliseconds or as an instant. */
  readonly updateTime: WrittenTime;
}

/** The data that answers `accounts.listChanged` (4.4). */
export interface AccountsListChangedData {
  readonly accounts: readonly (AccountsListChangedRecord | UnreadableRecord)[];
}

/** A record of `accounts.listChanged` (4.4). */
export interface AccountsListChangedRecord {
  readonly id: Id;
  readonly uid: Id;
  readonly balance: Decimal;
  /** 201 normal balance, 202 frozen, 207 lockup, 210 OTC merchant margin, 217 OTC normal balance, 218 OTC frozen, 221 frozen by a subscription of the innovation trial zone, 230 lockup V2. Samples have longer numbers that begin with these. */
  readonly type: Id;
  readonly coin: string;
  /** The name of the coin for display. */
  readonly showName: string | null;
  /** In milliseconds. */
  readonly updateTime: number;
}

/** The parameters of `deposits.list` (4.5). */
export type DepositsListParameters = AtLeastOne<{
  /** The openId of the user. */
  readonly openId?: Written | undefined;
  /** The UID of the user. */
  readonly userId?: Written | undefined;
  /** The mobile number of the user. */
  readonly mobileNumber?: Written | undefined;
  /** The e-mail address of the user. */
  readonly email?: Written | undefined;
  /** Records on a page, at most 1000. By default 20. */
  readonly pageSize?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly pageNumber?: Written | undefined;
}, 'openId' | 'userId' | 'mobileNumber' | 'email'>;

/** The data that answers `deposits.list` (4.5). */
export type DepositsListData = readonly (DepositsListRecord | UnreadableRecord)[];

/** A record of `deposits.list` (4.5). */
export interface DepositsListRecord {
  readonly symbol: string;
  readonly id: Id;
  /** The UID of the user, which may be negative. */
  readonly uid: Id;
  /** Since the epoch. The unit is not documented. */
  readonly createdAt: number;
  readonly addressTo: string | null;
  readonly amount: Decimal;
  readonly txid: string | null;
  /** Its values are not documented. */
  readonly status: number;
  /** Its values are not documented. */
  readonly depositType: number;
  readonly statusDesc: string | null;
  readonly mobileNumber: string | null;
  readonly email: string | null;
  /** Its values are not documented. */
  readonly riskLevel: number;
}

/** The parameters of `invitations.list` (4.6). */
export interface InvitationsListParameters {
  /** The openId of the user. */
  readonly openId?: Written | undefined;
  /** The UID of the user. */
  readonly uid?: Written | undefined;
  /** The mobile phone number or e-mail address of the user. */
  readonly emailOrPhone?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** Records on a page, at most 1000. By default 100. */
  readonly pageSize?: Written | undefined;
}

/** The data that answers `invitations.list` (4.6). */
export interface InvitationsListData {
  readonly levelOneCount: number;
  readonly levelTwoCount: number;
  readonly cuerrentUser: {
    readonly uid: Id;
    readonly nickname: string | null;
    readonly inviteCode: string | null;
    /** -1 if nobody invited the user. */
    readonly invitedUid: Id;
    readonly invitedCode: string | null;
    readonly ctime: string;
  };
  readonly userExtInviteVoList: readonly (InvitationsListRecord | UnreadableRecord)[];
}

/** A record of `invitations.list` (4.6). */
export interface InvitationsListRecord {
  readonly uid: Id;
  readonly nickname: string | null;
  readonly inviteCode: string | null;
  /** 1, or 2 for an element of childLevel. */
  readonly level: number;
  readonly invitedUid: Id;
  readonly invitedNickname: string | null;
  readonly invitedCode: string | null;
  readonly phone: string | null;
  readonly email: string | null;
  readonly ctime: string;
  readonly childLevel: readonly ({
    readonly uid: Id;
    readonly nickname: string | null;
    readonly inviteCode: string | null;
    /** 1, or 2 for an element of childLevel. */
    readonly level: number;
    readonly invitedUid: Id;
    readonly invitedNickname: string | null;
    readonly invitedCode: string | null;
    readonly phone: string | null;
    readonly email: string | null;
    readonly ctime: string;
  } | UnreadableRecord)[] | null;
}

/** The parameters of `brokerShares.list` (4.7). */
export interface BrokerSharesListParameters {
  /** The UID of the user. */
  readonly uid?: Written | undefined;
  /** The UID of the parent. */
  readonly pid?: Written | undefined;
  /** The earliest creation, in milliseconds or as an instant. */
  readonly ctimeStart?: WrittenTime | undefined;
  /** The latest creation, in milliseconds or as an instant. */
  readonly ctimeEnd?: WrittenTime | undefined;
  /** Records on a page, at most 1000. By default 10. */
  readonly pageSize?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** The coin of the fee. */
  readonly feeCoinName?: Written | undefined;
}

/** The data that answers `brokerShares.list` (4.7). */
export interface BrokerSharesListData {
  readonly count: number;
  readonly list: readonly (BrokerSharesListRecord | UnreadableRecord)[];
}

/** A record of `brokerShares.list` (4.7). */
export interface BrokerSharesListRecord {
  readonly symbol: string;
  readonly amount: Decimal;
  readonly roleId: Id;
  readonly fee: Decimal;
  readonly scale: Decimal;
  readonly feeSum: Decimal;
  readonly pid: Id;
  readonly usdtRate: Decimal;
  /** In milliseconds. */
  readonly mtime: number;
  readonly feeSymbol: string;
  readonly usdtAmount: Decimal;
  readonly scaleStr: string | null;
  readonly uid: Id;
  readonly companyId: Id;
  readonly phoneNumber: string | null;
  readonly rate: Decimal;
  readonly amountStr: string | null;
  /** In milliseconds. */
  readonly ctime: number;
  readonly id: Id;
  readonly brokerageType: number;
  readonly brokerageStats: number;
  readonly email: string | null;
}

/** The parameters of `walletAddresses.list` (4.8). */
export interface WalletAddressesListParameters {
  /** 1 custody, 2 wapi, 3 third-party custody provider, 4 custody mpc. */
  readonly walletType: '1' | '2' | '3' | '4' | 1 | 2 | 3 | 4;
  /** The symbol on the platform. */
  readonly symbol: Written;
  /** The UID of the user. */
  readonly uid?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** Records on a page, at most 1000. By default 100. */
  readonly pageSize?: Written | undefined;
}

/** The data that answers `walletAddresses.list` (4.8). */
export type WalletAddressesListData = readonly {
  readonly symbol: string;
  readonly count: number;
  readonly pageSize: number;
  readonly page: number;
  readonly list: readonly ({
    readonly uid: Id;
    readonly address: string;
    readonly walletUid: Id;
    readonly tag: string | null;
  } | UnreadableRecord)[];
  readonly walletSymbol: string;
}[];

/** A record of `walletAddresses.list` (4.8). */
export interface WalletAddressesListRecord {
  readonly symbol: string;
  readonly walletSymbol: string;
  readonly uid: Id;
  readonly address: string;
  readonly walletUid: Id;
  readonly tag: string | null;
}

/** The parameters of `walletSymbols.list` (4.9). */
export interface WalletSymbolsListParameters {
  /** 1 custody, 2 wapi, 3 third-party custody provider, 4 custody mpc. */
  readonly walletType: '1' | '2' | '3' | '4' | 1 | 2 | 3 | 4;
  /** The symbol on the platform. */
  readonly symbol?: Written | undefined;
  /** The symbol in the wallet. */
  readonly walletSymbol?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** Records on a page, at most 1000. By default 100. */
  readonly pageSize?: Written | undefined;
}

/** The data that answers `walletSymbols.list` (4.9). */
export interface WalletSymbolsListData {
  readonly count: number;
  readonly page: number;
  readonly pageSize: number;
  /** 1 custody, 2 wapi, 3 third-party custody provider, 4 custody mpc. */
  readonly walletType: Known<1 | 2 | 3 | 4>;
  readonly list: readonly (WalletSymbolsListRecord | UnreadableRecord)[];
}

/** A record of `walletSymbols.list` (4.9). */
export interface WalletSymbolsListRecord {
  readonly symbol: string;
  readonly walletSymbol: string;
}

/** The parameters of `otherTransfers.list` (4.10). */
export interface OtherTransfersListParameters {
  /** The UID of the user. */
  readonly uid?: Written | undefined;
  /** The coin. */
  readonly coinSymbol?: Written | undefined;
  /** Records on a page, at most 1000. By default 10. */
  readonly pageSize?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** The scene. */
  readonly transactionScene: Written;
}

/** The data that answers `otherTransfers.list` (4.10). */
export interface OtherTransfersListData {
  readonly financeList: readonly (OtherTransfersListRecord | UnreadableRecord)[];
}

/** A record of `otherTransfers.list` (4.10). */
export interface OtherTransfersListRecord {
  readonly id: Id;
  readonly uid: Id;
  readonly amount: Decimal;
  readonly coinSymbol: string;
  readonly createTime: string;
  readonly transactionScene: string;
  /** In milliseconds. */
  readonly createdAtTime: number;
  /** Its values are not documented. */
  readonly status: number;
}

/** The parameters of `otcTrades.list` (4.11). */
export type OtcTradesListParameters = AtLeastOne<{
  /** The openId of the user. */
  readonly openId?: Written | undefined;
  /** The UID of the user. */
  readonly userId?: Written | undefined;
  /** The mobile number of the user. */
  readonly mobileNumber?: Written | undefined;
  /** The e-mail address of the user. */
  readonly email?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** Records on a page, at most 1000. By default 1000. */
  readonly pageNumber?: Written | undefined;
  /** The start, in milliseconds or as an instant. */
  readonly startTime?: WrittenTime | undefined;
  /** The end, in milliseconds or as an instant. */
  readonly endTime?: WrittenTime | undefined;
}, 'openId' | 'userId' | 'mobileNumber' | 'email'>;

/** The data that answers `otcTrades.list` (4.11). */
export type OtcTradesListData = readonly (OtcTradesListRecord | UnreadableRecord)[];

/** A record of `otcTrades.list` (4.11). */
export interface OtcTradesListRecord {
  readonly sidCid: Id;
  readonly totalPrice: Decimal;
  readonly payTime: number | null;
  readonly advert: {
    readonly id: Id | null;
    readonly userId: Id | null;
    readonly status: number | null;
    readonly side: string | null;
    readonly coin: string | null;
    readonly country: string | null;
    readonly paycoin: string | null;
    readonly payment: string | null;
    readonly bankname: string | null;
    readonly priceRate: Decimal | null;
    readonly priceRateType: string | null;
    readonly price: Decimal | null;
    readonly volume: Decimal | null;
    readonly feeRate: Decimal | null;
    readonly minTrade: Decimal | null;
    readonly maxTrade: Decimal | null;
    readonly beginDate: number | null;
    readonly endDate: number | null;
    readonly limitTime: string | null;
    readonly terms: string | null;
    readonly description: string | null;
    readonly authType: string | null;
    readonly minvolume: Decimal | null;
    readonly sell: Decimal | null;
    readonly beginTime: string | null;
    readonly endTime: string | null;
    readonly ctime: number | null;
    readonly personalFeeDiscount: Decimal | null;
    readonly dealVolume: Decimal | null;
    readonly muid: Id | null;
    readonly mtime: number | null;
    readonly autoReply: string | null;
    readonly openType: string | null;
    readonly numberCode: string | null;
    readonly companyId: Id | null;
    readonly isBlockTrade: number | null;
    readonly lastPrice: Decimal | null;
    readonly initMaxTrade: Decimal | null;
  } | null;
  readonly buyerId: Id;
  readonly adsOwner: Id;
  readonly adsId: Id;
  readonly buyerComment: string | null;
  readonly sellerComment: string | null;
  readonly buyerCommentGrade: number | null;
  readonly payCoin: string;
  readonly volume: Decimal;
  readonly bidCid: Id;
  readonly sequence: string;
  readonly feeAmount: Decimal | null;
  readonly sellerCommnetGrade: number | null;
  readonly coinSymbol: string;
  readonly sellerId: Id;
  /** In milliseconds. */
  readonly createTime: number;
  readonly price: Decimal;
  readonly id: Id;
  /** Its values are not documented. */
  readonly status: number;
  readonly isBlockTrade: number;
}

/** The parameters of `coupons.list` (4.12). */
export interface CouponsListParameters {
  /** The UIDs of users, with commas between them. */
  readonly uid?: Written | readonly Written[] | undefined;
  /** The earliest claim, yyyy-MM-dd HH:mm:ss. */
  readonly timeStart?: string | undefined;
  /** The latest claim, yyyy-MM-dd HH:mm:ss. */
  readonly timeEnd?: string | undefined;
  /** The id of the activity. */
  readonly sn?: Written | undefined;
  /** 1 received, 2 to be recovered, 3 recovered. */
  readonly status?: '1' | '2' | '3' | 1 | 2 | 3 | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** Records on a page, at most 1000. By default 100. */
  readonly pageSize?: Written | undefined;
}

/** The data that answers `coupons.list` (4.12). */
export interface CouponsListData {
  readonly count: number;
  readonly mapList: readonly (CouponsListRecord | UnreadableRecord)[];
}

/** A record of `coupons.list` (4.12). */
export interface CouponsListRecord {
  readonly id: Id;
  /** The id of the activity. */
  readonly sn: string;
  readonly amount: Decimal;
  readonly uid: Id;
  /** In milliseconds. */
  readonly time: number;
  readonly amountSup: Decimal;
  readonly amountUse: Decimal;
  readonly amountBack: Decimal;
  /** 1 received, 2 to be recovered, 3 recovered. */
  readonly status: Known<1 | 2 | 3>;
  readonly coin: string;
}

/** The parameters of `coinGifts.list` (4.13). */
export interface CoinGiftsListParameters {
  /** The UID of the user. */
  readonly uid?: Written | undefined;
  /** The earliest gift, in milliseconds or as an instant. */
  readonly ctimeStart?: WrittenTime | undefined;
  /** The latest gift, in milliseconds or as an instant. */
  readonly ctimeEnd?: WrittenTime | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
}

/** The data that answers `coinGifts.list` (4.13). */
export interface CoinGiftsListData {
  readonly uid: Id | null;
  readonly presentRecordList: readonly (CoinGiftsListRecord | UnreadableRecord)[];
  readonly persentTypeArr: readonly ({
    readonly present_type: string;
    readonly used: boolean;
    readonly title: string | null;
  } | UnreadableRecord)[];
  readonly count: number;
  readonly pageSize: number;
  readonly page: number;
  readonly type: string | null;
  readonly ctimeStart: number | null;
  readonly ctimeEnd: number | null;
}

/** A record of `coinGifts.list` (4.13). */
export interface CoinGiftsListRecord {
  readonly uid: Id;
  readonly symbol: string;
  readonly ctimeStr: string;
  readonly amount: Decimal;
  readonly typeName: string | null;
  /** In milliseconds. */
  readonly ctime: number;
  readonly opUid: Id;
}

/** The parameters of `assets.search` (4.14). */
export type AssetsSearchParameters = AtLeastOne<{
  /** The openId of the user. */
  readonly openId?: Written | undefined;
  /** The UID of the user. */
  readonly userId?: Written | undefined;
  /** The coins, with commas between them, as configured in the exchange. */
  readonly coinSymbols: Written | readonly Written[];
  /** The type of account; 201 is the balance of the general account. */
  readonly assetType?: Written | undefined;
}, 'openId' | 'userId'>;

/** The data that answers `assets.search` (4.14). */
export interface AssetsSearchData {
  readonly accounts: readonly (AssetsSearchRecord | UnreadableRecord)[];
  readonly precision: { readonly [name: string]: string };
}

/** A record of `assets.search` (4.14). */
export interface AssetsSearchRecord {
  readonly uid: Id;
  readonly balance: Decimal;
  readonly tag: string | null;
  readonly type: Id;
}

/** The parameters of `loginTokens.create` (4.15). */
export interface LoginTokensCreateParameters {
  /** The key of the open API. */
  readonly apiKey: string;
  /** The secret of the key. */
  readonly secret: string;
  /** The UID of the user. */
  readonly uid: Written;
}

/** The data that answers `loginTokens.create` (4.15). */
export interface LoginTokensCreateData {
  readonly uid: Id;
  readonly inviteCode: string | null;
  readonly token: string;
}

/** The parameters of `coupons.recover` (4.16). */
export interface CouponsRecoverParameters {
  /** The id of the coupon record. */
  readonly id: Written;
}

/** The data that answers `coupons.recover` (4.16). */
export type CouponsRecoverData = null;

/** The parameters of `bill.list` (4.17). */
export interface BillListParameters {
  /** 1 payment orders, 11 transfer orders; both if it is left out. */
  readonly orderType?: '1' | '11' | 1 | 11 | undefined;
  /** A day of the platform's time zone, yyyy-MM-dd. */
  readonly day?: string | undefined;
  /** The UID of the user who paid. */
  readonly userId?: Written | undefined;
  /** The start, yyyy-MM-dd HH:mm:ss. */
  readonly startDate?: string | undefined;
  /** The end, yyyy-MM-dd HH:mm:ss. */
  readonly endDate?: string | undefined;
  /** The page, from 1. By default 1. */
  readonly pageNum?: Written | undefined;
  /** Records on a page, at most 2000. By default 2000. */
  readonly pageSize?: Written | undefined;
}

/** The data that answers `bill.list` (4.17). */
export interface BillListData {
  readonly count: number;
  readonly list: readonly (BillListRecord | UnreadableRecord)[];
}

/** A record of `bill.list` (4.17). */
export interface BillListRecord {
  readonly merchantUserId: Id;
  readonly appOrderId: string;
  readonly payCoinSymbol: string;
  readonly orderAmount: Decimal;
  /** 1 payment order, 11 transfer order. */
  readonly orderType: Known<1 | 11>;
  readonly userId: Id;
  readonly openId: string | null;
  /** In a form and a time zone that the specification doesn't name. */
  readonly createTime: string;
  /** In the form of createTime. */
  readonly payTime: string | null;
}

/** The parameters of `symbols.list` (4.18). */
export type SymbolsListParameters = Readonly<Record<string, never>>;

/** The data that answers `symbols.list` (4.18). */
export interface SymbolsListData {
  readonly symbolList: readonly (SymbolsListRecord | UnreadableRecord)[];
}

/** A record of `symbols.list` (4.18). */
export interface SymbolsListRecord {
  readonly coinSymbol: string;
  readonly contractAddress: string | null;
  readonly showPrecision: number;
  readonly isQuote: number;
  readonly isOpen: number;
  readonly depositOpen: number;
  readonly withdrawOpen: number;
  readonly otcOpen: number;
  readonly tokenBase: string | null;
  readonly depositConfirm: number;
  readonly name: string | null;
  readonly withdrawFee: Decimal;
  readonly innerWithdrawFee: Decimal;
}

/** The parameters of `feeShares.list` (4.19). */
export interface FeeSharesListParameters {
  /** The trading pair. */
  readonly symbol?: Written | undefined;
  /** The start, in milliseconds or as an instant. */
  readonly itemDateStart?: WrittenTime | undefined;
  /** The end, in milliseconds or as an instant. */
  readonly itemDateEnd?: WrittenTime | undefined;
  /** Records on a page, at most 1000. By default 10. */
  readonly pageSize?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** 0 statistic, 1 calculated, 3 settled accounts, -999 all. */
  readonly billstatus?: '0' | '1' | '3' | '-999' | 0 | 1 | 3 | -999 | undefined;
}

/** The data that answers `feeShares.list` (4.19). */
export interface FeeSharesListData {
  readonly count: number;
  readonly list: readonly (FeeSharesListRecord | UnreadableRecord)[];
}

/** A record of `feeShares.list` (4.19). */
export interface FeeSharesListRecord {
  readonly symbol: string;
  readonly base: string;
  readonly quote: string;
  readonly qouteValueSub: Decimal;
  readonly rebateRateSymbol: string | null;
  readonly baseRebateFeeValueStr: string | null;
  readonly maxDivideRate: Decimal;
  readonly baseValueAll: Decimal;
  readonly takerRate: Decimal;
  readonly makerRate: Decimal;
  readonly quoteRateSymbol: string | null;
  readonly qouteFeeValue: Decimal;
  readonly baseConvertValue: Decimal;
  readonly qouteValueAll: Decimal;
  readonly baseFeeValue: Decimal;
  readonly baseRateSymbol: string | null;
  readonly qouteRebateFeeValue: Decimal;
  readonly baseRate: Decimal;
  readonly incomeDivideRate: Decimal;
  /** In milliseconds. */
  readonly itemDate: number;
  readonly remark: string | null;
  readonly qouteConvertValue: Decimal;
  readonly baseRebateFeeValue: Decimal;
  readonly sumConvertValue: Decimal;
  readonly rebateConvertValue: Decimal;
  readonly volumeDivideRate: Decimal;
  readonly quoteRate: Decimal;
  /** In milliseconds. */
  readonly rateTime: number;
  readonly rebateRate: Decimal;
  /** In milliseconds. */
  readonly countTime: number;
  readonly qouteConvertValueStr: string | null;
  readonly billingStatus: string;
  readonly baseValueSub: Decimal;
  readonly rebate: Decimal | null;
}

/** The parameters of `coAgentBonuses.list` (4.20). */
export interface CoAgentBonusesListParameters {
  /** The coin. */
  readonly coin?: Written | undefined;
  /** The earliest bonus, in milliseconds or as an instant. */
  readonly ctimeStart?: WrittenTime | undefined;
  /** The latest bonus, in milliseconds or as an instant. */
  readonly ctimeEnd?: WrittenTime | undefined;
  /** Records on a page, at most 1000. By default 10. */
  readonly pageSize?: Written | undefined;
  /** The page, from 1. By default 1. */
  readonly page?: Written | undefined;
  /** The UID of the invitee. */
  readonly uid?: Written | undefined;
  /** The UID of the invitee; the specification describes it like uid. */
  readonly pid?: Written | undefined;
  /** The affiliated studio. */
  readonly superUid?: Written | undefined;
  /** 0 pending review, 1 settlement, 2 settled, 3 failed; all if it is left out. */
  readonly status?: '0' | '1' | '2' | '3' | 0 | 1 | 2 | 3 | undefined;
  /** 1 first level, 2 second level. */
  readonly levelType?: '1' | '2' | 1 | 2 | undefined;
  /** 1 without a child user, 2 with one. */
  readonly userType?: '1' | '2' | 1 | 2 | undefined;
  /** 1 return commission, 2 divide commission. */
  readonly bonusType?: '1' | '2' | 1 | 2 | undefined;
}

/** The data that answers `coAgentBonuses.list` (4.20). */
export interface CoAgentBonusesListData {
  readonly count: number;
  readonly list: readonly (CoAgentBonusesListRecord | UnreadableRecord)[];
}

/** A record of `coAgentBonuses.list` (4.20). */
export interface CoAgentBonusesListRecord {
  readonly selfVolume: Decimal;
  readonly amount: Decimal;
  readonly subVolume: Decimal;
  readonly scale: Decimal;
  readonly remark: string | null;
  readonly subUid: Id;
  readonly subAccount: string | null;
  readonly uid: Id;
  readonly superUid: Id;
  readonly nickname: string | null;
  readonly id: Id;
  /** 1 without a child user, 2 with one. */
  readonly userType: Known<1 | 2>;
  /** In milliseconds. */
  readonly time: number;
  /** 1 return commission, 2 divide commission. */
  readonly bonusType: Known<1 | 2>;
  readonly subLevel: number;
  readonly coin: string;
  /** 0 pending review, 1 settlement, 2 settled, 3 failed. */
  readonly status: Known<0 | 1 | 2 | 3>;
}

/** The parameters of `agents.list` (4.21). */
export interface AgentsListParameters {
  /** The UIDs of users, with commas between them. */
  readonly uids: Written | readonly Written[];
}

/** The data that answers `agents.list` (4.21). */
export interface AgentsListData {
  readonly count: number;
  readonly list: readonly (AgentsListRecord | UnreadableRecord)[];
}

/** A record of `agents.list` (4.21). */
export interface AgentsListRecord {
  readonly itemDate: number;
  readonly uid: Id;
  readonly coin: string;
  readonly tradeAmount: Decimal;
  readonly feeAmount: Decimal;
}
