import { describe, expect, it } from 'vitest';
import { type FailureBudgets, createFailureBudgets } from '../../src/pipeline/address-budgets.ts';
import { networksOf } from '../../src/values/address-networks.ts';

const BUDGET = 3;

interface Watched {
  readonly budgets: FailureBudgets;
  readonly fail: (address: string, times?: number, code?: string) => void;
  readonly succeed: (address: string) => void;
  readonly throttled: (address: string) => boolean;
  readonly pass: (ms: number) => void;
}

function watched(): Watched {
  let now = 5000;
  const budgets = createFailureBudgets({ failuresPerSecond: BUDGET, nowMs: () => now });
  return {
    budgets,
    fail(address, times = 1, code = 'SIGN_WRONG') {
      for (let time = 0; time < times; time++)
        budgets.report({ address, source: undefined, outcome: 'unauthenticated', code });
    },
    succeed: (address) => budgets.report({ address, source: 'shop', outcome: 'decided', code: 'APPROVED' }),
    throttled: (address) => budgets.excessReason(address) !== undefined,
    pass(ms) {
      now += ms;
    },
  };
}

const stranger = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;

describe('an address whose callbacks fail to authenticate', () => {
  it('is listened to up to its budget, and not beyond, until its second is over', () => {
    const { fail, throttled, pass } = watched();
    fail('192.0.2.1', BUDGET);
    expect(throttled('192.0.2.1')).toBe(false);
    fail('192.0.2.1');
    expect(throttled('192.0.2.1')).toBe(true);
    pass(999);
    expect(throttled('192.0.2.1')).toBe(true);
    pass(1);
    expect(throttled('192.0.2.1')).toBe(false);
    fail('192.0.2.1', BUDGET);
    expect(throttled('192.0.2.1')).toBe(false);
  });

  it('takes nothing from another', () => {
    const { fail, throttled } = watched();
    fail('192.0.2.1', 100);
    expect(throttled('192.0.2.2')).toBe(false);
  });

  it('has less left where deciphering was in vain, which costs more', () => {
    const { fail, throttled } = watched();
    fail('192.0.2.1', 1, 'ENVELOPE_UNDECIPHERABLE');
    expect(throttled('192.0.2.1')).toBe(true);
  });

  it.each(['failed', 'late', 'refused', 'decided'] as const)('is not charged for what was %s', (outcome) => {
    const { budgets, throttled } = watched();
    for (let time = 0; time < 100; time++)
      budgets.report({ address: '192.0.2.1', source: undefined, outcome, code: 'TIMED_OUT' });
    expect(throttled('192.0.2.1')).toBe(false);
  });

  it('is told what to do, and which setting it was', () => {
    const { budgets, fail } = watched();
    fail('192.0.2.1', BUDGET + 1);
    expect(budgets.excessReason('192.0.2.1')).toBe(
      'the failures of 192.0.2.1 cost more than 3 within a second (public.limits.failuresPerSecond; some count ten times): callbacks that failed to authenticate, requests answered 404 or 405, and misused connections; find out who sends them, and block that sender at the gateway',
    );
  });
});

describe('an address from which a sender was authenticated', () => {
  it('may have ten times as many fail for a minute, and no longer', () => {
    const { fail, succeed, throttled, pass } = watched();
    succeed('192.0.2.1');
    fail('192.0.2.1', BUDGET * 10);
    expect(throttled('192.0.2.1')).toBe(false);
    fail('192.0.2.1');
    expect(throttled('192.0.2.1')).toBe(true);
    pass(60_000);
    fail('192.0.2.1', BUDGET + 1);
    expect(throttled('192.0.2.1')).toBe(true);
  });

  it('does not get a new budget by another success', () => {
    const { fail, succeed, throttled, pass } = watched();
    succeed('192.0.2.1');
    pass(1500);
    fail('192.0.2.1', BUDGET * 10 + 1);
    succeed('192.0.2.1');
    expect(throttled('192.0.2.1')).toBe(true);
  });

  it('is not forgotten, whatever strangers there are', () => {
    const { fail, succeed, throttled } = watched();
    succeed('192.0.2.1');
    for (let index = 0; index < 12_000; index++) fail(stranger(index));
    fail('192.0.2.1', BUDGET * 10);
    expect(throttled('192.0.2.1')).toBe(false);
  });
});

describe('an address from which a callback was decided within a day', () => {
  const SENDER = '2001:db8:1:1::5';
  const wide = (index: number): string => `2001:db8:1:${index.toString(16)}::1`;

  it('has a budget that nobody else of its /64 or /48 can use up, however long it was quiet', () => {
    const { fail, succeed, throttled, pass } = watched();
    succeed(SENDER);
    pass(86_399_000);
    fail('2001:db8:1:1::6', BUDGET + 1);
    for (let index = 0; index < 12_000; index++) fail(wide(index));
    expect(throttled('2001:db8:1:1::6')).toBe(true);
    expect(throttled('2001:db8:1:ffff::1')).toBe(true);
    expect(throttled(SENDER)).toBe(false);
    fail(SENDER, BUDGET + 1);
    expect(throttled(SENDER)).toBe(true);
    pass(1000);
    expect(throttled(SENDER)).toBe(false);
  });

  it('is a stranger again after that day', () => {
    const { fail, succeed, throttled, pass } = watched();
    succeed(SENDER);
    pass(86_400_000);
    fail('2001:db8:1:1::6', BUDGET + 1);
    expect(throttled(SENDER)).toBe(true);
  });

  it('is not forgotten for strangers, nor for callbacks that are repeated from anywhere', () => {
    const { budgets, fail, succeed, throttled } = watched();
    succeed(SENDER);
    for (let index = 0; index < 20_000; index++) {
      const address = stranger(index);
      budgets.report({ address, source: 'shop', outcome: 'repeated', code: 'APPROVED' });
      fail(address);
    }
    fail('2001:db8:1:1::6', BUDGET * 10 + 1);
    expect(throttled(SENDER)).toBe(false);
  });

  it('gives way to others that were seen later, where there are too many', () => {
    const { fail, succeed, throttled, pass } = watched();
    succeed(SENDER);
    succeed('2001:db8:1:1::7');
    pass(60_000);
    succeed(SENDER);
    for (let index = 0; index < 9_999; index++) succeed(stranger(index));
    fail('2001:db8:1:1::6', BUDGET * 10 + 1);
    expect(throttled(SENDER)).toBe(false);
    expect(throttled('2001:db8:1:1::7')).toBe(true);
  });
});

describe('an address that misuses connections', () => {
  it('is shut out once that has used up its budget, and let in when its second is over', () => {
    const { budgets, pass } = watched();
    budgets.charge('192.0.2.1', 'misuse');
    expect(budgets.isBlocked('192.0.2.1')).toBe(true);
    expect(budgets.isBlocked('192.0.2.2')).toBe(false);
    pass(1000);
    expect(budgets.isBlocked('192.0.2.1')).toBe(false);
  });

  it('is not shut out for other failures, nor where somebody was authenticated from it', () => {
    const { budgets, fail, succeed, throttled } = watched();
    fail('192.0.2.1', BUDGET + 1);
    for (let time = 0; time <= BUDGET; time++) budgets.charge('192.0.2.2', 'unserved');
    succeed('192.0.2.3');
    for (let time = 0; time <= BUDGET; time++) budgets.charge('192.0.2.3', 'misuse');
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      expect(throttled(address)).toBe(true);
      expect(budgets.isBlocked(address)).toBe(false);
    }
  });
});

describe('more strangers than are counted', () => {
  it('drive out none whose second is not over', () => {
    const { fail, throttled } = watched();
    fail('192.0.2.1', BUDGET + 1);
    for (let index = 0; index < 20_000; index++) fail(stranger(index));
    expect(throttled('192.0.2.1')).toBe(true);
  });

  it('share one budget among those beyond, and are counted again once there is room', () => {
    const { budgets, fail, throttled, pass } = watched();
    for (let index = 0; index < 10_000; index++) fail(stranger(index));
    expect(throttled(stranger(10_000))).toBe(false);
    for (let index = 10_000; index < 10_000 + BUDGET * 10 + 1; index++) fail(stranger(index));
    expect(throttled('192.0.2.1')).toBe(true);
    expect(budgets.excessReason('192.0.2.1')).toContain('the addresses beyond 10000');
    expect(throttled(stranger(0))).toBe(false);
    pass(1000);
    expect(throttled('192.0.2.1')).toBe(false);
    fail('192.0.2.1');
    expect(throttled('192.0.2.1')).toBe(false);
  });
});

describe('what counts as one address', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
    ['no:address', 'no:address'],
    ['x'.repeat(1000), 'x'.repeat(64)],
  ])('%s is %s', (address, key) => {
    expect(networksOf(address)[0]).toBe(key);
  });
});
