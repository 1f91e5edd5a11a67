import { describe, expect, it } from 'vitest';
import { type LineLimit, createLineLimit } from '../../src/observe/line-limit.ts';

function limited(lines: number): {
  readonly limit: LineLimit;
  readonly pass: (ms: number) => void;
  readonly admitted: (times: number, kind?: string) => number;
} {
  let now = 7_400;
  const limit = createLineLimit({ clock: () => now, lines, windowMs: 10_000 });
  return {
    limit,
    pass: (ms) => (now += ms),
    admitted: (times, kind) => Array.from({ length: times }, () => limit.admits(kind)).filter(Boolean).length,
  };
}

describe('a line limit', () => {
  it('admits so many lines in each window', () => {
    const { pass, admitted } = limited(3);
    expect(admitted(10)).toBe(3);
    pass(9_999);
    expect(admitted(1)).toBe(0);
    pass(1);
    expect(admitted(10)).toBe(3);
  });

  it('limits each kind by itself', () => {
    const { limit, pass, admitted } = limited(1);
    expect([admitted(5, 'OVERLOADED'), admitted(2, 'ADDRESS_THROTTLED')]).toEqual([1, 1]);
    pass(10_000);
    expect([limit.takeSuppressed('OVERLOADED'), limit.takeSuppressed('ADDRESS_THROTTLED')]).toEqual([4, 1]);
  });

  it('reports suppressed lines after their window, and once', () => {
    const { limit, pass, admitted } = limited(1);
    admitted(5);
    expect(limit.takeSuppressed()).toBe(0);
    pass(9_999);
    admitted(1);
    expect(limit.takeSuppressed()).toBe(0);
    pass(1);
    expect([limit.takeSuppressed(), limit.takeSuppressed()]).toEqual([5, 0]);
  });

  it('reports suppressed lines of earlier windows too', () => {
    const { limit, pass, admitted } = limited(0);
    admitted(2);
    pass(10_000);
    admitted(3);
    pass(3_600_000);
    expect(limit.takeSuppressed()).toBe(5);
  });

  it('reports nothing if no line was suppressed', () => {
    const { limit, pass, admitted } = limited(3);
    admitted(3);
    pass(10_000);
    expect(limit.takeSuppressed()).toBe(0);
  });

  it('starts a new window when the clock is set back', () => {
    const { pass, admitted } = limited(1);
    admitted(2);
    pass(-7_000);
    expect(admitted(2)).toBe(1);
  });
});
