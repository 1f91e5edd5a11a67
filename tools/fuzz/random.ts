/** Chance that a seed repeats. */
export interface Random {
  /** 0 to count - 1. */
  below(count: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** True once in so many. */
  oneIn(count: number): boolean;
}

/** Mulberry32: small, quick, and good enough to choose what to try. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const below = (count: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * count);
  };
  return {
    below,
    pick: <T>(list: readonly [T, ...T[]]): T => list[below(list.length)] ?? list[0],
    oneIn: (count) => below(count) === 0,
  };
}

/** One of a list that may be empty. */
export function anyOf<T>(random: Random, list: readonly T[]): T | undefined {
  return list[random.below(list.length)];
}

/** Another order of the same. */
export function shuffled<T>(random: Random, list: readonly T[]): readonly T[] {
  const rest = [...list];
  const drawn: T[] = [];
  while (rest.length > 0) drawn.push(...rest.splice(random.below(rest.length), 1));
  return drawn;
}

export function digits(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.below(10)).join('');
}

export function hex(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.below(16).toString(16)).join('');
}

export function bytesOf(random: Random, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => random.below(256)));
}
