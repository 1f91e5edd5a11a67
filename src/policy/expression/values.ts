import { AMOUNT_SCALE, formatAmount } from '../../values/amount.ts';
import { comparable } from '../../values/comparable.ts';

/*
 * What an expression computes with beside booleans and whole numbers. They are classes because the library
 * tells types by their constructors; an expression sees none of their members but those of an output.
 */

const ONE = 10n ** BigInt(AMOUNT_SCALE);
/** Sums and products of amounts have room; what grows on and on is an error. */
const WHOLE_DIGITS = 72;
const BOUND = ONE * 10n ** BigInt(WHOLE_DIGITS);

/**
 * An exact decimal in units of 10^-36, below zero as well, with at most 72 digits before the point: else a
 * RangeError.
 */
export class Decimal {
  readonly units: bigint;

  constructor(units: bigint) {
    if (units >= BOUND || units <= -BOUND) {
      throw new RangeError(`a number has more than ${WHOLE_DIGITS} digits before the point`);
    }
    this.units = units;
    Object.freeze(this);
  }
}

/** A whole number as a decimal. */
export function whole(count: bigint): Decimal {
  return new Decimal(count * ONE);
}

/** The exact product; a RangeError if that has more digits after the point than a decimal can have. */
export function product(a: Decimal, b: Decimal): Decimal {
  const units = a.units * b.units;
  if (units % ONE !== 0n)
    throw new RangeError(`a product has more than ${AMOUNT_SCALE} digits after the point`);
  return new Decimal(units / ONE);
}

/** A member's text, comparable. What the policy wrote is made comparable before it is compared with it. */
export class Text {
  readonly text: string;
  #caseless: boolean | undefined;

  constructor(text: string) {
    this.text = text;
    Object.freeze(this);
  }

  is(written: string): boolean {
    return this.text === written || this.text === comparable(written);
  }

  /**
   * What a part must be to be found in the text: in lower case, where the whole is compared without regard to
   * case.
   */
  part(written: string): string {
    const lower = written.toLowerCase();
    if (lower === written) return written;
    this.#caseless ??=
      this.text === this.text.toLowerCase() && comparable(this.text.toUpperCase()) === this.text;
    return this.#caseless ? lower : written;
  }
}

/** Who is paid how much by a withdrawal. */
export class Output {
  readonly to: Text;
  readonly amount: Decimal;

  constructor(to: Text, amount: Decimal) {
    this.to = to;
    this.amount = amount;
    Object.freeze(this);
  }
}

export type Value = Decimal | Text | boolean | readonly Output[];

const SHOWN_MAX = 100;

/** A value as text, for a result. */
export function shownValue(value: Value): string {
  if (value instanceof Decimal) return formatAmount(value.units);
  if (value instanceof Text) {
    return value.text.length > SHOWN_MAX ? `${value.text.slice(0, SHOWN_MAX - 1)}…` : value.text;
  }
  return typeof value === 'boolean' ? String(value) : `${value.length} outputs`;
}
