import { isDigits } from './text.ts';

/*
 * Exact decimals as text, compared and added digit by digit: nothing here is ever a number that could round.
 */

/** Digits before and after the point that an amount may have. */
const DIGITS = 36;
/** No amount of 36 digits needs an exponent of more, whatever is written before it. */
const EXPONENT_DIGITS = 3;

/**
 * The one way of writing it: no sign but a minus, no exponent, no needless zero. Undefined for what is no
 * plain JSON number, or for one with more than 36 digits before or after the point; `exponent` says whether
 * `1e3` may be written.
 */
export function decimal(text: string, { exponent }: { readonly exponent: boolean }): string | undefined {
  const negative = text.startsWith('-');
  const [mantissa = '', power = '0', ...more] = text
    .slice(negative ? 1 : 0)
    .toLowerCase()
    .split('e');
  if (more.length > 0 || (!exponent && text.toLowerCase().includes('e'))) return undefined;
  const [whole = '', fraction = '', ...points] = mantissa.split('.');
  if (points.length > 0 || (mantissa.includes('.') && fraction === '')) return undefined;
  if (!isDigits(whole) || (fraction !== '' && !isDigits(fraction))) return undefined;
  if (whole.length > 1 && whole.startsWith('0')) return undefined;
  const moved = shifted(whole, fraction, power);
  if (moved === undefined) return undefined;
  const before = withoutFirst(moved.whole);
  if (before.length > DIGITS || moved.fraction.length > DIGITS) return undefined;
  const after = withoutLast(moved.fraction);
  const digits = `${before === '' ? '0' : before}${after === '' ? '' : `.${after}`}`;
  return negative ? `-${digits}` : digits;
}

/** Whether a decimal in its one way of writing is at most another; both zero or more. */
export function atMost(one: string, other: string): boolean {
  const [a, b] = aligned(one, other);
  return a <= b;
}

/** The sum of two decimals in their one way of writing; both zero or more. */
export function sum(one: string, other: string): string {
  const [a, b, fraction] = aligned(one, other);
  let carry = 0;
  let digits = '';
  for (let at = a.length - 1; at >= 0; at--) {
    const added = a.charCodeAt(at) + b.charCodeAt(at) - 96 + carry;
    digits = String(added % 10) + digits;
    carry = added >= 10 ? 1 : 0;
  }
  const all = `${carry}${digits}`;
  const before = withoutFirst(all.slice(0, all.length - fraction));
  const after = withoutLast(fraction === 0 ? '' : all.slice(-fraction));
  return `${before === '' ? '0' : before}${after === '' ? '' : `.${after}`}`;
}

/** Both with as many digits before and after the point, without it, and how many are after. */
function aligned(one: string, other: string): readonly [string, string, number] {
  const [a = '', aFraction = ''] = one.split('.');
  const [b = '', bFraction = ''] = other.split('.');
  const before = Math.max(a.length, b.length);
  const after = Math.max(aFraction.length, bFraction.length);
  const padded = (whole: string, fraction: string): string =>
    whole.padStart(before, '0') + fraction.padEnd(after, '0');
  return [padded(a, aFraction), padded(b, bFraction), after];
}

/** The point moved by the exponent. */
function shifted(
  whole: string,
  fraction: string,
  power: string,
): { readonly whole: string; readonly fraction: string } | undefined {
  const down = power.startsWith('-');
  const digits = power.slice(down || power.startsWith('+') ? 1 : 0);
  if (!isDigits(digits)) return undefined;
  if (digits.length > EXPONENT_DIGITS) return undefined;
  const by = Number(digits);
  const zeros = '0'.repeat(by);
  if (down) {
    const all = zeros + whole;
    return { whole: all.slice(0, all.length - by), fraction: (by === 0 ? '' : all.slice(-by)) + fraction };
  }
  const all = fraction + zeros;
  return { whole: whole + all.slice(0, by), fraction: all.slice(by) };
}

function withoutFirst(digits: string): string {
  let from = 0;
  while (digits[from] === '0') from += 1;
  return digits.slice(from);
}

function withoutLast(digits: string): string {
  let to = digits.length;
  while (digits[to - 1] === '0') to -= 1;
  return digits.slice(0, to);
}
