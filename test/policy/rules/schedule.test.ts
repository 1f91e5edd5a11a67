import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../../src/policy/compile.ts';
import { evaluate } from '../../../src/policy/evaluate.ts';
import { formatFault } from '../../../src/policy/fault.ts';
import { factsAt } from '../../../src/policy/facts.ts';
import type { Proposal, RuleResult } from '../../../src/policy/proposal.ts';
import { faultsOf, onePolicy, payment, release, transfer, web3 } from '../callbacks.ts';
import { tablesOf, string } from '../../cases.ts';

const LISTS = {
  'holidays.txt': '# Closed\n2026-12-25 # Christmas\n\n2026-05-01\n',
  'empty.txt': '# none yet\n',
  'wrong.txt': '2026-02-30\n',
  'words.txt': '2026-12-25\nChristmas\n',
  'many.txt': Array.from({ length: 10_001 }, (_, day) =>
    new Date(Date.UTC(2000, 0, 1 + day)).toISOString().slice(0, 10),
  ).join('\n'),
};

interface Judged {
  readonly result: RuleResult;
  readonly proposal: Proposal;
}

function schedule(parameters: string): (now: string | number) => Judged {
  const inForce = release(onePolicy(`schedule: ${parameters}`), LISTS);
  return (now) => {
    const nowMs = typeof now === 'number' ? now : Date.parse(now);
    const proposal = evaluate(inForce, payment(), factsAt(nowMs));
    const [result] = proposal.results;
    if (result === undefined) throw new Error('the policy did not apply');
    return { result, proposal };
  };
}

const verdictAt = (parameters: string, now: string): string => schedule(parameters)(now).result.verdict;

const OFFICE =
  '{ days: [mon, tue, wed, thu, fri], hours: 09:00-17:30, zone: Europe/Berlin, holidays: holidays.txt }';

const rowsOf = tablesOf(new URL('cases/schedule.yaml', import.meta.url), { OFFICE });

describe('a schedule', () => {
  it.each(rowsOf('open', string, string, string))('%s is open at %s: %s', (parameters, now) => {
    expect(verdictAt(parameters, now)).toBe('pass');
  });

  it.each(rowsOf('closed', string, string, string))('%s is closed at %s: %s', (parameters, now) => {
    expect(verdictAt(parameters, now)).toBe('refuse');
  });

  it('says when it opens, and is asked again until then', () => {
    const { result, proposal } = schedule(OFFICE)('2026-03-06T16:30:00Z');
    expect(result).toMatchObject({
      because: 'closed until 2026-03-09T08:00:00Z: it is fri 2026-03-06 17:30 in Europe/Berlin',
      values: {
        now: '2026-03-06 17:30',
        day: 'fri',
        zone: 'Europe/Berlin',
        hours: '09:00-17:30',
        opens: '2026-03-09T08:00:00Z',
      },
    });
    expect(proposal).toMatchObject({
      approves: false,
      retryable: true,
      validFromMs: Date.parse('2026-03-06T16:30:00Z'),
      validUntilMs: Date.parse('2026-03-06T23:00:00Z'),
    });
  });

  it('says that it is a holiday', () => {
    const { result } = schedule(OFFICE)('2026-12-25T10:00:00Z');
    expect(result.because).toBe(
      'closed until 2026-12-28T08:00:00Z: it is fri 2026-12-25 11:00 in Europe/Berlin, a holiday',
    );
    expect(result.values).toMatchObject({ holiday: '2026-12-25' });
  });

  it('says how long it is open', () => {
    const { result, proposal } = schedule(OFFICE)('2026-03-02T10:00:00Z');
    expect(result).toMatchObject({ because: 'open: it is mon 2026-03-02 11:00 in Europe/Berlin' });
    expect([proposal.validFromMs, proposal.validUntilMs]).toEqual([
      Date.parse('2026-03-02T08:00:00Z'),
      Date.parse('2026-03-02T16:30:00Z'),
    ]);
  });

  it('looks for an opening 31 days ahead, not further', () => {
    const days = (count: number): string =>
      Array.from({ length: count }, (_, day) =>
        new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10),
      ).join('\n');
    const because = (count: number): string => {
      const yaml = onePolicy('schedule: { zone: UTC, holidays: h.txt }');
      const proposal = evaluate(
        release(yaml, { 'h.txt': days(count) }),
        payment(),
        factsAt(Date.UTC(2026, 0, 1)),
      );
      return proposal.results[0]?.because ?? '';
    };
    expect(because(31)).toContain('closed until 2026-02-01T00:00:00Z');
    expect(because(32)).toContain('closed for the next 31 days');
  });

  it('judges every kind of callback', () => {
    for (const callback of [payment(), transfer(), web3()]) {
      const inForce = release(onePolicy('schedule: { days: sun, zone: UTC }', callback.kind));
      expect(evaluate(inForce, callback, factsAt(Date.UTC(2026, 2, 1))).approves).toBe(true);
      expect(evaluate(inForce, callback, factsAt(Date.UTC(2026, 2, 2))).approves).toBe(false);
    }
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1e300])('refuses at an instant that is none: %s', (now) => {
    expect(schedule('{ hours: 00:00-24:00, zone: UTC }')(now).result.verdict).toBe('refuse');
  });

  it.each(rowsOf('faults', string, string))('%s is a fault', (parameters, fault) => {
    const faults = faultsOf(onePolicy(`schedule: ${parameters}`), LISTS);
    expect(faults.join('\n')).toContain(fault);
  });

  it('finds all faults at once', () => {
    const faults = faultsOf(
      onePolicy('schedule: { days: x, hours: y, zone: z, holidays: wrong.txt }'),
      LISTS,
    );
    expect(faults).toHaveLength(4);
  });
});

/**
 * Zones with summer time, without, with half hours, where clocks jump at midnight, and one that skipped a
 * day.
 */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Apia',
];

/** Around which clocks changed somewhere. */
const CHANGES = [
  '2011-12-30T10:00:00Z',
  '2024-03-10T07:00:00Z',
  '2024-03-31T01:00:00Z',
  '2024-04-06T15:00:00Z',
  '2024-04-25T22:00:00Z',
  '2024-10-05T15:30:00Z',
  '2024-10-27T01:00:00Z',
  '2024-11-03T05:00:00Z',
  '2010-11-07T02:31:00Z',
  '2024-03-10T02:00:00Z',
].map((text) => Date.parse(text));

const hour = 3_600_000;
const instants = fc.oneof(
  fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2030, 0, 1) }),
  fc
    .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -36 * hour, max: 36 * hour }))
    .map(([at, by]) => at + by),
  fc
    .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -72, max: 72 }))
    .map(([at, by]) => at + by * (hour / 2)),
);

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const clock = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom(0, 0, 1, 15, 30, 59));
const spans = fc
  .array(
    fc.tuple(clock, fc.oneof(clock, fc.constant([24, 0] as const))).filter(([a, b]) => a.join() !== b.join()),
    { minLength: 1, maxLength: 3 },
  )
  .map((pairs) => pairs.map((pair) => pair.map(([h, m]) => `${two(h)}:${two(m)}`).join('-')));

interface Hours {
  readonly zone: string;
  readonly days: readonly string[];
  readonly hours: readonly string[];
  readonly holidays: readonly string[];
}

const someHours: fc.Arbitrary<Hours> = fc.record({
  zone: fc.constantFrom(...ZONES),
  days: fc.subarray(DAYS, { minLength: 1 }),
  hours: spans,
  holidays: fc
    .uniqueArray(fc.constantFrom(...CHANGES), { minLength: 1, maxLength: 3 })
    .map((some) => some.map((each) => new Date(each).toISOString().slice(0, 10))),
});

function two(number: number): string {
  return String(number).padStart(2, '0');
}

const formats = new Map(
  ZONES.map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
  ]),
);

/** By the letter of the notes, from what another formatting of the time shows. */
function slowly({ zone, days, hours, holidays }: Hours, nowMs: number): boolean {
  const [date = '', time = ''] = (formats.get(zone)?.format(nowMs) ?? '').split(' ');
  const yesterday = new Date(Date.parse(`${date}T12:00:00Z`) - 24 * hour).toISOString().slice(0, 10);
  const begins = (on: string): boolean =>
    days.includes(DAYS[new Date(`${on}T12:00:00Z`).getUTCDay()] ?? '') && !holidays.includes(on);
  return (
    !holidays.includes(date) &&
    hours.some((span) => {
      const [start = '', end = ''] = span.split('-').map((each) => `${each}:00`);
      return start < end
        ? begins(date) && start <= time && time < end
        : (begins(date) && start <= time) || (begins(yesterday) && time < end);
    })
  );
}

function compiled(hours: Hours): (now: number) => Judged {
  const inForce = release(
    onePolicy(
      `schedule: { zone: ${hours.zone}, days: [${hours.days.join()}], hours: [${hours.hours.join()}], holidays: h.txt }`,
    ),
    { 'h.txt': hours.holidays.join('\n') },
  );
  return (now) => {
    const proposal = evaluate(inForce, payment(), factsAt(now));
    const [result] = proposal.results;
    if (result === undefined) throw new Error('the policy did not apply');
    return { result, proposal };
  };
}

describe('for all zones, hours and instants', () => {
  it('a schedule is open when a slow reading of the clock says so', () => {
    fc.assert(
      fc.property(someHours, fc.array(instants, { minLength: 5, maxLength: 10 }), (hours, times) => {
        const judge = compiled(hours);
        for (const now of times) {
          expect(judge(now).result.verdict).toBe(slowly(hours, now) ? 'pass' : 'refuse');
        }
      }),
      { numRuns: 150 },
    );
  });

  it('the answer is the same at each instant for which it says to be valid, at most a day or so', () => {
    fc.assert(
      fc.property(
        someHours,
        instants,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
        (hours, now, parts) => {
          const { result, proposal } = compiled(hours)(now);
          const { validFromMs: from, validUntilMs: until } = proposal;
          expect(from <= now && now < until && until - from <= 24 * hour).toBe(true);
          const others = [from, until - 1, ...parts.map((part) => Math.floor(from + part * (until - from)))];
          for (const other of others.filter((each) => each < until)) {
            expect(slowly(hours, other)).toBe(result.verdict === 'pass');
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('opens at the instant that a refusal names, and not before', () => {
    fc.assert(
      fc.property(
        someHours,
        instants,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
        (hours, now, parts) => {
          const { result } = compiled(hours)(now);
          if (result.verdict === 'pass') return;
          const opens = Date.parse(result.values['opens'] ?? '');
          expect(slowly(hours, opens)).toBe(true);
          for (const before of [
            opens - 1,
            ...parts.map((part) => Math.floor(now + part * (opens - 1 - now))),
          ]) {
            expect(slowly(hours, before)).toBe(false);
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('a time zone that is an abbreviation', () => {
  const warningsOf = (rule: string): readonly string[] => {
    const read = readPolicyFiles([{ name: 'a.yaml', text: onePolicy(rule) }], () => undefined);
    if (!read.ok) throw new Error(read.faults.map(formatFault).join('\n'));
    return read.release.warnings.map(formatFault);
  };
  const rules = (zone: string): readonly string[] => [
    `schedule: { hours: 09:00-17:30, zone: ${zone} }`,
    `velocity-limit: { window: day, zone: ${zone}, max: 100 }`,
    `amount-limit: { max: 1 }\n    when: { during: { hours: 09:00-17:30, zone: ${zone} } }`,
  ];

  it.each(rules('BST'))('is accepted with a warning that says what it is taken for: %s', (rule) => {
    expect(warningsOf(rule)).toEqual([
      expect.stringContaining(
        '"BST" is an abbreviation, and is taken for Asia/Dhaka; write the name of the zone, like Asia/Dhaka',
      ),
    ]);
  });

  it.each(['Europe/London', 'europe/london', 'UTC', 'GMT', 'EST', 'Etc/GMT-8', 'Hongkong'].flatMap(rules))(
    'is not one that the IANA database has: %s',
    (rule) => {
      expect(warningsOf(rule)).toEqual([]);
    },
  );
});
