import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import { pushRelease } from '../../src/release/push.ts';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { sha256Hex } from '../../src/values/canonical.ts';
import { rawClient } from '../store/redis-under-test.ts';
import { POLICIES, type TestService, transfer, web3 } from '../service.ts';
import { journalOf } from './audit.ts';
import { type StoreHost, describeOnBothStores } from './on-both-stores.ts';
import { behind, readinessAt } from './running.ts';
import { thaw } from '../store/requests.ts';

const paymentsUpTo = (max: number): string =>
  `policy: payments\ncallback: payment\nrules: [{ amount-limit: { max: ${max} } }]\n`;

function releaseOf(files: Readonly<Record<string, string>>): Release {
  const compiled = readPolicyFiles(
    Object.entries(files).map(([name, text]) => ({ name, text })),
    () => undefined,
  );
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.release;
}

const loose = releaseOf({ ...POLICIES, 'payments.yaml': paymentsUpTo(1000) });
const tight = releaseOf({ ...POLICIES, 'payments.yaml': paymentsUpTo(500) });

/** As the command line does it: through a handle of its own, of which the service hears nothing. */
async function push(store: Store, release: Pick<Release, 'revision' | 'document'>): Promise<void> {
  const { revision: expected } = await store.control();
  await pushRelease(store, { release, expected, by: 'the test', message: 'scenario' });
}

/**
 * Payments of 700 without a pause, by `workers`, while `states` come about one after the other. A payment may
 * be answered only as some state that held between its sending and its answer says.
 */
async function contradictions(
  services: readonly TestService[],
  states: readonly { readonly approves: boolean; readonly begin: () => Promise<unknown> }[],
  workers = 6,
): Promise<{ readonly wrong: readonly string[]; readonly answers: ReadonlySet<string> }> {
  let begun = 0;
  let held = 0;
  const load = { over: false };
  const wrong: string[] = [];
  const answers = new Set<string>();
  const work = async (worker: number): Promise<void> => {
    for (let turn = 0; !load.over; turn++) {
      const from = held;
      const service = services[turn % services.length];
      const answer = await service?.pay({ appOrderId: `load-${worker}-${turn}`, orderAmount: '700' });
      const possible = states.slice(Math.max(0, from - 1), begun).map(({ approves }) => approves);
      answers.add(`${answer}`);
      if (!possible.includes(answer === 'SUCCESS'))
        wrong.push(`${worker}-${turn}: ${answer}, ${from} to ${begun}`);
    }
  };
  const [first, ...rest] = states;
  begun = 1;
  await first?.begin();
  held = 1;
  const working = Array.from({ length: workers }, (_, worker) => work(worker));
  for (const { begin } of rest) {
    await services[0]?.pay({ appOrderId: `between-${begun}`, orderAmount: '700' });
    begun++;
    await begin();
    held = begun;
  }
  load.over = true;
  await Promise.all(working);
  return { wrong, answers };
}

const alternating = <T>(count: number, one: T, other: T): readonly T[] =>
  Array.from({ length: count }, (_, index) => (index % 2 === 0 ? one : other));

/** Damage to what is in force, done to the store's data themselves. */
const damages: Readonly<
  Record<
    StoreHost['kind'],
    Readonly<Record<string, (service: TestService, host: StoreHost) => Promise<unknown>>>
  >
> = {
  embedded: {
    'the control row names a revision that is not there': async ({ folder }) =>
      behind(folder).exec(`UPDATE control SET revision = '${'f'.repeat(64)}'`),
    'the control row is gone': async ({ folder }) => behind(folder).exec('DELETE FROM control'),
  },
  redis: {
    'the source’s control names a revision that is not there': (service, host) =>
      rawClient(host.redis()).hset(`${host.prefixOf(service)}:{shop}:control`, 'revision', 'f'.repeat(64)),
    'what is in force is gone': (service, host) => {
      const prefix = host.prefixOf(service);
      return rawClient(host.redis()).del(`${prefix}:{global}:in-force`, `${prefix}:{shop}:control`);
    },
    'everything is gone': (_service, host) => rawClient(host.redis()).flushall(),
  },
};

describeOnBothStores('no SUCCESS while frozen', (host) => {
  it('from the moment that freeze returns, for anything, on every replica', async () => {
    const one = await host.start();
    const two = await host.start({}, one);
    expect(await one.pay({ appOrderId: 'before' })).toBe('SUCCESS');
    expect(await one.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
    await one.store.freeze({ reason: 'incident', by: 'ada' });
    for (const service of [one, two]) {
      expect(await service.pay({ appOrderId: 'before' })).toBe('FAILURE');
      expect(await service.pay({ appOrderId: 'during' }, 'rsa-envelope')).toBe('FAILURE');
      expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('FAILURE');
      expect(await service.cosign('/cosigner/withdraw', transfer({ pending_round: true }))).toBe('FAILURE');
      expect(
        await service.cosign('/cosigner/withdraw', transfer({ type: 'sign_success', txid: '0x1' })),
      ).toBe('FAILURE');
      expect(await service.cosign('/cosigner/web3', web3())).toBe('FAILURE');
    }
    await push(one.store, tight);
    expect(await two.pay({ appOrderId: 'pushed' })).toBe('FAILURE');
    await thaw(one.store);
    for (const appOrderId of ['before', 'during', 'pushed'])
      expect(await two.pay({ appOrderId })).toBe('SUCCESS');
  });

  it('after a restart', async () => {
    const first = await host.start();
    await first.store.freeze({ reason: 'incident', by: 'ada' });
    await first.stop({ keep: true });
    const second = await host.start({}, first);
    expect(await second.pay({})).toBe('FAILURE');
    expect(await second.cosign('/cosigner/web3', web3())).toBe('FAILURE');
  });

  it('however often it is frozen and unfrozen under load', async () => {
    const one = await host.start();
    const two = await host.start({}, one);
    const limitless = releaseOf({ 'payments.yaml': paymentsUpTo(1000) });
    await push(one.store, limitless);
    const { wrong, answers } = await contradictions(
      [one, two],
      alternating(
        16,
        { approves: true, begin: () => thaw(one.store) },
        { approves: false, begin: () => one.store.freeze({ reason: 'drill', by: 'ada' }) },
      ),
    );
    expect(wrong).toEqual([]);
    expect(answers).toEqual(new Set(['SUCCESS', 'FAILURE']));
  });
});

describeOnBothStores('no SUCCESS under a revision that is no longer in force', (host) => {
  it('from the first callback after a push on', async () => {
    // Nothing but settle can tell the service of the push in time.
    const settings = { policies: { directory: '', pollMs: 60_000 } };
    const folderless = await host.start();
    const directory = join(folderless.folder, 'policies');
    const service = await host.start(
      { settings: { policies: { ...settings.policies, directory } } },
      folderless,
    );
    await push(service.store, loose);
    expect(await service.pay({ appOrderId: 'a', orderAmount: '700' })).toBe('SUCCESS');
    await push(service.store, tight);
    expect(await service.pay({ appOrderId: 'b', orderAmount: '700' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'a', orderAmount: '700' })).toBe('FAILURE');
    await push(service.store, loose);
    expect(await service.pay({ appOrderId: 'b', orderAmount: '700' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'a', orderAmount: '700' })).toBe('SUCCESS');
  });

  it('however often others are pushed under load, and the journal says which it was', async () => {
    const one = await host.start();
    const two = await host.start({}, one);
    const pushes: { readonly revision: string; readonly begunMs: number; readonly heldMs: number }[] = [];
    const pushed = (store: Store, release: Release) => async (): Promise<void> => {
      const begunMs = Date.now();
      await push(store, release);
      pushes.push({ revision: release.revision, begunMs, heldMs: Date.now() });
    };
    const { wrong, answers } = await contradictions(
      [one, two],
      alternating(
        16,
        { approves: true, begin: pushed(one.store, loose) },
        { approves: false, begin: pushed(two.store, tight) },
      ),
    );
    expect(wrong).toEqual([]);
    expect(answers).toEqual(new Set(['SUCCESS', 'FAILURE']));

    // A push takes effect between its begin and its end; the store and this process read one clock.
    const wasInForce = ({ revision, atMs }: JournalEntry): boolean =>
      pushes.some(
        (each, index) =>
          each.revision === revision &&
          each.begunMs <= atMs &&
          atMs <= (pushes[index + 1]?.heldMs ?? Infinity),
      );
    const approved = (await journalOf(one.store)).filter(({ verdict }) => verdict === 'SUCCESS');
    expect(approved.filter((entry) => !wasInForce(entry))).toEqual([]);
    expect(new Set(approved.map(({ revision }) => revision))).toEqual(new Set([loose.revision]));
  });
});

describeOnBothStores('no SUCCESS without a policy that applies', (host) => {
  it('if none names the callback, or those that do only observe', async () => {
    const service = await host.start({
      policies: {
        'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules: [{ amount-limit: { max: 1000 } }]
---
policy: observed
callback: payment
when: { symbol: OBSERVED }
rules: [{ amount-limit: { max: 1000 }, mode: observe }]
---
policy: another-source
callback: payment
when: { source: elsewhere }
rules: [{ amount-limit: { max: 1000 } }]
`,
      },
    });
    expect(await service.pay({ payCoinSymbol: 'USDT1742' })).toBe('SUCCESS');
    for (const payCoinSymbol of ['USDT1743', 'usdt1742', 'OBSERVED'])
      expect(await service.pay({ appOrderId: payCoinSymbol, payCoinSymbol })).toBe('FAILURE');
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('FAILURE');
    expect(await service.cosign('/cosigner/web3', web3())).toBe('FAILURE');
    const journal = [...(await journalOf(service.store)), ...(await journalOf(service.store, 'vault'))];
    expect(journal.map(({ code }) => code)).toEqual([
      'APPROVED',
      ...Array.from({ length: 5 }, () => 'NO_POLICY'),
    ]);
  });

  it('if nothing is in force, also after a restart, until something is pushed', async () => {
    const first = await host.start();
    const directory = join(first.folder, 'policies');
    const bare = { settings: { policies: { directory, push: 'never' } } };
    const service = await host.start(bare);
    expect(await service.pay({})).toBe('FAILURE');
    expect(await service.cosign('/cosigner/web3', web3())).toBe('FAILURE');
    expect((await readinessAt(service.ops)).status).toBe(503);
    await service.stop({ keep: true });
    const again = await host.start(bare, service);
    expect(await again.pay({})).toBe('FAILURE');
    const codes = (await journalOf(again.store)).map(({ code }) => code);
    expect(codes).toEqual(['NOTHING_IN_FORCE', 'NOTHING_IN_FORCE']);
    await push(again.store, tight);
    expect(await again.pay({})).toBe('SUCCESS');
  });

  const corrupt: Readonly<Record<string, { readonly revision: string; readonly document: string }>> = {
    'is no release': { revision: sha256Hex('{"policies":[]}'), document: '{"policies":[]}' },
    'is not JSON': { revision: sha256Hex('{'), document: '{' },
    'is empty': { revision: sha256Hex(''), document: '' },
    'has a rule of a later version': (() => {
      const document = loose.document.replace('amount-limit', 'amount-limit-2');
      return { revision: sha256Hex(document), document };
    })(),
    'is not what its revision says': { revision: 'a'.repeat(64), document: loose.document },
  };
  it.each(Object.entries(corrupt))(
    'if the release in the store %s, also after a restart',
    async (_name, release) => {
      const service = await host.start();
      expect(await service.pay({ appOrderId: 'before' })).toBe('SUCCESS');
      await push(service.store, release);
      for (const appOrderId of ['before', 'during'])
        expect(await service.pay({ appOrderId })).toBe('FAILURE');
      expect((await readinessAt(service.ops)).because).toMatch(/^policies: /);
      await service.stop({ keep: true });
      const again = await host.start({}, service);
      for (const appOrderId of ['before', 'during']) expect(await again.pay({ appOrderId })).toBe('FAILURE');
      expect((await readinessAt(again.ops)).status).toBe(503);
      await push(again.store, loose);
      for (const appOrderId of ['before', 'during']) expect(await again.pay({ appOrderId })).toBe('SUCCESS');
      expect((await readinessAt(again.ops)).status).toBe(200);
    },
  );

  it.each(Object.entries(damages[host.kind]))('if %s', async (_name, damage) => {
    const service = await host.start();
    expect(await service.pay({ appOrderId: 'before' })).toBe('SUCCESS');
    await damage(service, host);
    for (const appOrderId of ['before', 'during']) expect(await service.pay({ appOrderId })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'during' }, 'rsa')).toBe('FAILURE');
  });
});
