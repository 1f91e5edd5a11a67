import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dateAt } from '../../src/reconcile/day.ts';
import { eventually } from '../eventually.ts';
import {
  DAYS,
  type Scheduled,
  createScheduled,
  jobsIn,
  metricsOf,
  noonOf,
  overMs,
} from '../reconcile/scheduled.ts';
import { HOUR_MS, filesIn } from '../reconcile/world.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { PAYMENT_PATH, type TestService } from '../service.ts';
import { systemClock } from '../../src/values/clock.ts';
import { serviceProcess, untilReady } from './running.ts';

/*
 * A service whose settings name a directory for reconciliations: what it does each day, and that nothing of
 * it reaches the callbacks.
 */

const eventsOf = ({ log }: Pick<TestService, 'log'>, event: string) =>
  log.filter((line) => line['event'] === event);

const untilDays = (scheduled: Pick<Scheduled, 'days'>, count: number): Promise<true> =>
  eventually(`${count} days`, () => (scheduled.days().length === count ? true : undefined));

/** Waits until the service shows what the directory has. */
const untilMetric = (
  service: TestService,
  name: string,
  value: number,
): Promise<Readonly<Record<string, number>>> =>
  eventually(`${name} ${value}`, async () => {
    const metrics = await metricsOf(service);
    return metrics[name] === value ? metrics : undefined;
  });

describe.each(['embedded', 'redis'] as const)('a service that reconciles, on %s', (kind) => {
  let redis: RedisServerProcess | undefined;
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
  });
  afterAll(() => redis?.stop());
  const scheduledWith = (over?: Readonly<Record<string, unknown>>) => createScheduled(redis?.url, over);

  it('reconciles each day once, when it and its settle time are over, and shows the outcome', async () => {
    const scheduled = await scheduledWith();
    const { clock, pay, days, start, world } = scheduled;
    await pay('a', noonOf(0));
    await pay('b', noonOf(1));
    clock.nowMs = overMs(0) - 1;
    const service = await start();
    const before = await untilMetric(service, 'due_timestamp_seconds', overMs(0) / 1000);
    expect(before).not.toHaveProperty('day_end_timestamp_seconds');
    expect(days()).toEqual([]);
    clock.nowMs = overMs(0);
    await untilDays(scheduled, 1);
    const after = await untilMetric(service, 'due_timestamp_seconds', overMs(1) / 1000);
    expect(after).toMatchObject({
      day_end_timestamp_seconds: (overMs(0) - HOUR_MS) / 1000,
      unexplained_coins: 0,
      'runs_total{outcome="settled"}': 1,
      'open{class="billed-never-approved",level="alarm"}': 0,
    });
    clock.nowMs = overMs(1);
    await untilDays(scheduled, 2);
    expect(days()).toEqual(DAYS.slice(0, 2));
    await untilMetric(service, 'runs_total{outcome="settled"}', 2);
    expect(eventsOf(service, 'reconciled')).toMatchObject([
      { level: 'info', day: DAYS[0], outcome: 'settled', count: 0, because: 'run 1: matched 1' },
      { level: 'info', day: DAYS[1], outcome: 'settled', count: 0, because: 'run 2: matched 1' },
    ]);
    expect(eventsOf(service, 'reconcile-failed')).toEqual([]);
    expect(filesIn(world.directory)[`00000001-run-${DAYS[0]}.json`]).toContain('"by": "countersign serve"');
  });

  it('catches up after a downtime, in order', async () => {
    const scheduled = await scheduledWith();
    const { clock, pay, start, days } = scheduled;
    for (const day of [0, 1, 2]) await pay(`o-${day}`, noonOf(day));
    clock.nowMs = overMs(2);
    const service = await start();
    await untilDays(scheduled, 3);
    expect(days()).toEqual(DAYS);
    await untilMetric(service, 'runs_total{outcome="settled"}', 3);
  });

  it('begins with the day before its start, unless the settings name a first day', async () => {
    const scheduled = await scheduledWith({ firstDay: undefined });
    const { clock, start, days } = scheduled;
    clock.nowMs = overMs(1);
    await start();
    await untilDays(scheduled, 1);
    expect(days()).toEqual([DAYS[1]]);
  });

  it('tries again while the platform is down, and goes on', async () => {
    const scheduled = await scheduledWith();
    const { clock, pay, start, platform, days } = scheduled;
    await pay('a', noonOf(0));
    platform.mode = 'breaks';
    clock.nowMs = overMs(0);
    const service = await start();
    const failed = await eventually('two failures', () => {
      const lines = eventsOf(service, 'reconcile-failed');
      return lines.length >= 2 ? lines : undefined;
    });
    expect(failed[1]).toMatchObject({
      level: 'error',
      day: DAYS[0],
      count: 2,
      because: expect.stringMatching(/^BILL_INVALID: the bill was not read: /),
    });
    expect(days()).toEqual([]);
    platform.mode = 'answers';
    await untilDays(scheduled, 1);
    const metrics = await untilMetric(service, 'runs_total{outcome="settled"}', 1);
    expect(metrics['runs_total{outcome="failed"}']).toBeGreaterThanOrEqual(2);
  });

  it('shows open exceptions until they are closed', async () => {
    const scheduled = await scheduledWith();
    const { clock, pay, start, world } = scheduled;
    await pay('a', noonOf(0));
    await world.pay({ id: 'unbilled', atMs: noonOf(0) + 1 });
    await world.sign({ id: 'w', txid: '0x1', atMs: noonOf(0) + 2 });
    clock.nowMs = overMs(0);
    const service = await start();
    const exceptions = 'open{class="approved-not-billed",level="exception"}';
    const alarms = 'open{class="signed-without-approval",level="alarm"}';
    const metrics = await untilMetric(service, exceptions, 1);
    expect(metrics).toMatchObject({
      [alarms]: 1,
      unexplained_coins: 2,
      'runs_total{outcome="exceptions"}': 1,
    });
    const because = expect.stringMatching(
      /^run 1: matched 1, approved-not-billed 1, signed-without-approval 1; The journal of vault begins at /,
    );
    expect(eventsOf(service, 'reconciled')).toMatchObject([
      { level: 'error', day: DAYS[0], outcome: 'exceptions', count: 2, because },
    ]);
    for (const item of ['1', '2']) {
      const closed = await world.run('reconcile', 'close', '1', item, '--message', 'looked at');
      expect([closed.code, closed.err]).toEqual([0, '']);
    }
    await untilMetric(service, exceptions, 0);
    await untilMetric(service, alarms, 0);
    const shown = await world.run('reconcile', 'show', '--json');
    expect([shown.code, shown.json()]).toMatchObject([0, { open: 0, next: DAYS[1], classes: {} }]);
  });

  it('is one run a day with two replicas, and the other raises no alarm', async () => {
    const scheduled = await scheduledWith();
    const { clock, pay, start, days } = scheduled;
    for (const day of [0, 1, 2]) await pay(`o-${day}`, noonOf(day));
    clock.nowMs = overMs(0) - 1;
    const services = await Promise.all([start(), start()]);
    clock.nowMs = overMs(2);
    await untilDays(scheduled, 3);
    for (const service of services) await untilMetric(service, 'due_timestamp_seconds', overMs(3) / 1000);
    expect(days()).toEqual(DAYS);
    expect(services.flatMap((service) => eventsOf(service, 'reconcile-failed'))).toEqual([]);
    expect(services.flatMap((service) => eventsOf(service, 'reconciled'))).toHaveLength(3);
  });

  it('answers callbacks and is ready while a run hangs, and stops it with itself', async () => {
    const scheduled = await scheduledWith();
    const { clock, start, platform, world, callback } = scheduled;
    platform.mode = 'hangs';
    clock.nowMs = overMs(0);
    const service = await start();
    expect((await world.run('policy', 'push', '--message', 'first')).code).toBe(0);
    await eventually('the bill is requested', () => (platform.requests > 0 ? true : undefined));
    await untilReady(service.ops);
    expect(await service.post(PAYMENT_PATH, callback('x'))).toMatchObject({ status: 200, body: 'SUCCESS' });
    await service.stop({ keep: true });
    expect(eventsOf(service, 'reconcile-failed')).toEqual([]);
    expect(readdirSync(world.directory).filter((name) => name.endsWith('.json'))).toEqual([]);
    expect(jobsIn(world.directory)).toEqual([]);
  });

  it('stops a run that takes too long, and tries again', async () => {
    const scheduled = await scheduledWith({ timeoutMs: '1000' });
    const { clock, start, platform } = scheduled;
    platform.mode = 'hangs';
    clock.nowMs = overMs(0);
    const service = await start();
    const failed = await eventually('it is stopped', () => eventsOf(service, 'reconcile-failed')[0]);
    expect(failed['because']).toBe('it was stopped after 1000 ms. Increase reconcile.timeoutMs');
  });

  it.skipIf(process.platform !== 'linux')('goes on and tries again if the run is killed', async () => {
    const scheduled = await scheduledWith();
    const { clock, pay, start, platform, world } = scheduled;
    await pay('a', noonOf(0));
    platform.mode = 'hangs';
    clock.nowMs = overMs(0);
    const service = await start();
    const [job] = await eventually('the run asks for the bill', () => {
      const jobs = jobsIn(world.directory);
      return platform.requests > 0 && jobs.length > 0 ? jobs : undefined;
    });
    process.kill(job ?? -1, 'SIGKILL');
    const failed = await eventually('it failed', () => eventsOf(service, 'reconcile-failed')[0]);
    expect(failed['because']).toBe('it ended with SIGKILL: ');
    platform.mode = 'answers';
    await untilDays(scheduled, 1);
    await untilMetric(service, 'runs_total{outcome="settled"}', 1);
  });

  it('is one run a day if the service is killed during a run and starts again', async () => {
    const scheduled = await scheduledWith();
    const { platform, days, writeSettings } = scheduled;
    const dateBeforeNow = (count: number): string =>
      dateAt(systemClock() - 24 * count * HOUR_MS, 'Asia/Shanghai');
    const [firstDay, secondDay] = [dateBeforeNow(4), dateBeforeNow(3)];
    const folder = writeSettings({ firstDay });
    platform.mode = 'hangs';
    const killed = await serviceProcess(folder);
    await eventually('the bill is requested', () => (platform.requests > 0 ? true : undefined));
    await killed.kill();
    const service = await serviceProcess(folder);
    platform.mode = 'answers';
    await eventually('two days', () => (days().includes(secondDay) ? true : undefined));
    expect(days().slice(0, 2)).toEqual([firstDay, secondDay]);
    expect(new Set(days()).size).toBe(days().length);
    expect(eventsOf(service, 'reconcile-failed')).toEqual([]);
  });
});
