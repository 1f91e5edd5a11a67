/*
 * The fields of section 2, written down from its tables and not from the code, in the spelling of the platform. A
 * list has `[]` after its name.
 */

const under = (path: string, names: string): readonly string[] =>
  names.split(/[\s,]+/).map((name) => `${path}${name}`);

const INVITED = 'uid nickname inviteCode level invitedUid invitedNickname invitedCode phone email ctime';
const ADVERT =
  'id userId status side coin country paycoin payment bankname priceRate priceRateType price volume feeRate ' +
  'minTrade maxTrade beginDate endDate limitTime terms description authType minvolume sell beginTime endTime ' +
  'ctime personalFeeDiscount dealVolume muid mtime autoReply openType numberCode companyId isBlockTrade ' +
  'lastPrice initMaxTrade';
const TOKENS = under('', 'openId expireIn refreshToken token');

/** The fields of the answer of each operation, by its name. */
export const SECTION_2: Readonly<Record<string, readonly string[]>> = {
  // 2.14
  'tokens.exchange': TOKENS,
  'tokens.refresh': TOKENS,
  // Not shown.
  'payments.create': [],
  // 2.1, in the list of 4.3
  'orders.list': [
    ...under('', 'count page pageSize'),
    ...under(
      'list[].',
      // `type`, the entrust type, is named below the table, whose list item doesn't carry it.
      'id userId side orderType type status source symbol showSymbol price volume avgPrice dealMoney dealVolume ctime',
    ),
  ],
  // 2.2
  'accounts.listChanged': under('accounts[].', 'id uid balance type coin showName updateTime'),
  // 2.4
  'deposits.list': under(
    '[].',
    'symbol id uid createdAt addressTo amount txid status depositType statusDesc mobileNumber email riskLevel',
  ),
  // 2.5
  'invitations.list': [
    ...under('', 'levelOneCount levelTwoCount'),
    ...under('cuerrentUser.', 'uid nickname inviteCode invitedUid invitedCode ctime'),
    ...under('userExtInviteVoList[].', INVITED),
    ...under('userExtInviteVoList[].childLevel[].', INVITED),
  ],
  // 2.6, in the list of 4.7
  'brokerShares.list': [
    'count',
    ...under(
      'list[].',
      'symbol amount roleId fee scale feeSum pid usdtRate mtime feeSymbol usdtAmount scaleStr uid companyId ' +
        'phoneNumber rate amountStr ctime id brokerageType brokerageStats email',
    ),
  ],
  // 2.7
  'walletAddresses.list': [
    ...under('[].', 'symbol count pageSize page walletSymbol'),
    ...under('[].list[].', 'uid address walletUid tag'),
  ],
  // 2.8
  'walletSymbols.list': [
    ...under('', 'count page pageSize walletType'),
    ...under('list[].', 'symbol walletSymbol'),
  ],
  // 2.9
  'otherTransfers.list': under(
    'financeList[].',
    'id uid amount coinSymbol createTime transactionScene createdAtTime status',
  ),
  // 2.10
  'otcTrades.list': [
    ...under(
      '[].',
      'sidCid totalPrice payTime buyerId adsOwner adsId buyerComment sellerComment buyerCommentGrade payCoin ' +
        'volume bidCid sequence feeAmount sellerCommnetGrade coinSymbol sellerId createTime price id status ' +
        'isBlockTrade',
    ),
    ...under('[].advert.', ADVERT),
  ],
  // 2.11, in the list of 4.12
  'coupons.list': [
    'count',
    ...under('mapList[].', 'id sn amount uid time amountSup amountUse amountBack status coin'),
  ],
  // 2.12
  'coinGifts.list': [
    ...under('', 'uid count pageSize page type ctimeStart ctimeEnd'),
    ...under('presentRecordList[].', 'uid symbol ctimeStr amount typeName ctime opUid'),
    ...under('persentTypeArr[].', 'present_type used title'),
  ],
  // 2.3
  'assets.search': [...under('accounts[].', 'uid balance tag type'), 'precision.*'],
  // 2.13
  'loginTokens.create': under('', 'uid inviteCode token'),
  // data is null.
  'coupons.recover': [],
  // 2.15
  'bill.list': [
    'count',
    ...under(
      'list[].',
      'merchantUserId appOrderId payCoinSymbol orderAmount orderType userId openId createTime payTime',
    ),
  ],
  // 2.16
  'symbols.list': under(
    'symbolList[].',
    'coinSymbol contractAddress showPrecision isQuote isOpen depositOpen withdrawOpen otcOpen tokenBase ' +
      'depositConfirm name withdrawFee innerWithdrawFee',
  ),
  // 2.17, in the list of 4.19
  'feeShares.list': [
    'count',
    ...under(
      'list[].',
      'symbol base quote qouteValueSub rebateRateSymbol baseRebateFeeValueStr maxDivideRate baseValueAll ' +
        'takerRate makerRate quoteRateSymbol qouteFeeValue baseConvertValue qouteValueAll baseFeeValue ' +
        'baseRateSymbol qouteRebateFeeValue baseRate incomeDivideRate itemDate remark qouteConvertValue ' +
        'baseRebateFeeValue sumConvertValue rebateConvertValue volumeDivideRate quoteRate rateTime rebateRate ' +
        'countTime qouteConvertValueStr billingStatus baseValueSub rebate',
    ),
  ],
  // 2.18, in the list of 4.20
  'coAgentBonuses.list': [
    'count',
    ...under(
      'list[].',
      'selfVolume amount subVolume scale remark subUid subAccount uid superUid nickname id userType time ' +
        'bonusType subLevel coin status',
    ),
  ],
  // 2.19, in the list of 4.21
  'agents.list': ['count', ...under('list[].', 'itemDate uid coin tradeAmount feeAmount')],
};
