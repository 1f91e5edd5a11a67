import { expect, it } from 'vitest';
import { type Period, createActivity } from '../../src/observe/activity.ts';
import { APPROVED } from './reports.ts';

const START_MS = Date.UTC(2026, 2, 2, 9, 0);
const MINUTE_MS = 60_000;
const REFUSED = {
  ...APPROVED,
  verdict: 'FAILURE',
  code: 'RULE_REFUSED',
  rule: 'payments/amount-limit#1',
} as const;

function noted() {
  let nowMs = START_MS;
  const activity = createActivity(() => nowMs);
  const sums = (period: Period): readonly number[] => {
    const { slots } = activity.state().over[period];
    return [
      slots.reduce((sum, { success }) => sum + success, 0),
      slots.reduce((sum, { failure }) => sum + failure, 0),
    ];
  };
  return { activity, sums, advance: (ms: number) => void (nowMs += ms) };
}

it('each callback counts once in each period, for as long as the period is', () => {
  const { activity, sums, advance } = noted();
  activity.note(APPROVED);
  activity.note(REFUSED);
  // It was counted when it was decided.
  activity.note({ ...APPROVED, outcome: 'late', verdict: 'FAILURE', code: 'ANSWERED_LATE' });
  for (const period of ['hour', 'day', 'week'] as const) expect(sums(period)).toEqual([1, 1]);
  advance(59 * MINUTE_MS + 59_999);
  expect(sums('hour')).toEqual([1, 1]);
  advance(1);
  expect(sums('hour')).toEqual([0, 0]);
  expect(sums('day')).toEqual([1, 1]);
  advance(24 * 60 * MINUTE_MS);
  expect([sums('day'), sums('week')]).toEqual([
    [0, 0],
    [1, 1],
  ]);
  advance(7 * 24 * 60 * MINUTE_MS);
  expect(sums('week')).toEqual([0, 0]);
});

it('slots are in order, and a slot that comes again begins with nothing', () => {
  const { activity, advance } = noted();
  for (let minute = 0; minute < 130; minute++) {
    activity.note(minute % 2 === 0 ? APPROVED : REFUSED);
    advance(MINUTE_MS);
  }
  const { slots, slotMs } = activity.state().over.hour;
  expect(slotMs).toBe(MINUTE_MS);
  expect(slots.map(({ fromMs }) => fromMs)).toEqual(
    Array.from({ length: 60 }, (_, at) => START_MS + (71 + at) * MINUTE_MS),
  );
  expect(slots.at(-1)).toMatchObject({ success: 0, failure: 0 });
  for (const { success, failure } of slots.slice(0, -1)) expect(success + failure).toBe(1);
});

it('refusals are counted by rule or code, the most first, and no slot grows without bound', () => {
  const { activity } = noted();
  activity.note(REFUSED);
  activity.note(REFUSED);
  activity.note({ ...REFUSED, rule: undefined, code: 'TERMS_CHANGED' });
  expect(activity.state().over.day.refusals).toEqual([
    ['payments/amount-limit#1', 2],
    ['TERMS_CHANGED', 1],
  ]);
  for (let rule = 0; rule < 1000; rule++)
    activity.note({ ...REFUSED, rule: `policy-${rule}/amount-limit#1` });
  const { refusals } = activity.state().over.hour;
  expect(refusals[0]).toEqual(['others', 902]);
  expect(refusals).toHaveLength(101);
});

it('the newest alarms are kept', () => {
  const { activity, advance } = noted();
  for (let at = 0; at < 30; at++) {
    activity.note({ ...REFUSED, code: 'TERMS_CHANGED', alarm: true, subject: `payment:${at}` });
    advance(1);
  }
  const alarms = activity.state().alarms;
  expect(alarms).toHaveLength(20);
  expect(alarms[0]).toMatchObject({ subject: 'payment:29', atMs: START_MS + 29 });
});
