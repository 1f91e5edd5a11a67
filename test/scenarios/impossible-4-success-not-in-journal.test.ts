import { describe, expect, it, onTestFinished } from 'vitest';
import { rawClient } from '../store/redis-under-test.ts';
import {
  PAYMENT_PATH,
  type TestService,
  VAULT_TOKEN,
  md5Sign,
  signedPayment,
  transfer,
  web3,
} from '../service.ts';
import { startServiceProcess } from '../service-process.ts';
import { audit, journalOf } from './audit.ts';
import { type Sent, send, successesOf } from './load.ts';
import { type StoreHost, describeOnBothStores } from './on-both-stores.ts';
import { upTo } from './policies.ts';
import { behind, folderOf, storeOf } from './running.ts';

interface Asked {
  readonly path: string;
  readonly body: string;
}

/** Questions that are answered yes, no, repeated, and taken for attacks, each of them twice. */
function mixedLoad(): readonly Asked[] {
  const payments = Array.from({ length: 12 }, (_, index) => [
    signedPayment({ appOrderId: `p-${index}`, orderAmount: `${index * 150}` }),
    signedPayment({ appOrderId: `p-${index}`, orderAmount: '7' }, 'rsa-envelope'),
    signedPayment({ appOrderId: `p-${index}`, userId: 'x' }, 'rsa'),
  ]).flat();
  const unsigned = JSON.stringify({ appKey: 'test-shop', sign: md5Sign({}) });
  const withdrawals = Array.from({ length: 8 }, (_, index) => {
    const subject = { request_id: `w-${index}`, amount: index * 2 };
    return [
      transfer({ ...subject, type: 'sign_prepare' }),
      transfer(subject),
      transfer({ ...subject, pending_round: true }),
      transfer({ ...subject, type: 'sign_success', txid: `0x0${index}` }),
    ];
  }).flat();
  const contracts = Array.from({ length: 6 }, (_, index) =>
    web3({ request_id: `c-${index}`, amount: index % 2 }),
  );
  const asked = [
    ...[...payments, unsigned].map((body) => ({ path: PAYMENT_PATH, body })),
    ...withdrawals.map((members) => ({ path: '/cosigner/withdraw', body: JSON.stringify(members) })),
    ...contracts.map((members) => ({ path: '/cosigner/web3', body: JSON.stringify(members) })),
  ];
  return asked.flatMap((each) => [each, each]);
}

const counts = (texts: readonly string[]): ReadonlyMap<string, number> =>
  new Map([...Map.groupBy(texts, (text) => text)].map(([text, all]) => [text, all.length]));

const bodyOf = (detail: string): string => {
  const { body }: { readonly body: string } = JSON.parse(detail);
  return body;
};

/** Ways to keep the store from writing its journal; each returns how to mend it. */
const damages: Readonly<
  Record<
    StoreHost['kind'],
    Readonly<Record<string, (service: TestService, host: StoreHost) => Promise<() => Promise<unknown>>>>
  >
> = {
  embedded: {
    'the journal takes no rows': async ({ folder }) => {
      const database = behind(folder);
      database.exec("CREATE TRIGGER full BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'no room'); END");
      return async () => database.exec('DROP TRIGGER full');
    },
    'another process has it locked': async ({ folder }) => {
      const database = behind(folder);
      database.exec('BEGIN EXCLUSIVE');
      return async () => database.exec('ROLLBACK');
    },
    'the journal is gone': async ({ folder }) => {
      const database = behind(folder);
      database.exec('ALTER TABLE journal RENAME TO elsewhere');
      return async () => database.exec('ALTER TABLE elsewhere RENAME TO journal');
    },
  },
  redis: {
    'the memory is full': async (_service, host) => {
      const client = rawClient(host.redis());
      await client.config('SET', 'maxmemory', '1');
      return () => client.config('SET', 'maxmemory', '0');
    },
    'its replicas are missing': async (_service, host) => {
      const client = rawClient(host.redis());
      await client.config('SET', 'min-replicas-to-write', '1');
      return () => client.config('SET', 'min-replicas-to-write', '0');
    },
    'the journal’s key is something else': async (service, host) => {
      const client = rawClient(host.redis());
      const prefix = host.prefixOf(service);
      const sources = ['shop', 'vault'].map((source) => `${prefix}:{${source}}:journal`);
      for (const key of sources) {
        await client.rename(key, `${key}:kept`);
        await client.set(key, 'not a stream');
      }
      return () => Promise.all(sources.map((key) => client.rename(`${key}:kept`, key)));
    },
  },
};

describeOnBothStores('no SUCCESS without a journal entry', (host) => {
  it('each of a mixed load has its own, and each log line names it', async () => {
    const service = await host.start();
    const answered = await Promise.all(
      mixedLoad().map(async ({ path, body }) => {
        const headers: Record<string, string> = path === PAYMENT_PATH ? {} : { authorization: VAULT_TOKEN };
        return { body, answer: (await service.post(path, body, headers)).body };
      }),
    );
    const approved = answered.filter(({ answer }) => answer === 'SUCCESS').map(({ body }) => body);
    expect(approved.length).toBeGreaterThan(30);
    expect(approved.length).toBeLessThan(answered.length - 30);

    const journal = [...(await journalOf(service.store)), ...(await journalOf(service.store, 'vault'))];
    const entries = journal.filter(({ verdict }) => verdict === 'SUCCESS');
    expect(counts(entries.map(({ detail }) => bodyOf(detail)))).toEqual(counts(approved));
    expect(new Set(entries.map(({ type }) => type))).toEqual(new Set(['decision', 'repeat', 'notice']));

    const logged = service.log.filter(({ verdict }) => verdict === 'SUCCESS');
    expect(logged).toHaveLength(entries.length);
    const named = entries.map(({ source, id, detail }) => {
      const { requestId }: { readonly requestId: string } = JSON.parse(detail);
      return { source, decision: id, requestId };
    });
    expect(logged).toEqual(expect.arrayContaining(named.map((each) => expect.objectContaining(each))));
  });

  it.each(Object.entries(damages[host.kind]))('while %s', async (_name, damage) => {
    const service = await host.start({
      policies: {
        ...upTo(300),
        'transfers.yaml': 'policy: t\ncallback: transfer\nrules: [{ amount-limit: { max: 10 } }]\n',
      },
    });
    const withdraw = (members: object): Promise<string> =>
      service.cosign('/cosigner/withdraw', transfer(members));
    expect(await service.pay({ appOrderId: 'before' })).toBe('SUCCESS');
    expect(await withdraw({})).toBe('SUCCESS');
    const sizes = {
      shop: await service.store.journalSize('shop'),
      vault: await service.store.journalSize('vault'),
    };

    const mend = await damage(service, host);
    expect(await service.pay({ appOrderId: 'before' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'during', orderAmount: '200' })).toBe('FAILURE');
    expect(await withdraw({ type: 'sign_prepare' })).toBe('FAILURE');
    expect(await withdraw({ type: 'sign_success', txid: '0xaa' })).toBe('FAILURE');
    await mend();

    expect({
      shop: await service.store.journalSize('shop'),
      vault: await service.store.journalSize('vault'),
    }).toEqual(sizes);
    expect(await service.pay({ appOrderId: 'during', orderAmount: '200' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'after', orderAmount: '0.01' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'before' })).toBe('SUCCESS');
    expect(await withdraw({ type: 'sign_success', txid: '0xaa' })).toBe('SUCCESS');
    const codes = (await journalOf(service.store)).map(({ type, verdict }) => `${type} ${verdict}`);
    expect(codes).toEqual(['decision SUCCESS', 'decision SUCCESS', 'decision FAILURE', 'repeat SUCCESS']);
  });
});

describe("no SUCCESS without a journal entry, in a file that can't grow", () => {
  it('answers FAILURE once the disk takes no more, and goes on', async () => {
    const folder = folderOf({ policies: upTo(100_000) });
    // A write beyond about half a MiB of any file fails, as it does on a full disk.
    const limited = ['sh', '-c', 'trap "" XFSZ; ulimit -f 1024; exec "$0" "$@"'];
    const service = await startServiceProcess(folder, limited);
    onTestFinished(() => service.kill());
    const sent: Sent[] = [];
    while (sent.length < 400 && sent.filter(({ answer }) => answer === 'FAILURE').length < 20)
      sent.push(await send(service.url, { appOrderId: `o-${sent.length}`, orderAmount: '1' }));
    expect(successesOf(sent).length).toBeGreaterThan(5);
    expect(sent.length - successesOf(sent).length).toBe(20);
    await audit(await storeOf(folder), sent, 100_000);
    expect(service.log).toContainEqual(expect.objectContaining({ event: 'callback', code: 'STORE_FAILED' }));
  });
});
