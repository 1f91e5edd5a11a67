import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { TO } from '../service.ts';
import {
  HOUR_MS,
  MIDNIGHT_MS,
  MINUTE_MS,
  NOON_MS,
  billed,
  createWorld,
  exceptionsOf,
  reportOf,
} from './world.ts';

/** Each class on both stores: the amounts, the exit code and the sums. */
describe.each(['embedded', 'redis'] as const)('a reconciliation on the %s store', (store) => {
  let redis: RedisServerProcess | undefined;
  beforeAll(async () => {
    redis = store === 'redis' ? await startRedisServer() : undefined;
  });
  afterAll(() => redis?.stop());
  const world = () => createWorld(redis?.url);

  it('is matched if bill and signatures agree, and exits with 0', async () => {
    const { pay, refuse, approve, sign, reconcile } = await world();
    await pay({ id: 'a', amount: '100.50' });
    await refuse({ id: 'b' });
    await approve({ id: 'w' });
    await sign({ id: 'w', txid: '0x1' });
    await sign({ id: 'w', txid: '0x1' });
    const ran = await reconcile([billed({ id: 'a', amount: '100.5' })], '--json');
    expect(ran.code).toBe(0);
    expect(reportOf(ran)).toMatchObject({
      run: 1,
      ok: true,
      open: 0,
      classes: { matched: 2 },
      exceptions: [],
      coins: [
        {
          flow: 'payment',
          coin: 'USDT1742',
          approved: { count: 1, amount: '100.5' },
          settled: { count: 1, amount: '100.5' },
          difference: '0',
          unexplained: '0',
        },
        {
          flow: 'transfer',
          coin: 'ETH',
          approved: { count: 1, amount: '1.5' },
          settled: { count: 1, amount: '1.5' },
          difference: '0',
        },
      ],
    });
  });

  it('follows the order of the journal where entries have the same millisecond', async () => {
    const { approve, sign, reconcile } = await world();
    await sign({ id: 'early', txid: '0x1', atMs: NOON_MS });
    await approve({ id: 'early', atMs: NOON_MS });
    await approve({ id: 'twice', atMs: NOON_MS });
    await sign({ id: 'twice', txid: '0x1', atMs: NOON_MS });
    await sign({ id: 'twice', txid: '0x2', atMs: NOON_MS });
    await approve({ id: 'twice', speedUp: true, atMs: NOON_MS });
    await approve({ id: 'right', atMs: NOON_MS });
    await sign({ id: 'right', txid: '0x1', atMs: NOON_MS });
    await approve({ id: 'right', speedUp: true, atMs: NOON_MS });
    await sign({ id: 'right', txid: '0x2', atMs: NOON_MS });
    const ran = await reconcile([], '--json');
    expect(exceptionsOf(ran).toSorted()).toEqual([
      'approved-not-signed early',
      'signed-twice twice',
      'signed-without-approval early',
    ]);
    expect(reportOf(ran).classes).toMatchObject({ matched: 2, 'speed-up': 1 });
  });

  it('names each difference between approvals and bill', async () => {
    const { pay, refuse, late, reconcile } = await world();
    for (const id of ['missing', 'twice', 'amount', 'coin', 'user', 'type']) await pay({ id });
    await refuse({ id: 'refused' });
    await late(await pay({ id: 'late-billed' }), 'late-billed');
    await late(await pay({ id: 'late' }), 'late');
    const repeated = await pay({ id: 'repeated' });
    await late(repeated, 'repeated');
    await pay({ id: 'repeated', atMs: NOON_MS + 5 });
    const ran = await reconcile(
      [
        billed({ id: 'twice' }),
        billed({ id: 'twice', atMs: NOON_MS + HOUR_MS }),
        billed({ id: 'amount', amount: '100.000000000000000000000000000000000001' }),
        billed({ id: 'coin', coin: 'USDT1743' }),
        billed({ id: 'user', user: '12346' }),
        billed({ id: 'type' }, { orderType: '11' }),
        billed({ id: 'refused' }),
        billed({ id: 'unknown' }),
        billed({ id: 'late-billed' }),
        billed({ id: 'repeated' }),
        billed({ id: 'moved', amount: '7' }, { orderType: '11' }),
      ],
      '--json',
    );
    expect(ran.code).toBe(1);
    expect(exceptionsOf(ran).toSorted()).toEqual([
      'approved-not-billed missing',
      'billed-after-failure late-billed',
      'billed-different amount',
      'billed-different coin',
      'billed-different type',
      'billed-different user',
      'billed-never-approved refused',
      'billed-never-approved unknown',
      'billed-twice twice',
    ]);
    const { classes, exceptions, coins } = reportOf(ran);
    expect(classes).toMatchObject({ matched: 2, 'approved-late': 1, 'transfer-order': 1 });
    const noteOf = (id: string) => exceptions.find((item) => item.id === id)?.note;
    expect(noteOf('refused')).toMatch(/^RULE_REFUSED at 2025-06-10T04:00:00.000Z, entry shop\//);
    expect(noteOf('unknown')).toBe('the journal has no callback about it');
    expect(noteOf('type')).toBe('order type');
    expect(coins).toContainEqual(
      expect.objectContaining({
        flow: 'transfer-order',
        settled: { count: 1, amount: '7' },
        unexplained: '0',
      }),
    );
  });

  it('names each difference between approvals and signatures', async () => {
    const { approve, sign, late, reconcile } = await world();
    for (const id of ['unsigned', 'twice', 'faster', 'terms', 'address']) await approve({ id });
    await sign({ id: 'twice', txid: '0x1' });
    await sign({ id: 'twice', txid: '0x2' });
    await sign({ id: 'faster', txid: '0x3' });
    await approve({ id: 'faster', speedUp: true, atMs: NOON_MS + 2 * MINUTE_MS });
    await sign({ id: 'faster', txid: '0x4', atMs: NOON_MS + 3 * MINUTE_MS });
    await sign({ id: 'terms', txid: '0x5', members: { amount: '2' }, atMs: NOON_MS + 4 * MINUTE_MS });
    const to = '0x52908400098527886e0f7030069857d2e4169ee8';
    await sign({ id: 'address', txid: '0x6', members: { to }, atMs: NOON_MS + 4 * MINUTE_MS });
    await sign({ id: 'alone', txid: '0x7', atMs: NOON_MS + 5 * MINUTE_MS });
    const id = await approve({ id: 'late', atMs: NOON_MS + 6 * MINUTE_MS });
    await late(id, 'late', 'vault');
    await sign({ id: 'late', txid: '0x8', atMs: NOON_MS + 7 * MINUTE_MS });
    await approve({ id: 'c', kind: 'web3', atMs: NOON_MS + 8 * MINUTE_MS });
    await sign({ id: 'c', kind: 'web3', txid: '0x9', atMs: NOON_MS + 9 * MINUTE_MS });
    const ran = await reconcile([], '--json');
    expect(exceptionsOf(ran).toSorted()).toEqual([
      'approved-not-signed unsigned',
      'signed-after-failure late',
      'signed-different address',
      'signed-different terms',
      'signed-twice twice',
      'signed-without-approval alone',
    ]);
    expect(reportOf(ran).classes).toMatchObject({ matched: 3, 'speed-up': 1 });
  });

  it.each([
    ['transfer', { memo: 'other' }],
    ['transfer', { symbol: 'BTC' }],
    ['transfer', { outputs: JSON.stringify([{ address_to: TO, amount: '1.5' }]) }],
    ['web3', { input_data: '0xa9059cbb00' }],
    ['web3', { main_chain_symbol: 'BTC' }],
  ] as const)('names a %s that is signed with %j', async (kind, members) => {
    const { approve, sign, reconcile } = await world();
    await approve({ id: 'w', kind });
    await sign({ id: 'w', kind, txid: '0x1', members });
    expect(exceptionsOf(await reconcile([], '--json'))).toEqual(['signed-different w']);
  });

  it('names what is signed before its approval and again after it, and a txid that no approval allows', async () => {
    const { approve, sign, reconcile } = await world();
    await approve({ id: 'w', members: { type: 'sign_prepare' } });
    await sign({ id: 'w', txid: '0x1' });
    await approve({ id: 'w', atMs: NOON_MS + 2 * MINUTE_MS });
    await sign({ id: 'w', txid: '0x2', atMs: NOON_MS + 3 * MINUTE_MS });
    expect(exceptionsOf(await reconcile([], '--json')).toSorted()).toEqual([
      'signed-without-approval w',
      'txid-unexpected w',
    ]);
  });

  it('names what is reported as signed a day late, on both days', async () => {
    const { approve, sign, reconcile } = await world();
    await approve({ id: 'w' });
    await sign({ id: 'w', txid: '0x1', atMs: NOON_MS + 24 * HOUR_MS });
    expect(exceptionsOf(await reconcile([], '--json'))).toEqual(['approved-not-signed w']);
    expect(exceptionsOf(await reconcile([], '--json', '--day', '2025-06-11'))).toEqual(['signed-late w']);
  });

  it('names a notification once, however often it is repeated', async () => {
    const { approve, sign, reconcile } = await world();
    const repeated = async (id: string, txid: string, members: object, minutes: number) => {
      for (let times = 0; times < 3; times++)
        await sign({ id, txid, members, atMs: NOON_MS + (minutes + times) * MINUTE_MS });
    };
    await approve({ id: 'terms' });
    await repeated('terms', '0x1', { amount: '2' }, 1);
    await repeated('terms', '0x9', { amount: '3' }, 5);
    await approve({ id: 'twice', atMs: NOON_MS + 9 * MINUTE_MS });
    await repeated('twice', '0x2', {}, 10);
    await repeated('twice', '0x3', {}, 15);
    // The same txid with other terms is another notification.
    await repeated('twice', '0x2', { amount: '2' }, 20);
    await repeated('alone', '0x4', {}, 25);
    const ran = await reconcile([], '--json');
    expect(exceptionsOf(ran).toSorted()).toEqual([
      'signed-different terms',
      'signed-twice terms',
      'signed-twice twice',
      'signed-twice twice',
      'signed-without-approval alone',
    ]);
    expect(reportOf(ran).classes).toMatchObject({ matched: 1 });
  });

  it('takes a further signature without txid for another one, which needs an approval of its own', async () => {
    const { approve, sign, reconcile } = await world();
    const ids = ['once', 'again', 'named-first', 'named-later', 'faster', 'unapproved', 'next-day'];
    for (const id of ids.filter((each) => each !== 'unapproved')) await approve({ id });
    const signed = async (id: string, txid: string, minutes: number): Promise<unknown> =>
      sign({ id, txid, atMs: NOON_MS + minutes * MINUTE_MS });
    for (const [id, txid] of Object.entries({ 'named-first': '0x1', 'named-later': '', faster: '' }))
      await signed(id, txid, 1);
    for (const id of ['once', 'again', 'unapproved', 'next-day']) await signed(id, '', 1);
    await approve({ id: 'faster', speedUp: true, atMs: NOON_MS + 2 * MINUTE_MS });
    await signed('again', '', 3);
    await signed('named-first', '', 3);
    await signed('named-first', '0x1', 3);
    await signed('named-later', '0x2', 3);
    await signed('faster', '0x3', 3);
    await signed('next-day', '', 24 * 60);
    const ran = await reconcile([], '--json');
    expect(exceptionsOf(ran).toSorted()).toEqual([
      'signed-twice again',
      'signed-twice named-first',
      'signed-twice named-later',
      'signed-without-approval unapproved',
    ]);
    expect(reportOf(ran).exceptions.find(({ id }) => id === 'again')?.note).toBe(
      '2 signatures, 2 of them without txid, and approvals for 1',
    );
    expect(reportOf(ran).classes).toMatchObject({ matched: 6, 'speed-up': 1 });
    expect(exceptionsOf(await reconcile([], '--json', '--day', '2025-06-11'))).toEqual([
      'signed-twice next-day',
    ]);
  });

  it("carries what settles at the day's edge until it is explained, or an exception", async () => {
    const { pay, approve, sign, reconcile } = await world();
    const endMs = MIDNIGHT_MS + 24 * HOUR_MS;
    await pay({ id: 'before', atMs: MIDNIGHT_MS - MINUTE_MS });
    await pay({ id: 'settles', atMs: endMs - MINUTE_MS });
    await pay({ id: 'never', atMs: endMs - MINUTE_MS });
    await approve({ id: 'w', atMs: endMs - MINUTE_MS });
    await pay({ id: 'ahead', atMs: endMs + 10 });
    await sign({ id: 'w', txid: '0x1', atMs: endMs + MINUTE_MS });
    const first = await reconcile(
      [billed({ id: 'before', atMs: MIDNIGHT_MS }), billed({ id: 'ahead', atMs: endMs - 1 })],
      '--json',
    );
    expect(first.code).toBe(0);
    expect(reportOf(first)).toMatchObject({ classes: { matched: 2, settling: 3 }, exceptions: [] });
    expect(reportOf(first).coins[0]).toMatchObject({
      difference: '200',
      settling: { count: 2 },
      unexplained: '0',
    });
    const next = await reconcile([billed({ id: 'settles', atMs: endMs })], '--json', '--day', '2025-06-11');
    expect(next.code).toBe(1);
    expect(exceptionsOf(next)).toEqual(['approved-not-billed never']);
    expect(reportOf(next).classes).toMatchObject({ matched: 2, 'settled-before': 1 });
    const later = await reconcile(
      [
        billed({ id: 'settles', atMs: endMs + 24 * HOUR_MS }),
        billed({ id: 'never', atMs: endMs + 24 * HOUR_MS }),
      ],
      '--json',
      '--day',
      '2025-06-12',
    );
    expect(exceptionsOf(later)).toEqual(['billed-twice settles', 'billed-late never']);
    expect(reportOf(later).exceptions[1]?.note).toMatch(/explains item 2\/1$/);
  });

  it('is never approved if the approval came after the bill could have it, however late it is read', async () => {
    const { pay, reconcile } = await world();
    const laterMs = MIDNIGHT_MS + 50 * HOUR_MS;
    await pay({ id: 'x', atMs: laterMs });
    const ran = await reconcile([billed({ id: 'x' })], '--json');
    expect(exceptionsOf(ran)).toEqual(['billed-never-approved x']);
    expect(reportOf(ran).exceptions[0]?.note).toMatch(
      /^approved only at 2025-06-11T18:00:00.000Z, entry shop\//,
    );
    await reconcile([], '--day', '2025-06-11');
    const later = await reconcile([billed({ id: 'x', atMs: laterMs })], '--json', '--day', '2025-06-12');
    expect([later.code, reportOf(later).classes]).toEqual([0, { matched: 1 }]);
  });

  it('is billed after failure, even if another SUCCESS was delivered long after the bill', async () => {
    const { pay, late, reconcile } = await world();
    await late(await pay({ id: 'x', atMs: MIDNIGHT_MS - 20 * HOUR_MS }), 'x');
    await pay({ id: 'x', atMs: MIDNIGHT_MS + 50 * HOUR_MS });
    const ran = await reconcile([billed({ id: 'x' })], '--json');
    expect(exceptionsOf(ran)).toEqual(['billed-after-failure x']);
  });

  it('explains a transfer order only if no payment of its id was ever approved', async () => {
    const { pay, reconcile } = await world();
    const nextMs = NOON_MS + 48 * HOUR_MS;
    await pay({ id: 'unknown', atMs: MIDNIGHT_MS - 30 * HOUR_MS });
    await pay({ id: 'y', amount: '10' });
    await pay({ id: 'later', atMs: nextMs + 48 * HOUR_MS });
    await reconcile([billed({ id: 'y', amount: '10' })]);
    await reconcile([], '--day', '2025-06-11');
    const rows = ['y', 'unknown', 'later', 'free'].map((id) =>
      billed({ id, amount: '999', atMs: nextMs }, { orderType: '11' }),
    );
    const ran = await reconcile(rows, '--json', '--day', '2025-06-12');
    expect(exceptionsOf(ran).toSorted()).toEqual([
      'billed-different later',
      'billed-different unknown',
      'billed-twice y',
    ]);
    expect(reportOf(ran).classes).toMatchObject({ 'transfer-order': 1 });
  });

  it('knows the whole history of an order, however many entries it has', async () => {
    const { pay, late, refuse, reconcile } = await world();
    const atMs = MIDNIGHT_MS - 20 * HOUR_MS;
    const other = await refuse({ id: 'other', atMs });
    for (let at = 0; at < 11; at++)
      await Promise.all(Array.from({ length: 100 }, () => late(other, 'x', 'shop', atMs)));
    await pay({ id: 'x', atMs: atMs + MINUTE_MS });
    const ran = await reconcile([billed({ id: 'x' })], '--json');
    expect(exceptionsOf(ran)).toEqual(['billed-late x']);
  });
});
