const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);
export const DURATION_PATTERN = /^([1-9]\d{0,7})([smhd])$/;
const MAX_MS = 92 * 86_400_000;

/**
 * A length of time from 1s to 92d, like `90s`, `10m`, `24h` or `7d`, in milliseconds; undefined for anything
 * else.
 */
export function durationMs(text: string): number | undefined {
  const match = DURATION_PATTERN.exec(text);
  const lengthMs = Number(match?.[1] ?? 0) * (UNITS_MS.get(match?.[2] ?? '') ?? 0);
  return lengthMs === 0 || lengthMs > MAX_MS ? undefined : lengthMs;
}
