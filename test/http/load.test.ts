import { describe, expect, it } from 'vitest';
import { failure } from '../../src/errors.ts';
import { type Tally, type TallyParts, createTally } from '../../src/http/load.ts';

type Line = Parameters<TallyParts['write']>[1];

function tallied(): {
  readonly tally: Tally;
  readonly lines: Line[];
  readonly counts: string[];
  readonly pass: (ms: number) => void;
} {
  let now = 7_400;
  const lines: Line[] = [];
  const counts: string[] = [];
  const tally = createTally({
    nowMs: () => now,
    count: (reason) => counts.push(reason),
    countUnserved: (reason) => counts.push(reason),
    write: (_event, line) => lines.push(line),
  });
  return { tally, lines, counts, pass: (ms) => (now += ms) };
}

const full = { reason: 'callbacks', address: '192.0.2.1', failure: failure('OVERLOADED', 'full') } as const;
const throttled = {
  reason: 'address',
  address: '192.0.2.9',
  failure: failure('ADDRESS_THROTTLED', 'too many'),
} as const;

describe('what is turned away', () => {
  it('is counted each time, by its reason', () => {
    const { tally, counts } = tallied();
    tally.turnedAway(full);
    tally.turnedAway(full);
    tally.turnedAway(throttled);
    tally.dropped(undefined);
    tally.dropped('192.0.2.9');
    tally.unserved({ reason: 'not-found', address: '192.0.2.9' });
    expect(counts).toEqual([
      'callbacks',
      'callbacks',
      'address',
      'connections',
      'address-connections',
      'not-found',
    ]);
  });

  it('is written with its code, reason and address', () => {
    const { tally, lines } = tallied();
    tally.turnedAway(full);
    tally.turnedAway(throttled);
    expect(lines).toEqual([
      { code: 'OVERLOADED', because: 'full', address: '192.0.2.1' },
      { code: 'ADDRESS_THROTTLED', because: 'too many', address: '192.0.2.9' },
    ]);
  });

  it('says which setting closes connections', () => {
    const { tally, lines } = tallied();
    tally.dropped(undefined);
    expect(lines[0]).toMatchObject({
      code: 'OVERLOADED',
      because: expect.stringContaining('public.limits.connections') as string,
    });
  });
});

describe('the load that /readyz shows', () => {
  it('is in order before anything was turned away', () => {
    expect(tallied().tally.load()).toEqual({
      ok: true,
      because: 'nothing was turned away for the load in the last ten seconds',
    });
  });

  it('is not in order for ten seconds after something was, and says how much', () => {
    const { tally, pass } = tallied();
    tally.turnedAway(full);
    pass(4000);
    tally.turnedAway(full);
    tally.dropped(undefined);
    expect(tally.load()).toMatchObject({
      ok: false,
      because: expect.stringContaining('3 callbacks or connections') as string,
    });
    pass(6000);
    expect(tally.load().because).toContain('2 callbacks');
    pass(4000);
    expect(tally.load().ok).toBe(true);
    tally.turnedAway(full);
    pass(3_600_000);
    expect(tally.load().ok).toBe(true);
  });

  it('stays in order while single addresses are throttled, and says so', () => {
    const { tally } = tallied();
    tally.turnedAway(throttled);
    expect(tally.load()).toEqual({
      ok: true,
      because:
        'nothing was turned away for the load in the last ten seconds; 1 of addresses whose callbacks fail to authenticate',
    });
  });
});
