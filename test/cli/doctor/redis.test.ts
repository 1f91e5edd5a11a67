import { rmSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkRedis } from '../../../src/cli/doctor/store.ts';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { unsafeReason } from '../../../src/store/redis/inspect.ts';
import { eventually } from '../../eventually.ts';
import { startRedisCluster } from '../../redis-cluster.ts';
import { rawClient, redisOfItsOwn, storeOn } from '../../store/redis-under-test.ts';
import { place } from '../terminal.ts';
import { diagnosis, ofCheck } from './diagnosis.ts';

interface Store {
  readonly url: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** What doctor finds out about the store, `state: because` each. */
async function findingsOn({ url, settings = {} }: Store): Promise<readonly string[]> {
  const { run } = place({ settings: { store: { url, ...settings } } });
  return ofCheck(await diagnosis(run), 'store');
}

const inState = (findings: readonly string[], state: Finding['state']): readonly string[] =>
  findings.filter((finding) => finding.startsWith(`${state}: `));

const SAFE = ['--maxmemory', '500mb', '--appendonly', 'yes', '--repl-diskless-sync-delay', '0'];

describe('doctor on Redis', () => {
  it('has nothing to say against one that is as it should be', async () => {
    const redis = await redisOfItsOwn({ args: SAFE });
    const findings = await findingsOn(redis);
    expect([...inState(findings, 'warning'), ...inState(findings, 'fault')]).toEqual([]);
    expect(findings[0]).toMatch(
      /^ok: Redis 7.*append-only file yes, \d+ MiB of 500 MiB used, clock \d+ ms (?:ahead of|behind) this machine's, 0 replicas$/,
    );
  });

  it.each([
    [-4999, 'behind'],
    [4999, 'ahead of'],
  ])('says which clock is behind: %i ms', async (offMs, word) => {
    const store = await storeOn(await redisOfItsOwn({ args: SAFE }));
    const { connection } = store;
    const call = async (command: string, args: (string | number)[]): Promise<unknown> => {
      if (command !== 'time') return connection.call(command, args);
      const atMs = Date.now() + offMs;
      return [String(Math.floor(atMs / 1000)), String((atMs % 1000) * 1000)];
    };
    const settings = { prefix: 'countersign', durability: { replicas: 0, timeoutMs: 100 } };
    const findings = await checkRedis(
      { connection: { ...connection, call }, checkSafety: () => store.checkSafety() },
      settings,
    );
    expect(findings[0]?.because).toMatch(new RegExp(`, clock \\d{4} ms ${word} this machine's, `));
  });

  it('warns of no bound on memory, and of a memory that is nearly full', async () => {
    const redis = await redisOfItsOwn({ args: ['--appendonly', 'yes'] });
    expect(inState(await findingsOn(redis), 'warning')).toEqual([
      expect.stringMatching(/has no `maxmemory`.*set `maxmemory` below the memory of the machine/),
    ]);
    const client = rawClient(redis);
    const used = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1]);
    await client.config('SET', 'maxmemory', String(Math.ceil(used * 1.2)));
    expect(inState(await findingsOn(redis), 'warning')).toEqual([
      expect.stringMatching(/nearly full.*raise `maxmemory`.*`countersign journal archive`/),
    ]);
  });

  it('warns of no append-only file, and tells what a crash would lose now', async () => {
    const redis = await redisOfItsOwn({ args: ['--maxmemory', '500mb', '--save', ''] });
    await rawClient(redis).set('x', '1');
    expect(inState(await findingsOn(redis), 'warning')).toEqual([
      expect.stringMatching(
        /runs without an append-only file.*1 change since the last snapshot would be lost now; set `appendonly yes`/,
      ),
    ]);
  });

  it('a snapshot that failed is a fault', async () => {
    const redis = await redisOfItsOwn({ args: SAFE });
    const client = rawClient(redis);
    await client.set('x', '1');
    await client.config('SET', 'stop-writes-on-bgsave-error', 'no');
    const [, folder = ''] = await client.config('GET', 'dir');
    // Renamed away would do as well; it only must not be there when the snapshot is written.
    rmSync(folder, { recursive: true, force: true });
    await client.call('BGSAVE');
    await eventually('the snapshot has failed', async () =>
      (await client.info('persistence')).includes('rdb_last_bgsave_status:err') ? true : undefined,
    );
    expect(inState(await findingsOn(redis), 'fault')).toEqual([
      expect.stringMatching(/could not save its last snapshot.*repair its disk/),
    ]);
  });

  it('one that may evict keys is a fault, told once', async () => {
    const redis = await redisOfItsOwn({ args: [...SAFE, '--maxmemory-policy', 'volatile-ttl'] });
    expect(inState(await findingsOn(redis), 'fault')).toEqual([expect.stringContaining('volatile-ttl')]);
  });

  it('a replica that is named as if it were the primary is a fault', async () => {
    const primary = await redisOfItsOwn({ args: SAFE });
    const replica = await redisOfItsOwn({
      args: [...SAFE, '--replicaof', '127.0.0.1', String(primary.port)],
    });
    expect(inState(await findingsOn(replica), 'fault').join('\n')).toMatch(
      new RegExp(
        `on port ${replica.port} is a replica and accepts no writes; name the primary, or the Sentinels`,
      ),
    );
  });

  it('fewer replicas than store.durability wants are a fault, and replicas that nobody waits for a warning', async () => {
    const primary = await redisOfItsOwn({ args: SAFE });
    const waits = { durability: { replicas: '1' } };
    expect(inState(await findingsOn({ ...primary, settings: waits }), 'fault')).toEqual([
      expect.stringMatching(
        /has 0 connected replicas, but store\.durability\.replicas requires 1, so every approval becomes FAILURE/,
      ),
    ]);
    await redisOfItsOwn({ args: [...SAFE, '--replicaof', '127.0.0.1', String(primary.port)] });
    const client = rawClient(primary);
    await eventually('the replica follows', async () =>
      (await client.info('replication')).includes('state=online') ? true : undefined,
    );
    const findings = await findingsOn({ ...primary, settings: waits });
    expect([...inState(findings, 'warning'), ...inState(findings, 'fault')]).toEqual([]);
    expect(inState(await findingsOn(primary), 'warning')).toEqual([
      expect.stringMatching(/has 1 replica but approvals wait for none.*set store\.durability\.replicas/),
    ]);
  });

  it.each([
    ['INFO', ['-info'], /NOPERM.*without INFO the service can't see whether Redis evicts keys/],
    ['scripts', ['-@scripting'], /does not let its user do this; give it the rights.*NOPERM/],
    ['the time', ['-time'], /does not let its user do this.*NOPERM/],
    ['its keys', ['resetkeys', '~other:*'], /does not let its user do this; give it the rights.*NOPERM/],
  ])('a user who is denied %s is a fault that says what to grant', async (_, denied, said) => {
    const redis = await redisOfItsOwn({ args: SAFE });
    const rights = ['~*', '&*', '+@all', '-@admin', '-@dangerous', '+info'];
    await rawClient(redis).acl('SETUSER', 'limited', 'on', '>of-the-test', ...rights, ...denied);
    const env = { REDIS_PASSWORD: 'of-the-test' };
    const settings = { store: { url: redis.url, username: 'limited', password: { env: 'REDIS_PASSWORD' } } };
    const { run, runWith } = place({ settings });
    const { code, findings: all } = await diagnosis(runWith({ env }));
    expect(code).toBe(1);
    const findings = all.filter(({ state }) => state === 'fault');
    expect(findings[0]?.because).toMatch(said);
    expect(JSON.stringify(findings)).not.toContain('of-the-test');
    expect(new Set(findings.map(({ because }) => because)).size).toBe(findings.length);
    expect((await run('doctor')).code).toBe(1);
  });

  it('a user with the least rights that it needs is no fault', async () => {
    const redis = await redisOfItsOwn({ args: SAFE });
    const rights =
      '~countersign:* &countersign:* +@read +@write +@scripting +@pubsub +@connection +info +time -@dangerous +info +acl|dryrun';
    const client = rawClient(redis);
    await client.acl('SETUSER', 'limited', 'on', '>of-the-test', ...rights.split(' '));
    const settings = { store: { url: redis.url, username: 'limited', password: { env: 'REDIS_PASSWORD' } } };
    const { runWith } = place({ settings });
    const { code, out } = await runWith({ env: { REDIS_PASSWORD: 'of-the-test' } })('doctor');
    expect({ code, out }).toMatchObject({ code: 0 });
    expect(await client.acl('LOG')).toEqual([]);
  });

  it('looks at each primary of a Cluster by itself', async () => {
    const cluster = await startRedisCluster({ primaries: 3 });
    onTestFinished(() => cluster.stop());
    const [first, second] = cluster.nodes;
    const one = rawClient({ url: `redis://127.0.0.1:${first?.port}` });
    await one.config('SET', 'maxmemory', '500mb');
    const other = rawClient({ url: `redis://127.0.0.1:${second?.port}` });
    await other.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const findings = await findingsOn(cluster);
    for (const { port } of cluster.nodes) {
      expect(findings.join('\n')).toContain(`ok: the primary on port ${port}: Redis 7`);
    }
    expect(findings.join('\n')).toContain(
      `warning: the primary on port ${second?.port} has no \`maxmemory\``,
    );
    expect(findings.join('\n')).not.toContain(`the primary on port ${first?.port} has no`);
    expect(inState(findings, 'fault')).toEqual([expect.stringContaining('allkeys-lru')]);
  });
});

describe('what refuses a start', () => {
  const facts = {
    version: '7.0.15',
    maxmemoryPolicy: 'noeviction',
    appendOnly: false,
    loadDenied: '',
    dropped: 0,
    usedMemoryBytes: 1,
    maxMemoryBytes: 0,
    clockAheadMs: 9_999_999,
  };

  it.each(['6.2.14', '2.8.0', '0.0.1', 'unknown', '', '7', 'seven'])(
    'a version that is too old, or none: %j',
    (version) => {
      expect(unsafeReason({ ...facts, version })).toMatch(/too old; run 7\.0 or newer/);
    },
  );

  it.each(['7.0.0', '7.4.2', '8.0.1', '10.0.0'])('not a version that is new enough: %s', (version) => {
    expect(unsafeReason({ ...facts, version })).toBeUndefined();
  });
});
