import { createHash } from 'node:crypto';

/** A stream of numbers that a seed and labels determine: the same ones give the same stream. */
export interface Random {
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number;
  pick<T>(values: readonly [T, ...T[]]): T;
  /** That many lower-case hexadecimal digits. */
  hex(digits: number): string;
  bytes(count: number): Buffer;
}

/**
 * Randomness has labels and no common state, so what one request draws doesn't depend on which requests came
 * before it.
 */
export function randomOf(seed: string, ...labels: readonly (string | number)[]): Random {
  const key = JSON.stringify([seed, ...labels]);
  let pool = Buffer.alloc(0);
  let drawn = 0;
  const bytes = (count: number): Buffer => {
    while (pool.length < count) {
      pool = Buffer.concat([pool, createHash('sha256').update(`${key}${drawn++}`).digest()]);
    }
    const taken = pool.subarray(0, count);
    pool = pool.subarray(count);
    return taken;
  };
  const whole = (least: number, most: number): number =>
    least + (bytes(6).readUIntBE(0, 6) % (most - least + 1));
  return {
    whole,
    bytes,
    pick: ([first, ...rest]) => [first, ...rest][whole(0, rest.length)] ?? first,
    hex: (digits) =>
      bytes(Math.ceil(digits / 2))
        .toString('hex')
        .slice(0, digits),
  };
}
