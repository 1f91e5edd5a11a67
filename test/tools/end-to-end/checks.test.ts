import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../packages/sandbox/log.ts';
import { type Plan, planDay, planTampering } from '../../../tools/end-to-end/plan.ts';
import { checksOf, checksText, faultsText } from '../../../tools/end-to-end/report.ts';
import { type Ended, type Outcome, sumsOf } from '../../../tools/end-to-end/run.ts';

const plan = planDay('7');

/** What comes of a plan if everything is right. */
function rightOutcome({ orders, signings }: Plan): Outcome {
  const approved = <T extends { readonly verdict: string }>(sent: readonly T[]): readonly T[] =>
    sent.filter(({ verdict }) => verdict === 'SUCCESS');
  const sums = {
    payment: sumsOf(approved(orders)),
    transfer: sumsOf(approved(signings.filter(({ flow }) => flow === 'transfer'))),
    web3: sumsOf(approved(signings.filter(({ flow }) => flow === 'web3'))),
  };
  const ended = new Map<string, Ended>([
    ...orders.map(({ id, verdict }) => [id, verdict === 'SUCCESS' ? 'paid' : 'refused'] as const),
    ...signings.map(
      ({ id, verdict, speedUps }) =>
        [id, verdict === 'SUCCESS' ? (`signed ${1 + speedUps}` as const) : 'not signed'] as const,
    ),
  ]);
  return {
    ended,
    debited: new Set(approved(orders).map(({ id }) => id)),
    log: [],
    made: [],
    expected: [],
    found: [],
    sums: { balances: sums.payment, bill: sums.payment, journal: sums, approved: sums, settled: sums },
    runs: [],
  };
}

const right = rightOutcome(plan);
const failures = (outcome: Outcome, planned: Parameters<typeof checksOf>[1] = []): readonly string[] =>
  checksOf(plan, planned, outcome).flatMap(({ faults }) => faults);

const call = (faults: readonly string[], outcome: string): Entry => ({
  number: 1,
  at: '2026-01-15T04:00:00.000Z',
  kind: 'confirmation',
  about: 'order-01',
  scheme: 'md5',
  signed: '',
  outcome,
  why: '',
  faults,
});

describe('the plan', () => {
  it('is the same with the same seed, and another with another', () => {
    expect(planDay('7')).toEqual(plan);
    expect(planDay('8')).not.toEqual(plan);
  });

  it('has payments at, above and below each limit, unannounced ones, and both schemes of each', () => {
    const { orders } = plan;
    for (const because of ['at the limit', 'over the limit', 'not announced', '']) {
      expect(orders.some((order) => order.because === because)).toBe(true);
    }
    for (const scheme of ['md5', 'rsa-envelope'] as const) {
      const own = orders.filter((order) => order.scheme === scheme);
      expect(own.length).toBe(25);
      expect(new Set(own.map(({ coin }) => coin)).size).toBe(3);
    }
    expect(plan.signings.length).toBe(50);
    expect(new Set(plan.signings.map(({ speedUps }) => speedUps))).toEqual(new Set([0, 1, 2]));
  });

  it('has each kind of tampering and of discrepancy once, at places of their own', () => {
    const planned = planTampering(plan);
    const places = planned.map(({ id }) => id);
    expect(new Set(places).size).toBe(places.length);
    const kinds = new Set(planned.map(({ fault }) => fault));
    expect(kinds.size).toBeGreaterThanOrEqual(10 + 13);
  });
});

describe('the checks', () => {
  it('pass if everything is right', () => {
    expect(failures(right)).toEqual([]);
    expect(checksText(checksOf(plan, [], right))).not.toContain('NO ');
    expect(faultsText(right)).toBe('');
  });

  const more = sumsOf([...plan.orders, { coin: 'BTC', amount: '0.000000000000000000000000000000000001' }]);
  const sums = (over: Partial<Outcome['sums']>): Outcome => ({ ...right, sums: { ...right.sums, ...over } });
  const item = { class: 'billed-twice', id: 'order-01', day: 0 } as const;
  const twice = { ...item, fault: 'bill-twice' } as const;

  it.each<[string, Outcome, RegExp]>([
    [
      'an order that is paid although the policies say no',
      { ...right, ended: new Map([...right.ended, ['order-04', 'paid']]) },
      /order-04 ended as paid/,
    ],
    [
      'an order that is refused although they say yes',
      { ...right, ended: new Map([...right.ended, ['order-01', 'refused']]) },
      /order-01 ended as refused/,
    ],
    [
      'an order whose outcome is unknown',
      { ...right, ended: new Map([...right.ended, ['order-01', 'unknown']]) },
      /order-01 ended as unknown/,
    ],
    [
      'a withdrawal that is signed once too often',
      { ...right, ended: new Map([...right.ended, ['withdrawal-01', 'signed 2']]) },
      /withdrawal-01 ended as signed 2/,
    ],
    [
      'a refused one that is signed',
      { ...right, ended: new Map([...right.ended, ['withdrawal-05', 'signed 1']]) },
      /withdrawal-05/,
    ],
    [
      'a debit without approval',
      { ...right, debited: new Set([...right.debited, 'order-04']) },
      /order-04 was debited/,
    ],
    [
      'no debit after an approval',
      { ...right, debited: new Set([...right.debited].slice(1)) },
      /order-01 was not debited/,
    ],
    ['other balances', sums({ balances: more }), /BTC/],
    ['another bill', sums({ bill: more }), /BTC/],
    ['another journal of payments', sums({ journal: { ...right.sums.journal, payment: more } }), /BTC/],
    ['another journal of withdrawals', sums({ journal: { ...right.sums.journal, transfer: more } }), /BTC/],
    [
      'other approvals in the reconciliation',
      sums({ approved: { ...right.sums.approved, web3: more } }),
      /BTC/,
    ],
    ['something that is not settled', sums({ settled: { ...right.sums.settled, transfer: more } }), /BTC/],
    ['a false alarm', { ...right, found: [item] }, /billed-twice of order-01 is a false alarm/],
    [
      'a discrepancy that is not named',
      { ...right, made: [{ fault: 'bill-twice', id: 'order-01' }], expected: [twice] },
      /billed-twice of order-01 is not named/,
    ],
    [
      'one that is named on the wrong day',
      { ...right, expected: [twice], found: [{ ...item, day: 1 }] },
      /not named/,
    ],
    ['one that is named twice', { ...right, expected: [twice], found: [item, item] }, /is a false alarm/],
    [
      'a tampered call that is approved',
      { ...right, log: [call(['tamper-sign'], '"SUCCESS"')] },
      /order-01 \(tamper-sign\): "SUCCESS"/,
    ],
    [
      'a tampered call without an answer',
      { ...right, log: [call(['tamper-sign'], '')] },
      /order-01 \(tamper-sign\)/,
    ],
  ])('fail for %s', (_, outcome, fault) => {
    expect(failures(outcome).join('\n')).toMatch(fault);
    expect(checksText(checksOf(plan, [], outcome))).toMatch(/^NO /m);
  });

  it('fail if a fault of the plan did not occur', () => {
    const planned = [{ fault: 'bill-twice', id: 'order-01' }] as const;
    expect(failures(right, planned)).toEqual(['bill-twice did not occur at order-01']);
    expect(failures({ ...right, made: planned, expected: [twice], found: [item] }, planned)).toEqual([]);
  });
});
