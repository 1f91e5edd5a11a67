import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Alarms, createAlarms } from '../../src/notifications/alarms.ts';
import type { Notification } from '../../src/notifications/notifications.ts';
import { type Log, createLog } from '../../src/observe/log.ts';
import { APPROVED, createLines } from '../observe/reports.ts';

const LONG_MS = 3_600_000;
const TERMS = {
  ...APPROVED,
  verdict: 'FAILURE',
  code: 'TERMS_CHANGED',
  because: 'amount was 100 and is 200',
  alarm: true,
} as const;

interface Watched {
  readonly log: Log;
  readonly alarms: Alarms;
  readonly sent: readonly Notification[];
  /** The events in the log. */
  readonly logged: () => readonly unknown[];
}

function watched(windowMs = LONG_MS): Watched {
  const sent: Notification[] = [];
  const lines = createLines();
  const alarms = createAlarms({
    notify: (notification) => void sent.push(notification),
    replica: 'host:17',
    windowMs,
  });
  onTestFinished(() => alarms.close());
  const log = alarms.watch(createLog({ level: 'info', stream: lines.stream }));
  return { log, alarms, sent, logged: () => lines.lines().map(({ event }) => event) };
}

const textsOf = (sent: readonly Notification[]): readonly string[] => sent.map(({ text }) => text);

describe('people are notified of', () => {
  it('an alarm of a callback, with what the log says of it, and nothing of who sent it', () => {
    const { log, sent, logged } = watched();
    log.error('alarm', TERMS);
    expect(logged()).toEqual(['alarm']);
    expect(sent).toEqual([
      {
        event: 'alarm',
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        isOwn: true,
        text: 'Alarm TERMS_CHANGED of shop (payment:11321): amount was 100 and is 200',
        page: 'decisions/shop/17-0',
        data: {
          code: 'TERMS_CHANGED',
          times: 1,
          replica: 'host:17',
          source: 'shop',
          subject: 'payment:11321',
          decision: '17-0',
          rule: 'usdt-payments/amount-limit#1',
          revision: 'a'.repeat(64),
          because: 'amount was 100 and is 200',
        },
      },
    ]);
  });

  it('each other line at level error, by its event', () => {
    const { log, sent } = watched();
    log.error('store-not-writable', { because: 'READONLY', code: 'X' });
    log.error('keys-unreadable', { source: 'shop', file: 'a.pem', fingerprint: 'F', because: 'is empty' });
    log.error('something-new');
    expect(textsOf(sent)).toEqual([
      'Alarm store-not-writable: READONLY',
      'Alarm keys-unreadable of shop: is empty',
      'Alarm something-new: ',
    ]);
    expect(sent.map(({ page }) => page)).toEqual(['', '', '']);
    expect(sent[1]?.data).toMatchObject({ code: 'keys-unreadable', source: 'shop', file: 'a.pem' });
  });

  it('a callback that met a fault of the program, and none that failed otherwise', () => {
    const { log, sent } = watched();
    const failed = { ...TERMS, outcome: 'failed', alarm: false } as const;
    log.error('callback', { ...failed, code: 'STORE_UNREACHABLE' });
    log.error('callback', { ...failed, outcome: 'late', code: 'ANSWERED_LATE' });
    log.error('callback', { ...failed, code: 'INTERNAL', because: 'x is undefined' });
    expect(textsOf(sent)).toEqual(['Alarm INTERNAL of shop (payment:11321): x is undefined']);
  });

  it('no other line, and not of lost data, of which one replica notifies', () => {
    const { log, sent, logged } = watched();
    log.info('callback', TERMS);
    log.warn('alarm', TERMS);
    log.error('data-lost', { because: 'three approvals are missing' });
    expect(sent).toEqual([]);
    expect(logged()).toEqual(['callback', 'alarm', 'data-lost']);
  });
});

describe('an alarm that is raised again', () => {
  const MINUTE_MS = 60_000;
  const timed = (): Watched => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    return watched(MINUTE_MS);
  };
  const timesOf = (sent: readonly Notification[]): readonly unknown[] =>
    sent.map(({ data }) => data['times']);

  it('is counted for each code and source, and sent once more after a minute, with the last one', () => {
    const { log, sent } = timed();
    for (let n = 1; n <= 6; n += 1)
      log.error('alarm', { ...TERMS, subject: `payment:${n}`, decision: `${n}-0` });
    log.error('alarm', { ...TERMS, source: 'kiosk' });
    log.error('alarm', { ...TERMS, code: 'SCHEME_CHANGED' });
    vi.advanceTimersByTime(MINUTE_MS - 1);
    expect(sent.map(({ data }) => [data['source'], data['code'], data['times']])).toEqual([
      ['shop', 'TERMS_CHANGED', 1],
      ['kiosk', 'TERMS_CHANGED', 1],
      ['shop', 'SCHEME_CHANGED', 1],
    ]);
    vi.advanceTimersByTime(1);
    expect(sent).toHaveLength(4);
    expect(sent[3]).toMatchObject({
      text: 'Alarm TERMS_CHANGED of shop, 5 times within a minute (the last: payment:6): amount was 100 and is 200',
      page: 'decisions/shop/6-0',
      data: { times: 5, subject: 'payment:6' },
    });
    expect(new Set(sent.map(({ id }) => id)).size).toBe(4);
  });

  it('is sent once a minute for as long as it lasts, and at once again after a quiet minute', () => {
    const { log, sent } = timed();
    for (let second = 0; second < 180; second += 1) {
      log.error('alarm', TERMS);
      vi.advanceTimersByTime(1000);
    }
    expect(timesOf(sent)).toEqual([1, 59, 60, 60]);
    vi.advanceTimersByTime(MINUTE_MS);
    log.error('alarm', TERMS);
    expect(timesOf(sent)).toEqual([1, 59, 60, 60, 1]);
  });

  it('is sent with its count when the service stops', () => {
    const { log, alarms, sent } = timed();
    for (let n = 0; n < 4; n += 1) log.error('alarm', TERMS);
    alarms.close();
    alarms.close();
    vi.advanceTimersByTime(MINUTE_MS);
    expect(timesOf(sent)).toEqual([1, 3]);
  });
});

describe('a notification of an alarm', () => {
  it('is bounded, and its link leads to no other page', () => {
    const { log, sent } = watched();
    log.error('alarm', { ...TERMS, source: '../..', decision: 'a/b?c#d', because: 'x'.repeat(5000) });
    expect(sent[0]?.page).toBe('decisions/..%2F../a%2Fb%3Fc%23d');
    expect(sent[0]?.data['because']).toBe('x'.repeat(1024));
  });

  it('that fails leaves the line in the log', () => {
    const lines = createLines();
    const { watch } = createAlarms({
      notify: () => {
        throw new Error('no');
      },
      replica: 'r',
    });
    watch(createLog({ level: 'info', stream: lines.stream })).error('alarm', TERMS);
    expect(lines.lines()).toHaveLength(1);
  });
});
