import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { HOUR_MS, NOON_MS, type World, billed, createWorld, filesIn, reportOf } from './world.ts';

const close = (world: World, run: string, item: string, ...argv: readonly string[]) =>
  world.run(
    'reconcile',
    'close',
    run,
    item,
    '--directory',
    world.directory,
    '--message',
    'refunded',
    ...argv,
  );

describe.each(['embedded', 'redis'] as const)('closing an exception on the %s store', (kind) => {
  let redis: RedisServerProcess | undefined;
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
  });
  afterAll(() => redis?.stop());

  it('is journalled, and the day is explained once all are closed', async () => {
    const world = await createWorld(redis?.url);
    await world.pay({ id: 'missing' });
    const rows = [billed({ id: 'unknown' })];
    expect(reportOf(await world.reconcile(rows, '--json')).open).toBe(2);
    const closed = await close(world, '1', '1', '--json', '--by', 'eve');
    expect(closed.json()).toMatchObject({
      number: 2,
      run: 1,
      item: 1,
      class: 'approved-not-billed',
      id: 'missing',
      by: 'eve',
      message: 'refunded',
      open: 1,
    });
    expect((await world.reconcile(rows)).code).toBe(1);
    expect((await close(world, '1', '2')).out).toMatch(
      /^Closed 1\/2 \(billed-never-approved .* 0 exceptions left/,
    );
    const { code, out } = await world.reconcile(rows);
    expect([code, out]).toEqual([0, expect.stringMatching(/matched or explained, 2 closed/)]);
    const entries = await world.store.entries({ source: 'shop', newestFirst: true, limit: 2 });
    expect(entries.map(({ type, code: entryCode }) => `${type} ${entryCode}`)).toEqual([
      'reconciliation EXCEPTION_CLOSED',
      'reconciliation EXCEPTION_CLOSED',
    ]);
    expect(JSON.parse(entries[1]?.detail ?? '')).toMatchObject({
      change: 'close',
      run: 1,
      day: '2025-06-10',
      by: 'eve',
      message: 'refunded',
      item: { item: 1, class: 'approved-not-billed', id: 'missing' },
    });
    const shown = await world.run('decisions', 'search', '--type', 'reconciliation');
    expect(shown.out).toMatch(/eve closed an exception of a reconciliation: refunded/);
  });

  it('that was interrupted after the journal finds its entry again', async () => {
    const world = await createWorld(redis?.url);
    await world.reconcile([billed({ id: 'unknown' })]);
    const first = (await close(world, '1', '1', '--json')).json();
    rmSync(join(world.directory, '00000002-close.json'));
    expect((await close(world, '1', '1', '--json')).json()).toEqual(first);
    expect(await world.store.journalSize('shop')).toBe(1);
  });
});

describe('closing an exception', () => {
  it.each<[RegExp, number, readonly [string, string, ...string[]]]>([
    [/has no run 9\. Its runs: 1/, 1, ['9', '1']],
    [/item 7 of run 1 is not an exception\. Its open exceptions: 1/, 1, ['1', '7']],
    [/"x" is not the number of a run/, 2, ['x', '1']],
    [/"0" is not the number of an item/, 2, ['1', '0']],
    [/--message is missing or empty/, 2, ['1', '1', '--message', ' ']],
  ])('says %s', async (message, code, [run, item, ...argv]) => {
    const world = await createWorld();
    await world.reconcile([billed({ id: 'unknown' })]);
    const files = filesIn(world.directory);
    const ran = await close(world, run, item, ...argv);
    expect([ran.code, ran.err]).toEqual([code, expect.stringMatching(message)]);
    expect(filesIn(world.directory)).toEqual(files);
    expect(await world.store.journalSize('shop')).toBe(0);
  });

  it('changes nothing on the day on which it is closed', async () => {
    const world = await createWorld();
    await world.reconcile([billed({ id: 'unknown' })]);
    await world.pay({ id: 'a', atMs: NOON_MS + 24 * HOUR_MS });
    await close(world, '1', '1');
    const next = await world.reconcile(
      [billed({ id: 'a', atMs: NOON_MS + 24 * HOUR_MS })],
      '--day',
      '2025-06-11',
    );
    expect([next.code, next.err]).toEqual([0, expect.not.stringMatching(/USAGE/)]);
  });

  it('is done once, and only in the run that counts', async () => {
    const world = await createWorld();
    await world.reconcile([billed({ id: 'unknown' })]);
    await close(world, '1', '1');
    const again = await close(world, '1', '1');
    expect([again.code, again.err]).toEqual([2, expect.stringMatching(/was closed by ada at .*: refunded/)]);
    await world.reconcile([billed({ id: 'unknown' }), billed({ id: 'other' })]);
    const replaced = await close(world, '1', '1');
    expect([replaced.code, replaced.err]).toEqual([2, expect.stringMatching(/run 1 was replaced by run 3/)]);
    expect(await world.store.journalSize('shop')).toBe(1);
  });
});
