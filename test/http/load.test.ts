import { describe, expect, it } from 'vitest';
import { failure } from '../../src/errors.ts';
import { type LoadMonitor, type LoadMonitorParts, createLoadMonitor } from '../../src/http/load.ts';

type Line = Parameters<LoadMonitorParts['write']>[1];

function monitored(): {
  readonly load: LoadMonitor;
  readonly lines: Line[];
  readonly counts: string[];
  readonly pass: (ms: number) => void;
} {
  let now = 7_400;
  const lines: Line[] = [];
  const counts: string[] = [];
  const load = createLoadMonitor({
    nowMs: () => now,
    metrics: { turnedAway: (reason) => counts.push(reason), unserved: (reason) => counts.push(reason) },
    write: (_event, line) => lines.push(line),
  });
  return { load, lines, counts, pass: (ms) => (now += ms) };
}

const full = { reason: 'callbacks', address: '192.0.2.1', failure: failure('OVERLOADED', 'full') } as const;
const throttled = {
  reason: 'address',
  address: '192.0.2.9',
  failure: failure('ADDRESS_THROTTLED', 'too many'),
} as const;

describe('what is turned away', () => {
  it('is counted each time, by its reason', () => {
    const { load, counts } = monitored();
    load.callbackTurnedAway(full);
    load.callbackTurnedAway(full);
    load.callbackTurnedAway(throttled);
    load.connectionClosed(undefined);
    load.connectionClosed('192.0.2.9');
    load.unserved({ reason: 'not-found', address: '192.0.2.9' });
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
    const { load, lines } = monitored();
    load.callbackTurnedAway(full);
    load.callbackTurnedAway(throttled);
    expect(lines).toEqual([
      { code: 'OVERLOADED', because: 'full', address: '192.0.2.1' },
      { code: 'ADDRESS_THROTTLED', because: 'too many', address: '192.0.2.9' },
    ]);
  });

  it('says which setting closes connections', () => {
    const { load, lines } = monitored();
    load.connectionClosed(undefined);
    expect(lines[0]).toMatchObject({
      code: 'OVERLOADED',
      because: expect.stringContaining('public.limits.connections') as string,
    });
  });
});

describe('the load that /readyz shows', () => {
  it('is in order before anything was turned away', () => {
    expect(monitored().load.state()).toEqual({
      ok: true,
      because: 'nothing was turned away for the load in the last ten seconds',
    });
  });

  it('is not in order for ten seconds after something was, and says how much', () => {
    const { load, pass } = monitored();
    load.callbackTurnedAway(full);
    pass(4000);
    load.callbackTurnedAway(full);
    load.connectionClosed(undefined);
    expect(load.state()).toMatchObject({
      ok: false,
      because: expect.stringContaining('3 callbacks or connections') as string,
    });
    pass(6000);
    expect(load.state().because).toContain('2 callbacks');
    pass(4000);
    expect(load.state().ok).toBe(true);
    load.callbackTurnedAway(full);
    pass(3_600_000);
    expect(load.state().ok).toBe(true);
  });

  it('stays in order while single addresses are throttled, and says so', () => {
    const { load } = monitored();
    load.callbackTurnedAway(throttled);
    expect(load.state()).toEqual({
      ok: true,
      because:
        "nothing was turned away for the load in the last ten seconds; 1 was turned away because the sender's address caused too many failures (public.limits.failuresPerSecond) or has too many connections",
    });
  });
});
