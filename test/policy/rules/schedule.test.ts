import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../../src/policy/compile.ts';
import { evaluate } from '../../../src/policy/evaluate.ts';
import { formatFault } from '../../../src/policy/fault.ts';
import { factsAt } from '../../../src/policy/facts.ts';
import type { Proposal, RuleResult } from '../../../src/policy/proposal.ts';
import { faultsOf, onePolicy, payment, release, transfer, web3 } from '../callbacks.ts';

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

describe('a schedule', () => {
  it.each<[string, string, string]>([
    [OFFICE, '2026-03-02T08:00:00Z', 'a Monday, nine sharp'],
    [OFFICE, '2026-03-02T16:29:59.999Z', 'the last millisecond before half past five'],
    [OFFICE, '2026-03-30T07:00:00Z', 'nine sharp in summer'],
    [OFFICE, '2026-10-26T08:00:00Z', 'nine sharp in winter again'],
    ['{ days: sun, zone: UTC }', '2026-03-01T00:00:00Z', 'the first instant of a Sunday'],
    ['{ days: sun, zone: UTC }', '2026-03-01T23:59:59.999Z', 'and the last'],
    ['{ hours: 00:00-24:00, zone: UTC }', '2026-03-01T23:59:59.999Z', 'all day'],
    ['{ hours: 22:00-24:00, zone: UTC }', '2026-03-01T23:59:59.999Z', 'until midnight'],
    ['{ hours: 22:00-00:00, zone: UTC }', '2026-03-01T23:59:59.999Z', 'until midnight, written otherwise'],
    [
      '{ hours: [08:00-12:00, 13:00-17:00], zone: UTC }',
      '2026-03-01T13:00:00Z',
      'in the second of two spans',
    ],
    ['{ days: fri, hours: 22:00-06:00, zone: UTC }', '2026-03-06T22:00:00Z', 'a Friday night'],
    ['{ days: fri, hours: 22:00-06:00, zone: UTC }', '2026-03-07T05:59:59.999Z', 'which ends on Saturday'],
    ['{ hours: 23:59-00:01, zone: Asia/Kolkata }', '2026-03-06T18:30:00Z', 'midnight between two zones'],
    [
      '{ holidays: holidays.txt, zone: UTC }',
      '2026-12-24T23:59:59.999Z',
      'the last instant before a holiday',
    ],
    ['{ holidays: holidays.txt, zone: UTC }', '2026-12-26T00:00:00Z', 'the first after it'],
    // Clocks jump from two to three, and from three back to two.
    [
      '{ hours: 02:30-04:00, zone: Europe/Berlin }',
      '2026-03-29T01:00:00Z',
      'right after the hour that is skipped',
    ],
    ['{ hours: 02:15-02:45, zone: Europe/Berlin }', '2026-10-25T00:30:00Z', 'half past two'],
    ['{ hours: 02:15-02:45, zone: Europe/Berlin }', '2026-10-25T01:30:00Z', 'half past two, once more'],
  ])('%s is open at %s: %s', (parameters, now) => {
    expect(verdictAt(parameters, now)).toBe('pass');
  });

  it.each<[string, string, string]>([
    [OFFICE, '2026-03-02T07:59:59.999Z', 'the last millisecond before nine'],
    [OFFICE, '2026-03-02T16:30:00Z', 'half past five sharp'],
    [OFFICE, '2026-03-30T06:59:59.999Z', 'before nine in summer'],
    [OFFICE, '2026-03-30T15:30:00Z', 'half past five in summer'],
    [OFFICE, '2026-03-01T10:00:00Z', 'a Sunday'],
    [OFFICE, '2026-12-25T10:00:00Z', 'a holiday, on a Friday'],
    ['{ days: sun, zone: UTC }', '2026-02-28T23:59:59.999Z', 'the last instant before a Sunday'],
    ['{ days: sun, zone: UTC }', '2026-03-02T00:00:00Z', 'the first after it'],
    [
      '{ days: sun, zone: Pacific/Kiritimati }',
      '2026-03-01T10:00:00Z',
      'Monday where clocks are 14 hours ahead',
    ],
    ['{ hours: 22:00-24:00, zone: UTC }', '2026-03-01T00:00:00Z', 'midnight sharp'],
    ['{ hours: [08:00-12:00, 13:00-17:00], zone: UTC }', '2026-03-01T12:00:00Z', 'between two spans'],
    ['{ days: fri, hours: 22:00-06:00, zone: UTC }', '2026-03-06T05:00:00Z', 'the night from Thursday'],
    ['{ days: fri, hours: 22:00-06:00, zone: UTC }', '2026-03-07T06:00:00Z', 'six sharp'],
    ['{ days: fri, hours: 22:00-06:00, zone: UTC }', '2026-03-07T22:00:00Z', 'a Saturday night'],
    ['{ holidays: holidays.txt, zone: UTC }', '2026-12-25T00:00:00Z', 'the first instant of a holiday'],
    ['{ holidays: holidays.txt, zone: UTC }', '2026-12-25T23:59:59.999Z', 'the last one'],
    [
      '{ hours: 22:00-06:00, zone: UTC, holidays: holidays.txt }',
      '2026-12-25T01:00:00Z',
      'a night into a holiday',
    ],
    [
      '{ hours: 22:00-06:00, zone: UTC, holidays: holidays.txt }',
      '2026-12-25T23:00:00Z',
      'a night of a holiday',
    ],
    [
      '{ hours: 22:00-06:00, zone: UTC, holidays: holidays.txt }',
      '2026-12-26T01:00:00Z',
      'and what is left of it',
    ],
    ['{ hours: 02:15-02:45, zone: Europe/Berlin }', '2026-03-29T01:00:00Z', 'all of it is skipped'],
    ['{ hours: 02:15-02:45, zone: Europe/Berlin }', '2026-10-25T00:50:00Z', 'after half past two'],
    ['{ hours: 02:15-02:45, zone: Europe/Berlin }', '2026-10-25T01:00:00Z', 'two, once more'],
  ])('%s is closed at %s: %s', (parameters, now) => {
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

  it.each([
    ['{}', 'zone is missing'],
    ['{ zone: UTC }', 'neither days, hours nor holidays, so it is always open'],
    ['{ days: mon }', 'zone is missing'],
    ['{ days: mon, zone: Berlin }', '"Berlin" is not a time zone; write an IANA name, like'],
    ['{ days: mon, zone: "+02:00" }', 'is not a time zone'],
    ['{ days: mon, zone: "" }', '"" is not valid'],
    ['{ days: monday, zone: UTC }', '"monday" is not a day; write mon, tue'],
    ['{ days: Mon, zone: UTC }', '"Mon" is not a day'],
    ['{ days: [mon, mo], zone: UTC }', '"mo" is not a day'],
    ['{ days: [], zone: UTC }', 'a text, or a list of texts'],
    ['{ hours: 9:00-17:00, zone: UTC }', '"9:00-17:00" is not a span of hours; write it like 09:00-17:30'],
    ['{ hours: 09:00, zone: UTC }', '"09:00" is not a span of hours'],
    ['{ hours: 09:00-09:00, zone: UTC }', 'is not a span of hours'],
    ['{ hours: 09:60-10:00, zone: UTC }', 'is not a span of hours'],
    ['{ hours: 09:00-24:01, zone: UTC }', 'is not a span of hours'],
    ['{ hours: 24:00-06:00, zone: UTC }', 'is not a span of hours'],
    ['{ hours: 09:00-25:00, zone: UTC }', 'is not a span of hours'],
    ['{ hours: 09:00 - 17:00, zone: UTC }', 'is not a span of hours'],
    ['{ hours: [09:00-10:00, noon], zone: UTC }', '"noon" is not a span of hours'],
    ['{ hours: [], zone: UTC }', 'a text, or a list of texts'],
    [
      `{ hours: [${'09:00-10:00, '.repeat(25)}], zone: UTC }`,
      'it has 25 spans; remove some: at most 24 are allowed',
    ],
    ['{ holidays: none.txt, zone: UTC }', 'there is no file none.txt'],
    ['{ holidays: empty.txt, zone: UTC }', 'empty.txt has no date'],
    ['{ holidays: wrong.txt, zone: UTC }', 'wrong.txt has "2026-02-30", which is not a date'],
    ['{ holidays: words.txt, zone: UTC }', 'words.txt has "Christmas", which is not a date'],
    [
      '{ holidays: many.txt, zone: UTC }',
      'many.txt has 10001 dates; remove dates in the past: at most 10000 are allowed',
    ],
    ['{ hour: 09:00-10:00, zone: UTC }', 'did you mean hours?'],
  ])('%s is a fault', (parameters, fault) => {
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
