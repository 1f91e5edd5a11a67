import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import { readTestFiles } from '../../src/policy/suite/read.ts';
import type { PolicyTest } from '../../src/policy/suite/suite.ts';
import { type Found, runTests } from '../../src/simulation/run-tests.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { runOn } from './staged.ts';

/*
 * An order is refused, and asked about again when nothing but time has passed. Another order with the same
 * terms, that was never asked about, shows what a new decision would be.
 */

const RUNS = 25;
const POLICIES = { minLength: 1, maxLength: 2 };
const UNHURRIED = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 };
const NOW = '2026-03-02T10:00:00Z';
const before = (minutes: number): string => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();

// ---- policies, as JSON, which is YAML ----

type Written = Readonly<Record<string, unknown>>;
const oneOf = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

const hours = oneOf('09:30-10:30', '10:30-11:30', '10:07-10:08', '00:00-10:00', '22:00-06:00');
const window = oneOf('10m', '15m', '1h', '2h', 'day');
const amount = oneOf('50', '100', '150', '250');
const conditions: fc.Arbitrary<Written> = fc
  .record(
    {
      amount: oneOf({ above: '50' }, { atMost: '99' }, { atLeast: '100' }),
      during: fc.record({ zone: fc.constant('UTC'), hours }),
      value: oneOf({ above: '500', maxAge: '1h' }, { atMost: '500', maxAge: '30m' }),
      userId: oneOf('1', '2'),
    },
    { requiredKeys: [] },
  )
  .filter((all) => Object.keys(all).length > 0 && Object.keys(all).length < 3)
  .chain((all) => oneOf<Written>(all, all, { not: all }));

const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: value, weight: 1 }, { arbitrary: fc.constant(undefined), weight: 4 });

/** What refuses because of the time, prices, orders or answers. */
const passing: fc.Arbitrary<Written> = fc.oneof(
  fc.record({ 'window-limit': fc.record({ per: fc.constant(['userId']), window, max: amount }) }),
  fc.record({ 'velocity-limit': fc.record({ window, max: oneOf('1', '2') }) }),
  fc.record({ 'value-limit': fc.record({ max: oneOf('300', '1000'), maxAge: oneOf('30m', '1h') }) }),
  fc.record({
    'value-limit': fc.record({ max: oneOf('300', '1000'), maxAge: fc.constant('1h'), window }),
  }),
  fc.record({ schedule: fc.record({ zone: fc.constant('UTC'), hours }) }),
  fc.record({
    'cooling-period': fc.record({
      of: fc.constant('userId'),
      list: oneOf('a', 'b'),
      for: oneOf('30m', '1h'),
    }),
  }),
  fc.constant({ 'first-use-limit': { of: 'userId', max: '60', for: '30m' } }),
  fc.constant({ 'expected-order': {} }),
  fc.record({ ask: fc.record({ service: oneOf('willing', 'unwilling') }) }),
);
const lasting: fc.Arbitrary<Written> = fc.oneof(
  fc.record({ 'amount-limit': fc.record({ max: amount }) }),
  fc.record({ 'deny-list': fc.record({ of: fc.constant('userId'), list: oneOf('a', 'b') }) }),
  fc.record({ 'allow-list': fc.record({ of: fc.constant('userId'), list: oneOf('a', 'b') }) }),
  fc.constant({ expression: { require: 'amount <= decimal("100")' } }),
  fc.constant({ pass: { because: 'it is one' } }),
  // It covers nothing, and there are never so many refusals.
  fc.constant({ 'lock-out': { after: 100, within: '1h', for: '1h' } }),
);
const rule = fc.oneof({ arbitrary: passing, weight: 4 }, { arbitrary: lasting, weight: 1 });

const { entry } = fc.letrec<{ readonly entry: Written }>((tie) => ({
  entry: fc
    .tuple(
      fc.oneof(
        { maxDepth: 2, depthSize: 'small' },
        rule,
        fc.record({ any: fc.array(tie('entry'), { minLength: 1, maxLength: 3 }) }),
        fc.record({ all: fc.array(tie('entry'), { minLength: 1, maxLength: 3 }) }),
      ),
      seldom(conditions),
    )
    .map(([written, when]) => ({ ...written, ...(when && { when }) })),
}));

const anyPolicy: fc.Arbitrary<Written> = fc
  .tuple(fc.array(entry, { minLength: 1, maxLength: 2 }), seldom(conditions))
  .map(([rules, when = {}]) => ({
    callback: 'payment',
    when: { ...when, symbol: 'USDT' },
    rules,
  }));

interface Payment {
  readonly userId: string;
  readonly orderAmount: string;
}

interface Case {
  readonly policies: readonly Written[];
  readonly given: object;
  readonly expires: string;
  /** What was paid before. */
  readonly earlier: readonly Payment[];
  readonly asked: Payment;
  /** When it is asked again: minutes after the time before. */
  readonly minutes: readonly number[];
}

const payment: fc.Arbitrary<Payment> = fc.record({
  userId: oneOf('1', '2'),
  orderAmount: oneOf('40', '100', '150'),
});

const given = fc.record({
  lists: fc.record({
    shop: fc.record({
      a: fc.array(fc.record({ value: oneOf('1', '2'), added: oneOf(before(50), before(10)) }), {
        maxLength: 1,
      }),
      b: fc.array(oneOf('1', '2'), { maxLength: 1 }),
    }),
  }),
  prices: fc.record({
    USDT: fc.record({ price: oneOf('1', '7'), asOf: oneOf(before(50), before(25), before(0)) }),
  }),
  answers: fc.constant({ service: { willing: 'yes', unwilling: 'no' } }),
});

const casesOf = (policies: fc.Arbitrary<readonly Written[]>): fc.Arbitrary<Case> =>
  fc
    .record({
      policies,
      given,
      expires: oneOf(before(-20), before(-10_000)),
      earlier: fc.array(payment, { maxLength: 3 }),
      asked: payment,
      minutes: fc.array(oneOf(0, 1, 12, 25, 61, 180, 900), { minLength: 1, maxLength: 4 }),
    })
    .filter((each) => compiled(each) !== undefined);

/** Undefined for policies that are a fault, such as two rules with one counter. */
function compiled({ policies }: Pick<Case, 'policies'>): Release | undefined {
  const text = policies
    .map((each, at) => JSON.stringify({ policy: `policy-${at + 1}`, ...each }))
    .join('\n---\n');
  const read = readPolicyFiles([{ name: 'policies.yaml', text }], () => undefined);
  return read.ok ? read.release : undefined;
}

/** The earlier payments, and then the order at each of the times. */
function testOf({ given: state, expires, earlier, asked }: Case, minutes: readonly number[]): PolicyTest {
  const [source, symbol, scheme] = ['shop', 'USDT', 'md5'];
  const paid = earlier.map((each, at) => ({ ...each, appOrderId: `earlier-${at}`, after: '0s' }));
  const again = minutes.map((after) => ({ ...asked, appOrderId: 'asked', after: `${after}m` }));
  const all = [...paid, ...again];
  const orders = [...new Map(all.map((each) => [each.appOrderId, each])).values()].map(
    ({ appOrderId, userId, orderAmount }) => ({
      source,
      payment: appOrderId,
      members: { userId, symbol, amount: orderAmount, scheme },
      expires,
    }),
  );
  const callbacks = all.map(({ after, ...members }) => ({
    source,
    scheme,
    after,
    payment: { ...members, payCoinSymbol: symbol },
    expect: 'SUCCESS',
  }));
  const test = { test: 'asking again', now: NOW, given: { ...state, orders }, callbacks };
  const text = JSON.stringify({ tests: [test] });
  const read = readTestFiles([{ name: 'again.test.yaml', text }]);
  const [only] = read.ok ? read.tests : [];
  if (only === undefined) throw new Error(`${JSON.stringify(read)} in ${text}`);
  return only;
}

interface Asked {
  readonly found: Found;
  /** Every enforcing rule that refuses. */
  readonly refusing: readonly string[];
}

function releaseOf(each: Case): Release {
  const release = compiled(each);
  if (release === undefined) throw new Error('the policies are a fault');
  return release;
}

function simulated(each: Case, minutes: readonly number[]): readonly Asked[] {
  const [result] = runTests(releaseOf(each), [testOf(each, minutes)]).tests;
  return (result?.callbacks ?? []).slice(each.earlier.length).map(({ found, rules }) => ({
    found,
    refusing: rules
      .filter((one) => one.mode === 'enforce' && one.verdict === 'FAILURE' && one.asked)
      .map(({ policy, rule: name }) => `${policy}/${name}`),
  }));
}

/** What an order with these terms would get then that nobody asked about before. */
function newlyAsked(each: Case, atMinute: number): Asked {
  const [asked] = simulated(each, [atMinute]);
  if (asked === undefined) throw new Error('nothing was asked');
  return asked;
}

/** A rule that refuses until a push or a change of a list, or alternatives that may have such rules. */
const LASTING = /\/(?:amount-limit|deny-list|allow-list|expression|any|all)#/;
const WEEK = 7 * 1440;
const sum = (minutes: readonly number[]): number => minutes.reduce((all, each) => all + each, 0);

/** Runs on until chance has been everywhere. */
async function assertUntil(property: fc.IAsyncProperty<[Case]>, done: () => boolean): Promise<void> {
  for (let times = 0; times < 16; times++) {
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
    if (done()) return;
  }
  throw new Error('chance has not been everywhere');
}

describe.each(['embedded', 'redis'] as const)('when only time has passed, on %s,', (kind) => {
  let redis: RedisServerProcess | undefined;
  let folder = '';
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
    folder = mkdtempSync(join(tmpdir(), 'countersign-retryable-'));
  });
  afterAll(async () => {
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What the store decides; the same as in the simulation. */
  async function decided(each: Case, minutes: readonly number[]): Promise<readonly Asked[]> {
    let nowMs = 0;
    const clock = (): number => nowMs;
    const setClock = (atMs: number): void => void (nowMs = atMs);
    const name = randomUUID();
    const store = await (redis === undefined
      ? openEmbeddedStore({ path: join(folder, `${name}.db`), clock })
      : openRedisStore({ url: redis.url, prefix: name, clock, ...UNHURRIED }));
    try {
      const found = await runOn({ store, clock, setClock }, releaseOf(each), testOf(each, minutes));
      const expected = simulated(each, minutes);
      expect(found.slice(each.earlier.length)).toEqual(expected.map((asked) => asked.found));
      return expected;
    } finally {
      await store.close();
    }
  }

  it('an order that was refused gets what a new order would get', { timeout: 240_000 }, async () => {
    const seen = { lifted: 0, same: 0, lasting: 0 };
    const property = fc.asyncProperty(casesOf(fc.array(anyPolicy, POLICIES)), async (each) => {
      const all = [0, ...each.minutes];
      const approvedAt = simulated(each, all).findIndex(({ found }) => found.verdict === 'SUCCESS');
      fc.pre(approvedAt !== 0);
      const minutes = approvedAt === -1 ? all : all.slice(0, approvedAt + 1);
      const { found } = (await decided(each, minutes)).at(-1) ?? newlyAsked(each, 0);
      const fresh = newlyAsked(each, sum(minutes));
      expect(found.verdict).toBe(fresh.found.verdict);
      const isSame = found.code === fresh.found.code && found.rule === fresh.found.rule;
      seen[found.verdict === 'SUCCESS' ? 'lifted' : isSame ? 'same' : 'lasting']++;
      // It is told what stands in the way, where a new order is told of the first rule that refuses.
      const later = isSame ? fresh : newlyAsked(each, sum(minutes) + WEEK);
      const standing = [fresh, later].every(({ refusing }) => refusing.includes(found.rule ?? ''));
      const isLasting = found.rule === undefined || (LASTING.test(found.rule) && standing);
      expect(isSame || (isLasting && later.found.verdict === 'FAILURE')).toBe(true);
    });
    await assertUntil(property, () => Math.min(...Object.values(seen)) > 0);
  });
});
