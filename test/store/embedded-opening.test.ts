import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { storeError } from '../../src/store/embedded/sqlite-errors.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { APPLICATION_ID, migrations } from '../../src/store/embedded/schema.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import {
  OTHER_TERMS,
  REVISION,
  START_MS,
  TERMS,
  announcement,
  claimsOf,
  orderClaim,
  request,
  speedUpClaim,
  storedTerms,
} from './requests.ts';

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

  it('refuses a file of a newer schema', async () => {
    const path = temporaryPath();
    await (await openEmbeddedStore({ path })).close();
    const newer = new DatabaseSync(path);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    await expect(openEmbeddedStore({ path })).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      data: { version: 99 },
    });
  });

  it('takes a file of the first schema, with all that it holds', async () => {
    const path = temporaryPath();
    const older = new DatabaseSync(path);
    older.exec(migrations[0] ?? '');
    older.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`);
    older.prepare('UPDATE control SET sequence = 1, revision = ?, at_ms = ?').run(REVISION, START_MS);
    const decision = (question: string, verdict: string, code: string) => ({
      question,
      id: '1',
      verdict,
      code,
      revision: REVISION,
      final: false,
      lists: [],
    });
    const decisions = [
      decision('payment', 'SUCCESS', 'APPROVED'),
      decision('sign_start', 'FAILURE', 'RULE_REFUSED'),
    ];
    const record = JSON.stringify({ terms: storedTerms(TERMS), decisions, reserved: [], txids: [] });
    older.prepare('INSERT INTO subject VALUES (?, ?, ?, ?)').run('shop', 'payment:1', record, START_MS);
    older.close();

    const store = await openEmbeddedStore({ path, clock: () => START_MS });
    onTestFinished(() => store.close());
    expect(await store.control()).toEqual({
      sequence: 1,
      revision: REVISION,
      frozen: [],
      lifted: [],
      prices: 0,
    });
    expect(await store.settle(request())).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS', of: '1' });
    expect(await store.settle(request({ question: 'sign_start' }))).toMatchObject({
      outcome: 'repeated',
      verdict: 'FAILURE',
    });
    expect(await store.settle(request({ terms: OTHER_TERMS }))).toMatchObject({ code: 'TERMS_CHANGED' });
    // It was not kept when that was approved.
    const speedUp = request({ speedUp: true, claims: [speedUpClaim(9, Number.MAX_SAFE_INTEGER)] });
    expect(claimsOf(await store.settle(speedUp))).toEqual([{ holds: false, approvedAtMs: 0, speedUps: 0 }]);
    await store.expectOrder(announcement());
    expect(await store.settle(request({ claims: [orderClaim()] }))).toMatchObject({ outcome: 'repeated' });
    expect(await store.order('shop', 'payment:1')).toMatchObject({ state: 'used' });
  });

  describe('takes a file of a version that knew of one freeze only:', () => {
    /** As that version left it, frozen or not. */
    function older(isFrozen: boolean): string {
      const path = temporaryPath();
      const file = new DatabaseSync(path);
      for (const step of migrations.slice(0, 2)) file.exec(step);
      file.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 2`);
      file.prepare('UPDATE control SET sequence = 7, revision = ?').run(REVISION);
      file.exec("INSERT INTO tally VALUES ('shop', 0)");
      if (isFrozen) file.exec(OLD_FREEZE);
      file.close();
      return path;
    }
    const OLD_FREEZE = `UPDATE control SET sequence = sequence + 1,
      frozen_reason = 'drill', frozen_by = 'ada', frozen_at_ms = ${START_MS}`;
    const OLD_UNFREEZE = `UPDATE control SET sequence = sequence + 1,
      frozen_reason = NULL, frozen_by = NULL, frozen_at_ms = NULL`;
    const drill = { id: 'f8', kind: 'operator', reason: 'drill', by: 'ada', atMs: START_MS };

    async function openedAt(path: string) {
      const store = await openEmbeddedStore({ path, clock: () => START_MS });
      onTestFinished(() => store.close());
      return store;
    }

    function running(path: string): DatabaseSync {
      const file = new DatabaseSync(path);
      onTestFinished(() => file.close());
      return file;
    }

    it('what was frozen is one freeze, and stays frozen until that is lifted', async () => {
      const store = await openedAt(older(true));
      expect(await store.control()).toMatchObject({ revision: REVISION, frozen: [drill], lifted: [] });
      expect(await store.settle(request())).toMatchObject({ code: 'FROZEN' });
      const { freeze, control } = await store.freeze({ reason: 'leak', by: 'bob' });
      expect(control.frozen).toEqual([drill, freeze]);
      expect((await store.unfreeze({ by: 'ada', ids: [freeze.id] })).control.frozen).toEqual([drill]);
      expect(await store.settle(request())).toMatchObject({ code: 'FROZEN' });
      expect((await store.unfreeze({ by: 'ada', ids: ['f8'] })).control.frozen).toEqual([]);
      expect(await store.settle(request())).toMatchObject({ code: 'APPROVED' });
    });

    it('its process that still runs sees each freeze, and can end none that it does not know', async () => {
      const path = older(false);
      const old = running(path);
      const store = await openedAt(path);
      const frozenFor = (): unknown => old.prepare('SELECT frozen_reason AS reason FROM control').get();
      const { freeze: first } = await store.freeze({ reason: 'drill', by: 'ada' });
      const { freeze: second } = await store.freeze({ reason: 'leak', by: 'bob' });
      expect(frozenFor()).toEqual({ reason: 'leak' });
      expect(() => old.exec(OLD_UNFREEZE)).toThrow(/freezes of a newer version stand/);
      await store.unfreeze({ by: 'ada', ids: [second.id] });
      expect(frozenFor()).toEqual({ reason: 'drill' });
      expect(await store.settle(request())).toMatchObject({ code: 'FROZEN' });
      await store.unfreeze({ by: 'ada', ids: [first.id] });
      expect(frozenFor()).toEqual({ reason: null });
    });

    it.each([false, true])(
      'what its process freezes meanwhile is a freeze beside the others (others: %s)',
      async (others) => {
        const path = older(false);
        const store = await openedAt(path);
        const before = others ? [(await store.freeze({ reason: 'leak', by: 'bob' })).freeze] : [];
        running(path).exec(OLD_FREEZE);
        const found = { ...drill, id: others ? 'f9' : 'f8' };
        expect((await store.control()).frozen).toEqual([...before, found]);
        expect(await store.settle(request())).toMatchObject({ code: 'FROZEN' });
        const ids = before.map(({ id }) => id);
        expect((await store.unfreeze({ by: 'ada', ids })).control.frozen).toEqual([found]);
        expect(await store.settle(request())).toMatchObject({ code: 'FROZEN' });
        expect((await store.unfreeze({ by: 'ada', ids: [found.id] })).control.frozen).toEqual([]);
        expect(await store.settle(request({ subject: 'payment:2' }))).toMatchObject({ code: 'APPROVED' });
      },
    );
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
