/** Decimal places. An amount is a bigint in units of 10^-36, so comparisons and sums are exact. */
export const AMOUNT_SCALE = 36;
/** The most digits before the point. */
const AMOUNT_WHOLE_DIGITS = 36;

const POWERS = Array.from(
  { length: AMOUNT_SCALE + AMOUNT_WHOLE_DIGITS },
  (_, exponent) => 10n ** BigInt(exponent),
);

/** Ten to this power. The powers that amounts need are computed once. */
export const tenTo = (exponent: number): bigint => POWERS[exponent] ?? 10n ** BigInt(exponent);

export const DECIMAL = /^(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;
/** The texts that `parseSignedAmount` reads, apart from its bound on digits. */
export const SIGNED_DECIMAL = new RegExp(`^-?${DECIMAL.source.slice(1)}`);

/** An exact amount in units of 10^-36. Only an amount of `parseSignedAmount` may be below zero. */
export type Amount = bigint;

/**
 * Reads an amount as JSON libraries write it: `parseAmount`, and a minus sign. Every amount that the platform
 * sends is read by it, in callbacks, answers and bills.
 */
export function parseSignedAmount(text: string): Amount | undefined {
  if (!text.startsWith('-')) return parseAmount(text);
  const amount = parseAmount(text.slice(1));
  return amount === undefined ? undefined : -amount;
}

/**
 * Parses a decimal such as `10`, `1.50` or `1E-8`. Returns undefined for any other text: a sign, blanks,
 * leading zeros, digits other than 0-9, more than 36 digits before or after the point. Zero is accepted.
 */
export function parseAmount(text: string): Amount | undefined {
  const match = DECIMAL.exec(text);
  if (match === null) return undefined;
  const whole = match[1] ?? '';
  const fraction = match[2] ?? '';
  const exponent = match[3] === undefined ? 0 : Number(match[3]);
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, '');
  const scale = fraction.length - exponent;
  if (scale > AMOUNT_SCALE || digits.length - scale > AMOUNT_WHOLE_DIGITS) return undefined;
  return BigInt(digits) * tenTo(AMOUNT_SCALE - scale);
}

/** The shortest decimal text of an amount: `1.5`, never `1.50` or an exponent. */
export function formatAmount(amount: Amount): string {
  if (amount < 0n) return `-${formatAmount(-amount)}`;
  const digits = amount.toString().padStart(AMOUNT_SCALE + 1, '0');
  const point = digits.length - AMOUNT_SCALE;
  let end = digits.length;
  while (end > point && digits[end - 1] === '0') end--;
  const whole = digits.slice(0, point);
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`;
}
