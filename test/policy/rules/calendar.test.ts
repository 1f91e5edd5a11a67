import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  DAY_NAMES,
  type DayName,
  type PeriodUnit,
  createCalendar,
  createOpeningSchedule,
  isDate,
  isZone,
  longestPeriodMs,
  readSpan,
} from '../../../src/policy/language/calendar.ts';

/** Zones with summer time, without, with half hours, and where clocks jump at midnight itself. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'America/Sao_Paulo',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Asia/Tokyo',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Kiritimati',
  'Atlantic/Azores',
];

const hour = 3_600_000;

function period(unit: PeriodUnit, zone: string, now: string): readonly [string, string] {
  const { startMs, endMs } = createCalendar(unit, zone)(Date.parse(now));
  return [new Date(startMs).toISOString(), new Date(endMs).toISOString()];
}

/** What a clock in the zone shows, as `2024-03-15 00:00:00`. */
function shown(zone: string, atMs: number): string {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  });
  return format.format(atMs);
}

describe('a calendar', () => {
  it.each<[PeriodUnit, string, string, string, string]>([
    ['day', 'UTC', '2024-03-15T12:00:00Z', '2024-03-15T00:00:00.000Z', '2024-03-16T00:00:00.000Z'],
    ['day', 'UTC', '2024-03-15T00:00:00Z', '2024-03-15T00:00:00.000Z', '2024-03-16T00:00:00.000Z'],
    ['day', 'UTC', '2024-03-14T23:59:59.999Z', '2024-03-14T00:00:00.000Z', '2024-03-15T00:00:00.000Z'],
    [
      'day',
      'Asia/Kolkata',
      '2024-03-14T18:29:59.999Z',
      '2024-03-13T18:30:00.000Z',
      '2024-03-14T18:30:00.000Z',
    ],
    // 23 hours, then 25.
    ['day', 'Europe/Berlin', '2024-03-31T12:00:00Z', '2024-03-30T23:00:00.000Z', '2024-03-31T22:00:00.000Z'],
    ['day', 'Europe/Berlin', '2024-10-27T12:00:00Z', '2024-10-26T22:00:00.000Z', '2024-10-27T23:00:00.000Z'],
    // Half an hour of summer time.
    [
      'day',
      'Australia/Lord_Howe',
      '2024-04-06T20:00:00Z',
      '2024-04-06T13:00:00.000Z',
      '2024-04-07T13:30:00.000Z',
    ],
    // Midnight is skipped: the day begins at one.
    ['day', 'Africa/Cairo', '2024-04-26T12:00:00Z', '2024-04-25T22:00:00.000Z', '2024-04-26T21:00:00.000Z'],
    // Midnight comes twice: the day begins at the first.
    ['day', 'America/Havana', '2024-11-03T12:00:00Z', '2024-11-03T04:00:00.000Z', '2024-11-04T05:00:00.000Z'],
    // A clock set back over midnight: its second hour belongs to the day that had begun.
    [
      'day',
      'America/St_Johns',
      '2010-11-07T03:00:00Z',
      '2010-11-07T02:30:00.000Z',
      '2010-11-08T03:30:00.000Z',
    ],
    // A date that never was.
    ['day', 'Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-30T10:00:00.000Z', '2011-12-31T10:00:00.000Z'],
    [
      'day',
      'Pacific/Apia',
      '2011-12-30T09:59:59.999Z',
      '2011-12-29T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
    ],
    ['week', 'UTC', '2024-03-17T23:59:59.999Z', '2024-03-11T00:00:00.000Z', '2024-03-18T00:00:00.000Z'],
    ['week', 'UTC', '2024-03-18T00:00:00Z', '2024-03-18T00:00:00.000Z', '2024-03-25T00:00:00.000Z'],
    [
      'week',
      'America/New_York',
      '2024-03-10T12:00:00Z',
      '2024-03-04T05:00:00.000Z',
      '2024-03-11T04:00:00.000Z',
    ],
    ['month', 'UTC', '2024-02-29T23:59:59.999Z', '2024-02-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
    [
      'month',
      'Europe/Berlin',
      '2024-12-31T23:00:00Z',
      '2024-12-31T23:00:00.000Z',
      '2025-01-31T23:00:00.000Z',
    ],
    // A week and a month without one of their dates.
    ['week', 'Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-26T10:00:00.000Z', '2012-01-01T10:00:00.000Z'],
    ['month', 'Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-01T10:00:00.000Z', '2011-12-31T10:00:00.000Z'],
    // The first midnight of a month is skipped.
    ['month', 'Asia/Amman', '2016-04-15T12:00:00Z', '2016-03-31T22:00:00.000Z', '2016-04-30T21:00:00.000Z'],
    ['quarter', 'UTC', '2024-03-31T23:59:59.999Z', '2024-01-01T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
    ['quarter', 'UTC', '2024-04-01T00:00:00Z', '2024-04-01T00:00:00.000Z', '2024-07-01T00:00:00.000Z'],
    ['quarter', 'UTC', '2024-12-31T23:59:59.999Z', '2024-10-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z'],
    // Summer time begins in the first quarter, and the second one is an hour off.
    [
      'quarter',
      'Europe/Berlin',
      '2024-03-31T21:59:59.999Z',
      '2023-12-31T23:00:00.000Z',
      '2024-03-31T22:00:00.000Z',
    ],
    [
      'quarter',
      'Asia/Kathmandu',
      '2024-06-30T18:15:00Z',
      '2024-06-30T18:15:00.000Z',
      '2024-09-30T18:15:00.000Z',
    ],
    [
      'quarter',
      'Asia/Kathmandu',
      '2024-06-30T18:14:59.999Z',
      '2024-03-31T18:15:00.000Z',
      '2024-06-30T18:15:00.000Z',
    ],
    // Half an hour of summer time ends within the second quarter.
    [
      'quarter',
      'Australia/Lord_Howe',
      '2024-04-06T20:00:00Z',
      '2024-03-31T13:00:00.000Z',
      '2024-06-30T13:30:00.000Z',
    ],
    // A leap year, and the first instant of the next.
    ['year', 'UTC', '2024-02-29T12:00:00Z', '2024-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z'],
    ['year', 'UTC', '2024-12-31T23:59:59.999Z', '2024-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z'],
    ['year', 'UTC', '2025-01-01T00:00:00Z', '2025-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
    [
      'year',
      'Asia/Kathmandu',
      '2024-12-31T18:15:00Z',
      '2024-12-31T18:15:00.000Z',
      '2025-12-31T18:15:00.000Z',
    ],
    // In summer time at both ends.
    [
      'year',
      'Australia/Lord_Howe',
      '2024-07-01T00:00:00Z',
      '2023-12-31T13:00:00.000Z',
      '2024-12-31T13:00:00.000Z',
    ],
    // A year without one of its dates.
    ['year', 'Pacific/Apia', '2011-12-30T10:00:00Z', '2011-01-01T10:00:00.000Z', '2011-12-31T10:00:00.000Z'],
  ])('%s in %s at %s', (unit, zone, now, start, end) => {
    expect(period(unit, zone, now)).toEqual([start, end]);
  });

  it('holds the instant, between two local midnights, and leaves no gap', () => {
    const instant = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2040, 0, 1) });
    const unit = fc.constantFrom<PeriodUnit>('day', 'week', 'month', 'quarter', 'year');
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), unit, instant, (zone, each, nowMs) => {
        const calendar = createCalendar(each, zone);
        const { startMs, endMs } = calendar(nowMs);
        expect(startMs).toBeLessThanOrEqual(nowMs);
        expect(endMs).toBeGreaterThan(nowMs);
        for (const midnight of [startMs, endMs]) {
          const [date, time] = shown(zone, midnight).split(' ');
          // Where midnight is skipped, the date must at least be new.
          expect(time === '00:00:00' || shown(zone, midnight - 1).split(' ')[0] !== date).toBe(true);
        }
        expect(calendar(endMs).startMs).toBe(endMs);
        expect(calendar(endMs - 1)).toEqual({ startMs, endMs });
        expect(calendar(startMs)).toEqual({ startMs, endMs });
        expect(endMs - startMs).toBeLessThanOrEqual(longestPeriodMs(each));
      }),
      { numRuns: 400 },
    );
  });

  it('has days of 23 to 25 hours', () => {
    const day = createCalendar('day', 'Europe/Berlin');
    const lengths = new Set<number>();
    for (let at = Date.UTC(2024, 0, 1, 12); at < Date.UTC(2025, 0, 1); at += 24 * hour) {
      const { startMs, endMs } = day(at);
      lengths.add((endMs - startMs) / hour);
    }
    expect([...lengths].sort((a, b) => a - b)).toEqual([23, 24, 25]);
  });

  it.each(['Europe/Berlin', 'europe/berlin', 'UTC', 'Asia/Kolkata', 'Asia/Calcutta', 'EST', 'JST'])(
    'knows the zone %s',
    (zone) => {
      expect(isZone(zone)).toBe(true);
      expect(() => createCalendar('day', zone)(0)).not.toThrow();
    },
  );

  it.each([
    '',
    'Europe/Atlantis',
    '+02:00',
    '-0500',
    'GMT+5',
    'Z',
    'Berlin',
    'SystemV/AST4',
    'Europe/Berlin ',
    '2024-03-15T00:00[Europe/Berlin]',
    '../etc',
  ])('does not know the zone %j', (zone) => {
    expect(isZone(zone)).toBe(false);
  });

  it('knows every zone of the runtime, and the days in it', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      expect(isZone(zone)).toBe(true);
      const { startMs, endMs } = createCalendar('day', zone)(Date.UTC(2024, 0, 15));
      expect(endMs - startMs).toBe(24 * hour);
    }
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1e300, 0.5])(
    'throws at an instant that is none: %s',
    (now) => {
      expect(() => createCalendar('day', 'Europe/Berlin')(now)).toThrow(RangeError);
    },
  );

  it.each(['2026-12-25', '2024-02-29', '0001-01-01', '9999-12-31'])('has the date %s', (date) => {
    expect(isDate(date)).toBe(true);
  });

  it.each(['', '2026-02-29', '2026-13-01', '2026-00-10', '20261225', '2026-12-25T00:00', '+002026-12-25'])(
    'does not have the date %j',
    (date) => {
      expect(isDate(date)).toBe(false);
    },
  );
});

function opening(zone: string, span: string, days: readonly DayName[] = DAY_NAMES) {
  const read = readSpan(span);
  if (read === undefined) throw new Error(`${span} is no span`);
  return createOpeningSchedule({ days: new Set(days), spans: [read], holidays: new Set() }, zone);
}

const iso = (atMs: number | undefined): string => (atMs === undefined ? '' : new Date(atMs).toISOString());

describe('an error of the runtime', () => {
  afterEach(() => vi.restoreAllMocks());
  function fail(): never {
    throw new TypeError('out of order');
  }

  it('is not an answer that there is no such zone', () => {
    vi.spyOn(Intl, 'DateTimeFormat').mockImplementation(fail);
    expect(() => isZone('Europe/Berlin')).toThrow(new TypeError('out of order'));
  });

  it('is not an answer that there is no such date', () => {
    vi.spyOn(Temporal.PlainDate, 'from').mockImplementation(fail);
    expect(() => isDate('2026-12-25')).toThrow(new TypeError('out of order'));
  });
});

describe('a period of opening hours', () => {
  it.each<[string, string, string, string, string]>([
    // Set forward at one, and back at one.
    [
      'Europe/Berlin',
      '00:00-24:00',
      '2024-03-31T00:59:59.999Z',
      '2024-03-30T23:00:00.000Z',
      '2024-03-31T01:00:00.000Z',
    ],
    [
      'Europe/Berlin',
      '00:00-24:00',
      '2024-03-31T01:00:00Z',
      '2024-03-31T01:00:00.000Z',
      '2024-03-31T22:00:00.000Z',
    ],
    [
      'Europe/Berlin',
      '00:00-24:00',
      '2024-10-27T12:00:00Z',
      '2024-10-27T01:00:00.000Z',
      '2024-10-27T23:00:00.000Z',
    ],
    // A day is skipped.
    [
      'Pacific/Apia',
      '02:00-24:00',
      '2011-12-30T09:00:00Z',
      '2011-12-29T12:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
    ],
    [
      'Pacific/Apia',
      '00:00-24:00',
      '2011-12-30T10:00:00Z',
      '2011-12-30T10:00:00.000Z',
      '2011-12-31T10:00:00.000Z',
    ],
    // Set back by half an hour, in the repeated half hour.
    [
      'Australia/Lord_Howe',
      '01:00-03:00',
      '2024-04-06T15:00:00Z',
      '2024-04-06T15:00:00.000Z',
      '2024-04-06T16:30:00.000Z',
    ],
    // Set back from 00:01 to 23:01: one minute of Sunday, then the last hour of Saturday again.
    [
      'America/St_Johns',
      '00:00-24:00',
      '2010-11-07T02:30:30Z',
      '2010-11-07T02:30:00.000Z',
      '2010-11-07T02:31:00.000Z',
    ],
    [
      'America/St_Johns',
      '00:00-24:00',
      '2010-11-07T02:31:00Z',
      '2010-11-07T02:31:00.000Z',
      '2010-11-07T03:30:00.000Z',
    ],
    // The change is the end itself, or the start: nothing is cut off.
    [
      'Europe/Berlin',
      '00:00-02:00',
      '2024-03-31T00:00:00Z',
      '2024-03-30T23:00:00.000Z',
      '2024-03-31T01:00:00.000Z',
    ],
    [
      'Europe/Berlin',
      '03:00-05:00',
      '2024-03-31T02:00:00Z',
      '2024-03-31T01:00:00.000Z',
      '2024-03-31T03:00:00.000Z',
    ],
    [
      'Asia/Tokyo',
      '10:00-24:00',
      '2024-03-31T02:00:00Z',
      '2024-03-31T01:00:00.000Z',
      '2024-03-31T15:00:00.000Z',
    ],
  ])('in %s of %s at %s is without a change of the clocks', (zone, span, at, start, end) => {
    const { open, startMs, endMs } = opening(zone, span).at(Date.parse(at));
    expect([open, iso(startMs), iso(endMs)]).toEqual([true, start, end]);
  });

  it('never opens on a date that the clocks skip', () => {
    const fridays = opening('Pacific/Apia', '09:00-17:00', ['fri']);
    const closed = fridays.at(Date.parse('2011-12-30T09:59:59.999Z'));
    expect(closed.open).toBe(false);
    expect(iso(fridays.after(closed))).toBe('2012-01-05T19:00:00.000Z');
  });

  it('opens right after a skipped date for the rest of its night', () => {
    const nights = opening('Pacific/Apia', '22:00-06:00', ['fri']);
    const closed = nights.at(Date.parse('2011-12-30T09:59:59.999Z'));
    expect(closed.open).toBe(false);
    expect(iso(nights.after(closed))).toBe('2011-12-30T10:00:00.000Z');
  });
});
