import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Database, openDatabase } from '../../src/store/embedded/database.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { createWrites } from '../../src/store/embedded/writes.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { HOUR_MS, request, usedOf, windowClaim } from './requests.ts';

const unreachable = { code: 'STORE_UNREACHABLE' };

/** A database with one more table, whose faults come at commit: no `child` without its `parent`. */
function databaseWithFamily(): Database {
  const database = openDatabase(temporaryPath());
  onTestFinished(() => database.connection.close());
  database.connection.exec(`
    CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
  `);
  return database;
}

const childrenOf = ({ connection }: Database): unknown =>
  connection.prepare('SELECT count(*) AS count FROM child').get()?.['count'];

describe('commits of the embedded store', () => {
  it('are shared by what is settled at once', async () => {
    const store = await readied(await openEmbeddedStore({ path: temporaryPath() }));
    const before = (await store.health()).details;
    const settles = Array.from({ length: 1000 }, (_, index) =>
      store.settle(request({ subject: `payment:${index}` })),
    );
    for (const result of await Promise.all(settles)) expect(result).toMatchObject({ verdict: 'SUCCESS' });
    const after = (await store.health()).details;
    expect(Number(after['writes']) - Number(before['writes'])).toBe(1000);
    const commits = Number(after['commits']) - Number(before['commits']);
    expect(commits).toBeLessThanOrEqual(10);
    // A group is bounded.
    expect(commits).toBeGreaterThan(1);
  });

  it('do without the one write that fails, which is undone whole', async () => {
    const store = await readied(await openEmbeddedStore({ path: temporaryPath() }));
    const claims = [windowClaim('1', '10')];
    const window = { type: 'rolling', lengthMs: HOUR_MS, bucketMs: 0 } as const;
    const [first, broken, last] = await Promise.allSettled([
      store.settle(request({ subject: 'payment:1', claims })),
      store.settle(request({ subject: 'payment:2', claims: [windowClaim('1', '10', { window })] })),
      store.settle(request({ subject: 'payment:3', claims })),
    ]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { verdict: 'SUCCESS' } });
    expect(broken).toMatchObject({ status: 'rejected', reason: unreachable });
    expect(last).toMatchObject({ status: 'fulfilled', value: { verdict: 'SUCCESS' } });
    expect(await store.entries({ source: 'shop', subject: 'payment:2', limit: 10 })).toEqual([]);
    expect(await store.journalSize('shop')).toBe(2);
    expect(await usedOf(store)).toBe(2n * 10n ** 36n);
  });

  it('reject all that share them if they fail, and the next goes through', async () => {
    const database = databaseWithFamily();
    const writes = createWrites(database, () => undefined);
    const child = (parent: number) => () =>
      database.connection.prepare('INSERT INTO child VALUES (?)').run(parent).changes;
    database.connection.exec('INSERT INTO parent VALUES (1)');
    const results = await Promise.allSettled([
      writes.write(child(1)),
      writes.write(child(2)),
      writes.write(child(1)),
    ]);
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: unreachable });
    expect(childrenOf(database)).toBe(0);
    expect(await writes.write(child(1))).toBe(1);
    expect(childrenOf(database)).toBe(1);
    expect(writes.counts).toEqual({ writes: 1, commits: 1 });
  });

  it('reject all that share them if housekeeping fails', async () => {
    const database = databaseWithFamily();
    const writes = createWrites(database, () => {
      throw new Error('the broom is lost');
    });
    const insert = () => database.connection.exec('INSERT INTO child VALUES (NULL)');
    await expect(writes.write(insert)).rejects.toMatchObject(unreachable);
    expect(childrenOf(database)).toBe(0);
  });

  it('reject with the cure while another process holds the file, for a bounded time', async () => {
    const path = temporaryPath();
    const store = await readied(await openEmbeddedStore({ path }));
    const other = new DatabaseSync(path);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    const results = await Promise.allSettled([
      store.settle(request({ subject: 'payment:1' })),
      store.freeze({ reason: 'drill', by: 'ada' }),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { ...unreachable, message: expect.stringContaining('locked by another process') },
      });
    }
    expect(await store.control()).toMatchObject({ frozen: undefined });
    other.exec('ROLLBACK');
    expect(await store.settle(request({ subject: 'payment:1' }))).toMatchObject({ outcome: 'decided' });
  });

  it('reject at once what comes when too many wait', async () => {
    const database = databaseWithFamily();
    const writes = createWrites(database, () => undefined);
    const results = await Promise.allSettled(
      Array.from({ length: 10_001 }, (_, index) => writes.write(() => index)),
    );
    const rejected = results.filter((result) => result.status === 'rejected');
    expect(rejected).toMatchObject([{ reason: unreachable }]);
    expect(results.at(-1)).toBe(rejected[0]);
  });

  it('refuse what the store can no longer read', async () => {
    const path = temporaryPath();
    const store = await readied(await openEmbeddedStore({ path }));
    await store.settle(request());
    const other = new DatabaseSync(path);
    onTestFinished(() => other.close());
    other.exec(`UPDATE subject SET record = '{"terms":"' || json_extract(record, '$.terms') || '"}'`);
    await expect(store.settle(request())).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect(await store.settle(request({ subject: 'payment:2' }))).toMatchObject({ verdict: 'SUCCESS' });
  });
});
