import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { failure } from '../../src/errors.ts';
import type { PipelineParts } from '../../src/pipeline/pipeline.ts';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { createFollower } from '../../src/release/follow.ts';
import { pushRelease } from '../../src/release/push.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../eventually.ts';
import { signedPayment } from '../service.ts';
import { authenticatorOf, md5By, shop } from '../signature/sources.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { never, paymentArrival, stubPipeline } from './stub.ts';

/*
 * While people decide, other things may happen after which a repeat of the callback would not be decided.
 */

const NOW_MS = 1_790_000_000_000;
const clock = (): number => NOW_MS;
const ID = 'payment:o-1';
const FILES = {
  'one.yaml': `policy: one
callback: payment
rules: [{ approval: { by: treasury, quorum: 1, within: 1h, wait: 60s } }]
`,
  'people.yaml': 'people: { ada: { roles: [approve] } }\ngroups: { treasury: [ada] }\n',
};

const authenticator = authenticatorOf([{ ...shop(md5By('A')), appKey: 'test-shop' }], { A: 'a-secret' });

async function openedStore(): Promise<Store> {
  const store = await openEmbeddedStore({ path: join(temporaryFolder(), 'store.db'), clock });
  onTestFinished(() => store.close());
  await store.register(['shop']);
  const files = Object.entries(FILES).map(([name, text]) => ({ name, text }));
  const compiled = readPolicyFiles(files, () => undefined);
  if (!compiled.ok) throw new Error('the policies are wrong');
  await pushRelease(store, { release: compiled.release, expected: '', by: 'ada', message: '' });
  return store;
}

/** What people do with the only request. */
const written = (store: Store, expected: number): Promise<boolean> =>
  store
    .changeApprovalRequest({ scope: 'shop', id: ID, expected, value: '', isOpen: true, keepMs: 3_600_000 })
    .then(({ done }) => done);

/** The answer to a callback of which people are asked, then this happens, and then ada approves it. */
async function answerAfter(
  happens: (may: {
    connected: boolean;
    stopping: boolean;
    ready: boolean;
    keys: typeof authenticator;
  }) => void,
): Promise<{ readonly body: string; readonly verdicts: readonly string[] }> {
  const store = await openedStore();
  const policies = createFollower({ store, pollMs: 3_600_000, clock });
  await policies.refresh();
  const people: PipelineParts['people'] = {
    ask: () => written(store, 0),
    async said() {
      const request = await store.approvalRequest('shop', ID);
      if (request === undefined) return undefined;
      const approvers = request.version > 1 ? ['ada'] : [];
      const times = { createdAtMs: NOW_MS, expiresAtMs: NOW_MS + 3_600_000 };
      return { id: ID, version: request.version, approvers, ...times, because: '' };
    },
  };
  const now = { connected: true, stopping: false, ready: true, keys: authenticator };
  const pipeline = stubPipeline({
    store,
    policies,
    people,
    clock,
    authenticator: () => now.keys,
    isStopping: () => now.stopping,
    notReady: () => (now.ready ? undefined : failure('NOT_READY', 'the store has lost data')),
    ask: never,
    answerTimeoutMs: 60_000,
  });
  const body = signedPayment({}, { secret: 'a-secret' });
  const reply = pipeline.receive(paymentArrival(body, { isConnected: () => now.connected }));
  await eventually('people are asked', () => store.approvalRequest('shop', ID));
  happens(now);
  expect(await written(store, 1)).toBe(true);
  const { answer, delivered } = await reply;
  delivered(true);
  await pipeline.idle();
  const entries = await store.entries({ source: 'shop', limit: 10 });
  return { body: answer.body, verdicts: entries.map(({ verdict }) => verdict) };
}

it('a callback that is held is approved once people have approved it', async () => {
  const { body, verdicts } = await answerAfter(() => undefined);
  expect(body).toBe('SUCCESS');
  expect(verdicts).toEqual(['FAILURE', 'SUCCESS']);
});

it.each<[string, Parameters<typeof answerAfter>[0]]>([
  ['its key has been replaced', (now) => (now.keys = { ...authenticator })],
  ['the store may not decide any more', (now) => (now.ready = false)],
  ['the service stops', (now) => (now.stopping = true)],
  ['its client is gone', (now) => (now.connected = false)],
])('a callback that is held is not decided again if %s', async (_, happens) => {
  const { body, verdicts } = await answerAfter(happens);
  expect(body).toBe('FAILURE');
  expect(verdicts).toEqual(['FAILURE']);
});

it('a callback about which nobody can be asked is decided once, whatever request the store has', async () => {
  const store = await openedStore();
  await written(store, 0);
  await written(store, 1);
  const policies = createFollower({ store, pollMs: 3_600_000, clock });
  await policies.refresh();
  // As without a deployment: the request is not read.
  const said = {
    id: ID,
    version: 0,
    approvers: [],
    createdAtMs: 0,
    expiresAtMs: 0,
    because: 'nobody can sign',
  };
  const pipeline = stubPipeline({
    store,
    policies,
    people: { ask: () => Promise.resolve(false), said: () => Promise.resolve(said) },
    clock,
    authenticator: () => authenticator,
    notReady: () => undefined,
    ask: never,
    answerTimeoutMs: 2000,
  });
  const { answer, delivered } = await pipeline.receive(
    paymentArrival(signedPayment({}, { secret: 'a-secret' })),
  );
  delivered(true);
  await pipeline.idle();
  expect(answer.body).toBe('FAILURE');
  expect(await store.entries({ source: 'shop', limit: 10 })).toHaveLength(2);
});
