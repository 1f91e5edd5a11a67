import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Claim } from '../../src/claims/claims.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import type { SettleRequest, Store } from '../../src/store/store.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { freshPrefix, rawClient, readyOn } from './redis-under-test.ts';
import {
  HOUR_MS,
  MEMBERS,
  MINUTE_MS,
  REVISION,
  START_MS,
  TERMS,
  agedClaim,
  announcement,
  approvalClaim,
  change,
  claimsOf,
  distinctClaim,
  keyOf,
  listClaim,
  markClaim,
  orderClaim,
  refusalsClaim,
  request,
  requestChange,
  speedUpClaim,
  storedTerms,
  units,
  usedOf,
  windowClaim,
} from './requests.ts';

let server: RedisServerProcess;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());

const RETENTION = { subjectsMs: 10 * HOUR_MS, journalMs: 10 * HOUR_MS };

/** One of each kind, all of which hold once `prepare` is done. */
const everyKind: readonly Claim[] = [
  listClaim('allowed', 'hold-all', ['a', 'b']),
  agedClaim('allowed', 0, ['a']),
  windowClaim('1', '100'),
  windowClaim('1', '100', { key: keyOf('calendar'), window: { type: 'calendar', startMs: 0, endMs: 9e15 } }),
  distinctClaim(['a'], 2),
  distinctClaim(['a', 'b'], 2, { key: keyOf('new'), onlyNew: true }),
  refusalsClaim(2),
  markClaim({ exempt: true }),
  orderClaim(),
  approvalClaim('payment:1', 1),
  speedUpClaim(3, HOUR_MS),
];

async function prepare(store: Store, subject = 'payment:1'): Promise<void> {
  await store.changeList(change('allowed', ['a', 'b']));
  await store.expectOrder(announcement({ subject, expiresAtMs: Date.now() + HOUR_MS }));
  await store.changeApprovalRequest(requestChange({ id: subject }));
  await store.settle(request({ subject }));
}

const spedUp = (): SettleRequest => request({ speedUp: true, claims: everyKind });

/** The commands that scripts made while `ask` ran, and the keys that the callers of scripts named. */
async function watched(ask: () => Promise<unknown>) {
  const client = rawClient(server);
  const monitor = await client.duplicate().monitor();
  onTestFinished(() => monitor.disconnect());
  const commands: string[][] = [];
  const named = new Set<string>();
  const over = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (source === 'lua') commands.push(args);
      if (args[0]?.toLowerCase() === 'echo') resolve();
      if (/^eval(sha)?$/i.test(args[0] ?? '')) {
        for (const key of args.slice(3, 3 + Number(args[2]))) named.add(key);
      }
    });
  });
  await ask();
  await client.echo('over');
  await over;
  return { commands, named };
}

describe('one settle on Redis', () => {
  it('touches no other keys than those it names, whatever it claims', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await prepare(store);
    const { commands, named } = await watched(async () => {
      expect(await store.settle(spedUp())).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(await store.settle(spedUp())).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
      const locking = [refusalsClaim(1, { key: keyOf('locking') })];
      await store.settle(request({ subject: 'payment:2', approves: false, claims: locking }));
    });
    const touched = commands.filter(([name]) => name?.toLowerCase() !== 'time').map(([, key]) => key);
    expect(new Set(touched)).toEqual(named);
    for (const key of named) expect(key).toContain('{shop}');
  });

  it('costs 13 commands for a list and two windows that have been counted in before', async () => {
    const window = { type: 'calendar', startMs: 0, endMs: 9e15 } as const;
    const claims = [
      listClaim('allowed', 'hold-all', ['a']),
      windowClaim('1', '100', { window }),
      windowClaim('1', '100', { window, key: keyOf('other') }),
    ];
    const store = await readyOn(server, { prefix: freshPrefix() });
    await prepare(store);
    await store.settle(request({ subject: 'payment:2', claims }));
    const { commands } = await watched(() => store.settle(request({ subject: 'payment:3', claims })));
    expect(commands).toHaveLength(13);
  });

  it('decides the same after a SCRIPT FLUSH in the middle', async () => {
    const store = await readyOn(server, { prefix: freshPrefix() });
    const client = rawClient(server);
    await prepare(store);
    await client.script('FLUSH');
    expect(await store.settle(spedUp())).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
    await client.script('FLUSH');
    expect(await store.settle(spedUp())).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
    await client.script('FLUSH');
    expect(await store.order('shop', 'payment:1')).toMatchObject({ state: 'used' });
    expect(await store.changePrices({ set: [], remove: ['BTC'], by: 'ada' })).toMatchObject({ version: 1 });
  });
});

describe('a claim that Redis can not check', () => {
  const unreadable: readonly (readonly [string, Claim])[] = [
    ['a maximum of values that is no number', distinctClaim(['a'], Number.NaN)],
    ['a maximum of values below zero', distinctClaim(['a'], -1)],
    ['a number of refusals that is no number', refusalsClaim(Number.NaN)],
    ['a time of refusals below zero', refusalsClaim(1, { withinMs: -1 })],
    ['an age that is no number', agedClaim('allowed', Number.NaN, ['a'])],
    ['an age below zero', agedClaim('allowed', -1, ['a'])],
    ['an age without end', markClaim({ exempt: true, ageMs: Number.POSITIVE_INFINITY })],
    ['an age with a fraction', markClaim({ exempt: true, ageMs: 0.5 })],
    ['a maximum that is no number', speedUpClaim(Number.NaN, 1)],
    ['a time below zero', speedUpClaim(1, -1)],
    ['a version that is no number', approvalClaim('payment:1', Number.NaN)],
    ['a version below zero', approvalClaim('payment:1', -1)],
    ['an amount below zero', { ...windowClaim('1', '1'), amount: -1n }],
  ];
  it.each(unreadable)('decides nothing and writes nothing: %s', async (_name, claim) => {
    const store = await readyOn(server, { prefix: freshPrefix() });
    await prepare(store);
    const before = await store.journalSize('shop');
    const asked = [request({ claims: [claim] }), request({ claims: [{ ...claim, decides: false }] })];
    for (const each of asked) {
      await expect(store.settle(each)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    }
    expect(await store.journalSize('shop')).toBe(before);
    expect(await store.order('shop', 'payment:1')).toMatchObject({ state: 'expected' });
  });

  it.each([
    ['a mark of another type', 'mark', 'HSET', ['a', '1']],
    ['a mark that is no time', 'mark', 'SET', ['yesterday']],
    ['refusals of another type', 'refusals', 'SET', ['none']],
    ['a refusal without its time', 'refusals', 'HSET', ['s:payment:2', 'now']],
    ['a lock-out without its time', 'refusals', 'HSET', ['locked', 'yes']],
    ['an order of another type', 'order', 'SET', ['used']],
    ['an order without a state', 'order', 'HDEL', ['state']],
    ['an order in an unknown state', 'order', 'HSET', ['state', 'agrees']],
    ['an order without its expiry', 'order', 'HDEL', ['expires']],
    ['an entry of a list without its time', 'list', 'HSET', ['a', '']],
    ['an approval request of another type', 'request', 'SET', ['approved']],
    ['an approval request with a version that is no number', 'request', 'HSET', ['version', '1.0']],
    ['an approval request without its time', 'request', 'HDEL', ['until']],
    ['open approval requests of another type', 'requests', 'SET', ['payment:1']],
  ] as const)('decides nothing and writes nothing: %s', async (_name, kind, command, args) => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await prepare(store);
    const keys = createKeys(prefix).of('shop');
    const key = {
      mark: keys.mark(keyOf('mark')),
      order: keys.order('payment:1'),
      refusals: keys.refusals(keyOf('refusals')),
      list: keys.list('allowed'),
      request: keys.request('payment:1'),
      requests: keys.requests,
    };
    const client = rawClient(server);
    await client.call(command, key[kind], ...args);
    const before = await store.journalSize('shop');
    await expect(store.settle(spedUp())).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect(await store.journalSize('shop')).toBe(before);
  });
});

describe('a counter on Redis', () => {
  const lengthMs = HOUR_MS;
  const window = { type: 'rolling', lengthMs, bucketMs: MINUTE_MS } as const;

  it('lives on with each bucket that begins, and never shorter than it would have', async () => {
    let nowMs = START_MS;
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix, clock: () => nowMs });
    const client = rawClient(server);
    const key = createKeys(prefix).of('shop').counter(keyOf('counter'));
    let asked = 0;
    const settle = () =>
      store.settle(request({ subject: `payment:${++asked}`, claims: [windowClaim('1', '100', { window })] }));
    await settle();
    for (const [livesMs, atLeastMs] of [
      [MINUTE_MS, lengthMs],
      [9 * HOUR_MS, 9 * HOUR_MS - MINUTE_MS],
    ] as const) {
      await client.pexpire(key, livesMs);
      nowMs += MINUTE_MS;
      await settle();
      expect(await client.pttl(key)).toBeGreaterThan(atLeastMs);
    }
  });
});

describe('a counter on Redis that was removed', () => {
  it('takes nothing from what others have counted since, though the subject remembers its bucket', async () => {
    const prefix = freshPrefix();
    let nowMs = START_MS;
    const store = await readyOn(server, { prefix, clock: () => nowMs });
    const ask = async (name: string, amount: string) => {
      const claims = [windowClaim(amount, '100', { retryable: true })];
      const result = await store.settle(request({ subject: `payment:${name}`, claims }));
      return 'verdict' in result && [result.verdict, claimsOf(result)[0]];
    };
    const client = rawClient(server);
    const counter = createKeys(prefix).of('shop').counter(keyOf('counter'));
    await ask('a', '40');
    nowMs += 1;
    await client.del(counter);
    expect(await ask('b', '70')).toEqual([
      'SUCCESS',
      { type: 'window', holds: true, reserved: 0n, used: 0n },
    ]);
    expect(await ask('a', '40')).toEqual([
      'FAILURE',
      { type: 'window', holds: false, reserved: 0n, used: units('70') },
    ]);
    expect(await ask('a', '30')).toEqual([
      'SUCCESS',
      { type: 'window', holds: true, reserved: 0n, used: units('70') },
    ]);
    expect(await ask('a', '30')).toEqual([
      'SUCCESS',
      { type: 'window', holds: true, reserved: units('30'), used: units('70') },
    ]);
    expect(await usedOf(store)).toBe(units('100'));
  });

  it('gives nothing back, and says so', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.settle(request({ claims: [windowClaim('40', '100')] }));
    await rawClient(server).del(createKeys(prefix).of('shop').counter(keyOf('counter')));
    await store.settle(request({ subject: 'payment:2', claims: [windowClaim('50', '100')] }));
    const { version = '', approvals: [of = ''] = [] } = (await store.subject('shop', 'payment:1')) ?? {};
    const named = {
      source: 'shop',
      subject: 'payment:1',
      version,
      of,
      by: 'ada',
      message: 'failed',
      detail: '{}',
    };
    const keys = [keyOf('counter')];
    expect(await store.releaseApproval({ ...named, keys })).toEqual({ outcome: 'short', keys });
    expect(await store.releaseApproval({ ...named, keys: [] })).toMatchObject({ outcome: 'released' });
    expect(await usedOf(store)).toBe(units('50'));
  });
});

describe('what the subject knows of a decision', () => {
  const subjectOf = (prefix: string): string => createKeys(prefix).of('shop').subject('payment:1');

  it('is short enough for Redis to keep an approved subject compactly', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.changeList(change('allowed', ['a']));
    const claims = [listClaim('allowed', 'hold-all', ['a']), windowClaim('1', '100')];
    expect(await store.settle(request({ claims }))).toMatchObject({ verdict: 'SUCCESS' });
    expect(await rawClient(server).object('ENCODING', subjectOf(prefix))).toBe('listpack');
  });

  it.each([
    ['approval', 'SUCCESS', 'APPROVED', true],
    ['refusal', 'FAILURE', 'RULE_REFUSED', false],
  ] as const)('is read as it was written before: an %s', async (_name, verdict, code, approves) => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    const written = JSON.stringify([verdict, code, '1750000000000-0', REVISION, '0', 'allowed', '0']);
    await rawClient(server).hset(subjectOf(prefix), 'terms', storedTerms(TERMS), 'd:payment', written);
    const repeated = { outcome: 'repeated', verdict, code, of: '1750000000000-0' };
    expect(await store.settle(request({ approves }))).toMatchObject(repeated);
    await store.changeList(change('allowed', ['a']));
    const then = approves ? repeated : { outcome: 'decided', verdict };
    expect(await store.settle(request({ approves }))).toMatchObject(then);
  });
});

describe('a mark on Redis', () => {
  it('lives for as long as a subject, from the last approval that claimed it', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix, retention: RETENTION });
    const client = rawClient(server);
    const key = createKeys(prefix).of('shop').mark(keyOf('mark'));
    const claims = [markClaim({ exempt: true })];
    const refused = request({ subject: 'payment:1', approves: false, claims });
    await store.settle(refused);
    expect(await client.exists(key)).toBe(0);

    await store.settle(request({ subject: 'payment:2', claims }));
    const whole = await client.pttl(key);
    expect(whole).toBeGreaterThan(9 * HOUR_MS);
    expect(whole).toBeLessThanOrEqual(10 * HOUR_MS);
    const made = await client.get(key);

    await client.pexpire(key, HOUR_MS);
    await store.settle(refused);
    expect(await client.pttl(key)).toBeLessThanOrEqual(HOUR_MS);
    await store.settle(request({ subject: 'payment:2', claims }));
    expect(await client.pttl(key)).toBeGreaterThan(9 * HOUR_MS);
    expect(await client.get(key)).toBe(made);
  });
});

describe('an order on Redis', () => {
  it('is kept until its expiry and for as long as subjects after that', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix, retention: RETENTION });
    const client = rawClient(server);
    const key = createKeys(prefix).of('shop').order('payment:1');
    await store.expectOrder(announcement({ expiresAtMs: Date.now() + 5 * HOUR_MS }));
    for (const ask of [
      () => store.order('shop', 'payment:1'),
      () => store.settle(request({ claims: [orderClaim()] })),
      () => store.settle(request({ claims: [orderClaim()] })),
    ]) {
      await ask();
      const lives = await client.pttl(key);
      expect(lives).toBeGreaterThan(14 * HOUR_MS);
      expect(lives).toBeLessThanOrEqual(15 * HOUR_MS);
    }
  });

  it('is kept as long as the subject that uses it after the expiry', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix, retention: RETENTION });
    const client = rawClient(server);
    const key = createKeys(prefix).of('shop').order('payment:1');
    await store.expectOrder(announcement({ expiresAtMs: Date.now() + HOUR_MS }));
    await store.settle(request({ claims: [orderClaim()] }));
    await client.hset(key, 'expires', String(Date.now() - 1));
    await client.pexpire(key, HOUR_MS);
    expect(await store.settle(request({ claims: [orderClaim()] }))).toMatchObject({ verdict: 'SUCCESS' });
    expect(await client.pttl(key)).toBeGreaterThan(9 * HOUR_MS);
  });

  it('stays used for a subject that was forgotten and comes again, with whatever terms', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.expectOrder(announcement({ expiresAtMs: Date.now() + HOUR_MS }));
    const claims = [orderClaim(MEMBERS, { retryable: true })];
    expect(await store.settle(request({ claims }))).toMatchObject({ verdict: 'SUCCESS' });
    const client = rawClient(server);
    for (const terms of ['other', TERMS]) {
      await client.del(createKeys(prefix).of('shop').subject('payment:1'));
      const again = await store.settle(request({ claims, terms }));
      expect(again).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      expect(claimsOf(again)).toEqual([{ type: 'order', holds: false, order: 'used', differs: [] }]);
    }
    expect(await store.expectOrder(announcement())).toMatchObject({ outcome: 'conflict' });
  });
});

describe('an approval request on Redis', () => {
  const used = async (keepMs: number) => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix, retention: RETENTION });
    const claims = [approvalClaim('payment:1', 1, { retryable: true })];
    const settle = (terms = TERMS) => store.settle(request({ claims, terms }));
    await store.changeApprovalRequest(requestChange({ keepMs }));
    return { store, settle, client: rawClient(server), keys: createKeys(prefix).of('shop') };
  };

  it('is kept as long as its latest change says, and once it is used for as long as subjects after that', async () => {
    const { store, settle, client, keys } = await used(5 * HOUR_MS);
    const key = keys.request('payment:1');
    const lives = async (hours: number): Promise<void> => {
      const ms = await client.pttl(key);
      expect(ms).toBeGreaterThan((hours - 1) * HOUR_MS);
      expect(ms).toBeLessThanOrEqual(hours * HOUR_MS);
    };
    await lives(5);
    await store.changeApprovalRequest(requestChange({ expected: 1, keepMs: 3 * HOUR_MS }));
    await lives(3);
    await store.approvalRequest('shop', 'payment:1');
    await settle();
    await lives(3);
    const claims = [approvalClaim('payment:1', 2)];
    for (let time = 0; time < 2; time++) {
      expect(await store.settle(request({ claims }))).toMatchObject({ verdict: 'SUCCESS' });
      await lives(13);
    }
    await store.changeApprovalRequest(requestChange({ expected: 2, keepMs: 2 * HOUR_MS }));
    await lives(12);
  });

  it('is kept as long as the subject that uses it, after the time that its change gave it', async () => {
    const { settle, client, keys } = await used(HOUR_MS);
    await settle();
    const key = keys.request('payment:1');
    await client.hset(key, 'until', String(Date.now() - 1));
    await client.pexpire(key, HOUR_MS);
    expect(await settle()).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
    expect(await client.pttl(key)).toBeGreaterThan(9 * HOUR_MS);
  });

  it('stays used for a subject that was forgotten and comes again, with whatever terms', async () => {
    const { settle, client, keys } = await used(HOUR_MS);
    expect(await settle()).toMatchObject({ verdict: 'SUCCESS' });
    for (const terms of ['other', TERMS]) {
      await client.del(keys.subject('payment:1'));
      const again = await settle(terms);
      expect(again).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      expect(claimsOf(again)).toEqual([{ type: 'approval', holds: false, approval: 'used' }]);
    }
  });

  it('is not held for another one with its id, if the subject remembers one that is gone', async () => {
    const { store, settle, client, keys } = await used(HOUR_MS);
    const first = await settle();
    await client.del(keys.request('payment:1'));
    expect(await settle()).toMatchObject({ verdict: 'FAILURE', claims: [{ approval: 'missing' }] });
    await store.changeApprovalRequest(requestChange());
    await client.hset(keys.request('payment:1'), 'used', '1750000000000-0');
    expect(await settle()).toMatchObject({ verdict: 'FAILURE', claims: [{ approval: 'used' }] });
    expect(first).toMatchObject({ verdict: 'SUCCESS' });
  });

  it('names a record that is not readable', async () => {
    const { store, client, keys } = await used(HOUR_MS);
    await client.hset(keys.requests, 'payment:1', 'first');
    for (const asking of [
      () => store.openApprovalRequests('shop'),
      () => store.changeApprovalRequest(requestChange({ id: 'r2' })),
    ]) {
      await expect(asking()).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    }
    await client.hdel(keys.request('payment:1'), 'value');
    await expect(store.approvalRequest('shop', 'payment:1')).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });
});
