import { describe, expect, it } from 'vitest';
import { createActivity } from '../../src/observe/activity.ts';
import { createCallbackObserver } from '../../src/observe/callbacks.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { CallbackReport, ReportCallback } from '../../src/observe/report.ts';
import { APPROVED, type Lines, STRANGER, createLines } from './reports.ts';

interface Observed extends Lines {
  readonly report: ReportCallback;
  readonly metrics: () => Promise<string>;
  readonly setNowMs: (nowMs: number) => void;
}

function observed(unauthenticatedPerMinute = 3): Observed {
  let now = 0;
  const clock = (): number => now;
  const kept = createLines();
  const metrics = createMetrics({ processMetrics: false });
  const log = createLog({ level: 'info', stream: kept.stream, clock });
  const activity = createActivity(clock);
  const report = createCallbackObserver({ log, metrics, activity, clock, unauthenticatedPerMinute });
  return {
    ...kept,
    report,
    metrics: async () => (await metrics.text()).text,
    setNowMs: (nowMs) => void (now = nowMs),
  };
}

describe('a callback is one line of the log', () => {
  it.each<[string, Partial<CallbackReport>, string, string]>([
    ['an approval', {}, 'info', 'callback'],
    ['a refusal', { verdict: 'FAILURE', code: 'RULE_REFUSED' }, 'info', 'callback'],
    ['a repeat', { outcome: 'repeated' }, 'info', 'callback'],
    [
      'one that is no question',
      { verdict: 'FAILURE', outcome: 'refused', code: 'MEMBER_MISSING' },
      'info',
      'callback',
    ],
    [
      'one that was late',
      { verdict: 'FAILURE', outcome: 'late', code: 'ANSWERED_LATE' },
      'error',
      'callback',
    ],
    ['one that failed', { verdict: 'FAILURE', outcome: 'failed', code: 'STORE_FAILED' }, 'error', 'callback'],
    ['a stranger', STRANGER, 'warn', 'callback'],
    ['an alarm', { verdict: 'FAILURE', code: 'TERMS_CHANGED', alarm: true }, 'error', 'alarm'],
    [
      'an alarm in a notice',
      { outcome: 'notice', verdict: 'FAILURE', code: 'SIGNED_WITHOUT_APPROVAL', alarm: true },
      'error',
      'alarm',
    ],
  ])('%s', (_, differs, level, event) => {
    const { report, lines } = observed();
    const reported = { ...APPROVED, ...differs };
    report(reported);
    expect(lines()).toMatchObject([
      { level, event, code: reported.code, verdict: reported.verdict, outcome: reported.outcome },
    ]);
    expect(lines()).toHaveLength(1);
  });
});

describe('of unauthenticated callbacks', () => {
  it('a limited number of lines is written a minute, followed by the number of suppressed ones', () => {
    const { report, lines, setNowMs } = observed(3);
    for (let n = 0; n < 10; n += 1) report(STRANGER);
    expect(lines()).toHaveLength(3);
    setNowMs(59_999);
    report(STRANGER);
    expect(lines()).toHaveLength(3);
    setNowMs(60_000);
    report(STRANGER);
    expect(lines().slice(3)).toMatchObject([
      { level: 'warn', event: 'callbacks-suppressed', suppressed: 8 },
      { level: 'warn', event: 'callback', code: 'SIGN_WRONG' },
    ]);
  });

  it('the next callback, authenticated or not, brings the count', () => {
    const { report, lines, setNowMs } = observed(0);
    report(STRANGER);
    setNowMs(300_000);
    report(APPROVED);
    expect(lines().map(({ event, suppressed }) => [event, suppressed])).toEqual([
      ['callbacks-suppressed', 1],
      ['callback', undefined],
    ]);
  });

  it('a minute with no more than are allowed has no count', () => {
    const { report, lines, setNowMs } = observed(3);
    for (let n = 0; n < 3; n += 1) report(STRANGER);
    setNowMs(60_000);
    report(APPROVED);
    expect(lines().map(({ event }) => event)).toEqual(['callback', 'callback', 'callback', 'callback']);
  });

  it('a clock that was set back suppresses nothing for long', () => {
    const { report, lines, setNowMs } = observed(1);
    setNowMs(120_000);
    report(STRANGER);
    setNowMs(0);
    report(STRANGER);
    report(STRANGER);
    expect(lines()).toHaveLength(2);
  });

  it('one that failed before its sender was known counts as well', () => {
    const { report, lines } = observed(1);
    for (let n = 0; n < 5; n += 1) report({ ...STRANGER, outcome: 'failed', code: 'OVERLOADED' });
    expect(lines()).toHaveLength(1);
  });

  it('lines about known senders and alarms are not limited', () => {
    const { report, lines } = observed(0);
    for (let n = 0; n < 5; n += 1) report(STRANGER);
    report(APPROVED);
    report({ ...STRANGER, alarm: true, code: 'SIGN_AMBIGUOUS' });
    expect(lines().map(({ event }) => event)).toEqual(['callback', 'alarm']);
  });

  it('all are counted, also those that are suppressed', async () => {
    const { report, metrics } = observed(2);
    for (let n = 0; n < 7; n += 1) report(STRANGER);
    expect(await metrics()).toContain(
      'countersign_authentication_failures_total{code="SIGN_WRONG",source="shop"} 7',
    );
  });
});

it('a report that cannot be counted is logged and throws nothing', () => {
  const { report, lines } = observed();
  report({ ...APPROVED, totalMs: Number.NaN });
  expect(lines().map(({ event }) => event)).toEqual(['callback', 'report-failed']);
});
