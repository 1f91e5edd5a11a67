import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { perform } from '../../src/act/act.ts';
import { approveAct } from '../../src/act/four-eyes.ts';
import { setPrices } from '../../src/act/prices.ts';
import { createFourEyes } from '../../src/approvals/acts.ts';
import { createRequests } from '../../src/approvals/requests.ts';
import type { People } from '../../src/policy/people.ts';
import { dateAt } from '../../src/reconcile/day.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import { type RedisStore, openRedisStore } from '../../src/store/redis/open.ts';
import type { Store } from '../../src/store/store.ts';
import { type Run, placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { billed, jsonBill } from '../reconcile/world.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { DEPLOYMENT, peopleOf, signedBy } from '../release/signing.ts';
import {
  PAYMENT_PATH,
  type TestService,
  signedPayment,
  startTestService,
  transfer,
  web3,
} from '../service.ts';
import { describeStore } from '../store/conformance.ts';
import { type OpenStore, createTestClock, underTest } from '../store/conformance/store-under-test.ts';
import { START_MS, requestChange } from '../store/requests.ts';
import { ROOT } from './documents.ts';
import { type Admin, adminOf, clientOf, denied, grant } from './redis-users.ts';
import { PASSWORDS, documentedUsers } from './shipped-files.ts';

const SERVICE = ['countersign', PASSWORDS['SERVICE-PASSWORD']] as const;
const OPERATOR = ['countersign-operator', PASSWORDS['OPERATOR-PASSWORD']] as const;
const USERS = [
  ['the service', SERVICE],
  ['the operator', OPERATOR],
] as const;
const documented = documentedUsers();
const DAY_MS = 86_400_000;

let redis: RedisServerProcess;
let adminClient: Redis;
let admin: Admin;

beforeAll(async () => {
  redis = await startRedisServer();
  adminClient = new Redis(redis.port);
  admin = adminOf(adminClient);
  await grant(admin, [...documented.service, ...documented.operator]);
});
afterAll(async () => {
  adminClient.disconnect();
  await redis.stop();
});
beforeEach(async () => {
  await admin.ask('FLUSHALL');
  await admin.ask('ACL', 'LOG', 'RESET');
});

/** What a service does with its store, the API for orders included. */
const BY_SERVICE = [
  'register',
  'health',
  'watch',
  'control',
  'document',
  'prices',
  'settle',
  'preview',
  'access',
  'changeAccess',
  'recordNotification',
  'record',
  'entry',
  'journalSize',
  'freeze',
  'unfreeze',
  'expectOrder',
  'order',
  'cancelOrder',
  'openApprovalRequests',
  'approvalRequest',
  'changeApprovalRequest',
] as const;

/** A store of which the service's user does what the service does, and the operator's user the rest. */
const divided: OpenStore = () => {
  const clock = createTestClock(START_MS);
  const openAs = ([username, password]: readonly [string, string]): Promise<RedisStore> => {
    const client = { host: '127.0.0.1', port: redis.port, username, password };
    return openRedisStore({ client, clock: () => clock.nowMs, commandTimeoutMs: 5000 });
  };
  return underTest(clock, async () => {
    const [service, operator] = [await openAs(SERVICE), await openAs(OPERATOR)];
    const ofService = BY_SERVICE.map((verb) => [verb, service[verb]] as const);
    const close = async (): Promise<void> => {
      await Promise.all([service.close(), operator.close()]);
    };
    const verbs = Object.fromEntries(ofService) as Pick<Store, (typeof BY_SERVICE)[number]>;
    return { ...operator, ...verbs, close };
  });
};

describe('with the rights of docs/redis.md divided among two users,', () => {
  describeStore('Redis', divided);

  it('every command that the sources name is granted to one of them', () => {
    const store = join(ROOT, 'src/store/redis');
    const texts = readdirSync(store, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:lua|ts)$/.test(name))
      .map((name) => readFileSync(join(store, name), 'utf8'));
    const named = texts.flatMap((text) => [
      ...[...text.matchAll(/redis\.p?call\(\s*'(\w+)'/g)].map(([, name]) => name ?? ''),
      ...[...text.matchAll(/\bcall\(\s*'(\w+)'/g)].map(([, name]) => name ?? ''),
    ]);
    expect(new Set(named).size).toBeGreaterThan(15);
    const both = granted([...documented.service, ...documented.operator]);
    for (const command of named) expect(both).toContain(command.toLowerCase());
  });

  it('the service may touch every key that there is, but the history of prices and of pushes', () => {
    const keys = createKeys('countersign');
    const { subject, counter, distinct, list, mark, order, refusals, request, ...ofSource } = keys.of('shop');
    const { of: _of, changed: _channel, access, sharedRequest, ...ofAll } = keys;
    const patterns = [...documented.service.join(' ').matchAll(/~(\S+)/g)].map(
      ([, glob = '']) => new RegExp(`^${glob.replaceAll(/[{}]/g, '\\$&').replaceAll('*', '.*')}$`),
    );
    const barred = new Set([ofAll.history, ofAll.priceHistory]);
    const kinds = [access, sharedRequest, subject, counter, distinct, list, mark, order, refusals, request];
    const made = kinds.map((name) => name('x'));
    for (const key of [...Object.values(ofSource), ...Object.values(ofAll), ...made]) {
      const touched = patterns.some((pattern) => pattern.test(key));
      expect({ key, touched }).toEqual({ key, touched: !barred.has(key) });
    }
  });

  it.each(USERS)('%s changes and reads approval requests, of a source and of all', async (_name, user) => {
    const [username, password] = user;
    const client = { host: '127.0.0.1', port: redis.port, username, password };
    const store = await openRedisStore({ client, commandTimeoutMs: 5000 });
    onTestFinished(() => store.close());
    for (const scope of ['shop', '']) {
      for (const id of ['r1', 'r2']) {
        expect(await store.changeApprovalRequest(requestChange({ scope, id }))).toEqual({ done: true });
      }
      await store.changeApprovalRequest(requestChange({ scope, id: 'r1', expected: 1, isOpen: false }));
      expect(await store.openApprovalRequests(scope)).toMatchObject([{ id: 'r2' }]);
      expect(await store.approvalRequest(scope, 'r1')).toMatchObject({ version: 2 });
    }
    expect(await denied(admin)).toEqual([]);
  });

  it('every command that is granted was used by one of them', async () => {
    const stats = String(await admin.ask('INFO', 'commandstats'));
    const used = [...stats.matchAll(/^cmdstat_([^:]+):/gm)].map(([, name]) => name ?? '');
    // For a database other than 0, silence on a channel, waiting for replicas, and prices that have expired.
    const elsewhere = ['select', 'ping', 'wait', 'xdel'];
    expect(used.length).toBeGreaterThan(20);
    for (const command of granted([...documented.service, ...documented.operator])) {
      expect([...used, ...elsewhere]).toContain(command);
    }
  });
});

function granted(lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => [...line.matchAll(/ \+([\w|-]+)/g)].map(([, name]) => name ?? '')));
}

describe('a service with these rights', () => {
  it('starts on nothing, decides, records, follows, takes orders, and is denied nothing', async () => {
    const service = await serviceOn();
    const { operate } = service;
    expect(await service.pay({ appOrderId: 'early' })).toBe('FAILURE');
    await pushed(service, 'first');
    expect(await service.pay({ appOrderId: 'first' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'first', orderAmount: '2' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'rsa' }, 'rsa')).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'no', orderAmount: '1e3' })).toBe('FAILURE');
    expect((await service.post(PAYMENT_PATH, signedPayment({}, { secret: 'wrong' }))).body).toBe('FAILURE');
    await admin.ask('SCRIPT', 'FLUSH');
    for (const type of ['sign_prepare', 'sign_start', 'sign_success']) {
      expect(await service.cosign('/cosigner/withdraw', transfer({ type, txid: '0x1' }))).toBe('SUCCESS');
    }
    expect(await service.cosign('/cosigner/web3', web3())).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/web3', { type: 'sign_start' })).toBe('FAILURE');
    expect(await announce(service)).toBe(201);
    expect((await operate('freeze', 'a test')).code).toBe(0);
    expect(await service.pay({ appOrderId: 'frozen' })).toBe('FAILURE');
    expect((await operate('unfreeze')).code).toBe(0);
    expect(await service.pay({ appOrderId: 'thawed' })).toBe('SUCCESS');
    expect((await fetch(`${service.ops}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${service.ops}/metrics`)).text()).toMatch(
      /journal_entries\{source="shop"\} \d+/,
    );
    expect(await denied(admin)).toEqual([]);
  });

  it('freezes a Redis that lost its data, and is denied nothing', async () => {
    const service = await serviceOn();
    const { operate } = service;
    await pushed(service, 'first');
    await admin.ask('FLUSHALL');
    await eventually('the service froze the store', async () => {
      const frozen = await admin.ask('HGET', 'countersign:{global}:in-force', 'freezes');
      return String(frozen).includes('data was lost') ? true : undefined;
    });
    expect(await service.pay({ appOrderId: 'first' })).toBe('FAILURE');
    expect((await operate('policy', 'push', '--message', 'again')).code).toBe(0);
    expect((await operate('unfreeze', '--acknowledge-loss')).code).toBe(0);
    await eventually('callbacks are approved again', async () =>
      (await service.pay({ appOrderId: 'second' })) === 'SUCCESS' ? true : undefined,
    );
    expect(await denied(admin)).toEqual([]);
  });

  it('reconciles what it decided, and is denied nothing', async () => {
    const service = await serviceOn();
    const { folder } = service;
    await pushed(service, 'paid');
    const { runWith, write } = placeIn(folder);
    const nowMs = Date.now();
    const clock = (): number => nowMs + 2 * DAY_MS;
    const day = dateAt(nowMs, 'UTC');
    const times = { createTime: String(nowMs), payTime: String(nowMs) };
    const unknown = billed({ id: 'never-asked' }, times);
    const bill = write('bill.jsonl', jsonBill([unknown]));
    const argv = ['--day', day, '--zone', 'UTC', '--bill', bill, '--directory', join(folder, 'runs')];
    mkdirSync(join(folder, 'runs'));
    const { code, err, json } = await runWith({ clock })('reconcile', ...argv, '--json');
    expect([code, err]).toEqual([1, '']);
    expect(json()).toMatchObject({ classes: { 'billed-never-approved': 1 } });
    expect(await denied(admin)).toEqual([]);
  });

  it('sets prices over its API only with the rights for that', async () => {
    const service = await serviceOn();
    const putPrices = (): Promise<Response> =>
      fetch(`${service.ops}/api/prices`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ prices: { BTC: { price: '100000' } } }),
      });
    onTestFinished(() => grant(admin, documented.service));
    expect((await putPrices()).status).toBe(503);
    await admin.ask('ACL', 'LOG', 'RESET');
    await grant(admin, documented.prices);
    expect((await putPrices()).status).toBe(200);
    expect(await denied(admin)).toEqual([]);
  });
});

/** Pages of the console that read, and what its forms send, each as the first of its page. */
const PAGES = [
  '',
  'decisions',
  'limits',
  'try',
  'policies',
  'lists',
  'lists/shop/blocked',
  'orders',
  'prices',
  'journal',
];
const ACTS = [
  ['try', { kind: 'payment', userId: '1', amount: '1', symbol: 'USDT1742' }],
  ['freeze', { reason: 'drill', confirmation: 'freeze' }],
  ['unfreeze', { id: 'f1', reason: 'x', confirmation: 'unfreeze' }],
  ['lists/shop/blocked', { how: 'replace', values: '1', message: 'x', version: '1', do: 'change' }],
  ['orders', { kind: 'payment', id: 'o', userId: '1', symbol: 'USDT1742', amount: '1', scheme: 'md5' }],
  ['orders/cancel', { kind: 'payment', id: 'o' }],
  ['prices', { prices: 'BTC 1', version: '0', do: 'change' }],
  ['prices/remove', { asset: 'BTC', version: '1' }],
] as const;

describe('a service with a console', () => {
  it('serves all pages and acts only with the rights for that', async () => {
    const service = await serviceOn();
    const { operate } = service;
    const ask = (path: string, form?: Readonly<Record<string, string>>): Promise<number> =>
      fetch(`${service.ops}/console/${path}`, {
        redirect: 'manual',
        headers: { 'sec-fetch-site': 'same-origin', 'x-person': ADA.name },
        ...(form && { method: 'POST', body: new URLSearchParams(form) }),
      }).then(({ status }) => status);
    onTestFinished(() => grant(admin, documented.service));
    await pushed(service, 'first');
    await operate('list', 'add', '--create', 'blocked', '1', '2', '--source', 'shop');
    expect(await ask('decisions')).toBe(503);
    await admin.ask('ACL', 'LOG', 'RESET');
    await grant(admin, documented.console);
    for (const path of PAGES) expect([path, await ask(path)]).toEqual([path, 200]);
    for (const [path, form] of ACTS) {
      expect([path, await ask(path, form)]).toEqual([path, path === 'try' ? 200 : 303]);
    }
    expect(await denied(admin)).toEqual([]);
  });

  it('says what to do if its user may not do what two people have signed', async () => {
    const client = { host: '127.0.0.1', port: redis.port, username: SERVICE[0], password: SERVICE[1] };
    const store = await openRedisStore({ client, commandTimeoutMs: 5000 });
    onTestFinished(() => store.close());
    const [clock, scope] = [Date.now, { deployment: DEPLOYMENT }];
    const asking = createFourEyes({ acts: ['prices'], ...scope, store: () => Promise.resolve(store), clock });
    const people = (): Promise<People> => Promise.resolve(peopleOf('ada', 'ben'));
    const parts = { store, sources: [], clock, release: undefined, people, scope };
    const by = { by: 'console:ada', fourEyes: asking };
    const set = { prices: [{ asset: 'BTC', price: '1' }] };
    await expect(perform(setPrices, parts, set, by)).rejects.toMatchObject({ code: 'AWAITS_SIGNATURES' });
    const requests = createRequests(store, clock);
    const [{ id, statement } = { id: '', statement: '' }] = (await requests.pending()).requests;
    const sign = (name: string): Promise<unknown> =>
      perform(approveAct, parts, { request: id, signature: signedBy(name, statement) }, by);
    await sign('ada');
    await expect(sign('ben')).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(
        /give it the rights that docs\/redis\.md lists under Users.* Request r\w+ is over: make it again$/,
      ),
    });
    expect((await store.prices()).prices.size).toBe(0);
    expect(await requests.find(id)).toMatchObject({
      state: 'done',
      reason: expect.stringMatching(/^failed: /),
    });
    await expect(sign('ben')).rejects.toMatchObject({ code: 'REQUEST_ENDED' });
  });

  it('pushes policies only with the rights for that', async () => {
    const service = await serviceOn();
    const { store } = service;
    const push = async (): Promise<unknown> => {
      const { revision } = await store.control();
      const document = JSON.stringify({ format: 1 });
      return store
        .push({ revision: 'a'.repeat(64), document, expected: revision, by: 'console:ada', message: 'x' })
        .then(
          ({ outcome }) => outcome,
          () => 'denied',
        );
    };
    onTestFinished(() => grant(admin, documented.service));
    await grant(admin, documented.console);
    expect(await push()).toBe('denied');
    await admin.ask('ACL', 'LOG', 'RESET');
    await grant(admin, documented.push);
    expect(await push()).toBe('in-force');
    expect(await denied(admin)).toEqual([]);
  });
});

const TOKEN = 'token-of-the-api';
const ADA = { name: 'ada', roles: ['operate'] };

/** A service that runs as the service's user, with the command line as the operator's. */
async function serviceOn(): Promise<TestService & { readonly operate: Run }> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-acl-'));
  const write = (name: string, text: string): { file: string } => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return { file: join(folder, name) };
  };
  const service = await startTestService({
    folder,
    settings: {
      store: {
        url: redis.url,
        username: SERVICE[0],
        password: write('redis.password', SERVICE[1]),
        // The command line reads them as well.
        commandTimeoutMs: 10_000,
        connectTimeoutMs: 10_000,
      },
      ops: { port: '0', token: write('api.token', TOKEN) },
      policies: { directory: join(folder, 'policies'), push: 'never' },
      console: { proxy: { header: 'x-person', addresses: ['127.0.0.1'], people: [ADA] } },
    },
  });
  onTestFinished(() => service.stop());
  const env = {
    COUNTERSIGN_STORE_USERNAME: OPERATOR[0],
    COUNTERSIGN_STORE_PASSWORD_FILE: write('operator.password', OPERATOR[1]).file,
  };
  return { ...service, operate: placeIn(folder).runWith({ env, clock: Date.now }) };
}

/** Pushes policies, and waits until the service follows them: then it approves this order. */
async function pushed(service: Awaited<ReturnType<typeof serviceOn>>, appOrderId: string): Promise<void> {
  expect((await service.operate('policy', 'push', '--message', 'first')).code).toBe(0);
  await eventually('policies are followed', async () =>
    (await service.pay({ appOrderId })) === 'SUCCESS' ? true : undefined,
  );
}

async function announce({ ops }: TestService): Promise<number> {
  const order = { source: 'shop', kind: 'payment', id: 'o-9' };
  const members = { userId: '12345', symbol: 'USDT1742', amount: '5', scheme: 'md5' };
  const { status } = await fetch(`${ops}/api/orders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...order, members }),
  });
  return status;
}

describe('the command line with these rights', () => {
  it('does all that it can do on a store, and is denied nothing', async () => {
    const service = await serviceOn();
    const { operate, folder } = service;
    const calls = `
      policy push --message first
      policy diff
      policy history
      policy show
      list add --create blocked 1 2 --source shop
      list remove blocked 1 --source shop
      list show
      list show blocked --source shop
      orders expect payment o-1 --symbol USDT1742 --amount 5 --user 1 --scheme md5
      orders show payment o-1
      orders cancel payment o-1
      prices set BTC 100000
      prices show
      prices remove BTC
      freeze drill
      unfreeze
      decisions search --newest
      decisions search --since 1h --subject payment:o-2
      decisions export --to FOLDER/decisions.jsonl
      policy backtest --from-file FOLDER/decisions.jsonl
      journal archive --to FOLDER --older-than 1h
      journal verify FOLDER
      doctor
    `;
    expect((await operate('policy', 'push', '--message', 'zeroth')).code).toBe(0);
    await service.pay({ appOrderId: 'o-2' });
    const lines = calls.replaceAll('FOLDER', folder).trim().split('\n');
    for (const call of lines.map((line) => line.trim().split(' '))) {
      const { code, err } = await operate(...call);
      expect({ call, code, err: code === 2 ? err : '' }).toEqual({
        call,
        code: expect.any(Number),
        err: '',
      });
    }
    expect(await denied(admin)).toEqual([]);
  });
});

/** DEBUG, and FLUSHALL within a script, are denied to everybody. */
const NOT_PERMITTED = /NOPERM|No permissions|can't (?:run|access)|not allowed/i;

describe('what is not granted is denied:', () => {
  const PLAIN =
    'FLUSHALL, FLUSHDB, CONFIG GET dir, CONFIG SET maxmemory-policy allkeys-lru, KEYS *, SCAN 0, ' +
    'ACL LIST, ACL SETUSER countersign +@all, SCRIPT FLUSH, FUNCTION LIST, CLIENT LIST, MONITOR, ' +
    'SHUTDOWN NOSAVE, DEBUG SLEEP 0, REPLICAOF NO ONE, SAVE, BGREWRITEAOF, MODULE LIST, ' +
    'RENAME countersign:{shop}:journal countersign:{shop}:x, HGET another:{shop}:control revision, ' +
    'HSET another a 1, PUBLISH another x, SUBSCRIBE another';
  const FORBIDDEN = [
    ...PLAIN.split(', ').map((call) => call.split(' ')),
    ['EVAL', "return redis.call('FLUSHALL')", '0'],
    ['EVAL', "return redis.call('HGET', 'another', 'a')", '0'],
    ['EVAL', "return redis.call('HSET', KEYS[1], 'a', '1')", '1', 'another'],
  ];

  it.each(
    USERS.flatMap(([name, user]) => FORBIDDEN.map((call) => [name, call.join(' '), user, call] as const)),
  )('to %s, %s', async (_name, _text, user, call) => {
    const client = clientOf(redis.port, ...user);
    const [command = '', ...args] = call;
    await expect(client.call(command, args)).rejects.toThrow(NOT_PERMITTED);
  });

  it.each([
    ['HSET', 'countersign:{global}:documents', 'a', 'b'],
    ['HGET', 'countersign:{global}:history', 'a'],
    ['EVAL', "return redis.call('HSET', KEYS[1], 'a', '1')", '1', 'countersign:{global}:documents'],
    ['EVAL', "return redis.call('HSET', 'countersign:{global}:documents', 'a', '1')", '0'],
    ['LPUSH', 'countersign:{global}:history', 'a'],
    ['HSET', 'countersign:{global}:prices', 'a', 'b'],
    ['XTRIM', 'countersign:{shop}:journal', 'MAXLEN', '0'],
    ['XDEL', 'countersign:{shop}:journal', '1-1'],
    ['DEL', 'countersign:{global}:documents'],
    ['HGET', 'countersign:{shop}:whatever', 'a'],
  ])('to the service alone, %s %s', async (command, ...args) => {
    const client = clientOf(redis.port, ...SERVICE);
    await expect(client.call(command, args)).rejects.toThrow(NOT_PERMITTED);
  });

  it('to whoever has a wrong password, everything', async () => {
    const client = new Redis({
      host: '127.0.0.1',
      port: redis.port,
      username: SERVICE[0],
      password: 'wrong',
      retryStrategy: null,
      lazyConnect: true,
    });
    client.on('error', () => {});
    await expect(client.connect()).rejects.toThrow(/WRONGPASS|closed/);
  });
});
