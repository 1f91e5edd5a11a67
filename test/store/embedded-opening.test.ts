import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { storeError } from '../../src/store/embedded/sqlite-errors.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { request } from './requests.ts';

describe('opening the embedded store', () => {
  it('creates the file and the folders above it', async () => {
    const path = temporaryPath('a', 'b', 'store.db');
    const store = await readied(await openEmbeddedStore({ path }));
    expect(await store.settle(request())).toMatchObject({ verdict: 'SUCCESS' });
    expect((await store.health()).details).toMatchObject({ file: path });
  });

  it.each([':memory:', ''])('refuses what is no file: "%s"', async (path) => {
    await expect(openEmbeddedStore({ path })).rejects.toMatchObject({
      code: 'SETTINGS_INVALID',
      message: expect.stringContaining('embedded:data/countersign.db'),
    });
  });

  it('refuses a file that is no database, and leaves it as it is', async () => {
    const path = temporaryPath();
    writeFileSync(path, 'accounts of 2019, '.repeat(1000));
    await expect(openEmbeddedStore({ path })).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringContaining('is not a database'),
    });
  });

  it("refuses another program's database", async () => {
    const path = temporaryPath();
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE account (id INTEGER)');
    other.close();
    await expect(openEmbeddedStore({ path })).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringContaining('another program'),
    });
  });

  it('refuses a file of another schema', async () => {
    const path = temporaryPath();
    await (await openEmbeddedStore({ path })).close();
    const other = new DatabaseSync(path);
    other.exec('PRAGMA user_version = 99');
    other.close();
    await expect(openEmbeddedStore({ path })).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      data: { version: 99 },
    });
  });

  it('refuses a folder in place of the file, and a file in place of the folder', async () => {
    const folder = temporaryPath('store.db');
    mkdirSync(folder);
    await expect(openEmbeddedStore({ path: folder })).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
    const file = temporaryPath();
    writeFileSync(file, '');
    await expect(openEmbeddedStore({ path: join(file, 'store.db') })).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
    });
  });

  it('flushes each commit to disk', async () => {
    const path = temporaryPath();
    await (await openEmbeddedStore({ path })).close();
    const { openDatabase } = await import('../../src/store/embedded/database.ts');
    const { connection } = openDatabase(path);
    onTestFinished(() => connection.close());
    expect(connection.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
    expect(connection.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });
});

describe('a fault of the embedded store', () => {
  /** What SQLite throws at `act`. */
  const faultOf = (connection: DatabaseSync, act: string): CountersignError => {
    onTestFinished(() => connection.close());
    try {
      connection.exec(act);
    } catch (thrown) {
      return storeError('/data/store.db', thrown);
    }
    throw new Error(`${act} did not fail`);
  };

  it('says how to mend a read-only file', () => {
    const path = temporaryPath();
    new DatabaseSync(path).close();
    const fault = faultOf(new DatabaseSync(path, { readOnly: true }), 'CREATE TABLE t (x)');
    expect(fault).toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/store\.db is read-only .*; make the file and its folder writable/),
    });
  });

  it('says how to mend a full disk', () => {
    const connection = new DatabaseSync(temporaryPath());
    connection.exec('PRAGMA max_page_count = 4; CREATE TABLE t (x)');
    const fault = faultOf(connection, 'INSERT INTO t VALUES (zeroblob(100000))');
    expect(fault).toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/the disk is full .*; free space/),
    });
  });

  it('is unreachable for whatever else is thrown', () => {
    expect(storeError('/data/store.db', 'odd')).toMatchObject({ code: 'STORE_UNREACHABLE' });
  });

  it('stays what it is if it is known already', () => {
    const known = new CountersignError('STORE_CORRUPT', 'a row');
    expect(storeError('/data/store.db', known)).toBe(known);
  });
});
