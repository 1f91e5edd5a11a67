/** What a code of the platform means, and what the merchant can do about it. */
export interface PlatformCode {
  readonly meaning: string;
  readonly fix: string;
  /**
   * The code doesn't say that nothing was done: the platform gave up, the order exists from an earlier
   * request, or the code is not documented. The outcome of a payment is then unknown.
   */
  readonly doubtful?: true;
}

const CHECK_KEY = 'compare the appKey of the source with the one that the platform issued';
const ASK_PERMISSION = 'ask the platform to allow this operation for your appKey';
const SIGN_IN_AGAIN = 'let the user sign in again, and exchange the new code';

/** The codes that the platform documents. Section 7 only says that every code but 0 is a failure. */
export const platformCodes: Readonly<Record<string, PlatformCode>> = {
  '10001': { meaning: 'system error', fix: 'try again later, or ask the platform', doubtful: true },
  '10015': {
    meaning: 'the operation failed, as after a confirmation that was refused',
    fix: 'look whether your own receiver answered FAILURE; if it did not, ask the platform for the cause',
  },
  '10020': { meaning: 'wrong parameter', fix: 'correct the parameters' },
  '50000': { meaning: 'wrong method', fix: 'check platform.url and platform.segment' },
  '50001': { meaning: 'illegal appKey', fix: CHECK_KEY },
  '50003': { meaning: 'no permission group', fix: ASK_PERMISSION },
  '50004': { meaning: 'unknown appKey', fix: CHECK_KEY },
  '50005': {
    meaning: 'wrong signature',
    fix: 'check the secret or keys of the source, and which scheme the platform expects for this appKey',
  },
  '50009': { meaning: 'request time-out', fix: 'try again later', doubtful: true },
  '50010': { meaning: 'illegal request time', fix: 'correct the clock of this machine' },
  '50012': { meaning: 'no permission', fix: ASK_PERMISSION },
  '50013': { meaning: 'daily traffic limit reached', fix: 'wait until tomorrow, or ask for a higher limit' },
  '50014': { meaning: 'wrong account type', fix: 'ask the platform which account type is needed' },
  '60001': { meaning: 'invalid refresh token', fix: SIGN_IN_AGAIN },
  '60002': { meaning: 'invalid token', fix: 'refresh the token, or let the user sign in again' },
  '60003': { meaning: 'the code was already used', fix: SIGN_IN_AGAIN },
  '60004': { meaning: 'invalid openId', fix: 'use the openId that the exchange of the code returned' },
  '70001': { meaning: 'unknown order', fix: 'check the id' },
  '70002': {
    meaning: 'the order exists',
    fix: 'look the payment up in the bill before you pay again; use another appOrderId for another order',
    doubtful: true,
  },
  '70003': { meaning: 'wrong order status', fix: 'read the record again; its status may have changed' },
  '70004': { meaning: 'illegal payer', fix: 'check userId' },
  '70005': { meaning: 'wrong merchant account', fix: 'ask the platform about your account' },
  '70006': { meaning: 'balance too low', fix: 'let the user deposit, or pay less' },
  '70007': { meaning: 'unsupported coin', fix: 'check payCoinSymbol against the open symbols (4.18)' },
  '70008': { meaning: 'illegal amount', fix: "check orderAmount, also its decimals against the coin's" },
  '70009': { meaning: 'wrong scene', fix: 'check transactionScene' },
};

const UNKNOWN: PlatformCode = {
  meaning: 'a code that the platform does not document',
  fix: "read the platform's message, or ask the platform",
  doubtful: true,
};

export function platformCode(code: string): PlatformCode {
  return Object.hasOwn(platformCodes, code) ? (platformCodes[code] ?? UNKNOWN) : UNKNOWN;
}
