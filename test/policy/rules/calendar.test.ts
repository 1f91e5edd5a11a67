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
import { oneOf, tablesOf, string } from '../../cases.ts';

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

const rowsOf = tablesOf(new URL('cases/calendar.yaml', import.meta.url));

describe('a calendar', () => {
  it.each(
    rowsOf('periods', oneOf('day', 'week', 'month', 'quarter', 'year'), string, string, string, string),
  )('%s in %s at %s', (unit, zone, now, start, end) => {
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
  it.each(rowsOf('openings', string, string, string, string, string))(
    'in %s of %s at %s is without a change of the clocks',
    (zone, span, at, start, end) => {
      const { open, startMs, endMs } = opening(zone, span).at(Date.parse(at));
      expect([open, iso(startMs), iso(endMs)]).toEqual([true, start, end]);
    },
  );

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
