import { copyFileSync, existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/store/embedded/database.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { request } from './requests.ts';

/* A store is its file and, while it is open or after a crash, its write-ahead log. */

async function opened(path: string, create = true): Promise<Store> {
  const store = await openEmbeddedStore({ path, create });
  onTestFinished(() => store.close());
  return store;
}

/** A store with one decision. It stays open, as its files are after a crash. */
async function decided(path: string): Promise<Store> {
  const store = await readied(await openEmbeddedStore({ path }));
  await store.settle(request({ subject: 'payment:1' }));
  return store;
}

/** Copies files of a store to a new place, as they are now. */
function copied(path: string, ...suffixes: readonly string[]): string {
  const to = temporaryPath();
  for (const suffix of suffixes) copyFileSync(`${path}${suffix}`, `${to}${suffix}`);
  return to;
}

const repeated = { outcome: 'repeated', verdict: 'SUCCESS' };
const logMissing = (path: string) => ({
  code: 'STORE_UNSAFE',
  message: expect.stringMatching(new RegExp(`${path}-wal.* is missing.*countersign store restore`)),
});

describe('an embedded store that was not closed', () => {
  it('opens with its log, and without its shared memory', async () => {
    const path = temporaryPath();
    await decided(path);
    const copy = await opened(copied(path, '', '-wal'));
    expect(await copy.settle(request({ subject: 'payment:1' }))).toMatchObject(repeated);
  });

  it.each([
    ['a service', true],
    ['a command', false],
  ])('is refused to %s without its log, and stays as it is', async (_who, create) => {
    const path = temporaryPath();
    await decided(path);
    const copy = copied(path, '');
    await expect(opened(copy, create)).rejects.toMatchObject(logMissing(copy));
    await expect(opened(copy, create)).rejects.toMatchObject(logMissing(copy));
    expect(readdirSync(dirname(copy))).toEqual(['store.db']);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    const complete = await opened(copy, create);
    expect(await complete.settle(request({ subject: 'payment:1' }))).toMatchObject(repeated);
  });

  it('is refused without its log after a checkpoint, too', async () => {
    const path = temporaryPath();
    const store = await decided(path);
    const other = new DatabaseSync(path);
    other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    await store.settle(request({ subject: 'payment:2' }));
    const copy = copied(path, '');
    other.close();
    await expect(opened(copy)).rejects.toMatchObject(logMissing(copy));
  });

  it('is refused without its log before its first decision', async () => {
    const path = temporaryPath();
    await opened(path);
    const copy = copied(path, '');
    await expect(opened(copy)).rejects.toMatchObject(logMissing(copy));
  });
});

describe('an embedded store that was closed', () => {
  it('is its file alone', async () => {
    const path = temporaryPath();
    await (await decided(path)).close();
    expect(readdirSync(dirname(path))).toEqual(['store.db']);
    const copy = await opened(copied(path, ''));
    expect(await copy.settle(request({ subject: 'payment:1' }))).toMatchObject(repeated);
  });

  it('is its file alone, whoever of several closes last, also all at once', async () => {
    const path = temporaryPath();
    const stores = [await decided(path), await opened(path), await opened(path, false)];
    await Promise.all(stores.map((store) => store.close()));
    expect(readdirSync(dirname(path))).toEqual(['store.db']);
    const [one, two] = [await opened(path), await opened(path)];
    await one.close();
    expect(existsSync(`${path}-wal`)).toBe(true);
    expect(await two.settle(request({ subject: 'payment:1' }))).toMatchObject(repeated);
    await two.close();
    const copy = await opened(copied(path, ''));
    expect(await copy.settle(request({ subject: 'payment:1' }))).toMatchObject(repeated);
  });

  it('is its file alone after a writer thread', async () => {
    const path = temporaryPath();
    const store = await readied(await openEmbeddedStore({ path, threadAfterWrites: 0 }));
    await store.settle(request({ subject: 'payment:1' }));
    await store.close();
    const copy = await opened(copied(path, ''));
    expect(await copy.settle(request({ subject: 'payment:1' }))).toMatchObject(repeated);
  });

  it('does not vouch for another file that was put in its place', async () => {
    const [path, other] = [temporaryPath(), temporaryPath()];
    const store = await decided(path);
    await decided(other);
    rmSync(path);
    copyFileSync(other, path);
    rmSync(`${path}-wal`);
    await store.close();
    await expect(opened(path)).rejects.toMatchObject(logMissing(path));
  });
});

describe('a file that is no store', () => {
  it.each([
    ['is empty', (path: string) => writeFileSync(path, '')],
    ['was cut to nothing', (path: string) => (new DatabaseSync(path).close(), truncateSync(path))],
  ])('and %s is refused, and stays as it is', async (_what, make) => {
    const path = temporaryPath();
    make(path);
    await expect(opened(path)).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringMatching(/store\.db is empty; .*move the file away to begin with an empty store/),
    });
    expect(readdirSync(dirname(path))).toEqual(['store.db']);
  });

  it('and has no tables is refused', async () => {
    const path = temporaryPath();
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE t (x); DROP TABLE t');
    other.close();
    await expect(opened(path)).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringMatching(/store\.db has no tables; .*restore it/),
    });
  });
});

describe('a new store', () => {
  it('has its tables in its file before anything else', async () => {
    const path = temporaryPath();
    const { connection } = openDatabase(path);
    onTestFinished(() => connection.close());
    const copy = copied(path, '');
    const reader = new DatabaseSync(copy, { readOnly: true });
    onTestFinished(() => reader.close());
    expect(reader.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'journal'").get()).toEqual({
      n: 1,
    });
  });

  it('is made once, by whoever comes first', async () => {
    const path = temporaryPath();
    const stores = await Promise.all(Array.from({ length: 5 }, () => opened(path)));
    await readied(stores[0] ?? (await opened(path)));
    await stores[4]?.settle(request({ subject: 'payment:1' }));
    for (const store of stores) {
      expect(await store.settle(request({ subject: 'payment:1' }))).toMatchObject(repeated);
    }
    expect(readdirSync(dirname(path)).toSorted()).toEqual(['store.db', 'store.db-shm', 'store.db-wal']);
  });
});
