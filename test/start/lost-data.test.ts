import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lossesIn } from '../../src/store/freezes.ts';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { takes } from '../notifications/rig.ts';
import { SECRET, otherSide } from '../plugins/other-side.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { readinessAt, serviceHere, untilReady } from '../scenarios/running.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { TestService } from '../service.ts';
import { thaw } from '../store/requests.ts';
import { temporaryFolder } from '../temporary-folder.ts';

async function forgetfulRedis(): Promise<RedisServerProcess> {
  const redis = await startRedisServer();
  onTestFinished(() => redis.stop());
  return redis;
}

function clientOf({ url }: RedisServerProcess): Redis {
  const client = new Redis(url).on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  return client;
}

/** What an operator has: a process of its own on the same store. */
async function operatorOn({ url }: RedisServerProcess) {
  const store = await openRedisStore({ url });
  onTestFinished(() => store.close());
  await store.register(['shop']);
  return store;
}

/** The policies that the service began with, as an operator would push them again. */
async function policiesOf({ store }: TestService) {
  const { revision } = await store.control();
  return { revision, document: (await store.document(revision)) ?? '', expected: '', by: 'ada', message: '' };
}

const says = (service: TestService, sentence: RegExp) =>
  eventually(`/readyz says ${sentence}`, async () => {
    const { status, because } = await readinessAt(service.ops);
    return (status === 503 && sentence.test(because)) || undefined;
  });

const paid = (service: TestService, appOrderId: string) => service.pay({ appOrderId });

describe('a service whose Redis lost its data', () => {
  it('that was flushed: approves nothing, says why, and goes on after a push and an unfreeze', async () => {
    const redis = await forgetfulRedis();
    const one = await serviceHere({ redis: redis.url });
    const two = await serviceHere({ redis: redis.url });
    const policies = await policiesOf(one);
    expect(await paid(one, 'before')).toBe('SUCCESS');
    await clientOf(redis).flushall();
    for (const service of [one, two]) {
      expect(await paid(service, 'before')).toBe('FAILURE');
      expect(await paid(service, 'after')).toBe('FAILURE');
      await says(
        service,
        /approvals: frozen: f\d+ by countersign: data was lost: .*`countersign unfreeze --acknowledge-loss`/,
      );
      await says(service, /policies: no policies are in force/);
    }
    expect(one.log).toContainEqual(expect.objectContaining({ level: 'error', event: 'data-lost' }));
    expect(await (await fetch(`${one.ops}/metrics`)).text()).toMatch(/^countersign_frozen 1$/m);

    const operator = await operatorOn(redis);
    await operator.push(policies);
    expect(await paid(one, 'after')).toBe('FAILURE');
    await thaw(operator);
    for (const service of [one, two]) await untilReady(service.ops);
    expect(await paid(one, 'after')).toBe('SUCCESS');
    expect(await paid(two, 'after')).toBe('SUCCESS');
    expect((await operator.control()).frozen).toEqual([]);
  });

  it('notifies people once for all replicas, of the freeze and of the alarm', async () => {
    const redis = await forgetfulRedis();
    const receiver = await otherSide(takes);
    const secret = join(temporaryFolder(), 'secret');
    writeFileSync(secret, SECRET, { mode: 0o600 });
    const notifications = [{ url: receiver.url, secret: { file: secret }, events: ['freeze', 'alarm'] }];
    const [one, two] = [
      await serviceHere({ redis: redis.url, settings: { notifications } }),
      await serviceHere({ redis: redis.url, settings: { notifications } }),
    ];
    expect(await paid(one, 'before')).toBe('SUCCESS');
    await clientOf(redis).flushall();
    for (const service of [one, two]) {
      expect(await paid(service, 'before')).toBe('FAILURE');
      await eventually('it is frozen', () => service.log.find(({ event }) => event === 'data-lost'));
    }
    // Each looks once more whether the other has sent what it did not.
    for (const service of [one, two]) await service.stop();
    const data = receiver.asked.map(({ json }) => json['data'] as Readonly<Record<string, unknown>>);
    const ofAll = data.filter(({ kind, code }) => kind === 'loss' || code === 'data-lost');
    const lines = ofAll.map(({ freeze, kind, code }) => [freeze, kind ?? code].join(' '));
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.some((line) => line.endsWith('loss'))).toBe(true);
    expect(lines.filter((line) => line.endsWith('data-lost'))).toHaveLength(lines.length / 2);
    // Their own alarms.
    const replicas = data
      .filter(({ code }) => code === 'policies-not-followed')
      .map(({ replica }) => replica);
    expect(replicas.length).toBeGreaterThanOrEqual(2);
  });

  it('that was restarted empty: neither it nor one that starts then begins anew', async () => {
    const redis = await forgetfulRedis();
    const service = await serviceHere({ redis: redis.url });
    expect(await paid(service, 'before')).toBe('SUCCESS');
    await redis.restart();
    await says(service, /approvals: frozen: f\d+ by countersign: data was lost/);
    const late = await serviceHere({ redis: redis.url });
    await says(late, /approvals: frozen: f\d+ by countersign: data was lost/);
    for (const each of [service, late]) expect(await paid(each, 'before')).toBe('FAILURE');
    expect((await late.store.control()).revision).toBe('');
  });

  it('whose last approvals are gone: approves nothing until an operator says go on', async () => {
    const redis = await forgetfulRedis();
    const service = await serviceHere({ redis: redis.url });
    expect(await paid(service, 'kept')).toBe('SUCCESS');
    await clientOf(redis).save();
    expect(await paid(service, 'lost')).toBe('SUCCESS');
    await redis.restart();
    await says(service, /approvals: .*no longer has an approval of the source shop that was answered/);
    for (const order of ['kept', 'lost', 'other']) expect(await paid(service, order)).toBe('FAILURE');
    await thaw(await operatorOn(redis));
    await untilReady(service.ops);
    expect(await paid(service, 'kept')).toBe('SUCCESS');
    expect(lossesIn((await service.store.control()).frozen)).toEqual([]);
  });

  it('and can not be told so: approves nothing, and says why', async () => {
    const redis = await forgetfulRedis();
    const service = await serviceHere({ redis: redis.url });
    expect(await paid(service, 'before')).toBe('SUCCESS');
    const client = clientOf(redis);
    // In one step: it is empty, and takes no freeze.
    await client.multi().flushall().set('countersign:{global}:sources', 'of another type').exec();
    await says(
      service,
      /prepared: data was lost: Redis no longer has any data.*`countersign unfreeze --acknowledge-loss`/,
    );
    expect(await paid(service, 'after')).toBe('FAILURE');
    await client.del('countersign:{global}:sources');
    await says(service, /approvals: frozen: f\d+ by countersign/);
  });

  it('is frozen, and ready, if somebody ordered it', async () => {
    const redis = await forgetfulRedis();
    const service = await serviceHere({ redis: redis.url });
    await service.store.freeze({ reason: 'drill', by: 'ada' });
    expect(await paid(service, 'frozen')).toBe('FAILURE');
    await untilReady(service.ops);
  });
});

describe('a loss that was noticed', () => {
  /** A payment was approved, all data were lost, and the service has frozen the store for it. */
  async function lost() {
    const redis = await forgetfulRedis();
    const service = await serviceHere({ redis: redis.url });
    expect(await paid(service, 'before')).toBe('SUCCESS');
    await clientOf(redis).flushall();
    await says(service, /approvals: .*data was lost/);
    return { redis, service, run: placeIn(service.folder).run };
  }

  it('stays known whatever an operator freezes, unfreezes or pushes, until it is acknowledged', async () => {
    const { service, run } = await lost();
    expect(await run('freeze', 'look into it', '--by', 'ada')).toMatchObject({ code: 0 });
    await says(service, /approvals: .*data was lost/);
    await says(service, /approvals: .*by ada: look into it/);
    const lifted = await run('unfreeze', '--all');
    expect(lifted.code).toBe(1);
    expect(lifted.out).toMatch(
      /Still frozen[^]*data was lost: Redis no longer has any data[^]*--acknowledge-loss/,
    );
    expect((await run('policy', 'push', '--message', 'again')).code).toBe(0);
    expect(await paid(service, 'before')).toBe('FAILURE');
    await says(service, /approvals: .*data was lost/);
    expect((await run('unfreeze')).code).toBe(1);
    expect(await paid(service, 'before')).toBe('FAILURE');
    expect(await run('unfreeze', '--acknowledge-loss')).toMatchObject({ code: 0 });
    await untilReady(service.ops);
    expect(await paid(service, 'after')).toBe('SUCCESS');
  });

  it('is not forgotten by a restart, after which no service pushes policies by itself', async () => {
    const { redis, service, run } = await lost();
    await run('freeze', 'look into it', '--by', 'ada');
    await service.stop({ keep: true });
    const restarted = await serviceHere({ redis: redis.url, folder: service.folder });
    await says(restarted, /approvals: .*data was lost/);
    expect((await restarted.store.control()).revision).toBe('');
    expect(await paid(restarted, 'before')).toBe('FAILURE');
    await run('unfreeze', '--all');
    await says(restarted, /approvals: .*data was lost/);
  });

  it('is named with every other freeze by the log, the metrics and doctor', async () => {
    const { service, run } = await lost();
    await run('freeze', 'look into it', '--by', 'ada');
    await eventually('the log has both freezes', () => {
      const lines = service.log
        .filter(({ event }) => event === 'frozen')
        .map(({ because }) => String(because));
      const both = [/by countersign.*data was lost/, /by ada.*look into it/];
      return both.every((each) => lines.some((line) => each.test(line))) || undefined;
    });
    const metrics = await (await fetch(`${service.ops}/metrics`)).text();
    expect(metrics).toMatch(/^countersign_freeze_info\{freeze="f\d+",kind="loss",by="countersign"\} 1$/m);
    expect(metrics).toMatch(/^countersign_freeze_info\{freeze="f\d+",kind="operator",by="ada"\} 1$/m);
    const { out } = await run('doctor');
    expect(out).toMatch(/by ada: look into it/);
    expect(out).toMatch(/data was lost.*--acknowledge-loss/);
    await run('unfreeze', '--by', 'bob');
    await eventually(
      'the log says who lifted which',
      () =>
        service.log.some(
          ({ event, because }) =>
            event === 'unfrozen' && /^f\d+ of ada \(look into it\) was lifted by bob/.test(String(because)),
        ) || undefined,
    );
  });
});

describe('a service whose Redis begins to evict keys', () => {
  it('approves nothing, says why, and goes on once that is mended', async () => {
    const redis = await forgetfulRedis();
    const service = await serviceHere({ redis: redis.url });
    expect(await paid(service, 'before')).toBe('SUCCESS');
    const client = clientOf(redis);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await says(service, /prepared: .*maxmemory-policy is allkeys-lru/);
    expect(await paid(service, 'during')).toBe('FAILURE');
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await untilReady(service.ops);
    expect(await paid(service, 'during')).toBe('SUCCESS');
  });
});
