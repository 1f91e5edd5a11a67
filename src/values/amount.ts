/**
 * Decimals kept after the point. An amount is a bigint of 10^-36 units, so comparing and adding are exact.
 */
export const AMOUNT_SCALE = 36;
/** Digits allowed before the point. */
const AMOUNT_WHOLE_DIGITS = 36;

const PLAIN = /^(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** An exact, non-negative amount in units of 10^-36. */
export type Amount = bigint;

/**
 * Reads a decimal as written: `10`, `1.50`, `1E-8`. Undefined for anything else: a sign, blanks, leading
 * zeros, other digits than 0-9, more than 36 digits before or after the point. Whether zero will do is the
 * caller's to say.
 */
export function parseAmount(text: string): Amount | undefined {
  const match = PLAIN.exec(text);
  if (match === null) return undefined;
  const whole = match[1] ?? '';
  const fraction = match[2] ?? '';
  const exponent = match[3] === undefined ? 0 : Number(match[3]);
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, '');
  const scale = fraction.length - exponent;
  if (scale > AMOUNT_SCALE || digits.length - scale > AMOUNT_WHOLE_DIGITS) return undefined;
  return BigInt(digits + '0'.repeat(AMOUNT_SCALE - scale));
}

/** The shortest decimal text of an amount: `1.5`, never `1.50` or an exponent. */
export function formatAmount(amount: Amount): string {
  const digits = amount.toString().padStart(AMOUNT_SCALE + 1, '0');
  const point = digits.length - AMOUNT_SCALE;
  let end = digits.length;
  while (end > point && digits[end - 1] === '0') end--;
  const whole = digits.slice(0, point);
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`;
}
