import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { CountersignError } from '../../src/errors.ts';
import {
  type RedisFacts,
  inspectRedis,
  loadedCommands,
  unsafeReason,
} from '../../src/store/redis/inspect.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import { eventually } from '../eventually.ts';
import { rawClient, readyOn, redisOfItsOwn, storeOn } from './redis-under-test.ts';
import { START_MS, announcement, change, request, usedOf, windowClaim } from './requests.ts';

async function faultOf(asked: Promise<unknown>): Promise<CountersignError> {
  const thrown: unknown = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (thrown instanceof CountersignError) return thrown;
  throw new Error(`expected a fault of the store, not ${inspect(thrown)}`);
}

describe('a fault of the Redis store names the cure', () => {
  it('no memory left: nothing is reserved or decided', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const client = rawClient(server);
    await client.config('SET', 'maxmemory', '1');
    const fault = await faultOf(store.settle(request({ claims: [windowClaim('1', '10')] })));
    expect(fault).toMatchObject({ code: 'STORE_UNREACHABLE' });
    expect(fault.message).toMatch(/raise `maxmemory`/);
    await client.config('SET', 'maxmemory', '0');
    expect(await usedOf(store)).toBe(0n);
    expect(await store.settle(request())).toMatchObject({ outcome: 'decided' });
  });

  it('a replica', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const client = rawClient(server);
    await client.replicaof('127.0.0.1', 1);
    const fault = await faultOf(store.settle(request()));
    expect(fault).toMatchObject({ code: 'STORE_UNREACHABLE' });
    expect(fault.message).toMatch(/is a replica; name the primary/);
  });

  it('a key of another program, without the hash of a script', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const client = rawClient(server);
    const before = await client.keys('*');
    for (const key of before) {
      await client.del(key);
      await client.set(key, 'of another program');
    }
    const faults = await Promise.all(
      [
        store.settle(request()),
        store.control(),
        store.freeze({ reason: 'drill', by: 'ada' }),
        store.expectOrder(announcement()),
      ].map(faultOf),
    );
    for (const { message } of faults) {
      expect(message).toMatch(/WRONGTYPE/);
      expect(message).not.toMatch(/[0-9a-f]{40}|user_script|call to/);
    }
  });

  it.each([
    ['a client without a password', ''],
    ['a client with one', 'default:s3cret@'],
  ])('no place for one more client: %s', async (_who, credentials) => {
    const server = await redisOfItsOwn({ args: ['--maxclients', '1', '--requirepass', 's3cret'] });
    const only = rawClient({ url: server.url.replace('//', '//:s3cret@') });
    await only.ping();
    const url = `redis://${credentials}127.0.0.1:${server.port}`;
    const store = await storeOn({ url }, { connectTimeoutMs: 500 });
    const full = 'takes no more clients; raise `maxclients`';
    const said = await eventually('it says so', async () => {
      const { code, message } = await faultOf(store.control());
      expect(code).toBe('STORE_UNREACHABLE');
      return message.includes(full) ? message : undefined;
    });
    expect(said).toBe(
      `Redis at 127.0.0.1:${server.port} ${full}, or end clients that nobody uses (\`CLIENT LIST\`) ` +
        '(ERR max number of clients reached)',
    );
    // Once there is a place, the connection comes back by itself.
    if (credentials === '') return;
    only.disconnect();
    await eventually('it is connected', () =>
      store.control().then(
        () => true,
        () => undefined,
      ),
    );
  });

  it('replicas that are missing', async () => {
    const server = await redisOfItsOwn({ args: ['--min-replicas-to-write', '1'] });
    const fault = await faultOf((await storeOn(server)).register(['shop']));
    expect(fault).toMatchObject({ code: 'STORE_UNREACHABLE' });
    expect(fault.message).toMatch(/min-replicas-to-write/);
  });

  it.each([
    ['no password', '', /wants credentials/],
    ['a wrong password', ':wr0ng-s3cret@', /refuses the credentials/],
  ])('%s, without saying it', async (_name, credentials, sentence) => {
    const server = await redisOfItsOwn({ args: ['--requirepass', 'r1ght-s3cret'] });
    const url = `redis://${credentials}127.0.0.1:${server.port}`;
    const store = await storeOn({ url }, { connectTimeoutMs: 500 });
    const fault = await faultOf(store.health());
    expect(fault).toMatchObject({ code: 'STORE_UNREACHABLE' });
    expect(fault.message).toMatch(sentence);
    expect(inspect(fault, { depth: Infinity, showHidden: true })).not.toContain('s3cret');
  });

  it('a server that quotes the credentials it does not understand, without saying them', async () => {
    const unknown = (command: string): string =>
      `-ERR unknown command '${command}', with args beginning with: 'default' 's3cret' \r\n`;
    const proxy = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', (asked: Buffer) => {
        const commands = asked.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g);
        socket.write([...commands].map(([, command = '']) => unknown(command)).join(''));
      });
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onTestFinished(() => void proxy.close());
    const address = proxy.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const url = `redis://:s3cret@127.0.0.1:${address.port}`;
    const store = await storeOn({ url }, { connectTimeoutMs: 500 });
    const fault = await faultOf(store.health());
    expect(fault.message).toMatch(/ERR unknown command 'auth'/i);
    expect(inspect(fault, { depth: Infinity, showHidden: true })).not.toContain('s3cret');
  });

  it('a user who may not', async () => {
    const server = await redisOfItsOwn();
    const client = rawClient(server);
    await client.call('ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '+@all', '-@scripting');
    const store = await storeOn({ url: `redis://reader:pw@127.0.0.1:${server.port}` });
    const fault = await faultOf(store.settle(request()));
    expect(fault).toMatchObject({ code: 'STORE_UNREACHABLE' });
    expect(fault.message).toMatch(/give it the rights that docs\/redis\.md lists/);
  });

  it('a node of a Cluster', async () => {
    const server = await redisOfItsOwn({ args: ['--cluster-enabled', 'yes'] });
    const client = rawClient(server);
    await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '1');
    const fault = await faultOf((await storeOn(server)).settle(request()));
    expect(fault).toMatchObject({ code: 'STORE_UNREACHABLE' });
    expect(fault.message).toMatch(/Cluster/);
  });

  it.each(['control', 'journal', 'lists'] as const)(
    'a key of another type is corruption, and nothing is decided: %s',
    async (kind) => {
      const server = await redisOfItsOwn();
      const store = await readyOn(server);
      const client = rawClient(server);
      const key = createKeys('countersign').of('shop')[kind];
      await store.changeList(change('list', ['a'], [], { source: 'vault' }));
      await client.set(key, 'x');
      const asked = kind === 'lists' ? store.changeList(change('l', [])) : store.settle(request());
      expect(await faultOf(asked)).toMatchObject({ code: 'STORE_CORRUPT' });
      expect(await client.exists(createKeys('countersign').of('shop').subject('payment:1'))).toBe(0);
    },
  );

  it('a counter with a damaged or missing head is corruption, and the subject stays unknown', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const claim = windowClaim('1', '10');
    await store.settle(request({ claims: [claim] }));
    const counter = createKeys('countersign').of('shop').counter(claim.key);
    const head = (await rawClient(server).hget(counter, 'head')) ?? '';
    const fields = head.split(' ');
    expect(fields).toHaveLength(6);
    const damaged = fields.flatMap((_, at) =>
      ['damaged', '', '-1', '1e3'].map((damage) => fields.with(at, damage).join(' ')),
    );
    for (const [index, damage] of [...damaged, '', `${head} 1`, fields.slice(1).join(' ')].entries()) {
      await rawClient(server).hset(counter, 'head', damage);
      const other = request({ subject: `payment:${index}+`, claims: [claim] });
      expect(await faultOf(store.settle(other))).toMatchObject({ code: 'STORE_CORRUPT' });
      expect(await store.entries({ source: 'shop', subject: `payment:${index}+`, limit: 10 })).toEqual([]);
    }
    await rawClient(server).hset(counter, '1', '1|1');
    await rawClient(server).hdel(counter, 'head');
    const last = request({ subject: 'payment:gone', claims: [claim] });
    expect(await faultOf(store.settle(last))).toMatchObject({ code: 'STORE_CORRUPT' });
  });
});

describe('what Redis keeps', () => {
  it('ends with the retention, and a counter with its window', async () => {
    const server = await redisOfItsOwn();
    const retention = { subjectsMs: 5_000_000, journalMs: 1000 };
    let nowMs = START_MS;
    const store = await readyOn(server, { retention, clock: () => nowMs });
    const claim = windowClaim('1', '1000');
    for (let index = 0; index < 300; index++) {
      nowMs += 10;
      await store.settle(request({ subject: `payment:${index}`, claims: [claim] }));
    }
    const client = rawClient(server);
    const keys = createKeys('countersign').of('shop');
    const subjectLives = await client.pttl(keys.subject('payment:299'));
    expect(subjectLives).toBeGreaterThan(4_900_000);
    expect(subjectLives).toBeLessThanOrEqual(5_000_000);
    const counterLives = await client.pttl(keys.counter(claim.key));
    expect(counterLives).toBeGreaterThan(3_600_000);
    // Redis expires it by its own clock, which may jump ahead: it outlives its window by a day.
    expect(counterLives).toBeLessThanOrEqual(3_600_000 + 60_000 + 86_400_000);
    // A hundred are within the retention; whole blocks of the stream go at a time.
    const size = await store.journalSize('shop');
    expect(size).toBeGreaterThanOrEqual(100);
    expect(size).toBeLessThan(300);
  });

  it('takes fifty thousand values in one step, and no more', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server, { commandTimeoutMs: 10_000 });
    const many = Array.from({ length: 50_000 }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`);
    expect(await store.changeList(change('list', many))).toMatchObject({
      added: 50_000,
      summary: { entries: 50_000, version: 1 },
    });
    expect(await faultOf(store.changeList(change('list', many, ['one more'])))).toMatchObject({
      code: 'LIST_INVALID',
      data: { list: 'list', values: 50_001 },
    });
    expect(await store.lists('shop')).toMatchObject([{ entries: 50_000, version: 1 }]);
  });
});

describe('an inspection of Redis', () => {
  const facts: RedisFacts = {
    version: '7.0.15',
    maxmemoryPolicy: 'noeviction',
    appendOnly: true,
    loadDenied: '',
    dropped: 0,
    replicas: 0,
    usedMemoryBytes: 1,
    maxMemoryBytes: 0,
    clockAheadMs: 0,
  };

  it('tells its version, policy, persistence, memory and clock', async () => {
    const server = await redisOfItsOwn({
      durable: true,
      args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    const { connection } = await storeOn(server);
    const found = await inspectRedis({ connection, keys: createKeys('countersign') });
    expect(found).toMatchObject({
      maxmemoryPolicy: 'allkeys-lru',
      appendOnly: true,
      maxMemoryBytes: 104_857_600,
      loadDenied: '',
      dropped: 0,
    });
    expect(found.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(found.usedMemoryBytes).toBeGreaterThan(100_000);
    expect(Math.abs(found.clockAheadMs)).toBeLessThan(1000);
    expect(unsafeReason(found)).toMatch(/maxmemory-policy is allkeys-lru.*set `maxmemory-policy noeviction`/);
  });

  it.each(['allkeys-lru', 'volatile-ttl', 'volatile-lru', 'unknown', ''])(
    'refuses the policy %j',
    (policy) => {
      expect(unsafeReason({ ...facts, maxmemoryPolicy: policy })).toMatch(/noeviction/);
    },
  );

  it('has nothing against noeviction', () => {
    expect(unsafeReason(facts)).toBeUndefined();
  });

  it.each([1, 2])('refuses what has dropped transactions: %i', (dropped) => {
    expect(unsafeReason({ ...facts, dropped })).toMatch(
      new RegExp(`^Redis dropped ${dropped} transactions? when it loaded`),
    );
  });

  it('refuses what a restart would not load, but not what nobody may ask', () => {
    const loadDenied = "This user has no permissions to run the 'hset' command";
    expect(unsafeReason({ ...facts, loadDenied })).toMatch(
      /would lose decisions.*'hset'.*ACL SETUSER default/,
    );
    expect(unsafeReason({ ...facts, loadDenied: undefined })).toBeUndefined();
  });

  it('asks about every command that the scripts write with', async () => {
    const server = await redisOfItsOwn();
    const folder = new URL('../../src/store/redis/', import.meta.url);
    const named = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:lua|ts)$/.test(name))
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .flatMap((text) =>
        [...text.matchAll(/\b(?:redis\.p?)?call\(\s*'(\w+)'/g)].map(([, name = '']) => name),
      );
    const commands = [...new Set(named.map((name) => name.toLowerCase()))];
    const infos = z
      .array(z.tuple([z.string(), z.number(), z.array(z.string())]).rest(z.unknown()))
      .parse(await rawClient(server).call('COMMAND', ['INFO', ...commands]));
    const writing = infos.filter(([, , flags]) => flags.includes('write')).map(([name]) => name);
    const asked = loadedCommands(createKeys('countersign')).map(([name]) => name);
    // The file has the instant at which a key expires in place of a period.
    const recorded = writing.map((name) => (name === 'pexpire' ? 'pexpireat' : name));
    expect(recorded.length).toBeGreaterThan(10);
    for (const name of recorded) expect(asked).toContain(name);
  });
});
