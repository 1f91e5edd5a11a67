import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { type Database, openDatabase } from '../../src/store/embedded/database.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { createCommit } from '../../src/store/embedded/transaction.ts';
import { type WriteQueue, createWriteQueue } from '../../src/store/embedded/write-queue.ts';
import { eventually } from '../eventually.ts';
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

type Work = () => unknown;

/** A queue of works on a database, each done in the calling thread. */
function writesOn(database: Database, cleanUp: () => void = () => undefined): WriteQueue<Work> {
  const commit = createCommit<Work>(database, {
    refresh: () => undefined,
    apply: (work) => work(),
    cleanUp,
  });
  return createWriteQueue(database.file, {
    concurrency: 1,
    commit: (batch) => Promise.resolve(commit(batch)),
  });
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
    // A batch is bounded.
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
    const writes = writesOn(database);
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

  it('reject all that share them if the clean-up fails', async () => {
    const database = databaseWithFamily();
    const writes = writesOn(database, () => {
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
    expect(await store.control()).toMatchObject({ frozen: [] });
    other.exec('ROLLBACK');
    expect(await store.settle(request({ subject: 'payment:1' }))).toMatchObject({ outcome: 'decided' });
  });

  it('reject at once what comes when too many wait', async () => {
    const database = databaseWithFamily();
    const writes = writesOn(database);
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

describe('a batch of which one write fails', () => {
  it('is done once, and the failed write not at all, whatever it did before it failed', async () => {
    const database = databaseWithFamily();
    const writes = writesOn(database);
    const parent = (id: number) => () =>
      database.connection.prepare('INSERT INTO parent VALUES (?)').run(id).changes;
    const results = await Promise.allSettled([
      writes.write(parent(1)),
      writes.write(() => {
        parent(2)();
        throw new CountersignError('NOT_FOUND', 'no such list');
      }),
      writes.write(parent(3)),
      writes.write(parent(1)),
    ]);
    expect(results).toMatchObject([
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: { code: 'NOT_FOUND', message: 'no such list' } },
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: unreachable },
    ]);
    expect(database.connection.prepare('SELECT id FROM parent').all()).toEqual([{ id: 1 }, { id: 3 }]);
    expect(writes.counts).toEqual({ writes: 4, commits: 1 });
  });

  it('is rejected whole if its commit rejects, and the next batch is committed', async () => {
    let lost = false;
    const writes = createWriteQueue<number>('/data/store.db', {
      concurrency: 1,
      commit(batch) {
        lost = !lost;
        return lost
          ? Promise.reject(new Error('its writer ended with 1'))
          : Promise.resolve({ committed: true, outcomes: batch.map((value) => ({ ok: true, value })) });
      },
    });
    for (const result of await Promise.allSettled([writes.write(1), writes.write(2)])) {
      expect(result).toMatchObject({ status: 'rejected', reason: unreachable });
    }
    expect(await writes.write(3)).toBe(3);
    expect(writes.counts).toEqual({ writes: 1, commits: 1 });
  });

  it('rejects the writes for which the commit returns no outcome', async () => {
    const writes = createWriteQueue<number>('/data/store.db', {
      concurrency: 1,
      commit: () => Promise.resolve({ committed: true, outcomes: [{ ok: true, value: 'done' }] }),
    });
    const [first, second] = await Promise.allSettled([writes.write(1), writes.write(2)]);
    expect(first).toMatchObject({ status: 'fulfilled', value: 'done' });
    expect(second).toMatchObject({ status: 'rejected', reason: unreachable });
  });
});

describe('closing the queue of writes', () => {
  it('waits for the batch in flight and for the writes that wait, and takes no more', async () => {
    const gates: PromiseWithResolvers<void>[] = [];
    const writes = createWriteQueue<number>('/data/store.db', {
      concurrency: 1,
      async commit(batch) {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        await gate.promise;
        return { committed: true, outcomes: batch.map((value) => ({ ok: true, value })) };
      },
    });
    const first = writes.write(1);
    await eventually('the first batch is in flight', () => gates[0]);
    expect(() => writes.expectNotStuck()).not.toThrow();
    const later = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 5001);
    expect(() => writes.expectNotStuck()).toThrow('has not finished a write for 5 seconds');
    later.mockRestore();
    const second = writes.write(2);
    let closed = false;
    const closing = writes.close().then(() => (closed = true));
    await expect(writes.write(3)).rejects.toMatchObject({
      ...unreachable,
      message: expect.stringContaining('is closed'),
    });
    gates[0]?.resolve();
    expect(await first).toBe(1);
    (await eventually('the second batch is in flight', () => gates[1])).resolve();
    expect(await second).toBe(2);
    await closing;
    expect(closed).toBe(true);
    expect(gates).toHaveLength(2);
    expect(() => writes.expectNotStuck()).not.toThrow();
  });
});

describe('what is refused, and not failed,', () => {
  it('says nothing of the store: it is healthy', async () => {
    const store = await readied(await openEmbeddedStore({ path: temporaryPath() }));
    const cancel = { source: 'shop', subject: 'payment:never', by: 'ada' };
    await expect(store.cancelOrder(cancel)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(store.health()).resolves.toMatchObject({ details: { writes: 2 } });
  });
});

it('a preview that fails leaves the store able to write', async () => {
  const path = temporaryPath();
  const store = await readied(await openEmbeddedStore({ path }));
  await store.settle(request());
  const behind = new DatabaseSync(path);
  behind.exec(`UPDATE subject SET record = 'damaged'`);
  behind.close();
  await expect(store.preview(request())).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  expect(await store.settle(request({ subject: 'payment:2' }))).toMatchObject({ verdict: 'SUCCESS' });
});
