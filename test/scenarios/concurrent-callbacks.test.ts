import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { signedPayment } from '../service.ts';
import { approvalsIn, audit, journalOf } from './audit.ts';
import { type Sent, send, successesOf } from './load.ts';
import { upTo } from './policies.ts';
import { durableRedis, folderOf, serviceProcess, storeOf } from './running.ts';

/** Long enough that nothing is refused for a busy machine: here only the limit may refuse. */
const PATIENT = { answerTimeoutMs: 10_000 };
const ROOM = 37;
const CALLBACKS = 200;

interface Running {
  /** The address of a replica; the next one with each call. */
  readonly url: () => string;
  readonly store: Store;
}

async function embedded(): Promise<Running> {
  const folder = folderOf({ policies: upTo(ROOM), settings: PATIENT });
  const { url } = await serviceProcess(folder);
  return { url: () => url, store: await storeOf(folder) };
}

async function redis(): Promise<Running> {
  const { url: address } = await durableRedis();
  const folders = [1, 2].map(() =>
    folderOf({
      policies: upTo(ROOM),
      settings: { ...PATIENT, store: { url: address, commandTimeoutMs: 9000 } },
    }),
  );
  const replicas = await Promise.all(folders.map(serviceProcess));
  let turn = 0;
  return {
    url: () => replicas[turn++ % replicas.length]?.url ?? '',
    store: await storeOf(folders[0] ?? ''),
  };
}

const answersTo = (sent: readonly Sent[], orderAmount: string): ReadonlySet<string | undefined> =>
  new Set(sent.filter(({ payment }) => payment.orderAmount === orderAmount).map(({ answer }) => answer));

describe.each([
  ['the embedded store, one process', embedded],
  ['Redis, two processes', redis],
] as const)('at once, on %s', (_name, start) => {
  it(`${CALLBACKS} callbacks about a limit with room for ${ROOM}: exactly ${ROOM} SUCCESS`, async () => {
    const { url, store } = await start();
    const sent = await Promise.all(
      Array.from({ length: CALLBACKS }, (_, index) =>
        send(url(), { appOrderId: `order-${index}`, orderAmount: '1' }),
      ),
    );
    expect(successesOf(sent)).toHaveLength(ROOM);
    expect(sent.filter(({ answer }) => answer === 'FAILURE')).toHaveLength(CALLBACKS - ROOM);
    await audit(store, sent, ROOM);
    const journal = await journalOf(store);
    expect(journal).toHaveLength(CALLBACKS);
    expect(approvalsIn(journal)).toHaveLength(ROOM);
  });

  it(`one order ${CALLBACKS} times with two amounts: one of them always SUCCESS, the other never`, async () => {
    const { url, store } = await start();
    const sent = await Promise.all(
      Array.from({ length: CALLBACKS }, (_, index) =>
        send(url(), { appOrderId: 'contended', orderAmount: index % 3 === 0 ? '1' : '2' }),
      ),
    );
    const [won, lost] = answersTo(sent, '1').has('SUCCESS') ? ['1', '2'] : ['2', '1'];
    expect(answersTo(sent, won ?? '')).toEqual(new Set(['SUCCESS']));
    expect(answersTo(sent, lost ?? '')).toEqual(new Set(['FAILURE']));
    await audit(store, sent, ROOM);

    const journal = await journalOf(store);
    expect(journal).toHaveLength(CALLBACKS);
    const [approval, ...others] = approvalsIn(journal);
    expect(others).toEqual([]);
    expect(approval?.detail).toContain(
      JSON.stringify(signedPayment({ appOrderId: 'contended', orderAmount: won ?? '' })).slice(1, -1),
    );
    const repeats = journal.filter(({ type }) => type === 'repeat');
    expect(repeats).toHaveLength(successesOf(sent).length - 1);
    expect(new Set(repeats.map(({ of }) => of))).toEqual(new Set([approval?.id]));
    const attacks = journal.filter(({ code }) => code === 'TERMS_CHANGED');
    expect(attacks).toHaveLength(CALLBACKS - successesOf(sent).length);
  });
});
