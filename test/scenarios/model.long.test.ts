import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plainAnswer } from '../../src/callback/answer.ts';
import { authenticatorOf } from '../../src/start/sources.ts';
import type { Route } from '../../src/pipeline/arrival.ts';
import { type Pipeline, createPipeline } from '../../src/pipeline/pipeline.ts';
import { createFollower } from '../../src/release/follow.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { createSecrets } from '../../src/settings/secrets.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { Store } from '../../src/store/store.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { VAULT_TOKEN, writeServiceFolder } from '../service.ts';
import type { Asked } from './model-callbacks.ts';
import { scripts } from './model-commands.ts';
import { type Rig, runScript } from './model-run.ts';

/** Not far from the end of a year, so that calendar windows end as well. */
const START_MS = Date.UTC(2028, 11, 31, 20, 30, 17, 123);
/** A busy machine is no fault here. */
const UNHURRIED = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 };

const everyOutcome = [
  'decision FAILURE FROZEN',
  'decision FAILURE NO_POLICY',
  'decision FAILURE NOTHING_IN_FORCE',
  'decision FAILURE RELEASED',
  'decision FAILURE RULE_REFUSED',
  'decision FAILURE TERMS_CHANGED',
  'decision SUCCESS APPROVED',
  'notice FAILURE FROZEN',
  'notice FAILURE SIGNED_AFTER_RELEASE',
  'notice FAILURE SIGNED_WITHOUT_APPROVAL',
  'notice FAILURE TXID_UNEXPECTED',
  'notice SUCCESS NOTED',
  'repeat FAILURE NO_POLICY',
  'repeat FAILURE NOTHING_IN_FORCE',
  'repeat FAILURE RULE_REFUSED',
  'repeat SUCCESS APPROVED',
];

const everyClaim = [
  'aged absent',
  'aged holds',
  'aged missing',
  'aged young',
  'distinct fails, further',
  'distinct holds, further',
  'distinct holds, known',
  'list fails',
  'list holds',
  'list missing',
  'mark fails',
  'mark fails, never made',
  'mark holds',
  'mark holds, never made',
  'not checked',
  'order agrees',
  'order cancelled',
  'order differs',
  'order expired',
  'order missing',
  'speed-up again',
  'speed-up holds',
  'speed-up late',
  'speed-up of nothing',
  'window fails',
  'window holds',
  'window reserved, fails',
  'window reserved, holds',
];

/** This happens too seldom to wait for. */
const RARE: ReadonlySet<string> = new Set(['distinct fails, known']);

const everyChoice = [
  'approved before, and none holds now',
  'lifted by a list',
  'lifted by time',
  'none held',
  'repeated by another',
  'repeated by the same',
  'started by another',
  'started by the same',
  'took a later one',
  'took the first',
];

const routes: Readonly<Record<Asked['kind'], Route>> = {
  payment: { callback: 'payment' },
  transfer: { callback: 'cosigner', source: 'vault', expected: ['transfer'] },
  web3: { callback: 'cosigner', source: 'vault', expected: ['web3'] },
};

describe.each(['embedded', 'redis'] as const)(
  'whatever happens, it is decided as the model says, on %s',
  (kind) => {
    let redis: RedisServerProcess | undefined;
    let folder = '';
    beforeAll(async () => {
      redis = kind === 'redis' ? await startRedisServer() : undefined;
      folder = writeServiceFolder({ group: 'all' });
    });
    afterAll(async () => {
      await redis?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    function openStore(name: string, clock: () => number): Promise<Store> {
      return redis === undefined
        ? openEmbeddedStore({ path: join(folder, `${name}.db`), clock })
        : openRedisStore({ url: redis.url, prefix: name, clock, ...UNHURRIED });
    }

    it('over two replicas, step by step', { timeout: 360_000 }, async () => {
      const outcomes: string[] = [];
      const claims = new Set<string>();
      const choices = new Set<string>();
      const property = fc.asyncProperty(scripts, async (commands) => {
        const rig = await startRig(folder, openStore);
        try {
          const came = await runScript(rig, commands);
          outcomes.push(...came.callbacks);
          for (const fared of came.claims) if (!RARE.has(fared)) claims.add(fared);
          for (const fared of came.choices) choices.add(fared);
        } finally {
          await rig.close();
        }
      });
      await fc.assert(property, { numRuns: 70, endOnFailure: true });
      const beenEverywhere = (): boolean =>
        new Set(outcomes).size >= everyOutcome.length &&
        claims.size >= everyClaim.length &&
        choices.size >= everyChoice.length;
      for (let more = 0; more < 30 && !beenEverywhere(); more++) {
        await fc.assert(property, { numRuns: 10, endOnFailure: true });
      }
      expect(outcomes.length).toBeGreaterThan(5000);
      // Chance has been everywhere.
      expect([...new Set(outcomes)].toSorted((a, b) => a.localeCompare(b))).toEqual(everyOutcome);
      expect([...claims].toSorted((a, b) => a.localeCompare(b))).toEqual(everyClaim);
      expect([...choices].toSorted((a, b) => a.localeCompare(b))).toEqual(everyChoice);
    });
  },
);

/**
 * Two replicas' pipelines in this process, each with its store, and a third handle for whoever operates them.
 */
async function startRig(
  folder: string,
  openStore: (name: string, clock: () => number) => Promise<Store>,
): Promise<Rig & { close(): Promise<void> }> {
  const settings = loadSettings({ file: join(folder, 'settings.yaml'), env: {} });
  const authenticator = authenticatorOf(settings, createSecrets({ env: {} }).read);
  const name = `model-${randomUUID()}`;
  let nowMs = START_MS;
  const clock = (): number => nowMs;
  let stores: readonly Store[] = [];
  let pipelines: readonly Pipeline[] = [];

  async function replica(): Promise<Pipeline> {
    const store = await openStore(name, clock);
    stores = [...stores, store];
    await store.register(['shop', 'vault']);
    // It never looks by itself: only settle tells it that something else is in force.
    const follower = createFollower({ store, pollMs: 60_000, clock });
    return createPipeline({
      store,
      authenticator: () => authenticator,
      policies: follower,
      groupOf: () => 'all',
      ask: () => Promise.reject(new Error('nothing is to be asked')),
      notReady: () => undefined,
      onTurnedAway: () => undefined,
      budgets: { report: () => undefined, excessReason: () => undefined },
      capacity: () => 1,
      callbacks: 1000,
      held: 100,
      isStopping: () => false,
      outputs: 200,
      answerFormat: () => plainAnswer,
      report: () => undefined,
      clock,
      answerTimeoutMs: 30_000,
    });
  }
  async function open(): Promise<void> {
    stores = [await openStore(name, clock)];
    pipelines = [await replica(), await replica()];
  }
  async function close(): Promise<void> {
    await Promise.all(pipelines.map((pipeline) => pipeline.idle()));
    await Promise.all(stores.map((store) => store.close()));
  }

  await open();
  return {
    async ask(index, { kind, body }) {
      const pipeline = pipelines[index % pipelines.length];
      if (pipeline === undefined) throw new Error('nothing is open');
      const reply = await pipeline.receive({
        requestId: randomUUID(),
        arrivedMs: performance.now(),
        route: routes[kind],
        path: '/callback',
        address: '127.0.0.1',
        header: (header) => (header === 'authorization' ? VAULT_TOKEN : undefined),
        fromProxy: false,
        pathSecret: undefined,
        certificate: undefined,
        body: () => Promise.resolve(Buffer.from(body)),
        isConnected: () => true,
      });
      reply.delivered(true);
      return reply.answer.body;
    },
    store() {
      const [store] = stores;
      if (store === undefined) throw new Error('nothing is open');
      return store;
    },
    advance(ms) {
      nowMs += ms;
    },
    nowMs: clock,
    async reopen() {
      await close();
      await open();
    },
    close,
  };
}
