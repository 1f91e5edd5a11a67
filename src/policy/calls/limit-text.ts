import type { Type } from './type.ts';

const DECIMAL = /^(-?)(0|[1-9]\d{0,77})(?:\.(\d{1,36}))?$/;

export type LimitRead =
  | { readonly ok: true; readonly value: bigint }
  | { readonly ok: false; readonly message: string; readonly cure: string };

/** A number that a policy gives for an integer argument, in the smallest units: exact, or refused. */
export function readLimit(written: string, type: Type, decimals: number): LimitRead {
  const [, sign = '', whole = '', fraction = ''] = DECIMAL.exec(written) ?? [];
  if (whole === '') {
    const plain = decimals === 0 ? 'a whole number, like 10' : 'a plain decimal, like 10000 or 0.5';
    return {
      ok: false,
      message: `${JSON.stringify(written.slice(0, 80))} will not do`,
      cure: `write ${plain}`,
    };
  }
  if (fraction.length > decimals) {
    return {
      ok: false,
      message: `${written} has ${fraction.length} digits after the point, and the argument has ${decimals}`,
      cure: decimals === 0 ? 'write a whole number, or give its decimals' : 'round it',
    };
  }
  const units = BigInt(whole + fraction.padEnd(decimals, '0'));
  const value = sign === '' ? units : -units;
  const [least, greatest] = rangeOf(type);
  if (value >= least && value <= greatest) return { ok: true, value };
  return { ok: false, message: `${written} is outside of what the argument can hold`, cure: 'leave it out' };
}

function rangeOf(type: Type): readonly [least: bigint, greatest: bigint] {
  if (type.kind === 'uint') return [0n, 2n ** BigInt(type.bits) - 1n];
  if (type.kind === 'int') return [-(2n ** BigInt(type.bits - 1)), 2n ** BigInt(type.bits - 1) - 1n];
  return [0n, 0n];
}

/** From here on an amount is as good as unlimited: half of what its type holds. */
export function unlimitedFrom(type: Type): bigint {
  if (type.kind === 'uint') return 2n ** BigInt(type.bits - 1);
  return type.kind === 'int' ? 2n ** BigInt(type.bits - 2) : 0n;
}
