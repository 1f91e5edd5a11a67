import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { CountersignError } from '../../src/errors.ts';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, signedPayment, writeServiceFolder } from '../service.ts';
import { startServiceProcess } from '../service-process.ts';
import { rawClient, redisOfItsOwn, storeOn } from '../store/redis-under-test.ts';
import { ROOT, textOf } from './documents.ts';
import { type Deployed, WAYS, deployed, droppedBy, fill, goesOn, order, urlOf } from './redis-deployed.ts';
import { clientOf } from './redis-users.ts';
import { makeSecrets } from './shipped-files.ts';
import {
  type ShippedRedis,
  composeContainer,
  shippedTls,
  startShippedRedis,
  statefulSetContainer,
} from './shipped-redis.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/*
 * What a restart of Redis keeps, with the files of deploy/ as they are shipped and with what the service
 * itself writes.
 */

const SLOW_MS = 240_000;

describe.each([
  ['compose.yaml', composeContainer],
  ['deploy/redis/stateful-set.yaml', statefulSetContainer],
])('Redis of %s', (_name, container) => {
  it(
    'loses nothing when it is killed or shut down, also after a rewrite of its append-only file',
    async () => {
      const folder = temporaryFolder();
      const secrets = makeSecrets(folder);
      const redis = await startShippedRedis({ container: container(), secrets });
      const first = await deployed(folder, secrets, { url: urlOf(redis) });
      await fill(first);
      await first.service.stop({ keep: true });
      const before = await redis.contents();
      expect(Object.keys(before).length).toBeGreaterThan(15);
      for (const way of WAYS) {
        await redis[way]();
        await redis.start();
        expect(await redis.contents()).toEqual(before);
      }

      // A service that runs on while Redis is away decides as before.
      await redis.ask('BGREWRITEAOF');
      await eventually('the file is rewritten', async () => {
        const info = String(await redis.ask('INFO', 'persistence'));
        return /aof_rewrite_in_progress:0[^]*aof_rewrites:[1-9]/.test(info) ? true : undefined;
      });
      const second = await deployed(folder, secrets, { url: urlOf(redis) });
      await goesOn(second);
      await redis.kill();
      await redis.start();
      await eventually('it approves again', async () =>
        (await second.service.pay(order(10))) === 'SUCCESS' ? true : undefined,
      );
      expect(await second.service.pay(order(11))).toBe('FAILURE');
      // The handle of the test reconnects apart from the one of the service.
      const { frozen } = await eventually('the store is connected again', () =>
        second.service.store.control().catch(unlessUnreachable),
      );
      expect(frozen).toEqual([]);
      await second.service.stop({ keep: true });
      const after = await redis.contents();
      await redis.kill();
      await redis.start();
      expect(await redis.contents()).toEqual(after);
    },
    SLOW_MS,
  );

  it('answers its probes, and does nothing else for a client without a password', async () => {
    const redis = await startShippedRedis({
      container: container(),
      secrets: makeSecrets(temporaryFolder()),
    });
    const zeros = container().probes.map(() => 0);
    expect(await redis.probe()).toEqual(zeros);
    const probe = clientOf(redis.port, 'countersign-probe', 'none');
    await expect(probe.call('INFO')).rejects.toThrow('NOPERM');
    await expect(probe.call('HGET', ['countersign:{shop}:control', 'revision'])).rejects.toThrow('NOPERM');
    const without = { port: redis.port, protocol: 2, enableReadyCheck: false, lazyConnect: true } as const;
    const nobody = new Redis(without).on('error', () => undefined);
    onTestFinished(() => nobody.disconnect());
    await nobody.connect();
    for (const command of ['PING', 'INFO', 'ACL|WHOAMI', 'MULTI']) {
      await expect(nobody.call(...split(command))).rejects.toThrow('NOAUTH');
    }
    for (const password of ['', 'none', 'default']) {
      await expect(nobody.call('AUTH', ['default', password])).rejects.toThrow('WRONGPASS');
    }
    await redis.kill();
    expect(await redis.probe()).toEqual(zeros.map(() => 1));
  });
});

const unlessUnreachable = (thrown: unknown): undefined => {
  if (!(thrown instanceof CountersignError) || thrown.code !== 'STORE_UNREACHABLE') throw thrown;
};

const split = (command: string): [string, string[]] => {
  const [name = '', ...args] = command.split('|');
  return [name, args];
};

/**
 * Starts a service on the settings in a folder, lets the operator on those in a folder within do `calls`, and
 * approves an order before and after a restart of both. Returns the answer to that order with another amount.
 */
async function changedAfterARestart(
  folder: string,
  redis: ShippedRedis,
  { calls, body }: { calls: readonly (readonly string[])[]; body: (orderAmount: string) => string },
): Promise<string> {
  const env = { COUNTERSIGN_STORE_USERNAME: 'countersign-operator' };
  const operate = placeIn(join(folder, 'operator')).runWith({ env, clock: Date.now });
  let service = await startServiceProcess(folder);
  onTestFinished(() => service.kill());
  for (const call of calls) {
    const { code, err } = await operate(...call);
    expect({ call, code, err: code === 0 ? '' : err }).toEqual({ call, code: 0, err: '' });
  }
  const pay = async (orderAmount: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    const asked = { method: 'POST', headers, body: body(orderAmount) };
    return (await fetch(`${service.url}${PAYMENT_PATH}`, asked)).text();
  };
  await eventually('policies are in force', async () => ((await pay('5')) === 'SUCCESS' ? true : undefined));
  await service.kill();
  await redis.kill();
  await redis.start();
  service = await startServiceProcess(folder);
  await eventually('the policies are in force again', async () =>
    (await pay('5')) === 'SUCCESS' ? true : undefined,
  );
  return pay('6');
}

/** A text in which all of them stand, with others in their places. */
function replaced(text: string, places: Readonly<Record<string, string>>): string {
  return Object.entries(places).reduce((before, [from, to]) => {
    expect(before).toContain(from);
    return before.replaceAll(from, to);
  }, text);
}

const OWN_PORTS = {
  'host: 0.0.0.0': 'host: 127.0.0.1',
  'port: 8080': "port: '0'",
  'port: 9090': "port: '0'",
};
const FIRST_PUSH = ['policy', 'push', '--message', 'first'];

describe('the settings of compose.yaml', () => {
  it('serve on its Redis, with what the operator pushed, before and after a restart of both', async () => {
    const folder = temporaryFolder();
    const secrets = makeSecrets(folder);
    const redis = await startShippedRedis({ container: composeContainer(), secrets });
    const { write } = placeIn(folder);
    for (const [user, name] of [
      ['service', 'settings.yaml'],
      ['operator', 'operator/settings.yaml'],
    ] as const) {
      const places = {
        ...OWN_PORTS,
        'redis://redis:6379/0': urlOf(redis),
        '/run/secrets/countersign/redis.password': secrets.passwordFile(user),
        '/app/config/': `${join(ROOT, 'config')}/`,
      };
      write(name, replaced(textOf('deploy/compose/countersign.yaml'), places));
    }
    const changed = await changedAfterARestart(folder, redis, {
      calls: [FIRST_PUSH],
      body(orderAmount) {
        const members = { appKey: 'demo-shop', appOrderId: 'o-1', orderAmount, userId: '7' };
        const text = { ...members, payCoinSymbol: 'USDT1742' };
        const secret = textOf('config/demo/shop.secret').trim();
        const names = Object.entries(text).toSorted(([x], [y]) => (x < y ? -1 : 1));
        const signed = names.map(([name, value]) => name + value).join('') + secret;
        return JSON.stringify({ ...text, sign: createHash('md5').update(signed).digest('hex') });
      },
    });
    expect(changed).toBe('FAILURE');
  });
});

describe('the settings and policies of deploy/kubernetes', () => {
  it('serve on its Redis, pushed by an operator without the keys, before and after a restart', async () => {
    const folder = temporaryFolder();
    const secrets = makeSecrets(folder);
    const redis = await startShippedRedis({ secrets });
    const { write } = placeIn(folder);
    const keys = writeServiceFolder({ folder: join(folder, 'keys') });
    const shipped = textOf('deploy/kubernetes/settings/countersign.yaml');
    const placesOf = (user: 'service' | 'operator'): Readonly<Record<string, string>> => ({
      ...OWN_PORTS,
      'redis://countersign-redis:6379/0': urlOf(redis),
      '/run/secrets/redis/redis.password': secrets.passwordFile(user),
      '/etc/countersign-policies': join(ROOT, 'deploy/kubernetes/policies'),
      '0816016bb06417f5': 'test-shop',
    });
    // The pod of the operator has no keys.
    write('operator/settings.yaml', replaced(shipped, placesOf('operator')));
    const mounted = {
      '/run/secrets/countersign/platform.pub': join(keys, 'platform.pem'),
      '/run/secrets/countersign/shop.pem': join(keys, 'merchant.pem'),
      '/run/secrets/countersign/cosigner.token': join(keys, 'vault.token'),
    };
    write('settings.yaml', replaced(shipped, { ...placesOf('service'), ...mounted }));
    const changed = await changedAfterARestart(folder, redis, {
      calls: [FIRST_PUSH, ['list', 'add', 'blocked-users', '--source', 'shop', '--create']],
      body: (orderAmount) => signedPayment({ orderAmount, userId: '7' }, 'rsa-envelope'),
    });
    expect(changed).toBe('FAILURE');
  });
});

describe('deploy/redis/tls.conf', () => {
  it(
    'loses nothing when Redis is killed or shut down',
    async () => {
      const tls = shippedTls();
      const folder = temporaryFolder();
      const secrets = makeSecrets(folder);
      const redis = await startShippedRedis({ secrets, tls });
      const store = { url: urlOf(redis, 'rediss'), tls: tls.settings };
      const first = await deployed(folder, secrets, store);
      await fill(first);
      await first.service.stop({ keep: true });
      const before = await redis.contents();
      expect(Object.keys(before).length).toBeGreaterThan(15);
      for (const way of WAYS) {
        await redis[way]();
        await redis.start();
        expect(await redis.contents()).toEqual(before);
      }
      const second = await deployed(folder, secrets, store);
      onTestFinished(() => second.service.stop({ keep: true }));
      await goesOn(second);
    },
    SLOW_MS,
  );
});

describe('a Redis that could not load its append-only file', () => {
  const deployedOn = async (
    ...rights: readonly string[]
  ): Promise<Deployed & { redis: ShippedRedis; restart: () => Promise<void> }> => {
    const folder = temporaryFolder();
    const secrets = makeSecrets(folder);
    const redis = await startShippedRedis({ secrets });
    const both = await deployed(folder, secrets, { url: urlOf(redis) });
    onTestFinished(() => both.service.stop({ keep: true }));
    await fill(both);
    await both.operate('unfreeze');
    await eventually('it approves again', async () =>
      (await both.service.pay(order(0))) === 'SUCCESS' ? true : undefined,
    );
    await redis.ask('ACL', 'SETUSER', 'default', ...rights);
    await redis.ask('ACL', 'SAVE');
    return {
      ...both,
      redis,
      async restart() {
        await redis.kill();
        await redis.start();
      },
    };
  };
  const prepared = async ({ service }: Deployed): Promise<{ status: number; because: string }> => {
    const answer = await fetch(`${service.ops}/readyz`);
    const { checks } = readiness.parse(await answer.json());
    return {
      status: answer.status,
      because: checks.find(({ name, ok }) => name === 'prepared' && !ok)?.because ?? '',
    };
  };
  const refused = (deployment: Deployed, what: RegExp): Promise<true> =>
    eventually(`it is refused: ${what}`, async () => {
      const { status, because } = await prepared(deployment);
      return status === 503 && what.test(because) ? true : undefined;
    });

  it('is refused before it restarts', async () => {
    const deployment = await deployedOn('reset', 'on', 'nopass', '-@all', '+ping');
    await refused(
      deployment,
      /would lose decisions at its next restart.*no permissions to run the 'select' command/,
    );
    const { because } = await prepared(deployment);
    expect(because).toContain('`ACL SETUSER default reset off ~* &* +@all`');
    expect(await deployment.service.pay({ appOrderId: 'new', userId: '7' })).toBe('FAILURE');
    const { json } = await deployment.operate('doctor', '--json');
    expect(findings.parse(json()).findings).toContainEqual({ check: 'store', state: 'fault', because });

    await deployment.redis.ask('ACL', 'SETUSER', 'default', 'reset', 'off', '~*', '&*', '+@all');
    await eventually('it approves again', async () =>
      (await deployment.service.pay(order(0))) === 'SUCCESS' ? true : undefined,
    );
  });

  it.each([
    ['reset off', /to run the 'select' command/],
    ['reset off +@all', /to access the 'countersign:\S+' key/],
    ['reset off ~another:* +@all', /to access the 'countersign:\S+' key/],
    ['reset off %R~* +@all', /to access the 'countersign:\S+' key/],
    ['reset off ~countersign:{global}:* +@all', /to access the 'countersign:{x}:\S+' key/],
    ['reset off ~* +@all -zadd', /to run the 'zadd' command/],
    ['reset off ~* +@read +@connection', /to run the 'del' command/],
  ])('is refused by the check of the service and of doctor: default %s', async (rights, what) => {
    const redis = await redisOfItsOwn({ durable: true });
    const client = rawClient(redis);
    await client.call('ACL', ['SETUSER', 'countersign', 'on', '>of-the-test', '~*', '&*', '+@all']);
    const store = await storeOn({ ...redis, url: redis.url.replace('//', '//countersign:of-the-test@') });
    await expect(store.checkSafety()).resolves.toBeUndefined();
    await client.call('ACL', ['SETUSER', 'default', ...rights.split(' ')]);
    await expect(store.checkSafety()).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringMatching(what),
    });
  });

  it('is refused after it has dropped transactions, until it is started with all rights', async () => {
    const deployment = await deployedOn('reset', 'off');
    const { redis, operate, service } = deployment;
    await refused(deployment, /would lose decisions/);
    await deployment.restart();
    await redis.ask('ACL', 'SETUSER', 'default', 'reset', 'off', '~*', '&*', '+@all');
    await redis.ask('ACL', 'SAVE');
    await refused(deployment, /dropped \d+ transactions when it loaded its append-only file/);
    expect(await service.pay({ appOrderId: 'new', userId: '7' })).toBe('FAILURE');
    expect((await operate('doctor')).out).toMatch(/dropped \d+ transactions/);
    // A service that starts now refuses as well: nobody remembers what is missing.
    const another = await startServiceProcess(service.folder).then(
      () => 'it started',
      (thrown: unknown) => String(thrown),
    );
    expect(another).toMatch(/dropped \d+ transactions/);

    await deployment.restart();
    expect(await droppedBy(redis)).toBe(0);
    expect(Object.keys(await redis.contents())).toContain('countersign:{shop}:journal');
  });

  it('is not refused by a service that may not ask, but doctor warns', async () => {
    const { redis, operate, service } = await deployedOn('reset', 'off', '~*', '&*', '+@all');
    for (const user of ['countersign', 'countersign-operator']) {
      await redis.ask('ACL', 'SETUSER', user, '-acl|dryrun');
    }
    const { json } = await operate('doctor', '--json');
    expect(findings.parse(json()).findings).toContainEqual({
      check: 'store',
      state: 'warning',
      because: expect.stringMatching(/doesn't let this user run `ACL DRYRUN`.*grant `\+acl\|dryrun`/),
    });
    expect(await service.pay({ appOrderId: 'new', userId: '7' })).toBe('SUCCESS');
  });
});

const readiness = z.object({
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), because: z.string() })),
});
const findings = z.object({
  findings: z.array(z.object({ check: z.string(), state: z.string(), because: z.string() })),
});
