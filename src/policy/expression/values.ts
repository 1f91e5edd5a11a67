import { AMOUNT_SCALE, formatAmount } from '../../values/amount.ts';
import { toComparable } from '../../values/comparable.ts';

/*
 * The values of expressions other than booleans and whole numbers. They are classes because the library
 * distinguishes types by their constructors. An expression can only read the fields of an output.
 */

const ONE = 10n ** BigInt(AMOUNT_SCALE);
/** Room for sums and products of amounts. */
const WHOLE_DIGITS = 72;
const BOUND = ONE * 10n ** BigInt(WHOLE_DIGITS);

/**
 * An exact decimal in units of 10^-36, possibly negative. Throws RangeError above 72 digits before the point.
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

/** The exact product. Throws RangeError if it has more digits after the point than a decimal. */
export function product(a: Decimal, b: Decimal): Decimal {
  const units = a.units * b.units;
  if (units % ONE !== 0n)
    throw new RangeError(`a product has more than ${AMOUNT_SCALE} digits after the point`);
  return new Decimal(units / ONE);
}

type Canonical = (written: string) => string | undefined;

/** The text of a member, comparable. Texts of the policy are made comparable before the comparison. */
export class Text {
  readonly text: string;
  readonly #canonical: Canonical | undefined;
  #caseless: boolean | undefined;

  /** `canonical` is the canonical form of an address; the policy may have it in another. */
  constructor(text: string, canonical?: Canonical) {
    this.text = text;
    this.#canonical = canonical;
    Object.freeze(this);
  }

  is(written: string): boolean {
    return [written, toComparable(written), this.#canonical?.(written)].includes(this.text);
  }

  /**
   * The form in which a part is searched for in the text: lower case if the text is compared without regard
   * to case.
   */
  part(written: string): string {
    const lower = written.toLowerCase();
    if (lower === written) return written;
    this.#caseless ??=
      this.text === this.text.toLowerCase() && toComparable(this.text.toUpperCase()) === this.text;
    return this.#caseless ? lower : written;
  }
}

/** An output of a withdrawal. */
export class Output {
  readonly to: Text;
  readonly amount: Decimal;

  constructor(to: Text, amount: Decimal) {
    this.to = to;
    this.amount = amount;
    Object.freeze(this);
  }
}

/** A movement of a transaction. */
export class Moved {
  readonly type: Text;
  readonly to: Text;
  /** Undefined for a token that the asset table does not have. Its use is an error. */
  readonly symbol: Text | undefined;
  /** Undefined if the amount is unlimited or unknown. Its use is an error. */
  readonly amount: Decimal | undefined;
  readonly unlimited: boolean;

  constructor(
    { type, to, symbol }: Readonly<Record<'type' | 'to', Text>> & { readonly symbol: Text | undefined },
    amount: Decimal | 'unlimited' | undefined,
  ) {
    this.type = type;
    this.to = to;
    this.symbol = symbol;
    this.amount = amount === 'unlimited' ? undefined : amount;
    this.unlimited = amount === 'unlimited';
    Object.freeze(this);
  }
}

export type Value = Decimal | Text | boolean | readonly Output[] | readonly Moved[];

const SHOWN_MAX = 100;

/** A value as a text for results. */
export function shownValue(value: Value): string {
  if (value instanceof Decimal) return formatAmount(value.units);
  if (value instanceof Text) {
    return value.text.length > SHOWN_MAX ? `${value.text.slice(0, SHOWN_MAX - 1)}…` : value.text;
  }
  if (typeof value === 'boolean') return String(value);
  return `${value.length} ${value[0] instanceof Moved ? 'movements' : 'outputs'}`;
}
