/** Decimal places of the sandbox's books. */
const PLACES = 18;
const UNIT = 10n ** BigInt(PLACES);
const DECIMAL = /^(0|[1-9]\d{0,29})(?:\.(\d{1,18}))?$/;

/** An amount in units of 10^-18. Undefined if the text isn't a plain decimal without a sign. */
export function readDecimal(text: string): bigint | undefined {
  const [whole, digits, places = ''] = DECIMAL.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(digits ?? '0') * UNIT + BigInt(places.padEnd(PLACES, '0'));
}

/** The shortest decimal of an amount. It may be negative. */
export function decimalText(units: bigint): string {
  if (units < 0n) return `-${decimalText(-units)}`;
  const places = (units % UNIT).toString().padStart(PLACES, '0').replace(/0+$/, '');
  return places === '' ? `${units / UNIT}` : `${units / UNIT}.${places}`;
}

/** The sum of amounts that the sandbox itself wrote. */
export function addDecimals(...texts: readonly string[]): string {
  return decimalText(texts.reduce((sum, text) => sum + signedUnits(text), 0n));
}

/** `a - b`, which may be negative. */
export function subtractDecimals(a: string, b: string): string {
  return decimalText(signedUnits(a) - signedUnits(b));
}

/** `a * b`, rounded down to 18 decimal places. */
export function multiplyDecimals(a: string, b: string): string {
  return decimalText((signedUnits(a) * signedUnits(b)) / UNIT);
}

function signedUnits(text: string): bigint {
  const negative = text.startsWith('-');
  const units = readDecimal(negative ? text.slice(1) : text);
  if (units === undefined) throw new Error(`${text} is not an amount of the sandbox`);
  return negative ? -units : units;
}
