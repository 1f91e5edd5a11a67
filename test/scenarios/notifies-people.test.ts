import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRequests } from '../../src/approvals/requests.ts';
import { eventually } from '../eventually.ts';
import { answers, takes } from '../notifications/rig.ts';
import { type AnswerWith, type Asked, type OtherSide, SECRET, otherSide } from '../plugins/other-side.ts';
import { SHOP_SECRET, type TestService, VAULT_TOKEN, transfer } from '../service.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type StoreHost, describeOnBothStores } from './on-both-stores.ts';

interface Told {
  readonly receiver: OtherSide;
  readonly secretFile: string;
  /** A replica that notifies the receiver; another one with `like`. */
  readonly start: (like?: TestService) => Promise<TestService>;
  /** What came of an event, oldest first. */
  readonly of: (event: string) => readonly Asked[];
}

async function told(host: StoreHost, answer: AnswerWith = takes, more: object = {}): Promise<Told> {
  const receiver = await otherSide(answer);
  const secretFile = join(temporaryFolder(), 'secret');
  writeFileSync(secretFile, SECRET, { mode: 0o600 });
  const notifications = [
    { url: `${receiver.url}/hush-in-the-url`, secret: { file: secretFile }, events: ['freeze', 'alarm'] },
  ];
  return {
    receiver,
    secretFile,
    start: (like) => host.start({ settings: { notifications, ...more } }, like),
    of: (event) => receiver.asked.filter(({ json }) => json['event'] === event),
  };
}

const logs = (service: TestService, event: string): Promise<Readonly<Record<string, unknown>>> =>
  eventually(event, () => service.log.find((line) => line['event'] === event));

const come = (list: () => readonly Asked[], count: number): Promise<readonly Asked[]> =>
  eventually(`${count} have come`, () => {
    const asked = list();
    return asked.length > count ? new Error(`${asked.length}`) : asked.length === count ? asked : undefined;
  });

const metricsOf = async ({ ops }: TestService): Promise<string> => (await fetch(`${ops}/metrics`)).text();

/** Settings and policies with which people approve transfers, and are notified of what waits. */
async function withApproval() {
  const receiver = await otherSide(takes);
  const secretFile = join(temporaryFolder(), 'secret');
  writeFileSync(secretFile, SECRET, { mode: 0o600 });
  const events = ['request', 'expiring', 'decided'];
  const notifications = [{ url: receiver.url, secret: { file: secretFile }, events }];
  const policies = {
    'people.yaml': 'people: { ada: { roles: [approve] } }\ngroups: { treasury: [ada] }\n',
    'transfers.yaml':
      'policy: transfers\ncallback: transfer\nrules:\n  - approval: { by: treasury, quorum: 1, within: 24h }\n',
  };
  const options = { policies, settings: { deployment: 'acme-test', notifications } };
  return { receiver, options };
}

/** Changes the amount of a payment that was approved. */
async function changeTerms(service: TestService, appOrderId: string): Promise<void> {
  expect(await service.pay({ appOrderId, orderAmount: '1' })).toBe('SUCCESS');
  expect(await service.pay({ appOrderId, orderAmount: '2' })).toBe('FAILURE');
}

describeOnBothStores('people are notified', (host) => {
  it('of a freeze and its end, once for all replicas, with who and why', async () => {
    const { start, of, receiver } = await told(host);
    const first = await start();
    const second = await start(first);
    const { freeze } = await first.store.freeze({ by: 'ada', reason: 'a <drill> @all' });
    const { id } = freeze;
    const [frozen] = await come(() => of('freeze'), 1);
    await Promise.all([logs(first, 'frozen'), logs(second, 'frozen')]);
    expect(frozen?.signed).toBe(true);
    expect(frozen?.json).toMatchObject({
      version: 1,
      id: expect.stringMatching(/^frozen:f\d+:\d+$/),
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      text: `All approvals are frozen: ${id} by ada: a ‹drill› ＠all`,
      data: {
        change: 'frozen',
        freeze: id,
        kind: 'operator',
        by: 'ada',
        reason: 'a <drill> @all',
        frozen: [id],
      },
    });
    expect(frozen?.json).not.toHaveProperty('link');
    await first.store.unfreeze({ ids: [id], by: 'bob' });
    const [, lifted] = await come(() => of('freeze'), 2);
    await Promise.all([logs(first, 'unfrozen'), logs(second, 'unfrozen')]);
    expect(lifted?.json).toMatchObject({
      text: `The freeze ${id} of ada (a ‹drill› ＠all) was lifted by bob; nothing is frozen now`,
      data: { change: 'lifted', freeze: id, by: 'ada', liftedBy: 'bob', frozen: [] },
    });
    // Each looks once more whether the other has sent what it did not.
    await first.stop({ keep: true });
    await second.stop({ keep: true });
    expect(of('freeze')).toHaveLength(2);
    expect(receiver.asked).toHaveLength(2);
  });

  it('of a freeze that stands only once, also if the service is restarted', async () => {
    const { start, receiver } = await told(host);
    const before = await start();
    await before.store.freeze({ by: 'ada', reason: 'drill' });
    await come(() => receiver.asked, 1);
    await before.stop({ keep: true });
    const after = await start(before);
    await logs(after, 'frozen');
    await after.stop({ keep: true });
    expect(receiver.asked).toHaveLength(1);
  });

  it('of an alarm, with no more than the log says of it: no secret, no body', async () => {
    const passkeys = { host: 'ops.example', origin: 'https://ops.example:8443' };
    const { start, of, receiver, secretFile } = await told(host, takes, {
      console: { passkeys, withService: false },
      ops: { port: '0', hosts: ['ops.example'] },
    });
    const service = await start();
    await changeTerms(service, 'o-1');
    const [alarm] = await come(() => of('alarm'), 1);
    const { code, because, decision } = await logs(service, 'alarm');
    expect(code).toBe('TERMS_CHANGED');
    expect(alarm?.json).toMatchObject({
      text: expect.stringMatching(/^Alarm TERMS_CHANGED of shop \(payment:o-1\): ./),
      link: `https://ops.example:8443/console/decisions/shop/${String(decision)}`,
      data: { code, times: 1, source: 'shop', subject: 'payment:o-1', decision, because },
    });
    expect(Object.keys(alarm?.json['data'] ?? {}).toSorted()).toEqual(
      ['because', 'code', 'decision', 'replica', 'revision', 'source', 'subject', 'times'].toSorted(),
    );
    // The secret is read again, and each of two signs.
    writeFileSync(secretFile, `${SECRET}\nthe-next-secret`, { mode: 0o600 });
    await logs(service, 'notification-keys-reread');
    await service.store.freeze({ by: 'ada', reason: 'drill' });
    const [frozen] = await come(() => of('freeze'), 1);
    const signatures = String(frozen?.headers['countersign-signature']).split(', ');
    const text = `${String(frozen?.headers['countersign-timestamp'])}.${frozen?.nonce}.${frozen?.body}`;
    expect(signatures).toEqual(
      [SECRET, 'the-next-secret'].map(
        (secret) => `v1=${createHmac('sha256', secret).update(text).digest('hex')}`,
      ),
    );
    const all = JSON.stringify([receiver.asked.map(({ body, headers }) => [body, headers]), service.log]);
    for (const hidden of [SECRET, SHOP_SECRET, VAULT_TOKEN, 'the-next-secret', 'hush-in-the-url', '"sign"'])
      expect(all).not.toContain(hidden);
  });

  it('without a callback that waits for a receiver that hangs, or fails with it', async () => {
    for (const hangs of [() => undefined, answers(500)]) {
      const { start, receiver } = await told(host, hangs);
      const service = await start();
      await Promise.all(Array.from({ length: 40 }, (_, at) => changeTerms(service, `o-${at}`)));
      await service.store.freeze({ by: 'ada', reason: 'drill' });
      await logs(service, 'frozen');
      await eventually('it is sent', () => (receiver.asked.length > 0 ? true : undefined));
      // All forty alarms of one source and minute are one notification, and the freeze is another.
      const metrics = await metricsOf(service);
      const { host: label } = new URL(receiver.url);
      expect(metrics).toContain(`countersign_notifications_waiting{receiver="${label}"} 2`);
      expect(metrics).toContain(`countersign_notifications_total{receiver="${label}",outcome="sent"} 0`);
      await service.stop({ keep: true });
      const { count } = await logs(service, 'notifications-dropped');
      expect(count).toBe(3);
    }
  });

  it('of what waits for their approval, and of what was decided, once for all replicas', async () => {
    const { receiver, options } = await withApproval();
    const first = await host.start(options);
    await host.start(options, first);
    expect(await first.cosign('/cosigner/withdraw', transfer())).toBe('FAILURE');
    const of = (event: string): readonly Asked[] =>
      receiver.asked.filter(({ json }) => json['event'] === event);
    const [asked] = await come(() => of('request'), 1);
    expect(asked?.json).toMatchObject({
      text: expect.stringContaining('transfer:w-1 of vault waits for approval'),
      data: { request: 'transfer:w-1', kind: 'callback', source: 'vault', state: 'waits for approval' },
    });
    await createRequests(first.store, Date.now, 'vault').change('transfer:w-1', () => ({
      state: 'rejected',
      endedBy: 'ada',
      reason: 'unknown',
    }));
    const [decided] = await come(() => of('decided'), 1);
    expect(decided?.json).toMatchObject({
      text: expect.stringContaining('transfer:w-1 of vault is rejected by ada'),
    });
    expect(of('request')).toHaveLength(1);
    expect(of('expiring')).toHaveLength(0);
  });

  it('of what waits, also beside a record that nobody can read', async () => {
    const { receiver, options } = await withApproval();
    const service = await host.start(options);
    const of = (event: string): readonly Asked[] =>
      receiver.asked.filter(({ json }) => json['event'] === event);
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('FAILURE');
    await come(() => of('request'), 1);
    const change = { scope: 'vault', id: 'transfer:w-1', expected: 1, isOpen: true, keepMs: 1e9 };
    await service.store.changeApprovalRequest({ ...change, value: '{}' });
    expect(await service.cosign('/cosigner/withdraw', transfer({ request_id: 'w-2' }))).toBe('FAILURE');
    const [, second] = await come(() => of('request'), 2);
    expect(second?.json['text']).toContain('transfer:w-2 of vault waits for approval');
    const { because } = await logs(service, 'requests-not-read');
    expect(because).toBe("the request transfer:w-1 in the store can't be read; make it again");
    await createRequests(service.store, Date.now, 'vault').change('transfer:w-2', () => ({
      state: 'rejected',
      endedBy: 'ada',
      reason: 'unknown',
    }));
    const [decided] = await come(() => of('decided'), 1);
    expect(decided?.json['text']).toContain('transfer:w-2 of vault is rejected by ada');
    expect(await metricsOf(service)).toContain('countersign_approval_requests{source="vault"} 1');
  });

  it('of a request that has expired, although the callback has made another one', async () => {
    const { receiver, options } = await withApproval();
    let nowMs = Date.now();
    const service = await host.start({ ...options, clock: () => nowMs });
    const of = (event: string): readonly Asked[] =>
      receiver.asked.filter(({ json }) => json['event'] === event);
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('FAILURE');
    await come(() => of('request'), 1);
    nowMs += 25 * 3_600_000;
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('FAILURE');
    await come(() => of('request'), 2);
    const [decided] = await come(() => of('decided'), 1);
    expect(decided?.json['text']).toContain('transfer:w-1 of vault is expired');
  });
});
