import { describe, expect, it } from 'vitest';
import { billDate, readDay } from '../../src/reconcile/day.ts';
import { HOUR_MS, type Row, billed, createWorld, exceptionsOf, jsonBill, reportOf } from './world.ts';

describe('a day of the platform', () => {
  it.each([
    ['Asia/Shanghai', '2025-06-10', '2025-06-09T16:00:00.000Z', 24],
    ['UTC', '2024-02-29', '2024-02-29T00:00:00.000Z', 24],
    ['Europe/Paris', '2025-03-30', '2025-03-29T23:00:00.000Z', 23],
    ['Europe/Paris', '2025-10-26', '2025-10-25T22:00:00.000Z', 25],
    ['Australia/Lord_Howe', '2025-04-06', '2025-04-05T13:00:00.000Z', 24.5],
    // Midnight was skipped: the day began at 01:00.
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z', 23],
    // An hour was repeated before midnight, on the day before.
    ['America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00:00.000Z', 25],
    ['Asia/Kolkata', '2025-06-10', '2025-06-09T18:30:00.000Z', 24],
  ])('in %s, %s begins at %s and has %d hours', (zone, date, begins, hours) => {
    const day = readDay(date, zone);
    expect(new Date(day.fromMs).toISOString()).toBe(begins);
    expect(day.untilMs - day.fromMs).toBe(hours * HOUR_MS);
    expect(billDate(String(day.fromMs), zone)).toBe(date);
    expect(billDate(String(day.untilMs - 1), zone)).toBe(date);
    expect(billDate(String(day.fromMs - 1), zone)).not.toBe(date);
    expect(billDate(String(day.untilMs), zone)).not.toBe(date);
  });

  it.each(['2025-6-1', '2025-13-01', '2025-02-29', '20250601', '', '2025-06-01T00:00'])(
    'is not written %s',
    (text) => {
      expect(() => readDay(text, 'UTC')).toThrow(/is not a day/);
    },
  );

  it.each(['2025-06-10', '10/06/2025 10:00:00', '2025-06-10T10:00:00Z', '1749528000', '2025-06-31 10:00:00'])(
    'and a time of a bill not %s',
    (text) => {
      expect(billDate(text, 'UTC')).toBeUndefined();
    },
  );

  it.each([
    ['Europe/Paris', '2026-03-29', '2026-03-30'],
    ['Asia/Shanghai', '2026-03-29', '2026-03-30'],
  ])('in %s has the approvals from its first to its last millisecond: %s', async (zone, date, next) => {
    const { pay, runWith, write, directory } = await createWorld();
    const { fromMs, untilMs } = readDay(date, zone);
    for (const [id, atMs] of [
      ['earlier', fromMs - HOUR_MS - 1],
      ['before', fromMs - 1],
      ['first', fromMs],
      ['edge', untilMs - HOUR_MS - 1],
      ['settles', untilMs - HOUR_MS],
      ['last', untilMs - 1],
      ['after', untilMs],
    ] as const)
      await pay({ id, atMs });
    const run = (...argv: readonly string[]) =>
      runWith({ clock: () => untilMs + 10 * 24 * HOUR_MS })(
        'reconcile',
        '--zone',
        zone,
        '--directory',
        directory,
        '--json',
        ...argv,
      );
    const empty = write('empty.jsonl', jsonBill([]));
    const ran = await run('--day', date, '--bill', empty);
    expect(exceptionsOf(ran)).toEqual(['approved-not-billed first', 'approved-not-billed edge']);
    expect(reportOf(ran).settling.map(({ id }) => id)).toEqual(['settles', 'last']);
    const text = `${next} 00:00:01`;
    const bill = write('bill.jsonl', jsonBill([billed({ id: 'last' }, { createTime: text, payTime: text })]));
    const second = await run('--day', next, '--bill', bill, '--settle', '1m');
    expect(exceptionsOf(second).toSorted()).toEqual([
      'approved-not-billed after',
      'approved-not-billed settles',
    ]);
    expect(reportOf(second).classes).toMatchObject({ matched: 1 });
  });

  it.each([
    ['a short day', '2026-03-28', '2026-03-29', '2026-03-30', 23.5, '24h'],
    ['a short day with a short settle time', '2026-03-28', '2026-03-29', '2026-03-30', 23.5, '1m'],
    ['a day like others', '2026-04-28', '2026-04-29', '2026-04-30', 24, '24h'],
  ])(
    'knows what was billed ahead before %s, until the day of the approval',
    async (_, first, second, third, hours, settle) => {
      const { pay, runWith, write, directory } = await createWorld();
      const zone = 'Europe/Paris';
      const { fromMs, untilMs } = readDay(first, zone);
      await pay({ id: 'ahead', atMs: untilMs + hours * HOUR_MS - 1 });
      const run = (day: string, ...rows: readonly Row[]) => {
        const options = ['--zone', zone, '--settle', day === second ? settle : '24h', '--json'];
        const read = ['--day', day, '--bill', write('bill.jsonl', jsonBill(rows)), '--directory', directory];
        return runWith({ clock: () => untilMs + 10 * 24 * HOUR_MS })('reconcile', ...options, ...read);
      };
      const billedOn = (atMs: number): Row =>
        billed({ id: 'ahead' }, { createTime: String(atMs), payTime: String(atMs) });
      expect(reportOf(await run(first, billedOn(fromMs))).classes).toEqual({ matched: 1 });
      const reports = [reportOf(await run(second)), reportOf(await run(third))];
      expect(reports.flatMap(({ exceptions }) => exceptions)).toEqual([]);
      expect(reports.filter(({ classes }) => classes['settled-before'] === 1)).toHaveLength(1);
      const again = await run(third, billedOn(readDay(third, zone).fromMs));
      expect(exceptionsOf(again)).toEqual(['billed-twice ahead']);
    },
  );

  it.each([
    [[], HOUR_MS],
    [['--settle', '24h'], 24 * HOUR_MS],
  ])('is not reconciled before its settle time is over: %j', async (argv, settleMs) => {
    const { runWith, write, directory } = await createWorld();
    const { untilMs } = readDay('2025-06-10', 'Asia/Shanghai');
    const bill = write('empty.jsonl', jsonBill([]));
    const call = ['reconcile', '--day', '2025-06-10', '--bill', bill, '--directory', directory, ...argv];
    const runAt = (nowMs: number) => runWith({ clock: () => nowMs })(...call);
    const early = await runAt(untilMs + settleMs - 1);
    expect(early.code).toBe(2);
    expect(early.err).toContain(`before ${new Date(untilMs + settleMs).toISOString()}. Run this then`);
    expect((await runAt(untilMs + settleMs)).code).toBe(0);
  });

  it.each(['25h', '1441m', '2d', '59s'])('has no settle time of %s', async (settle) => {
    const { reconcile } = await createWorld();
    const { code, err } = await reconcile([], '--settle', settle);
    expect(code).toBe(2);
    expect(err).toMatch(/--settle \S+ is not valid. Write a duration from 1m to 24h/);
  });
});
