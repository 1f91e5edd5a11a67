import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SERVICE_WAITS } from '../../src/store/embedded/begin.ts';
import { openDatabase } from '../../src/store/embedded/database.ts';
import { createFileGuard } from '../../src/store/embedded/identity.ts';
import { DEFAULT_RETENTION } from '../../src/store/embedded/housekeeping.ts';
import { type Lanes, createLanes } from '../../src/store/embedded/lanes.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { startWriterThread } from '../../src/store/embedded/writer-thread.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../eventually.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { REVISION, START_MS, change, push, request, usedOf, windowClaim } from './requests.ts';

const LEFT_OPEN = fileURLToPath(new URL('./embedded-left-open.ts', import.meta.url));
const DYING = new URL('./embedded-writer-that-dies.ts', import.meta.url);
const unreachable = { code: 'STORE_UNREACHABLE' };
const nothing = (): void => undefined;

const writerOf = async (store: Store): Promise<unknown> => (await store.health()).details['writer'];

const opened = async (path = temporaryPath()): Promise<Store> =>
  readied(await openEmbeddedStore({ path, writeIn: 'thread' }));

describe('the thread of the embedded store', () => {
  it('is not started for a few writes, and is under load, with no decision lost or made twice', async () => {
    const store = await readied(await openEmbeddedStore({ path: temporaryPath() }));
    for (let index = 0; index < 10; index++) await store.settle(request({ subject: `payment:${index}` }));
    expect(await writerOf(store)).toBe('here');
    let settled = 10;
    await eventually('the writer is a thread', async () => {
      const claims = [windowClaim('1', '1000000')];
      const group = Array.from({ length: 8 }, () =>
        store.settle(request({ subject: `payment:${settled++}`, claims })),
      );
      for (const result of await Promise.all(group)) expect(result).toMatchObject({ verdict: 'SUCCESS' });
      return (await writerOf(store)) === 'thread' ? true : undefined;
    });
    expect(await store.settle(request({ subject: 'payment:0' }))).toMatchObject({ outcome: 'repeated' });
    expect(await store.journalSize('shop')).toBe(settled + 1);
    expect(await usedOf(store)).toBe(BigInt(settled - 10) * 10n ** 36n);
  });

  it('waits for another process while the caller goes on', async () => {
    const path = temporaryPath();
    const store = await opened(path);
    const other = new DatabaseSync(path);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    const settling = store.settle(request());
    // Were the wait in this thread, nobody could end it in time.
    setImmediate(() => setImmediate(() => other.exec('ROLLBACK')));
    expect(await settling).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
  });

  it('rejects with the cure when the wait was too long', async () => {
    const path = temporaryPath();
    const store = await opened(path);
    const other = new DatabaseSync(path);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    await expect(store.settle(request())).rejects.toMatchObject({
      ...unreachable,
      message: expect.stringContaining('locked by another process'),
      data: { errcode: 5 },
    });
    expect(await store.control()).toMatchObject({ revision: REVISION });
  });

  it('tells what a verb threw, with its code and its values', async () => {
    const store = await opened();
    const removal = store.changeList(change('missing', [], ['x']));
    await expect(removal).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'the source shop has no list missing: create it with list add',
      data: { source: 'shop', list: 'missing' },
    });
    await expect(removal).rejects.toBeInstanceOf(Error);
  });

  it('never lets the time run backwards, wherever it writes', async () => {
    const clock = { nowMs: START_MS };
    const path = temporaryPath();
    const store = await openEmbeddedStore({ path, clock: () => clock.nowMs, writeIn: 'thread' });
    onTestFinished(() => store.close());
    await store.push(push('first', ''));
    clock.nowMs += 5000;
    expect(await store.settle(request({ revision: 'another' }))).toMatchObject({ nowMs: START_MS + 5000 });
    clock.nowMs -= 4000;
    expect(await store.settle(request({ revision: 'another' }))).toMatchObject({ nowMs: START_MS + 5000 });
    expect(await store.settle(request())).toMatchObject({ atMs: START_MS + 5000 });
    expect(await store.health()).toMatchObject({ nowMs: START_MS + 5000 });
  });

  it('has ended, its connection closed, when the store is closed; what was asked before is done', async () => {
    const path = temporaryPath();
    const store = await opened(path);
    const settling = store.settle(request());
    await Promise.all([store.close(), store.close()]);
    expect(await settling).toMatchObject({ verdict: 'SUCCESS' });
    // SQLite removes the log with the last connection.
    expect(existsSync(`${path}-wal`)).toBe(false);
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    await expect(store.control()).rejects.toMatchObject(unreachable);
  });

  it('keeps no process alive, but for what is under way', async () => {
    const path = temporaryPath();
    await (await opened(path)).close();
    const child = spawn(process.execPath, [LEFT_OPEN, path], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(printed).toBe('decided\n');
    expect(code).toBe(0);
  });
});

describe('a thread of the embedded store that dies', () => {
  const lanesWith = (startThread: typeof startWriterThread): Lanes => {
    const database = openDatabase(temporaryPath());
    const lanes = createLanes({
      database,
      retention: DEFAULT_RETENTION,
      clock: () => START_MS,
      writeIn: 'thread',
      guard: createFileGuard(database.file, database.identity),
      startThread,
    });
    onTestFinished(async () => {
      await lanes.close();
      database.connection.close();
    });
    return lanes;
  };
  const pushing = [{ verb: 'push', argument: push('first', '') }] as const;
  const settling = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => {
      const subject = `payment:${from + index}`;
      return { verb: 'settle', argument: request({ subject }) } as const;
    });

  it('rejects all that it was given, and what it is given later', async () => {
    const path = temporaryPath();
    const { connection, identity } = openDatabase(path);
    connection.close();
    let ends = 0;
    const data = { file: path, identity, retention: DEFAULT_RETENTION, lockWait: SERVICE_WAITS };
    const thread = startWriterThread(data, () => (ends += 1), DYING);
    onTestFinished(() => thread.end());
    await thread.ready;
    const batch = { clockMs: START_MS, asked: pushing };
    const results = await Promise.allSettled([thread.commit(batch), thread.commit(batch)]);
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { message: 'its writer ended with 7' } });
    }
    await expect(thread.commit(batch)).rejects.toThrow('its writer ended with 7');
    expect(ends).toBe(1);
  });

  it('rejects whoever waits for it, if it can not open the file', async () => {
    const broken = startWriterThread(
      { file: ':memory:', identity: [], retention: DEFAULT_RETENTION, lockWait: SERVICE_WAITS },
      nothing,
    );
    onTestFinished(() => broken.end());
    await expect(broken.ready).rejects.toThrow(
      'its writer failed: the embedded store keeps its decisions in a file',
    );
    await expect(broken.commit({ clockMs: 0, asked: [] })).rejects.toThrow('its writer failed');
  });

  it('is followed by another one, and until then writes are done here', async () => {
    let started = 0;
    const lanes = lanesWith((data, onEnd) =>
      startWriterThread(data, onEnd, started++ === 0 ? DYING : undefined),
    );
    await lanes.ready;
    expect(lanes.where).toBe('thread');
    await expect(lanes.commit(pushing)).rejects.toThrow('its writer ended with 7');
    expect(lanes.where).toBe('here');
    expect(await lanes.commit(pushing)).toMatchObject({ outcomes: [{ value: { outcome: 'in-force' } }] });
    expect((await lanes.commit(settling(0, 31))).outcomes).toHaveLength(31);
    await eventually('another thread writes', () => (lanes.where === 'thread' ? true : undefined));
    expect(started).toBe(2);
    expect(await lanes.commit(settling(0, 1))).toMatchObject({
      outcomes: [{ value: { outcome: 'repeated' } }],
    });
  });

  it('rejects what is under way when it is ended', async () => {
    const lanes = lanesWith(startWriterThread);
    await lanes.ready;
    const committing = lanes.commit(pushing);
    const [closed, committed] = await Promise.allSettled([lanes.close(), committing]);
    expect(closed).toMatchObject({ status: 'fulfilled' });
    expect(committed).toMatchObject({ status: 'rejected', reason: { message: 'its writer was ended' } });
  });
});
