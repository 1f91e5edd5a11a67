/** The platform's codes, with the sentence that it sends as `msg`. */
export const CODES = {
  '0': 'suc',
  '10001': 'system error',
  '10015': 'operation failed',
  '10020': 'parameter error',
  '50000': 'method error',
  '50001': 'appKey illegal',
  '50004': 'appKey does not exist',
  '50005': 'signature error',
  '50010': 'illegal request time',
  '50012': 'no permission',
  '50013': 'daily traffic limit exceeded',
  '50014': 'account type error',
  '60001': 'refresh token invalid',
  '60002': 'token invalid',
  '60003': 'code already used',
  '60004': 'openId invalid',
  '70002': 'order already exists',
  '70004': 'payer illegal',
  '70006': 'balance too low',
  '70007': 'coin not supported',
  '70008': 'amount illegal',
  '70009': 'scene illegal',
} as const;

export type Code = keyof typeof CODES;

/** A request that is answered with another code than 0. The message says why, for the log and for `msg`. */
export class Refusal extends Error {
  readonly code: Code;

  constructor(code: Code, why: string) {
    super(why);
    this.code = code;
  }
}
